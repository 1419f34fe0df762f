"""Vectors, rotations, twists and inertias of a program's numbers, as ``spatial.h`` has them.

Vectors have the axes of the ground. Twists and wrenches refer to the origin of a link, linear part
(force) first; rotations and matrices are listed row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from regularize.dynamics.tape.program import Number

Vector: TypeAlias = "list[Number]"


def plus(a: Sequence[Number], b: Sequence[Number]) -> Vector:
    """Return a + b."""
    return [x + y for x, y in zip(a, b, strict=True)]


def minus(a: Sequence[Number], b: Sequence[Number]) -> Vector:
    """Return a - b."""
    return [x - y for x, y in zip(a, b, strict=True)]


def times(factor: Number | float, a: Sequence[Number]) -> Vector:
    """Return a number times a vector."""
    return [x * factor for x in a]


def dot(a: Sequence[Number], b: Sequence[Number]) -> Number:
    """Return a . b."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def cross(a: Sequence[Number], b: Sequence[Number]) -> Vector:
    """Return a x b."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def rotate(R: Sequence[Number], a: Sequence[Number]) -> Vector:
    """Return R a."""
    return [dot(R[3 * i : 3 * i + 3], a) for i in range(3)]


def rotate_back(R: Sequence[Number], a: Sequence[Number]) -> Vector:
    """Return R^T a."""
    return [dot(R[i::3], a) for i in range(3)]


def product(A: Sequence[Number], B: Sequence[Number]) -> Vector:
    """Return A B."""
    return [dot(A[3 * i : 3 * i + 3], B[j::3]) for i in range(3) for j in range(3)]


def turned(R: Sequence[Number], c: Number, s: Number) -> Vector:
    """Return R times a rotation about z by an angle of cosine c and sine s."""
    rows = (R[0:3], R[3:6], R[6:9])
    return [x for r in rows for x in (r[0] * c + r[1] * s, r[1] * c - r[0] * s, r[2])]


def quaternion(q: Sequence[Number]) -> Vector:
    """Return the rotation of a unit quaternion x y z w."""
    x, y, z, w = q
    return [
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w),
        2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w),
        2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y),
    ]  # fmt: skip


def act(rigid: Sequence[Number], a: Sequence[Number]) -> Vector:
    """Return the wrench that gives a rigid inertia an acceleration."""
    m, first, second = rigid[0], rigid[1:4], rigid[4:]
    force = plus(times(m, a[:3]), cross(a[3:], first))
    return [*force, *plus(spin(second, a[3:]), cross(first, a[:3]))]


def spin(second: Sequence[Number], o: Sequence[Number]) -> Vector:
    """Return an inertia (xx xy xz yy yz zz) times a vector."""
    xx, xy, xz, yy, yz, zz = second
    return [dot([xx, xy, xz], o), dot([xy, yy, yz], o), dot([xz, yz, zz], o)]


def shifted(rigid: Sequence[Number], d: Sequence[Number]) -> Vector:
    """Return a rigid inertia about a new origin, from which the old one lies at d."""
    m, first, second = rigid[0], rigid[1:4], rigid[4:]
    e = [x + 0.5 * m * y for x, y in zip(first, d, strict=True)]
    x, y, z = e[0] * d[0], e[1] * d[1], e[2] * d[2]
    more = [
        2.0 * (y + z), -(e[0] * d[1] + e[1] * d[0]), -(e[0] * d[2] + e[2] * d[0]),
        2.0 * (x + z), -(e[1] * d[2] + e[2] * d[1]), 2.0 * (x + y),
    ]  # fmt: skip
    return [m, *plus(first, times(m, d)), *plus(second, more)]


def carried(wrench: Sequence[Number], d: Sequence[Number]) -> Vector:
    """Return a wrench about a new origin, from which the old one lies at d."""
    return [*wrench[:3], *plus(wrench[3:], cross(d, wrench[:3]))]


def matrix_of(rigid: Sequence[Number], zero: Number) -> Vector:
    """Return the 6 x 6 matrix of a rigid inertia, row by row."""
    m, (x, y, z), (a, b, c, d, e, f) = rigid[0], rigid[1:4], rigid[4:]
    return [
        m, zero, zero, zero, z, -y,
        zero, m, zero, -z, zero, x,
        zero, zero, m, y, -x, zero,
        zero, -z, y, a, b, c,
        z, zero, -x, b, d, e,
        -y, x, zero, c, e, f,
    ]  # fmt: skip


def moved_matrix(M: Sequence[Number], d: Sequence[Number]) -> Vector:
    """Return a 6 x 6 inertia about a new origin, from which the old one lies at d."""
    result = list(M)
    for k in range(6):  # X^T from the left: moments gain d x the forces of each column
        column = [M[6 * i + k] for i in range(3)]
        for i, x in enumerate(cross(d, column)):
            result[6 * (3 + i) + k] = result[6 * (3 + i) + k] + x
    M = list(result)
    for i in range(6):
        for j, x in enumerate(cross(d, M[6 * i : 6 * i + 3])):
            result[6 * i + 3 + j] = result[6 * i + 3 + j] + x
    return [result[6 * min(i, j) + max(i, j)] for i in range(6) for j in range(6)]
