"""Linear equations and power series in numbers modulo a prime."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

import numpy as np

from regularize.proofs.incidence import NotExact

#: Coefficients of a power series, those of low order first.
Series = list[int]
#: Exponents of x and numbers of series.
Terms = Sequence[tuple[int, int]]


class Exhausted(NotExact):
    """A search took as much work as it may take."""


_left: ContextVar[list[float] | None] = ContextVar("work that is left", default=None)


@contextmanager
def bounded(work: float) -> Iterator[None]:
    """Only so many products of two short numbers may be asked for within."""
    before = _left.set([work])
    try:
        yield
    finally:
        _left.reset(before)


def spend(products: float, prime: int) -> None:
    """Count products of two remainders before they are made."""
    if (left := _left.get()) is not None:
        left[0] -= products * (1.0 + (prime.bit_length() / 256) ** 1.6)
        if left[0] < 0.0:
            raise Exhausted("the search for their motion was ended at its bound of work")


class Eliminated:
    """A linear system that is solved for several right sides, modulo a prime."""

    def __init__(self, rows: Sequence[Sequence[int]], unknowns: int, prime: int) -> None:
        """Eliminate as many unknowns as there are independent columns."""
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
        """The unknowns, the one in the last column being given; None: a contradiction."""
        values = []
        spend(len(self.work) ** 2, self.prime)
        for row in self.work:
            value = sum(c * r for c, r in zip(row[self.unknowns + 1 :], right, strict=True))
            values.append((value - row[self.unknowns] * last) % self.prime)
        if any(values[len(self.pivots) :]):
            return None
        return values[: len(self.pivots)]


def _reduced(row: Sequence[int], pivot: Sequence[int], column: int, prime: int) -> list[int]:
    """A row without its part in a column, by another one that has 1 there."""
    return [(x - row[column] * y) % prime for x, y in zip(row, pivot, strict=True)]


def times(a: Series, b: Series, prime: int) -> Series:
    """The product of two series."""
    spend(len(a) ** 2 / 2, prime)
    return [sum(a[i] * b[k - i] for i in range(k + 1)) % prime for k in range(len(a))]


def relation_of(
    values: Sequence[Series], terms: Terms, prime: int, needed: Sequence[int] = ()
) -> list[int] | None:
    """Coefficients c_ij with which the sum of c_ij x^i values[j] is zero, if there are any."""
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
            found = [0] * len(terms)
            found[column] = 1
            for row, pivot_column in enumerate(pivots):
                found[pivot_column] = int(-matrix[row, column] % prime)
            if all(found[at] for at in needed):
                return found
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
    """The integers, without a common divisor, to which remainders are proportional."""
    if values is None:
        return None
    bound = math.isqrt(prime // 2)
    found = []
    for value in values:
        # The shortest vectors of the lattice of all (n, d) with n = value d.
        a, b, u, v = prime, value, 0, 1
        while b > bound:
            q = a // b
            a, b, u, v = b, a - q * b, v, u - q * v
        if abs(v) > bound >> 8:
            return None
        found.append(Fraction(b, v))
    common = math.lcm(*(x.denominator for x in found))
    integers = [int(x * common) for x in found]
    divisor = math.gcd(*integers)
    return [x // divisor for x in integers]
