"""The curve along which loops of hinges and slides move, as a relation of their half angles.

The half-angle tangents of the joints are power series in one of them, found order by order from
the closure of the loops in numbers modulo a prime. Of algebraic functions a few coefficients tell
the polynomials (Hermite and Padé), and of rational numbers their remainder tells the number. What
is found is no more than a guess until ``verifier`` has put it into the closure equations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from regularize.mechanism.graph import EdgeId
from regularize.proofs.incidence import NotExact
from regularize.proofs.verifier import SIGNS, Vector

#: Exponents of Mersenne primes: a small one to find degrees, then larger ones for coefficients.
PRIMES = (31, 1279, 4423, 11213)
#: Degrees in the parameter up to which polynomials are looked for, by the number of square roots.
DEGREES = (8, 8, 4)

#: Coefficients by the exponents of x, y and z.
Polynomial = dict[tuple[int, int, int], int]
#: Joints of a loop with the sense in which it passes them.
Loop = Sequence[tuple[EdgeId, int]]
#: The relations of a curve, in x and y and in x, y and z; and of each joint the denominator and the
#: numerator of its half-angle tangent there.
MotionCurve = tuple[list[Polynomial], dict[EdgeId, tuple[Polynomial, Polynomial]]]
#: Coefficients of a power series, those of low order first.
Series = list[int]
#: Exponents of x and numbers of series.
Terms = Sequence[tuple[int, int]]


def curve_of(loops: Sequence[Loop], screws: dict[EdgeId, Vector]) -> MotionCurve:
    """Return the curve that loops of integer screws move on; NotExact if none of low degree."""
    reason = "the loops move along no curve of low degree"
    prime, series = 2 ** PRIMES[0] - 1, dict[EdgeId, dict[EdgeId, Series] | None]()
    # The half angles are functions of one, or of one and a square root, or of two square roots.
    # Many loops would give too many pairs of roots to try.
    for level in range(3 if len(loops) == 1 else 2):
        for first in [first for first in screws if series.get(first, {}) is not None]:
            if level != 1:
                order = 2 ** max(level + 1, 2) * (DEGREES[level] + 1) + 6
                series[first] = _series(loops, screws, first, order, prime)
            for shape in _shapes(first, series[first] or {}, level, prime):
                for large in (2**e - 1 for e in PRIMES[1:]):
                    curve = _found(loops, screws, shape, large)
                    if curve is not None:
                        return curve
                    reason = "the numbers of the curve along which the loops move are too long"
    raise NotExact(reason)


@dataclass(frozen=True)
class _Shape:
    """The joints whose half angles are parameters, and the degrees of all other relations in x."""

    first: EdgeId  # the joint of the parameter x
    others: tuple[EdgeId, ...]  # the joints of y and z, as far as there are such
    degrees: dict[EdgeId, int]  # in x, of each other joint's relation or fraction


def _shapes(
    first: EdgeId, series: dict[EdgeId, Series], level: int, prime: int
) -> Iterator[_Shape]:
    """Yield shapes in which all half angles are functions of x and of ``level`` square roots."""

    def beyond(others: tuple[EdgeId, ...], degrees: dict[EdgeId, int], basis: list[Series]) -> Any:
        rest = [e for e in series if e != first and e not in others]
        if len(others) < level:
            for e in rest:
                top = _least(_powers(basis, series[e], prime), _smooth(basis), level, prime)
                if top is not None:
                    larger = _powers(basis, series[e], prime)[: 2 * len(basis)]
                    yield from beyond((*others, e), degrees | {e: top}, larger)
            return
        for e in rest:
            top = _least(_sides(basis, series[e], prime), [len(basis)], level, prime)
            if top is None:
                return
            degrees = degrees | {e: top}
        yield _Shape(first, others, degrees)

    if series:
        yield from beyond((), {}, [[1] + [0] * (len(series[first]) - 1)])


def _powers(basis: Sequence[Series], series: Series, prime: int) -> list[Series]:
    """Return a basis, its products with a series and with its square: a quadratic's terms."""
    once = [times(b, series, prime) for b in basis]
    return [*basis, *once, *(times(b, series, prime) for b in once)]


def _smooth(basis: Sequence[Series]) -> list[int]:
    """Return places of coefficients that a smooth curve needs: the slope, and a leading one."""
    count = len(basis)
    return [count] if count == 1 else [count, 2 * count]


def _sides(basis: Sequence[Series], series: Series, prime: int) -> list[Series]:
    """Return a basis and its products with a series: the terms of the series as a fraction."""
    return [*basis, *(times(b, series, prime) for b in basis)]


def _fitted(
    values: Sequence[Series], needed: Sequence[int], top: int, prime: int
) -> list[int] | None:
    """Return coefficients of polynomials in x with which the values add up to zero."""
    terms = [(i, v) for v in range(len(values)) for i in range(top + 1)]
    return relation_of(values, terms, prime, [v * (top + 1) for v in needed])


