"""``loop_closures.yaml``: the loops that exporters of CAD assemblies write beside a URDF tree.

Two layouts are in use. ``closures`` lists two links with a point and an axis of their hinge, both
in the frame of the root link where all coordinates are zero. ``ball_loops`` and ``pin_loops`` list
two links with the point in each of them, and for pins the axis in the parent.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from regularize.adapters._draft import Draft
from regularize.adapters._names import suggestion, unique
from regularize.adapters._pose import rotation_between
from regularize.diagnostic import Source
from regularize.errors import ReadError
from regularize.mechanism import Joint, joint_screws
from regularize.screw import Array, inverse, transform, unit

NAME = "loop_closures.yaml"
KEY = re.compile(rb"^(?:closures|ball_loops|pin_loops)\s*:", re.M)
#: A file of another exporter, whose layout is not known here, and its key for loops.
UNREAD = (
    "robot_data.yaml",
    re.compile(rb"^closing_joints\s*:\s*[^\s\[{]|^closing_joints\s*:\s*$", re.M),
)


def find(path: str, loops: str | os.PathLike[str] | bool | None) -> str | None:
    """The file that belongs to a URDF file: the one named, or one in its package."""
    if loops is False:
        return None
    if loops is not None and not isinstance(loops, bool):
        named = Path(loops)
        return os.fspath(loops) if named.is_file() and KEY.search(named.read_bytes()) else None
    return _beside(path, NAME, KEY)


def _beside(path: str, name: str, key: re.Pattern[bytes]) -> str | None:
    folder = os.path.dirname(path)
    for place in (folder, os.path.join(folder, ".."), os.path.join(folder, "..", "config")):
        candidate = Path(place, name)
        if candidate.is_file() and key.search(candidate.read_bytes()):
            return os.path.join(place, name)
    return None


def report_unread(path: str, draft: Draft) -> None:
    """Warn of a ``robot_data.yaml`` with loops, which is not read."""
    other = _beside(path, *UNREAD)
    if other is not None:
        draft.note(
            "REG013",
            "warning",
            f"`{UNREAD[0]}` lists closing_joints, which are not read: the mechanism has fewer "
            "joints than the model",
            Source(other, element="closing_joints"),
            "describe the loops by a URDF+ <loop> or a Gepetto YAML file",
        )


def close(file: str, draft: Draft) -> None:
    """Add the closing joints of a file, and say which joints are motors.

    Raises:
        ReadError: The file is not of either layout.
    """
    try:
        data = yaml.safe_load(Path(file).read_bytes())
    except (OSError, yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise ReadError(file, "not YAML that can be read; correct it there", line=line) from error
    if not isinstance(data, dict):
        raise ReadError(file, "expected `closures:`, or `ball_loops:` and `pin_loops:`")
    entry = _Entry(data, file, "")
    for each in entry.list("closures"):
        _hinge_at_root(each, draft)
    for key, kind in (("ball_loops", "spherical"), ("pin_loops", "revolute")):
        for each in entry.list(key):
            _pin(each, kind, draft)
    motors = [name for name in data.get("independent") or () if name in draft.joints]
    if motors:
        for name, joint in [*draft.joints.items()]:
            draft.joints[name] = replace(joint, actuated=name in motors)
    if data.get("ball_upgrades"):
        draft.note(
            "REG013",
            "warning",
            "`ball_upgrades` is not read: those joints stay what the URDF file makes them",
            Source(file, element="ball_upgrades"),
        )


def _hinge_at_root(entry: _Entry, draft: Draft) -> None:
    first, second = entry.link("link_a", draft), entry.link("link_b", draft)
    point, axis = entry.vector("point"), entry.vector("axis")
    (root, T_first), (other, T_second) = draft.rest_pose(first), draft.rest_pose(second)
    if root != other:
        raise entry.error(f"links `{first}` and `{second}` hang on different roots")
    T = transform(entry.turn(axis), point)
    name = str(entry.data.get("name") or unique(f"{first}-{second}", draft.joints))
    _add(name, first, second, "revolute", inverse(T_first) @ T, inverse(T_second) @ T, entry, draft)


def _pin(entry: _Entry, kind: str, draft: Draft) -> None:
    first, second = entry.link("parent", draft), entry.link("child", draft)
    points = [entry.vector("parent_xyz"), entry.vector("child_xyz")]
    name = str(entry.data.get("name") or unique(f"{first}-{second}", draft.joints))
    T_first, T_second = (transform(translation=point) for point in points)
    if kind == "revolute":
        R = entry.turn(entry.vector("axis"))
        (root, T_parent), (other, T_child) = draft.rest_pose(first), draft.rest_pose(second)
        if root != other:
            raise entry.error(f"links `{first}` and `{second}` hang on different roots")
        T_first = transform(R, points[0])
        T_second = transform((inverse(T_child) @ T_parent)[:3, :3] @ R, points[1])
    _add(name, first, second, kind, T_first, T_second, entry, draft)


def _add(
    name: str,
    first: str,
    second: str,
    kind: str,
    T_first: Array,
    T_second: Array,
    entry: _Entry,
    draft: Draft,
) -> None:
    if first == second:
        raise entry.error(f"joins link `{first}` to itself; name two links")
    name = unique(name, draft.joints)
    screws = joint_screws(kind)
    source = Source(entry.path, element=entry.where)
    draft.joints[name] = Joint(
        name, first, second, kind, screws, T_first, T_second, closure=True, source=source
    )


class _Entry:
    """A mapping of the file that knows where it stands."""

    def __init__(self, data: dict[str, Any], path: str, where: str) -> None:
        self.data, self.path, self.where = data, path, where

    def error(self, reason: str) -> ReadError:
        return ReadError(self.path, reason, element=self.where or None)

    def list(self, key: str) -> list[_Entry]:
        found = self.data.get(key) or []
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise self.error(f"`{key}` is not a list of mappings; write `- link_a: ...`")
        return [_Entry(each, self.path, f"{key}[{i}]") for i, each in enumerate(found)]

    def link(self, key: str, draft: Draft) -> str:
        name = self.data.get(key)
        if not isinstance(name, str) or name not in draft.bodies:
            way_out = suggestion(str(name), draft.bodies)
            raise self.error(f"`{key}` names {name!r}, which is no link of the URDF file{way_out}")
        return name

    def vector(self, key: str) -> Array:
        values = self.data.get(key)
        if not (
            isinstance(values, list)
            and len(values) == 3
            and all(isinstance(v, int | float) and math.isfinite(v) for v in values)
        ):
            raise self.error(f"`{key}` is not a list of three numbers: {values!r:.60}")
        return np.array(values, dtype=np.float64)

    def turn(self, axis: Array) -> Array:
        """The rotation that turns Z into an axis."""
        try:
            return rotation_between(np.array([0.0, 0.0, 1.0]), unit(axis))
        except ValueError:
            raise self.error("`axis` has no length; give a direction such as [0, 0, 1]") from None
