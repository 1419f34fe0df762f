r"""Metamodels: the reduced model interpolated over the workspace, fast enough for control.

Piecewise quadratic polynomials on a bisection tree (Brüls 2003, section 4), or a continuous
interpolation by tensor-product splines or radial basis functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Literal, TypedDict, overload

import numpy as np
from numpy.typing import NDArray

from regularize import validation
from regularize.design.actuator_dynamics import ReducedModel
from regularize.design.boxes import Metamodel as Metamodel
from regularize.design.continuous import Continuous as Continuous
from regularize.design.continuous import continuous
from regularize.design.growth import Builder, Settings
from regularize.design.interpolation import Accuracy as Accuracy
from regularize.design.interpolation import Interpolation
from regularize.design.reduced_dynamics import reduced_model
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.mechanism.source import Model

if TYPE_CHECKING:
    from typing_extensions import Unpack

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
    model: Model | ReducedModel,
    bounds: Bounds,
    *,
    kind: Kind = "boxes",
    **options: Unpack[Options],
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
        max_samples: Refinement stops there.
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
    """What a metamodel is made from; arguments as of ``metamodel``."""
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
    """Coefficients at inputs (N, s), NaN outside the workspace."""
    if inside is None:
        return reduced.sample(theta, clearance)
    chosen = np.asarray(inside(theta), dtype=bool)
    rows = np.full((len(theta), reduced.size), np.nan)
    if chosen.any():
        rows[chosen] = reduced.sample(theta[chosen], clearance)
    return rows


def _bounds(inputs: Sequence[str], bounds: Bounds) -> tuple[Array, Array]:
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
