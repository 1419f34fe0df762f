"""Vectors and rigid motions whose components are quantities of a program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.closed_form.tape import Scalar, Tape
from regularize.lie.screw import Array

Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]


def vector(tape: Tape, values: Array) -> Vector:
    """Constant components."""
    x, y, z = (tape.scalar(float(value)) for value in values)
    return x, y, z


def add(a: Vector, b: Vector) -> Vector:
    """A + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def subtract(a: Vector, b: Vector) -> Vector:
    """A - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def dot(a: Vector, b: Vector) -> Scalar:
    """A . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """A x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def scale(factor: Scalar | float, a: Vector) -> Vector:
    """Factor a."""
    return a[0] * factor, a[1] * factor, a[2] * factor


def apply(R: Matrix, a: Vector) -> Vector:
    """R a."""
    return dot(R[0], a), dot(R[1], a), dot(R[2], a)


def columns(R: Matrix) -> Matrix:
    """The transposed matrix."""
    return (
        (R[0][0], R[1][0], R[2][0]),
        (R[0][1], R[1][1], R[2][1]),
        (R[0][2], R[1][2], R[2][2]),
    )


def multiply(a: Matrix, b: Matrix) -> Matrix:
    """A b."""
    x, y, z = (apply(a, column) for column in columns(b))
    return columns((x, y, z))


def matrix(tape: Tape, R: Array) -> Matrix:
    """Constant entries."""
    return vector(tape, R[0]), vector(tape, R[1]), vector(tape, R[2])


@dataclass(frozen=True)
class Element:
    """A point, a direction, an oriented plane or a line, in some frame.

    Attributes:
        kind: ``point``, ``direction``, ``plane`` or ``line``.
        position: A point of it; None for a direction.
        direction: Unit vector, normal of a plane; None for a point.
    """

    kind: str
    position: Vector | None
    direction: Vector | None


def position_of(element: Element) -> Vector:
    """The point of an element that has one."""
    assert element.position is not None
    return element.position


def direction_of(element: Element) -> Vector:
    """The direction of an element that has one."""
    assert element.direction is not None
    return element.direction


@dataclass(frozen=True)
class Motion:
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
        for i, row in enumerate(self.rotation or ()):
            entries.update({(i, k): x.probe for k, x in enumerate(row)})
        shape = np.broadcast_shapes(*(probe.shape for probe in entries.values()))
        T = np.zeros((*shape, 4, 4), dtype=complex)
        T[...] = np.eye(4)
        for place, probe in entries.items():
            T[(..., *place)] = probe
        return T

    def element(self, element: Element) -> Element:
        """The element carried from frame b to frame a."""
        position, direction = element.position, element.direction
        if self.rotation is not None:
            position = position and apply(self.rotation, position)
            direction = direction and apply(self.rotation, direction)
        return Element(element.kind, position and add(position, self.translation), direction)

    def back(self, element: Element) -> Element:
        """The element carried from frame a to frame b."""
        position, direction = element.position, element.direction
        position = position and subtract(position, self.translation)
        if self.rotation is not None:
            inverse = columns(self.rotation)
            position = position and apply(inverse, position)
            direction = direction and apply(inverse, direction)
        return Element(element.kind, position, direction)


def constant_motion(tape: Tape, T: Array) -> Motion:
    """A link."""
    rotation = None if np.array_equal(T[:3, :3], np.eye(3)) else matrix(tape, T[:3, :3])
    return Motion(rotation, vector(tape, T[:3, 3]))


def about_z(c: Scalar, s: Scalar, d: Scalar) -> Motion:
    """Rotation about z by an angle and translation along z."""
    zero, one = c.tape.scalar(0.0), c.tape.scalar(1.0)
    identity = c.constant == 1.0
    rotation = None if identity else ((c, -s, zero), (s, c, zero), (zero, zero, one))
    return Motion(rotation, (zero, zero, d))
