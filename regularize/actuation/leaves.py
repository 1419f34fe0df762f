"""Proved boxes of motor values, as many at once as there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array


@dataclass(frozen=True, eq=False)
class Leaves:
    """Proved boxes as they were found.

    Attributes:
        corner: First cell of each on the finest grid, shape (L, k).
        size: How many cells it is wide, shape (L,).
        z: Parameters in its middle, shape (L, n).
        rates: Derivatives of the parameters by the motors there, shape (L, n, k).
        low: Lower corner of its box of parameters, shape (L, n).
        high: Upper corner.
    """

    corner: NDArray[np.intp]
    size: NDArray[np.intp]
    z: Array
    rates: Array
    low: Array
    high: Array


def arrays_of(leaves: Leaves) -> Sequence[Array]:
    """Parameters, rates, and corners of the boxes of parameters."""
    return leaves.z, leaves.rates, leaves.low, leaves.high


def taken(leaves: Leaves, which: NDArray[np.intp] | NDArray[np.bool_]) -> Leaves:
    """Some of the boxes."""
    return Leaves(leaves.corner[which], leaves.size[which], *(a[which] for a in arrays_of(leaves)))


def joined(leaves: Sequence[Leaves], k: int, n: int) -> Leaves:
    """All boxes as one list, for k motors and n parameters."""
    if not leaves:
        none, nothing = np.zeros((0, n)), np.zeros((0, k), dtype=int)
        return Leaves(nothing, nothing[:, 0], none, np.zeros((0, n, k)), none, none)
    parts = zip(*((x.corner, x.size, *arrays_of(x)) for x in leaves), strict=True)
    return Leaves(*(np.concatenate(part) for part in parts))
