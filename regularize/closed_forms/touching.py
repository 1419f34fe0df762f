"""Samples of a path near which discriminants may touch zero."""

from __future__ import annotations

import numpy as np

from regularize.screw import Array

#: A lowest discriminant is looked for where a sample's is below this fraction of its neighbours'.
LOW = 0.3
#: Discriminants of neighbours below this are rounding: the branches do not part.
FLAT = 1e-13


def lowest(
    margin: Array, tolerance: float, after: float, borders: tuple[bool, bool]
) -> list[tuple[int, int]]:
    """Samples and steps with discriminants that may touch zero nearby, in order.

    Args:
        margin: Scaled discriminants, shape (K, steps).
        tolerance: Those that count as zero.
        after: Where the branches met before; samples up to there are on other branches.
        borders: Whether the path begins, and ends, with these samples.
    """
    value = np.where(np.isfinite(margin), margin, np.inf)
    value[: max(0, int(np.ceil(after)))] = np.inf
    nothing = np.full((1, margin.shape[1]), np.inf)
    value = np.concatenate([nothing] * borders[0] + [value] + [nothing] * borders[1])
    middle, left, right = value[1:-1], value[:-2], value[2:]
    around = np.fmax(left, right)
    low = (middle <= LOW * around + tolerance) & (around > FLAT) & np.isfinite(middle)
    low &= np.minimum(np.minimum(left, right), middle) >= -FLAT
    low &= (middle <= left) & (middle < right) | (middle < left) & (middle <= right)
    return [(int(i) + 1 - borders[0], int(k)) for i, k in np.argwhere(low)]
