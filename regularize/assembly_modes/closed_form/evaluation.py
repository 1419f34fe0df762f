"""A plan evaluated: all branches at one or many inputs, with what tells whether they exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.closed_form.array_runtime import Function
from regularize.assembly_modes.closed_form.branches import Branch
from regularize.assembly_modes.closed_form.plan import Plan
from regularize.assembly_modes.closed_form.program import CLOSED, LOST, Programs
from regularize.assembly_modes.closed_form.refinement import Refinement
from regularize.assembly_modes.closed_form.solutions import Solutions
from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT, ROUNDING
from regularize.model.graph import Graph

#: Samples that are computed at once, so that all quantities stay in the processor's cache; of many
#: branches as many solutions as of sixteen.
CHUNK = 4096
#: Change of the inputs, in radians and sizes of the loops, after which little is lost.
ASIDE = 1e-3
#: What is tried where any angle solves an equation and zero leads to no solution.
ANGLES = tuple(2 * np.pi * k / 36 for k in range(1, 36))


class Evaluation:
    """The solutions of a plan that finds every coordinate.

    Args:
        plan: The plan.
        graph: The mechanism's graph.
        columns: Columns of the inputs.
    """

    def __init__(self, plan: Plan, graph: Graph, columns: Sequence[int]) -> None:
        """Gather what has to be computed."""
        self._plan, self._graph, self.columns = plan, graph, tuple(columns)
        self._n, self._steps = graph.freedoms, len(plan.choices)
        self.freedoms = self._n
        self._programs = Programs(plan, graph.freedoms, len(self.columns))
        self._checks = slice(self._n + self._steps, self._n + self._steps + len(plan.gaps))
        self._both = [(1.0, -1.0)] * self._steps
        self._every = np.ones(2**self._steps, dtype=bool)
        self._every.setflags(write=False)

    def one(self, x: Sequence[float], branch: Branch | None) -> Solutions:
        """All branches, or one, at one input."""
        try:
            rows, assembled, near = self._programs.nested(
                *x, *(branch.choices if branch else self._both)
            )
        except (ValueError, ZeroDivisionError):  # the sine of infinity, slides across planes
            near = True
        if near:
            found = self.many(np.array([x]), branch)
            return Solutions(found.q[0], found.assembled[0], found.margin[0])
        results, n = np.array(rows), self._n
        if all(assembled):
            known = self._every[: len(rows)]
        else:
            known = np.array(assembled)
            results[~known, :n] = np.nan
            known.setflags(write=False)
        results.setflags(write=False)
        return Solutions(results[:, :n], known, results[:, n:])

    def many(self, x: Array, branch: Branch | None) -> Solutions:
        """All branches, or one, at many inputs of shape (N, inputs)."""
        branches = 1 if branch is not None else 2**self._steps
        results = np.empty((self._rows, branches, len(x)))
        assembled = np.empty((branches, len(x)), dtype=bool)
        for part in _parts(len(x), branches):
            assembled[:, part] = self._solved(x[part], branch, results[..., part])
        results.setflags(write=False)
        assembled.setflags(write=False)
        return Solutions(results[: self._n].T, assembled.T, self._margin(results).T)

    def _solved(self, x: Array, branch: Branch | None, results: Array) -> NDArray[np.bool_]:
        """Enter the results of some inputs, (results, branches, N); which are assembled."""
        assembled = self._positions(self._programs.array, x, branch, results)
        q, margin = results[: self._n], self._margin(results)
        near = (np.abs(margin) < EXACT.same).any(axis=0)
        lost = self._lost(results)
        if lost.any():
            self._from_aside(x, branch, results, assembled, lost)
        if near.any():
            self._where_any_angle_solves(x, branch, results, assembled)
        near &= assembled
        if near.any():
            refined, closed = self._refinement(q[:, near].T)
            q[:, near] = refined.T
            assembled[near] = closed
        if not assembled.all():
            q[:, ~assembled] = np.nan
        return assembled

    def margins(self, x: Array, branch: Branch) -> Array:
        """Scaled discriminants of one branch at a few inputs, shape (N, steps)."""
        results = np.empty((self._rows, 1, len(x)))
        self._positions(self._programs.array, x, branch, results)
        return self._margin(results)[:, 0].T

    def refined(self, q: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Configurations (N, n) corrected with the inputs held, and whether each is closed."""
        return self._refinement(q)

    def closure_error(self, q: Array) -> Array:
        """Largest gap of a loop at configurations (N, n), lengths scaled, shape (N,)."""
        return self._refinement.error(q)

    @property
    def units(self) -> Array:
        """One radian, or the size of the loops, of each coordinate, shape (n,)."""
        return self._refinement.units

    def poses(self, q: Array) -> Array:
        """Poses of all nodes, lengths scaled by the size of the loops, (N, nodes, 3, 4)."""
        return self._refinement.poses(q)

    @property
    def _rows(self) -> int:
        return self._checks.stop + len(self._programs.pivots)

    def _lost(self, results: Array) -> NDArray[np.bool_]:
        """Where digits are lost in a division, (branches, N)."""
        return np.asarray((np.abs(results[self._checks.stop :]) < LOST).any(axis=0))

    def _from_aside(
        self,
        x: Array,
        branch: Branch | None,
        results: Array,
        assembled: NDArray[np.bool_],
        lost: NDArray[np.bool_],
    ) -> None:
        """Solutions near divisions by zero, by iteration from those at inputs a little aside."""
        b, s = np.nonzero(lost & assembled)
        error = np.full(lost.shape, np.inf)
        error[b, s] = self.closure_error(results[: self._n, b, s].T)

        def take(q: Array, b: NDArray[np.intp], s: NDArray[np.intp]) -> None:
            """Refined configurations where they are closed better and lie near."""
            refined, _ = self._refinement(q)
            left = self.closure_error(refined)
            near = np.max(np.abs(refined - q) / self.units, axis=1) < 100 * ASIDE
            better = near & (left < np.minimum(error[b, s], CLOSED))
            results[: self._n, b[better], s[better]] = refined[better].T
            assembled[b[better], s[better]] = True
            error[b[better], s[better]] = left[better]

        b, s = np.nonzero(lost & (error > 0.1 * EXACT.closed) & (error <= EXACT.same))
        if len(b):
            take(results[: self._n, b, s].T, b, s)
        columns = list(self.columns)
        weights = np.cos(1.0 + np.arange(len(columns)))  # no direction that is special
        for sense in (1.0, -1.0):
            samples = np.flatnonzero((lost & (error > 0.1 * EXACT.closed)).any(axis=0))
            if not len(samples):
                break
            others = np.empty((*results.shape[:2], len(samples)))
            beside = x[samples] + sense * ASIDE * self.units[columns] * weights
            found = self._positions(self._programs.array, beside, branch, others)
            b, s = np.nonzero(found & lost[:, samples])
            if not len(b):
                continue
            q = others[: self._n, b, s].T.copy()
            q[:, columns] = x[samples[s]]
            take(q, b, samples[s])
        # What is left is a place where formulas and iteration fail.
        assembled &= ~lost | (error <= EXACT.same)

    def _margin(self, results: Array) -> Array:
        return results[self._n : self._n + self._steps]

    def _positions(
        self, program: Function, x: Array, branch: Branch | None, results: Array
    ) -> NDArray[np.bool_]:
        """Enter the results of a program; whether each branch is assembled, (branches, N)."""
        self._programs.evaluate(program, x, branch, results)
        # A sum is finite where all its terms are.
        with np.errstate(invalid="ignore", over="ignore"):
            assembled = np.isfinite(results[: self._n].sum(axis=0))
        if self._plan.gaps:
            with np.errstate(invalid="ignore"):
                gaps = np.abs(results[self._checks])
                assembled &= (gaps <= CLOSED).all(axis=0)
        return np.asarray(assembled)

    def _where_any_angle_solves(
        self, x: Array, branch: Branch | None, results: Array, assembled: NDArray[np.bool_]
    ) -> None:
        """Try other angles where any one solves its equation but not all equations after it."""
        for angle in ANGLES:
            stuck = ~assembled & (self._margin(results) == 0.0).any(axis=0)
            samples = np.flatnonzero(stuck.any(axis=0))
            if not len(samples):
                return
            others = np.empty((*results.shape[:2], len(samples)))
            found = self._positions(self._programs.at_angle(angle), x[samples], branch, others)
            b, s = np.nonzero(found & stuck[:, samples])
            results[:, b, samples[s]] = others[:, b, s]
            assembled[b, samples[s]] = True

    def derivatives(self, arrays: list[Array], branch: Branch | None) -> Array:
        """Velocities, or accelerations, of all branches or one, shape (N, branches, n).

        NaN where branches meet: there they have none.

        Args:
            arrays: Inputs, their rates, and for accelerations the rates of these, (N, inputs) each.
            branch: The only branch wanted, if it is.
        """
        x, branches = arrays[0], 1 if branch is not None else 2**self._steps
        derivatives = np.full((self._n, branches, len(x)), np.nan)
        for part in _parts(len(x), branches):
            results = np.empty((self._rows, branches, len(x[part])))
            known = self._solved(x[part], branch, results)
            known &= ~(np.abs(self._margin(results)) <= ROUNDING).any(axis=0)
            b, s = np.nonzero(known)
            if len(b):
                given = [a[part][s] for a in arrays[1:]]
                rates = self._refinement.derivatives(results[: self._n, b, s].T, given)
                derivatives[..., part][:, b, s] = rates.T
        return derivatives.T

    @cached_property
    def _refinement(self) -> Refinement:
        length = max((chain.size for chain in self._plan.chains), default=1.0)
        return Refinement(self._graph, self.columns, length)


def _parts(samples: int, branches: int) -> Iterator[slice]:
    """A few samples at a time: what is needed on the way takes more room than the results."""
    size = max(1, min(CHUNK, 16 * CHUNK // branches))
    return (slice(k, k + size) for k in range(0, samples, size))
