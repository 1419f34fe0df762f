"""Joints as formats have them: their kinds in a table, and hinges, slides and screws in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from regularize.lie.arrays import Direction, Space
from regularize.lie.screw import IDENTITY, axis_of, helical, prismatic, revolute, transform
from regularize.mechanism.joint import Joint, JointDynamics, joint_position, motion
from regularize.mechanism.joint_kinds import joint_screws


@dataclass(frozen=True)
class JointKind:
    """One row of a format's table of joint kinds."""

    kind: str  # one of ``joint.KINDS`` or ``joint.HIGHER_PAIRS``
    words: tuple[str, ...] = ()  # what files call it: all are read, and the first is written
    axes: int = 0  # number of axes that its element names
    places: tuple[str, ...] = ()  # where it may stand, such as ``tree`` and ``loop``
    becomes: tuple[str, ...] = ()  # kinds that an edit can make of it in the tree
    closing_becomes: tuple[str, ...] = ()  # and where it closes a loop


Row = TypeVar("Row", bound=JointKind)


class KindTable(dict[str, Row], Generic[Row]):
    """A format's table of joint kinds, by our names of the kinds."""

    def __init__(self, *rows: Row) -> None:
        super().__init__({row.kind: row for row in rows})

    def at(self, *places: str) -> KindTable[Row]:
        """Return the rows of kinds that are allowed in at least one of some places."""
        return KindTable(*(row for row in self.values() if {*places} & {*row.places}))

    @cached_property
    def read(self) -> dict[str, str]:
        """Our kind by the word of the format."""
        return {word: row.kind for row in self.values() for word in row.words}

    @cached_property
    def written(self) -> dict[str, str]:
        """The word of the format by our kind, for kinds that have one."""
        return {row.kind: row.words[0] for row in self.values() if row.words}


#: A size or a pitch nearer than this to 1 or 0 is that but for rounding.
ROUNDING = 1e-12
AXES = "XYZ"
#: Sine of an angle below which a direction lies along an axis.
ALONG = 1e-9
#: Names of all freedoms, translations first.
GENERIC = tuple(f"trans{a}" for a in AXES) + tuple(f"rot{a}" for a in AXES)


def serial(joint: Joint) -> list[Joint]:
    """Split a joint into hinges, slides and screws over bodies ``<joint>/1`` and so on."""
    if joint.freedoms == 0:
        return [joint]
    q = joint.position
    if joint.group:
        plain = replace(joint, kind="composite")
        q = joint_position(plain, motion(joint, joint.position))
    parts, parent, T = [], joint.parent, joint.T_parent_joint
    for k in range(joint.freedoms):
        last = k == joint.freedoms - 1
        direction, point, pitch = axis_of(joint.screws[:, k])
        place = transform(translation=np.zeros(3) if point is None else point)
        size = float(np.linalg.norm(joint.screws[slice(3) if pitch is None else slice(3, 6), k]))
        if abs(size - 1.0) < ROUNDING:
            size = 1.0  # a unit axis, but for rounding
        if pitch is None:
            kind, screw = "prismatic", prismatic(direction)
        elif abs(pitch) < ROUNDING:
            kind, screw = "revolute", revolute(direction)
        else:
            kind, screw = "helical", helical(direction, np.zeros(3), pitch)
        child = joint.child if last else f"{joint.name}/{k + 1}"
        part = Joint(
            joint.name if joint.freedoms == 1 else f"{joint.name}_{k + 1}",
            *(parent, child, kind, screw * size, T @ place),
            (joint.T_child_joint if last else np.eye(4)) @ place,
            *(q[k : k + 1], joint.actuated),
            limits=None if joint.limits is None or joint.group else joint.limits.taken([k]),
            source=joint.source,
            dynamics=joint.dynamics.taken([k]),
        )
        parts.append(part)
        parent, T = child, np.eye(4)
    return parts


def slide_name(hinge: str) -> str:
    """Return the name of the slide in series with a hinge that together are a screw."""
    return f"{hinge}_slide"


def twin_name(joint: Joint) -> str:
    """Return the name of the massless twin of a joint's child, if a loop is cut there."""
    return f"{joint.child}__{joint.name}"


