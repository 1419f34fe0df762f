"""Ranks, velocities and self-stress of many loops, from those of each.

Each loop by itself has a small matrix, whose singular values tell what its own joints leave
dependent. What is left of all loops together is independent where the factors of its Gram matrix
say so clearly; then ranks add up. Elsewhere the matrices are decomposed as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.loops.block_rows import BlockRows, Blocks, GramFactors
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId
from regularize.tolerances import TINY

Key = TypeVar("Key")
#: Coordinates that a loop passes, and their signs.
Passed: TypeAlias = tuple[list[int], list[int]]


@dataclass(frozen=True, eq=False)
class OwnRows:
    """What some loops of one size say by themselves.

    Attributes:
        chosen: Which loops, shape (G,).
        columns: Their coordinates, shape (G, k).
        left: Combinations of the six equations, those with large singular values first, (G, 6, 6);
            the last ones are wrenches dual to the scaled twists of all loops.
        values: Singular values, shape (G, min(6, k)).
        right: What the combinations say of the coordinates, shape (G, min(6, k), k).
    """

    chosen: NDArray[np.intp]
    columns: NDArray[np.intp]
    left: Array
    values: Array
    right: Array


class LoopRanks:
    """Ranks of the equations of many loops at one configuration, from those of each.

    Args:
        loops: Kinematics of the loops.
        cycles: Their short independent loops.
        state: Their state at the configuration.
        rtol: Relative tolerance of ranks.
        couplings: Whether couplings count as equations.
        passed: Coordinates and signs of every loop, where they are known.

    Attributes:
        smallest: Size of the smallest loop in metres.
    """

    def __init__(
        self,
        loops: LoopKinematics,
        cycles: Sequence[Cycle],
        state: State,
        rtol: float,
        *,
        couplings: bool = True,
        passed: Sequence[Passed] | None = None,
    ) -> None:
        """Decompose the equations of every loop."""
        self.loops, self.cycles, self.rtol = loops, cycles, rtol
        self._coupled, self._q = len(loops.coupling) if couplings else 0, state.q
        screws = loops.scaled(state.screws[0])
        passed = _passed(loops, cycles) if passed is None else passed
        own, self.smallest = self._own_measures(state)
        self.own: list[OwnRows] = []
        for chosen in alike([len(columns) for columns, _ in passed]):
            columns = np.array([passed[i][0] for i in chosen], dtype=int)
            signs = np.array([passed[i][1] for i in chosen])
            twists = own[chosen] @ np.swapaxes(signs[..., None] * screws[columns], 1, 2)
            u, s, vt = np.linalg.svd(twists * loops.units[columns][:, None])
            left = np.swapaxes(own[chosen], 1, 2) @ u
            self.own.append(OwnRows(chosen, columns, left, s, vt[:, : s.shape[1]]))

    def _own_measures(self, state: State) -> tuple[Array, float]:
        """Twists in the measures of all loops to those in each loop's own, and the smallest size.

        Alone a loop has its own size and place, whatever else hangs on it. Shape (L, 6, 6); metres.
        """
        loops = self.loops
        edges = [loops.graph.edges[e] for e in loops.edges]
        on_parent = state.T_world_node[0, [loops.row(edge.parent) for edge in edges]]
        points = (on_parent @ np.array([edge.T_parent for edge in edges]))[:, :3, 3]
        place = {e: i for i, e in enumerate(loops.edges)}
        result, smallest = np.tile(np.eye(6), (len(self.cycles), 1, 1)), loops.length
        for chosen in alike([cycle.length for cycle in self.cycles]):
            own = points[[[place[e] for e in self.cycles[i].edges] for i in chosen]]
            center = 0.5 * (own.min(axis=1) + own.max(axis=1))
            length = np.max(np.linalg.norm(own - center[:, None], axis=2), axis=1)
            length[length == 0.0] = loops.length
            result[chosen, :3, 3:] = screw.cross_matrix((loops.center - center) / loops.length)
            result[chosen, :3] *= (loops.length / length)[:, None, None]
            smallest = min(smallest, float(length.min()))
        return result, smallest

    @cached_property
    def ranks(self) -> NDArray[np.intp] | None:
        """Rank of every loop by itself, shape (L,); None where one of them is not clear."""
        found = np.zeros(len(self.cycles), dtype=int)
        for own in self.own:
            sizes = own.values / np.maximum(own.values[:, :1], TINY)
            if np.any((sizes > self.rtol**2) & (sizes < 100 * self.rtol)):
                return None
            found[own.chosen] = np.sum(sizes >= 100 * self.rtol, axis=1)
        return found

    @cached_property
    def factors(self) -> GramFactors | None:
        """Factors of what all loops say, a loop's own dependent rows left out; None: not clear."""
        if self.ranks is None:
            return None
        blocks, start = [], 0
        for own in self.own:
            ranks = self.ranks[own.chosen]
            for rank in np.unique(ranks[ranks > 0]):
                alike = ranks == rank
                rows = start + np.arange(rank * alike.sum()).reshape(-1, rank)
                start += rows.size
                blocks.append(Blocks(rows, own.columns[alike], own.right[None, alike, :rank]))
        if self._coupled:
            for b in coupling_blocks(self.loops, start, self._q):
                row = b.values * self.loops.units[b.columns]
                size = float(np.linalg.norm(row)) or 1.0  # a curve may be level here
                blocks.append(Blocks(b.rows, b.columns, row / size))
            start += self._coupled
        return BlockRows((start, self.loops.freedoms), blocks).factors(0)

    @property
    def rank(self) -> int | None:
        """Rank of all equations; None where it does not follow from those of the loops."""
        if self.factors is None or self.ranks is None:
            return None
        return int(self.ranks.sum()) + self._coupled

    def self_stress(self, edge: EdgeId) -> Array:
        """Wrenches that loops can bring into an edge while nothing gives way, shape (6, states).

        Where the loops' equations are independent of each other, self-stress goes round one loop.
        Wrenches are dual to the scaled twists of the loops' kinematics.
        """
        return np.hstack([np.zeros((6, 0)), *self._stresses.get(edge, ())])

    @cached_property
    def _stresses(self) -> dict[EdgeId, list[Array]]:
        found: dict[EdgeId, list[Array]] = {}
        if self.ranks is None:
            return found
        for own in self.own:
            ranks = self.ranks[own.chosen]
            for rank in np.unique(ranks[ranks < 6]):
                chosen = own.chosen[ranks == rank]
                states = np.linalg.qr(own.left[ranks == rank, :, rank:])[0]
                for which, own_states in zip(chosen, states, strict=True):
                    for e, sign in _directed(self.loops, self.cycles[which]):
                        found.setdefault(e, []).append(-sign * own_states)
        return found


