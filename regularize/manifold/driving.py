"""Coordinates that are driven along straight lines, while the others follow from the loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.continuation import Continuation
from regularize.manifold.projection import Mask


@dataclass(frozen=True, eq=False)
class Arrived:
    """Configurations at the end of straight ways of some coordinates.

    Attributes:
        q: The last configurations on the ways, shape (N, n).
        reached: Whether the way was followed to its end, shape (N,).
    """

    q: Array
    reached: Mask


def drive(
    continuation: Continuation,
    q: Array,
    columns: Sequence[int],
    target: Array,
    *,
    stride: float = 0.25,
    shortest: float = 1e-7,
) -> Arrived:
    """Move some coordinates along straight lines to given values, as far as the loops follow.

    Args:
        continuation: What is followed.
        q: Configurations on the manifold, shape (N, n).
        columns: The coordinates that are driven.
        target: Their values at the end, shape (N, columns).
        stride: Largest change of a driven coordinate per step, in radians or lengths.
        shortest: Steps shorter than this, in the same units, end a way: it has come to a
            singularity, or to where the loops cannot be closed any more.
    """
    q, columns = np.array(q, dtype=np.float64), list(columns)
    units = continuation.constraints.units[columns]
    origin = q[:, columns]
    size = np.max(np.abs(target - origin) / units, axis=1, initial=0.0)
    step = np.minimum(1.0, stride / np.maximum(size, stride))
    least = np.minimum(1.0, shortest / np.maximum(size, shortest))
    done, active = np.zeros(len(q)), np.arange(len(q))
    while len(active):
        fraction = np.minimum(1.0, done[active] + step[active])
        goal = origin[active] + fraction[:, None] * (target - origin)[active]
        goal[fraction == 1.0] = target[active[fraction == 1.0]]
        reached = continuation.driven(q[active], columns, goal)
        good = reached.good
        q[active[good]], done[active[good]] = reached.q[good], fraction[good]
        step[active] *= np.where(good, np.where(reached.easy, 2.0, 1.0), 0.5)
        active = active[(done[active] < 1.0) & (step[active] >= least[active])]
    return Arrived(q, done >= 1.0)
