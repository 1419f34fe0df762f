"""SDF joints: axes in the frames of each version, limits, mimics and gearboxes."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.joint_position import joint_position, motion
from regularize.adapters.common.xml import Node
from regularize.adapters.sdf.frames import (
    WORLD,
    Frame,
    Frames,
    Scope,
    pose_of,
    relative_to,
    true,
)
from regularize.lie.screw import (
    Array,
    inverse,
    log,
    unit,
)
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Coupling, Joint

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "screw": "helical",
    "fixed": "fixed",
}
TYPES = (*KINDS, "gearbox")
UNBOUNDED = 1e16  # what SDF writes for a coordinate without a bound
PARALLEL = 1e-6
CLOSED = 1e-6  # metres between two frames that coincide
ALIGNED = 1e-3  # radians: beyond the rounding of angles such as 1.5708


@dataclass(frozen=True, eq=False)
class Found:
    """A ``<joint>`` and the scope in which it stands."""

    node: Node
    scope: Scope
    name: str


@dataclass(eq=False)
class Reading:
    """An SDF file while it is being read.

    Attributes:
        draft: Bodies, joints and couplings so far.
        frames: All frames.
        version: Version of the file, such as (1, 7).
        joints: The ``<joint>`` elements.
    """

    draft: Draft
    frames: Frames
    version: tuple[int, int]
    joints: list[Found] = field(default_factory=list)


def declare_joint(found: Found, reading: Reading) -> None:
    """Add the frame of a joint: by default it lies in that of the child."""
    node, scope = found.node, found.scope
    child = scope.full(node.need("child").text())
    pose = node.child("pose")
    frame = Frame(pose_of(pose), relative_to(pose, scope, child), child, node)
    reading.frames.add(found.name, frame, taken="link, joint and frame")
    reading.joints.append(found)


def read_joints(reading: Reading) -> None:
    """Add all joints, then what couples them."""
    gearboxes = []
    for found in reading.joints:
        kind = found.node.text("type")
        if kind not in TYPES:
            raise found.node.error(f"type {kind!r} is unknown; expected one of {', '.join(TYPES)}")
        if kind == "gearbox":
            gearboxes.append(found)
        else:
            reading.draft.add_joint(_joint(found, reading), found.node)
    for found in reading.joints:
        for tag, freedom in (("axis", 0), ("axis2", 1)):
            axis = found.node.child(tag)
            mimic = None if axis is None else axis.child("mimic")
            if mimic is not None:
                _mimic(found, freedom, mimic, reading)
    for found in gearboxes:
        _gearbox(found, reading)


def _ends(found: Found, reading: Reading) -> tuple[str, str]:
    bodies = []
    for tag in ("parent", "child"):
        node = found.node.need(tag)
        bodies.append(
            reading.frames.body(reading.frames.known(found.scope.full(node.text()), node))
        )
    return bodies[0], bodies[1]


def _joint(found: Found, reading: Reading) -> Joint:
    node, frames = found.node, reading.frames
    parent, child = _ends(found, reading)
    written = node.text("type")
    kind = KINDS[written]
    bounds = limits(node, kind)
    if kind == "revolute" and bounds is not None and not np.any(bounds):
        reading.draft.note(
            "REG015",
            "note",
            f"joint `{found.name}` is revolute with both limits 0: read as a fixed joint",
            node.source,
            joints=(found.name,),
        )
        kind, bounds = "fixed", None
    if kind in ("fixed", "spherical"):
        screws = joint_screws(kind)
    elif kind == "universal":
        first, second = axis(found, "axis", reading), axis(found, "axis2", reading)
        if np.linalg.norm(np.cross(first, second)) < PARALLEL:
            raise node.error(
                "the two axes are parallel, which makes one freedom of two; turn <axis2> (it is "
                "0 0 1 where it is not given)"
            )
        screws = joint_screws(kind, first, second)
    else:
        pitch = thread_pitch(node) if kind == "helical" else 0.0
        screws = joint_screws(kind, axis(found, "axis", reading), pitch=pitch)
    joint = Joint(
        found.name,
        parent,
        child,
        kind,
        screws,
        frames.relative(parent, found.name),
        frames.relative(child, found.name),
        limits=bounds,
        source=node.source,
    )
    return _opened(joint, found, reading)


def _opened(joint: Joint, found: Found, reading: Reading) -> Joint:
    """The joint with the frame on its parent that the file names, where that lies elsewhere.

    By the letter of SDF the file's pose is assembled, and the frame that ``<parent>`` names says
    no more than which body is the parent. Drake's models are also written with every link at the
    origin and the frames where the joints belong; then those two frames are what the joint joins.
    """
    node, frames = found.node, reading.frames
    name = found.scope.full(node.need("parent").text())
    if node.child("pose") is not None or name == WORLD or frames.entries[name].node.tag != "frame":
        return joint
    T = frames.relative(name, found.name)
    left = inverse(motion(joint, joint_position(joint, T))) @ T
    apart, turned = float(np.linalg.norm(left[:3, 3])), float(np.linalg.norm(log(left)[3:]))
    if apart <= CLOSED and turned <= ALIGNED:
        return joint
    reading.draft.note(
        "REG015",
        "warning",
        f"joint `{joint.name}`: the frame `{name}` of its parent is {1e3 * apart:.4g} mm and "
        f"{math.degrees(turned):.3g}° away from its child's: read as an open model, in which the "
        "joint brings the two frames together",
        node.source,
        "give the joint a <pose> if the file's pose is the assembled one, which is what SDF says",
        joints=(joint.name,),
    )
    return replace(joint, T_parent_joint=frames.relative(joint.parent, name))


def axis(found: Found, tag: str, reading: Reading) -> Array:
    """Unit vector of an axis in the joint frame, whatever frame the version gives it in."""
    node = found.node.child(tag)
    xyz = None if node is None else node.child("xyz")
    direction = np.array([0.0, 0.0, 1.0]) if xyz is None else xyz.numbers(None, 3)
    try:
        direction = unit(direction)
    except ValueError:
        where = xyz or found.node
        raise where.error("the axis has no length; give a direction such as 0 0 1") from None
    base = _expressed_in(found, node, xyz, reading.version)
    if base is None:
        return direction
    reading.frames.known(base, xyz or found.node)
    return reading.frames.relative(found.name, base)[:3, :3] @ direction


def _expressed_in(
    found: Found, node: Node | None, xyz: Node | None, version: tuple[int, int]
) -> str | None:
    """Full name of the frame of an axis; None for the joint frame."""
    if version >= (1, 7):
        name = None if xyz is None else xyz.get("expressed_in")
        return found.scope.full(name) if name else None
    if version <= (1, 4):
        return found.scope.frame
    flag = None if node is None else node.child("use_parent_model_frame")
    return found.scope.frame if flag is not None and true(flag.element.text) else None


def thread_pitch(node: Node) -> float:
    """Metres per radian; the old element counts radians per metre of a left-handed thread."""
    new, old = node.child("screw_thread_pitch"), node.child("thread_pitch")
    if new is not None:
        return new.number(None) / (2 * math.pi)
    if old is None:
        return 1.0 / (2 * math.pi)
    value = old.number(None)
    if value == 0.0:
        raise old.error("a thread pitch of 0 is infinitely steep; give the pitch")
    return -1.0 / value


def limits(node: Node, kind: str) -> Array | None:
    """Bounds of the coordinates of a joint; None where the file gives none."""
    tags = {"universal": ("axis", "axis2"), "spherical": (), "fixed": ()}.get(kind, ("axis",))
    rows, given = [], False
    for tag in tags:
        found = node.child(tag)
        limit = None if found is None else found.child("limit")
        row = []
        for name, unbounded in (("lower", -math.inf), ("upper", math.inf)):
            bound = None if limit is None else limit.child(name)
            value = unbounded if bound is None else bound.number(None, finite=False)
            given = given or bound is not None
            row.append(unbounded if abs(value) >= UNBOUNDED else value)
        rows.append(row)
    return np.array(rows) if given else None


def _mimic(found: Found, freedom: int, node: Node, reading: Reading) -> None:
    """Follower = multiplier * (leader - reference) + offset."""
    follower = reading.draft.joint_named(found.name, node)
    leader = reading.draft.joint_named(found.scope.full(node.text("joint")), node)
    leading = 1 if node.get("axis") == "axis2" else 0
    for joint, index in ((follower, freedom), (leader, leading)):
        if index >= joint.freedoms or joint.group:
            raise node.error(f"joint `{joint.name}` is {joint.kind}: it has no such axis to couple")
    multiplier, offset, reference = (
        default if (each := node.child(tag)) is None else each.number(None)
        for tag, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    reading.draft.couplings.append(
        Coupling(
            found.name,
            "mimic",
            ((follower.name, freedom, 1.0), (leader.name, leading, -multiplier)),
            offset - multiplier * reference,
            node.source,
        )
    )


def _gearbox(found: Found, reading: Reading) -> None:
    r"""Add a gearbox: :math:`\theta_2 = -r\,\theta_1`.

    :math:`\theta_1` is the angle from the reference body to the parent about ``<axis>``, and
    :math:`\theta_2` that to the child about ``<axis2>`` (SDF specification, ``gearbox_ratio``).
    A gearbox is one equation between angles; the hinges are joints of their own.
    """
    node, draft = found.node, reading.draft
    named = node.child("gearbox_reference_body")
    if named is None or not (named.element.text or "").strip():
        raise node.error("a gearbox needs a <gearbox_reference_body>; name the gear case")
    reference = reading.frames.body(reading.frames.known(found.scope.full(named.text()), named))
    given = node.child("gearbox_ratio")
    ratio = 1.0 if given is None else given.number(None)
    terms: dict[str, float] = {}
    for body, tag, factor in zip(
        _ends(found, reading), ("axis", "axis2"), (ratio, 1.0), strict=True
    ):
        R = reading.frames.pose(found.name)[:3, :3]
        turns = _angle(reference, body, R @ axis(found, tag, reading), reading)
        if turns is None:
            draft.note(
                "REG302",
                "warning",
                f"gearbox `{found.name}`: no hinges parallel to its <{tag}> lead from "
                f"`{reference}` to `{body}`: not read",
                node.source,
                "add the hinges that carry the gears",
                joints=(found.name,),
            )
            return
        for joint, sign in turns:
            terms[joint] = terms.get(joint, 0.0) + factor * sign
    draft.couplings.append(
        Coupling(
            found.name,
            "gear",
            tuple((name, 0, value) for name, value in terms.items() if value != 0.0),
            source=node.source,
        )
    )


def _angle(
    start: str, end: str, direction: Array, reading: Reading
) -> list[tuple[str, float]] | None:
    """Joints and signs whose coordinates add up to the angle between two bodies about an axis."""
    steps: dict[str, list[tuple[str, str, float]]] = {}
    for joint in reading.draft.joints.values():
        sign = 0.0
        if joint.kind == "revolute":
            R = reading.frames.pose(joint.parent)[:3, :3] @ joint.T_parent_joint[:3, :3]
            sign = float(R @ joint.screws[3:, 0] @ direction)
            if abs(sign) < 1 - PARALLEL:
                continue
        elif joint.kind != "fixed":
            continue
        sign = float(np.sign(sign))
        steps.setdefault(joint.parent, []).append((joint.child, joint.name, sign))
        steps.setdefault(joint.child, []).append((joint.parent, joint.name, -sign))
    paths: dict[str, list[tuple[str, float]]] = {start: []}
    queue = deque([start])
    while queue and end not in paths:
        body = queue.popleft()
        for other, name, sign in steps.get(body, []):
            if other not in paths:
                paths[other] = paths[body] + ([(name, sign)] if sign else [])
                queue.append(other)
    return paths.get(end)
