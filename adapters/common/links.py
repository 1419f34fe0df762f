"""Mass properties and shapes of links, which URDF writes as attributes and SDF as elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.quantities import NAMES, inertia_matrix
from regularize.adapters.common.xml import Node
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Geometry, Inertia

Color: TypeAlias = tuple[float, float, float, float]
#: What makes up the size of each shape, with its number of values.
SHAPES: dict[str, tuple[tuple[str, int], ...]] = {
    "box": (("size", 3),),
    "cylinder": (("radius", 1), ("length", 1)),
    "sphere": (("radius", 1),),
    "ellipsoid": (("radii", 3),),
    "capsule": (("radius", 1), ("length", 1)),
}
#: Ending of a visual's name that gives the collision before it a colour: SDF has none for these.
SEEN = "_seen"


def read_inertia(mass: float, node: Node, T_link_center: Array, products: float | None) -> Inertia:
    """Mass properties about the centre of mass in the axes of the link."""
    rest = None if products is None else [products]
    values = [
        float(node.quantity(name, 1, default)[0])
        for name, default in zip(NAMES, (None, None, None, rest, rest, rest), strict=True)
    ]
    return Inertia(mass, np.zeros(3), inertia_matrix(*values)).transformed(T_link_center)


def read_shapes(
    link: Node,
    draft: Draft,
    pose: Callable[[Node], Array],
    mesh: Callable[[Node], str],
    color: Callable[[Node], Color | None],
    density: Callable[[Node], float | None] = lambda node: None,
    friction: Callable[[Node], float | None] = lambda node: None,
) -> tuple[Geometry, ...]:
    """The shapes of a link, to be seen or to be touched; unknown ones are ignored."""
    shapes: list[Geometry] = []
    named: dict[str, int] = {}
    for node in link.children("visual", "collision"):
        geometry = node.child("geometry")
        shape = next(iter(geometry.children()), None) if geometry is not None else None
        if shape is None or shape.tag == "empty":
            continue
        uri = None
        if shape.tag == "mesh":
            size, uri = shape.quantity("scale", 3, np.ones(3)), mesh(shape)
        elif shape.tag in SHAPES:
            size = np.concatenate([shape.quantity(*entry) for entry in SHAPES[shape.tag]])
        else:
            draft.ignore(shape.tag, shape)
            continue
        touched = node.tag == "collision"
        told = (pose(node), uri, color(node), touched, density(node))
        rough = friction(node) if touched else None
        found = Geometry(shape.tag, size, *told, friction=rough)
        own = node.get("name") or ""
        at = named.get(own.removesuffix(SEEN)) if own.endswith(SEEN) and not touched else None
        if at is not None and _same_place(shapes[at], found):
            shapes[at] = replace(shapes[at], color=found.color)
            continue
        if touched:
            named[own] = len(shapes)
        shapes.append(found)
    return tuple(shapes)


def _same_place(one: Geometry, other: Geometry) -> bool:
    """Whether two shapes are one, colours apart."""
    if (one.kind, one.uri) != (other.kind, other.uri):
        return False
    equal: bool = np.array_equal(one.size, other.size)
    return equal and np.array_equal(one.T_body_geometry, other.T_body_geometry)
