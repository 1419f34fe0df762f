r"""Boxes of a workspace on a bisection tree, and quadratic polynomials on them (Brüls 2003).

While the tree grows, places are whole numbers, ``GRID`` of them across the workspace in every
direction: points that boxes share are then equal, not nearly equal. In a box the polynomial has the
basis :math:`1, x_i, x_i x_j` in coordinates that run from -1 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from regularize.guests.design.equation_of_motion import Scale, pairs, products
from regularize.lie.arrays import Array, read_only
from regularize.tolerances import EXACT

Integers = NDArray[np.int64]

#: Widths that exceed others by less than this factor do so by rounding.
WIDER = 1.0 + 1e-9
#: Whole numbers across the workspace in each direction; boxes can be halved 29 times.
GRID = 2**30


def between(lower: Array, upper: Array, fraction: Array) -> Array:
    """Return inputs at fractions of the way from the lower to the upper bounds."""
    return np.asarray(lower * (1.0 - fraction) + upper * fraction)


@dataclass(frozen=True, eq=False)
class BoxTree:
    """A bisection tree that tells which box of a workspace of s inputs a point lies in."""

    lower: Array  # bounds of the workspace, shape (s,)
    upper: Array
    root: int  # the topmost child
    axis: Integers  # direction in which each inner node is halved
    threshold: Array  # where; points there belong to the upper half
    #: Inner nodes from 0 on; -1 - i is box i, and i equal to their number what was left out.
    children: Integers  # lower and upper half of each inner node, shape (nodes, 2)
    center: Array  # centres of the boxes, shape (boxes, s)
    half: Array  # half of their widths, shape (boxes, s)

    @property
    def depth(self) -> int:
        """Largest number of comparisons on the way to a box."""
        deepest, level = 0, [self.root] if self.root >= 0 else []
        while level:
            deepest += 1
            level = [int(c) for node in level for c in self.children[node] if c >= 0]
        return deepest

    def find(self, theta: Array) -> Integers:
        """Return the box of each point (N, s), the number of boxes where there is none."""
        outside = np.any((theta < self.lower) | (theta > self.upper) | np.isnan(theta), axis=1)
        if len(self.lower) == 1:
            sides, boxes = self._line
            inside = boxes[np.searchsorted(sides, theta[:, 0], side="right")]
        else:
            inside = self._descend(theta)
        return np.where(outside, len(self.center), inside)

    @cached_property
    def _line(self) -> tuple[Array, Integers]:
        """Of a single input: the sides of the boxes in order, and the boxes between them."""
        sides = np.sort(self.threshold)
        ends = np.concatenate([self.lower, sides, self.upper])
        return sides, self._descend(0.5 * (ends[:-1] + ends[1:])[:, None])

    def _descend(self, theta: Array) -> Integers:
        """Find the boxes of points by comparisons from the root."""
        node = np.full(len(theta), self.root, dtype=np.int64)
        active = np.flatnonzero(node >= 0)
        while len(active):
            here = node[active]
            above = theta[active, self.axis[here]] >= self.threshold[here]
            node[active] = self.children[here, above.astype(np.int64)]
            active = active[node[active] >= 0]
        return -1 - node


class Growth:
    """A tree while it grows: leaves are halved or dropped, many at once."""

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        #: Centres and half widths of all nodes in whole numbers, shape (nodes, s).
        self.center = np.full((1, len(lower)), GRID // 2, dtype=np.int64)
        self.half = self.center.copy()
        #: Direction of each bisection, and node of the lower half, which the upper half follows;
        #: -1 for leaves.
        self.axis = self.child = np.array([-1])
        self.dropped = np.array([False])

    @property
    def leaves(self) -> Integers:
        """Nodes that are boxes, in the order of the finished tree's boxes."""
        return np.flatnonzero((self.axis < 0) & ~self.dropped)

    def width(self, nodes: Integers) -> Array:
        """Return widths of nodes as fractions of the workspace, shape (k, s)."""
        return np.asarray(2.0 * self.half[nodes] / GRID)

    def halve(self, nodes: Integers, axes: Integers) -> None:
        """Bisect each leaf in its direction."""
        k, count = len(nodes), len(self.axis)
        center, half = (np.repeat(x[nodes], 2, axis=0) for x in (self.center, self.half))
        rows, columns = np.arange(2 * k), np.repeat(axes, 2)
        half[rows, columns] //= 2
        center[rows, columns] += np.tile([-1, 1], k) * half[rows, columns]
        self.center, self.half = np.vstack([self.center, center]), np.vstack([self.half, half])
        self.axis, self.child = (np.append(x, np.full(2 * k, -1)) for x in (self.axis, self.child))
        self.axis[nodes], self.child[nodes] = axes, count + 2 * np.arange(k)
        self.dropped = np.append(self.dropped, np.zeros(2 * k, dtype=bool))

    def finished(self) -> BoxTree:
        """Return the tree grown so far as a ``BoxTree``."""
        leaves, inner = self.leaves, np.flatnonzero(self.axis >= 0)
        code = np.full(len(self.axis), -1 - len(leaves))
        code[leaves] = -1 - np.arange(len(leaves))
        code[inner] = np.arange(len(inner))
        center, half = self.center[leaves], self.half[leaves]
        middle, lower, upper = (
            between(self.lower, self.upper, points / GRID)
            for points in (self.center[inner], center - half, center + half)
        )
        children = self.child[inner, None] + np.arange(2)
        return BoxTree(
            lower=read_only(self.lower),
            upper=read_only(self.upper),
            root=int(code[0]),
            axis=self.axis[inner].astype(np.int64),
            threshold=read_only(middle[np.arange(len(inner)), self.axis[inner]]),
            children=code[children],
            center=read_only(0.5 * (lower + upper)),
            half=read_only(0.5 * (upper - lower)),
        )


