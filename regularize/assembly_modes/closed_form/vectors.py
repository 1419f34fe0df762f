"""Rigid motions whose components are quantities of a program.

Vectors and matrices are arrays of quantities, with which numpy does the algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.closed_form.tape import Scalar, Tape
from regularize.assembly_modes.invariance import Element
from regularize.lie.screw import Array

#: Quantities, shape (3,).
Vector: TypeAlias = NDArray[np.object_]
#: Quantities, shape (3, 3).
Matrix: TypeAlias = NDArray[np.object_]


def constants(tape: Tape, values: Array) -> NDArray[np.object_]:
    """Numbers as quantities, any shape."""
    return array([tape.scalar(float(value)) for value in values.flat]).reshape(values.shape)


def array(quantities: Sequence[Scalar] | Sequence[Sequence[Scalar]]) -> NDArray[np.object_]:
    """Quantities as a vector, or rows of them as a matrix."""
    return np.array(quantities, dtype=object)


def cross(a: Vector, b: Vector) -> Vector:
    """A x b."""
    return np.asarray(a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]])


def position_of(element: Element) -> Vector:
    """The point of an element that has one."""
    assert element.position is not None
    return element.position


def direction_of(element: Element) -> Vector:
    """The direction of an element that has one."""
    assert element.direction is not None
    return element.direction


@dataclass(frozen=True, eq=False)
class SymbolicMotion:
    """Rotation and translation: x in frame b becomes R x + p in frame a.

    Attributes:
        rotation: R, or None for a pure translation.
        translation: p.
    """

    rotation: Matrix | None
    translation: Vector

    @property
    def probe(self) -> NDArray[np.complex128]:
        """Homogeneous transforms at the random inputs, shape (..., 4, 4)."""
        entries = {(i, 3): x.probe for i, x in enumerate(self.translation)}
        if self.rotation is not None:
            entries.update({place: x.probe for place, x in np.ndenumerate(self.rotation)})
        shape = np.broadcast_shapes(*(probe.shape for probe in entries.values()))
        T = np.zeros((*shape, 4, 4), dtype=complex)
        T[...] = np.eye(4)
        for place, probe in entries.items():
            T[(..., *place)] = probe
        return T

    def element(self, element: Element) -> Element:
        """The element carried from frame b to frame a."""
        position, direction = element.position, element.direction
        if position is not None:
            position = self._turned(position) + self.translation
        if direction is not None:
            direction = self._turned(direction)
        return Element(element.kind, position, direction)

    def back(self, element: Element) -> Element:
        """The element carried from frame a to frame b."""
        position, direction = element.position, element.direction
        inverse = SymbolicMotion(
            None if self.rotation is None else self.rotation.T, self.translation
        )
        if position is not None:
            position = inverse._turned(position - self.translation)
        if direction is not None:
            direction = inverse._turned(direction)
        return Element(element.kind, position, direction)

    def _turned(self, x: Vector) -> Vector:
        return x if self.rotation is None else self.rotation @ x


def constant_motion(tape: Tape, T: Array) -> SymbolicMotion:
    """A link."""
    unturned = np.array_equal(T[:3, :3], np.eye(3))
    rotation = None if unturned else constants(tape, T[:3, :3])
    return SymbolicMotion(rotation, constants(tape, T[:3, 3]))


def about_z(c: Scalar, s: Scalar, d: Scalar) -> SymbolicMotion:
    """Rotation about z by an angle and translation along z."""
    zero, one = c.tape.scalar(0.0), c.tape.scalar(1.0)
    rows = [[c, -s, zero], [s, c, zero], [zero, zero, one]]
    rotation = None if c.constant == 1.0 else array(rows)
    return SymbolicMotion(rotation, array([zero, zero, d]))
