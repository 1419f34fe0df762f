"""SDF files, versions 1.0 to 1.12, with loops as links that are the child of several joints.

The pose in the file is the reference pose: all coordinates are zero there and every loop is
closed. The ground is ``world``; models that nothing joins to it move freely.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from regularize.adapters.common import closures
from regularize.adapters.common.draft import WORLD, Side
from regularize.adapters.common.marked_loops import close_named, report_loop_candidates
from regularize.adapters.common.xml import Node, parse
from regularize.adapters.sdf.draft import SdfDraft
from regularize.adapters.sdf.joint import read_joints
from regularize.adapters.sdf.scopes import ModelReader
from regularize.escape import listed
from regularize.mechanism.graph import DisjointSets
from regularize.mechanism.mechanism import STANDARD_GRAVITY, Body, Mechanism

NEWEST = (1, 12)
WORLD_GRAVITY = (0.0, 0.0, -9.8)  # SDF's own default for a world


def read(path: str, *, close: str | None = None) -> Mechanism:
    """Read an SDF file."""
    root = parse(path, "sdf")
    worlds, models = root.children("world"), root.children("model")
    named = worlds[0] if worlds else models[0] if models else root
    draft = SdfDraft(path, named.get("name") or Path(path).stem)
    draft.version = _version(root, draft)
    draft.add_body(Body(WORLD, source=root.source), root)
    reader = ModelReader(draft)
    if worlds:
        reader.add_world(worlds[0])
    elif len(models) == 1:
        reader.add_single(models[0])
    elif models or root.children("include"):
        reader.add_world(root)
    else:
        raise root.error("has no <model> and no <world>; a file needs one of them")
    reader.place()
    read_joints(draft)
    between = draft.frames.relative
    for node, scope in reader.constraints:
        side = partial(draft.side, scope=scope)
        closures.read_drake(node, draft, side, lambda one, other, _: between(one, other), None)
    reader.fix_static()
    reader.attach()
    marks = _unused_frames(draft)
    if close is not None:
        close_named(draft, draft.frames.pose, close, marks)
    _mark_closures(draft)
    report_loop_candidates(draft, draft.frames.pose, _closing_lines, marks)
    draft.ground_parts(draft.frames.pose, bases=(*draft.bases, *draft.bodies), usual=True)
    for other in worlds[1:]:
        draft.unread("only the first <world> is read", other.source)
    if reader.silent:
        draft.note(
            "REG014",
            f"no mass properties: {listed(reader.silent)}; SDF would take 1 kg and 1 kg m²",
            draft.bodies[reader.silent[0]].source,
            "write an <inertial> with <mass> and <inertia>",
        )
    draft.report_ignored()
    gravity = worlds[0].child("gravity") if worlds else None
    usual = np.array(WORLD_GRAVITY) if worlds else STANDARD_GRAVITY
    return draft.mechanism("sdf", usual if gravity is None else gravity.numbers(None, 3))


def _unused_frames(draft: SdfDraft) -> dict[str, Side]:
    """Frames that no joint joins and nothing is placed by: on which link, and where."""
    frames = draft.frames
    used = {n for e in frames.entries.values() for n in (e.relative_to, e.attached_to)}
    for joint in draft.elements:
        used |= {joint.scope.full(joint.node.need(end).text()) for end in ("parent", "child")}
    names = [n for n, e in frames.entries.items() if e.node.tag == "frame" and n not in used]
    bodies = {name: frames.body(name) for name in names}
    return {name: (body, frames.relative(body, name)) for name, body in bodies.items()}


def _closing_lines(one: str, other: str, axis: bool) -> tuple[str, ...]:
    """Elements that close a loop between two coinciding links in an SDF file, with words."""
    (model, _, own), (second, _, far) = one.rpartition("::"), other.rpartition("::")
    if model == second:  # names as they are used in their model
        one, other = own, far
    kinds = {"a hinge about their axis Z": "revolute"} if axis else {}
    lines = []
    for words, kind in {**kinds, "a ball joint": "ball"}.items():
        inner = "<axis><xyz>0 0 1</xyz></axis>" if kind == "revolute" else ""
        lines.append(
            f'{words}: <joint name="{one}-{other}" type="{kind}"><parent>{one}</parent>'
            f"<child>{other}</child>{inner}</joint>"
        )
    return tuple(lines)


def _version(root: Node, draft: SdfDraft) -> tuple[int, int]:
    words = root.text("version").split(".")
    if len(words) < 2 or words[0] != "1" or not words[1].isdigit():
        raise root.error(
            f"version {root.get('version')!r} is unknown; versions 1.0 to 1.12 are read"
        )
    version = (1, int(words[1]))
    if version > NEWEST:
        draft.skip(
            f"version {root.get('version')} is newer than those known (1.12): read as 1.12",
            root.source,
        )
    return version


def _mark_closures(draft: SdfDraft) -> None:
    """Mark every joint that joins bodies which earlier joints have already joined."""
    joined = DisjointSets(draft.bodies)
    joints = [*draft.joints.values()]
    for joint in sorted(joints, key=lambda j: (j.closure, j.kind != "fixed")):
        if joined[joint.parent] == joined[joint.child] and joint.kind != "fixed":
            draft.joints[joint.name] = replace(joint, closure=True)
        joined.union(joint.parent, joint.child)
