"""What an MJCF file asks for in vain: more than a machine holds, or plugins that are not installed.

A few words can ask MuJoCo for more than there is; without a plugin the model is read without what
the plugin does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import mujoco

from regularize.adapters.common.edits import Edit
from regularize.adapters.common.xml import Node
from regularize.escape import listed

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
#: What MuJoCo says of a plugin that it does not find.
NOT_FOUND = "plugin"


def check_sizes(root: Node) -> None:
    """Refuse what would not fit."""
    _copies(root, 1.0)
    for node in root.walk():
        if node.tag in GRIDS:
            asked = math.prod(_size(node, name) for name in GRIDS[node.tag])
            most = MOST_ELEMENTS if node.tag in MADE else MOST_NUMBERS
            if asked > most:
                raise node.error(f"asks for {asked:.3g} numbers, more than {most}; make it coarser")
        elif node.tag == "size":
            for name in node.spans:
                if name != "memory" and _size(node, name) > MOST_NUMBERS:
                    raise node.error(f"{name} is more than {MOST_NUMBERS}; lower it")


def _copies(node: Node, times: float) -> float:
    """Elements below a node, copies counted."""
    inside = times * (max(1.0, _size(node, "count")) if node.tag == "replicate" else 1.0)
    total = sum(inside + _copies(child, inside) for child in node.children())
    if node.tag == "replicate" and total > MOST_ELEMENTS:
        raise node.error(f"comes to {total:.3g} elements, more than {MOST_ELEMENTS}; copy fewer")
    return total


def _size(node: Node, name: str) -> float:
    """The product of the numbers of an attribute; 1 where there is none that could be read."""
    words = (node.get(name) or "").split()
    try:
        return math.prod(max(1.0, float(word)) for word in words)
    except ValueError:
        return 1.0


def without_plugins(roots: Sequence[Node]) -> tuple[Any, str]:
    """The model of a file and of those that it includes, the file itself first, without plugins."""
    plugins: dict[str, None] = {}
    texts = []
    for root in roots:
        edits = dict.fromkeys(_without_plugins(root, plugins))
        texts.append(root.document.source.with_edits(edits).text)
    names = [
        node.get("file") or "" for root in roots for node in root.walk() if node.tag == "include"
    ]
    included = {name: text.encode() for name, text in zip(names, texts[1:], strict=False)}
    spec = mujoco.MjSpec.from_string(texts[0], include=included)
    return spec, f"plugins that are not installed ({listed(plugins)}), with all that they do,"


def _without_plugins(root: Node, plugins: dict[str, None]) -> Iterator[Edit]:
    """The edits that take the plugins out of a file; their names are added."""
    for node in root.walk():
        holder = node.parent
        if node.tag == "plugin" and node.get("plugin") is not None:
            plugins[str(node.get("plugin"))] = None
        if node.tag == "extension":
            yield node.removed()
        elif node.tag == "plugin" and holder is not None and holder.tag != "extension":
            if holder.tag == "geom":
                yield holder.with_attribute("type", "mesh")
            if holder.tag == "mesh" and holder.get("file") is None:
                yield holder.with_attribute("file", f"{holder.get('name')}.stl")
            yield node.removed()
