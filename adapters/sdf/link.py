"""SDF links: mass properties and shapes."""

from __future__ import annotations

from regularize.adapters.common.links import Color, read_inertia, read_shapes
from regularize.adapters.common.xml import Node, is_true
from regularize.adapters.sdf.draft import SdfDraft
from regularize.adapters.sdf.frames import pose_of
from regularize.model.mechanism import Body, Inertia

#: Density in kg/m³ that SDF states for links with <inertial auto="true"> that give none.
WATER = 1000.0


def read_link(node: Node, name: str, draft: SdfDraft, silent: list[str]) -> None:
    """Add a ``<link>`` as a body; names without mass properties are added to ``silent``."""
    inertial = node.child("inertial")
    inertia = _inertia(inertial)
    computed = inertial is not None and is_true(inertial.get("auto"))
    if inertia is None and not computed:
        silent.append(name)
    shapes = read_shapes(
        node,
        draft,
        lambda shape: pose_of(shape.child("pose")),
        lambda mesh: mesh.need("uri").text(),
        _color,
        lambda shape: _density(shape, inertial) if computed else None,
    )
    draft.add_body(Body(name, inertia, shapes, node.source), node)


def _density(shape: Node, inertial: Node | None) -> float | None:
    """Density of a shape whose mass properties SDF computes: its own, the link's, or of water."""
    if shape.tag != "collision":
        return None
    stated = [node.child("density") for node in (shape, inertial) if node is not None]
    return next((found.number(None) for found in stated if found is not None), WATER)


def _inertia(node: Node | None) -> Inertia | None:
    """Mass properties about the centre of mass in the axes of the link.

    SDF's defaults (1 kg, 1 kg m²) are not taken, and those that it computes from shapes come later.
    """
    if node is None or is_true(node.get("auto")):
        return None
    mass, inertia = node.child("mass"), node.child("inertia")
    if mass is None or inertia is None:
        return None
    return read_inertia(mass.number(None), inertia, pose_of(node.child("pose")), 0.0)


def _color(visual: Node) -> Color | None:
    material = visual.child("material")
    color = None if material is None else material.child("diffuse", "ambient")
    if color is None:
        return None
    count = 3 if len(color.text().split()) == 3 else 4
    red, green, blue, opacity = (float(v) for v in [*color.numbers(None, count), 1.0][:4])
    return red, green, blue, opacity
