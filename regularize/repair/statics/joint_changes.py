"""Joints that may become looser ones: a change for every kind, place and direction there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from regularize.errors import ModelError
from regularize.lie import arrays, screw, subalgebra
from regularize.lie.arrays import Array, Space, Transform
from regularize.lie.screw import IDENTITY, leading_component
from regularize.mechanism.joint import (
    Joint,
    axis_and_point,
    body_jacobian,
    changed_joint,
    joint_position,
    motion,
    own_coordinates,
)
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, joint_screws, perpendiculars
from regularize.mechanism.mechanism import Mechanism
from regularize.tolerances import UNNOTICED, VANISHING
from regularize.words import Direction, axis_words, directions

#: How far each standard joint is from the hinge, slider or weld that it replaces: an axis that is
#: kept costs less, and every kind has to be available as a part.
COST = {"cylindrical": 1, "universal": 2, "spherical": 2, "slotted": 3}

#: Joints of four freedoms: bearings that float and rails with play, then what is no part to buy.
COST_OF_PAIRS = {"planar": 2, "point_on_line": 3, "line_in_plane": 3, "parallel": 4}
COST_OF_PAIRS |= dict.fromkeys(HIGHER_PAIRS, 4) | COST_OF_PAIRS

COMPOSITE = frozenset({"slotted", *HIGHER_PAIRS})

#: What a joint becomes that is left with play, since others hold all that it holds.
CLEARANCE = "clearance"

#: A pin in a slot is no standard joint, but it is the only one that gives way within the plane of
#: a planar loop, where equal cranks fight each other. It is proposed where nothing else helps.
STANDARD = ("cylindrical", "universal", "spherical")

#: What the direction of a kind that leaves a choice is called.
CHOICE = {
    "revolute": "axis along",
    "prismatic": "along",
    "cylindrical": "axis along",
    "planar": "plane normal to",
    "universal": "second axis along",
    "slotted": "slot along",
    "point_on_line": "line along",
    "line_in_plane": "plane normal to",
    "point_on_plane": "plane normal to",
}


@dataclass(frozen=True, eq=False)
class JointChange:
    """A change of one joint's kind."""

    joint: str
    before: str
    after: str
    make: Callable[[], Joint] = field(repr=False)
    #: Its new freedoms in the world at the assembled pose.
    added: Space = field(repr=False)
    #: Where the kind leaves a choice: the second axis, the slot, the line or the plane's normal.
    choice: arrays.Direction | None = field(default=None, repr=False)

    @cached_property
    def replacement(self) -> Joint:
        """The changed joint."""
        return self.make()

    @property
    def gain(self) -> int:
        """Number of freedoms that the joint gains."""
        return int(self.added.shape[1])

    @property
    def freedoms(self) -> tuple[Direction, ...]:
        """The freedoms that the joint gains, as directions on the ground: slides and turns."""
        turning = np.linalg.norm(self.added[3:], axis=0) > VANISHING
        slides, turns = self.added.copy()[:, ~turning], self.added.copy()[:, turning]
        turns[:3] = 0.0  # where its axes are goes without saying
        spaces = [subalgebra.span(columns) for columns in (slides, turns) if columns.size]
        return tuple(direction for space in spaces for direction in directions(space))

    @property
    def cost(self) -> int:
        """Rank of the new kind from 1 on: least where the axis is kept and the part is standard."""
        return COST.get(self.after) or COST_OF_PAIRS.get(self.after, 1)

    @property
    def words(self) -> str:
        """The new kind, with its direction where there is a choice."""
        kind = "loose, with clearance" if self.after == CLEARANCE else self.after.replace("_", " ")
        if self.choice is None:
            return kind
        return f"{kind} ({CHOICE[self.after]} {axis_words(self.choice)})"

    @property
    def argument(self) -> str:
        """The change for ``regularize fix --joint``: ``NAME=KIND`` or ``NAME=KIND:X,Y,Z``."""
        text = f"{self.joint}={self.after}"
        if self.choice is None:
            return text
        sign = np.sign(self.choice[leading_component(self.choice)])  # as in words
        return f"{text}:" + ",".join(f"{x + 0.0:.6g}" for x in np.round(sign * self.choice, 9))

    def __str__(self) -> str:
        """For example ``D: revolute to spherical``."""
        return f"{self.joint}: {self.before} to {self.words}"


def clearance(joint: Joint, to_world: Transform) -> JointChange:
    """Return the change that gives a joint play, by the adjoint from its frame to the world."""
    held = np.linalg.svd(joint.screws)[0][:, joint.freedoms :] if joint.freedoms else np.eye(6)
    make = partial(changed_joint, joint, "free", joint_screws("free"), IDENTITY)
    return JointChange(joint.name, joint.kind, CLEARANCE, make, arrays.read_only(to_world @ held))


def with_joints(mechanism: Mechanism, joints: Iterable[Joint]) -> Mechanism:
    """Return a mechanism with these joints in place of those of the same names."""
    new = {joint.name: joint for joint in joints}
    return replace(mechanism, joints=tuple(new.get(j.name, j) for j in mechanism.joints))


