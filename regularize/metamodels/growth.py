"""Growing a metamodel: halve boxes until they are small enough or good enough."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from regularize.errors import ModelError
from regularize.lie.screw import Array, read_only
from regularize.metamodels.boxes import Metamodel
from regularize.metamodels.equation_of_motion import count
from regularize.metamodels.fit import (
    Scale,
    design,
    estimate,
    fit,
    in_inputs,
    scale_of,
)
from regularize.metamodels.interpolation import Accuracy, missed_tolerance
from regularize.metamodels.samples import Sampler, Samples
from regularize.metamodels.tree import Growth, Integers
from regularize.model.diagnostic import Diagnostic

#: Halvings in every direction before a box may be dropped for having no sample inside.
FIRST = 2
#: How often boxes are refined where fresh random points show too large an error.
CHECKS = 8
#: Share of the tolerance that the estimate may take, since it knows the leading term only.
SHARE = 0.7

#: Random points are drawn this much beyond the bounds and then moved onto them.
BEYOND = 1.1


@dataclass(frozen=True, eq=False)
class Settings:
    """What a metamodel is to be; see ``metamodel`` for the meaning of the attributes."""

    sampler: Sampler
    inputs: tuple[str, ...]
    lower: Array
    upper: Array
    tolerance: float | None
    size: Array
    smallest: float
    max_samples: int
    held_out: int
    seed: int
    executor: Executor | None
    progress: bool

    @property
    def span(self) -> float:
        """Largest width of the workspace."""
        return float(np.max(self.upper - self.lower))

    def random_points(self, rng: np.random.Generator) -> Array:
        """Inputs spread evenly over the bounds, some of them on faces and edges, (held_out, s)."""
        spread = rng.uniform(-BEYOND, BEYOND, size=(self.held_out, len(self.inputs)))
        fraction = 0.5 + 0.5 * np.clip(spread, -1.0, 1.0)
        return np.asarray(self.lower * (1.0 - fraction) + self.upper * fraction)


class Builder:
    """Grows one metamodel.

    Args:
        settings: What it is to be.
    """

    def __init__(self, settings: Settings) -> None:
        """Start with one box."""
        self.settings, self.s = settings, len(settings.inputs)
        self.growth = Growth(settings.lower, settings.upper)
        self.samples = Samples(
            settings.sampler,
            self.growth.place,
            count(self.s),
            executor=settings.executor,
            progress=settings.progress,
        )
        self.size = settings.size / (settings.upper - settings.lower)

    def build(self) -> Metamodel:
        """Grow, then check at random points and refine where they disagree."""
        self._halve_to_size()
        self._mask()
        self._refine()
        rng = np.random.default_rng(self.settings.seed)
        checks = CHECKS if self.settings.tolerance is not None else 1
        for check in range(checks):
            result = self._fitted()
            theta = self.settings.random_points(rng)
            truth = self.samples.compute(theta)
            errors = result.relative_errors(theta, truth)
            if self.settings.tolerance is None or check == checks - 1:
                break
            bad = np.nanmax(errors, axis=1, initial=0.0) > self.settings.tolerance
            if not bad.any() or len(self.samples) >= self.settings.max_samples:
                break
            boxes = np.unique(result.tree.find(theta[bad]))
            nodes = self.growth.leaves[boxes]
            if not self._bisect(nodes, self._directions(nodes)):
                break
            self._mask()
            self._refine()
        missed = missed_tolerance(self.settings.inputs, theta, errors, self.settings.tolerance)
        return result.checked(errors, truth, [*self._findings(), *missed])

    def _findings(self) -> list[Diagnostic]:
        dropped = float(
            np.prod(self.growth.width(np.flatnonzero(self.growth.dropped)), axis=1).sum()
        )
        if dropped == 0.0:
            return []
        return [
            Diagnostic(
                "REG310",
                "note",
                f"the metamodel leaves out {100 * dropped:.3g} % of the bounds, which cannot be "
                "reached, or not without coming near a singularity",
                joints=self.settings.inputs,
                help=("narrow the bounds, or allow smaller boxes: smallest=",),
            )
        ]

    def _halve_to_size(self) -> None:
        """The text's own criterion: halve until no box is wider than asked for."""
        while True:
            leaves = self.growth.leaves
            excess = self.growth.width(leaves) / self.size
            wide = excess.max(axis=1) > 1.0 + 1e-9
            if not wide.any():
                return
            self.growth.halve(leaves[wide], np.argmax(excess[wide], axis=1))

    def _values(self, nodes: Integers) -> Array:
        """Samples at the design of boxes, shape (L, points, t)."""
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
            large = width.max(axis=1) > smallest * (1 + 1e-9)
            blind = ~known.any(axis=1) & (width.max(axis=1) <= 0.5**FIRST)
            halve = some & large & ~blind
            self.growth.dropped[leaves[some & ~halve]] = True
            if not halve.any():
                if not len(self.growth.leaves):
                    raise ModelError(
                        "no box of the bounds can be reached completely; narrow the bounds, or "
                        "allow smaller boxes: smallest="
                    )
                return
            self.growth.halve(leaves[halve], np.argmax(width[halve], axis=1))

    def _refine(self) -> None:
        """Halve boxes until the estimated error is below the tolerance."""
        tolerance = self.settings.tolerance
        while tolerance is not None and len(self.samples) < self.settings.max_samples:
            errors, _, _, _ = self._estimated()
            bad = np.flatnonzero(errors.sum(axis=1) > SHARE * tolerance)
            nodes = self.growth.leaves[bad]
            if not len(nodes) or not self._bisect(nodes, self._directions(nodes, errors[bad])):
                return
            self._mask()

    def _directions(self, nodes: Integers, errors: Array | None = None) -> Array:
        """Errors by direction, minus infinity where a box may not become narrower, (k, s)."""
        if errors is None:
            errors = self._estimated()[0][np.searchsorted(self.growth.leaves, nodes)]
        width = self.growth.width(nodes)
        # Of equal errors, above all of infinite ones, the widest direction goes first.
        ranked = np.where(np.isinf(errors), 1e300 * width, errors)
        return np.where(width > self.settings.smallest * (1 + 1e-9), ranked, -np.inf)

    def _bisect(self, nodes: Integers, ranked: Array) -> bool:
        """Halve boxes in their worst direction; whether any could be halved."""
        possible = np.isfinite(ranked.max(axis=1))
        if possible.any():
            self.growth.halve(nodes[possible], np.argmax(ranked[possible], axis=1))
        return bool(possible.any())

    def _estimated(self) -> tuple[Array, Array, Scale, Integers]:
        """Errors by direction (L, s), weights on -1 to 1 (L, k, t), scale, nodes."""
        leaves = self.growth.leaves
        values = self._values(leaves)
        weights = fit(values, self.s)
        known = self.samples.values[np.isfinite(self.samples.values[:, 0])]
        scale = scale_of(known, self.s, self.settings.span)
        return estimate(self.growth.finished(), weights, values, scale), weights, scale, leaves

    def _fitted(self) -> Metamodel:
        errors, weights, scale, _ = self._estimated()
        tree = self.growth.finished()
        weights = in_inputs(weights, tree.half)
        return Metamodel(
            inputs=self.settings.inputs,
            lower=tree.lower,
            upper=tree.upper,
            samples=int(np.isfinite(self.samples.values[:, 0]).sum()),
            scale=scale,
            accuracy=Accuracy(0, 0.0, {}, {}),
            findings=(),
            tree=tree,
            constant=read_only(weights[:, 0]),
            weights=read_only(np.swapaxes(weights[:, 1:], 1, 2)),
            estimated=read_only(errors.sum(axis=1)),
        )
