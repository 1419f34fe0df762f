"""Bounds of formulas over boxes, and what they say of matrices of derivatives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.actuation.affine_forms import AffineForm, evaluated
from regularize.lie.screw import Array
from regularize.modes.closed_form.elementary import Line
from regularize.tolerances import NEGLIGIBLE, ROUNDING, VANISHING


def inverses(matrices: Array) -> Array:
    """Inverses, NaN of singular matrices."""
    finite = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    safe = np.where(finite[:, None, None], matrices, np.eye(matrices.shape[1]))
    singular = np.asarray(np.abs(np.linalg.det(safe)) <= 1e-300)
    safe[singular] = np.eye(matrices.shape[1])
    result = np.linalg.inv(safe)
    result[singular | ~finite] = np.nan
    return np.asarray(result)


def bounds_of(
    lines: Sequence[Line], names: Sequence[str], z: Array, radius: Array
) -> tuple[Array, Array]:
    """Lower and upper bounds of lines over boxes with some middles and half widths, (N, lines)."""
    given = dict(zip(names, AffineForm.variables(z, radius), strict=True))
    found = evaluated(lines, given)
    return np.stack([x.low for x in found], -1), np.stack([x.high for x in found], -1)


def contracted(Y: Array, rates: tuple[Array, Array]) -> Array:
    """Bound of the entries of 1 - Y R for derivatives R within bounds, shape (N, k, k)."""
    middle, radius = 0.5 * (rates[0] + rates[1]), 0.5 * (rates[1] - rates[0])
    bound = np.abs(np.eye(Y.shape[1]) - Y @ middle) + np.abs(Y) @ radius
    return np.asarray(bound * (1.0 + ROUNDING) + ROUNDING * (1.0 + np.abs(Y) @ np.abs(middle)))


def regular(Y: Array, rates: tuple[Array, Array]) -> NDArray[np.bool_]:
    """Whether all derivatives within bounds are regular: 1 - Y R has a spectral radius below 1."""
    bound = np.nan_to_num(contracted(Y, rates), nan=2.0, posinf=2.0)
    weights = np.ones((len(Y), Y.shape[1]))
    for _ in range(4):  # any positive weights give a bound; these tend to the best
        weights = np.einsum("nij,nj->ni", bound, weights) + VANISHING
        weights /= weights.max(axis=1, keepdims=True)
    ratio = np.einsum("nij,nj->ni", bound, weights) / weights
    return np.asarray((ratio < 1.0 - NEGLIGIBLE).all(axis=1))
