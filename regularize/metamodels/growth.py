"""Growing a metamodel: halve boxes until they are small enough or good enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.errors import ModelError
from regularize.lie.screw import Array, read_only
from regularize.metamodels.boxes import Metamodel
from regularize.metamodels.fit import design, estimate, fit, in_inputs
from regularize.metamodels.samples import Samples, Settings
from regularize.metamodels.tree import Growth, Integers
from regularize.model.diagnostic import Diagnostic

#: Intervals in every direction that the coarsest boxes and grids have: fewer samples could miss the
#: workspace, or what the dynamics do in it.
FIRST = 4
#: Share of the tolerance that the estimate may take, since it knows the leading term only.
SHARE = 0.7


class Builder:
    """Grows one metamodel.

    Args:
        settings: What it is to be.
    """

    def __init__(self, settings: Settings) -> None:
        """Start with one box."""
        self.settings, self.s = settings, len(settings.inputs)
        self.growth = Growth(settings.lower, settings.upper)
        self.samples = Samples(settings)
        self.size = settings.size / (settings.upper - settings.lower)

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
            blind = ~known.any(axis=1) & (width.max(axis=1) <= 1.0 / FIRST)
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
        while len(self.samples) < self.settings.max_samples:
            errors, _ = self._estimated()
            bad = np.flatnonzero(errors.sum(axis=1) > SHARE * self.settings.tolerance)
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

    def _estimated(self) -> tuple[Array, Array]:
        """Errors by direction (L, s), and weights on -1 to 1 (L, k, t)."""
        values = self._values(self.growth.leaves)
        weights = fit(values, self.s)
        return estimate(self.growth.finished(), weights, values, self.samples.scale), weights

    def _fitted(self) -> Metamodel:
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
