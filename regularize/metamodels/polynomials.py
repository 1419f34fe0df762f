"""Quadratic polynomials on the boxes of a bisection tree, and their evaluation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array
from regularize.manifold.batches import CHUNK
from regularize.metamodels.fit import basis
from regularize.metamodels.interpolation import Interpolation
from regularize.metamodels.tree import BoxTree, Integers

#: From this many states per box on, sorting them by box and multiplying box by box is quicker.
CROWD = 24


@dataclass(frozen=True, eq=False, repr=False)
class BoxPolynomials(Interpolation):
    r"""Quadratic polynomials on boxes.

    Attributes:
        tree: The boxes.
        constant: Coefficients at the boxes' centres, shape (boxes, t).
        weights: Weights of :math:`\Delta_i` and :math:`\Delta_i \Delta_j` (``basis``) in every
            coefficient, where Δ is the difference to the centre, shape (boxes, t, k - 1).
        estimated: Estimated relative error of every box, shape (boxes,).
    """

    tree: BoxTree
    constant: Array
    weights: Array
    estimated: Array

    @property
    def boxes(self) -> int:
        """Number of boxes."""
        return len(self.tree.center)

    @property
    def operations(self) -> int:
        """Floating-point operations of one evaluation of H, D and p, at most (eq. 32).

        One comparison per level of the tree, s differences, s (s + 1) / 2 products, and a
        multiplication and an addition per weight.
        """
        s = len(self.inputs)
        t = int(self.constant.shape[1])
        return self.tree.depth + s + s * (s + 1) // 2 + t * (s * s + 3 * s)

    def coefficients(self, theta: Array) -> Array:
        """Rows of coefficients at inputs (N, s), shape (N, t).

        Raises:
            OutsideWorkspace: Some inputs lie in no box.
        """
        theta = self._table(theta)
        box = self.tree.find(theta)
        lost = np.flatnonzero(box == self.boxes)
        if len(lost):
            raise self._outside(theta[lost[0]])
        if self._crowded(len(theta)):
            return self._by_box(theta, box)
        rows = np.zeros((len(theta), self.constant.shape[1]))
        for i in range(0, len(theta), CHUNK):
            here = box[i : i + CHUNK]
            u = basis(theta[i : i + CHUNK] - self.tree.center[here])
            linear = np.einsum("ntk,nk->nt", self.weights[here], u)
            rows[i : i + CHUNK] = self.constant[here] + linear
        return rows

    def chunk(self, count: int) -> int:
        """All states at once where they are sorted by box, else what fits into the cache."""
        return max(1, count) if self._crowded(count) else 2 * CHUNK

    def _crowded(self, count: int) -> bool:
        """Whether sorting so many states by box is worth while; never with few coefficients."""
        return count >= CROWD * self.boxes and self.constant.shape[1] > 8

    def _by_box(self, theta: Array, box: Integers) -> Array:
        """Many states per box: one matrix product per box."""
        order = np.argsort(box, kind="stable")
        ends = np.searchsorted(box[order], np.arange(self.boxes + 1))
        u = basis(theta[order] - self.tree.center[box[order]])
        rows = np.zeros((len(theta), self.constant.shape[1]))
        for b in np.flatnonzero(np.diff(ends)):
            part = slice(ends[b], ends[b + 1])
            rows[order[part]] = u[part] @ self.weights[b].T + self.constant[b]
        return rows

    def _covered(self, theta: Array) -> NDArray[np.bool_]:
        return np.asarray(self.tree.find(theta) < self.boxes)
