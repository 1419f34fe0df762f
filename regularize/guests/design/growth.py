"""Growing a metamodel from samples: halve boxes until they are small enough or good enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from regularize.adapters.common.console import progress_bar
from regularize.errors import ModelError
from regularize.guests.design.boxes import Metamodel
from regularize.guests.design.interpolation import Accuracy, Interpolation
from regularize.guests.design.tree import (
    GRID,
    WIDER,
    Growth,
    Integers,
    Scale,
    between,
    design,
    estimate,
    fit,
    in_inputs,
    scale_of,
)
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.diagnostic import Diagnostic

#: Samples per task of an executor: long against sending it, short against all of them.
TASK = 128
#: Random points are drawn this much beyond the bounds and then moved onto them, for errors are
#: largest on faces and edges, and few points would lie there by chance.
BEYOND = 1.1

Sampler = Callable[[Array], Array]
Kind = TypeVar("Kind", bound=Interpolation)


@dataclass(frozen=True, eq=False)
class Settings:
    """What a metamodel is to be; the attributes are the arguments of ``metamodel``."""

    sampler: Sampler  # rows of coefficients at inputs (N, s), NaN outside the workspace
    inputs: tuple[str, ...]
    coefficients: int
    lower: Array
    upper: Array
    tolerance: float  # infinite where only the size of the boxes counts
    size: Array
    smallest: float
    max_samples: int
    held_out: int
    seed: int
    executor: Executor | None
    progress: bool


class Samples:
    """Coefficients at points that are addressed by whole numbers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.values = np.zeros((0, settings.coefficients))
        self._index: dict[bytes, int] = {}
        self._rng = np.random.default_rng(settings.seed)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def known(self) -> Array:
        """Coefficients of the samples inside the workspace, shape (N, t)."""
        return self.values[np.isfinite(self.values[:, 0])]

    @property
    def scale(self) -> Scale:
        """Sizes that errors are relative to."""
        span = float(np.max(self.settings.upper - self.settings.lower))
        return scale_of(self.known, len(self.settings.inputs), span)

    def about(self) -> dict[str, Any]:
        """Return what a metamodel made of these samples says about itself before it is checked."""
        return {
            "inputs": self.settings.inputs,
            "lower": self.settings.lower,
            "upper": self.settings.upper,
            "samples": len(self.known),
            "scale": self.scale,
            "accuracy": Accuracy(0, 0.0, {}, {}),
            "findings": (),
        }

    def checked(self, model: Kind) -> tuple[Kind, Array, Array]:
        """Check a metamodel at fresh random points; return it, these, and its errors there."""
        setting = self.settings
        spread = self._rng.uniform(-BEYOND, BEYOND, size=(setting.held_out, len(setting.inputs)))
        theta = between(setting.lower, setting.upper, 0.5 + 0.5 * np.clip(spread, -1.0, 1.0))
        truth = self.compute(theta)
        errors = model.relative_errors(theta, truth)
        return model.checked(theta, errors, truth, setting.tolerance), theta, errors

    def at(self, points: Integers) -> Array:
        """Return coefficients at points of whole numbers (..., s); new ones are computed."""
        keys = [row.tobytes() for row in points.reshape(-1, points.shape[-1])]
        new = [key for key in dict.fromkeys(keys) if key not in self._index]
        if new:
            fraction = np.frombuffer(b"".join(new), dtype=np.int64).reshape(len(new), -1) / GRID
            computed = self.compute(between(self.settings.lower, self.settings.upper, fraction))
            self._index.update(zip(new, range(len(self), len(self) + len(new)), strict=True))
            self.values = np.vstack([self.values, computed])
        rows = [self._index[key] for key in keys]
        return self.values[rows].reshape(*points.shape[:-1], -1)

    def compute(self, theta: Array) -> Array:
        """Compute coefficients at inputs (N, s), in parallel if there is an executor."""
        tasks = [theta[i : i + TASK] for i in range(0, len(theta), TASK)]
        sampler, executor = self.settings.sampler, self.settings.executor
        results: Iterable[Array] = (
            map(sampler, tasks) if executor is None else executor.map(sampler, tasks)
        )
        parts = []
        words = f"samples {len(self)} + {len(theta)}"
        with progress_bar(self.settings.progress, len(theta), words) as advance:
            for part in results:
                parts.append(np.asarray(part))
                advance(len(part))
        return np.concatenate(parts)


