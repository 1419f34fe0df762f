"""URDF files, with the loops that its dialects add to the tree."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.links import Color, read_inertia, read_shapes
from regularize.adapters.common.loops import close_named, report_loop_candidates
from regularize.adapters.common.quantities import is_zero
from regularize.adapters.common.xml import Node, parse
from regularize.adapters.urdf import loop_files
from regularize.adapters.urdf.draft import (
    JOINTS,
    UrdfDraft,
    mark_closures,
    pose,
    read_joints,
    read_mimics,
)
from regularize.adapters.urdf.loop_files import Loops, add_tolerances
from regularize.adapters.urdf.loops import DIALECTS, closing_lines, read_closing_frames
from regularize.escape import listed
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.mechanism import Mechanism

#: Elements under ``<robot>`` that are read elsewhere, or say nothing about the mechanism.
QUIET = frozenset(
    {
        *("link", *JOINTS, "material", "transmission", "gazebo", "ros2_control"),
        *("frame", "drake:frame"),
        *("sensor", "fixed_frame", "mujoco", "xacro:property", "xacro:arg", "plugin"),
        *("drake:collision_filter_group", "collision_filter_group", "disable_collisions"),
        *("group", "group_state", "end_effector", "virtual_joint", "passive_joint"),
    }
)
#: Elements under ``<robot>`` that join links in a way that is not read.
UNREAD = frozenset({"drake:tendon_constraint"})


def read(
    path: str, *, floating: bool = False, loops: Loops = None, close: str | None = None
) -> Mechanism:
    """Read a URDF file; see ``loop_files.find`` for ``loops`` and ``close_named`` for ``close``."""
    root = parse(path)
    return read_root(root, path, format="urdf", floating=floating, loops=loops, close=close)


def read_root(
    root: Node, path: str, *, format: str, floating: bool, loops: Loops, close: str | None = None
) -> Mechanism:
    """Read the root element of a URDF model; see ``read``."""
    for node in root.of_tag("robot").walk():
        if node.tag.startswith("xacro:") and node.tag not in QUIET:
            raise node.error(f"<{node.tag}> is not expanded; run xacro on the file first")
    if not root.children("link"):
        raise root.error("has no <link>; a model needs at least one")
    draft = UrdfDraft(path, root.get("name") or Path(path).stem, root=root)
    read_links(draft)
    read_joints(draft)
    files = loop_files.find(path, loops)
    for file in files[:1]:
        file.retype(draft)
    mark_closures(draft)
    roots = draft.roots
    for node in root.children():
        if node.tag in DIALECTS:
            DIALECTS[node.tag](node, draft)
        elif node.tag in UNREAD:
            draft.unread(
                f"<{node.tag}> joins links but is not read: the mechanism has fewer joints than "
                "the file",
                node.source,
                "describe the loop by a URDF+ <loop> or a Gepetto YAML file",
            )
        elif node.tag not in QUIET:
            draft.ignore(node.tag, node)
    read_mimics(draft)
    for file in files[:1]:
        file.close(draft)
        add_tolerances(file.path, draft)
        draft.files.append(file.path)
    loop_files.report_unread(files, draft)
    read_closing_frames(draft)
    marks = draft.marks()
    if close is not None:
        close_named(draft, lambda name: draft.rest_pose(name)[1], close, marks)
    lines = partial(closing_lines, marks)
    report_loop_candidates(draft, lambda name: draft.rest_pose(name)[1], lines, marks)
    draft.report_ignored(": it is not a part of URDF")
    _set_ground(draft, roots, floating)
    return draft.mechanism(format)


def _set_ground(draft: UrdfDraft, roots: list[str], floating: bool) -> None:
    """Choose the ground body, and add the base joints that the model lacks."""
    if draft.implicit_world:
        draft.ground = WORLD
    elif roots:
        draft.ground = roots[0]
    else:
        draft.ground = next(iter(draft.bodies))
        draft.warn(
            "REG102",
            f"every link has a parent joint, so none is the ground: `{draft.ground}` is taken, "
            "the first one of the file",
            draft.bodies[draft.ground].source,
            "leave out the joint that leads into the link that stands still, or write it as a "
            "URDF+ <loop>",
        )
    if floating and draft.implicit_world:
        raise draft.root.error(
            f"the file joins itself to `{WORLD}`, so it cannot float; read it without `floating`"
        )
    if floating:
        draft.let_float()
    draft.ground_parts()


def read_links(draft: UrdfDraft) -> None:
    """Add every ``<link>`` as a body, and report doubtful mass properties."""
    colors, frictions = _colors(draft.root), _frictions(draft.root)
    for node in draft.root.children("link"):
        draft.add_body(_body(node, colors, frictions, draft), node)
    ideal = [body for body in draft.bodies.values() if body.inertia and is_zero(body.inertia)]
    if ideal:
        draft.note(
            "REG014",
            f"a mass or a moment of inertia of zero: {listed(body.name for body in ideal)}",
            ideal[0].source,
            "dynamics can be singular with it: give the value, or join the link to another one by "
            "a fixed joint",
        )


def _body(
    node: Node, colors: Mapping[str, Color], frictions: Mapping[str, float], draft: UrdfDraft
) -> Body:
    name = node.text("name")
    draft.report_repeated(node, name, "inertial")
    inertia = _inertia(name, node.child("inertial"), draft)
    shapes = read_shapes(
        node,
        draft,
        lambda shape: pose(shape.child("origin")),
        lambda mesh: mesh.text("filename"),
        lambda visual: _color(visual, colors),
        friction=lambda shape: frictions.get(name),
    )
    return Body(name, inertia, shapes, node.source)


def _frictions(root: Node) -> dict[str, float]:
    """Return coefficients of friction by link from ``<gazebo reference="LINK"><mu1>``."""
    element = {node.get("reference"): node.child("mu1", "mu") for node in root.children("gazebo")}
    return {
        link: float(mu.quantity("value", 1)[0] if mu.get("value") else mu.number(None))
        for link, mu in element.items()
        if link and mu is not None
    }


def _inertia(link: str, node: Node | None, draft: UrdfDraft) -> Inertia | None:
    """Read mass properties about the centre of mass in the axes of the link."""
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


def _colors(root: Node) -> dict[str, Color]:
    """Return colours by material name; any material may be defined anywhere in the file."""
    visuals = [visual for link in root.children("link") for visual in link.children("visual")]
    materials = [m for place in (root, *visuals) for m in place.children("material")]
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
