"""The motions of a mechanism that are known so far, as quantities of one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.tape.program import Number
from regularize.guests.modes.closed_form import operations
from regularize.guests.modes.closed_form.tape import Tape
from regularize.guests.modes.invariance import AXES, Element
from regularize.guests.modes.loop_chain import ElementaryMotion, LoopChain
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.tolerances import ROUNDING

#: Quantities, shape (3,).
Vector: TypeAlias = NDArray[np.object_]
#: Quantities, shape (3, 3).
Matrix: TypeAlias = NDArray[np.object_]


def constants(tape: Tape, values: Array) -> NDArray[np.object_]:
    """Return numbers of the program for constants of any shape."""
    return array([tape.number(float(value)) for value in values.flat]).reshape(values.shape)


def array(quantities: Sequence[Number] | Sequence[Sequence[Number]]) -> NDArray[np.object_]:
    """Return numbers of the program as a vector, or rows of them as a matrix."""
    return np.array(quantities, dtype=object)


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return np.asarray(a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]])


def position_of(element: Element) -> Vector:
    """Return the point of an element that has one."""
    assert element.position is not None
    return element.position


def direction_of(element: Element) -> Vector:
    """Return the direction of an element that has one."""
    assert element.direction is not None
    return element.direction


@dataclass(frozen=True, eq=False)
class SymbolicMotion:
    """Rotation and translation: x in frame b becomes R x + p in frame a."""

    rotation: Matrix
    translation: Vector

    def element(self, element: Element) -> Element:
        """Return an element carried from frame b to frame a."""
        x, d = element.position, element.direction
        position = None if x is None else self.rotation @ x + self.translation
        return Element(element.kind, position, None if d is None else self.rotation @ d)

    def back(self, element: Element) -> Element:
        """Return an element carried from frame a to frame b."""
        x, d, inverse = element.position, element.direction, self.rotation.T
        position = None if x is None else inverse @ (x - self.translation)
        return Element(element.kind, position, None if d is None else inverse @ d)


def constant_motion(tape: Tape, T: Array) -> SymbolicMotion:
    """Return a motion by constants."""
    return SymbolicMotion(constants(tape, T[:3, :3]), constants(tape, T[:3, 3]))


def about_z(c: Number, s: Number, d: Number) -> SymbolicMotion:
    """Return a rotation about z with a translation along z."""
    zero, one = c.recording.number(0.0), c.recording.number(1.0)
    rows = [[c, -s, zero], [s, c, zero], [zero, zero, one]]
    return SymbolicMotion(array(rows), array([zero, zero, d]))


class KnownMotions:
    """Coordinates that are found so far, and what moves by them."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.coordinates: dict[int, Number] = {}
        self.rotations: dict[int, tuple[Number, Number, float]] = {}
        self.groups: dict[int, SymbolicMotion] = {}
        self._links: dict[tuple[LoopChain, int], SymbolicMotion] = {}
        self._carried: dict[tuple[LoopChain, Element, int, int], Element] = {}

    def has(self, item: ElementaryMotion) -> bool:
        """Return whether all coordinates of a motion are found."""
        return all(column in self.coordinates for column in item.columns)

    def give_angle(self, item: ElementaryMotion, c: Number, s: Number) -> None:
        """Set the angle between the two frames of a revolute motion."""
        (column,) = item.columns
        self.coordinates[column] = operations.angle(self.tape, c, s, item.angle)
        self.rotations[column] = c, s, item.angle

    def give_group(
        self, columns: Sequence[int], motion: SymbolicMotion, q: Sequence[Number]
    ) -> None:
        """Set the motion of a spherical or free joint, and its coordinates."""
        self.groups[columns[0]] = motion
        self.coordinates.update(zip(columns, q, strict=True))

    def motion(self, item: ElementaryMotion) -> SymbolicMotion | None:
        """Return the motion between the frames of an item, or None if it is not found."""
        tape = self.tape
        if not self.has(item):
            return None
        if item.kind in "SF":
            motion = self.groups[item.columns[0]]
            if item.sign > 0:
                return motion
            back = motion.rotation.T
            return SymbolicMotion(back, -(back @ motion.translation))
        coordinate = self.coordinates[item.columns[0]] * item.scale
        if item.kind == "P":
            c, s = (tape.number(v) for v in cosine_sine(item.angle))
            return about_z(c, s, coordinate + item.shift)
        c, s = self._turned(item)
        return about_z(c, s, coordinate * item.pitch + item.shift)

    def _turned(self, item: ElementaryMotion) -> tuple[Number, Number]:
        """Return cosine and sine of the angle between the frames of a revolute motion."""
        (column,) = item.columns
        if column not in self.rotations:
            coordinate = self.coordinates[column] * item.scale
            angle = self.tape.cosine_sine(coordinate + item.angle)
            self.rotations[column] = *angle, item.angle
        c, s, offset = self.rotations[column]
        a, b = cosine_sine(item.angle - offset)
        return c * a - s * b, s * a + c * b

    def rotation(self, item: ElementaryMotion) -> SymbolicMotion | None:
        """Return the motion of an item for directions: translations need not be found."""
        if item.kind == "P":
            c, s = (self.tape.number(v) for v in cosine_sine(item.angle))
            return about_z(c, s, self.tape.number(0.0))
        return self.motion(item)

    def carried(self, chain: LoopChain, place: Element, start: int, end: int) -> Element:
        """Return an element of frame ``start`` seen from frame ``end``, counted around the loop."""
        key = (chain, place, start, end)
        if key not in self._carried:
            if start == end:
                parts = (place.position, place.direction)
                of = (None if x is None else constants(self.tape, x) for x in parts)
                self._carried[key] = Element(place.kind, *of)
            else:
                step = 1 if end > start else -1
                before = self.carried(chain, place, start, end - step)
                self._carried[key] = self._stepped(chain, before, end - step, step)
        return self._carried[key]

    def _stepped(self, chain: LoopChain, element: Element, frame: int, step: int) -> Element:
        """Return an element seen from the next frame, or from the one before."""
        k = frame if step > 0 else frame - 1
        index = (k // 2) % len(chain)
        motion: SymbolicMotion | None
        if k % 2:
            motion = self._links.get((chain, index))
            if motion is None:
                motion = constant_motion(self.tape, chain.links[index])
                self._links[chain, index] = motion
        elif element.position is None:
            motion = self.rotation(chain.items[index])
        else:
            motion = self.motion(chain.items[index])
        assert motion is not None
        return motion.back(element) if step > 0 else motion.element(element)

    def axis_around(self, chain: LoopChain, item: int, k: int) -> Vector:
        """Return axis k of the frame behind a motion, seen around the rest of the loop."""
        return direction_of(self.carried(chain, AXES[k], 2 * item + 1, 2 * (item + len(chain))))


def cosine_sine(angle: float) -> tuple[float, float]:
    """Return cosine and sine, exact at multiples of a quarter turn."""
    quarters = angle / (np.pi / 2)
    if abs(quarters - round(quarters)) < ROUNDING:
        return [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][round(quarters) % 4]
    return float(np.cos(angle)), float(np.sin(angle))


def exponential(tape: Tape, screws: Array, q: Sequence[Number]) -> SymbolicMotion:
    """Return the exponential of a twist with the given coordinates."""
    held = [x.constant for x in q]
    if None not in held:
        T = screw.exp(screws @ np.array(held, dtype=np.float64))
        return constant_motion(tape, T)
    twist = constants(tape, screws) @ array(q)
    r = array(operations.exponential(tape, [*twist]))
    return SymbolicMotion(r[:9].reshape(3, 3), r[9:])
