r"""Continuation of a branch along a path of inputs, through the bifurcations where branches meet.

A step has the solutions :math:`x = a \pm \sqrt{d}`. Where the discriminant d touches zero along the
path, as t² does, the root is :math:`\pm|t|`: what goes on smoothly is the other sign. Where several
steps touch at once, every choice of signs is compared by the velocities of the bodies before and
behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from regularize.guests.modes.closed_form.branches import Branch, Meeting, Track
from regularize.guests.modes.closed_form.evaluation import Evaluation
from regularize.guests.modes.grouping import Turns
from regularize.lie.arrays import Array
from regularize.loops.projection import CHUNK
from regularize.tolerances import EXACT

#: Meetings within this many samples are at one place; solutions twice as far are continued to it.
TOGETHER = 1e-2
#: A coordinate that is further from where the path leads has been chosen among all angles.
ARBITRARY = 1e-4
#: Steps whose signs are tried in all combinations where they meet at once.
MOST = 8
#: Distance, in samples, at which solutions before and behind a meeting are compared.
NEAR = 0.25
#: Along even steps: a discriminant above this fraction of its neighbours' does not touch zero.
LOW = 0.3
#: A parabola through three samples that lies above this fraction of the lowest of them does not.
DEEP = 0.5


def lowest(
    margin: Array, lengths: Array, tolerance: float, after: float, borders: tuple[bool, bool]
) -> list[tuple[int, int]]:
    """Return samples and steps (i, k) whose discriminants may touch zero nearby, in order."""
    value = np.where(np.isfinite(margin), margin, np.inf)
    value[: max(0, int(np.ceil(after)))] = np.inf
    nothing = np.full((1, margin.shape[1]), np.inf)
    value = np.concatenate([nothing] * borders[0] + [value] + [nothing] * borders[1])
    lengths = np.concatenate([[0.0]] * borders[0] + [lengths] + [[0.0]] * borders[1])
    middle, left, right = value[1:-1], value[:-2], value[2:]
    low = (middle <= left) & (middle < right) | (middle < left) & (middle <= right)
    around = np.fmax(left, right)
    # What differs by rounding is constant, and branches that are no further apart do not part.
    low &= (
        np.isfinite(middle) & (around > EXACT.closed) & (middle <= (1.0 - EXACT.singular) * around)
    )
    low &= np.minimum(np.minimum(left, right), middle) >= -EXACT.closed
    found = [(int(i), int(k)) for i, k in np.argwhere(low)]
    return [
        (i + 1 - borders[0], k)
        for i, k in found
        if _vertex(value[i : i + 3, k], lengths[i : i + 2]) <= DEEP * middle[i, k] + tolerance
    ]


def _vertex(values: Array, lengths: Array) -> float:
    """Return the lowest value of a parabola through three points, minus infinity if none."""
    if not np.isfinite(values).all() or not np.isfinite(lengths).all() or not lengths.all():
        return -np.inf
    before, behind = np.diff(values) / lengths
    bend = (behind - before) / lengths.sum()
    slope = (before * lengths[1] + behind * lengths[0]) / lengths.sum()
    return float(values[1] - slope**2 / (4.0 * bend)) if bend > 0.0 else -np.inf


class Indeterminate:
    """Replaces configurations at which any angle solves an equation by where the path leads."""

    def __init__(self, evaluation: Evaluation, turns: Turns, path: Array, tolerance: float) -> None:
        self._evaluation, self._turns = evaluation, turns
        self._path, self._tolerance = path, tolerance

    def between(self, i: int, before: Branch, after: Branch) -> Array | None:
        """Return the configuration (n,) at a sample that branches before and behind it lead to."""
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

    def outliers(self, q: Array) -> Iterator[tuple[int, Array]]:
        """Yield the index of each sample that jumps off its neighbours, and their middle (n,)."""
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

    def replacement(self, i: int, expected: Array, branch: Branch) -> Array | None:
        """Return the closed configuration near an expected one (n,), to replace that of sample i.

        None where no branches meet there, ``branch`` is there already, or nothing closes.
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
    """Return inputs at positions on straight lines between samples, shape (K, inputs)."""
    i = np.clip(np.floor(positions).astype(int), 0, max(0, len(path) - 2))
    part = (positions - i)[:, None]
    with np.errstate(invalid="ignore", over="ignore"):  # paths may hold infinity
        return np.asarray(path[i] + part * (path[i + 1] - path[i]))


