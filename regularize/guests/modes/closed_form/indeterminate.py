"""Samples of a path at which any angle solves an equation: one is taken to which the path leads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regularize.guests.modes.closed_form.branches import Branch
from regularize.guests.modes.closed_form.evaluation import Evaluation
from regularize.guests.modes.grouping import Turns
from regularize.lie.arrays import Array
from regularize.loops.projection import CHUNK
from regularize.tolerances import EXACT

#: Meetings within this many samples are at one place; solutions twice as far are continued to it.
TOGETHER = 1e-2
#: A coordinate that is further from where the path leads has been chosen among all angles.
ARBITRARY = 1e-4


class Indeterminate:
    """Replaces configurations that were chosen among many; arguments as of the continuation."""

    def __init__(self, evaluation: Evaluation, turns: Turns, path: Array, tolerance: float) -> None:
        self._evaluation, self._turns = evaluation, turns
        self._path, self._tolerance = path, tolerance

    def between(self, i: int, before: Branch, after: Branch) -> Array | None:
        """To what a branch before a sample and one behind it lead, shape (n,)."""
        if len(self._path) < 2:
            return None
        steps, weights = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1, 4, 4, -1]) / 6
        if i in (0, len(self._path) - 1):
            steps, weights = np.array([1.0, 2.0, 3.0, 4.0]), np.array([4, -6, 4, -1])
            steps = steps if i == 0 else -steps
        positions = i + 2 * TOGETHER * steps
        sides = ((slice(0, 2), before), (slice(2, 4), after))
        parts = [
            self._evaluation.many(between_samples(self._path, positions[half]), branch)
            for half, branch in sides
        ]
        if not all(part.assembled.all() for part in parts):
            return None
        near = self._turns.unwrapped(np.concatenate([part.q[:, 0] for part in parts]))
        return np.asarray(weights @ near)

    def single(self, q: Array) -> Iterator[tuple[int, Array]]:
        """Samples away from both their neighbours, and the middle between these, shape (n,)."""
        for start in range(0, len(q) - 2, CHUNK):
            before = q[start : start + CHUNK][: len(q) - 2 - start]
            here, behind = (q[start + k : start + k + len(before)] for k in (1, 2))
            behind = self._turns.near(behind, before)
            with np.errstate(invalid="ignore"):
                step = np.max(np.abs(self._turns.near(here, before) - before), axis=1)
                straight = np.max(np.abs(behind - before), axis=1)
                found = np.flatnonzero((step > ARBITRARY) & (straight < 0.5 * step))
            for i in map(int, found):
                yield start + i + 1, 0.5 * (before[i] + behind[i])

    def near(self, i: int, expected: Array, branch: Branch) -> Array | None:
        """What closes the loops near an expected configuration (n,) of a sample on a branch.

        None where no branches meet.
        """
        found = self._evaluation.many(self._path[[i]], branch)
        if not np.any(np.abs(found.margin) <= self._tolerance):
            return None
        if found.assembled.all():
            away = self._turns.near(found.q[0], expected) - expected
            if np.max(np.abs(away)) <= ARBITRARY:
                return None
        expected = expected.copy()
        expected[list(self._evaluation.columns)] = self._path[i]
        refined, closed = self._evaluation.refined(expected[None])
        error = self._evaluation.closure.gap(refined)[0]
        if found.assembled.all() and error > EXACT.closed:
            # Where a branch ends, the path leads there as a square root does, not as a polynomial.
            return None
        return np.asarray(refined[0]) if closed[0] else None


def between_samples(path: Array, positions: Array) -> Array:
    """Inputs at positions on a path of straight lines between samples, shape (K, inputs)."""
    i = np.clip(np.floor(positions).astype(int), 0, max(0, len(path) - 2))
    part = (positions - i)[:, None]
    with np.errstate(invalid="ignore", over="ignore"):  # paths may hold infinity
        return np.asarray(path[i] + part * (path[i + 1] - path[i]))
