"""Names of branches, and branches along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from regularize.closed_forms.plan import Step
from regularize.screw import Array

#: What the two solutions of a step are called where nothing tells up from down.
WORDS = {
    "elbow": ("bent to the positive side", "bent to the negative side"),
    "shoulder": ("left", "right"),
    "wrist": ("plain", "flipped"),
    "stroke": ("far", "near"),
    "numeric": ("", ""),
}


@dataclass(frozen=True)
class Branch:
    """One way to assemble the mechanism.

    Attributes:
        index: Position in the results.
        name: What tells it from the others, such as ``elbow J3 up, wrist J5 flipped``.
        signs: +1 or -1 for every step with two solutions, in order of the steps.
    """

    index: int
    name: str
    signs: tuple[int, ...]


def branches_of(steps: Sequence[Step], words: Sequence[tuple[str, str]]) -> tuple[Branch, ...]:
    """All combinations of the two solutions of the steps.

    Args:
        steps: Those with two solutions.
        words: What their positive and negative solutions are called.
    """
    found = []
    for index, signs in enumerate(product((1, -1), repeat=len(steps))):
        parts = [
            f"{step.role} {step.joint} {pair[0 if sign > 0 else 1]}".strip()
            for step, pair, sign in zip(steps, words, signs, strict=True)
        ]
        found.append(Branch(index, ", ".join(parts) or "the only one", signs))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Meeting:
    """A place on a path where two branches come together.

    Attributes:
        sample: Index of the sample of the path that is nearest to it.
        branches: The branches that meet.
        joint: The joint whose two solutions become one.
        ends: Whether the branches end there: behind it they cannot be assembled.
    """

    sample: int
    branches: tuple[int, int]
    joint: str
    ends: bool


@dataclass(frozen=True, eq=False)
class Track:
    """One branch along a path.

    Attributes:
        q: Coordinates without jumps by whole turns, NaN where not assembled, shape (N, n).
        branch: Index of the branch followed.
        assembled: Whether each sample can be assembled, shape (N,).
        meetings: Where the branch meets others.
    """

    q: Array
    branch: int
    assembled: NDArray[np.bool_]
    meetings: tuple[Meeting, ...]


def unwrapped(q: Array, angles: NDArray[np.bool_]) -> Array:
    """Coordinates along a path without jumps of angles by whole turns, gaps passed over; (N, n)."""
    result = q.copy()
    for column in np.flatnonzero(angles):
        known = np.isfinite(q[:, column])
        result[known, column] = np.unwrap(q[known, column])
    return result


def meetings(
    margins: Array,
    branch: Branch,
    branches: Sequence[Branch],
    steps: Sequence[Step],
    tolerance: float,
) -> tuple[Meeting, ...]:
    """Where discriminants reach zero along a path.

    Args:
        margins: Scaled discriminants along the branch, shape (N, steps).
        branch: The branch followed.
        branches: All branches.
        steps: Those with two solutions.
        tolerance: Discriminants below this touch zero.
    """
    found = []
    for k, step in enumerate(steps):
        other = tuple(s if i != k else -s for i, s in enumerate(branch.signs))
        partner = next(b.index for b in branches if b.signs == other)
        margin = margins[:, k]
        # A NaN margin belongs to an earlier step that has no solution there.
        inside = margin >= 0.0
        for i in range(len(margin) - 1):
            if inside[i] != inside[i + 1] and np.isfinite(margin[i]) and np.isfinite(margin[i + 1]):
                nearest = i if abs(margin[i]) <= abs(margin[i + 1]) else i + 1
                found.append(Meeting(nearest, (branch.index, partner), step.joint, True))
        low = np.zeros(len(margin), dtype=bool)
        low[1:-1] = (
            (margin[1:-1] <= margin[:-2]) & (margin[1:-1] < margin[2:]) & inside[:-2] & inside[2:]
        )
        for i in map(int, np.flatnonzero(low & inside)):
            # The parabola through three samples: does the discriminant touch zero between them?
            a = 0.5 * (margin[i + 1] - 2 * margin[i] + margin[i - 1])
            b = 0.5 * (margin[i + 1] - margin[i - 1])
            lowest = margin[i] - (b * b / (4 * a) if a > 0.0 else 0.0)
            if lowest <= max(tolerance, 0.02 * a):
                found.append(Meeting(int(i), (branch.index, partner), step.joint, False))
    return tuple(sorted(found, key=lambda meeting: meeting.sample))
