"""Where names stand in a flat picture: beside their points, over as little as can be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.lie.screw import Array
from regularize.render.picture import SHEET, PlacedLabel


def spread(
    labels: Sequence[PlacedLabel],
    discs: Sequence[tuple[float, float, float]],
    triangles: Array,
) -> Iterator[tuple[float, float]]:
    """Places of labels beside their points, each where it covers none before it and no disc.

    Of such places that which covers the least of what is drawn, and is nearest.

    Args:
        labels: Their texts and the points that they name, in pixels.
        discs: What is to be seen whole: centre and radius of each.
        triangles: What is drawn, shape (n, 3, 2).
    """
    drawn = _sampled(triangles)
    boxes: list[tuple[float, float, float, float]] = []
    for text, x, y, _ in labels:
        w, h = size_of(text)
        own = reach_at(x, y, discs)
        places = [(x + dx, y + dy) for r in (4, 16, 30, 46) for dx, dy in _around(own + r, w, h)]
        free = [p for p in places if (*p, w, h) in SHEET and not _covers((*p, w, h), boxes)]
        clear = [p for p in free if not any(_touches((*p, w, h), disc) for disc in discs)]
        chosen = min(clear or free or places, key=lambda p: _hidden((*p, w, h), drawn))
        boxes.append((*chosen, w, h))
        yield chosen


def size_of(text: str) -> tuple[float, float]:
    """About the width and height of a name in pixels."""
    return 0.53 * SHEET.font * len(text), 1.15 * SHEET.font


def reach_at(x: float, y: float, discs: Sequence[tuple[float, float, float]]) -> float:
    """Radius of what is drawn around a joint, in pixels."""
    return max((r for a, b, r in discs if np.hypot(a - x, b - y) < 1.0), default=6.0)


def _sampled(triangles: Array, steps: int = 6) -> Array:
    """Points all over triangles, shape (k, 2)."""
    grid = np.arange(steps + 1) / steps
    a, b = (each.ravel() for each in np.meshgrid(grid, grid))
    weights = np.column_stack([a, b, 1 - a - b])[a + b <= 1 + 1e-9]
    return np.asarray(np.einsum("kc,ncd->nkd", weights, triangles).reshape(-1, 2))


def _hidden(box: tuple[float, float, float, float], drawn: Array) -> int:
    """How much of what is drawn lies under a box, in quarters of the box; at most four."""
    x, y, w, h = box
    inside = (drawn[:, 0] > x) & (drawn[:, 0] < x + w) & (drawn[:, 1] > y - h) & (drawn[:, 1] < y)
    covered = {(int(a), int(b)) for a, b in (drawn[inside] - (x, y - h)) // 5.0}
    return min(4, round(100.0 * len(covered) / (w * h)))


def _around(r: float, w: float, h: float) -> list[tuple[float, float]]:
    """Places of the left lower corner of a label around a disc, the handiest first."""
    s = 0.72 * r
    return [
        *((s, -s), (s, s + 0.75 * h), (-s - w, -s), (-s - w, s + 0.75 * h)),
        *((r, 0.35 * h), (-r - w, 0.35 * h), (-0.5 * w, -r), (-0.5 * w, r + 0.8 * h)),
    ]


def _covers(
    box: tuple[float, float, float, float], boxes: Sequence[tuple[float, float, float, float]]
) -> bool:
    x, y, w, h = box
    return any(
        x < bx + bw and bx < x + w and y - h < by and by - bh < y for bx, by, bw, bh in boxes
    )


def _touches(box: tuple[float, float, float, float], disc: tuple[float, float, float]) -> bool:
    (x, y, w, h), (a, b, r) = box, disc
    return bool(np.hypot(np.clip(a, x, x + w) - a, np.clip(b, y - h, y) - b) < r)
