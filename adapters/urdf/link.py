"""URDF links: mass properties and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from regularize.adapters.common.inertia import is_zero
from regularize.adapters.common.links import Color, read_inertia, read_shapes
from regularize.adapters.common.names import listed
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.adapters.urdf.pose import pose
from regularize.model.mechanism import Body, Inertia


def read_links(draft: UrdfDraft) -> None:
    """Add every ``<link>`` as a body, and say which have doubtful mass properties."""
    colors = _colors(draft.root)
    for node in draft.root.children("link"):
        name = node.text("name")
        inertia = _inertia(name, node.child("inertial"), draft)
        shapes = read_shapes(
            node,
            draft,
            lambda shape: pose(shape.child("origin")),
            lambda mesh: mesh.text("filename"),
            partial(_color, colors=colors),
        )
        draft.add_body(Body(name, inertia, shapes, node.source), node)
    _judge(draft)


def _inertia(link: str, node: Node | None, draft: UrdfDraft) -> Inertia | None:
    """Mass properties about the centre of mass in the axes of the link."""
    if node is None:
        return None
    mass, inertia = node.child("mass"), node.child("inertia")
    if mass is None or inertia is None:
        draft.warn(
            "REG014",
            f"link `{link}` has an <inertial> without "
            f"<{'mass' if mass is None else 'inertia'}>: read as a link without mass properties",
            node.source,
            "give both <mass> and <inertia>, or leave out <inertial>",
        )
        return None
    return read_inertia(mass.number("value"), inertia, pose(node.child("origin")), None)


def _judge(draft: UrdfDraft) -> None:
    """Report the mass properties of idealised bodies, which are zero."""
    ideal = [body for body in draft.bodies.values() if body.inertia and is_zero(body.inertia)]
    if ideal:
        draft.note(
            "REG014",
            f"a mass or a moment of inertia of zero: {listed(body.name for body in ideal)}",
            ideal[0].source,
            "dynamics can be singular with it: give the value, or join the link to another one by "
            "a fixed joint",
        )


def _colors(root: Node) -> dict[str, Color]:
    """Colours by material name; a material may be defined anywhere and used everywhere."""
    materials = root.children("material")
    for link in root.children("link"):
        for visual in link.children("visual"):
            materials += visual.children("material")
    colors: dict[str, Color] = {}
    for material in materials:
        name, color = material.get("name"), material.child("color")
        if name and color is not None:
            colors.setdefault(name, _rgba(color))
    return colors


def _rgba(node: Node) -> Color:
    red, green, blue, opacity = (float(value) for value in node.numbers("rgba", 4))
    return red, green, blue, opacity


def _color(visual: Node, colors: Mapping[str, Color]) -> Color | None:
    material = visual.child("material")
    if material is None:
        return None
    color = material.child("color")
    return _rgba(color) if color is not None else colors.get(material.get("name") or "")