class Replacement(NamedTuple):
    """A joint with more freedoms in place of another, in the frame of the latter."""

    after: str
    kind: str
    screws: Space
    #: The new frame.
    frame: Transform
    #: Which of the new freedoms is the one that the joint had, if it had one alone.
    kept: int | None
    #: Freedoms that it did not have, in the frame on its parent.
    gained: Space
    choice: arrays.Direction | None


def replacements(joint: Joint, forces: Array, q: Array) -> Iterator[Replacement]:
    """Yield looser joints, and the twists they add at q; balls slide along ``forces``."""
    at_zero = replace(joint, position=np.zeros(joint.freedoms))
    for after, screws, frame, choice in _looser(joint, forces):
        kind = "composite" if after in COMPOSITE else after
        kept, to_frame = own_freedom(joint, screws), screw.inverse(frame)
        new = changed_joint(at_zero, kind, screws, frame, kept)
        x = np.zeros(new.freedoms)
        if np.any(q):
            x = own_coordinates(new.freedoms, kept, q)
            x = joint_position(new, to_frame @ motion(joint, q) @ frame, x)
        before = subalgebra.span(screw.adjoint(to_frame) @ body_jacobian(joint, q))
        added = subalgebra.span(subalgebra.residual(before, body_jacobian(new, x)))
        gained = np.asarray(screw.adjoint(frame @ motion(new, x)) @ added)
        yield Replacement(after, kind, screws, frame, kept, gained, choice)


def _looser(
    joint: Joint, forces: Array
) -> Iterator[tuple[str, Space, Transform, arrays.Direction | None]]:
    """Yield kinds with more freedoms: their screws, frames, and the chosen directions."""
    if joint.kind == "fixed" and joint.closure:
        yield "spherical", joint_screws("spherical"), IDENTITY, None
        return
    if joint.kind == "spherical":
        for along in forces:
            yield "point_on_line", joint_screws("point_on_line", along), IDENTITY, along
        # Where the forces lie in a plane, nothing but that ball holds across it, and it has to.
        rank = int(np.linalg.matrix_rank(forces, UNNOTICED)) if forces.size else 3
        for normal in np.linalg.svd(forces)[2][rank:]:
            yield "point_on_plane", joint_screws("point_on_plane", normal), IDENTITY, normal
        return
    if joint.kind == "planar":
        normal = next(column[3:] for column in joint.screws.T if np.any(column[3:]))
        yield "point_on_plane", joint_screws("point_on_plane", normal), IDENTITY, normal
        return
    if joint.kind not in ("revolute", "prismatic", "cylindrical"):
        return
    axis, point = axis_and_point(joint)
    frame = screw.transform(None, point)
    across = perpendiculars(axis)
    if joint.kind != "cylindrical":
        yield "cylindrical", joint_screws("cylindrical", axis), frame, None
    if joint.kind == "revolute":
        value = screw.exp(screw.revolute(axis) * float(joint.position[0]))[:3, :3]
        for second in across:
            yield "universal", joint_screws("universal", axis, second), frame, value @ second
        yield "spherical", joint_screws("spherical"), frame, None
        for along in across:
            screws = np.column_stack([screw.prismatic(along), screw.revolute(axis)])
            yield "slotted", screws, frame, along
        yield "parallel", joint_screws("parallel", axis), frame, None
    else:
        for normal in across:
            yield "line_in_plane", joint_screws("line_in_plane", axis, normal), frame, normal
    if joint.kind == "prismatic":
        for normal in across:
            turn = joint_screws("planar", normal)[:, 2]
            slides = [screw.prismatic(axis), screw.prismatic(np.cross(turn[3:], axis))]
            yield "planar", np.column_stack([*slides, turn]), frame, normal
    yield "point_on_line", joint_screws("point_on_line", axis), frame, axis
    for normal in across if joint.kind != "revolute" else (*across, axis):
        yield "point_on_plane", joint_screws("point_on_plane", normal), frame, normal


def own_freedom(joint: Joint, screws: Space) -> int | None:
    """Return the index, in new screws, of the joint's single old freedom; None without."""
    if joint.freedoms != 1 or screws.shape[1] > 2:
        return None  # a ball joint's coordinates are of another sort
    turns = bool(np.any(joint.screws[3:, 0]))
    kinds = np.any(screws[3:], axis=0) == turns
    return int(np.argmax(kinds)) if kinds.any() else None


def direction_in(name: str, words: str) -> arrays.Direction:
    """Read a direction that a user writes as X,Y,Z or by a letter; raises ``ModelError``."""
    letter = words.strip().lower()
    if letter.lstrip("+-") in ("x", "y", "z") and len(letter) <= 2:
        sign = -1.0 if letter.startswith("-") else 1.0
        return np.asarray(sign * np.eye(3)["xyz".index(letter[-1])])
    try:
        return screw.unit([float(word) for word in words.split(",")]).reshape(3)
    except ValueError:
        raise ModelError(
            f"joint {name!r}: {words!r} is no direction; write three numbers as in 0,0,1, or a "
            "letter as in Z"
        ) from None