def standard(joint: Joint) -> bool:
    """Return whether the screws are those of a standard joint of its kind in its own frame."""
    if joint.kind == "composite":
        return False
    if joint.group or joint.kind == "fixed":
        return bool(np.array_equal(joint.screws, joint_screws(joint.kind)))
    axes = [axis_in_frame(joint, k) for k in range(joint.freedoms)]
    normal = axes[-1] if joint.kind == "planar" else axes[0]
    if joint.kind == "universal" and float(np.linalg.norm(np.cross(axes[0], axes[1]))) < 1e-9:
        return False
    plain = joint_screws(
        joint.kind, normal, axes[-1], 0.0 if joint.kind != "helical" else pitch_of(joint)
    )
    return bool(np.allclose(joint.screws, plain, rtol=0.0, atol=1e-14))


def pitch_of(joint: Joint) -> float:
    """Return the metres per radian of a helical joint."""
    pitch = axis_of(joint.screws[:, 0])[2]
    return 0.0 if pitch is None else pitch


def axis_in_frame(joint: Joint, freedom: int = 0) -> Direction:
    """Return the direction of a freedom in the joint frame."""
    return axis_of(joint.screws[:, freedom])[0]


def joint_of_freedoms(free: Sequence[str]) -> tuple[str, Space]:
    """Return kind and screws of the joint with some of the freedoms of ``GENERIC``."""
    kind = _kind(free)
    if kind in ("spherical", "fixed", "free"):
        return kind, joint_screws(kind)
    made = {"trans": prismatic, "rot": revolute}
    return kind, np.column_stack([made[n[:-1]](np.eye(3)[AXES.index(n[-1])]) for n in free])


def _kind(free: Sequence[str]) -> str:
    moves = [name[-1] for name in free if name.startswith("trans")]
    turns = [name[-1] for name in free if name.startswith("rot")]
    if len(turns) == 3 and len(moves) in (0, 3):
        return "free" if moves else "spherical"
    if moves == turns and len(moves) == 1:
        return "cylindrical"
    if len(moves) == 2 and len(turns) == 1 and turns[0] not in moves:
        return "planar"
    named = {(0, 0): "fixed", (1, 0): "prismatic", (0, 1): "revolute", (0, 2): "universal"}
    return named.get((len(moves), len(turns)), "composite")


def axis_letter(direction: Direction) -> str | None:
    """Return the letter of the axis that a direction is parallel to, or None."""
    leading = int(np.argmax(np.abs(direction)))
    across = float(np.linalg.norm(np.delete(direction, leading)))
    return AXES[leading] if across < ALONG else None


def in_a_row(joint: Joint) -> tuple[list[Joint], dict[str, tuple[str, float]]]:
    """Split a joint into a row without screws; return hinge and pitch of each slide of one, too."""
    if joint.kind in ("fixed", "free", "spherical"):
        return [joint], {}
    if joint.kind == "planar":
        normal = axis_in_frame(joint, 2)
        if np.array_equal(joint.screws, joint_screws("planar", normal)):
            return [joint], {}
    result: list[Joint] = []
    slides: dict[str, tuple[str, float]] = {}
    for part in serial(joint):
        if part.kind != "helical":
            result.append(part)
            continue
        # A screw is a hinge and a slide along it that mimics the hinge.
        between = f"{part.name}/slide"
        hinge, slide = (joint_screws(k, axis_in_frame(part)) for k in ("revolute", "prismatic"))
        turning = replace(part, child=between, kind="revolute", T_child_joint=IDENTITY)
        result.append(replace(turning, screws=hinge))
        slides[slide_name(part.name)] = (part.name, pitch_of(part))
        driven, q = None if part.actuated is None else False, pitch_of(part) * part.position
        sliding = replace(part, limits=None, dynamics=JointDynamics(), actuated=driven, position=q)
        sliding = replace(sliding, name=slide_name(part.name), parent=between, kind="prismatic")
        result.append(replace(sliding, screws=slide, T_parent_joint=IDENTITY))
    return result, slides