class BranchContinuation:
    """Follows a branch along a path of inputs (N, inputs)."""

    def __init__(
        self,
        evaluation: Evaluation,
        branches: Sequence[Branch],
        joints: Sequence[str],
        turns: Turns,
        path: Array,
        tolerance: float,
    ) -> None:
        self._evaluation, self._joints, self._turns = evaluation, joints, turns
        self._path, self._tolerance = path, tolerance
        self._indeterminate = Indeterminate(evaluation, turns, path, tolerance)
        self._all = branches
        N = len(path)
        self._q = np.full((N, evaluation.freedoms), np.nan)
        self._branches = np.zeros(N, dtype=np.intp)
        self._assembled = np.zeros(N, dtype=bool)
        self._meetings: list[Meeting] = []

    def track(self, branch: Branch) -> Track:
        """Follow the whole path, beginning on a branch."""
        start, last = 0, -1.0
        while start < len(self._path):
            # One sample before and one behind tell where discriminants are lowest.
            low, high = max(0, start - 1), min(len(self._path), start + CHUNK // 4)
            stop = min(len(self._path), high + 1)
            found = self._evaluation.many(self._path[low:stop], branch)
            margin = found.margin[:, 0]
            bifurcations, slivers = self._bifurcations(branch, margin, low, last)
            if bifurcations:
                high = min(high, int(np.floor(bifurcations[0][0])) + 1)
            for position, k in slivers:
                if position < high:
                    self._note(branch, k, position, ends=True)
            own = slice(start, high)
            self._q[own] = found.q[start - low : high - low, 0]
            self._assembled[own] = found.assembled[start - low : high - low, 0]
            self._branches[own] = branch.index
            behind = high if bifurcations else min(high + 1, stop)
            self._note_ends(branch, margin[start - low : behind - low], start)
            if bifurcations:
                last = bifurcations[0][0]
                branch = self._passed(branch, last, [k for _, k in bifurcations])
            start = high
        self._note_borders()
        for i, expected in self._indeterminate.outliers(self._q):
            self._settle(i, expected)
        self._meetings.sort(key=lambda meeting: meeting.position)
        return Track(
            self._turns.unwrapped(self._q), self._branches, self._assembled, tuple(self._meetings)
        )

    def _bifurcations(
        self, branch: Branch, margin: Array, low: int, last: float
    ) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
        """Return the first discriminants that touch zero at one place, and slivers before."""
        found, slivers = list[tuple[float, int]](), list[tuple[float, int]]()
        end = len(self._path) - 1.0
        borders = low == 0, low + len(margin) == len(self._path)
        with np.errstate(invalid="ignore"):
            lengths = np.linalg.norm(np.diff(self._path[low : low + len(margin)], axis=0), axis=1)
        for i, k in lowest(margin, lengths, self._tolerance, last - low, borders):
            left = max(last + TOGETHER, low + i - 1.0, TOGETHER)
            right = min(low + i + 1.0, end - TOGETHER)
            if left >= right:
                continue
            if found and left > found[0][0] + TOGETHER:
                break
            position, value = self._refined(branch, k, left, right)
            if left < position < right and value <= self._tolerance:
                (found if value >= -self._tolerance else slivers).append((position, k))
        found.sort()
        return [(p, k) for p, k in found if p - found[0][0] <= TOGETHER], slivers

    def _refined(self, branch: Branch, k: int, left: float, right: float) -> tuple[float, float]:
        """Return position and value of a step's lowest discriminant between two positions."""
        ends = left, right
        for _ in range(5):
            positions = np.linspace(*ends, 33)
            margin = self._evaluation.margins(between_samples(self._path, positions), branch)[:, k]
            margin = np.where(np.isfinite(margin), margin, np.inf)
            best = int(np.argmin(margin))
            step = positions[1] - positions[0]
            ends = max(left, positions[best] - step), min(right, positions[best] + step)
        return float(positions[best]), float(margin[best])

    def _note_ends(self, branch: Branch, margin: Array, start: int) -> None:
        """Note where discriminants change their sign between samples from ``start`` on."""
        # A NaN margin belongs to an earlier step that has no solution there.
        inside, known = margin >= -EXACT.closed, np.isfinite(margin)
        changes = (inside[1:] != inside[:-1]) & known[1:] & known[:-1]
        for i, k in np.argwhere(changes):
            a, b = np.abs(margin[i : i + 2, k])
            self._note(branch, int(k), start + float(i + a / (a + b)), ends=True)

    def _note_borders(self) -> None:
        """Note branches that meet at the first or last sample."""
        for i in {0, len(self._path) - 1} if len(self._path) else ():
            if self._assembled[i]:
                branch = self._branch_at(i)
                margin = self._evaluation.margins(self._path[[i]], branch)[0]
                for k in np.flatnonzero(np.abs(margin) <= self._tolerance):
                    self._note(branch, int(k), float(i))
                self._settle(i, self._indeterminate.between(i, branch, branch))

    def _note(
        self, branch: Branch, k: int, position: float, *, ends: bool = False, crosses: bool = False
    ) -> None:
        other = self._flipped(branch, (k,))
        pair = branch.index, other.index
        nearest = round(position)
        self._meetings.append(Meeting(nearest, position, pair, self._joints[k], ends, crosses))

    def _passed(self, branch: Branch, position: float, steps: Sequence[int]) -> Branch:
        """Return the branch that goes on smoothly behind a meeting of some steps."""
        # Steps whose solutions stay together on one side of the meeting part on the other.
        margin = np.abs(
            self._evaluation.margins(between_samples(self._path, np.array([position])), branch)[0]
        )
        both = [int(k) for k in np.flatnonzero(margin <= self._tolerance) if k not in steps]
        among = [*steps, *both][:MOST]
        reach = min(position, len(self._path) - 1 - position, 2 * NEAR) / 2
        beside = abs(position - round(position))
        if beside > TOGETHER:  # the inputs change evenly between two samples only
            reach = min(reach, beside / 2)
        before = self._poses(branch, position - reach * np.array([2.0, 1.0]))
        best, least = branch, np.inf
        for flips in product((False, True), repeat=len(among)):
            chosen = [k for k, flip in zip(among, flips, strict=True) if flip]
            candidate = self._flipped(branch, chosen)
            after = self._poses(candidate, position + reach * np.array([1.0, 2.0]))
            if before is None or after is None:
                continue
            # Steps of equal length before and behind the meeting, and one of two of them across.
            first, second = before[1] - before[0], after[1] - after[0]
            across = after[0] - before[1] - first - second
            distance = float(np.max(np.abs(across)) + np.max(np.abs(second - first)))
            if distance < 0.9 * least:
                best, least = candidate, distance
        for k in among:
            crosses = branch.signs[k] != best.signs[k]
            if k in steps or crosses:
                self._note(branch, k, position, crosses=crosses)
        i = round(position)
        if abs(position - i) <= TOGETHER:
            self._settle(i, self._indeterminate.between(i, branch, best))
        return best

    def _settle(self, i: int, expected: Array | None) -> None:
        """Move a sample at which branches meet to near an expected configuration."""
        if expected is not None:
            found = self._indeterminate.replacement(i, expected, self._branch_at(i))
            if found is not None:
                self._q[i], self._assembled[i] = found, True

    def _poses(self, branch: Branch, positions: Array) -> Array | None:
        """Return poses of all bodies, (K, nodes, 3, 4); None where any is not assembled."""
        found = self._evaluation.many(between_samples(self._path, positions), branch)
        if not found.assembled.all():
            return None
        closure = self._evaluation.closure
        return closure.bodies(closure.loops.state(found.q[:, 0]))

    def _branch_at(self, i: int) -> Branch:
        return self._all[int(self._branches[i])]

    def _flipped(self, branch: Branch, steps: Sequence[int]) -> Branch:
        """Return the branch with other signs of some steps; the last step is the last bit."""
        last = len(branch.signs) - 1
        other = sum(1 << (last - k) for k in steps)
        return self._all[branch.index ^ other]
