r"""Continuation of a branch along a path of inputs, through the bifurcations where branches meet.

A step has the solutions :math:`x = a \pm \sqrt{d}`. Where the discriminant d touches zero along the
path, as t² does, the root is :math:`\pm|t|`: what goes on smoothly is the other sign. Where several
steps touch at once, every choice of signs is compared by the velocities of the bodies before and
behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from regularize.guests.modes.closed_form.branches import Branch, Meeting, Track
from regularize.guests.modes.closed_form.evaluation import Evaluation
from regularize.guests.modes.closed_form.indeterminate import (
    TOGETHER,
    Indeterminate,
    between_samples,
)
from regularize.guests.modes.grouping import Turns
from regularize.lie.arrays import Array
from regularize.loops.projection import CHUNK
from regularize.tolerances import EXACT

#: Along even steps: a discriminant above this fraction of its neighbours' does not touch zero.
LOW = 0.3
#: A parabola through three samples that lies above this fraction of the lowest of them does not.
DEEP = 0.5


def lowest(
    margin: Array, lengths: Array, tolerance: float, after: float, borders: tuple[bool, bool]
) -> list[tuple[int, int]]:
    """Samples and steps with discriminants that may touch zero nearby, in order.

    Args:
        margin: Scaled discriminants, shape (K, steps).
        lengths: Distances between the inputs at these samples, shape (K - 1,).
        tolerance: Discriminants that count as zero.
        after: Where the branches met before; samples up to there are on other branches.
        borders: Whether the path begins, and ends, with these samples.
    """
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
    """Lowest value of a parabola through three points; minus infinity where there is none."""
    if not np.isfinite(values).all() or not np.isfinite(lengths).all() or not lengths.all():
        return -np.inf
    before, behind = np.diff(values) / lengths
    bend = (behind - before) / lengths.sum()
    slope = (before * lengths[1] + behind * lengths[0]) / lengths.sum()
    return float(values[1] - slope**2 / (4.0 * bend)) if bend > 0.0 else -np.inf


#: Steps whose signs are tried in all combinations where they meet at once.
MOST = 8
#: Distance, in samples, at which solutions before and behind a meeting are compared.
NEAR = 0.25


class BranchContinuation:
    """Follows a branch.

    Args:
        evaluation: The solution, with its branches.
        branches: All of them.
        joints: The joint of every step with two solutions.
        turns: Coordinates that repeat after whole turns.
        path: Inputs at successive samples, shape (N, inputs).
        tolerance: Scaled discriminants below this count as branches that meet.
    """

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
        """The whole path, beginning on a branch."""
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
        for i, expected in self._indeterminate.single(self._q):
            self._settle(i, expected)
        self._meetings.sort(key=lambda meeting: meeting.position)
        return Track(
            self._turns.unwrapped(self._q),
            self._branches,
            self._assembled,
            tuple(self._meetings),
        )

    # Where discriminants reach zero --------------------------------------------------------------

    def _bifurcations(
        self, branch: Branch, margin: Array, low: int, last: float
    ) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
        """Position and step of the first discriminants that touch zero, all at one place.

        Then of those that are negative between two samples before them. Margins are those of
        samples from ``low`` on, shape (K, steps); ``last`` is the position of the meeting before.
        """
        found: list[tuple[float, int]] = []
        slivers: list[tuple[float, int]] = []
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

    def _refined(
        self,
        branch: Branch,
        k: int,
        left: float,
        right: float,
        *,
        rounds: int = 5,
        points: int = 33,
    ) -> tuple[float, float]:
        """Position and value of a step's lowest discriminant between two, on ever finer grids."""
        ends = left, right
        for _ in range(rounds):
            positions = np.linspace(*ends, points)
            margin = self._evaluation.margins(self._at(positions), branch)[:, k]
            margin = np.where(np.isfinite(margin), margin, np.inf)
            best = int(np.argmin(margin))
            step = positions[1] - positions[0]
            ends = max(left, positions[best] - step), min(right, positions[best] + step)
        return float(positions[best]), float(margin[best])

    def _note_ends(self, branch: Branch, margin: Array, start: int) -> None:
        """Enter where discriminants change their sign between samples, from ``start`` on."""
        # A NaN margin belongs to an earlier step that has no solution there.
        inside, known = margin >= -EXACT.closed, np.isfinite(margin)
        changes = (inside[1:] != inside[:-1]) & known[1:] & known[:-1]
        for i, k in np.argwhere(changes):
            a, b = np.abs(margin[i : i + 2, k])
            self._note(branch, int(k), start + float(i + a / (a + b)), ends=True)

    def _note_borders(self) -> None:
        """Enter branches that meet at the first or last sample."""
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

    # Through a meeting ---------------------------------------------------------------------------

    def _passed(self, branch: Branch, position: float, steps: Sequence[int]) -> Branch:
        """The branch that goes on smoothly behind a meeting of some steps."""
        # Steps whose solutions stay together on one side of the meeting part on the other.
        margin = np.abs(self._evaluation.margins(self._at(np.array([position])), branch)[0])
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
        """Take what is near an expected configuration for a sample at which branches meet."""
        if expected is not None:
            found = self._indeterminate.near(i, expected, self._branch_at(i))
            if found is not None:
                self._q[i], self._assembled[i] = found, True

    # Helpers -------------------------------------------------------------------------------------

    def _at(self, positions: Array) -> Array:
        return between_samples(self._path, positions)

    def _poses(self, branch: Branch, positions: Array) -> Array | None:
        """Poses of all bodies, (K, nodes, 3, 4); None where any is not assembled."""
        found = self._evaluation.many(self._at(positions), branch)
        if not found.assembled.all():
            return None
        closure = self._evaluation.closure
        return closure.bodies(closure.loops.state(found.q[:, 0]))

    def _branch_at(self, i: int) -> Branch:
        return self._all[int(self._branches[i])]

    def _flipped(self, branch: Branch, steps: Sequence[int]) -> Branch:
        """The branch with other signs of some steps; the last step is the last bit of the index."""
        last = len(branch.signs) - 1
        other = sum(1 << (last - k) for k in steps)
        return self._all[branch.index ^ other]
