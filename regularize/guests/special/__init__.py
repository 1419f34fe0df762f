"""Linkages of special lengths: the prover tries whether loops are one of these.

Bricard (1897) found three kinds that move. Of the *line-symmetric* ones a half turn takes each
hinge to the opposite one. Of the *plane-symmetric* ones a reflection maps two pairs of hinges, and
two opposite hinges lie in its plane. In the *trihedral* one neighbouring axes are at right angles,
and the common normals of each with its neighbours meet on it. That such a loop moves is not taken
from here: it is for the curve of its motion to show.

The linkage of Schatz (1942, Deutsches Reichspatent 589 452; Baker, Duclong and Khoo 1982) has axes
A to F. Neighbours are at right angles but for F and A, which are parallel; A meets B and E meets F;
B and C, C and D, D and E are a apart with common normals that meet, and F and A are the square root
of 3 times as far apart. With C through 0 along x, and D through (0, 0, a) along y, the common
normals end on B in a (0, cos p, sin p) and on E in a (cos q, 0, 1 + sin q). All that is left to
demand is one condition then: (1 - sin p)(1 + sin q) = 1. In rational numbers: where 1 - 2 sin p is
proportional to u² + v², the second axis of the frame can be taken as (0, u, v), for its length
times cos q is rational. So tan(p / 2) is rounded to a fraction for which there are such integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.guests.special.planar import focal, similar_triangles
from regularize.lie.arrays import Array
from regularize.lie.motion_type import motion_type
from regularize.lie.screw import cross, cross_matrix, quaternion_of
from regularize.mechanism.graph import Graph
from regularize.proofs.geometry import equal_bars, integral, with_parallel_bars
from regularize.proofs.incidence import simplest
from regularize.proofs.prove import Found, exact_geometries
from regularize.proofs.rational_motions import Dual, Exact, exact_line, exact_vector, line_of
from regularize.proofs.verifier import distance
from regularize.reduction.block import Block

#: Bricard's loops with a symmetry: pairs of hinges that it maps on each other, hinges that it maps
#: on themselves, and its sign: 1 of a half turn, -1 of a reflection.
Symmetry: TypeAlias = tuple[str, Sequence[tuple[int, int]], Sequence[int], int]
SYMMETRIES: tuple[Symmetry, ...] = (
    ("line-symmetric Bricard", ((0, 3), (1, 4), (2, 5)), (), 1),
    ("plane-symmetric Bricard", ((1, 5), (2, 4)), (0, 3), -1),
    ("plane-symmetric Bricard", ((2, 0), (3, 5)), (1, 4), -1),
    ("plane-symmetric Bricard", ((3, 1), (4, 0)), (2, 5), -1),
)


def symmetric(
    axes: Sequence[Array], within: float, rounding: float
) -> Iterator[tuple[str, list[Dual]]]:
    """Yield kinds of Bricard's loops that a loop of six may be, with exact axes."""
    for symmetry in SYMMETRIES:
        lines = _mapped(axes, symmetry, within, rounding)
        if lines is not None:
            yield symmetry[0], lines
    lines = _trihedral(axes, within, rounding)
    if lines is not None:
        yield "trihedral Bricard", lines


def _mapped(
    axes: Sequence[Array], symmetry: Symmetry, within: float, rounding: float
) -> list[Dual] | None:
    """Return exact axes that a half turn (1) or reflection (-1) maps on each other; else None."""
    _, pairs, inside, sign = symmetry
    directions = np.array([axis[3:] for axis in axes])
    points = np.array([np.cross(axis[3:], axis[:3]) for axis in axes])
    for senses in product((1.0, -1.0), repeat=len(pairs)):
        images = zip(senses, pairs, strict=True)
        normal_to = [directions[i] - sign * s * directions[j] for s, (i, j) in images]
        n = np.linalg.svd(np.array([*normal_to, *directions[list(inside)]]))[2][2]
        R = sign * (2.0 * np.outer(n, n) - np.eye(3))
        # A half turn shifts points across its axis, a reflection along its normal.
        free = np.eye(3) - np.outer(n, n) if sign > 0 else np.outer(n, n)
        both = [*pairs, *((i, i) for i in inside)]
        rows = np.vstack([cross_matrix(directions[j]) @ free for _, j in both])
        right = [cross(directions[j], points[j] - R @ points[i]) for i, j in both]
        t = free @ np.linalg.lstsq(rows, np.concatenate(right), rcond=None)[0]
        off = [np.abs(cross(directions[j], R @ directions[i])).max() for i, j in both]
        off += [np.abs(rows @ t - np.concatenate(right)).max()]
        if max(off) <= within:
            return _exactly_mapped(axes, (n, t), symmetry, rounding)
    return None


