"""The linkage of Schatz: exact axes near measured ones.

Its axes are A to F. Neighbours are at right angles but for F and A, which are parallel; A meets B
and E meets F; B and C, C and D, D and E are a apart with common normals that meet, and F and A are
the square root of 3 times as far apart. With C through 0 along x, and D through (0, 0, a) along y,
the common normals end on B in a (0, cos p, sin p) and on E in a (cos q, 0, 1 + sin q). All that is
left to demand is one condition then: (1 - sin p)(1 + sin q) = 1.

In rational numbers: where 1 - 2 sin p is proportional to u² + v², the second axis of the frame can
be taken as (0, u, v), for its length times cos q is rational. So tan(p / 2) is rounded to a
fraction for which there are such integers.

Source: Schatz (1942), Deutsches Reichspatent 589 452; Baker, Duclong and Khoo (1982).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array, quaternion_of
from regularize.proofs.dual_quaternions import Dual, exact_vector, line_of
from regularize.proofs.incidence import simplest


def schatz(
    axes: Sequence[Array], within: float, rounding: float
) -> Iterator[tuple[str, list[Dual]]]:
    """The linkage of Schatz, if a loop may be one, with exact axes."""
    if len(axes) != 6:
        return
    across = [abs(axes[i][3:] @ axes[i - 1][3:]) for i in range(6)]
    for start in range(6):
        right = max(across[(start + i) % 6] for i in range(1, 6)) <= within
        if right and abs(across[start] - 1.0) <= within:
            order = [(start + i) % 6 for i in range(6)]
            lines = _exact([axes[i] for i in order], within, rounding)
            if lines is not None:
                yield "Schatz", [lines[order.index(i)] for i in range(6)]


def _exact(axes: Sequence[Array], within: float, rounding: float) -> list[Dual] | None:
    """Exact axes near A to F, if the one condition on the middle of the loop is met."""
    points, ways = [np.cross(axis[3:], axis[:3]) for axis in axes], [axis[3:] for axis in axes]
    normal = np.cross(ways[2], ways[3])
    a = float((points[3] - points[2]) @ normal)
    if abs(a) < rounding:
        return None
    normal, a = normal * math.copysign(1.0, a), abs(a)
    origin = points[2] + ways[2] * (ways[2] @ (points[3] - points[2]))
    # From the corner on C to the one on B, from the corner on D to the one on E.
    corners = ((origin, 1), (origin + a * normal, 4))
    gaps = ((points[i] - corner, ways[i]) for corner, i in corners)
    arms = [gap - way * (way @ gap) for gap, way in gaps]
    frame = np.column_stack([ways[2], np.cross(normal, ways[2]), normal])
    p, q = (frame.T @ arm / a for arm in arms)
    # Errors of places count more where links are short.
    if abs((1.0 - p[2]) * (1.0 + q[2]) - 1.0) > 10.0 * within / min(a, 1.0):
        return None
    found = _tangent(p[2] / (1.0 + abs(p[1])), rounding)
    if found is None:
        return None
    t, u, v = found
    sine, cosine = 2 * t / (1 + t**2), (1 - t**2) / (1 + t**2) * (1 if p[1] > 0 else -1)
    size = math.hypot(u, v)
    turned = np.array([[1.0, 0.0, 0.0], [0.0, u / size, -v / size], [0.0, v / size, u / size]])
    R = _rotation(frame @ turned.T, rounding)
    scale = simplest(a / size, rounding / size)
    # Images of (1, 0, 0), (0, u, v) and of their vector product, which is as long.
    x, y, z = np.array([(1, 0, 0), (0, u, v), (0, -v, u)], dtype=object) @ R.T
    at = exact_vector(origin, rounding)
    # The length of (0, u, v) times cos q.
    along = Fraction(u * u + v * v) * _root((1 - 2 * sine) / (u * u + v * v)) / (1 - sine)
    along = -along if q[0] < 0 else along
    B = cosine * y + sine * z
    height = sine / (1 - sine)
    E = along * x + height * z
    shaft = -along * x - cosine / (1 - sine) * y - height * z
    places = [(B, shaft), (B, np.cross(B, x)), (0 * x, x), (z, y)]
    places += [(z + E, np.cross(E, y)), (z + E, shaft)]
    return [
        line_of(direction, np.cross(at + scale * place, direction)) for place, direction in places
    ]


def _tangent(t: float, rounding: float) -> tuple[Fraction, int, int] | None:
    """A fraction k / n near a number, u and v with u² + v² = (n² + k²) (n² - 4nk + k²).

    Fractions between two others have the sums of their numerators and denominators.
    """
    exact = simplest(t, rounding)
    beside = (simplest(t + side * rounding / 2, rounding / 4) for side in (1, -1))
    between = next(x for x in beside if x != exact)
    for _ in range(1000):
        k, n = exact.numerator, exact.denominator
        pair = _two_squares(n * n - 4 * n * k + k * k)
        if pair is not None:
            u, v = pair
            return exact, u * n - v * k, u * k + v * n
        exact = Fraction(k + between.numerator, n + between.denominator)
    return None


def _two_squares(n: int) -> tuple[int, int] | None:
    """Integers with a sum of squares n, found for 1 and for primes one above a multiple of 4.

    Divided by a root of -1, such a prime leaves one of them (Hermite and Serret).
    """
    if n == 1:
        return 1, 0
    for a in (2, 3, 5, 7, 11, 13) if n > 0 and n % 4 == 1 else ():
        over, u = n, pow(a, n // 4, n)
        while u * u > n:
            over, u = u, over % u
        v = math.isqrt(n - u * u)
        if u * u + v * v == n:
            return u, v
    return None


def _root(x: Fraction) -> Fraction:
    """The square root of a square."""
    return Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))


def _rotation(R: Array, rounding: float) -> NDArray[Any]:
    """A rational rotation near a rotation, shape (3, 3)."""
    quaternion = np.roll(quaternion_of(R), 1)
    q = exact_vector(quaternion / np.abs(quaternion).max(), rounding)
    a, b = q[0], q[1:]
    unit = np.eye(3, dtype=int).astype(object)
    turned = (a * a - b @ b) * unit + 2 * np.outer(b, b) + 2 * a * np.cross(b, unit).T
    return np.asarray(turned / (q @ q))
