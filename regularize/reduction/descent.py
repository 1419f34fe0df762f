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
from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.loops.continuation import Continuation
from regularize.loops.kinematics import LoopKinematics, State, sized_loops
from regularize.loops.least_norm import decomposed
from regularize.mechanism.graph import EdgeId, Graph
from regularize.reduction.abreast import TOGETHER, measured, stacked
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.mobility import CellMobility
from regularize.tolerances import EXACT, TINY, Tolerances


@dataclass(frozen=True, eq=False)
class Lowest:
    """The lowest place that descents came to.

    Attributes:
        q: Its coordinates, shape (n,).
        ratio: Smallest singular value of the kept rows over that of all equations.
        firm: The latter, over its median where descents could begin.
    """

    q: Array
    ratio: float
    firm: float

    @property
    def missing(self) -> bool:
        """Whether rows are missing there, or nearly so."""
        return self.ratio < math.sqrt(EXACT.apart)


@dataclass(frozen=True)
class Effort:
    """How much is done to find the lowest place.

    Attributes:
        descents: Number of descents; they begin where the ratio may be zero the nearest.
        steps: Largest number of steps of each.
        hopeless: Distance of the next zero, in radians and lengths, at which a descent ends.
    """

    descents: int = 3
    steps: int = 8
    hopeless: float = 3.0


#: Of a second look, where a first one came near or nothing is proved.
THOROUGH = Effort(8, 60, 20.0)


@dataclass(frozen=True, eq=False)
class Look:
    """What is seen at N configurations.

    Attributes:
        q: The configurations, shape (N, n).
        height: Logarithm of the ratio, infinite where nothing is firm, shape (N,).
        kept: Smallest singular values of the kept rows, shape (N,).
        every: Those of all equations, shape (N,).
        flat: The least by which a parallelogram keeps its rank, shape (N,).
        slope: Derivatives of the height by scaled velocities of the machine, shape (N, n).
    """

    q: Array
    height: Array
    kept: Array
    every: Array
    flat: Array
    slope: Array

    @property
    def away(self) -> Array:
        """How far away the ratio is zero, to first order, in radians and lengths, shape (N,)."""
        # Slopes go to infinity where the ratio goes to zero: their squares would overflow.
        return np.asarray(1.0 / np.maximum(np.hypot.reduce(self.slope, axis=1), TINY))

    def __getitem__(self, chosen: NDArray[np.intp]) -> Look:
        return Look(*(array[chosen] for array in vars(self).values()))

    def __setitem__(self, chosen: NDArray[np.intp], other: Look) -> None:
        for mine, new in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[chosen] = new


