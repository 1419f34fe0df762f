"""URDF joints: type, axis, limits, motors and mimics."""

from __future__ import annotations

import numpy as np

from regularize.adapters.common.names import listed
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.adapters.urdf.motors import read_motors
from regularize.adapters.urdf.pose import pose
from regularize.lie.screw import Array
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint, JointDynamics, JointLimits

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
BOUNDS = ("lower", "upper", "velocity", "effort")


def read_joints(draft: UrdfDraft) -> None:
    """Add every ``<joint>``, then the motors that transmissions name."""
    nodes = [*draft.root.children("joint")]
    for node in nodes:
        draft.add_joint(_joint(node, draft), node)
    _report_silent_limits(draft, nodes)
    read_motors(draft)


def _report_silent_limits(draft: UrdfDraft, nodes: list[Node]) -> None:
    """Say which joints are unbounded here although URDF's defaults would hold them at zero."""
    silent = []
    for node in nodes:
        limit = node.child("limit") if node.get("type") in ("revolute", "prismatic") else None
        if limit is not None and not limit.get("lower") and not limit.get("upper"):
            silent.append(node)
    if silent:
        names = [node.text("name") for node in silent]
        draft.skip(
            f"the <limit> of {listed(names)} gives neither lower nor upper: it bounds nothing "
            "here, but `robot.model` has URDF's defaults 0 and 0, as Pinocchio and ROS read it, "
            "which lock the joint there",
            silent[0].source,
            'write lower and upper, or type="continuous" for a hinge without bounds',
            joints=names,
        )


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
        dynamics=dynamics(node, kind),
    )


def kind_of(node: Node, types: tuple[str, ...]) -> str:
    """Kind of the joint by its attribute ``type``; raises ``ReadError`` for an unknown one."""
    return TYPES[node.one_of(node.text("type"), types)]


def axis(node: Node | None) -> Array:
    """Unit vector of an ``<axis>``, X where there is none; raises ``ReadError`` for zero."""
    if node is None:
        return np.array(DEFAULT_AXIS)
    return node.direction(node.numbers("xyz", 3, DEFAULT_AXIS))


def limits(node: Node, kind: str) -> JointLimits | None:
    """Bounds of a joint of one freedom; None where the file gives none."""
    limit = node.child("limit")
    if limit is None or kind not in ("revolute", "prismatic"):
        return None
    given = {key: limit.number(key, 0.0, finite=False) for key in BOUNDS if limit.get(key)}
    if node.get("type") == "continuous":
        given.pop("lower", None), given.pop("upper", None)
    if not given:
        return None
    rated = {key: np.array(given[key]) for key in ("velocity", "effort") if key in given}
    if node.get("type") == "continuous":
        return JointLimits.of([-np.inf, np.inf], **rated)
    if "lower" in given or "upper" in given:
        return JointLimits.of([given.get("lower", 0.0), given.get("upper", 0.0)], **rated)
    return JointLimits(None, None, **rated)


def dynamics(node: Node, kind: str) -> JointDynamics:
    """Damping and friction of a joint of one freedom, as far as the file gives them."""
    found = node.child("dynamics")
    if found is None or kind not in ("revolute", "prismatic"):
        return JointDynamics()
    given = {key: np.array(found.number(key)) for key in ("damping", "friction") if found.get(key)}
    return JointDynamics(**given)


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