def _least(values: Sequence[Series], needed: Sequence[int], level: int, prime: int) -> int | None:
    """Return the smallest degree in x with which the values are related."""
    most = DEGREES[level]
    if _fitted(values, needed, most, prime) is None:
        return None
    tops = (top for top in range(most) if _fitted(values, needed, top, prime) is not None)
    return next(tops, most)


def _found(
    loops: Sequence[Loop], screws: dict[EdgeId, Vector], shape: _Shape, prime: int
) -> MotionCurve | None:
    """Return the curve of a shape, or None where its numbers are longer than the prime."""
    count = 2 ** len(shape.others)
    order = 2 * count * (1 + max(shape.degrees.values(), default=0)) + 6
    series = _series(loops, screws, shape.first, order, prime)
    if series is None:
        return None
    one, x, y, z = (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)
    relations: list[Polynomial] = []
    moves: dict[EdgeId, tuple[Polynomial, Polynomial]] = {shape.first: ({one: 1}, {x: 1})}
    basis, names = [[1] + [0] * order], [(0, 0)]
    for e, root in zip(shape.others, (y, z), strict=False):
        values = _powers(basis, series[e], prime)
        coefficients = rational(_fitted(values, _smooth(basis), shape.degrees[e], prime), prime)
        if coefficients is None:
            return None
        powers = [(j + n * root[1], k + n * root[2]) for n in range(3) for j, k in names]
        relations.append(_polynomial(coefficients, powers))
        moves[e] = ({one: 1}, {root: 1})
        basis, names = values[: 2 * len(basis)], powers[: 2 * len(basis)]
    relations += [{root: 1} for root in (y, z)[len(relations) :]]
    for e in (e for e in shape.degrees if e not in shape.others):
        values = _sides(basis, series[e], prime)
        coefficients = rational(_fitted(values, [count], shape.degrees[e], prime), prime)
        if coefficients is None:
            return None
        half = len(coefficients) // 2
        below = _polynomial([-c for c in coefficients[half:]], names)
        moves[e] = (below, _polynomial(coefficients[:half], names))
    return relations, moves


