"""Vectors in space as triples of floats.

Only the four operations, square roots and the functions of ``math`` are used, in a fixed order, so
that the files that are written from these numbers come out the same everywhere.
"""

from __future__ import annotations

import math
from typing import TypeAlias

Vector: TypeAlias = tuple[float, float, float]

ZERO: Vector = (0.0, 0.0, 0.0)
X: Vector = (1.0, 0.0, 0.0)
Y: Vector = (0.0, 1.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)


def add(*vectors: Vector) -> Vector:
    """Sum of vectors."""
    x = y = z = 0.0
    for v in vectors:
        x, y, z = x + v[0], y + v[1], z + v[2]
    return x, y, z


def times(factor: float, v: Vector) -> Vector:
    """The vector multiplied by a number."""
    return factor * v[0], factor * v[1], factor * v[2]


def minus(a: Vector, b: Vector) -> Vector:
    """Difference of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def dot(a: Vector, b: Vector) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(v: Vector) -> float:
    """Length."""
    return math.sqrt(dot(v, v))


def unit(v: Vector) -> Vector:
    """The vector scaled to length one."""
    return times(1.0 / norm(v), v)


def combine(weights: tuple[float, float], a: Vector, b: Vector) -> Vector:
    """Sum of two weighted vectors."""
    return add(times(weights[0], a), times(weights[1], b))


def mean(points: list[Vector]) -> Vector:
    """Centre of some points."""
    return times(1.0 / len(points), add(*points))


def turned(v: Vector, axis: Vector, angle: float) -> Vector:
    """The vector turned about a unit axis by an angle in radians (Rodrigues' formula)."""
    c, s = math.cos(angle), math.sin(angle)
    along = times((1.0 - c) * dot(axis, v), axis)
    return add(times(c, v), times(s, cross(axis, v)), along)


def meeting_point(
    a: Vector, b: Vector, from_a: float, from_b: float, normal: Vector, side: int
) -> Vector:
    """The point of a plane at given distances from two of its points.

    Args:
        a: First point.
        b: Second point.
        from_a: Distance from the first point.
        from_b: Distance from the second point.
        normal: Unit normal of the plane.
        side: 1 for the point to the left of the way from a to b (seen against the normal), else -1.
    """
    way = minus(b, a)
    distance = norm(way)
    along = (distance * distance + from_a * from_a - from_b * from_b) / (2.0 * distance)
    height = math.sqrt(from_a * from_a - along * along)
    forward = times(1.0 / distance, way)
    left = cross(normal, forward)
    return add(a, times(along, forward), times(side * height, left))
