"""URDF joints: type, axis, limits, motors and mimics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.adapters.common.names import listed
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.adapters.urdf.pose import pose
from regularize.lie.screw import Array
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint

#: Kind of each joint type that URDF, its extensions and its dialects write.
TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "planar": "planar",
    "floating": "free",
    "spherical": "spherical",
    "ball": "spherical",
    "universal": "universal",
    "cylindrical": "cylindrical",
}
PLAIN_TYPES = ("revolute", "continuous", "prismatic", "fixed", "planar", "floating")
BALL_TYPES = ("spherical", "ball")
AXIAL = ("revolute", "prismatic", "planar", "universal", "cylindrical")
DEFAULT_AXIS = (1.0, 0.0, 0.0)


def read_joints(draft: UrdfDraft) -> None:
    """Add every ``<joint>``, then the motors that transmissions name."""
    for node in draft.root.children("joint"):
        draft.add_joint(_joint(node, draft), node)
    _read_motors(draft)


def _joint(node: Node, draft: UrdfDraft) -> Joint:
    name, kind = node.text("name"), kind_of(node, (*PLAIN_TYPES, *BALL_TYPES))
    if node.get("type") in BALL_TYPES:
        draft.skip(
            f"joint `{name}` is of type {node.get('type')}, which plain URDF does not know: read "
            "as a ball joint of 3 freedoms",
            node.source,
            joints=(name,),
        )
    parent, child = node.need("parent"), node.need("child")
    independent = node.get("independent")
    return Joint(
        name,
        draft.link(parent.text("link"), parent),
        draft.link(child.text("link"), child),
        kind,
        joint_screws(kind, axis(node.child("axis")) if kind in AXIAL else DEFAULT_AXIS),
        pose(node.child("origin")),
        actuated=None if independent is None else independent in ("true", "True", "1"),
        limits=limits(node, kind),
        source=node.source,
    )


def kind_of(node: Node, types: tuple[str, ...]) -> str:
    """Kind of the joint by its attribute ``type``; raises ``ReadError`` for an unknown one."""
    return TYPES[node.one_of(node.text("type"), types)]


def axis(node: Node | None) -> Array:
    """Unit vector of an ``<axis>``, X where there is none; raises ``ReadError`` for zero."""
    if node is None:
        return np.array(DEFAULT_AXIS)
    return node.direction(node.numbers("xyz", 3, DEFAULT_AXIS))


def limits(node: Node, kind: str) -> Array | None:
    """Bounds of a joint of one freedom; None where the file gives none."""
    limit = node.child("limit")
    if limit is None or kind not in ("revolute", "prismatic") or node.get("type") == "continuous":
        return None
    if limit.get("lower") is None and limit.get("upper") is None:
        return None
    bounds = [limit.number("lower", 0.0, finite=False), limit.number("upper", 0.0, finite=False)]
    return np.array([bounds])


def _read_motors(draft: UrdfDraft) -> None:
    """Joints that a transmission, or a command interface of ros2_control, drives."""
    for transmission in draft.root.children("transmission"):
        _report_passive(transmission, draft)
    nodes = [joint for t in draft.root.children("transmission") for joint in t.children("joint")]
    for control in draft.root.children("ros2_control"):
        nodes += [j for j in control.children("joint") if j.child("command_interface") is not None]
    for node in nodes:
        # Transmissions of joints that the file does not have are common, and harmless here.
        joint = draft.joints.get(node.get("name") or "")
        if joint is not None:
            draft.joints[joint.name] = replace(joint, actuated=True)


def _report_passive(node: Node, draft: UrdfDraft) -> None:
    """Warn of joints that a transmission moves together, which is no part of the kinematics."""
    passive = [joint.get("name") or "?" for joint in node.children("passive_joint")]
    if passive:
        draft.unread(
            f"transmission `{node.get('name')}` couples {listed(passive)} to its motor, which is "
            "not read: the mobility may be counted too high",
            node.source,
            "write the coupling as <mimic> of these joints, or the loop as a URDF+ <loop>",
            joints=tuple(passive),
        )


def read_mimics(draft: UrdfDraft) -> None:
    """Add ``q - multiplier * q_other = offset`` for every ``<mimic>``."""
    for node in draft.root.children("joint"):
        mimic = node.child("mimic")
        if mimic is None:
            continue
        joint = draft.joints[node.text("name")]
        other = draft.joint_named(mimic.text("joint"), mimic)
        if joint is other:
            raise mimic.error("the joint mimics itself; name the joint that it follows")
        for each in (joint, other):
            check_scalar(each, mimic)
        terms = ((joint.name, 0, 1.0), (other.name, 0, -mimic.number("multiplier", 1.0)))
        draft.couple(joint.name, "mimic", terms, mimic.number("offset", 0.0), mimic.source)


def check_scalar(joint: Joint, node: Node) -> None:
    """Raise ``ReadError`` unless the joint has one coordinate."""
    if joint.freedoms != 1:
        raise node.error(
            f"joint `{joint.name}` is {joint.kind} and has {joint.freedoms} freedoms, not the one "
            "that a coupling needs; name a revolute or prismatic joint"
        )
