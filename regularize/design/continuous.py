"""Continuous metamodels: tensor-product splines and radial basis functions, through scipy.

The text names both as ways to avoid the small jumps at the sides of boxes, and for radial basis
functions the price: every evaluation touches many samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import NdBSpline, RBFInterpolator, make_interp_spline
from scipy.spatial import KDTree

from regularize.design.growth import FIRST, Samples, Settings
from regularize.design.interpolation import Interpolation
from regularize.design.tree import GRID, WIDER, between
from regularize.errors import ModelError
from regularize.lie.screw import Array

Function: TypeAlias = Callable[[Array], Array]
Near: TypeAlias = tuple[float, KDTree] | None

#: Samples that a radial basis function looks at for one evaluation: two layers in three directions.
NEIGHBOURS = 48


@dataclass(frozen=True, eq=False, repr=False)
class Continuous(Interpolation):
    """A metamodel without jumps.

    Attributes:
        kind: ``splines`` or ``rbf``.
        function: Rows of coefficients at inputs (N, s), shape (N, t).
        near: Largest distance to the next sample at which it answers, scaled by the bounds, and
            the samples' places; None where it answers everywhere inside the bounds.
    """

    kind: str
    function: Function
    near: Near

    def coefficients(self, theta: Array) -> Array:
        """Rows of coefficients at inputs (N, s), shape (N, t).

        Raises:
            OutsideWorkspace: Some inputs lie outside the bounds, or far from every sample.
        """
        theta = self._table(theta)
        covered = self._covered(theta)
        if not covered.all():
            raise self._outside(theta[int(np.argmin(covered))])
        return np.asarray(self.function(theta))

    def _covered(self, theta: Array) -> NDArray[np.bool_]:
        covered = super()._covered(theta)
        if self.near is not None:
            radius, samples = self.near
            distance, _ = samples.query((theta - self.lower) / (self.upper - self.lower))
            covered &= distance <= radius
        return covered


def _scaled(interpolator: RBFInterpolator, lower: Array, span: Array, theta: Array) -> Array:
    return np.asarray(interpolator((theta - lower) / span))


def continuous(settings: Settings, kind: str) -> Continuous:
    """The first interpolation of a grid that is good enough, or the last one that is affordable.

    The kind is ``splines``: cubic tensor-product splines, or ``rbf``: thin-plate splines of the
    nearest samples, where they can be reached.

    Raises:
        ModelError: The bounds contain inputs that splines cannot reach, or hardly any others.
    """
    samples, interpolate = Samples(settings), {"splines": _splines, "rbf": _rbf}[kind]
    widths = (settings.upper - settings.lower) / settings.size
    intervals = np.maximum(FIRST, 2 ** np.ceil(np.log2(np.maximum(widths / WIDER, 1.0))))
    while True:
        axes = [np.linspace(0.0, 1.0, int(n) + 1) for n in intervals]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        values = samples.at(np.round(grid * GRID).astype(np.int64))
        function, near = interpolate(settings, axes, values)
        made = Continuous(**samples.about(), kind=kind, function=function, near=near)
        result, _, _ = samples.checked(made)
        if not result.findings or np.prod(2 * intervals + 1) > settings.max_samples:
            return result
        intervals = 2 * intervals


def _splines(settings: Settings, axes: list[Array], values: Array) -> tuple[Function, Near]:
    """Cubic tensor-product splines through the coefficients on a grid, shape (..., t)."""
    if not np.isfinite(values).all():
        raise ModelError(
            "splines need bounds that can be reached everywhere, and these cannot: narrow "
            'them, or use kind="boxes" or kind="rbf"'
        )
    weights, knots = values, []
    for d, axis in enumerate(axes):
        place = between(settings.lower[d], settings.upper[d], axis)
        spline = make_interp_spline(place, weights, k=3, axis=d)
        knots.append(spline.t)
        weights = np.moveaxis(spline.c, 0, d)
    return NdBSpline(tuple(knots), weights, 3), None


def _rbf(settings: Settings, axes: list[Array], values: Array) -> tuple[Function, Near]:
    """Thin-plate splines through the coefficients on a grid that are known."""
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    rows = values.reshape(-1, values.shape[-1])
    known = np.isfinite(rows[:, 0])
    if known.sum() <= 1 + len(axes):
        raise ModelError("the bounds contain nothing that can be reached; choose others")
    places = grid[known]
    interpolator = RBFInterpolator(
        places, rows[known], neighbors=min(NEIGHBOURS, len(places)), kernel="cubic"
    )
    radius = 0.5 * float(np.linalg.norm([axis[1] for axis in axes])) * WIDER
    function = partial(_scaled, interpolator, settings.lower, settings.upper - settings.lower)
    return function, (radius, KDTree(places))
