"""Growing a metamodel from samples: halve boxes until they are small enough or good enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from regularize import validation
from regularize.adapters.common.console import progress_bar
from regularize.errors import ModelError
from regularize.guests.design.actuator_dynamics import ReducedModel
from regularize.guests.design.boxes import Metamodel
from regularize.guests.design.equation_of_motion import Accuracy, Interpolation, Scale, groups
from regularize.guests.design.tree import (
    GRID,
    WIDER,
    Growth,
    Integers,
    between,
    design,
    estimate,
    fit,
    in_inputs,
)
from regularize.lie.arrays import Array, Mask, read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.tolerances import EXACT

#: Samples per task of an executor: long against sending it, short against all of them.
TASK = 128
#: Random points are drawn this much beyond the bounds and then moved onto them, for errors are
#: largest on faces and edges, and few points would lie there by chance.
BEYOND = 1.1

Bounds: TypeAlias = Mapping[str, Sequence[float]] | Sequence[Sequence[float]] | Sequence[float]
Inside: TypeAlias = Callable[[Array], Mask]
Kind = TypeVar("Kind", bound=Interpolation)


class Samples:
    """Coefficients of a reduced model at grid points, by whole numbers, computed once each."""

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
    def __init__(
        self,
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
    ) -> None:
        self.inputs = reduced.inputs
        self.lower, self.upper = _bounds(self.inputs, bounds)
        if tolerance is None and size is None:
            raise ModelError("say when boxes are small enough: tolerance=0.01, or size=0.05")
        if not 0.0 < smallest <= 1.0:
            raise ModelError(
                f"smallest is a fraction of the bounds, above 0 and at most 1: {smallest}"
            )
        if not 0.0 <= clearance < np.inf:
            raise ModelError(f"clearance is a distance of at least zero, not {clearance}")
        wanted = np.asarray(np.inf if size is None else size, dtype=np.float64)
        if wanted.shape not in ((), self.lower.shape):
            raise ModelError(f"size is one width, or one for each of {list(self.inputs)}; {size=}")
        widths = np.broadcast_to(wanted, self.lower.shape)
        if np.any(widths <= 0.0) or (tolerance is not None and tolerance <= 0.0):
            raise ModelError(
                f"tolerance and size have to be positive, got {tolerance=} and {size=}"
            )
        self.size = widths / (self.upper - self.lower)  # as fractions of the bounds
        self.tolerance = np.inf if tolerance is None else tolerance
        self.smallest, self.max_samples, self.held_out = smallest, max_samples, held_out
        self._sampler = partial(_sampled, reduced, clearance, inside)
        self._executor, self._progress = executor, progress
        self._rng = np.random.default_rng(seed)
        self._index: dict[bytes, int] = {}
        self._values = np.zeros((0, reduced.size))

    def __len__(self) -> int:
        return len(self._values)

    @property
    def scale(self) -> Scale:
        """Median norms of the coefficients, which errors are relative to."""
        rows, span = self._known, float(np.max(self.upper - self.lower))
        median = {
            name: float(np.median(np.linalg.norm(rows[:, place], axis=1)))
            for name, place in groups(len(self.inputs), rows.shape[1]).items()
        }
        noise = EXACT.same * median["H"]
        median["D"] = max(median["D"], noise / span)
        median["p"] = max(median["p"], noise * span)
        return Scale(median)

    @property
    def _known(self) -> Array:
        """Coefficients of the samples inside the workspace, shape (N, t)."""
        return self._values[np.isfinite(self._values[:, 0])]

    def about(self) -> dict[str, Any]:
        """Return the attributes of a metamodel made of these samples, accuracy not yet checked."""
        return {
            "inputs": self.inputs,
            "lower": self.lower,
            "upper": self.upper,
            "samples": len(self._known),
            "scale": self.scale,
            "accuracy": Accuracy(0, 0.0, {}, {}),
            "findings": (),
        }

    def checked(self, model: Kind) -> tuple[Kind, Array, Array]:
        """Return a metamodel with its accuracy, fresh random points, and its relative errors there.

        The metamodel has a finding where an error exceeds the tolerance.
        """
        spread = self._rng.uniform(-BEYOND, BEYOND, size=(self.held_out, len(self.inputs)))
        theta = between(self.lower, self.upper, 0.5 + 0.5 * np.clip(spread, -1.0, 1.0))
        truth = self._computed(theta)
        errors = model.relative_errors(theta, truth)
        inside, covered = np.isfinite(truth[:, 0]).sum(), np.isfinite(errors[:, 0])
        some = errors[covered] if covered.any() else np.zeros((1, errors.shape[1]))
        maximal, mean = (
            dict(zip("HDpCA", values.tolist(), strict=False))
            for values in (some.max(axis=0), some.mean(axis=0))
        )
        part = float(covered.sum() / max(1, inside))
        accuracy = Accuracy(int(inside), part, maximal, mean)
        largest = np.nan_to_num(errors).max(axis=1)
        if largest.max(initial=0.0) <= self.tolerance:
            return replace(model, accuracy=accuracy), theta, errors
        i = int(np.argmax(largest))
        place = ", ".join(f"{n} = {v:.4g}" for n, v in zip(self.inputs, theta[i], strict=True))
        words = f"the metamodel errs by {100 * largest[i]:.3g} % at {place}, and "
        words += f"{100 * self.tolerance:.3g} % were wanted"
        help = (
            "keep away from singularities: clearance=0.01, or narrower bounds",
            "allow smaller boxes and more samples: smallest=, max_samples=",
        )
        missed = Diagnostic("REG312", "warning", words, joints=self.inputs, help=help)
        return replace(model, accuracy=accuracy, findings=(missed,)), theta, errors

    def at(self, points: Integers) -> Array:
        """Return coefficients at points of whole numbers (..., s); new ones are computed."""
        keys = [row.tobytes() for row in points.reshape(-1, points.shape[-1])]
        new = [key for key in dict.fromkeys(keys) if key not in self._index]
        if new:
            fraction = np.frombuffer(b"".join(new), dtype=np.int64).reshape(len(new), -1) / GRID
            computed = self._computed(between(self.lower, self.upper, fraction))
            self._index.update(zip(new, range(len(self), len(self) + len(new)), strict=True))
            self._values = np.vstack([self._values, computed])
        rows = [self._index[key] for key in keys]
        return self._values[rows].reshape(*points.shape[:-1], -1)

    def _computed(self, theta: Array) -> Array:
        """Compute coefficients at inputs (N, s), in parallel if there is an executor."""
        tasks = [theta[i : i + TASK] for i in range(0, len(theta), TASK)]
        run = map if self._executor is None else self._executor.map
        parts, words = [], f"samples {len(self)} + {len(theta)}"
        with progress_bar(self._progress, len(theta), words) as advance:
            for part in run(self._sampler, tasks):
                parts.append(np.asarray(part))
                advance(len(part))
        return np.concatenate(parts)


def _sampled(reduced: ReducedModel, clearance: float, inside: Inside | None, theta: Array) -> Array:
    """Return coefficients at inputs (N, s), NaN outside the workspace."""
    rows = np.full((len(theta), reduced.size), np.nan)
    chosen = np.ones(len(theta), dtype=bool) if inside is None else np.asarray(inside(theta), bool)
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


#: Intervals in every direction that the coarsest boxes and grids have: fewer samples could miss the
#: workspace, or what the dynamics do in it.
FIRST = 4
#: Share of the tolerance that the estimate may take, since it knows the leading term only.
SHARE = 0.7


class Builder:
    """A metamodel of boxes while it is refined."""

    def __init__(self, samples: Samples) -> None:
        self.samples, self.s = samples, len(samples.inputs)
        self.growth = Growth(samples.lower, samples.upper)
        self.short = False  # whether samples did not suffice for what was to be halved

    def build(self) -> Metamodel:
        """Refine the boxes, then check at random points and refine where errors are large."""
        self._halve_to_size()
        self._mask()
        self._refine()
        while True:
            result, theta, errors = self.samples.checked(self._fitted())
            bad = np.nanmax(errors, axis=1, initial=0.0) > self.samples.tolerance
            if not bad.any() or len(self.samples) >= self.samples.max_samples:
                break
            boxes = np.unique(result.tree.find(theta[bad]))
            if not self._bisect(boxes, self._estimated()[0][boxes]):
                break
            self._mask()
            self._refine()
        return replace(result, findings=(*self._findings(), *result.findings))

    def _findings(self) -> list[Diagnostic]:
        """Return a finding on how much of the bounds the metamodel leaves out."""
        widths = self.growth.width(np.flatnonzero(self.growth.dropped))
        dropped = float(np.prod(widths, axis=1).sum())
        if dropped == 0.0:
            return []
        words = f"the metamodel leaves out {100 * dropped:.3g} % of the bounds, which cannot be "
        words += "reached, or not without coming near a singularity"
        words += f", as far as {len(self.samples)} samples tell" if self.short else ""
        help = (f"narrow the bounds, or allow {self._more}",)
        return [Diagnostic("REG310", "note", words, joints=self.samples.inputs, help=help)]

    @property
    def _more(self) -> str:
        """Return the option that would let the metamodel cover more."""
        return "more samples: max_samples=" if self.short else "smaller boxes: smallest="

    @property
    def _affordable(self) -> int:
        """Return the number of boxes that the samples left can halve."""
        left = self.samples.max_samples - len(self.samples)
        # Each takes corners between, and centres and sides of both halves.
        return max(0, int(left // (2 ** (self.s - 1) + 4 * self.s - 2)))

    def _halve_to_size(self) -> None:
        """Halve until no box is wider than asked for, the criterion of the text."""
        times = np.ceil(np.log2(np.maximum(1.0 / self.samples.size / WIDER, 1.0))).sum()
        if times > np.log2(self.samples.max_samples):
            raise ModelError(
                f"size= asks for {2.0**times:.3g} boxes, and each takes samples: more than "
                f"max_samples={self.samples.max_samples} in all; ask for wider boxes, or more"
            )
        while True:
            leaves = self.growth.leaves
            excess = self.growth.width(leaves) / self.samples.size
            wide = excess.max(axis=1) > WIDER
            if not wide.any():
                return
            self.growth.halve(leaves[wide], np.argmax(excess[wide], axis=1))

    def _values(self, nodes: Integers) -> Array:
        """Return samples at the design of boxes, shape (L, points, t)."""
        offsets = design(self.s)
        center, half = self.growth.center[nodes], self.growth.half[nodes]
        return self.samples.at(center[:, None] + offsets * half[:, None])

    def _mask(self) -> None:
        """Drop boxes outside the workspace and halve those that its boundary crosses."""
        while True:
            leaves = self.growth.leaves
            known = np.isfinite(self._values(leaves)[..., 0])
            some = ~known.all(axis=1)
            if not some.any():
                return
            width = self.growth.width(leaves)
            smallest = np.minimum(self.samples.smallest, 1.0)
            large = width.max(axis=1) > smallest * WIDER
            blind = ~known.any(axis=1) & (width.max(axis=1) <= 1.0 / FIRST)
            halve = some & large & ~blind
            if halve.sum() > self._affordable:
                widest = np.argsort(-np.where(halve, width.max(axis=1), 0.0), kind="stable")
                halve[widest[self._affordable :]] = False
                self.short = True
            self.growth.dropped[leaves[some & ~halve]] = True
            if not halve.any():
                if not len(self.growth.leaves):
                    raise ModelError(
                        "no box of the bounds can be reached completely, none of "
                        f"{np.sum(self.growth.axis < 0)} by {len(self.samples)} samples; narrow "
                        f"the bounds, or allow {self._more}"
                    )
                return
            self.growth.halve(leaves[halve], np.argmax(width[halve], axis=1))

    def _refine(self) -> None:
        """Halve boxes until the estimated error is below the tolerance."""
        while len(self.samples) < self.samples.max_samples:
            errors, _ = self._estimated()
            bad = np.flatnonzero(errors.sum(axis=1) > SHARE * self.samples.tolerance)
            if not len(bad) or not self._bisect(bad, errors[bad]):
                return
            self._mask()

    def _bisect(self, boxes: Integers, errors: Array) -> bool:
        """Halve boxes in their worst direction, the worst first; tell whether any could be."""
        nodes = self.growth.leaves[boxes]
        width = self.growth.width(nodes)
        # Of equal errors, above all of infinite ones, the widest direction goes first.
        ranked = np.where(np.isinf(errors), 1e300 * width, errors)
        ranked[width <= self.samples.smallest * WIDER] = -np.inf  # may not become narrower
        worst = ranked.max(axis=1)
        order = np.argsort(-worst, kind="stable")[: self._affordable]
        possible = np.sort(order[np.isfinite(worst[order])])
        if len(possible):
            self.growth.halve(nodes[possible], np.argmax(ranked[possible], axis=1))
        return bool(len(possible))

    def _estimated(self) -> tuple[Array, Array]:
        """Return errors by direction (L, s), and weights on -1 to 1 (L, k, t)."""
        values = self._values(self.growth.leaves)
        weights = fit(values, self.s)
        return estimate(self.growth.finished(), weights, values, self.samples.scale), weights

    def _fitted(self) -> Metamodel:
        """Return the metamodel of all samples taken so far."""
        errors, weights = self._estimated()
        tree = self.growth.finished()
        weights = in_inputs(weights, tree.half)
        return Metamodel(
            **self.samples.about(),
            tree=tree,
            constant=read_only(weights[:, 0]),
            weights=read_only(np.swapaxes(weights[:, 1:], 1, 2)),
            estimated=read_only(errors.sum(axis=1)),
        )
