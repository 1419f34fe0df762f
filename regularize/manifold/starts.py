"""Starting points of projections, and the best of what they come to."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie.screw import Array
from regularize.manifold.gaps import CLOSED
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask, Projected, moved


def perturbed(
    loops: LoopKinematics, q: Array, movable: Mask, scales: ArrayLike, rng: np.random.Generator
) -> Array:
    """A configuration (n,) moved at random, once for every scale, shape (k, n).

    Scales are standard deviations in radians and in sizes of the mechanism.
    """
    scales = np.asarray(scales, dtype=np.float64)
    steps = rng.normal(size=(len(scales), loops.freedoms)) * scales[:, None] * movable
    return moved(loops, np.repeat(q[None], len(scales), axis=0), steps)


def first_closed(found: Projected) -> int:
    """Index of the first configuration that is closed, else of the one with the least error."""
    closed = found.error <= CLOSED
    return int(np.argmax(closed) if closed.any() else np.argmin(found.error))