def _polynomial(coefficients: Sequence[int], names: Sequence[tuple[int, int]]) -> Polynomial:
    """Return the polynomial with coefficients of x^i y^j z^k, in the order of i for each (j, k)."""
    terms = ((i, j, k) for j, k in names for i in range(len(coefficients) // len(names)))
    return {at: c for at, c in zip(terms, coefficients, strict=True) if c}


def _series(
    loops: Sequence[Loop], screws: dict[EdgeId, Vector], first: EdgeId, order: int, prime: int
) -> dict[EdgeId, Series] | None:
    """Return half-angle tangents as power series in the first one mod a prime, or None."""
    joints = [e for e in screws if e != first]
    columns = [*joints, first]
    rows = []
    for loop in loops:
        senses = dict(loop)
        rows += [[senses.get(e, 0) * screws[e][k] % prime for e in columns] for k in range(6)]
    eliminated = Eliminated(rows, len(joints), prime)
    if len(eliminated.pivots) < len(joints):
        return None
    series = {e: [0] for e in columns}
    unit = [1, 0, 0, 0, 0, 0, 0, 0]
    # Coefficients of the products of the first so many displacements of each loop.
    partial = [[[unit] for _ in range(len(loop) + 1)] for loop in loops]
    for k in range(1, order + 1):
        right = []
        spend(8 * (k + 8) * sum(map(len, loops)), prime)
        for loop, products in zip(loops, partial, strict=True):
            products[0].append([0] * 8)
            for at, (e, sense) in enumerate(loop):
                pairs = zip(series[e][1:k], products[at][k - 1 : 0 : -1], strict=True)
                lower = ([factor * x for x in q] for factor, q in pairs)
                lower_sum = [sum(column) for column in zip(*lower, strict=True)] or [0] * 8
                moved = _turned(lower_sum, screws[e], sense)
                products[at + 1].append(_sum(products[at][k], moved, prime))
            right += [-products[-1][k][c] % prime for c in (5, 6, 7, 1, 2, 3)]
        last = int(k == 1)
        solution = eliminated.solve(right, last)
        if solution is None:
            return None
        for e, value in zip(columns, [*solution, last], strict=True):
            series[e].append(value)
        for loop, products in zip(loops, partial, strict=True):
            added = [0] * 8
            for at, (e, sense) in enumerate(loop):
                step = _turned([series[e][k], *unit[1:]], screws[e], sense)
                added = _sum(added, step, prime)
                products[at + 1][k] = _sum(products[at + 1][k], added, prime)
    return series


def _sum(a: Sequence[int], b: Sequence[int], prime: int) -> list[int]:
    return [(x + y) % prime for x, y in zip(a, b, strict=True)]


def _turned(q: Sequence[int], screw: Vector, sense: int) -> list[int]:
    """Return the product of a dual quaternion and a screw."""
    product = [0] * 8
    for part, shift, vector in (
        (q[:4], 0, screw[3:]),
        (q[4:], 4, screw[3:]),
        (q[:4], 4, screw[:3]),
    ):
        for a, value in enumerate(part):
            for b, x in enumerate(vector, start=1):
                product[shift + (a ^ b)] += SIGNS[a][b] * value * x * sense
    return product


class Exhausted(NotExact):
    """Raised where a search has used up the work that it is allowed."""


_left: ContextVar[list[float] | None] = ContextVar("work that is left", default=None)


@contextmanager
def bounded(work: float) -> Iterator[None]:
    """Bound the number of products of two short numbers that may be asked for within."""
    before = _left.set([work])
    try:
        yield
    finally:
        _left.reset(before)


def spend(products: float, prime: int) -> None:
    """Count products of remainders before they are made; raise Exhausted beyond the bound."""
    if (left := _left.get()) is not None:
        left[0] -= products * (1.0 + (prime.bit_length() / 256) ** 1.6)
        if left[0] < 0.0:
            raise Exhausted("the search for their motion was ended at its bound of work")


class Eliminated:
    """A linear system that is solved for several right sides, modulo a prime."""

    def __init__(self, rows: Sequence[Sequence[int]], unknowns: int, prime: int) -> None:
        self.prime, self.unknowns = prime, unknowns
        size = len(rows)
        spend(size * unknowns * (unknowns + size), prime)
        # Each row carries the combination of the given ones that it is.
        work = [[*row, *(int(i == j) for j in range(size))] for i, row in enumerate(rows)]
        self.pivots: list[int] = []
        for column in range(unknowns):
            at = next((i for i in range(len(self.pivots), size) if work[i][column]), None)
            if at is None:
                continue
            here = len(self.pivots)
            work[here], work[at] = work[at], work[here]
            scale = pow(work[here][column], -1, prime)
            work[here] = [x * scale % prime for x in work[here]]
            for i in range(size):
                if i != here and work[i][column]:
                    work[i] = _reduced(work[i], work[here], column, prime)
            self.pivots.append(column)
        self.work = work

    def solve(self, right: Sequence[int], last: int) -> list[int] | None:
        """Return the unknowns, the one in the last column being given; None: a contradiction."""
        values = []
        spend(len(self.work) ** 2, self.prime)
        for row in self.work:
            value = sum(c * r for c, r in zip(row[self.unknowns + 1 :], right, strict=True))
            values.append((value - row[self.unknowns] * last) % self.prime)
        if any(values[len(self.pivots) :]):
            return None
        return values[: len(self.pivots)]


def _reduced(row: Sequence[int], pivot: Sequence[int], column: int, prime: int) -> list[int]:
    """Return a row without its part in a column, by another one that has 1 there."""
    return [(x - row[column] * y) % prime for x, y in zip(row, pivot, strict=True)]


def times(a: Series, b: Series, prime: int) -> Series:
    """Return the product of two series."""
    spend(len(a) ** 2 / 2, prime)
    return [sum(a[i] * b[k - i] for i in range(k + 1)) % prime for k in range(len(a))]


def relation_of(
    values: Sequence[Series], terms: Terms, prime: int, needed: Sequence[int] = ()
) -> list[int] | None:
    """Return c_ij, not all zero, for which the sum of c_ij x^i values[j] is zero, if any are."""
    order = len(values[0])
    # Numbers of the machine's length are many times as fast.
    spend(order * len(terms) ** 2 / (16 if prime < 2**31 else 1), prime)
    rows = [[values[j][k - i] if k >= i else 0 for i, j in terms] for k in range(order)]
    # Products of two remainders have to fit where numbers are no longer than the machine's.
    matrix = np.array(rows, dtype=np.int64 if prime < 2**31 else object)
    pivots: list[int] = []
    for column in range(len(terms)):
        here = len(pivots)
        below = np.flatnonzero(matrix[here:, column])
        if not len(below):
            # It is a combination of the columns before it that have pivots.
            coefficients = [0] * len(terms)
            coefficients[column] = 1
            for row, pivot_column in enumerate(pivots):
                coefficients[pivot_column] = int(-matrix[row, column] % prime)
            if all(coefficients[at] for at in needed):
                return coefficients
            continue
        at = here + below[0]
        matrix[[here, at]] = matrix[[at, here]]
        pivot = matrix[here] * pow(int(matrix[here, column]), -1, prime) % prime
        factors = matrix[:, column].copy()
        used = np.flatnonzero(factors)
        matrix[used] = (matrix[used] - factors[used, None] * pivot) % prime
        matrix[here] = pivot
        pivots.append(column)
    return None


def rational(values: Sequence[int] | None, prime: int) -> list[int] | None:
    """Return integers, without a common divisor, to which remainders are proportional."""
    if values is None:
        return None
    bound = math.isqrt(prime // 2)
    fractions = []
    for value in values:
        # The shortest vectors of the lattice of all (n, d) with n = value d.
        a, b, u, v = prime, value, 0, 1
        while b > bound:
            q = a // b
            a, b, u, v = b, a - q * b, v, u - q * v
        if abs(v) > bound >> 8:
            return None
        fractions.append(Fraction(b, v))
    common = math.lcm(*(x.denominator for x in fractions))
    integers = [int(x * common) for x in fractions]
    divisor = math.gcd(*integers)
    return [x // divisor for x in integers]
