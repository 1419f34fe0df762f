"""Points of a curve of configurations at which it meets other curves."""

from __future__ import annotations

import numpy as np

from regularize.dynamics.one_freedom.curve import Curve, Points
from regularize.lie.screw import Array

#: Clearance below which the surroundings of a point are searched for a branch point, how finely,
#: and the part of it that is left where there is one.
NARROW, ZOOMS, BRANCH = 0.1, 6, 0.02
#: Places looked at per zoom, and how much of the way between them is left for the next one.
PLACES, LEFT = 9, 0.25


def branch_points(curve: Curve, points: Points, straight: Array, slopes: Array) -> Array:
    """Configurations at which a closed curve branches, shape (B, n).

    Where a single further direction opens, the rows along with the tangent change the sign of their
    determinant; wherever any opens, the clearance falls to zero between two points.

    Args:
        curve: The curve.
        points: Points on it at equal steps of the path coordinate.
        straight: Embedded configurations less their growth, shape (N, k).
        slopes: Growth per round, shape (k,).
    """
    if curve.n == 1:
        return np.zeros((0, 1))
    rolled = Points(
        np.roll(points.q, -1, axis=0),
        np.roll(points.tangent, -1, axis=0),
        np.roll(points.correction, -1, axis=0),
        np.roll(points.clearance, -1),
        np.roll(points.rows, -1, axis=0),
        np.roll(points.left, -1, axis=0),
    )
    flips = ~curve.same_side(points, rolled)
    clearance = points.clearance
    lowest = (clearance < NARROW) & (clearance <= np.roll(clearance, 1))
    lowest &= clearance < np.roll(clearance, -1)
    # A sign that flips says that one of two neighbours is the nearest to the branch point.
    lowest |= (flips & (clearance <= rolled.clearance)) | np.roll(
        flips & (clearance > rolled.clearance), 1
    )
    terms = np.fft.rfft(straight, axis=0) / len(straight)
    terms[1:] *= 2.0
    found = []
    for k in np.flatnonzero(lowest):
        step = 2.0 * np.pi / len(straight)
        middle, half = step * k, step
        for _ in range(ZOOMS):
            s = middle + half * np.linspace(-1.0, 1.0, PLACES)
            waves = np.exp(1j * np.outer(s, np.arange(len(terms))))
            q = curve.restored(np.real(waves @ terms) + np.outer(s / (2.0 * np.pi), slopes))
            near = curve.points(q, np.repeat(points.tangent[k : k + 1], PLACES, axis=0))
            best = int(np.argmin(near.clearance))
            middle, half = s[best], LEFT * half
        if near.clearance[best] < BRANCH * clearance[k] or flips[[k - 1, k]].any():
            found.append(q[best])
    return np.array(found).reshape(-1, curve.n)
