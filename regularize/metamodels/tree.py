"""Boxes of a workspace on a bisection tree (Brüls 2003, section 4.3).

While the tree grows, places are whole numbers, ``GRID`` of them across the workspace in every
direction: points that boxes share are then equal, not nearly equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array, read_only

Integers = NDArray[np.int64]

#: Whole numbers across the workspace in each direction; boxes can be halved 29 times.
GRID = 2**30


def between(lower: Array, upper: Array, fraction: Array) -> Array:
    """Inputs at fractions of the way from the lower to the upper bounds, shape (..., s)."""
    return np.asarray(lower * (1.0 - fraction) + upper * fraction)


@dataclass(frozen=True, eq=False)
class BoxTree:
    """Which box a point lies in.

    Every inner node halves its box. A child that is not negative is an inner node; the child
    ``-1 - i`` is box i, and i equal to the number of boxes stands for what was left out.

    Attributes:
        lower: Lower bounds of the workspace, shape (s,).
        upper: Upper bounds, shape (s,).
        root: The topmost child.
        axis: Direction in which each inner node is halved, shape (nodes,).
        threshold: Where, shape (nodes,); points there belong to the upper half.
        children: Lower and upper half of each inner node, shape (nodes, 2).
        center: Centres of the boxes, shape (boxes, s).
        half: Half of their widths, shape (boxes, s).
    """

    lower: Array
    upper: Array
    root: int
    axis: Integers
    threshold: Array
    children: Integers
    center: Array
    half: Array

    @property
    def depth(self) -> int:
        """Largest number of comparisons on the way to a box."""
        deepest, level = 0, [self.root] if self.root >= 0 else []
        while level:
            deepest += 1
            level = [int(c) for node in level for c in self.children[node] if c >= 0]
        return deepest

    def find(self, theta: Array) -> Integers:
        """Index of the box of each point (N, s), the number of boxes where there is none, (N,)."""
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
        """Boxes of points by comparisons from the root, shape (N,)."""
        node = np.full(len(theta), self.root, dtype=np.int64)
        active = np.flatnonzero(node >= 0)
        while len(active):
            here = node[active]
            above = theta[active, self.axis[here]] >= self.threshold[here]
            node[active] = self.children[here, above.astype(np.int64)]
            active = active[node[active] >= 0]
        return -1 - node


@dataclass(eq=False)
class Growth:
    """A tree while it grows: leaves are halved or dropped, many at once.

    Attributes:
        lower: Lower bounds of the workspace, shape (s,).
        upper: Upper bounds, shape (s,).
        center: Centres of all nodes in whole numbers, shape (nodes, s).
        half: Half widths in whole numbers, shape (nodes, s).
        axis: Direction of each bisection, -1 for leaves, shape (nodes,).
        child: Node of the lower half; the upper half follows it; -1 for leaves, shape (nodes,).
        dropped: Leaves that are left out, shape (nodes,).
    """

    lower: Array
    upper: Array
    center: Integers = field(init=False)
    half: Integers = field(init=False)
    axis: Integers = field(init=False)
    child: Integers = field(init=False)
    dropped: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        """Start with one box."""
        s = len(self.lower)
        self.center = np.full((1, s), GRID // 2, dtype=np.int64)
        self.half = np.full((1, s), GRID // 2, dtype=np.int64)
        self.axis, self.child = np.array([-1]), np.array([-1])
        self.dropped = np.array([False])

    @property
    def leaves(self) -> Integers:
        """Nodes that are boxes, in the order of the finished tree's boxes."""
        return np.flatnonzero((self.axis < 0) & ~self.dropped)

    def width(self, nodes: Integers) -> Array:
        """Widths of nodes as fractions of the workspace, shape (k, s)."""
        return np.asarray(2.0 * self.half[nodes] / GRID)

    def place(self, points: Integers) -> Array:
        """Inputs at points in whole numbers, shape (..., s)."""
        return between(self.lower, self.upper, points / GRID)

    def halve(self, nodes: Integers, axes: Integers) -> None:
        """Bisect each leaf in its direction."""
        k = len(nodes)
        center, half = (
            np.repeat(self.center[nodes], 2, axis=0),
            np.repeat(self.half[nodes], 2, axis=0),
        )
        rows, columns = np.arange(2 * k), np.repeat(axes, 2)
        half[rows, columns] //= 2
        center[rows, columns] += np.tile([-1, 1], k) * half[rows, columns]
        self.axis[nodes], self.child[nodes] = axes, len(self.axis) + 2 * np.arange(k)
        self.center, self.half = np.vstack([self.center, center]), np.vstack([self.half, half])
        leaf = np.full(2 * k, -1)
        self.axis, self.child = (
            np.concatenate([self.axis, leaf]),
            np.concatenate([self.child, leaf]),
        )
        self.dropped = np.concatenate([self.dropped, np.zeros(2 * k, dtype=bool)])

    def finished(self) -> BoxTree:
        """The tree as it stands."""
        leaves, inner = self.leaves, np.flatnonzero(self.axis >= 0)
        code = np.full(len(self.axis), -1 - len(leaves))
        code[leaves] = -1 - np.arange(len(leaves))
        code[inner] = np.arange(len(inner))
        middle = self.place(self.center[inner])
        lower = self.place(self.center[leaves] - self.half[leaves])
        upper = self.place(self.center[leaves] + self.half[leaves])
        first = self.child[inner]
        return BoxTree(
            lower=read_only(self.lower),
            upper=read_only(self.upper),
            root=int(code[0]),
            axis=self.axis[inner].astype(np.int64),
            threshold=read_only(middle[np.arange(len(inner)), self.axis[inner]]),
            children=np.stack([code[first], code[first + 1]], axis=1).astype(np.int64)
            if len(inner)
            else np.zeros((0, 2), dtype=np.int64),
            center=read_only(0.5 * (lower + upper)),
            half=read_only(0.5 * (upper - lower)),
        )
