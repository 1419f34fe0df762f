"""Coupled components of one shape, whose walks are made together: many loops for a few calls.

Where joints, cuts and kept rows hang together in the same way, equations differ in numbers alone.
A configuration carries the number of its component, so one walk follows all of them, each by the
random numbers that it would have seen alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array
from regularize.loops.continuation import Continuation, random_walks
from regularize.loops.kinematics import Indices, LoopKinematics, State
from regularize.reduction.cuts import ReducedLoops
from regularize.reduction.mobility import Trail, aside, clearest
from regularize.tolerances import Tolerances

#: Configurations of all components that are walked together: no more fit into a cache.
TOGETHER = 1024


def stacked(values: Sequence[Any]) -> Callable[[Indices], Any]:
    """What makes of values of one shape those of chosen numbers, one for each configuration.

    Arrays get a leading axis; of other objects those attributes that ``geometry`` names.
    """
    first = values[0]
    if isinstance(first, np.ndarray):
        every = np.array(values)
        return lambda which: every[which]
    if isinstance(first, (tuple, list)):
        parts = [stacked(part) for part in zip(*values, strict=True)]
        return lambda which: type(first)([part(which) for part in parts])
    names = getattr(first, "geometry", ())
    own = {name: stacked([getattr(value, name) for value in values]) for name in names}

    def chosen(which: Indices) -> Any:
        result = copy(first)
        vars(result).update({name: part(which) for name, part in own.items()})
        return result

    return chosen if own else lambda _: first


def measured(values: Sequence[LoopKinematics]) -> Callable[[Indices], LoopKinematics]:
    """The same of loops, with the sizes, centres and units of each."""
    own, lengths = stacked(values), np.array([each.length for each in values])[:, None, None]
    centers = np.array([each.center for each in values])[:, None]
    units = np.array([each.units for each in values])

    def chosen(which: Indices) -> LoopKinematics:
        result: LoopKinematics = own(which)
        vars(result).update(length=lengths[which], center=centers[which], units=units[which])
        return result

    return chosen


@dataclass(frozen=True, eq=False)
class At:
    """Configurations of several components.

    Attributes:
        which: Number of the component of each, shape (N,).
        state: Poses and screws.
    """

    which: Indices
    state: State

    def __getitem__(self, chosen: slice | NDArray[np.bool_]) -> At:
        """Some of the configurations."""
        return At(self.which[chosen], self.state[chosen])


class Abreast:
    """Kept rows of coupled components of one shape, as one constraint set.

    Configurations end with the number of their component; velocities are scaled.

    Args:
        rows: Those of each, whose ``shape`` is the same.
    """

    def __init__(self, rows: Sequence[ReducedLoops]) -> None:
        """Stack what differs."""
        self.units = np.ones_like(rows[0].units)
        self._units = np.array([each.units for each in rows])
        self._loops: Callable[[Indices], LoopKinematics] = stacked([each.loops for each in rows])
        self._rows: Callable[[Indices], ReducedLoops] = stacked(rows)

    def state(self, q: Array) -> At:
        """Poses and screws at configurations (N, n + 1)."""
        which = q[:, -1].astype(np.intp)
        return At(which, self._loops(which).state(q[:, :-1]))

    def residual(self, at: At) -> Array:
        """Kept components of the closure errors, shape (N, m)."""
        return self._rows(at.which).residual(at.state)

    def residual_jacobian(self, at: At) -> Array:
        """Kept rows on scaled velocities, shape (N, m, n)."""
        rows = self._rows(at.which).residual_jacobian(at.state)
        return np.asarray(rows * self._units[at.which, None])

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configurations after a unit of time at constant velocities, shape (N, n + 1)."""
        moved = q[:, :-1] + velocity * self._units[q[:, -1].astype(np.intp)]
        return np.hstack([moved, q[:, -1:]])


def trails_abreast(
    walks: Sequence[tuple[LoopKinematics, Array, Array]],
    starts: Sequence[Array],
    rtol: float,
    rng: Callable[[], np.random.Generator],
) -> Iterator[Trail]:
    """What walks of components of one shape met.

    Args:
        walks: Of each component all its loops, the signs with which short independent ones pass the
            coordinates, shape (L, n), and configurations, shape (steps, walkers, n).
        starts: Where the walks began, shape (n,) each.
        rtol: Relative tolerance of ranks.
        rng: Makes the source of random numbers, which are the same for all.
    """
    steps, walkers, n = walks[0][2].shape
    count = 1 + steps * walkers
    for k in range(0, len(walks), size := max(1, TOGETHER // count)):
        every, passed, visited = zip(*walks[k : k + size], strict=True)
        signs, loops = np.array(passed), measured(every)
        begin = np.array(starts[k : k + size])[:, None]
        q = np.concatenate([begin, np.array(visited).reshape(-1, count - 1, n)], axis=1)

        own, state, values = _looked(loops, signs, q)
        home = state[np.repeat(np.arange(len(q)) * count, count)]
        errors = np.abs(own.residual(state)).max(axis=1).reshape(-1, count)
        ways = own.displacements(home, state).reshape(-1, count, 2)
        best = [clearest(each, rtol)[0] for each in values]
        near = aside(n, rng()) * np.array([each.units for each in every])[:, None]
        _, _, beside = _looked(loops, signs, q[np.arange(len(q)), best][:, None] + near)
        met = errors[:, 1:].max(axis=1).tolist(), ways[:, 1:].max(axis=1), values, beside
        yield from map(Trail, visited, *met)


def _looked(
    loops: Callable[[Indices], LoopKinematics], signs: Array, q: Array
) -> tuple[LoopKinematics, State, Array]:
    """Loops and states at configurations (G, N, n) of G components; singular values (G, N, k)."""
    which = np.repeat(np.arange(len(q)), q.shape[1])
    own = loops(which)
    state = own.state(q.reshape(-1, q.shape[2]))
    rows = own.jacobian(state, signs[which]) * own.units[:, None]
    values = np.asarray(np.linalg.svd(rows, compute_uv=False))
    return own, state, values.reshape(*q.shape[:2], -1)


def walks_abreast(
    rows: Sequence[ReducedLoops],
    starts: Sequence[Array],
    tolerances: Tolerances,
    *,
    walkers: int,
    steps: int,
    rng: Callable[[], np.random.Generator],
) -> list[Array]:
    """Random walks along the kept rows of each component, shape (steps, walkers, n) each.

    Args:
        rows: Kept rows of components whose ``shape`` is the same.
        starts: Where the walkers of each begin, shape (n,).
        tolerances: What counts as closed and as dependent in all of them.
        walkers: Number of walkers of each.
        steps: Steps of each walker.
        rng: Makes the source of random numbers, which are the same for all.
    """
    size, found = max(1, TOGETHER // walkers), list[Array]()
    for k in range(0, len(rows), size):
        together = rows[k : k + size]
        begin = np.column_stack([starts[k : k + size], np.arange(len(together))])
        along = Continuation(Abreast(together), tolerances)
        visited = random_walks(along, begin, walkers=walkers, steps=steps, rng=rng())
        apart = visited[..., :-1].reshape(steps, len(together), walkers, begin.shape[1] - 1)
        found += [apart[:, i] for i in range(len(together))]
    return found
