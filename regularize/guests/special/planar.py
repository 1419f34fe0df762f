"""Parallel hinges with relations of lengths and angles: exact ones near those of a part.

Points of the plane are numbers x + yj, places of hinges seen along them. What linkages with special
lengths have in common are *similar triangles* of hinges, alike or mirrored: parallelograms and
antiparallelograms are two equal ones, the cognates of Roberts and Chebyshev three similar ones; an
isosceles triangle, as in cells of Peaucellier, is its own mirror image, and so are three points in
a line. Each such relation is linear in a corner that is in one of both triangles alone, and in the
apex of an isosceles one. So hinges are placed one after the other: where relations to those before
leave them, or at a rational point near to where they are.

In the focal mechanism of Kempe and Burmester a four-bar A, B, C, D carries on each side a hinge, P,
Q, R, S, and four links join these in one axis F. Points of the plane are numbers x + yj. The
quadrilateral F, R, C, Q mirrors A, P, F, S, and F, S, D, R mirrors B, Q, F, P; so with A = 0 and
B = bP all follow from P, F, the factor m of the first similarity and b:

    R = F + m P',  C = F + m F',  Q = F + m S',  S = F + n (Q - B)',  D = F + n (F - B)',

a prime for the conjugate, n = m / (1 - b).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations
from typing import TypeAlias

import numpy as np

from regularize.lie.arrays import Array
from regularize.mechanism.graph import DisjointSets, EdgeId, Graph, NodeId
from regularize.proofs.geometry import integral, upright
from regularize.proofs.incidence import Rational, cross, dot, orthogonal, simplest
from regularize.proofs.verifier import Space, distance
from regularize.reduction.block import Block

#: Points among which relations are looked for, and orders in which they are placed.
POINTS, ORDERS = 14, 12


@dataclass(frozen=True)
class Complex:
    """A number x + yj with j² = -square, exact."""

    x: Fraction
    y: Fraction
    square: Fraction

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.x + other.x, self.y + other.y, self.square)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.x - other.x, self.y - other.y, self.square)

    def __mul__(self, other: Complex) -> Complex:
        real = self.x * other.x - self.square * self.y * other.y
        return Complex(real, self.x * other.y + self.y * other.x, self.square)

    def __truediv__(self, other: Complex) -> Complex:
        size = other.x**2 + other.square * other.y**2
        part = self * other.mirrored
        return Complex(part.x / size, part.y / size, self.square)

    @property
    def mirrored(self) -> Complex:
        """The conjugate."""
        return Complex(self.x, -self.y, self.square)

    def rounded(self, rounding: float) -> Complex:
        """Return the number with the simplest parts within a rounding."""
        x, y = (simplest(float(part), rounding) for part in (self.x, self.y))
        return Complex(x, y, self.square)


@dataclass(frozen=True)
class Plane:
    """The plane normal to a rational vector, whose vectors are written as numbers x + yj."""

    normal: Rational

    @property
    def bases(self) -> tuple[Rational, Rational]:
        """The vectors that stand for 1 and j."""
        along = orthogonal([self.normal])[0]
        return along, cross(self.normal, along)

    def number(self, vector: Array | Sequence[Fraction], rounding: float = 0.0) -> Complex:
        """Return a vector as a number, rounded to simple parts if a rounding is given."""
        exact = [Fraction(x) for x in vector]
        x, y = (dot(e, exact) / dot(e, e) for e in self.bases)
        number = Complex(x, y, dot(self.normal, self.normal))
        return number.rounded(rounding) if rounding else number

    def vector(self, number: Complex) -> Rational:
        """Return the vector that a number stands for."""
        one, j = self.bases
        x, y, z = (number.x * a + number.y * b for a, b in zip(one, j, strict=True))
        return (x, y, z)


#: Points by their numbers in the order of places, and what has to be zero of some of them.
Residual: TypeAlias = Callable[[Sequence[Complex]], Complex]


@dataclass(frozen=True)
class _Relation:
    """A relation between points: an expression of their numbers that must vanish."""

    points: frozenset[int]
    linear: frozenset[int]  # points in which it is linear
    residual: Residual
    arms: tuple[int, ...] = ()  # apex and the ends of a pair of equal arms


def similar_triangles(
    freedoms: dict[EdgeId, Space], within: float, rounding: float
) -> dict[EdgeId, Space] | None:
    """Return joint spans with exactly similar triangles of hinges; None if nothing changes."""
    rows = {e: upright(s[0]) for e, s in freedoms.items() if len(s) == 1 and any(s[0][3:])}
    normals = {(row[3], row[4], row[5]) for row in rows.values()}
    if len(normals) != 1 or any(dot(row[:3], row[3:]) for row in rows.values()):
        return None
    plane = Plane(normals.pop())
    near: list[complex] = []
    at: dict[EdgeId, int] = {}
    root = float(dot(plane.normal, plane.normal)) ** 0.5
    # Moments are places turned and as much larger as the normal is, and 1 stands for a vector.
    off = within * root / float(dot(plane.bases[0], plane.bases[0])) ** 0.5
    start: list[Complex] = []
    for e, row in rows.items():
        number = plane.number(row[:3])
        z = complex(float(number.x), root * float(number.y))
        at[e] = next((i for i, other in enumerate(near) if abs(z - other) <= off), len(near))
        if at[e] == len(near):
            near.append(z)
            start.append(number)
    if not 4 <= len(near) <= POINTS:
        return None
    relations = [*_relations(np.array(near), within)]
    places = _placed(start, relations, rounding)
    if places is None or any(
        abs(_float(p, root) - z) > off for p, z in zip(places, near, strict=True)
    ):
        return None
    found = dict(freedoms)
    for e, i in at.items():
        found[e] = integral([[*plane.vector(places[i]), *plane.normal]])
    for e, space in freedoms.items():
        way = [Fraction(x) for z in space for x in z[:3]]
        if len(space) == 1 and not any(space[0][3:]) and not dot(way, plane.normal):
            across = plane.number(cross(way, plane.normal))
            found[e] = _slide(plane, across, places, within, root) or space
    return found if found != freedoms else None


def _float(number: Complex, root: float) -> complex:
    """Return a number as a complex float; ``root`` is the length of j."""
    return complex(float(number.x), root * float(number.y))


def _slide(
    plane: Plane, direction: Complex, places: Sequence[Complex], within: float, root: float
) -> Space | None:
    """Return a slide exactly along or across the line through two points that it nearly follows."""
    for a, b in combinations(places, 2):
        ratio = _float(direction, root) / _float(b - a, root)
        if min(abs(ratio.imag), abs(ratio.real)) <= within * abs(ratio):
            turn = Complex(Fraction(0), Fraction(1), direction.square)
            side = b - a if abs(ratio.imag) < abs(ratio.real) else (b - a) * turn
            return integral([[*cross(plane.normal, plane.vector(side)), *[Fraction(0)] * 3]])
    return None


def _relations(near: Array, within: float) -> Iterator[_Relation]:
    """Yield relations that nearly hold: similar and isosceles triangles, points in a line."""
    ordered = np.array([*permutations(range(len(near)), 3)])
    a, b, c = near[ordered].T
    shapes = (c - a) / (b - a)
    first = np.flatnonzero((ordered[:, 0] < ordered[:, 1]) & (ordered[:, 1] < ordered[:, 2]))
    for k in first:
        one, shape = (int(ordered[k, 0]), int(ordered[k, 1]), int(ordered[k, 2])), shapes[k]
        size = within * max(1.0, abs(shape))
        flat = abs(shape.imag) <= size
        if flat:
            yield _in_line(one, simplest(float(shape.real), within))
        for mirrored in (False, True)[: 2 - flat]:
            alike = shape.conjugate() if mirrored else shape
            for other in ordered[np.abs(shapes - alike) <= size].tolist():
                if sorted(other) == sorted(one):
                    moved = [i for i, j in zip(one, other, strict=True) if i != j]
                    if mirrored and len(moved) == 2 and moved[0] < moved[1]:
                        apex = next(i for i in one if i not in moved)
                        yield _isosceles(apex, moved[0], moved[1])
                elif tuple(sorted(other)) > one:
                    yield _alike(one, (other[0], other[1], other[2]), mirrored)


def _alike(first: tuple[int, int, int], second: tuple[int, int, int], mirrored: bool) -> _Relation:
    """Return the relation that two triangles are similar, one of them mirrored or not."""

    def residual(p: Sequence[Complex]) -> Complex:
        b, c = (p[i] - p[first[0]] for i in first[1:])
        e, f = (p[i] - p[second[0]] for i in second[1:])
        return f * b.mirrored - c.mirrored * e if mirrored else f * b - c * e

    return _Relation(frozenset((*first, *second)), frozenset(first) ^ frozenset(second), residual)


def _isosceles(apex: int, first: int, second: int) -> _Relation:
    """Return the relation that two arms from an apex are equally long."""

    def residual(p: Sequence[Complex]) -> Complex:
        arms = (p[i] - p[apex] for i in (first, second))
        a, b = (arm * arm.mirrored for arm in arms)
        return a - b

    three = (apex, first, second)
    return _Relation(frozenset(three), frozenset({apex}), residual, three)


def _in_line(three: tuple[int, int, int], ratio: Fraction) -> _Relation:
    """Return the relation that three points are in a line, at a simple ratio if they nearly are."""
    i, j, k = three
    if ratio.denominator <= 12 and abs(ratio.numerator) <= 12:

        def residual(p: Sequence[Complex]) -> Complex:
            b = p[j] - p[i]
            return p[k] - p[i] - Complex(ratio * b.x, ratio * b.y, b.square)

    else:

        def residual(p: Sequence[Complex]) -> Complex:
            area = (p[k] - p[i]) * (p[j] - p[i]).mirrored
            return Complex(area.y, 0 * area.y, area.square)

    return _Relation(frozenset(three), frozenset(three), residual)


def _placed(
    start: Sequence[Complex], relations: Sequence[_Relation], rounding: float
) -> list[Complex] | None:
    """Place points in turn, trying a few orders, so that all relations hold exactly."""
    count = len(start)
    if _fulfilled(start, relations):
        return [*start]
    rng = np.random.default_rng(0)
    for _ in range(ORDERS):
        fixed, order = dict[int, Complex](), [*map(int, rng.permutation(count))]
        places = [*start]
        rows: dict[int, Space] = dict.fromkeys(order, ())
        relations_of: dict[int, list[_Relation]] = {i: [] for i in order}
        while order:
            for i in order:
                ready = [r for r in relations if r.points - fixed.keys() == {i}]
                if len(ready) > len(relations_of[i]):  # of points that were placed since
                    relations_of[i], rows[i] = ready, _equations(i, places, ready)
            i = max(order, key=lambda i: (len(rows[i]), -order.index(i)))
            order.remove(i)
            place = _place(i, rows[i], places, relations_of[i], rounding)
            if place is None:
                break
            fixed[i] = places[i] = place
        else:
            if _fulfilled(places, relations):
                return places
    return None


def _fulfilled(places: Sequence[Complex], relations: Sequence[_Relation]) -> bool:
    """Return whether all relations hold exactly."""
    return not any(z.x or z.y for z in (r.residual(places) for r in relations))


def _equations(i: int, places: Sequence[Complex], relations: Sequence[_Relation]) -> Space:
    """Return the linear equations of relations for one point, as coefficients of x, y and 1."""
    square, rows = places[i].square, []
    units = [Complex(Fraction(x), Fraction(y), square) for x, y in ((0, 0), (1, 0), (0, 1))]
    for relation in relations:
        if i in relation.linear:
            at, along, across = (
                relation.residual([*places[:i], unit, *places[i + 1 :]]) for unit in units
            )
            along, across = along - at, across - at
            rows += [(along.x, across.x, at.x), (along.y, across.y, at.y)]
    return integral([row for row in rows if any(row)])


def _place(
    i: int, rows: Space, places: Sequence[Complex], relations: Sequence[_Relation], rounding: float
) -> Complex | None:
    """Return a point near a given one that fulfils linear equations; None where there is none."""
    here, square = places[i], places[i].square
    simple = here.rounded(rounding)
    if len(rows) > 2 or any(not any(row[:2]) for row in rows):
        return None
    if len(rows) == 2:
        return Complex(Fraction(-rows[0][2], rows[0][0]), Fraction(-rows[1][2], rows[1][1]), square)
    if rows:
        a, b, c = map(Fraction, rows[0])
        if abs(a) > abs(b):
            return replace(simple, x=-(b * simple.y + c) / a)
        return replace(simple, y=-(a * simple.x + c) / b)
    for arms in (r.arms for r in relations if r.arms and r.arms[0] != i):
        apex = places[arms[0]]
        arm = places[next(k for k in arms[1:] if k != i)] - apex
        turn = (here - apex) / arm
        # Turned by a rational number of the square (1 + tj)².
        t = turn.y / (1 + turn.x) if turn.x > -1 else Fraction(0)
        t = simplest(float(t), rounding)
        half = Complex(Fraction(1), t, square)
        return apex + arm * half / half.mirrored
    return simple


def focal(graph: Graph, part: Block, within: float, rounding: float) -> dict[EdgeId, Space] | None:
    """Return exact hinges of a focal mechanism near those of a part; None if it is none."""
    roles = _roles(graph, part, within)
    if roles is None:
        return None
    axes = {e: s[:, 0] / np.linalg.norm(s[3:, 0]) for e, s in part.screws.items() if s.size}
    first = axes[min(axes)][3:]
    a, b, c = (simplest(float(x), rounding) for x in first / np.abs(first).max())
    n = (a, b, c)
    plane, square = Plane(n), dot(n, n)
    firsts = {role: axes[edges[0]] for role, edges in roles.items()}
    at = {role: np.cross(axis[3:], axis[:3]) for role, axis in firsts.items()}
    P, F, R = (plane.number(at[role] - at["A"], rounding) for role in "PFR")
    far, near = at["B"] - at["A"], at["P"] - at["A"]
    one = Complex(Fraction(1), Fraction(0), square)
    bar = Complex(simplest(float(far @ near / (near @ near)), rounding), Fraction(0), square)
    m = ((R - F) / P.mirrored).rounded(rounding)
    B, k = bar * P, m / (one - bar)
    S = (F + k * (F.mirrored - B.mirrored)) / (one - k * m.mirrored)
    Q = F + m * S.mirrored
    places = {"A": P - P, "B": B, "P": P, "F": F, "S": S, "Q": Q}
    places |= {"R": F + m * P.mirrored, "C": F + m * F.mirrored}
    places["D"] = F + k * (F - B).mirrored
    height = simplest(float(np.array(n, float) @ at["A"]) / float(square), rounding)
    foot = plane.number(at["A"], rounding)
    spaces: dict[EdgeId, Space] = {}
    for role, edges in roles.items():
        x, y, z = plane.vector(places[role] + foot)
        point = (x + height * a, y + height * b, z + height * c)
        spaces |= dict.fromkeys(edges, integral([[*cross(point, n), *n]]))
    off = [distance([*axes[e]], space) for e, space in spaces.items()]
    return spaces if max(off) <= within else None


def _roles(graph: Graph, part: Block, within: float) -> dict[str, Sequence[EdgeId]] | None:
    """Return the hinges A to D and P to S, and the three F, of a focal mechanism; else None."""
    turning = {e: s for e, s in part.screws.items() if s.size}
    rigid = DisjointSets[NodeId]()  # what is welded is one body
    for edge in (graph.edges[e] for e in part.screws.keys() - turning.keys()):
        rigid.union(edge.parent, edge.child)
    pairs = {e: (graph.edges[e].parent, graph.edges[e].child) for e in turning}
    hinges = {e: frozenset((rigid[a], rigid[b])) for e, (a, b) in pairs.items()}
    points = {e: np.cross(s[3:, 0], s[:3, 0]) for e, s in turning.items()}
    together = [
        [o for o in hinges if np.linalg.norm(points[o] - points[e]) <= within] for e in hinges
    ]
    center = next((group for group in together if len(group) == 3), None)
    if center is None or len(hinges) != 11:
        return None

    import networkx as nx  # slow to load, and needed by few mechanisms

    links = frozenset().union(*(hinges[e] for e in center))
    ring: nx.Graph[int] = nx.Graph()
    legs: dict[int, EdgeId] = {}
    for e, ends in hinges.items():
        if e in center:
            continue
        if ends & links:
            for body in ends - links:
                legs[body] = e
        else:
            ring.add_edge(*ends, hinge=e)
    if len(links) != 4 or len(legs) != 4 or sorted(d for _, d in ring.degree) != [2] * 4:
        return None
    sides = [one for one, _ in nx.find_cycle(ring)]
    corners = [ring.edges[sides[i - 1], sides[i]]["hinge"] for i in range(4)]
    found: dict[str, Sequence[EdgeId]] = {"F": center}
    found |= {name: [corners[i]] for i, name in enumerate("ABCD")}
    return found | {name: [legs[sides[i]]] for i, name in enumerate("PQRS")}
