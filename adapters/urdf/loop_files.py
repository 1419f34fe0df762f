"""Files of closing joints beside a URDF file, which of them is read, and the tolerances in it.

::

    tolerances:
      crank: [0.05mm, 0.1deg]      # of the joint's place and of its axis
      rocker: [5.0e-5, 1.7e-3]     # metres and radians

Those of Gepetto's parallel robots are read here::

    closed_loop: [[frame_a, frame_b], ...]   # links or joints of the URDF file
    type: ['6d', '3d', ...]                  # one per pair; left out: 6d
    name: [joint, ...]                       # one per pair; left out: both frames, frame_a-frame_b
    name_mot: [joint, ...]                   # the motors
    joint_name: [joint, ...]                 # joints whose URDF type is replaced ...
    joint_type: [SPHERICAL, UJOINT_XY, ...]  # ... by these

A ``6d`` pair is a fixed closure, a ``3d`` pair a spherical one. The frame of a joint moves with
its child link. ``UJOINT_AB`` turns about axis A of the joint frame, then about B; ``CARDAN`` is
the older name of ``UJOINT_XY``; ``FIXED`` locks the joint at zero.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.draft import Side
from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.values import Value, read_tolerance, read_yaml
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.adapters.urdf.joint import GEPETTO
from regularize.errors import ReadError
from regularize.escape import suggestion
from regularize.lie.screw import IDENTITY
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Joint, JointDynamics

CLOSURES = {word: kind for kind, word in GEPETTO.items()}
UNIVERSAL = tuple(f"UJOINT_{a}{b}" for a in "XYZ" for b in "XYZ" if a != b)
TYPES = ("SPHERICAL", "FIXED", "CARDAN", *UNIVERSAL)


def parse(path: str) -> Value:
    """Content of a file; raises ``ReadError`` if it is no such description."""
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
    """Replace joint types, and say which joints are motors."""
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
    """The joint; a warning and None where the URDF file has none of that name."""
    name = entry.text()
    if name not in draft.joints:
        draft.unread(
            f"`{key}` names the joint `{name}`, which the URDF file does not have: entry ignored",
            entry.source,
            f"correct the name{suggestion(name, draft.joints)}",
        )
    return draft.joints.get(name)


def close(root: Value, draft: UrdfDraft) -> None:
    """Add the closing joints, named after their two frames unless the file names them."""
    pairs = [pair.items() for pair in root.each("closed_loop")]
    kinds = root.maybe("type", Value.texts, ["6d"] * len(pairs))
    names = [f"{first.text()}-{second.text()}" for first, second in pairs]
    names = root.maybe("name", Value.texts, names)
    motor = None if root.get("name_mot") is None else False
    for (first, second), kind, wanted in zip(pairs, kinds, names, strict=True):
        one, other = _frame(first, draft), _frame(second, draft)
        if one[0] == other[0]:
            raise first.error(
                f"`{first.text()}` and `{second.text()}` are both on link `{one[0]}`; name frames "
                "of two links"
            )
        name = draft.joint_name(wanted)
        draft.close(first, name, CLOSURES[kind.lower()], one, other, actuated=motor)


def _frame(entry: Value, draft: UrdfDraft) -> Side:
    """Link and transform of a frame: that of a link, or of a joint, which its child carries."""
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


#: What only files of a layout with a name of its own have, by that name.
LAYOUTS = {
    "loop_closures.yaml": re.compile(rb"^(?:closures|ball_loops|pin_loops)\s*:", re.M),
    # The list is not empty: the exporter writes ``closing_joints: []`` for trees.
    "robot_data.yaml": re.compile(
        rb"^closing_joints\s*:(?!\s*(?:\[\s*\]|\{\s*\}|null|~)\s*$)", re.M
    ),
}
#: The key that tells a Gepetto file from other YAML files beside a model, at the top level.
GEPETTO_KEY = re.compile(rb"^(?:\{\s*)?[\"']?closed_loop[\"']?\s*:", re.M)


@dataclass(frozen=True)
class LoopFile:
    """A file of closing joints."""

    path: str
    retype: Callable[[UrdfDraft], None]  # before it is known which joints close loops
    close: Callable[[UrdfDraft], None]


def find(path: str, loops: str | os.PathLike[str] | bool | None) -> list[LoopFile]:
    """The files that describe the loops of a URDF file, the one that is read first.

    With None or True, the package's files of named layouts are looked for, and a Gepetto file
    beside the model: of its name, or ``robot.yaml`` where there is no ``robot.urdf``.
    """
    if loops is False:
        return []
    if loops is not None and not isinstance(loops, bool):
        file = os.fspath(loops)
        layout = next((layout for layout, key in LAYOUTS.items() if _has(file, key)), None)
        return [_gepetto(file) if layout is None else _named(layout, file)]
    folder = os.path.dirname(path)
    named = []
    for layout, key in LAYOUTS.items():
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
    from regularize.adapters.urdf.exporters import CLOSE  # where there is such a file

    return LoopFile(path, lambda draft: None, lambda draft: CLOSE[layout](path, draft))


def _gepetto(path: str) -> LoopFile:
    content = parse(path)
    return LoopFile(path, lambda draft: retype(content, draft), lambda draft: close(content, draft))


def report_unread(files: list[LoopFile], draft: UrdfDraft) -> None:
    """Warn of files of closing joints beside the first one, which is read."""
    for file in files[1:]:
        draft.unread(
            f"`{os.path.basename(file.path)}` lists closing joints too, and is not read: "
            f"`{os.path.basename(files[0].path)}` is",
            Source(file.path),
            "name the file that counts with --loops",
        )


def add_tolerances(path: str, draft: UrdfDraft) -> None:
    """Give joints the tolerances that a file states."""
    stated = read_yaml(path, "`tolerances:` with the names of joints").members("tolerances")
    for name, value in stated.items():
        if name not in draft.joints:
            raise value.error(f"there is no joint {name!r}{suggestion(name, draft.joints)}")
        draft.joints[name] = replace(draft.joints[name], tolerance=read_tolerance(value))
