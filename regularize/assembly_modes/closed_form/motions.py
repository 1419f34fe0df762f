"""The motions of a mechanism that are known so far, as quantities of one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.assembly_modes.closed_form import operations, vectors
from regularize.assembly_modes.closed_form.tape import Scalar, Tape
from regularize.assembly_modes.closed_form.vectors import SymbolicMotion, Vector
from regularize.assembly_modes.invariance import AXES, Element
from regularize.assembly_modes.loop_chain import ElementaryMotion, LoopChain
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import Edge


@dataclass(frozen=True)
class Rotation:
    """A known joint angle: cosine and sine of the coordinate plus an offset.

    Attributes:
        c: Cosine.
        s: Sine.
        offset: Radians.
    """

    c: Scalar
    s: Scalar
    offset: float


class Known:
    """Coordinates known so far and what moves by them.

    Attributes:
        tape: The program that computes them.
        coordinates: By column of the mechanism.
        rotations: Angles by column.
        groups: Motion of each spherical and free joint, by its first column.
    """

    def __init__(self, tape: Tape) -> None:
        """Start with nothing known."""
        self.tape = tape
        self.coordinates: dict[int, Scalar] = {}
        self.rotations: dict[int, Rotation] = {}
        self.groups: dict[int, SymbolicMotion] = {}
        self._links: dict[tuple[LoopChain, int], SymbolicMotion] = {}
        self._seen: dict[tuple[LoopChain, Element, int, int], Element] = {}

    def has(self, item: ElementaryMotion) -> bool:
        """Whether all coordinates of a motion are known."""
        return all(column in self.coordinates for column in item.columns)

    def give(self, column: int, coordinate: Scalar) -> None:
        """Set a coordinate of a joint with one freedom at a time."""
        self.coordinates[column] = coordinate

    def give_angle(self, item: ElementaryMotion, c: Scalar, s: Scalar) -> None:
        """Set the angle between the two frames of a revolute motion."""
        (column,) = item.columns
        self.coordinates[column] = operations.angle(self.tape, c, s, item.angle)
        self.rotations[column] = Rotation(c, s, item.angle)

    def give_group(
        self, columns: Sequence[int], motion: SymbolicMotion, q: Sequence[Scalar]
    ) -> None:
        """Set the motion of a spherical or free joint from parent to child and its coordinates."""
        self.groups[columns[0]] = motion
        self.coordinates.update(zip(columns, q, strict=True))

    def give_group_input(self, edge: Edge, q: Sequence[Scalar]) -> None:
        """Set a spherical or free joint from its exponential coordinates."""
        self.give_group(edge.columns, _exponential(self.tape, edge.screws, q), q)

    def motion(self, item: ElementaryMotion) -> SymbolicMotion | None:
        """Motion between the frames of an item, or None while it is not known."""
        tape = self.tape
        if not self.has(item):
            return None
        if item.kind in "SF":
            motion = self.groups[item.columns[0]]
            if item.sign > 0:
                return motion
            assert motion.rotation is not None
            back = motion.rotation.T
            return SymbolicMotion(back, -(back @ motion.translation))
        coordinate = self.coordinates[item.columns[0]] * item.scale
        if item.kind == "P":
            c, s = (tape.scalar(v) for v in cosine_sine(item.angle))
            return vectors.about_z(c, s, coordinate + item.shift)
        c, s = self._turned(item)
        return vectors.about_z(c, s, coordinate * item.pitch + item.shift)

    def _turned(self, item: ElementaryMotion) -> tuple[Scalar, Scalar]:
        """Cosine and sine of the angle between the frames of a known revolute motion."""
        (column,) = item.columns
        known = self.rotations.get(column)
        if known is None:
            coordinate = self.coordinates[column] * item.scale
            c, s = self.tape.cosine_sine(coordinate + item.angle)
            known = self.rotations[column] = Rotation(c, s, item.angle)
        a, b = cosine_sine(item.angle - known.offset)
        return known.c * a - known.s * b, known.s * a + known.c * b

    def rotation(self, item: ElementaryMotion) -> SymbolicMotion | None:
        """Motion of an item as directions see it: translations need not be known."""
        if item.kind == "P":
            c, s = (self.tape.scalar(v) for v in cosine_sine(item.angle))
            return vectors.about_z(c, s, self.tape.scalar(0.0))
        return self.motion(item)

    def seen(self, chain: LoopChain, place: Element, start: int, end: int) -> Element:
        """An element of numbers in frame ``start`` seen from frame ``end`` of the loop.

        The frames are counted around the loop, without reducing them to one turn. What was carried
        once is kept.
        """
        key = (chain, place, start, end)
        if key not in self._seen:
            if start == end:
                parts = (place.position, place.direction)
                of = (None if x is None else vectors.constants(self.tape, x) for x in parts)
                self._seen[key] = Element(place.kind, *of)
            else:
                step = 1 if end > start else -1
                before = self.seen(chain, place, start, end - step)
                self._seen[key] = self._stepped(chain, before, end - step, step)
        return self._seen[key]

    def _stepped(self, chain: LoopChain, element: Element, frame: int, step: int) -> Element:
        """An element given in a frame seen from the next one, or from the one before."""
        k = frame if step > 0 else frame - 1
        index = (k // 2) % len(chain)
        motion: SymbolicMotion | None
        if k % 2:
            motion = self._links.get((chain, index))
            if motion is None:
                motion = vectors.constant_motion(self.tape, chain.links[index])
                self._links[chain, index] = motion
        elif element.position is None:
            motion = self.rotation(chain.items[index])
        else:
            motion = self.motion(chain.items[index])
        assert motion is not None
        return motion.back(element) if step > 0 else motion.element(element)

    def axis_around(self, chain: LoopChain, item: int, k: int) -> Vector:
        """Axis k of the frame behind a motion seen from before it, around the rest of the loop."""
        return vectors.direction_of(
            self.seen(chain, AXES[k], 2 * item + 1, 2 * (item + len(chain)))
        )


def cosine_sine(angle: float) -> tuple[float, float]:
    """Exact at multiples of a quarter turn."""
    quarters = angle / (np.pi / 2)
    if abs(quarters - round(quarters)) < 1e-14:
        return [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][round(quarters) % 4]
    return float(np.cos(angle)), float(np.sin(angle))


def _exponential(tape: Tape, screws: Array, q: Sequence[Scalar]) -> SymbolicMotion:
    """Exponential of a twist with the given coordinates."""
    held = [x.constant for x in q]
    if None not in held:
        T = screw.exp(screws @ np.array(held, dtype=np.float64))
        return SymbolicMotion(vectors.constants(tape, T[:3, :3]), vectors.constants(tape, T[:3, 3]))
    twist = vectors.constants(tape, screws) @ vectors.array(q)
    r = vectors.array(operations.exponential(tape, [*twist]))
    return SymbolicMotion(r[:9].reshape(3, 3), r[9:])
