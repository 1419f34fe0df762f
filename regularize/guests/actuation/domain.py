"""Boxes of motor values on which a map holds, their grid, and proved boxes as arrays of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array, read_only


@dataclass(frozen=True, eq=False)
class Domain:
    """Boxes of motor values on which a map is single-valued and regular.

    Attributes:
        lower: Lower corners, rad and m, shape (boxes, k).
        upper: Upper corners.
        proved: Whether intervals prove it; else it was followed numerically.
        bounds: Range that was looked at, shape (k, 2).
        inside: The same as a grid over this range, shape (2^depth, …).
    """

    lower: Array
    upper: Array
    proved: bool
    bounds: Array = field(repr=False)
    inside: NDArray[np.bool_] = field(repr=False)
    part: float = field(default=1.0, repr=False)  # of the motors' whole range, what was looked at

    def __repr__(self) -> str:
        how = "proved" if self.proved else "followed"
        return f"<Domain: {len(self.lower)} boxes, {100 * self.share:.4g} % of the range, {how}>"

    @property
    def share(self) -> float:
        """Which part of the range of the motors it covers."""
        return self.part * float(np.mean(self.inside))

    def contains(self, theta: Array) -> NDArray[np.bool_]:
        """Which motor values lie in it, (N, k) to (N,)."""
        n = self.inside.shape[0]
        low, width = self.bounds[:, 0], (self.bounds[:, 1] - self.bounds[:, 0]) / n
        with np.errstate(invalid="ignore"):
            place = np.floor((theta - low) / width)
            within = ((place >= 0) & (place < n)).all(axis=-1)
            cells = np.where(within[:, None], place, 0.0).astype(int)
        found = within & self.inside[tuple(cells.T)]
        left = np.flatnonzero(~found & np.isfinite(theta).all(axis=-1))
        for part in np.array_split(left, 1 + len(left) * len(self.lower) // 10**6):
            x = theta[part, None]  # on faces
            found[part] = ((x >= self.lower) & (x <= self.upper)).all(axis=-1).any(axis=-1)
        return np.asarray(found)

    def corners(self, most: int) -> Array:
        """Corners of the boxes, of the first ones where they are too many, shape (M, k)."""
        ends = np.stack([self.lower, self.upper], axis=1)[: max(1, most >> self.lower.shape[1])]
        k = self.lower.shape[1]
        ways = np.array([*product((0, 1), repeat=k)], dtype=int)
        return np.asarray(ends[:, ways, np.arange(k)]).reshape(-1, k)

    def samples(self, count: int, rng: np.random.Generator) -> Array:
        """Random motor values in it, uniform by volume, shape (count, k)."""
        cells = np.argwhere(self.inside)
        chosen = cells[rng.integers(len(cells), size=count)] + rng.uniform(size=(count, 1))
        chosen = chosen - chosen % 1 + rng.uniform(size=chosen.shape)
        low, high = self.bounds.T
        return np.asarray(low + (high - low) * chosen / self.inside.shape[0])


def merged(inside: NDArray[np.bool_], bounds: Array) -> tuple[Array, Array]:
    """A grid's cells as few boxes: lower and upper corners, shape (boxes, k)."""
    n, k = inside.shape[0], inside.ndim
    left, low, high = inside.copy(), [], []
    for cell in np.argwhere(inside):
        if not left[tuple(cell)]:
            continue
        end = cell + 1
        for axis in reversed(range(k)):
            while end[axis] < n:
                slab = [slice(a, b) for a, b in zip(cell, end, strict=True)]
                slab[axis] = slice(end[axis], end[axis] + 1)
                if not left[tuple(slab)].all():
                    break
                end[axis] += 1
        left[tuple(slice(a, b) for a, b in zip(cell, end, strict=True))] = False
        low.append(cell)
        high.append(end)
    origin, width = bounds[:, 0], (bounds[:, 1] - bounds[:, 0]) / n
    corners = [np.array(each).reshape(-1, k) for each in (low, high)]
    upper = np.where(corners[1] == n, bounds[:, 1], origin + width * corners[1])
    return read_only(origin + width * corners[0]), read_only(upper)


@dataclass(frozen=True, eq=False)
class Leaves:
    """Proved boxes as they were found."""

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
