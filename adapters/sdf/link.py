"""SDF links: mass properties and shapes."""

from __future__ import annotations

import numpy as np

from regularize.adapters.common.xml import Node, is_true
from regularize.adapters.sdf.draft import SdfDraft
from regularize.adapters.sdf.frames import pose_of
from regularize.model.mechanism import Body, Geometry, Inertia

#: Elements that make up the size of each shape, with their numbers of values.
SHAPES: dict[str, tuple[tuple[str, int], ...]] = {
    "box": (("size", 3),),
    "cylinder": (("radius", 1), ("length", 1)),
    "sphere": (("radius", 1),),
    "capsule": (("radius", 1), ("length", 1)),
}


def read_link(node: Node, name: str, draft: SdfDraft, silent: list[str]) -> None:
    """Add a ``<link>`` as a body; names without mass properties are added to ``silent``."""
    inertia = _inertia(node.child("inertial"))
    if inertia is None:
        silent.append(name)
    draft.add_body(Body(name, inertia, _shapes(node, draft), node.source), node)


def _inertia(node: Node | None) -> Inertia | None:
    """Mass properties about the centre of mass in the axes of the link.

    SDF's defaults (1 kg, 1 kg m²) and those computed from shapes are not taken.
    """
    if node is None or is_true(node.get("auto")):
        return None
    mass, inertia = node.child("mass"), node.child("inertia")
    if mass is None or inertia is None:
        return None
    xx, yy, zz = (inertia.need(name).number(None) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.value(name, 0.0) for name in ("ixy", "ixz", "iyz"))
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    T = pose_of(node.child("pose"))
    return Inertia(mass.number(None), np.zeros(3), matrix).transformed(T)


def _shapes(link: Node, draft: SdfDraft) -> tuple[Geometry, ...]:
    shapes = []
    for node in link.children("visual", "collision"):
        geometry = node.child("geometry")
        shape = next(iter(geometry.children()), None) if geometry is not None else None
        if shape is None or shape.tag == "empty":
            continue
        uri = None
        if shape.tag == "mesh":
            scale = shape.child("scale")
            size = np.ones(3) if scale is None else scale.numbers(None, 3)
            uri = shape.need("uri").text()
        elif shape.tag in SHAPES:
            size = np.concatenate(
                [shape.need(tag).numbers(None, count) for tag, count in SHAPES[shape.tag]]
            )
        else:
            draft.ignore(shape.tag, shape)
            continue
        shapes.append(
            Geometry(
                shape.tag,
                size,
                pose_of(node.child("pose")),
                uri,
                _color(node),
                collision=node.tag == "collision",
            )
        )
    return tuple(shapes)


def _color(visual: Node) -> tuple[float, float, float, float] | None:
    material = visual.child("material")
    color = None if material is None else material.child("diffuse", "ambient")
    if color is None:
        return None
    count = 3 if len(color.text().split()) == 3 else 4
    red, green, blue, opacity = (float(v) for v in [*color.numbers(None, count), 1.0][:4])
    return red, green, blue, opacity
