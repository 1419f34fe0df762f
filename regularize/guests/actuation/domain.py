"""Boxes of motor values on which a map holds, their grid, and proved boxes as arrays of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from regularize.lie.arrays import Array, Indices, Mask, read_only


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
    inside: Mask = field(repr=False)
    part: float = field(default=1.0, repr=False)  # of the motors' whole range, what was looked at

    def __repr__(self) -> str:
        how = "proved" if self.proved else "followed"
        return f"<Domain: {len(self.lower)} boxes, {100 * self.share:.4g} % of the range, {how}>"

    @property
    def share(self) -> float:
        """Part of the motors' range that it covers."""
        return self.part * float(np.mean(self.inside))

    def contains(self, theta: Array) -> Mask:
        """Return which motor values (N, k) lie in it, (N,)."""
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
        """Return corners of the boxes, of the first ones where there are too many, shape (M, k)."""
        ends = np.stack([self.lower, self.upper], axis=1)[: max(1, most >> self.lower.shape[1])]
        k = self.lower.shape[1]
        ways = np.array([*product((0, 1), repeat=k)], dtype=int)
        return np.asarray(ends[:, ways, np.arange(k)]).reshape(-1, k)

    def samples(self, count: int, rng: np.random.Generator) -> Array:
        """Return random motor values in it, uniform by volume, shape (count, k)."""
        cells = np.argwhere(self.inside)
        chosen = cells[rng.integers(len(cells), size=count)] + rng.uniform(size=(count, 1))
        chosen = chosen - chosen % 1 + rng.uniform(size=chosen.shape)
        low, high = self.bounds.T
        return np.asarray(low + (high - low) * chosen / self.inside.shape[0])


def merged(inside: Mask, bounds: Array) -> tuple[Array, Array]:
    """Return cells of a grid as few boxes: lower and upper corners, shape (boxes, k)."""
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


class ProvedBoxes(NamedTuple):
    """Boxes of motor values in the order in which they were found, each with its parameters.

    A box of parameters holds one solution for each motor value of its box.
    """

    corner: Indices  # first cell of each on the finest grid, shape (L, k)
    size: Indices  # how many cells each is wide, shape (L,)
    z: Array  # parameters in the middles, shape (L, n)
    rates: Array  # derivatives of the parameters by the motors there, shape (L, n, k)
    low: Array  # lower corners of the boxes of parameters, shape (L, n)
    high: Array  # upper corners

    def chosen(self, which: Indices | Mask) -> ProvedBoxes:
        """Return some of the boxes."""
        return ProvedBoxes._make(a[which] for a in self)


def joined(boxes: Sequence[ProvedBoxes], k: int, n: int) -> ProvedBoxes:
    """Return all boxes as one list, for k motors and n parameters."""
    none, nothing = np.zeros((0, n)), np.zeros((0, k), dtype=np.intp)
    empty = ProvedBoxes(nothing, nothing[:, 0], none, np.zeros((0, n, k)), none, none)
    return ProvedBoxes._make(np.concatenate(x) for x in zip(empty, *boxes, strict=True))
