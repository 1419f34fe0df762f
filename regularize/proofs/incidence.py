"""Geometry with exact relations: directions, lines and points in rational numbers.

What a proof rests on is which axes are parallel, normal to each other, or meet, not how long the
links are. These relations are found to a tolerance; then directions and points are chosen one after
the other among the rational ones that fulfil every relation to those chosen before, near to what
was measured. Three directions in a plane are three normals to a fourth one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from regularize.lie.arrays import Array

Rational = tuple[Fraction, Fraction, Fraction]


class NotExact(Exception):
    """Raised where no rational geometry was found that has all relations of the joints."""


def simplest(x: float, within: float) -> Fraction:
    """Return the fraction with the smallest denominator within a distance of a number."""
    low, high = Fraction(x) - Fraction(within), Fraction(x) + Fraction(within)
    # Stern-Brocot: the first fraction met on the way that lies in the interval.
    whole: list[int] = []
    while True:
        floor = low.numerator // low.denominator
        if floor * low.denominator == low.numerator or floor + 1 <= high:
            whole.append(floor if floor * low.denominator == low.numerator else floor + 1)
            break
        whole.append(floor)
        low, high = 1 / (high - floor), 1 / (low - floor)
    result = Fraction(whole.pop())
    while whole:
        result = whole.pop() + 1 / result
    return result


def simple_vector(values: Iterable[float], within: float) -> tuple[Fraction, ...]:
    """Return fractions within a distance of numbers, with a short common denominator."""
    numbers = [float(x) for x in values]
    single = tuple(simplest(x, within) for x in numbers)
    size = math.ceil(0.5 / within)
    if common_denominator(single) <= size:
        return single
    return tuple(Fraction(round(x * size), size) for x in numbers)


def common_denominator(values: Iterable[Fraction]) -> int:
    """Return the least integer whose products with all fractions are integers."""
    return math.lcm(*(x.denominator for x in values))


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """Return the inner product."""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def cross(a: Sequence[Fraction], b: Sequence[Fraction]) -> Rational:
    """Return the vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def floats(a: Sequence[Fraction]) -> Array:
    """Return a vector as floats."""
    return np.array([float(x) for x in a])


class Directions:
    """Directions up to sign; relations within an angle are taken to be meant."""

    def __init__(self, within: float, rounding: float) -> None:
        self.within, self.rounding = within, rounding
        self.measured: list[Array] = []

    def add(self, direction: Array) -> int:
        """Return the number of a direction's class of parallels, which may be a new one."""
        unit = direction / np.linalg.norm(direction)
        for i, unit_vector in enumerate(self.measured):
            if np.linalg.norm(np.cross(unit_vector, unit)) <= self.within:
                return i
        self.measured.append(unit)
        return len(self.measured) - 1

    def exact(self, related: set[tuple[int, int]] | None = None) -> list[Rational]:
        """Return rational vectors by relations of some or all pairs; else raise NotExact."""
        count = len(self.measured)
        pairs = related or {(i, j) for i, j in combinations(range(count), 2)}
        normals: set[tuple[int, int]] = set()
        for i, j in sorted(pairs):
            if abs(self.measured[i] @ self.measured[j]) <= self.within:
                normals |= {(i, j), (j, i)}
            across = np.cross(self.measured[i], self.measured[j])
            across /= np.linalg.norm(across)
            third = [
                k for k in range(count) if {(min(i, k), max(i, k)), (min(j, k), max(j, k))} <= pairs
            ]
            flat = [k for k in third if abs(across @ self.measured[k]) <= self.within]
            if flat:
                n = self.add(across)
                normals |= {pair for k in (i, j, *flat) for pair in ((n, k), (k, n))}
        total = range(len(self.measured))
        relations = [{k for k in total if (i, k) in normals} for i in total]
        chosen: dict[int, Rational] = {}
        while len(chosen) < len(total):
            waiting = [i for i in total if i not in chosen]
            # The most constrained first; a direction with many relations before one with few.
            i = max(waiting, key=lambda i: (len(relations[i] & {*chosen}), len(relations[i]), -i))
            known = [chosen[k] for k in sorted(relations[i] & {*chosen})]
            chosen[i] = self._choose(self.measured[i], known)
        return [chosen[i] for i in total]

    def _choose(self, unit: Array, normals: Sequence[Rational]) -> Rational:
        basis = orthogonal(normals)
        if not basis:
            raise NotExact("directions that are normal to each other in more ways than are free")
        if len(basis) == 1:
            return basis[0]
        return nearest(unit / np.max(np.abs(unit)), basis, self.rounding)


