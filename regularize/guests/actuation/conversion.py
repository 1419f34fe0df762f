"""Ways through charts: one side from values of the other, by Newton's steps written out.

Where one side is the chart's parameters, the other is a formula of them. Else a polynomial of the
given side begins next to the solution, and a few of Newton's steps, the same for all values, end at
it: as many as rounding asks for at thousands of places of the domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from regularize.dynamics.tape.derivatives import copied, derivatives, solved
from regularize.dynamics.tape.languages import Compiled, columns, compiled
from regularize.dynamics.tape.program import Number, Recording
from regularize.guests.actuation.chart import Chart
from regularize.lie.arrays import Array

#: Degrees of the polynomials that steps begin with, by the number of variables.
DEGREES = {1: 9, 2: 7, 3: 5, 4: 4}
#: A last step that is longer has not arrived.
ARRIVED = 1e-5
#: What is left at the end, by the size of the numbers.
EXACT = 2e-13
MOST = 6
#: How far beyond what joints reach values may be, by their range.
BEYOND = 0.25


def exponents(k: int, degree: int) -> list[tuple[int, ...]]:
    """Return exponents of all monomials of k variables up to a degree."""
    factors = (x for d in range(degree + 1) for x in combinations_with_replacement(range(k), d))
    return [tuple(x.count(i) for i in range(k)) for x in factors]


@dataclass(frozen=True, eq=False)
class PolynomialFit:
    """Polynomials in u = (x - center) / scale, with weights (monomials, results)."""

    center: Array
    scale: Array
    powers: list[tuple[int, ...]]
    weights: Array

    @classmethod
    def of(cls, x: Array, y: Array, degree: int) -> PolynomialFit:
        """Fit polynomials of a degree to results (S, r) at samples (S, k) by least squares."""
        low, high = x.min(axis=0), x.max(axis=0)
        center, scale = 0.5 * (low + high), np.maximum(0.5 * (high - low), 1e-12)
        powers = exponents(x.shape[1], degree)
        terms = monomials((x - center) / scale, powers)
        weights = np.linalg.lstsq(terms, y, rcond=None)[0]
        return cls(center, scale, powers, np.asarray(weights, np.float64))

    def __call__(self, x: Array) -> Array:
        """Return results (N, r) at (N, k)."""
        return np.asarray(monomials((x - self.center) / self.scale, self.powers) @ self.weights)

    def lines(self, x: Sequence[Number]) -> list[Number]:
        """Return the polynomials as formulas, by Horner's rule."""
        numbers = zip(x, self.center.tolist(), self.scale.tolist(), strict=True)
        u = [(v - c) / s for v, c, s in numbers]
        tables = [dict(zip(self.powers, column, strict=True)) for column in self.weights.T]
        return [_horner(u, table, 0) for table in tables]


def _horner(u: Sequence[Number], table: dict[tuple[int, ...], float], axis: int) -> Number:
    """Return a polynomial of the variables u[axis:] by Horner's rule; exponents to weights."""
    code = u[0].recording
    if axis == len(u):
        (value,) = table.values()
        return code.number(float(value))
    result = code.number(0.0)
    for power in range(max(p[axis] for p in table), -1, -1):
        part = {p: w for p, w in table.items() if p[axis] == power}
        result = result * u[axis] + _horner(u, part, axis + 1)
    return result


def monomials(u: Array, powers: Sequence[tuple[int, ...]]) -> Array:
    """Return values of monomials at (N, k), shape (N, monomials)."""
    top = max(max(p, default=0) for p in powers)
    tables = [np.stack([x**d for d in range(top + 1)]) for x in u.T]
    columns = [np.prod([t[d] for t, d in zip(tables, p, strict=True)], axis=0) for p in powers]
    return np.stack(columns, axis=-1)


@dataclass(frozen=True, eq=False)
class Conversion:
    """Formulas from one side of a chart to the other, and lengths of the last of Newton's steps."""

    given: tuple[Number, ...]
    found: tuple[Number, ...]
    parameters: tuple[Number, ...]
    steps: tuple[Number, ...]

    @classmethod
    def of(cls, chart: Chart, back: bool, x: Array, z: Array) -> Conversion | None:
        """Return the conversion that arrives at all samples, x (N, k) and z (N, n); or None."""
        for way in cls._tried(chart, back, x, z):
            if not way.steps:
                return way
            values = columns(compiled([*way.parameters, *way.steps], way.given), x)
            n = z.shape[1]
            # Newton's steps may end where rounding of the formulas ends, not of the numbers.
            off = np.abs(values[:, :n] - z).max(axis=0) / (1.0 + np.abs(z).max(axis=0))
            if off.max() <= EXACT and np.abs(values[:, n:]).max() <= 0.1 * ARRIVED:
                return way
        return None

    @classmethod
    def _tried(cls, chart: Chart, back: bool, x: Array, z: Array) -> Iterator[Conversion]:
        """Yield conversions with more and more of Newton's steps."""
        known, wanted = chart.side(back), chart.motors if back else chart.joints
        k, n, code = len(wanted), len(chart.parameters), Recording()
        given = tuple(code.variable(f"x{i}") for i in range(k))
        goal = [*given, *(code.number(0.0) for _ in chart.closures)]
        if known == list(chart.parameters):
            names = dict(zip(chart.given, given, strict=True))
            yield cls(given, tuple(copied(wanted, code, names)), given, ())
            return
        rates = derivatives(known, chart.parameters)
        slopes = columns(chart.program([y for row in rates for y in row]), z[:1])
        inverse = np.asarray(np.linalg.inv(slopes.reshape(n, n)), np.float64)
        least = DEGREES.get(k, 3)
        fits = [PolynomialFit.of(x, z, degree) for degree in (least, 2 * least)]
        for fit, full, chord in ((f, s, c) for f in fits for s in range(1, MOST) for c in (0, 1)):
            now, matrix, step = fit.lines(given), [], list[Number]()
            for i in range(full + chord):
                names = dict(zip(chart.given, now, strict=True))
                if i < full:
                    flat = copied([*known, *(y for row in rates for y in row)], code, names)
                    values, matrix = flat[:n], [flat[n + n * r : 2 * n + n * r] for r in range(n)]
                else:
                    values = copied(known, code, names)
                error = [a - b for a, b in zip(values, goal, strict=True)]
                step = solved(matrix, error, inverse)
                now = [a - b for a, b in zip(now, step, strict=True)]
            names = dict(zip(chart.given, now, strict=True))
            yield cls(given, tuple(copied(wanted, code, names)), tuple(now), tuple(step))

    def within(self, x: Array) -> Conversion:
        """Return the conversion restricted to the neighbourhood of values (N, k)."""
        low, high = x.min(axis=0), x.max(axis=0)
        more = np.minimum(BEYOND * (high - low), 0.5 * (2.0 * np.pi - (high - low)))
        more = np.maximum(more, 0.02 * (high - low)) + 1e-6
        beyond = [
            ((v < a) | (v.recording.number(b) < v)).where(1.0, 0.0)
            for v, a, b in zip(
                self.given, (low - more).tolist(), (high + more).tolist(), strict=True
            )
        ]
        return replace(self, steps=(*self.steps, *beyond))

    @cached_property
    def program(self) -> Compiled:
        """Program of the other side, the parameters, and the last step, on arrays."""
        results = [*self.found, *self.parameters, *self.steps]
        return compiled(results, self.given)
