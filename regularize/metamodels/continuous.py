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
from regularize.metamodels.equation_of_motion import count
from regularize.metamodels.fit import scale_of
from regularize.metamodels.growth import Settings
from regularize.metamodels.interpolation import Accuracy, Interpolation, missed_tolerance
from regularize.metamodels.samples import Samples
from regularize.metamodels.tree import GRID, Growth

#: Intervals per direction of the first grid; doubled until the errors are small enough.
FIRST = 4
#: Samples that a radial basis function looks at for one evaluation.
NEIGHBOURS = 48


@dataclass(frozen=True, eq=False)
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


class _Refinement:
    """Doubles a grid until errors at random points are small enough."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.s = settings, len(settings.inputs)
        self.samples = Samples(
            settings.sampler,
            Growth(settings.lower, settings.upper).place,
            count(self.s),
            executor=settings.executor,
            progress=settings.progress,
        )
        widths = (settings.upper - settings.lower) / settings.size
        self.intervals = np.maximum(FIRST, 2 ** np.ceil(np.log2(np.maximum(widths, 1.0)) - 1e-9))

    def run(self, interpolate: Callable[[list[Array], Array], Continuous]) -> Continuous:
        """The first interpolation that is good enough, or the last one that is affordable."""
        settings = self.settings
        rng = np.random.default_rng(settings.seed)
        while True:
            axes = [np.linspace(0.0, 1.0, int(n) + 1) for n in self.intervals]
            grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
            values = self.samples.at(np.round(grid * GRID).astype(np.int64))
            result = interpolate(axes, values)
            theta = settings.random_points(rng)
            truth = self.samples.compute(theta)
            errors = result.relative_errors(theta, truth)
            missed = missed_tolerance(settings.inputs, theta, errors, settings.tolerance)
            result = result.checked(errors, truth, missed)
            if not missed or np.prod(2 * self.intervals + 1) > settings.max_samples:
                return result
            self.intervals = 2 * self.intervals


def _continuous(
    settings: Settings,
    rows: Array,
    kind: str,
    function: Callable[[Array], Array],
    near: tuple[float, KDTree] | None,
) -> Continuous:
    known = rows[np.isfinite(rows[:, 0])]
    return Continuous(
        inputs=settings.inputs,
        lower=settings.lower,
        upper=settings.upper,
        samples=len(known),
        scale=scale_of(known, len(settings.inputs), settings.span),
        accuracy=Accuracy(0, 0.0, {}, {}),
        findings=(),
        kind=kind,
        function=function,
        near=near,
    )


def splines(settings: Settings) -> Continuous:
    """Cubic tensor-product splines through the samples of a grid.

    Raises:
        ModelError: The bounds contain inputs that cannot be reached.
    """

    def interpolate(axes: list[Array], values: Array) -> Continuous:
        if not np.isfinite(values).all():
            raise ModelError(
                "splines need bounds that can be reached everywhere, and these cannot: narrow "
                'them, or use kind="boxes" or kind="rbf"'
            )
        places = [
            low + (high - low) * axis
            for low, high, axis in zip(settings.lower, settings.upper, axes, strict=True)
        ]
        weights, knots = values, []
        for d, place in enumerate(places):
            spline = make_interp_spline(place, weights, k=3, axis=d)
            knots.append(spline.t)
            weights = np.moveaxis(spline.c, 0, d)
        rows = values.reshape(-1, values.shape[-1])
        return _continuous(settings, rows, "splines", NdBSpline(tuple(knots), weights, 3), None)

    return _Refinement(settings).run(interpolate)


def rbf(settings: Settings) -> Continuous:
    """Thin-plate splines of the nearest samples of a grid, where they can be reached."""

    def interpolate(axes: list[Array], values: Array) -> Continuous:
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        rows = values.reshape(-1, values.shape[-1])
        known = np.isfinite(rows[:, 0])
        if known.sum() <= 1 + len(axes):
            raise ModelError("the bounds contain nothing that can be reached; choose others")
        places = grid[known]
        interpolator = RBFInterpolator(
            places, rows[known], neighbors=min(NEIGHBOURS, len(places)), kernel="cubic"
        )
        span = settings.upper - settings.lower

        def function(theta: Array) -> Array:
            return np.asarray(interpolator((theta - settings.lower) / span))

        radius = 0.5 * float(np.linalg.norm([axis[1] for axis in axes])) * (1 + 1e-9)
        return _continuous(settings, rows, "rbf", function, (radius, KDTree(places)))

    return _Refinement(settings).run(interpolate)