#: Intervals in every direction that the coarsest boxes and grids have: fewer samples could miss the
#: workspace, or what the dynamics do in it.
FIRST = 4
#: Share of the tolerance that the estimate may take, since it knows the leading term only.
SHARE = 0.7


class Builder:
    """Grows one metamodel."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.s = settings, len(settings.inputs)
        self.growth = Growth(settings.lower, settings.upper)
        self.samples = Samples(settings)
        self.size = settings.size / (settings.upper - settings.lower)
        self.short = False  # whether samples did not suffice for what was to be halved

    def build(self) -> Metamodel:
        """Grow, then check at random points and refine where they disagree."""
        self._halve_to_size()
        self._mask()
        self._refine()
        while True:
            result, theta, errors = self.samples.checked(self._fitted())
            bad = np.nanmax(errors, axis=1, initial=0.0) > self.settings.tolerance
            if not bad.any() or len(self.samples) >= self.settings.max_samples:
                break
            boxes = np.unique(result.tree.find(theta[bad]))
            nodes = self.growth.leaves[boxes]
            if not self._bisect(nodes, self._directions(nodes)):
                break
            self._mask()
            self._refine()
        return replace(result, findings=(*self._findings(), *result.findings))

    def _findings(self) -> list[Diagnostic]:
        """Say how much of the bounds is left out."""
        widths = self.growth.width(np.flatnonzero(self.growth.dropped))
        dropped = float(np.prod(widths, axis=1).sum())
        if dropped == 0.0:
            return []
        return [
            Diagnostic(
                "REG310",
                "note",
                f"the metamodel leaves out {100 * dropped:.3g} % of the bounds, which cannot be "
                "reached, or not without coming near a singularity"
                + (f", as far as {len(self.samples)} samples tell" if self.short else ""),
                joints=self.settings.inputs,
                help=(f"narrow the bounds, or allow {self._more}",),
            )
        ]

    @property
    def _more(self) -> str:
        """What would help to cover more."""
        return "more samples: max_samples=" if self.short else "smaller boxes: smallest="

    @property
    def _affordable(self) -> int:
        """How many boxes may be halved by the samples that are left."""
        left = self.settings.max_samples - len(self.samples)
        # Each takes corners between, and centres and sides of both halves.
        return max(0, int(left // (2 ** (self.s - 1) + 4 * self.s - 2)))

    def _halve_to_size(self) -> None:
        """Halve until no box is wider than asked for, the criterion of the text."""
        times = np.ceil(np.log2(np.maximum(1.0 / self.size / WIDER, 1.0))).sum()
        if times > np.log2(self.settings.max_samples):
            raise ModelError(
                f"size= asks for {2.0**times:.3g} boxes, and each takes samples: more than "
                f"max_samples={self.settings.max_samples} in all; ask for wider boxes, or more"
            )
        while True:
            leaves = self.growth.leaves
            excess = self.growth.width(leaves) / self.size
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
        """Drop boxes outside the workspace; halve those that its boundary crosses."""
        while True:
            leaves = self.growth.leaves
            known = np.isfinite(self._values(leaves)[..., 0])
            some = ~known.all(axis=1)
            if not some.any():
                return
            width = self.growth.width(leaves)
            smallest = np.minimum(self.settings.smallest, 1.0)
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
        while len(self.samples) < self.settings.max_samples:
            errors, _ = self._estimated()
            bad = np.flatnonzero(errors.sum(axis=1) > SHARE * self.settings.tolerance)
            nodes = self.growth.leaves[bad]
            if not len(nodes) or not self._bisect(nodes, self._directions(nodes, errors[bad])):
                return
            self._mask()

    def _directions(self, nodes: Integers, errors: Array | None = None) -> Array:
        """Return errors by direction, minus infinity where a box may not become narrower."""
        if errors is None:
            errors = self._estimated()[0][np.searchsorted(self.growth.leaves, nodes)]
        width = self.growth.width(nodes)
        # Of equal errors, above all of infinite ones, the widest direction goes first.
        ranked = np.where(np.isinf(errors), 1e300 * width, errors)
        return np.where(width > self.settings.smallest * WIDER, ranked, -np.inf)

    def _bisect(self, nodes: Integers, ranked: Array) -> bool:
        """Halve boxes in their worst direction, the worst first; tell whether any could be."""
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
        """Return the metamodel as it stands."""
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
