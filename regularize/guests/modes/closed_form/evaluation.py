"""A plan evaluated: all branches at one or many inputs, with what tells whether they exist.

Plain formulas are compiled for numbers and for arrays. Where solutions meet, or digits are lost,
careful ones solve again, on arrays alone.

A plan is made of what holds at a few random inputs and choices of branches. In special dimensions
something may hold there and not on every branch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.tape.languages import PYTHON, Compiled, compiled, executed
from regularize.dynamics.tape.program import needed
from regularize.errors import ModelError
from regularize.guests.modes.closed_form.branches import MOST_AT_ONCE, Branch, Solutions
from regularize.guests.modes.closed_form.operations import Lowering
from regularize.guests.modes.closed_form.planner import Plan
from regularize.guests.modes.loop_system import LoopSystem
from regularize.lie.arrays import Array
from regularize.loops.projection import CHUNK
from regularize.mechanism.graph import Graph
from regularize.tolerances import EXACT, ROUNDING

#: Closure errors of solutions that are checked: roots near zero leave half the digits.
CLOSED = 1e-9
#: Divisors below this, and squares of lengths, lose digits of what they divide.
LOST = 1e-4


#: What compiled lines on numbers call.
ON_NUMBERS = {
    name: getattr(math, name)
    for name in ("atan2", "cos", "isfinite", "nan", "remainder", "sin", "sqrt")
}
#: Change of the inputs, in radians and sizes of the loops, after which little is lost.
ASIDE = 1e-3
#: What is tried where any angle solves an equation and zero leads to no solution.
ANGLES = tuple(2 * np.pi * k / 36 for k in range(1, 36))


class Programs:
    """The compiled programs of a plan: coordinates, margins, closure errors, and pivots."""

    def __init__(self, plan: Plan, coordinates: int, inputs: int) -> None:
        self._plan, self._steps = plan, len(plan.choices)
        self._inputs = [f"x{i}" for i in range(inputs)]
        self._coordinates = [plan.known.coordinates[c] for c in range(coordinates)]
        self._margins = [
            step.discriminant * (1.0 / step.size)
            for step in plan.choices
            if step.discriminant is not None
        ]
        self.pivots = [*plan.divisors, *plan.squares]

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the compiled programs, which are made again."""
        compiled = ("nested", "plain", "careful")
        return {k: value for k, value in vars(self).items() if k not in compiled}

    @cached_property
    def nested(self) -> Compiled:
        """Program of one input that tries all signs in loops: coordinates, margins, state."""
        lowering, tape, signs = Lowering(careful=False), self._plan.tape, self._plan.tape.signs
        results, gaps, margins, pivots = (
            lowering.lines(tape, each)
            for each in (self._coordinates, self._plan.gaps, self._margins, self.pivots)
        )
        text: list[list[str]] = [[] for _ in range(signs + 1)]
        levels: dict[int, int] = {}
        for x in needed([*results, *margins, *gaps, *pivots]):
            levels[x.index] = max((levels[a] for a in x.arguments), default=0)
            if (name := PYTHON.name(x)).startswith("s"):
                levels[x.index] = int(name[1:]) + 1
            if (assignment := PYTHON.assignment(x)) is not None:
                text[levels[x.index]].append(assignment)
        head = ", ".join([*self._inputs, *(f"signs{i}" for i in range(signs))])
        source = [f"def program({head}):", "    rows, assembled, near = [], [], False"]
        for level, lines in enumerate(text):
            if level:
                source.append("    " * level + f"for s{level - 1} in signs{level - 1}:")
            source += ["    " * (level + 1) + line for line in lines]
        # A sum is finite where all its terms are.
        total = " + ".join(map(PYTHON.name, results))
        closed = [f"-{CLOSED} <= {PYTHON.name(line)} <= {CLOSED}" for line in gaps]
        limits = [*((m, EXACT.same) for m in margins), *((p, LOST) for p in pivots)]
        close = [f"-{limit} < {PYTHON.name(line)} < {limit}" for line, limit in limits]
        inner = "    " * (signs + 1)
        source += [
            f"{inner}rows.append(({PYTHON.listed([*results, *margins])}))",
            f"{inner}assembled.append({' and '.join([f'isfinite({total})', *closed])})",
            f"{inner}near = near or {' or '.join(close) or False}",
            "    return rows, assembled, near",
        ]
        return executed(source, ON_NUMBERS)

    @cached_property
    def plain(self) -> Compiled:
        """Program of inputs and signs that returns all results, on arrays."""
        return self._on_arrays(Lowering(careful=False), [])

    @cached_property
    def careful(self) -> Compiled:
        """Program that also solves where solutions meet; it takes a free cosine and sine first."""
        free = ("free_cosine", "free_sine")
        return self._on_arrays(Lowering(free=free), [*free])

    def _on_arrays(self, lowering: Lowering, first: Sequence[str]) -> Compiled:
        tape = self._plan.tape
        found = [*self._coordinates, *self._margins, *self._plan.gaps, *self.pivots]
        names = [*first, *self._inputs, *(f"s{i}" for i in range(tape.signs))]
        return compiled(lowering.lines(tape, found), names)

    def evaluate(self, inputs: Array, branch: Branch | None, results: Array) -> None:
        """Enter results (results, branches, N) of plain formulas at inputs (N, inputs)."""
        k = self._steps
        values = [[1.0, -1.0]] * k if branch is None else [[float(s)] for s in branch.signs]
        signs = [
            np.reshape(v, [*(len(v) if j == i else 1 for j in range(k)), 1])
            for i, v in enumerate(values)
        ]
        # A view: one axis is split.
        each = results.reshape(len(results), *map(len, values), len(inputs))
        columns = [np.ascontiguousarray(x) for x in inputs.T]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for i, result in enumerate(self.plain(*columns, *signs)):
                each[i] = result

    def at(self, inputs: Array, branches: NDArray[np.intp], free: float = 0.0) -> Array:
        """Return results (results, N) of careful formulas at inputs (N, s) on branches (N,)."""
        k = self._steps
        signs = [1.0 - 2.0 * (branches >> (k - 1 - i) & 1) for i in range(k)]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = self.careful(math.cos(free), math.sin(free), *inputs.T, *signs)
            return np.stack([np.broadcast_to(result, len(inputs)) for result in found])


