"""Loop descriptions of Gepetto's parallel robots: a YAML file beside ``robot.urdf``.

::

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

from dataclasses import replace

import numpy as np

from regularize.adapters.common.draft import Side
from regularize.adapters.common.names import suggestion
from regularize.adapters.common.values import Value
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.lie.screw import IDENTITY
from regularize.mechanism.joint import joint_screws
from regularize.mechanism.mechanism import Joint, JointDynamics

CLOSURES = {"3d": "spherical", "6d": "fixed"}
UNIVERSAL = tuple(f"UJOINT_{a}{b}" for a in "XYZ" for b in "XYZ" if a != b)
TYPES = ("SPHERICAL", "FIXED", "CARDAN", *UNIVERSAL)


def parse(path: str) -> Value:
    """Content of a file; raises ``ReadError`` if it is no such description."""
    from regularize.adapters.common.yaml_values import read_yaml  # where there is such a file

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
    pairs = [("joint_name", "joint_type")]
    for key in ("name", "type"):
        if root.get(key) is not None:
            pairs.insert(0, ("closed_loop", key))
    for one, other in pairs:
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
        draft.joints[joint.name] = replace(
            joint,
            kind=kind,
            screws=screws,
            position=np.zeros(0),
            limits=None,
            dynamics=JointDynamics(),
        )
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
        known = [*draft.bodies, *draft.joints]
        raise entry.error(
            f"there is no link or joint `{name}` in the URDF file{suggestion(name, known)}"
        )
    if joint is None or joint.child == name:
        return name, IDENTITY
    if name in draft.bodies:
        raise entry.error(
            f"`{name}` is both a link and a joint that leads to link `{joint.child}`; name "
            f"`{joint.child}`, or rename one of them"
        )
    return joint.child, joint.T_child_joint
