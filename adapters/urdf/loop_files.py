"""Files of closing joints beside a URDF file, which of them is read, and the tolerances in it.

::

    tolerances:
      crank: [0.05mm, 0.1deg]      # of the joint's place and of its axis
      rocker: [5.0e-5, 1.7e-3]     # metres and radians

Those of Gepetto's parallel robots::

    closed_loop: [[frame_a, frame_b], ...]   # links or joints of the URDF file
    type: ['6d', '3d', ...]                  # one per pair; left out: 6d
    name: [joint, ...]                       # one per pair; left out: both frames, frame_a-frame_b
    name_mot: [joint, ...]                   # the motors
    joint_name: [joint, ...]                 # joints whose URDF type is replaced ...
    joint_type: [SPHERICAL, UJOINT_XY, ...]  # ... by these

A ``6d`` pair is a fixed closure, a ``3d`` pair a spherical one. The frame of a joint moves with
its child link. ``UJOINT_AB`` turns about axis A of the joint frame, then about B; ``CARDAN`` is
the older name of ``UJOINT_XY``; ``FIXED`` locks the joint at zero.

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

All of it holds where the coordinates of the tree are zero. Axes are rounded to four decimals: one
that is parallel to an axis on its loop within that rounding is read as such. The exporter writes a
cylindrical joint or a pin in a slot as a hinge, a planar or a ball joint as a fixed one.

``loop_closures.yaml`` has two layouts. ``closures`` lists two links with a point and an axis of
their hinge, both in the frame of the root link where all coordinates are zero. ``ball_loops`` and
``pin_loops`` list two links with the point in each of them, and for pins the axis in the parent.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from regularize.adapters.common.draft import Side
from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.quantities import rotation_between, rotation_rpy
from regularize.adapters.common.values import Value, read_tolerance, read_yaml
from regularize.adapters.urdf.draft import GEPETTO, KINDS, UrdfDraft
from regularize.errors import ReadError
from regularize.escape import suggestion
from regularize.lie.arrays import Direction, Rotation
from regularize.lie.screw import IDENTITY, inverse, log_rotation, transform, unit
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, joint_screws

CLOSURES = {word: kind for kind, word in GEPETTO.items()}
UNIVERSAL = tuple(f"UJOINT_{a}{b}" for a in "XYZ" for b in "XYZ" if a != b)
#: A file of closing joints; whether the one beside a model is read; None: if there is one.
Loops: TypeAlias = str | os.PathLike[str] | bool | None
TYPES = ("SPHERICAL", "FIXED", "CARDAN", *UNIVERSAL)


def parse(path: str) -> Value:
    """Read and check a Gepetto file; raises ``ReadError`` if it is no such description."""
    root = read_yaml(path, "`closed_loop: [[frame, frame], ...]` and the like")
    if root.get("closed_loop") is None:
        raise root.error(
            "has no `closed_loop`, nor `closures`, `ball_loops`, `pin_loops` or `closing_joints`; "
            "list the pairs of frames that close loops"
        )
    for pair in root.each("closed_loop"):
        words = pair.texts()
        if len(words) != 2:
            raise pair.error(f"expected a pair of frames, found {len(words)}; write [frame, frame]")
    for key in ("type", "name", "joint_name", "joint_type", "name_mot"):
        root.maybe(key, Value.texts)
    for entry in root.each("type"):
        entry.one_of(entry.text().lower(), CLOSURES)
    stated = [key for key in ("type", "name") if root.get(key) is not None]
    for one, other in (*(("closed_loop", key) for key in stated), ("joint_name", "joint_type")):
        ones, others = len(root.each(one)), len(root.each(other))
        if ones != others:
            raise root.error(f"`{one}` has {ones} entries and `{other}` {others}; give one for one")
    for entry in root.each("joint_type"):
        entry.one_of(entry.text(), TYPES)
    return root


def retype(root: Value, draft: UrdfDraft) -> None:
    """Replace joint types by those of a Gepetto file, and mark the joints that are motors."""
    for name, type_ in zip(root.each("joint_name"), root.each("joint_type"), strict=True):
        joint, written = _known(name, "joint_name", draft), type_.text()
        if joint is None:
            continue
        if written in ("SPHERICAL", "FIXED"):
            kind = written.lower()
            screws = joint_screws(kind)
        else:
            letters = "XY" if written == "CARDAN" else written[-2:]
            first, second = (np.eye(3)["XYZ".index(letter)] for letter in letters)
            kind, screws = "universal", joint_screws("universal", first, second)
        nothing: dict[str, Any] = {"position": np.zeros(0), "limits": None}
        nothing["dynamics"] = JointDynamics()
        draft.joints[joint.name] = replace(joint, kind=kind, screws=screws, **nothing)
    if root.get("name_mot") is None:
        return
    motors = root.each("name_mot")
    named = {entry.text() for entry in motors if _known(entry, "name_mot", draft)}
    for joint in [*draft.joints.values()]:
        draft.joints[joint.name] = replace(joint, actuated=joint.name in named)


def _known(entry: Value, key: str, draft: UrdfDraft) -> Joint | None:
    """Return the joint of a name; None, with a warning, where the URDF file has none."""
    name = entry.text()
    if name not in draft.joints:
        draft.unread(
            f"`{key}` names the joint `{name}`, which the URDF file does not have: entry ignored",
            entry.source,
            f"correct the name{suggestion(name, draft.joints)}",
        )
    return draft.joints.get(name)


def close(root: Value, draft: UrdfDraft) -> None:
    """Add closing joints from a Gepetto file, named after their frames unless it names them."""
    pairs = [pair.items() for pair in root.each("closed_loop")]
    kinds = root.maybe("type", Value.texts, ["6d"] * len(pairs))
    names = [f"{first.text()}-{second.text()}" for first, second in pairs]
    names = root.maybe("name", Value.texts, names)
    motor = None if root.get("name_mot") is None else False
    for (first, second), kind, stated_name in zip(pairs, kinds, names, strict=True):
        one, other = _frame(first, draft), _frame(second, draft)
        if one[0] == other[0]:
            raise first.error(
                f"`{first.text()}` and `{second.text()}` are both on link `{one[0]}`; name frames "
                "of two links"
            )
        name = draft.joint_name(stated_name)
        draft.close(first, name, CLOSURES[kind.lower()], one, other, actuated=motor)


def _frame(entry: Value, draft: UrdfDraft) -> Side:
    """Return link and pose of a frame: of a link, or of a joint, which its child carries."""
    name = entry.text()
    joint = draft.joints.get(name)
    if joint is None and name not in draft.bodies:
        names = [*draft.bodies, *draft.joints]
        raise entry.error(
            f"there is no link or joint `{name}` in the URDF file{suggestion(name, names)}"
        )
    if joint is None or joint.child == name:
        return name, IDENTITY
    if name in draft.bodies:
        raise entry.error(
            f"`{name}` is both a link and a joint that leads to link `{joint.child}`; name "
            f"`{joint.child}`, or rename one of them"
        )
    return joint.child, joint.T_child_joint


DATA = KINDS.at("data")
#: A larger angle between the child link in this file and in the URDF file is reported, in radians.
MISFIT = 1e-3
#: The exporter writes axes with four decimals; the angle between such an axis and the true one.
ROUNDING = 1e-4


def close_data(file: str, draft: UrdfDraft) -> None:
    """Add the closing joints of ``robot_data.yaml``, and mark passive joints."""
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
    """Return the exact axis of a chain joint that a rounded axis is parallel to, else the axis."""
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
    """Report a child link that the file and the URDF file turn differently."""
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
    """Add the closing joints of ``loop_closures.yaml``, and mark joints with motors."""
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
    """Return the rotation that turns Z into an axis of the file."""
    return rotation_between(np.eye(3)[2], axis.direction(axis.numbers(3), "[0, 0, 1]"))


def loop_link(value: Value, draft: UrdfDraft) -> str:
    """Return the name of a link of the model; raises ``ReadError`` for another name."""
    name = value.text()
    if name not in draft.bodies:
        raise value.error(f"{name!r} is no link of the URDF file{suggestion(name, draft.bodies)}")
    return name


def close_loop(
    entry: Value, kind: str, first: Side, second: Side, draft: UrdfDraft, **more: Any
) -> None:
    """Add the closing joint of an entry, under the entry's name if that is free."""
    name = draft.joint_name(entry.maybe("name", Value.text, "") or f"{first[0]}-{second[0]}")
    draft.close(entry, name, kind, first, second, **more)


