"""Mass properties and shapes of links, which URDF writes as attributes and SDF as elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.quantities import NAMES, inertia_matrix
from regularize.adapters.common.xml import Node
from regularize.lie.arrays import Transform
from regularize.mechanism.body import Geometry, Inertia

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


def read_inertia(
    mass: float, node: Node, T_link_center: Transform, products: float | None
) -> Inertia:
    """Read mass properties in the link's axes; ``products`` is the default of absent products."""
    default = None if products is None else [products]
    moments = [node.quantity(name, 1)[0] for name in NAMES[:3]]
    moments += [node.quantity(name, 1, default)[0] for name in NAMES[3:]]
    return Inertia(mass, np.zeros(3), inertia_matrix(*moments)).transformed(T_link_center)


def read_shapes(
    link: Node,
    draft: Draft,
    pose: Callable[[Node], Transform],
    mesh: Callable[[Node], str],
    color: Callable[[Node], Color | None],
    density: Callable[[Node], float | None] = lambda node: None,
    friction: Callable[[Node], float | None] = lambda node: None,
) -> tuple[Geometry, ...]:
    """Read a link's shapes; a visual named after a collision (``SEEN``) is its colour alone."""
    shapes: list[Geometry] = []
    named: dict[str, int] = {}
    for node in link.children("visual", "collision"):
        inside = node.child("geometry")
        shape = None if inside is None else inside.child()
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
        touched, name = node.tag == "collision", node.get("name") or ""
        stated = (pose(node), uri, color(node), touched, density(node))
        geometry = Geometry(shape.tag, size, *stated, friction=friction(node) if touched else None)
        at = named.get(name.removesuffix(SEEN)) if name.endswith(SEEN) and not touched else None
        if at is not None and _same_place(shapes[at], geometry):
            shapes[at] = replace(shapes[at], color=geometry.color)
            continue
        if touched:
            named[name] = len(shapes)
        shapes.append(geometry)
    return tuple(shapes)


def _same_place(first: Geometry, second: Geometry) -> bool:
    """Return whether two shapes are equal but for their colours."""
    return (first.kind, first.uri) == (second.kind, second.uri) and all(
        np.array_equal(getattr(first, part), getattr(second, part))
        for part in ("size", "T_body_geometry")
    )