@lru_cache(maxsize=16)
def design(s: int) -> Integers:
    """Return the central composite design: centre, corners, centres of the sides, (points, s)."""
    stars = [sign * row for row in np.eye(s, dtype=int) for sign in (-1, 1)]
    corners = [np.array(corner) for corner in product((-1, 1), repeat=s)]
    points = np.array([np.zeros(s, dtype=int), *corners, *stars], dtype=np.int64)
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]


def basis(x: Array) -> Array:
    """Return the k - 1 basis functions, without the constant, at points (..., s)."""
    return np.concatenate([x, products(x)], axis=-1)


@lru_cache(maxsize=16)
def _matrices(s: int) -> tuple[Array, Array]:
    """Return the basis at the design's points (points, k) and its pseudoinverse, for every box."""
    points = design(s).astype(np.float64)
    matrix = np.column_stack([np.ones(len(points)), basis(points)])
    return matrix, np.linalg.pinv(matrix)


def fit(values: Array, s: int) -> Array:
    """Fit weights (L, k, t) by least squares to values at the design of L boxes (L, points, t)."""
    return _matrices(s)[1] @ values


def in_inputs(weights: Array, half: Array) -> Array:
    """Convert weights from coordinates that run from -1 to 1 to differences from the centre."""
    scale = np.column_stack([np.ones(len(half)), basis(half)])
    return np.asarray(weights / scale[..., None])


def estimate(tree: BoxTree, weights: Array, values: Array, scale: Scale) -> Array:
    """Estimate the relative error of every box by direction, shape (L, s), without new samples."""
    L, s = tree.center.shape
    squares = [1 + s + int(i) for i in np.flatnonzero(np.equal(*pairs(s)))]
    center_value = values[:, 0]
    result = np.zeros((L, s))
    # Third derivatives are differences of second ones between neighbours: without any, infinite.
    for d in range(s):
        curvature = weights[:, squares[d]] / tree.half[:, [d]] ** 2
        alone = np.ones(L, dtype=bool)
        for side in (-1.0, 1.0):
            probe = tree.center.copy()
            probe[:, d] += side * tree.half[:, d] * (1.0 + EXACT.same)
            other = tree.find(probe)
            known = other < L
            near = np.where(known, other, 0)
            distance = np.abs(tree.center[near, d] - tree.center[:, d])
            distance = np.where(known, distance, 1.0)[:, None]
            third = (curvature[near] - curvature) / distance / 3.0
            # Of a cubic term x³ a quadratic fit misses x³ - x: at most 2 / 3^(3/2) on -1 to 1.
            missed = 2.0 / 3.0**1.5 * third * tree.half[:, [d]] ** 3
            relative = scale.relative(missed, center_value, s)
            result[:, d] = np.maximum(result[:, d], np.where(known, relative.max(axis=1), 0.0))
            alone &= ~known
        result[alone, d] = np.inf
    # What the least squares show of mixed terms is added to the largest direction.
    missed = values - _matrices(s)[0] @ weights
    mixed = scale.relative(missed, center_value[:, None], s).max(axis=(1, 2))
    result[np.arange(L), np.argmax(result, axis=1)] += mixed
    return result
