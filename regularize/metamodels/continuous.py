"""Continuous metamodels: tensor-product splines and radial basis functions, through scipy.

The text names both as ways to avoid the small jumps at the sides of boxes, and for radial basis
functions the price: every evaluation touches many samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import NdBSpline, RBFInterpolator, make_interp_spline
from scipy.spatial import KDTree

from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.metamodels.growth import FIRST
from regularize.metamodels.interpolation import Interpolation
from regularize.metamodels.samples import Samples, Settings
from regularize.metamodels.tree import GRID, between

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
    function: Callable[[Array], Array]
    near: tuple[float, KDTree] | None

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


@dataclass(frozen=True, eq=False)
class _Scaled:
    """An interpolation of inputs in units of their span, as other processes find it too."""

    interpolator: RBFInterpolator
    lower: Array
    span: Array

    def __call__(self, theta: Array) -> Array:
        return np.asarray(self.interpolator((theta - self.lower) / self.span))


def _refined(
    settings: Settings, interpolate: Callable[[Samples, list[Array], Array], Continuous]
) -> Continuous:
    """The first interpolation that is good enough, or the last one that is affordable.

    Args:
        settings: What it is to be.
        interpolate: Makes an interpolation of all samples so far, the fractions of the bounds at
            which the grid's lines lie, and the coefficients on the grid, shape (..., t).
    """
    samples = Samples(settings)
    widths = (settings.upper - settings.lower) / settings.size
    intervals = np.maximum(FIRST, 2 ** np.ceil(np.log2(np.maximum(widths, 1.0)) - 1e-9))
    while True:
        axes = [np.linspace(0.0, 1.0, int(n) + 1) for n in intervals]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        values = samples.at(np.round(grid * GRID).astype(np.int64))
        result, _, _ = samples.checked(interpolate(samples, axes, values))
        if not result.findings or np.prod(2 * intervals + 1) > settings.max_samples:
            return result
        intervals = 2 * intervals


def splines(settings: Settings) -> Continuous:
    """Cubic tensor-product splines through the samples of a grid.

    Raises:
        ModelError: The bounds contain inputs that cannot be reached.
    """

    def interpolate(samples: Samples, axes: list[Array], values: Array) -> Continuous:
        if not np.isfinite(values).all():
            raise ModelError(
                "splines need bounds that can be reached everywhere, and these cannot: narrow "
                'them, or use kind="boxes" or kind="rbf"'
            )
        places = [
            between(low, high, axis)
            for low, high, axis in zip(settings.lower, settings.upper, axes, strict=True)
        ]
        weights, knots = values, []
        for d, place in enumerate(places):
            spline = make_interp_spline(place, weights, k=3, axis=d)
            knots.append(spline.t)
            weights = np.moveaxis(spline.c, 0, d)
        function = NdBSpline(tuple(knots), weights, 3)
        return Continuous(**samples.about(), kind="splines", function=function, near=None)

    return _refined(settings, interpolate)


def rbf(settings: Settings) -> Continuous:
    """Thin-plate splines of the nearest samples of a grid, where they can be reached."""

    def interpolate(samples: Samples, axes: list[Array], values: Array) -> Continuous:
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        rows = values.reshape(-1, values.shape[-1])
        known = np.isfinite(rows[:, 0])
        if known.sum() <= 1 + len(axes):
            raise ModelError("the bounds contain nothing that can be reached; choose others")
        places = grid[known]
        interpolator = RBFInterpolator(
            places, rows[known], neighbors=min(NEIGHBOURS, len(places)), kernel="cubic"
        )
        function = _Scaled(interpolator, settings.lower, settings.upper - settings.lower)
        radius = 0.5 * float(np.linalg.norm([axis[1] for axis in axes])) * (1 + 1e-9)
        near = radius, KDTree(places)
        return Continuous(**samples.about(), kind="rbf", function=function, near=near)

    return _refined(settings, interpolate)