#: What only files of a layout with a name of its own have, and what adds their closing joints.
LAYOUTS: dict[str, tuple[re.Pattern[bytes], Callable[[str, UrdfDraft], None]]] = {
    "loop_closures.yaml": (
        re.compile(rb"^(?:closures|ball_loops|pin_loops)\s*:", re.M),
        close_listed,
    ),
    # The list is not empty: the exporter writes ``closing_joints: []`` for trees.
    "robot_data.yaml": (
        re.compile(rb"^closing_joints\s*:(?!\s*(?:\[\s*\]|\{\s*\}|null|~)\s*$)", re.M),
        close_data,
    ),
}
#: The key at the top level that tells a Gepetto file from other YAML files.
GEPETTO_KEY = re.compile(rb"^(?:\{\s*)?[\"']?closed_loop[\"']?\s*:", re.M)


@dataclass(frozen=True)
class LoopFile:
    """A file of closing joints."""

    path: str
    retype: Callable[[UrdfDraft], None]  # before it is known which joints close loops
    close: Callable[[UrdfDraft], None]


def find(path: str, loops: Loops) -> list[LoopFile]:
    """Return the files of loops, of which the first is read; by default those beside the model."""
    if loops is False:
        return []
    if loops is not None and not isinstance(loops, bool):
        file = os.fspath(loops)
        named = [_named(layout, file) for layout, (key, _) in LAYOUTS.items() if _has(file, key)]
        return named[:1] or [_gepetto(file)]
    folder = os.path.dirname(path)
    named = []
    for layout, (key, _) in LAYOUTS.items():
        places = (folder, os.path.join(folder, ".."), os.path.join(folder, "..", "config"))
        candidates = (os.path.join(place, layout) for place in places)
        named += [_named(layout, file) for file in candidates if _has(file, key)][:1]
    model = Path(path)
    names = [model.stem + suffix for suffix in (".yaml", ".yml")]
    if not model.with_name("robot.urdf").exists():
        names += ["robot.yaml", "robot.yml"]
    beside = (os.path.join(folder, name) for name in names)
    files = [_gepetto(file) for file in beside if _has(file, GEPETTO_KEY)][:1] + named
    if loops and not files:
        raise ReadError(path, f"no loop description {' or '.join(names)} beside it; name the file")
    return files