def orthogonal(vectors: Iterable[Rational]) -> list[Rational]:
    """Return a rational basis of what is normal to vectors."""
    vectors = [*vectors]
    independent: list[Rational] = []
    for v in vectors:
        if not independent:
            independent = [v]
        elif len(independent) == 1 and any(cross(independent[0], v)):
            independent.append(v)
        elif len(independent) == 2 and dot(cross(*independent), v):
            return []
    if not independent:
        one, zero = Fraction(1), Fraction(0)
        return [(one, zero, zero), (zero, one, zero), (zero, zero, one)]
    if len(independent) == 2:
        return [cross(*independent)]
    n = independent[0]
    k = max(range(3), key=lambda i: abs(n[i]))
    basis = []
    for i in (i for i in range(3) if i != k):
        row = [Fraction(0)] * 3
        row[i], row[k] = Fraction(1), -n[i] / n[k]
        basis.append((row[0], row[1], row[2]))
    return basis


def nearest(target: Array, basis: Sequence[Rational], rounding: float) -> Rational:
    """Return a simple rational combination of vectors near to a target."""
    columns = np.array([floats(b) for b in basis]).T
    weights = np.linalg.lstsq(columns, target, rcond=None)[0]
    rational = [simplest(float(w), rounding) for w in weights]
    parts = [[w * x for x in b] for w, b in zip(rational, basis, strict=True)]
    x, y, z = (sum(column, Fraction(0)) for column in zip(*parts, strict=True))
    return (x, y, z)


class Incidences:
    """Lines with rational directions and points on them; what is near within a distance meets."""

    def __init__(self, directions: Sequence[Rational], within: float, rounding: float) -> None:
        self.directions, self.within, self.rounding = directions, within, rounding
        self.lines: list[tuple[int, Array]] = []
        self.centres: list[Array] = []

    def add_line(self, direction: int, point: Array) -> int:
        """Return the number of the line through a measured point."""
        for i, (other, known) in enumerate(self.lines):
            if direction == other and self._off(direction, point - known) <= self.within:
                return i
        self.lines.append((direction, point))
        return len(self.lines) - 1

    def _off(self, direction: int, difference: Array) -> float:
        d = floats(self.directions[direction])
        return float(np.linalg.norm(np.cross(d / np.linalg.norm(d), difference)))

    def add_centre(self, point: Array) -> int:
        """Return the number of the point at measured coordinates, in which lines may meet."""
        for i, known in enumerate(self.centres):
            if np.linalg.norm(point - known) <= self.within:
                return i
        self.centres.append(point)
        return len(self.centres) - 1

    def add_intersections(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the points in which lines meet."""
        for i, j in pairs:
            (one, p), (two, r) = self.lines[i], self.lines[j]
            a, b = floats(self.directions[one]), floats(self.directions[two])
            if one == two:
                continue
            normal = np.cross(a, b)
            if abs(normal @ (r - p)) > self.within * np.linalg.norm(normal):
                continue
            s = np.linalg.lstsq(np.column_stack([a, -b]), r - p, rcond=None)[0][0]
            if np.linalg.norm(s * a) < 1.0 / self.rounding:
                self.add_centre(p + s * a)

    def exact(self) -> tuple[list[Rational], list[Rational]]:
        """Return rational points of lines and centres; NotExact where too many lines meet."""
        through = [
            [i for i, (d, p) in enumerate(self.lines) if self._off(d, c - p) <= self.within]
            for c in self.centres
        ]
        anchors, centres = dict[int, Rational](), dict[int, Rational]()
        while len(centres) < len(self.centres):
            waiting = [k for k in range(len(self.centres)) if k not in centres]
            k = max(waiting, key=lambda k: (sum(i in anchors for i in through[k]), -k))
            known = [i for i in through[k] if i in anchors]
            lines = [(anchors[i], self.directions[self.lines[i][0]]) for i in known]
            centres[k] = self._meeting(self.centres[k], lines)
            for i in through[k]:
                anchors.setdefault(i, centres[k])
        for i, (_, point) in enumerate(self.lines):
            if i not in anchors:
                anchors[i] = self._rounded(point)
        on_lines = [anchors[i] for i in range(len(self.lines))]
        return on_lines, [centres[k] for k in range(len(centres))]

    def _rounded(self, point: Array) -> Rational:
        x, y, z = (simplest(float(v), self.rounding) for v in point)
        return (x, y, z)

    def _meeting(self, target: Array, lines: Sequence[tuple[Rational, Rational]]) -> Rational:
        """Return a point near the target on all lines (point, direction)."""
        if not lines:
            return self._rounded(target)
        p, d = lines[0]
        size = floats(d) @ floats(d)
        s = simplest(float(floats(d) @ (target - floats(p)) / size), self.rounding)
        for other, e in lines[1:]:
            normal = cross(d, e)
            if any(normal):
                # p + s d = other + u e, crossed with e.
                apart = [x - y for x, y in zip(other, p, strict=True)]
                s = dot(cross(apart, e), normal) / dot(normal, normal)
                break
        x, y, z = (a + s * b for a, b in zip(p, d, strict=True))
        for other, e in lines[1:]:
            if any(cross((x - other[0], y - other[1], z - other[2]), e)):
                raise NotExact("lines that meet in more places than are free")
        return (x, y, z)
