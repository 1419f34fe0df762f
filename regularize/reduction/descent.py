r"""Places where kept rows are nearly dependent, found by going downhill.

A machine's configurations are closed; on them the smallest singular value of the kept rows is
followed downhill, relative to that of all closure equations of the same rank. Where it comes near
zero while all equations keep their rank, the kept rows let something go that the machine holds.
Random walks seldom meet such surfaces.

Near such a surface the ratio goes to zero linearly, so to first order it is as far away as one over
the slope of its logarithm. That chooses where to begin and how far to step, and tells where there
is none in reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import (
    Array,
    Coordinates,
    Indices,
    Jacobian,
    Rates,
    Residual,
    Screw,
    Wrench,
)
from regularize.loops.continuation import Continuation
from regularize.loops.kinematics import LoopKinematics, State, sized_loops
from regularize.loops.projection import decomposed
from regularize.mechanism.graph import EdgeId, Graph
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.mobility import CellMobility
from regularize.tolerances import EXACT, TINY


@dataclass(frozen=True, eq=False)
class Lowest:
    """The place where a search found kept rows nearest to losing rank."""

    q: Coordinates  # its coordinates, shape (n,)
    ratio: float  # smallest singular value of the kept rows over that of all equations
    firm: float  # the latter, over its median where descents could begin

    @property
    def missing(self) -> bool:
        """Whether the kept rows lose rank there, or nearly so."""
        return self.ratio < math.sqrt(EXACT.apart)


@dataclass(frozen=True)
class Effort:
    """Number and length of the searches for the lowest place."""

    descents: int = 3  # number of descents; they begin where the ratio may be zero the nearest
    steps: int = 8  # largest number of steps of each
    #: Distance of the next zero, in radians and lengths, at which a descent ends.
    hopeless: float = 3.0


#: Longest step, in radians and lengths.
LARGEST = 0.25
#: Part of the median below which the machine itself is near a singular configuration, or a
#: parallelogram nearly flat: descents do not go there.
FIRM = 0.2
#: Of a second look, where a first one came near or nothing is proved.
THOROUGH = Effort(8, 60, 20.0)


@dataclass(frozen=True, eq=False)
class _Look:
    """Ratio of smallest singular values, and its slope, at N configurations."""

    q: Coordinates  # the configurations, shape (N, n)
    height: Array  # logarithm of the ratio, infinite where nothing is firm, shape (N,)
    kept: Array  # smallest singular values of the kept rows, shape (N,)
    every: Array  # those of all equations, shape (N,)
    flat: Array  # the least by which a parallelogram keeps its rank, shape (N,)
    slope: Rates  # derivatives of the height by scaled velocities of the machine, shape (N, n)

    @property
    def away(self) -> Array:
        """Distance to where the ratio is zero to first order, in radians and lengths, (N,)."""
        # Slopes go to infinity where the ratio goes to zero: their squares would overflow.
        return np.asarray(1.0 / np.maximum(np.hypot.reduce(self.slope, axis=1), TINY))

    def __getitem__(self, chosen: Indices) -> _Look:
        return _Look(*(array[chosen] for array in vars(self).values()))

    def __setitem__(self, chosen: Indices, other: _Look) -> None:
        for mine, new in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[chosen] = new


class Descent:
    """Searches for configurations where the kept rows of a component lose rank, by descent."""

    def __init__(
        self,
        graph: Graph,
        coupled: Graph,
        q: Coordinates,
        cell: CellMobility,
        cuts: Iterable[Cut],
        parallelograms: Iterable[Sequence[EdgeId]] = (),
    ) -> None:
        """Take a component's equations, and the kept rows of a graph that rows may couple."""
        cut_at, inside = {c.edge.index: c for c in cuts}, set(cell.edges)
        tree = [e for e in cell.edges if e not in cut_at]
        loops, self.plain = (sized_loops(g, q, cell.edges, tree) for g in (coupled, graph))
        self.rows = ReducedLoops(loops, [cut_at[chord] for chord in loops.chords])
        self.rank = cell.generic.rank
        # Steps keep all equations: they are the machine's own motions.
        self.machine = Continuation(self.plain, cell.tolerances)
        flat = [loop for loop in parallelograms if inside.issuperset(loop)]
        columns = [[c for e in loop for c in self.plain.local(e)] for loop in flat]
        self._parallelograms = np.array(columns, dtype=int).reshape(-1, 4)

    def smallest(self, q: Coordinates) -> tuple[Array, Array]:
        """Return the smallest singular values of kept rows and of all equations, (N,) each."""
        both = [np.linalg.svd(rows, compute_uv=False) for rows in self._both(self.plain.state(q))]
        last = self._last(both[0].shape[1])
        kept, every = (np.asarray(values[:, last]) for values in both)
        return kept, every

    def lowest(self, starts: Coordinates, effort: Effort) -> Lowest | None:
        """Return the lowest place below some closed configurations; None without firm ones."""
        look = self._look(starts)
        full = look.every > self.machine.tolerances.same
        if not full.any():
            return None
        median, flat = (_median(values[full]) for values in (look.every, look.flat))
        firmest, flattest = FIRM * median, FIRM * flat
        look.height[(look.every < firmest) | (look.flat < flattest)] = np.inf
        # Begin at the lowest place, and at those that are the nearest to a zero.
        away = np.where(np.isfinite(look.height), look.away, np.inf)
        nearest = np.argsort(away, kind="stable")[: effort.descents]
        look = look[np.array(sorted({int(np.argmin(look.height)), *nearest.tolist()}))]
        sizes = np.full(len(look.q), LARGEST)
        going = np.arange(len(look.q))
        for _ in range(effort.steps):
            low = look.height < np.log(EXACT.same)
            still = ~low & (look.away < effort.hopeless) & (sizes > self.machine.tolerances.apart)
            going = going[(still & np.isfinite(look.height))[going]]
            if not len(going):
                break
            current = look[going]
            tried, first = self._ahead(current, sizes[going], firmest, flattest)
            best = np.argmin([trial.height for trial in tried], axis=0)
            for k, trial in enumerate(tried):
                better = (best == k) & (trial.height < current.height)
                look[going[better]] = trial[np.flatnonzero(better)]
                sizes[going[better]] = np.minimum(LARGEST, 2.5 * 0.4**k * first[better])
                sizes[going[(best == k) & ~better]] = 0.06 * first[(best == k) & ~better]
        k = int(np.argmin(look.height))
        kept, every = float(look.kept[k]), float(look.every[k])
        return Lowest(look.q[k], kept / every, every / median)

    def _ahead(
        self, look: _Look, largest: Array, firm: float, flat: float
    ) -> tuple[list[_Look], Array]:
        """Take three steps of different lengths downhill; return looks there, and the longest."""
        norm = np.linalg.norm(look.slope, axis=1)
        first = np.minimum(largest, 1.0 / norm)
        longest = -look.slope * (first / norm)[:, None]
        steps = np.concatenate([longest, 0.4 * longest, 0.16 * longest])
        begin = np.tile(look.q, (3, 1))
        reached = self.machine.step(begin, steps, np.full(len(begin), self.rank))
        tried = self._look(np.where(reached.good[:, None], reached.q, begin))
        lost = ~reached.good | (tried.every < firm) | (tried.flat < flat)
        tried.height[lost] = np.inf
        return [tried[part] for part in np.split(np.arange(len(begin)), 3)], first

    def _last(self, count: int) -> int:
        """Return the place of the smallest singular value that counts, among those of kept rows."""
        # Walks take the rounding of a file for a constraint: kept rows may be fewer than the rank.
        return min(self.rank, count) - 1

    def _both(self, state: State) -> tuple[Jacobian, Jacobian]:
        """Return the matrices of the kept rows and of all equations on scaled velocities."""
        units = self.plain.units[..., None, :]
        return self.rows.residual_jacobian(state) * units, self.plain.jacobian(state) * units

    def _look(self, q: Coordinates) -> _Look:
        """Evaluate the logarithmic ratio, its slope and the margins at configurations (N, n)."""
        state, units = self.plain.state(q), self.plain.units
        kept, every = (decomposed(rows) for rows in self._both(state))
        last = self._last(kept[1].shape[1])
        least, other = (np.maximum(s[:, last], TINY) for _, s, _ in (kept, every))
        height = np.log(least) - np.log(other)
        down = slope_of_kept(self.rows, state, kept[0][..., last], kept[2][:, last] * units)
        down /= least[:, None]
        along = slope_of_all(self.plain, state, every[0][..., last], every[2][:, last] * units)
        down -= along / other[:, None]
        down *= units
        rows = every[2][:, : self.rank]
        down -= np.einsum("nrk,nr->nk", rows, np.einsum("nrk,nk->nr", rows, down))
        return _Look(np.array(q), height, least, other, self._flatness(state), down)

    def _flatness(self, state: State) -> Array:
        """Return the third of four singular values of the hinges of the flattest parallelogram."""
        hinges = self.plain.scaled(state.screws)[:, self._parallelograms]
        third = np.linalg.svd(hinges, compute_uv=False)[..., 2]
        return np.asarray(third.min(axis=1, initial=1.0))