class Descent:
    """Follows the smallest singular value of the kept rows of a coupled component downhill.

    Args:
        loops: Kinematics of the component, chords at the cuts, with the rows that hold bodies.
        cuts: The cuts, in the order of the chords.
        plain: The same kinematics without these rows.
        rank: Rank of all closure equations.
        tolerances: What counts as closed.
        parallelograms: Loops of four hinges that must not go flat: the proof ends there.
    """

    def __init__(
        self,
        loops: LoopKinematics,
        cuts: Sequence[Cut],
        plain: LoopKinematics,
        rank: int,
        tolerances: Tolerances,
        parallelograms: Iterable[Sequence[EdgeId]] = (),
    ) -> None:
        """Remember the equations."""
        self.rows, self.plain, self.rank = ReducedLoops(loops, cuts), plain, rank
        # Steps keep all equations: they are the machine's own motions.
        self.machine = Continuation(plain, tolerances)
        columns = [[c for e in loop for c in plain.local(e)] for loop in parallelograms]
        self._parallelograms = np.array(columns, dtype=int).reshape(-1, 4)

    @classmethod
    def of(
        cls,
        graph: Graph,
        coupled: Graph,
        q: Array,
        cell: CellMobility,
        cuts: Iterable[Cut],
        parallelograms: Iterable[Sequence[EdgeId]] = (),
    ) -> Descent:
        """The descent over a coupled component.

        Args:
            graph: The mechanism's graph.
            coupled: The same with rows that hold bodies in groups among its couplings.
            q: Assembled coordinates of the mechanism, shape (n,).
            cell: The coupled component.
            cuts: Cuts of the mechanism.
            parallelograms: Loops of the mechanism that must not go flat.
        """
        cut, inside = {c.edge.index: c for c in cuts}, set(cell.edges)
        tree = [e for e in cell.edges if e not in cut]
        loops, plain = (sized_loops(g, q, cell.edges, tree) for g in (coupled, graph))
        own = [loop for loop in parallelograms if inside.issuperset(loop)]
        ordered = [cut[c] for c in loops.chords]
        return cls(loops, ordered, plain, cell.generic.rank, cell.tolerances, own)

    def smallest(self, q: Array) -> tuple[Array, Array]:
        """Smallest singular values of the kept rows and of all equations, shape (N,) each."""
        found = [np.linalg.svd(rows, compute_uv=False) for rows in self._both(self.plain.state(q))]
        last = self._last(found[0].shape[1])
        kept, every = (np.asarray(values[:, last]) for values in found)
        return kept, every

    def lowest(
        self,
        starts: Array,
        effort: Effort,
        *,
        largest: float = 0.25,
        firm: float = 0.2,
        alone: bool = False,
        seen: Look | None = None,
    ) -> Lowest | None:
        """The lowest place that descents from some closed configurations come to.

        Args:
            starts: Configurations, shape (N, n).
            effort: How much to do.
            largest: Largest step, in radians and lengths.
            firm: Part of the median at the starts below which the machine itself is near a
                singular configuration, or a parallelogram nearly flat; no descent goes there.
            alone: Whether the kept rows are followed by themselves, to where the machine itself
                becomes singular.
            seen: What is seen at the starts, where that is known.

        Returns:
            The place; None where all equations are dependent at every start.
        """
        seen = self._look(starts, alone) if seen is None else seen
        full = seen.every > self.machine.tolerances.same
        if not full.any():
            return None
        median, flat = (_median(found[full]) for found in (seen.every, seen.flat))
        firmest, flattest = 0.0 if alone else firm * median, firm * flat
        seen.height[(seen.every < firmest) | (seen.flat < flattest)] = np.inf
        seen = seen[self._beginning(seen, effort)]
        sizes = np.full(len(seen.q), largest)
        going = np.arange(len(seen.q))
        for _ in range(effort.steps):
            low = seen.height < np.log(EXACT.same)
            still = ~low & (seen.away < effort.hopeless) & (sizes > self.machine.tolerances.apart)
            going = going[(still & np.isfinite(seen.height))[going]]
            if not len(going):
                break
            here = seen[going]
            tried, first = self._ahead(here, sizes[going], firmest, flattest, alone)
            best = np.argmin([each.height for each in tried], axis=0)
            for k, each in enumerate(tried):
                better = (best == k) & (each.height < here.height)
                seen[going[better]] = each[np.flatnonzero(better)]
                sizes[going[better]] = np.minimum(largest, 2.5 * 0.4**k * first[better])
                sizes[going[(best == k) & ~better]] = 0.06 * first[(best == k) & ~better]
        k = int(np.argmin(seen.height))
        kept, every = float(seen.kept[k]), float(seen.every[k])
        return Lowest(seen.q[k], kept / every, every / median)

    @staticmethod
    def _beginning(seen: Look, effort: Effort) -> NDArray[np.intp]:
        """Where to begin: the lowest place, and those that are the nearest to a zero."""
        away = np.where(np.isfinite(seen.height), seen.away, np.inf)
        nearest = np.argsort(away, kind="stable")[: effort.descents]
        return np.array(sorted({int(np.argmin(seen.height)), *nearest.tolist()}))

    def _ahead(
        self, here: Look, largest: Array, firm: float, flat: float, alone: bool
    ) -> tuple[list[Look], Array]:
        """What three steps of different lengths downhill lead to, and the longest of them, (N,)."""
        norm = np.linalg.norm(here.slope, axis=1)
        first = np.minimum(largest, 1.0 / norm)
        way = -here.slope * (first / norm)[:, None]
        steps = np.concatenate([way, 0.4 * way, 0.16 * way])
        begin = np.tile(here.q, (3, 1))
        reached = self.machine.step(begin, steps, np.full(len(begin), self.rank))
        tried = self._look(np.where(reached.good[:, None], reached.q, begin), alone)
        lost = ~reached.good | (tried.every < firm) | (tried.flat < flat)
        tried.height[lost] = np.inf
        return [tried[part] for part in np.split(np.arange(len(begin)), 3)], first

    def _last(self, count: int) -> int:
        """Place of the smallest singular value that counts, among so many of the kept rows.

        There are fewer kept rows than the rank where other equations differ from what the kept ones
        imply by the rounding of the file alone, which walks take for a constraint.
        """
        return min(self.rank, count) - 1

    def _both(self, state: State) -> tuple[Array, Array]:
        """Kept rows and all equations on scaled velocities, shape (N, m, n) each."""
        units = self.plain.units[..., None, :]
        return self.rows.residual_jacobian(state) * units, self.plain.jacobian(state) * units

    def _look(self, q: Array, alone: bool) -> Look:
        """Heights and slopes at configurations (N, n)."""
        state, units = self.plain.state(q), self.plain.units
        kept, every = (decomposed(rows) for rows in self._both(state))
        last = self._last(kept[1].shape[1])
        least, other = (np.maximum(s[:, last], TINY) for _, s, _ in (kept, every))
        height = np.log(least)
        down = slope_of_kept(self.rows, state, kept[0][..., last], kept[2][:, last] * units)
        down /= least[:, None]
        if not alone:
            height -= np.log(other)
            along = slope_of_all(self.plain, state, every[0][..., last], every[2][:, last] * units)
            down -= along / other[:, None]
        down *= units
        rows = every[2][:, : self.rank]
        down -= np.einsum("nrk,nr->nk", rows, np.einsum("nrk,nk->nr", rows, down))
        return Look(np.array(q), height, least, other, self._flatness(state), down)

    def _flatness(self, state: State) -> Array:
        """Smallest singular value of the hinges of a parallelogram, three of whose four count."""
        hinges = self.plain.scaled(state.screws)[:, self._parallelograms]
        found = np.linalg.svd(hinges, compute_uv=False)[..., 2]
        return np.asarray(found.min(axis=1, initial=1.0))


