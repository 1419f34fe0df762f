"""How much an MJCF file asks MuJoCo to make: a few words can ask for more than a machine holds."""

from __future__ import annotations

import math

from regularize.adapters.common.xml import Node

#: Elements that copies may come to, and numbers in one grid, texture or table.
MOST_ELEMENTS = 100_000
MOST_NUMBERS = 30_000_000
#: Attributes of grids whose product counts, by element.
GRIDS = {
    "texture": ("width", "height"),
    "hfield": ("nrow", "ncol"),
    "composite": ("count",),
    "flexcomp": ("count",),
    "layer": ("width", "height"),
}
#: Elements that make bodies, of which fewer are borne.
MADE = ("composite", "flexcomp")


def check_amounts(root: Node) -> None:
    """Refuse what would not fit.

    Raises:
        ReadError: Naming the element.
    """
    _copies(root, 1.0)
    for node in root.walk():
        if node.tag in GRIDS:
            asked = math.prod(_amount(node, name) for name in GRIDS[node.tag])
            most = MOST_ELEMENTS if node.tag in MADE else MOST_NUMBERS
            if asked > most:
                raise node.error(f"asks for {asked:.3g} numbers, more than {most}; make it coarser")
        elif node.tag == "size":
            for name in node.element.attrib:
                if name != "memory" and _amount(node, name) > MOST_NUMBERS:
                    raise node.error(f"{name} is more than {MOST_NUMBERS}; lower it")


def _copies(node: Node, times: float) -> float:
    """Elements below a node, copies counted."""
    inside = times * (max(1.0, _amount(node, "count")) if node.tag == "replicate" else 1.0)
    total = sum(inside + _copies(child, inside) for child in node.children())
    if node.tag == "replicate" and total > MOST_ELEMENTS:
        raise node.error(f"comes to {total:.3g} elements, more than {MOST_ELEMENTS}; copy fewer")
    return total


def _amount(node: Node, name: str) -> float:
    """The product of the numbers of an attribute; 1 where there is none that could be read."""
    words = (node.get(name) or "").split()
    try:
        return math.prod(max(1.0, float(word)) for word in words)
    except ValueError:
        return 1.0