def _median(values: Array) -> float:
    """Return the median of some numbers without loading numpy's masked arrays."""
    middle = np.sort(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]
    return float(middle.mean())


def slope_of_all(loops: LoopKinematics, state: State, left: Residual, right: Rates) -> Coordinates:
    """Return derivatives by the coordinates of ``left`` · all closure rows · ``right``."""
    count = 6 * len(loops.chords)
    force, moment = np.moveaxis(left[:, :count].reshape(len(left), -1, 2, 3), 2, 0)
    force = force / loops.length
    wrenches = np.concatenate([force, moment + screw.cross(loops.center, force)], axis=-1)
    return _on_screws(loops, state, wrenches, right)


def slope_of_kept(rows: ReducedLoops, state: State, left: Residual, right: Rates) -> Coordinates:
    """Return derivatives by the coordinates of ``left`` · kept rows · ``right``."""
    loops = rows.loops
    wrenches = rows.wrenches(state, left)
    result = _on_screws(loops, state, wrenches, right)
    around = np.einsum("lk,nki->nli", loops.incidence, state.screws * right[..., None])
    nodes = loops.movers[[loops.row(cut.node) for cut in rows.cuts]]
    carried = np.einsum("lk,nli->nki", nodes, _on_twist(around, wrenches))
    return np.asarray(result - np.einsum("nki,nki->nk", state.screws, carried))


def _on_screws(loops: LoopKinematics, state: State, wrenches: Wrench, right: Rates) -> Coordinates:
    """Return derivatives of the wrenches' work on moving screws, wrenches (N, L, 6) at rest."""
    on_screws = np.einsum("lk,nli->nki", loops.incidence, wrenches) * right[..., None]
    carried = loops.carriers.T @ _on_twist(state.screws, on_screws)
    return np.asarray(np.einsum("nki,nki->nk", state.screws, carried))


def _on_twist(screws: Screw, wrenches: Wrench) -> Wrench:
    """Return the wrench whose work on a twist is a wrench's work on [screw, twist]."""
    v, w = screws[..., :3], screws[..., 3:]
    force, moment = wrenches[..., :3], wrenches[..., 3:]
    return np.concatenate(
        [screw.cross(w, force), screw.cross(v, force) + screw.cross(w, moment)], axis=-1
    )