def _exactly_mapped(
    axes: Sequence[Array], map_: tuple[Array, Array], symmetry: Symmetry, rounding: float
) -> list[Dual]:
    """Choose a rational map (n, t) near a given one, and exact axes that it maps."""
    _, pairs, inside, sign = symmetry
    n = exact_vector(map_[0] / np.abs(map_[0]).max(), rounding)
    size = n @ n
    t = exact_vector(map_[1], rounding)
    along = t @ n / size * n
    # Rounded, it is again across the axis, or along the normal.
    t = t - along if sign > 0 else along

    def image(x: Exact) -> Exact:
        return np.asarray(sign * (2 * (n @ x) / size * n - x))

    lines: dict[int, Dual] = {}
    for i, j in pairs:
        lines[i] = exact_line(axes[i], rounding)
        w = image(lines[i][1:4])
        # Moments are axial: a reflection turns them round.
        lines[j] = line_of(w, sign * image(lines[i][5:]) + np.cross(t, w))
    for i in inside:
        line = exact_line(axes[i], rounding)
        w, v = line[1:4], line[5:]
        point = np.cross(w, v) / (w @ w)
        w = w - w @ n / size * n
        point = point - (n @ point - n @ t / 2) / size * n
        lines[i] = line_of(w, np.cross(point, w))
    return [lines[i] for i in range(len(axes))]


def _trihedral(axes: Sequence[Array], within: float, rounding: float) -> list[Dual] | None:
    """Return exact axes at right angles, each where three planes in a row meet; else None."""
    directions = np.array([axis[3:] for axis in axes])
    points = np.array([np.cross(axis[3:], axis[:3]) for axis in axes])
    heights = []  # of the planes across the axes that hold the common normals to both neighbours
    for i in range(6):
        u, ways = directions[i], []
        for j in (i - 1, (i + 1) % 6):
            normal = np.cross(u, directions[j])
            if abs(u @ directions[j]) > within:
                return None
            # The foot of the common normal, as a way along the axis.
            ways.append(np.cross(points[j] - points[i], directions[j]) @ normal)
        if abs(ways[0] - ways[1]) > within:
            return None
        heights.append(u @ points[i] + ways[0])
    n: dict[int, Exact] = {i: exact_vector(directions[i], rounding) for i in (0, 2, 4)}
    n |= {i: np.cross(n[i - 1], n[(i + 1) % 6]) for i in (1, 3, 5)}
    rough = np.array([n[i] for i in range(6)], dtype=float)
    senses = np.sign(np.sum(rough * directions, axis=1))
    h = exact_vector(heights * np.linalg.norm(rough, axis=1) * senses, rounding)
    lines = []
    for i in range(6):
        point = _meeting([(n[j % 6], h[j % 6]) for j in (i - 1, i, i + 1)])
        if point is None:
            return None
        lines.append(line_of(n[i], np.cross(point, n[i])))
    return lines


def _meeting(planes: Sequence[tuple[Exact, Fraction]]) -> Exact | None:
    """Return the point x with n.x = h for three planes."""
    (a, d), (b, e), (c, f) = planes
    volume = a @ np.cross(b, c)
    if not volume:
        return None
    return np.asarray((d * np.cross(b, c) + e * np.cross(c, a) + f * np.cross(a, b)) / volume)


