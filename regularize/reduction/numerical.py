r"""Rows that are removed on numerical evidence, where a choice of them serves everywhere.

What depends on other rows has to be chosen, once for all configurations, and a choice that is right
at one of them can be wrong at others: with a basis :math:`N(q)` of the combinations of rows that
vanish, rows D may go where :math:`N_D(q)` has full row rank. Two ways to choose are tried: rows
that are the clearest at the end of a walk; and those with the largest part in what vanishes at all
configurations, in the axes of each cut in which these parts differ the most, those configurations
weighing more at which it is least. Where a descent finds a place at which the rest is dependent,
that place is another configuration for the next choice. Where none serves, fewer rows go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from regularize.lie.arrays import Array, Coordinates, read_only
from regularize.mechanism.graph import ColumnId
from regularize.reduction.block import Block, Descents
from regularize.reduction.context import Context
from regularize.reduction.cuts import ReducedLoops, independent_rows, without_rows
from regularize.reduction.descent import Lowest
from regularize.reduction.mobility import CellMobility, generic_configurations
from regularize.tolerances import EXACT

#: Whether rows are removed on numerical evidence: not, where they are needed nowhere, or anyway.
Numerical: TypeAlias = bool | Literal["anyway"]


def numerically_reduced(
    context: Context, parts: Sequence[Block], mobility: CellMobility, *, anyway: bool = False
) -> list[Block]:
    """Return the blocks of a component without rows that are redundant where walks came by."""
    reduced = list(parts)
    if not any(part.surplus > 0 for part in parts):
        return reduced
    # What rests on configurations alone is looked at far away, too.
    loops, _ = context.loops(mobility.edges, [cut for part in parts for cut in part.cuts])
    q = context.assembly.q[loops.columns]
    far = generic_configurations(
        loops, q, mobility.tolerances, rng=context.rng(), walkers=6, steps=12
    )
    visited = np.concatenate([far.reshape(-1, loops.freedoms), mobility.configurations])
    mobility = replace(mobility, configurations=visited)
    for i, part in enumerate(parts):
        if part.surplus > 0:
            reduced[i] = _without_surplus(context, reduced, i, mobility, anyway)
    return reduced


def _without_surplus(
    context: Context, parts: Sequence[Block], i: int, mobility: CellMobility, anyway: bool
) -> Block:
    """Return block i without as many surplus rows as can go without a loss of rank anywhere."""
    part, count = parts[i], parts[i].surplus
    choices = _Choices(context, part, mobility)
    failed: list[tuple[Block, Lowest]] = []
    while count:
        for chosen in (choices.largest, choices.clearest, choices.largest, choices.largest):
            fewer = chosen(count)
            blocks = (*parts[:i], fewer, *parts[i + 1 :])
            place = Descents(context.graph, context.assembly.q, blocks, mobility).lowest
            if place is None or not place.missing:
                return replace(fewer, needed_at=failed[0][1] if count < part.surplus else None)
            failed.append((fewer, place))
            if chosen == choices.largest:
                choices.add(place)
        if anyway:
            return max(failed, key=lambda each: each[1].ratio)[0]
        count -= max(1, count // 4)
    return replace(part, needed_at=failed[0][1])


class _Choices:
    """Ways to choose the rows to drop from a block, by combinations of rows that vanish."""

    def __init__(self, context: Context, part: Block, mobility: CellMobility) -> None:
        self.context, self.part = context, part
        self.loops, self.cuts = context.loops(part.edges, part.cuts)
        self.last = np.array(context.assembly.q)
        self.last[context.graph.columns(mobility.edges)] = mobility.configurations[-1]
        owner = [(i, k) for i, c in enumerate(self.cuts) for k in range(c.kept + c.edge.freedoms)]
        self.free = [r for r, (i, k) in enumerate(owner) if k < self.cuts[i].kept]
        self.owner = np.array([owner[r][0] for r in self.free])
        columns = context.graph.columns(mobility.edges)
        places = [columns.index(ColumnId(c)) for c in self.loops.columns]
        self.vanishing = self._vanishing(mobility.configurations[:, places])

    def add(self, place: Lowest) -> None:
        """Add the combinations that vanish at one more configuration."""
        vanishing = self._vanishing(place.q[None, self.loops.columns])
        self.vanishing = np.concatenate([self.vanishing, vanishing])

    def clearest(self, count: int) -> Block:
        """Return the block without ``count`` rows that are the most dependent at a walk's end."""
        q, everywhere = self.last[self.loops.columns], range(len(self.cuts))
        rtol = self.context.rtol
        cuts = without_rows(self.cuts, self.loops, q, everywhere, count, "numerical", rtol)
        return replace(self.part, cuts=tuple(cuts))

    def largest(self, count: int, rounds: int = 8) -> Block:
        """Return the block without rows of the largest weight in all that vanishes, in rounds."""
        weights, best = np.ones(len(self.vanishing)), -1.0
        for _ in range(rounds):
            vanishing = self.vanishing * weights[:, None, None]
            together = np.einsum("nau,nbu->ab", vanishing, vanishing)
            turned = np.zeros_like(together)
            for i in np.unique(self.owner):
                places = np.ix_(self.owner == i, self.owner == i)
                turned[places] = np.linalg.eigh(together[places])[1]
            parts = np.einsum("ab,nau->bnu", turned, vanishing)
            chosen = independent_rows(parts.reshape(len(parts), -1), count)
            remaining = np.einsum("ab,nau->nbu", turned[:, chosen], self.vanishing)
            least = np.linalg.svd(remaining, compute_uv=False)[:, -1]
            if least.min(initial=1.0) > best:
                best, axes, dropped = float(least.min(initial=1.0)), turned, chosen
            weights /= np.sqrt(np.maximum(least, EXACT.apart))
        cuts = list(self.cuts)
        for i in np.unique(self.owner[dropped]):
            of_cut = np.flatnonzero(self.owner == i)
            rows = cuts[i].rows @ axes[np.ix_(of_cut, of_cut)]
            dropped_of_cut = np.isin(of_cut, dropped)
            numerical = np.hstack([cuts[i].numerical, rows[:, dropped_of_cut]])
            kept = read_only(rows[:, ~dropped_of_cut])
            cuts[i] = replace(cuts[i], rows=kept, numerical=read_only(numerical))
        return replace(self.part, cuts=tuple(cuts))

    def _vanishing(self, q: Coordinates) -> Array:
        """Return combinations of kept rows that vanish, orthonormal, shape (N, rows, k)."""
        rows = ReducedLoops(self.loops, self.cuts).residual_jacobian(self.loops.state(q))
        u, s, _ = np.linalg.svd(rows * self.loops.units)
        full = s[:, self.part.rank - 1] > self.context.rtol * s[:, 0]
        return np.asarray(u[full][:, self.free, self.part.rank :])
