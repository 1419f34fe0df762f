"""SDF files, versions 1.0 to 1.12, with loops as links that are the child of several joints.

The pose in the file is the reference pose: all coordinates are zero there and every loop is
closed. The ground is ``world``; models that nothing joins to it move freely.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.ground import free_joint, parts
from regularize.adapters.common.names import listed, unique
from regularize.adapters.common.xml import Node, parse
from regularize.adapters.sdf.constraints import read_constraint
from regularize.adapters.sdf.frames import WORLD, Frames
from regularize.adapters.sdf.joint import Reading, read_joints
from regularize.adapters.sdf.scopes import Content, world_body
from regularize.lie.screw import Array
from regularize.model.mechanism import STANDARD_GRAVITY, Mechanism

NEWEST = (1, 12)
WORLD_GRAVITY = (0.0, 0.0, -9.8)  # SDF's own default for a world


def read(path: str) -> Mechanism:
    """Read an SDF file.

    Args:
        path: The file.

    Raises:
        ReadError: The file is not SDF, or contradicts itself.
    """
    root = parse(path)
    if root.tag != "sdf":
        raise root.error(f"the root element is <{root.tag}>, expected <sdf>; this is not SDF")
    draft = Draft(root)
    version = _version(root, draft)
    content = Content(Reading(draft, Frames(), version))
    draft.add_body(world_body(root), root)
    worlds, models = root.children("world"), root.children("model")
    if worlds:
        content.add_world(worlds[0])
    elif len(models) == 1:
        content.add_single(models[0])
    elif models or root.children("include"):
        content.add_world(root)
    else:
        raise root.error("has no <model> and no <world>; a file needs one of them")
    content.place()
    read_joints(content.reading)
    for node, scope in content.constraints:
        read_constraint(node, scope, content.reading)
    content.fix_static()
    _mark_closures(draft)
    _float(content)
    _report(content, worlds)
    named = worlds[0] if worlds else models[0] if models else root
    return Mechanism(
        name=named.get("name") or Path(path).stem,
        bodies=tuple(draft.bodies.values()),
        joints=tuple(draft.joints.values()),
        couplings=tuple(draft.couplings),
        ground=WORLD,
        gravity=_gravity(worlds),
        findings=tuple(draft.findings),
        path=path,
        format="sdf",
        files=tuple(content.files),
    )


def _version(root: Node, draft: Draft) -> tuple[int, int]:
    words = root.text("version").split(".")
    if len(words) < 2 or words[0] != "1" or not words[1].isdigit():
        raise root.error(
            f"version {root.get('version')!r} is unknown; versions 1.0 to 1.12 are read"
        )
    version = (1, int(words[1]))
    if version > NEWEST:
        draft.note(
            "REG013",
            "note",
            f"version {root.get('version')} is newer than those known (1.12): read as 1.12",
            root.source,
        )
    return version


def _gravity(worlds: list[Node]) -> Array:
    if not worlds:
        return STANDARD_GRAVITY
    gravity = worlds[0].child("gravity")
    return np.array(WORLD_GRAVITY) if gravity is None else gravity.numbers(None, 3)


def _mark_closures(draft: Draft) -> None:
    """Mark every joint that joins bodies which earlier joints have already joined.

    Fixed joints come first: they make one body of two, and close nothing.
    """
    leader = {name: name for name in draft.bodies}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    joints = [*draft.joints.values()]
    for joint in sorted(joints, key=lambda j: (j.closure, j.kind != "fixed")):
        parent, child = find(joint.parent), find(joint.child)
        if parent == child and joint.kind != "fixed":
            draft.joints[joint.name] = replace(joint, closure=True)
        leader[child] = parent


def _float(content: Content) -> None:
    """Let every model that nothing joins to the world move freely from where it stands."""
    draft = content.draft
    for part in parts(draft.bodies.values(), draft.joints.values()):
        names = [body.name for body in part]
        if WORLD in names:
            continue
        base = next((name for name in content.bases if name in names), names[0])
        name = unique(f"floating_base_{base}", draft.joints)
        joint = free_joint(name, WORLD, draft.bodies[base])
        draft.joints[name] = replace(joint, T_parent_joint=content.reading.frames.pose(base))
        draft.note(
            "REG103",
            "note",
            f"nothing joins `{base}` to the world: it moves freely, by the 6-freedom base joint "
            f"`{name}`",
            draft.bodies[base].source,
            "add a fixed joint to `world` if it stands still",
            joints=(name,),
        )


def _report(content: Content, worlds: list[Node]) -> None:
    draft = content.draft
    for other in worlds[1:]:
        draft.note("REG013", "warning", "only the first <world> is read", other.source)
    if content.silent:
        draft.note(
            "REG014",
            "note",
            f"no mass properties: {listed(content.silent)}; SDF would take 1 kg and 1 kg m²",
            draft.bodies[content.silent[0]].source,
            "write an <inertial> with <mass> and <inertia>",
        )
    for tag, nodes in draft.ignored.items():
        times = "" if len(nodes) == 1 else f" ({len(nodes)} times)"
        draft.note("REG013", "note", f"element <{tag}> ignored{times}", nodes[0].source)