def each_configuration(
    loops: LoopKinematics, q: Array, cycles: Sequence[Cycle], rtol: float
) -> list[LoopRanks]:
    """What the loops say one by one at configurations (N, n)."""
    state, passed = loops.state(q), _passed(loops, cycles)
    return [LoopRanks(loops, cycles, state[i : i + 1], rtol, passed=passed) for i in range(len(q))]


def alike(keys: Sequence[Key]) -> list[NDArray[np.intp]]:
    """Positions of equal keys."""
    found: dict[Key, list[int]] = {}
    for i, key in enumerate(keys):
        found.setdefault(key, []).append(i)
    return [np.array(chosen) for chosen in found.values()]


def _passed(loops: LoopKinematics, cycles: Sequence[Cycle]) -> list[Passed]:
    return [columns_of(loops, _directed(loops, cycle)) for cycle in cycles]


def _directed(loops: LoopKinematics, cycle: Cycle) -> list[tuple[EdgeId, int]]:
    return [(e, cycle.direction(loops.graph, e)) for e in cycle.edges]


def columns_of(
    loops: LoopKinematics, passed: Sequence[tuple[EdgeId, int]]
) -> tuple[list[int], list[int]]:
    """Coordinates of the edges that a loop passes, and their signs."""
    columns, signs = list[int](), list[int]()
    for e, sign in passed:
        local = loops.local(e)
        columns += local
        signs += [sign] * len(local)
    return columns, signs


def coupling_blocks(loops: LoopKinematics, start: int, q: Array) -> list[Blocks]:
    """The couplings as rows from a place on, at configurations (N, n)."""
    blocks, rows = [], loops.coupling_rows(q)
    for k, row in enumerate(loops.coupling):
        columns = np.flatnonzero(row)
        blocks.append(
            Blocks(np.array([[start + k]]), columns[None], rows[:, None, None, k, columns])
        )
    return blocks
