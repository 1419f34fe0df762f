r"""Quadratic polynomials on boxes: experimental design, least squares, error estimate.

In a box the polynomial has the basis :math:`1, x_i, x_i x_j` in coordinates that run from -1 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT
from regularize.metamodels.equation_of_motion import groups, pairs, products
from regularize.metamodels.tree import BoxTree, Integers


@lru_cache(maxsize=16)
def design(s: int) -> Integers:
    """Central composite design: centre, corners, centres of the sides; shape (points, s)."""
    stars = [sign * row for row in np.eye(s, dtype=int) for sign in (-1, 1)]
    corners = [np.array(corner) for corner in product((-1, 1), repeat=s)]
    points = np.array([np.zeros(s, dtype=int), *corners, *stars], dtype=np.int64)
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]


def basis(x: Array) -> Array:
    """The basis functions but the constant at points (..., s), shape (..., k - 1)."""
    return np.concatenate([x, products(x)], axis=-1)


@lru_cache(maxsize=16)
def _matrices(s: int) -> tuple[Array, Array]:
    """Basis at the design's points (points, k) and its pseudoinverse: one fits every box."""
    points = design(s).astype(np.float64)
    matrix = np.column_stack([np.ones(len(points)), basis(points)])
    return matrix, np.linalg.pinv(matrix)


def fit(values: Array, s: int) -> Array:
    """Least squares on every box: values at the design (L, points, t) to weights (L, k, t)."""
    return _matrices(s)[1] @ values


def misfit(values: Array, weights: Array, s: int) -> Array:
    """What the polynomials miss at their own samples, shape (L, points, t)."""
    return values - _matrices(s)[0] @ weights


def in_inputs(weights: Array, half: Array) -> Array:
    """The weights by differences of inputs to the box's centre instead of -1 to 1."""
    first, second = pairs(half.shape[1])
    scale = np.concatenate(
        [np.ones((len(half), 1)), half, half[:, first] * half[:, second]], axis=1
    )
    return np.asarray(weights / scale[..., None])


@dataclass(frozen=True)
class Scale:
    """Sizes that errors of H, D and p are compared with.

    The error of a group of coefficients at a point is the Euclidean norm of its errors over the
    norm of its values there, or over the group's median norm where the values are smaller.

    Attributes:
        median: Median norm of H, D and p over the workspace, by name.
    """

    median: dict[str, float]

    def relative(self, errors: Array, values: Array, s: int) -> Array:
        """Relative errors of H, D, p and C, shape (..., groups)."""
        parts = []
        for name, place in groups(s, values.shape[-1]).items():
            size = np.linalg.norm(values[..., place], axis=-1)
            missed = np.linalg.norm(errors[..., place], axis=-1)
            floor = self.median[name]
            parts.append(missed / np.maximum(size, floor if floor > 0.0 else np.inf))
        return np.stack(parts, axis=-1)


def scale_of(rows: Array, s: int, span: float) -> Scale:
    """Median norms of coefficients (N, t); ``span`` is the largest width of the workspace.

    D and p that are small against H, its changes and its accelerations are rounding errors.
    """
    median = {
        name: float(np.median(np.linalg.norm(rows[:, place], axis=1)))
        for name, place in groups(s, rows.shape[1]).items()
    }
    noise = EXACT.same * median["H"]
    median["D"] = max(median["D"], noise / span)
    median["p"] = max(median["p"], noise * span)
    return Scale(median)


def estimate(tree: BoxTree, weights: Array, values: Array, scale: Scale) -> Array:
    """Estimated relative error of every box by direction, shape (L, s); no samples needed.

    Third derivatives are the differences of second derivatives between neighbouring boxes. What
    the least squares show of mixed terms is added to the largest direction. A box without a
    neighbour has an infinite error. Of a cubic term x³ a quadratic fit misses x³ - x, which is at
    most 2 / 3^(3/2) on -1 to 1.

    Args:
        tree: The boxes.
        weights: Polynomials on -1 to 1, shape (L, k, t).
        values: Samples at the design, shape (L, points, t).
        scale: Sizes to compare with.
    """
    L, s = tree.center.shape
    squares = [1 + s + int(i) for i in np.flatnonzero(np.equal(*pairs(s)))]
    center_value = values[:, 0]
    result = np.zeros((L, s))
    for d in range(s):
        curvature = weights[:, squares[d]] / tree.half[:, [d]] ** 2
        alone = np.ones(L, dtype=bool)
        for side in (-1.0, 1.0):
            probe = tree.center.copy()
            probe[:, d] += side * tree.half[:, d] * (1.0 + 1e-6)
            other = tree.find(probe)
            known = other < L
            near = np.where(known, other, 0)
            distance = np.abs(tree.center[near, d] - tree.center[:, d])
            distance = np.where(known, distance, 1.0)[:, None]
            third = (curvature[near] - curvature) / distance / 3.0
            missed = 2.0 / 3.0**1.5 * third * tree.half[:, [d]] ** 3
            relative = scale.relative(missed, center_value, s)
            result[:, d] = np.maximum(result[:, d], np.where(known, relative.max(axis=1), 0.0))
            alone &= ~known
        result[alone, d] = np.inf
    mixed = scale.relative(misfit(values, weights, s), center_value[:, None], s).max(axis=(1, 2))
    result[np.arange(L), np.argmax(result, axis=1)] += mixed
    return result
