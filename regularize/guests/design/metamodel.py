"""Metamodels: the reduced model interpolated over the workspace, fast enough for control.

Piecewise quadratic polynomials on a bisection tree (Brüls 2003, section 4), or a continuous
interpolation by tensor-product splines or radial basis functions, through scipy. The text names
both as ways to avoid the small jumps at the sides of boxes, and for radial basis functions the
price: every evaluation touches many samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, overload

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import NdBSpline, RBFInterpolator, make_interp_spline
from scipy.spatial import KDTree

from regularize import validation
from regularize.errors import ModelError
from regularize.guests.design.actuator_dynamics import ReducedModel
from regularize.guests.design.boxes import Metamodel as Metamodel
from regularize.guests.design.growth import FIRST, Builder, Samples, Settings
from regularize.guests.design.interpolation import Accuracy as Accuracy
from regularize.guests.design.interpolation import Interpolation
from regularize.guests.design.reduced_dynamics import reduced_model
from regularize.guests.design.tree import GRID, WIDER, between
from regularize.lie.arrays import Array
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

    def _covered(self, theta: Array) -> NDArray[np.bool_]:
        covered = super()._covered(theta)
        if self.near is not None:
            radius, samples = self.near
            distance, _ = samples.query((theta - self.lower) / (self.upper - self.lower))
            covered &= distance <= radius
        return covered


def _scaled(interpolator: RBFInterpolator, lower: Array, span: Array, theta: Array) -> Array:
    """Evaluate an interpolator of inputs that are scaled by the bounds."""
    return np.asarray(interpolator((theta - lower) / span))


def continuous(settings: Settings, kind: str) -> Continuous:
    """Refine a grid until its interpolation is good enough, or no finer one is affordable."""
    samples, interpolate = Samples(settings), {"splines": _splines, "rbf": _rbf}[kind]
    widths = (settings.upper - settings.lower) / settings.size
    intervals = np.maximum(FIRST, 2 ** np.ceil(np.log2(np.maximum(widths / WIDER, 1.0))))
    if np.prod(intervals + 1) > settings.max_samples:
        raise ModelError(
            f"a grid over the bounds takes {np.prod(intervals + 1):.3g} samples, more than "
            f"max_samples={settings.max_samples}: ask for a larger size=, or allow more"
        )
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
    """Make cubic tensor-product splines through the coefficients on a grid, shape (..., t)."""
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
    """Make cubic radial basis functions through the coefficients on a grid that are known."""
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


Bounds = Mapping[str, Sequence[float]] | Sequence[Sequence[float]] | Sequence[float]
Kind = Literal["boxes", "splines", "rbf"]
Inside = Callable[[Array], NDArray[np.bool_]]


class Options(TypedDict, total=False):
    """What may be asked of a metamodel of any kind; see ``metamodel``."""

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
    settings = _settings(reduced, bounds, **options)
    if kind == "boxes":
        return Builder(settings).build()
    if kind in ("splines", "rbf"):
        return continuous(settings, kind)
    raise ModelError(f"unknown kind of metamodel {kind!r}; known: boxes, splines, rbf")


@validation.validated(
    tolerance=validation.NUMBER,
    size=validation.NUMBER | validation.several(validation.NUMBER),
    smallest=validation.NUMBER,
    inside=validation.FUNCTION,
    max_samples=validation.WHOLE,
    held_out=validation.WHOLE,
    seed=validation.WHOLE,
    executor=validation.EXECUTOR,
    progress=validation.FLAG,
)
def _settings(
    reduced: ReducedModel,
    bounds: Bounds,
    *,
    tolerance: float | None = None,
    size: float | Sequence[float] | None = None,
    smallest: float = 1 / 64,
    clearance: float = 0.0,
    inside: Inside | None = None,
    max_samples: int = 200_000,
    held_out: int = 1000,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool = False,
) -> Settings:
    """Check the arguments of ``metamodel`` and return what a metamodel is made from."""
    lower, upper = _bounds(reduced.inputs, bounds)
    if tolerance is None and size is None:
        raise ModelError("say when boxes are small enough: tolerance=0.01, or size=0.05")
    if not 0.0 < smallest <= 1.0:
        raise ModelError(f"smallest is a fraction of the bounds, above 0 and at most 1: {smallest}")
    if not 0.0 <= clearance < np.inf:
        raise ModelError(f"clearance is a distance of at least zero, not {clearance}")
    wanted = np.asarray(np.inf if size is None else size, dtype=np.float64)
    if wanted.shape not in ((), lower.shape):
        raise ModelError(f"size is one width, or one for each of {list(reduced.inputs)}; {size=}")
    widths = np.broadcast_to(wanted, lower.shape)
    if np.any(widths <= 0.0) or (tolerance is not None and tolerance <= 0.0):
        raise ModelError(f"tolerance and size have to be positive, got {tolerance=} and {size=}")
    return Settings(
        sampler=partial(_sampled, reduced, clearance, inside),
        inputs=reduced.inputs,
        coefficients=reduced.size,
        lower=lower,
        upper=upper,
        tolerance=np.inf if tolerance is None else tolerance,
        size=widths,
        smallest=smallest,
        max_samples=max_samples,
        held_out=held_out,
        seed=seed,
        executor=executor,
        progress=progress,
    )


def _sampled(reduced: ReducedModel, clearance: float, inside: Inside | None, theta: Array) -> Array:
    """Return coefficients at inputs (N, s), NaN outside the workspace."""
    if inside is None:
        return reduced.sample(theta, clearance)
    chosen = np.asarray(inside(theta), dtype=bool)
    rows = np.full((len(theta), reduced.size), np.nan)
    if chosen.any():
        rows[chosen] = reduced.sample(theta[chosen], clearance)
    return rows


def _bounds(inputs: Sequence[str], bounds: Bounds) -> tuple[Array, Array]:
    """Check bounds and return the lower and the upper ones in the order of the inputs."""
    if isinstance(bounds, Mapping):
        if set(bounds) != set(inputs):
            raise ModelError(f"bounds name {sorted(bounds)}, and the inputs are {list(inputs)}")
        bounds = [bounds[name] for name in inputs]
    table = validation.numbers(bounds)
    if table.shape == (2,) and len(inputs) == 1:
        table = table[None]
    if table.shape != (len(inputs), 2) or not np.all(np.isfinite(table)):
        raise ModelError(
            f"bounds need a lower and an upper value for each of {list(inputs)}, "
            f"got shape {table.shape}"
        )
    if np.any(table[:, 0] >= table[:, 1]):
        raise ModelError(f"every lower bound has to be below the upper one, got {table.tolist()}")
    return table[:, 0], table[:, 1]