def looks(every: Sequence[Descent], starts: Sequence[Array]) -> list[Look]:
    """What descents see where they begin, those of one shape together.

    Args:
        every: The descents.
        starts: Configurations, shape (N, n) each.
    """
    found: list[Look | None] = [None] * len(every)
    alike: dict[Hashable, list[int]] = {}
    for i, down in enumerate(every):
        rows = down.rows
        if rows.shape and rows.loops.graph is down.plain.graph and not down._parallelograms.size:
            alike.setdefault((rows.shape, down.rank, len(starts[i])), []).append(i)
    for members in alike.values():
        size = max(1, TOGETHER // len(starts[members[0]]))
        for chosen in (members[k : k + size] for k in range(0, len(members), size)):
            which = np.repeat(np.arange(len(chosen)), len(starts[chosen[0]]))
            together = copy(every[chosen[0]])
            together.rows = stacked([every[i].rows for i in chosen])(which)
            together.plain = measured([every[i].plain for i in chosen])(which)
            look = together._look(np.concatenate([starts[i] for i in chosen]), alone=False)
            for k, i in enumerate(chosen):
                found[i] = look[np.flatnonzero(which == k)]
    return [
        down._look(q, alone=False) if look is None else look
        for down, q, look in zip(every, starts, found, strict=True)
    ]


def _median(values: Array) -> float:
    """The median of some numbers; that of numpy loads its masked arrays first."""
    middle = np.sort(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]
    return float(middle.mean())


def slope_of_all(loops: LoopKinematics, state: State, left: Array, right: Array) -> Array:
    """Derivatives of ``left`` times all closure equations times ``right``, shape (N, n).

    Args:
        loops: The loops.
        state: Their state at closed configurations.
        left: Numbers for the rows of ``loops.jacobian``, shape (N, m).
        right: Velocities, shape (N, n).
    """
    count = 6 * len(loops.chords)
    force, moment = np.moveaxis(left[:, :count].reshape(len(left), -1, 2, 3), 2, 0)
    force = force / loops.length
    wrenches = np.concatenate([force, moment + screw.cross(loops.center, force)], axis=-1)
    return _on_screws(loops, state, wrenches, right)


def slope_of_kept(rows: ReducedLoops, state: State, left: Array, right: Array) -> Array:
    """Derivatives of ``left`` times the kept rows times ``right``, shape (N, n).

    Args:
        rows: The kept rows; each is constant in a frame that moves with a body.
        state: State of their loops at closed configurations.
        left: Numbers for the rows, shape (N, m).
        right: Velocities, shape (N, n).
    """
    loops = rows.loops
    wrenches = rows.wrenches(state, left)
    result = _on_screws(loops, state, wrenches, right)
    around = np.einsum("lk,nki->nli", loops.incidence, state.screws * right[..., None])
    nodes = loops.movers[[loops.row(cut.node) for cut in rows.cuts]]
    carried = np.einsum("lk,nli->nki", nodes, _done(around, wrenches))
    return np.asarray(result - np.einsum("nki,nki->nk", state.screws, carried))


def _on_screws(loops: LoopKinematics, state: State, wrenches: Array, right: Array) -> Array:
    """Derivatives by the motions that carry the screws, wrenches (N, L, 6) standing still."""
    on_screws = np.einsum("lk,nli->nki", loops.incidence, wrenches) * right[..., None]
    carried = loops.carriers.T @ _done(state.screws, on_screws)
    return np.asarray(np.einsum("nki,nki->nk", state.screws, carried))


def _done(screws: Array, wrenches: Array) -> Array:
    """What has to act on a twist to do the work that a wrench does on its bracket with a screw."""
    v, w = screws[..., :3], screws[..., 3:]
    force, moment = wrenches[..., :3], wrenches[..., 3:]
    return np.concatenate(
        [screw.cross(w, force), screw.cross(v, force) + screw.cross(w, moment)], axis=-1
    )
