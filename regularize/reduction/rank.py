"""Ranks told by singular values, with the gap that tells them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array, read_only


@dataclass(frozen=True, eq=False)
class Rank:
    """A rank and the evidence for it.

    Attributes:
        rank: The decision.
        singular_values: Largest first, shape (k,); none where the ranks of many loops add up.
        gap: Ratio of the last singular value counted to the first one not counted (inf: none).
        lowest: Rank with a tolerance a hundred times larger.
        highest: Rank with a tolerance a hundred times smaller.
    """

    rank: int
    singular_values: Array
    gap: float
    lowest: int
    highest: int


def decide_rank(singular_values: Array, rtol: float) -> Rank:
    """Rank by a relative tolerance, with the gap and the spread over tolerances as evidence."""
    s = np.asarray(singular_values, dtype=np.float64)
    largest = s.max(initial=0.0)
    rank, lowest, highest = (int(np.sum(s > t * largest)) for t in (rtol, 100 * rtol, rtol / 100))
    dropped = float(s[rank]) if rank < len(s) else 0.0
    gap = float(s[rank - 1]) / dropped if rank and dropped > 0.0 else float("inf")
    return Rank(rank, read_only(s), gap, lowest, highest)
