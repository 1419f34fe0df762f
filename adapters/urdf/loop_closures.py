"""``loop_closures.yaml``: the loops that exporters of CAD assemblies write beside a URDF tree.

Two layouts are in use. ``closures`` lists two links with a point and an axis of their hinge, both
in the frame of the root link where all coordinates are zero. ``ball_loops`` and ``pin_loops`` list
two links with the point in each of them, and for pins the axis in the parent.
"""

from __future__ import annotations

import re
from dataclasses import replace

from regularize.adapters.common.closing import add_closure, rest_poses
from regularize.adapters.common.draft import Draft
from regularize.adapters.common.yaml_mapping import YamlMapping, read_yaml
from regularize.lie.screw import inverse, transform

NAME = "loop_closures.yaml"
KEY = re.compile(rb"^(?:closures|ball_loops|pin_loops)\s*:", re.M)


def close(file: str, draft: Draft) -> None:
    """Add the closing joints of a file, and say which joints are motors.

    Raises:
        ReadError: The file is not of either layout.
    """
    data = read_yaml(file, "`closures:`, or `ball_loops:` and `pin_loops:`")
    for each in data.entries("closures"):
        _hinge_at_root(each, draft)
    for key, kind in (("ball_loops", "spherical"), ("pin_loops", "revolute")):
        for each in data.entries(key):
            _pin(each, kind, draft)
    motors = [name for name in data.words("independent") if name in draft.joints]
    if motors:
        for name, joint in [*draft.joints.items()]:
            draft.joints[name] = replace(joint, actuated=name in motors)
    if data.value("ball_upgrades"):
        draft.note(
            "REG013",
            "warning",
            "`ball_upgrades` is not read: those joints stay what the URDF file makes them",
            data.source_of("ball_upgrades"),
        )


def _hinge_at_root(entry: YamlMapping, draft: Draft) -> None:
    first, second = entry.link("link_a", draft), entry.link("link_b", draft)
    T_first, T_second = rest_poses(entry, first, second, draft)
    T = transform(entry.turn("axis"), entry.vector("point"))
    frames = inverse(T_first) @ T, inverse(T_second) @ T
    add_closure(entry, (first, second), "revolute", frames, draft)


def _pin(entry: YamlMapping, kind: str, draft: Draft) -> None:
    first, second = entry.link("parent", draft), entry.link("child", draft)
    points = [entry.vector("parent_xyz"), entry.vector("child_xyz")]
    T_first, T_second = (transform(translation=point) for point in points)
    if kind == "revolute":
        R = entry.turn("axis")
        T_parent, T_child = rest_poses(entry, first, second, draft)
        T_first = transform(R, points[0])
        T_second = transform((inverse(T_child) @ T_parent)[:3, :3] @ R, points[1])
    add_closure(entry, (first, second), kind, (T_first, T_second), draft)