class Evaluation:
    """The solutions of a plan that finds every coordinate, for the inputs in some columns."""

    def __init__(self, plan: Plan, graph: Graph, columns: Sequence[int]) -> None:
        self._plan, self._graph, self.columns = plan, graph, tuple(columns)
        self._n, self._steps = graph.freedoms, len(plan.choices)
        self.freedoms = self._n
        self._programs = Programs(plan, graph.freedoms, len(self.columns))
        self._checks = slice(self._n + self._steps, self._n + self._steps + len(plan.gaps))
        self._both = [(1.0, -1.0)] * self._steps
        self._every = np.ones(min(2**self._steps, MOST_AT_ONCE), dtype=bool)
        self._every.setflags(write=False)

    @cached_property
    def closure(self) -> LoopSystem:
        """The closure equations, lengths divided by the size of the loops."""
        length = max((chain.size for chain in self._plan.chains), default=1.0)
        unknown = np.setdiff1d(np.arange(self._n), self.columns)
        return LoopSystem(self._graph, unknown, length=length)

    def refined(self, q: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return configurations without what rounding adds where branches meet; which close."""
        # The root of a discriminant that vanishes turns errors of 1e-16 into 1e-8.
        return self.closure.projected(q, steps=40, until=ROUNDING, within=EXACT.same)

    def one(self, x: Sequence[float], branch: Branch | None) -> Solutions:
        """Solve for all branches, or one, at one input."""
        self._refuse_too_many(branch)
        try:
            rows, assembled, near = self._programs.nested(
                *x, *(branch.choices if branch else self._both)
            )
        except (ValueError, ZeroDivisionError):  # the sine of infinity, slides across planes
            near = True
        if near:
            found = self.many(np.array([x]), branch)
            return Solutions(found.graph, found.q[0], found.assembled[0], found.margin[0])
        results, n = np.array(rows), self._n
        if all(assembled):
            known = self._every[: len(rows)]
        else:
            known = np.array(assembled)
            results[~known, :n] = np.nan
            known.setflags(write=False)
        results.setflags(write=False)
        return Solutions(self._graph, results[:, :n], known, results[:, n:])

    def many(self, x: Array, branch: Branch | None) -> Solutions:
        """Solve for all branches, or one, at many inputs of shape (N, inputs)."""
        self._refuse_too_many(branch)
        branches = 1 if branch is not None else 2**self._steps
        results = np.empty((self._rows, branches, len(x)))
        assembled = np.empty((branches, len(x)), dtype=bool)
        for part in _parts(len(x), branches):
            assembled[:, part] = self._solved(x[part], branch, results[..., part])
        results.setflags(write=False)
        assembled.setflags(write=False)
        return Solutions(self._graph, results[: self._n].T, assembled.T, self._margin(results).T)

    def _refuse_too_many(self, branch: Branch | None) -> None:
        if branch is None and 2**self._steps > MOST_AT_ONCE:
            raise ModelError(
                f"there are {2**self._steps} branches, and {MOST_AT_ONCE} are computed at once at "
                "most: name one (branch=…), or ask for the loops in parts"
            )

    def _solved(self, x: Array, branch: Branch | None, results: Array) -> NDArray[np.bool_]:
        """Enter results (results, branches, N) of some inputs, and return which are assembled."""
        self._programs.evaluate(x, branch, results)
        assembled = self._assembled(results)
        q, margin = results[: self._n], self._margin(results)
        near = self._near(results)
        doubtful = near | self._lost(results)
        if not assembled.all():
            with np.errstate(invalid="ignore", over="ignore"):
                doubtful |= ~np.isfinite(q.sum(axis=0)) & ~(margin < -EXACT.same).any(axis=0)
        b, s = np.nonzero(doubtful)
        if len(b):
            first = branch.index if branch is not None else 0
            results[:, b, s] = careful = self._programs.at(x[s], first + b)
            assembled[b, s] = self._assembled(careful)
            near[b, s] = self._near(careful)
            lost = self._lost(results)
            if lost.any():
                self._from_aside(x, first, results, assembled, lost)
            if near.any():
                self._where_any_angle_solves(x, first, results, assembled)
        near &= assembled
        if near.any():
            refined, closed = self.refined(q[:, near].T)
            q[:, near] = refined.T
            assembled[near] = closed
        if not assembled.all():
            q[:, ~assembled] = np.nan
        return assembled

    def margins(self, x: Array, branch: Branch) -> Array:
        """Return scaled discriminants of one branch at a few inputs, shape (N, steps)."""
        return self._margin(self._programs.at(x, np.full(len(x), branch.index))).T

    @property
    def _rows(self) -> int:
        return self._checks.stop + len(self._programs.pivots)

    def _near(self, results: Array) -> NDArray[np.bool_]:
        """Return where solutions meet, or nearly so."""
        return np.asarray((np.abs(self._margin(results)) < EXACT.same).any(axis=0))

    def _lost(self, results: Array) -> NDArray[np.bool_]:
        """Return where digits are lost in a division."""
        return np.asarray((np.abs(results[self._checks.stop :]) < LOST).any(axis=0))

    def _margin(self, results: Array) -> Array:
        return results[self._n : self._n + self._steps]

    def _assembled(self, results: Array) -> NDArray[np.bool_]:
        """Return where everything is found and the loops close."""
        # A sum is finite where all its terms are.
        with np.errstate(invalid="ignore", over="ignore"):
            assembled = np.isfinite(results[: self._n].sum(axis=0))
            if self._plan.gaps:
                assembled &= (np.abs(results[self._checks]) <= CLOSED).all(axis=0)
        return np.asarray(assembled)

    def _from_aside(
        self,
        x: Array,
        first: int,
        results: Array,
        assembled: NDArray[np.bool_],
        lost: NDArray[np.bool_],
    ) -> None:
        """Correct results where digits are lost, by projection from there or a little aside."""
        n, columns, units = self._n, list(self.columns), self.closure.loops.units
        error = np.full(lost.shape, np.inf)
        b, s = np.nonzero(lost & assembled)
        error[b, s] = self.closure.gap(results[:n, b, s].T)
        weights = np.cos(1.0 + np.arange(len(columns)))  # no direction that is special
        for aside in (0.0, ASIDE, -ASIDE):
            b, s = np.nonzero(lost & (error > 0.1 * EXACT.closed))
            if not len(b):
                break
            others = self._programs.at(x[s] + aside * units[columns] * weights, first + b)
            found = self._assembled(others)
            b, s, start = b[found], s[found], others[:n, found].T.copy()
            start[:, columns] = x[s]
            q, _ = self.refined(start)
            left = self.closure.gap(q)
            near = np.max(np.abs(q - start) / units, axis=1, initial=0.0) < 100 * ASIDE
            better = near & (left < np.minimum(error[b, s], CLOSED))
            b, s = b[better], s[better]
            results[:n, b, s], error[b, s] = q[better].T, left[better]
            assembled[b, s] = True
        # What is left is a place where formulas and iteration fail.
        assembled &= ~lost | (error <= EXACT.same)

    def _where_any_angle_solves(
        self, x: Array, first: int, results: Array, assembled: NDArray[np.bool_]
    ) -> None:
        """Try other angles where any solves its equation, but not all equations after it."""
        for angle in ANGLES:
            b, s = np.nonzero(~assembled & (self._margin(results) == 0.0).any(axis=0))
            if not len(b):
                return
            others = self._programs.at(x[s], first + b, angle)
            found = self._assembled(others)
            results[:, b[found], s[found]] = others[:, found]
            assembled[b[found], s[found]] = True

    def derivatives(self, arrays: list[Array], branch: Branch | None) -> Array:
        """Return velocities or accelerations (N, branches, n) by the inputs'; NaN at meetings."""
        x, branches = arrays[0], 1 if branch is not None else 2**self._steps
        derivatives = np.full((self._n, branches, len(x)), np.nan)
        for part in _parts(len(x), branches):
            results = np.empty((self._rows, branches, len(x[part])))
            known = self._solved(x[part], branch, results)
            known &= ~(np.abs(self._margin(results)) <= ROUNDING).any(axis=0)
            b, s = np.nonzero(known)
            if len(b):
                given = np.zeros((len(arrays) - 1, len(s), self._n))
                given[..., list(self.columns)] = [a[part][s] for a in arrays[1:]]
                rates = self.closure.derivatives(results[: self._n, b, s].T, list(given))
                derivatives[..., part][:, b, s] = rates.T
        return derivatives.T


def _parts(samples: int, branches: int) -> Iterator[slice]:
    """Yield a few samples at a time, as intermediate results take more room than results."""
    # Of many branches as many solutions as of sixteen.
    size = max(1, min(CHUNK, 16 * CHUNK // branches))
    return (slice(k, k + size) for k in range(0, samples, size))


def unclosed_branch(
    evaluation: Evaluation, branches: Sequence[Branch], stored: Array, units: Array
) -> Branch | None:
    """Return a branch on which some solution does not close the loops, or None."""
    rng, most = np.random.default_rng(0), 64
    reach = np.repeat((0.3, 1.5), 8)[:, None]
    x = stored + reach * rng.uniform(-1.0, 1.0, size=(len(reach), len(stored))) * units
    every = len(branches) <= most
    tried = [None] if every else [branches[k] for k in rng.choice(len(branches), most, False)]
    for branch in tried:
        found = evaluation.many(x, branch)
        at, wrong = np.nonzero(found.assembled)
        open_ = evaluation.closure.gap(found.q[at, wrong]) > EXACT.singular
        if open_.any():
            return branch or branches[int(wrong[open_][0])]
    return None
