"""Where branches may bifurcate: samples of a path near which discriminants may touch zero."""

from __future__ import annotations

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT

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
    low &= np.isfinite(middle) & (around > EXACT.closed) & (middle <= (1.0 - 1e-9) * around)
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
