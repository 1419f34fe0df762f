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
        rotation: R.
        translation: p.
    """

    rotation: Matrix
    translation: Vector

    def element(self, element: Element) -> Element:
        """The element carried from frame b to frame a."""
        x, d = element.position, element.direction
        position = None if x is None else self.rotation @ x + self.translation
        return Element(element.kind, position, None if d is None else self.rotation @ d)

    def back(self, element: Element) -> Element:
        """The element carried from frame a to frame b."""
        x, d, inverse = element.position, element.direction, self.rotation.T
        position = None if x is None else inverse @ (x - self.translation)
        return Element(element.kind, position, None if d is None else inverse @ d)


def constant_motion(tape: Tape, T: Array) -> SymbolicMotion:
    """A motion of numbers."""
    return SymbolicMotion(constants(tape, T[:3, :3]), constants(tape, T[:3, 3]))


def about_z(c: Scalar, s: Scalar, d: Scalar) -> SymbolicMotion:
    """Rotation about z by an angle and translation along z."""
    zero, one = c.tape.scalar(0.0), c.tape.scalar(1.0)
    rows = [[c, -s, zero], [s, c, zero], [zero, zero, one]]
    return SymbolicMotion(array(rows), array([zero, zero, d]))