def schatz(
    axes: Sequence[Array], within: float, rounding: float
) -> Iterator[tuple[str, list[Dual]]]:
    """Yield the linkage of Schatz, if a loop of six may be one, with exact axes."""
    across = [abs(axes[i][3:] @ axes[i - 1][3:]) for i in range(6)]
    for start in range(6):
        right = max(across[(start + i) % 6] for i in range(1, 6)) <= within
        if right and abs(across[start] - 1.0) <= within:
            order = [(start + i) % 6 for i in range(6)]
            lines = _exact_schatz([axes[i] for i in order], within, rounding)
            if lines is not None:
                yield "Schatz", [lines[order.index(i)] for i in range(6)]


def _exact_schatz(axes: Sequence[Array], within: float, rounding: float) -> list[Dual] | None:
    """Return exact axes near A to F, if (1 - sin p)(1 + sin q) = 1 nearly holds."""
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
    tangent = _tangent(p[2] / (1.0 + abs(p[1])), rounding)
    if tangent is None:
        return None
    t, u, v = tangent
    sine, cosine = 2 * t / (1 + t**2), (1 - t**2) / (1 + t**2) * (1 if p[1] > 0 else -1)
    size = math.hypot(u, v)
    turned = np.array([[1.0, 0.0, 0.0], [0.0, u / size, -v / size], [0.0, v / size, u / size]])
    R = _rotation(frame @ turned.T, rounding)
    scale = simplest(a / size, rounding / size)
    # Images of (1, 0, 0), (0, u, v) and of their vector product, which is as long.
    x, y, z = np.array([(1, 0, 0), (0, u, v), (0, -v, u)], dtype=object) @ R.T
    at = exact_vector(origin, rounding)
    # The length of (0, u, v) times cos q, whose square is a square of a fraction.
    square = (1 - 2 * sine) / (u * u + v * v)
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    along = Fraction(u * u + v * v) * root / (1 - sine)
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
    """Find a fraction k / n near a number, u and v with u² + v² = (n² + k²) (n² - 4nk + k²)."""
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
    """Find integers with a sum of squares n, 1 or a prime 4 k + 1 (Hermite and Serret)."""
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


def _rotation(R: Array, rounding: float) -> NDArray[Any]:
    """Return a rational rotation matrix near a rotation."""
    quaternion = np.roll(quaternion_of(R), 1)
    q = exact_vector(quaternion / np.abs(quaternion).max(), rounding)
    a, b = q[0], q[1:]
    unit = np.eye(3, dtype=int).astype(object)
    turned = (a * a - b @ b) * unit + 2 * np.outer(b, b) + 2 * a * np.cross(b, unit).T
    return np.asarray(turned / (q @ q))


def of_hinges(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Yield linkages of hinges known by their axes, with exact axes ``within`` the given ones."""
    rigid = {e: () for e, s in part.screws.items() if not s.size}
    moving = {e: s for e, s in part.screws.items() if s.size}
    if {motion_type(np.linalg.qr(s)[0], within).name for s in moving.values()} != {"revolute"}:
        return
    if len(part.cycles) > 1:
        exact = focal(graph, part, within, rounding)
        if exact is not None:
            yield "focal mechanism", exact | rigid
        return
    edges = [e for e in part.cycles[0].edges if e in moving]
    axes = [part.screws[e][:, 0] / np.linalg.norm(part.screws[e][3:, 0]) for e in edges]
    for search in (symmetric, schatz) if len(axes) == 6 else ():
        for name, lines in search(axes, within, rounding):
            rows = [integral([[*line[5:], *line[1:4]]]) for line in lines]
            off = [distance([*axis], row) for axis, row in zip(axes, rows, strict=True)]
            if max(off) <= within:
                yield name, dict(zip(edges, rows, strict=True)) | rigid


def of_similar_triangles(
    graph: Graph, part: Block, within: float, rounding: float
) -> Iterator[Found]:
    """Yield exact parallel hinges with similar triangles near those of a part."""
    for freedoms in exact_geometries(graph, part, within, rounding):
        equal = with_parallel_bars(freedoms, equal_bars(freedoms, within))
        exact = similar_triangles(equal, within, rounding)
        if exact is not None:
            yield "similar triangles", exact


#: What the prover tries, in this order.
FAMILIES = (of_hinges, of_similar_triangles)
