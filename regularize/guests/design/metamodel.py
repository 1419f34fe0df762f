"""Metamodels: the reduced model interpolated over the workspace, fast enough for control.

Piecewise quadratic polynomials on a bisection tree (Brüls 2003, section 4), or a continuous
interpolation by tensor-product splines or radial basis functions, through scipy. The text names
both as ways to avoid the small jumps at the sides of boxes, and for radial basis functions the
price: every evaluation touches many samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, overload

import numpy as np
from scipy.interpolate import NdBSpline, RBFInterpolator, make_interp_spline
from scipy.spatial import KDTree

from regularize.errors import ModelError
from regularize.guests.design.actuator_dynamics import ReducedModel
from regularize.guests.design.boxes import Metamodel as Metamodel
from regularize.guests.design.equation_of_motion import Interpolation
from regularize.guests.design.growth import FIRST, Bounds, Builder, Inside, Samples
from regularize.guests.design.reduced_dynamics import reduced_model
from regularize.guests.design.tree import GRID, WIDER, between
from regularize.lie.arrays import Array, Mask
from regularize.mechanism.mechanism import Model

if TYPE_CHECKING:
    from typing_extensions import Unpack


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

    def _covered(self, theta: Array) -> Mask:
        covered = super()._covered(theta)
        if self.near is not None:
            radius, samples = self.near
            distance, _ = samples.query((theta - self.lower) / (self.upper - self.lower))
            covered &= distance <= radius
        return covered


def _scaled(interpolator: RBFInterpolator, lower: Array, span: Array, theta: Array) -> Array:
    """Evaluate an interpolator of inputs that are scaled by the bounds."""
    return np.asarray(interpolator((theta - lower) / span))


def continuous(samples: Samples, kind: Kind) -> Continuous:
    """Refine a grid until its interpolation is good enough, or no finer one is affordable."""
    interpolate, most = _splines if kind == "splines" else _rbf, samples.max_samples
    intervals = np.maximum(FIRST, 2 ** np.ceil(np.log2(np.maximum(1 / samples.size / WIDER, 1))))
    if np.prod(intervals + 1) > most:
        raise ModelError(
            f"a grid over the bounds takes {np.prod(intervals + 1):.3g} samples, more than "
            f"max_samples={most}: ask for a larger size=, or allow more"
        )
    while True:
        axes = [np.linspace(0.0, 1.0, int(n) + 1) for n in intervals]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        values = samples.at(np.round(grid * GRID).astype(np.int64))
        function, near = interpolate(samples.lower, samples.upper, axes, values)
        made = Continuous(**samples.about(), kind=kind, function=function, near=near)
        result, _, _ = samples.checked(made)
        if not result.findings or np.prod(2 * intervals + 1) > most:
            return result
        intervals = 2 * intervals


def _splines(lower: Array, upper: Array, axes: list[Array], values: Array) -> tuple[Function, Near]:
    """Make cubic tensor-product splines through the coefficients on a grid, shape (..., t)."""
    if not np.isfinite(values).all():
        raise ModelError(
            "splines need bounds that can be reached everywhere, and these cannot: narrow "
            'them, or use kind="boxes" or kind="rbf"'
        )
    weights, knots = values, []
    for d, axis in enumerate(axes):
        spline = make_interp_spline(between(lower[d], upper[d], axis), weights, k=3, axis=d)
        knots.append(spline.t)
        weights = np.moveaxis(spline.c, 0, d)
    return NdBSpline(tuple(knots), weights, 3), None


def _rbf(lower: Array, upper: Array, axes: list[Array], values: Array) -> tuple[Function, Near]:
    """Make cubic radial basis functions through the coefficients on a grid that are known."""
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    rows = values.reshape(-1, values.shape[-1])
    known = np.isfinite(rows[:, 0])
    if known.sum() <= 1 + len(axes):
        raise ModelError("the bounds contain nothing that can be reached; choose others")
    places = grid[known]
    neighbors = min(NEIGHBOURS, len(places))
    interpolator = RBFInterpolator(places, rows[known], neighbors=neighbors, kernel="cubic")
    radius = 0.5 * float(np.linalg.norm([axis[1] for axis in axes])) * WIDER
    return partial(_scaled, interpolator, lower, upper - lower), (radius, KDTree(places))


Kind: TypeAlias = Literal["boxes", "splines", "rbf"]


class Options(TypedDict, total=False):
    """Options of ``metamodel`` for all kinds."""

    tolerance: float | None
    size: float | Sequence[float] | None
    smallest: float
    clearance: float
    inside: Inside | None
    max_samples: int
    held_out: int
    seed: int
    executor: Executor | None
    progress: bool


@overload
def metamodel(
    model: Model | ReducedModel,
    bounds: Bounds,
    *,
    kind: Literal["boxes"] = "boxes",
    **options: Unpack[Options],
) -> Metamodel: ...


@overload
def metamodel(
    model: Model | ReducedModel,
    bounds: Bounds,
    *,
    kind: Literal["splines", "rbf"],
    **options: Unpack[Options],
) -> Continuous: ...


def metamodel(
    model: Model | ReducedModel, bounds: Bounds, *, kind: Kind = "boxes", **options: Unpack[Options]
) -> Interpolation:
    """Interpolate a reduced model over a workspace.

    Args:
        model: The reduced model, or a mechanism whose actuated joints are the inputs.
        bounds: Lower and upper bound of every input, by name or in the order of the inputs;
            radians or metres.
        tolerance: Largest relative error of H, D and p that is wanted (see ``Accuracy``).
        size: Largest width of a box, radians or metres: one for all inputs, or one each.
        kind: ``boxes``: quadratic polynomials on boxes; ``splines``: cubic tensor-product
            splines, continuous with two derivatives; ``rbf``: radial basis functions.
        smallest: Smallest width of a box as a fraction of the bounds. Boxes that the workspace's
            boundary crosses are halved down to it and then left out; 1 leaves them out at once.
        clearance: Configurations nearer to singularities than this (``ReducedModel.clearance``)
            are outside of the workspace.
        inside: Says which of the inputs (N, s) belong to the workspace, shape (N,). Where the
            executor's workers are processes, a function that can be pickled.
        max_samples: Refinement stops there, and so does the search for the workspace's boundary;
            ``findings`` say what was reached.
        held_out: Number of random points at which the result is checked.
        seed: Seed of these points.
        executor: Where samples are computed: anything with the interface of
            ``concurrent.futures.Executor``. By default here.
        progress: Show progress on standard error.

    Returns:
        A ``Metamodel``, or a ``Continuous`` metamodel for the other kinds.

    Raises:
        ModelError: The bounds do not fit the inputs, neither a tolerance nor a size is given, or
            the bounds contain nothing that can be reached.
    """
    unknown = sorted(options.keys() - Options.__annotations__.keys())
    if unknown:
        hint = "; choose them by reduced_model(model, inputs)" if "inputs" in unknown else ""
        raise TypeError(f"metamodel() got an unexpected keyword argument {unknown[0]!r}{hint}")
    reduced = model if isinstance(model, ReducedModel) else reduced_model(model)
    samples = Samples(reduced, bounds, **options)
    if kind == "boxes":
        return Builder(samples).build()
    if kind in ("splines", "rbf"):
        return continuous(samples, kind)
    raise ModelError(f"unknown kind of metamodel {kind!r}; known: boxes, splines, rbf")
