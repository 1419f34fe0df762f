"""YAML files of closing joints that exporters of CAD assemblies write beside a URDF tree.

``robot_data.yaml`` comes from Fusion 360::

    joints:
      elbow: {passive: true, ...}            # the joints of the tree once more
    closing_joints:
      - name: slider
        type: prismatic                      # revolute, continuous, prismatic or fixed
        parent: base_link
        child: jaw
        origin_xyz_m: [0.05, 0.03, 0.02]     # of the joint, in the parent link
        origin_rpy_rad: [0.0, 0.0, 1.5708]   # of the child link, in the parent link
        axis: [1.0, 0.0, 0.0]                # in the child link
        limits: {lower: -0.01, upper: 0.02}

All of it holds where the coordinates of the tree are zero, so the point of the joint in the child
link follows from the tree. Axes are rounded to four decimals, which would keep parallel axes from
being parallel: one that is parallel to an axis on its loop within that rounding is read as such.
The exporter knows four types only: a cylindrical joint or a pin in a slot is written as a hinge, a
planar or a ball joint as a fixed one.

``loop_closures.yaml`` has two layouts. ``closures`` lists two links with a point and an axis of
their hinge, both in the frame of the root link where all coordinates are zero. ``ball_loops`` and
``pin_loops`` list two links with the point in each of them, and for pins the axis in the parent.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from regularize.adapters.common.draft import Side
from regularize.adapters.common.quantities import rotation_between, rotation_rpy
from regularize.adapters.common.values import Value, read_yaml
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.adapters.urdf.joint import KINDS
from regularize.escape import suggestion
from regularize.lie.arrays import Direction, Rotation, Space
from regularize.lie.screw import inverse, log_rotation, transform, unit
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, joint_screws
from regularize.mechanism.mechanism import JointLimits

#: Types of closing joints: those of the exporter, and those that it lacks.
DATA = KINDS.at("data")
#: A larger angle between the child link in this file and in the URDF file is reported, in radians.
MISFIT = 1e-3
#: The exporter writes axes with four decimals; the angle between such an axis and the true one.
ROUNDING = 1e-4


def close_data(file: str, draft: UrdfDraft) -> None:
    """Add the closing joints of ``robot_data.yaml``, and say which joints are passive."""
    data = read_yaml(file, "`closing_joints:` with a list of joints")
    for entry in data.each("closing_joints"):
        _close(entry, draft)
    for name, joint in data.members("joints").items():
        passive = isinstance(joint.data, dict) and joint.maybe("passive", Value.flag, False)
        if passive and name in draft.joints:
            draft.joints[name] = replace(draft.joints[name], actuated=False)


def _close(entry: Value, draft: UrdfDraft) -> None:
    word = entry["type"].one_of(entry["type"].text(), DATA.read)
    kind = DATA.read[word]
    parent, child = (loop_link(entry[key], draft) for key in ("parent", "child"))
    T_parent, T_child = draft.rest_poses(parent, child, entry)
    rpy = entry.maybe("origin_rpy_rad", lambda value: value.numbers(3), np.zeros(3))
    T_parent_joint = transform(rotation_rpy(*rpy), entry["origin_xyz_m"].numbers(3))
    T_child_joint = inverse(T_child) @ T_parent @ T_parent_joint
    axis = np.eye(3)[2]
    if DATA[kind].axes:
        R_root_joint = (T_parent @ T_parent_joint)[:3, :3]
        axis = entry["axis"].direction(entry["axis"].numbers(3), "[0, 0, 1]")
        axis = _parallel(axis, R_root_joint, (parent, child), draft)
    sides = (parent, T_parent_joint), (child, T_child_joint)
    closing = "composite" if kind in HIGHER_PAIRS else kind
    bounds = _limits(entry) if word in ("revolute", "prismatic") else None
    close_loop(entry, closing, *sides, draft, screws=joint_screws(kind, axis), limits=bounds)
    _compare(entry, T_child_joint[:3, :3], child, draft)
    if kind == "fixed":
        name = entry.maybe("name", Value.text, entry.where)
        draft.skip(
            f"closing joint `{name}` is fixed: the exporter also writes ball joints and planar "
            "joints so",
            entry.source,
            "if it is one of these in the assembly, write `type: ball` or `type: planar`",
        )


def _parallel(
    axis: Direction, R_root_joint: Rotation, links: tuple[str, str], draft: UrdfDraft
) -> Direction:
    """The axis, or that of a joint on the way to which it is parallel but for its rounding."""
    written = R_root_joint @ axis
    for joint in [joint for link in links for joint in draft.chain(link)]:
        R = (draft.rest_pose(joint.parent)[1] @ joint.T_parent_joint)[:3, :3]
        for screw in joint.screws.T:
            other = R @ unit(screw[3:] if np.any(screw[3:]) else screw[:3])
            if float(np.linalg.norm(np.cross(written, other))) < ROUNDING:
                return np.asarray(R_root_joint.T @ other * np.sign(written @ other))
    return axis


def _limits(entry: Value) -> JointLimits | None:
    bounds = entry.get("limits")
    if bounds is None:
        return None
    lower, upper = bounds.maybe("lower", Value.number), bounds.maybe("upper", Value.number)
    if lower is None or upper is None:
        return None
    rated = {key: bounds.maybe(key, Value.number) for key in ("velocity", "effort")}
    return JointLimits.of([lower, upper], **rated)


def _compare(entry: Value, R_child_joint: Rotation, child: str, draft: UrdfDraft) -> None:
    """Report a child link that the file sees turned against where the URDF file puts it."""
    angle = float(np.linalg.norm(log_rotation(R_child_joint)))
    if angle > MISFIT:
        draft.warn(
            "REG015",
            f"`origin_rpy_rad` sees link `{child}` turned by {math.degrees(angle):.3g} degrees "
            "against where the URDF file puts it at zero coordinates: the joint frame is placed "
            f"by link `{entry['parent'].text()}`",
            entry.source,
            "export both files together, from one state of the assembly",
            joints=(entry.maybe("name", Value.text, ""),),
        )


def close_listed(file: str, draft: UrdfDraft) -> None:
    """Add the closing joints of ``loop_closures.yaml``, and say which joints are motors."""
    data = read_yaml(file, "`closures:`, or `ball_loops:` and `pin_loops:`")
    for entry in data.each("closures"):
        first, second = (loop_link(entry[key], draft) for key in ("link_a", "link_b"))
        T_first, T_second = draft.rest_poses(first, second, entry)
        T = transform(_turn(entry["axis"]), entry["point"].numbers(3))
        sides = (first, inverse(T_first) @ T), (second, inverse(T_second) @ T)
        close_loop(entry, "revolute", *sides, draft)
    for key, kind in (("ball_loops", "spherical"), ("pin_loops", "revolute")):
        for entry in data.each(key):
            _pin(entry, kind, draft)
    motors = {entry.text() for entry in data.each("independent")} & draft.joints.keys()
    if motors:
        for name, joint in [*draft.joints.items()]:
            draft.joints[name] = replace(joint, actuated=name in motors)
    upgrades = data.get("ball_upgrades")
    if upgrades is not None and upgrades.data:
        draft.unread(
            "`ball_upgrades` is not read: those joints stay what the URDF file makes them",
            upgrades.source,
        )


def _pin(entry: Value, kind: str, draft: UrdfDraft) -> None:
    first, second = (loop_link(entry[key], draft) for key in ("parent", "child"))
    points = [entry[key].numbers(3) for key in ("parent_xyz", "child_xyz")]
    R_first = R_second = np.eye(3)
    if kind == "revolute":
        R_first = _turn(entry["axis"])
        R_second = draft.between(second, first, entry)[:3, :3] @ R_first
    sides = (first, transform(R_first, points[0])), (second, transform(R_second, points[1]))
    close_loop(entry, kind, *sides, draft)


def _turn(axis: Value) -> Rotation:
    """The rotation that turns Z into an axis of the file."""
    return rotation_between(np.eye(3)[2], axis.direction(axis.numbers(3), "[0, 0, 1]"))


def loop_link(value: Value, draft: UrdfDraft) -> str:
    """Name of a link of the model; raises ``ReadError`` for another one."""
    name = value.text()
    if name not in draft.bodies:
        raise value.error(f"{name!r} is no link of the URDF file{suggestion(name, draft.bodies)}")
    return name


def close_loop(
    entry: Value,
    kind: str,
    first: Side,
    second: Side,
    draft: UrdfDraft,
    *,
    screws: Space | None = None,
    limits: JointLimits | None = None,
) -> None:
    """Add the closing joint of an entry, under the name that it has if that is free."""
    name = draft.joint_name(entry.maybe("name", Value.text, "") or f"{first[0]}-{second[0]}")
    draft.close(entry, name, kind, first, second, screws=screws, limits=limits)


#: What adds the closing joints of a file, by the name that its layout has.
CLOSE = {"loop_closures.yaml": close_listed, "robot_data.yaml": close_data}
