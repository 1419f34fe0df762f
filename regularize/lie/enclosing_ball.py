"""The smallest ball around some points: its centre moves with them, and is that of no axes.

It depends on no order, and not on how often a point is there. Points that are outside of the ball
around a few join these, until there is none; those that the ball rests on are four at most (Welzl
1991).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from regularize.lie.arrays import Array, read_only
from regularize.tolerances import NEGLIGIBLE


def enclosed_at(points: Array) -> Array:
    """Centre of the smallest ball around points (n, 3), n > 0."""
    return _center(np.ascontiguousarray(points).tobytes())


@lru_cache(maxsize=16)
def _center(data: bytes) -> Array:
    points = np.frombuffer(data).reshape(-1, 3)
    few, center, radius = points[:1], points[0], 0.0
    while True:
        away = np.linalg.norm(points - center, axis=1)
        farthest = int(np.argmax(away))
        if away[farthest] <= radius * (1.0 + NEGLIGIBLE):
            return read_only(center)
        few = np.vstack([few, points[farthest]])
        few, center, larger = min(_balls(few), key=lambda ball: ball[2])
        if larger <= radius:
            return read_only(center)
        radius = larger


def _balls(few: Array) -> list[tuple[Array, Array, float]]:
    """Balls around up to five points: some of these that one rests on, centre and radius."""
    found = []
    for count in range(2, min(4, len(few)) + 1):
        chosen = few[list(combinations(range(len(few)), count))]
        centers = chosen.mean(axis=1)
        if count > 2:
            sides = chosen[:, 1:] - chosen[:, :1]
            halves = 0.5 * np.sum(sides * sides, axis=2)
            centers = chosen[:, 0] + np.einsum("kij,kj->ki", np.linalg.pinv(sides), halves)
        away = np.linalg.norm(few - centers[:, None], axis=2).max(axis=1)
        found += list(zip(chosen, centers, away.tolist(), strict=True))
        radii = np.linalg.norm(chosen[:, 0] - centers, axis=1)
        if count == 2 and np.any(away <= radii * (1.0 + NEGLIGIBLE)):
            break  # none is smaller than one about two points that holds all
    return found
