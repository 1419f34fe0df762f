"""``loop_closures.yaml``: the loops that exporters of CAD assemblies write beside a URDF tree.

Two layouts are in use. ``closures`` lists two links with a point and an axis of their hinge, both
in the frame of the root link where all coordinates are zero. ``ball_loops`` and ``pin_loops`` list
two links with the point in each of them, and for pins the axis in the parent.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from regularize.adapters.common.draft import Side
from regularize.adapters.common.names import suggestion
from regularize.adapters.common.pose import rotation_between
from regularize.adapters.common.values import Value
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.lie.screw import Array, inverse, transform
from regularize.model.mechanism import JointLimits

NAME = "loop_closures.yaml"
KEY = re.compile(rb"^(?:closures|ball_loops|pin_loops)\s*:", re.M)


def close(file: str, draft: UrdfDraft) -> None:
    """Add the closing joints of a file, and say which joints are motors.

    Raises:
        ReadError: The file is not of either layout.
    """
    from regularize.adapters.common.yaml_values import read_yaml  # where there is such a file

    data = read_yaml(file, "`closures:`, or `ball_loops:` and `pin_loops:`")
    for each in data.each("closures"):
        _hinge_at_root(each, draft)
    for key, kind in (("ball_loops", "spherical"), ("pin_loops", "revolute")):
        for each in data.each(key):
            _pin(each, kind, draft)
    words = [entry.text() for entry in data.each("independent")]
    motors = [name for name in words if name in draft.joints]
    if motors:
        for name, joint in [*draft.joints.items()]:
            draft.joints[name] = replace(joint, actuated=name in motors)
    upgrades = data.get("ball_upgrades")
    if upgrades is not None and upgrades.data:
        draft.unread(
            "`ball_upgrades` is not read: those joints stay what the URDF file makes them",
            upgrades.source,
        )


def _hinge_at_root(entry: Value, draft: UrdfDraft) -> None:
    first, second = (loop_link(entry[key], draft) for key in ("link_a", "link_b"))
    T_first, T_second = draft.rest_poses(first, second, entry)
    T = transform(_turn(entry["axis"]), entry["point"].numbers(3))
    sides = (first, inverse(T_first) @ T), (second, inverse(T_second) @ T)
    close_loop(entry, "revolute", *sides, draft)


def _pin(entry: Value, kind: str, draft: UrdfDraft) -> None:
    first, second = (loop_link(entry[key], draft) for key in ("parent", "child"))
    points = [entry[key].numbers(3) for key in ("parent_xyz", "child_xyz")]
    R_first = R_second = np.eye(3)
    if kind == "revolute":
        R_first = _turn(entry["axis"])
        R_second = draft.between(second, first, entry)[:3, :3] @ R_first
    sides = (first, transform(R_first, points[0])), (second, transform(R_second, points[1]))
    close_loop(entry, kind, *sides, draft)


def _turn(axis: Value) -> Array:
    """The rotation that turns Z into an axis of the file, shape (3, 3)."""
    return rotation_between(np.eye(3)[2], axis.direction(axis.numbers(3), "[0, 0, 1]"))


def loop_link(value: Value, draft: UrdfDraft) -> str:
    """Name of a link of the model; raises ``ReadError`` for another one."""
    name = value.text()
    if name not in draft.bodies:
        way_out = suggestion(name, draft.bodies)
        raise value.error(f"{name!r} is no link of the URDF file{way_out}")
    return name


def close_loop(
    entry: Value,
    kind: str,
    first: Side,
    second: Side,
    draft: UrdfDraft,
    *,
    screws: Array | None = None,
    limits: JointLimits | None = None,
) -> None:
    """Add the closing joint of an entry, under the name that it has if that is free."""
    name = draft.joint_name(entry.maybe("name", Value.text, "") or f"{first[0]}-{second[0]}")
    draft.close(entry, name, kind, first, second, screws=screws, limits=limits)