def _has(path: str, key: re.Pattern[bytes]) -> bool:
    return os.path.isfile(path) and key.search(read_bytes(path)) is not None


def _named(layout: str, path: str) -> LoopFile:
    return LoopFile(path, lambda draft: None, lambda draft: LAYOUTS[layout][1](path, draft))


def _gepetto(path: str) -> LoopFile:
    content = parse(path)
    return LoopFile(path, lambda draft: retype(content, draft), lambda draft: close(content, draft))


def report_unread(files: list[LoopFile], draft: UrdfDraft) -> None:
    """Warn of further files of closing joints, of which only the first is read."""
    for file in files[1:]:
        draft.warn(
            "REG013",
            f"`{os.path.basename(file.path)}` lists closing joints too, and is not read: "
            f"`{os.path.basename(files[0].path)}` is",
            Source(file.path),
            "name the file that counts with --loops",
        )


def add_tolerances(path: str, draft: UrdfDraft) -> None:
    """Set the tolerances of joints from a file."""
    stated = read_yaml(path, "`tolerances:` with the names of joints").members("tolerances")
    for name, value in stated.items():
        if name not in draft.joints:
            raise value.error(f"there is no joint {name!r}{suggestion(name, draft.joints)}")
        draft.joints[name] = replace(draft.joints[name], tolerance=read_tolerance(value))
