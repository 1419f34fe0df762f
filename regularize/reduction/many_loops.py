"""Ranks, velocities and self-stress of many loops, from those of each.

Each loop by itself has a small matrix, whose singular values tell what its own joints leave
dependent. What is left of all loops together is independent where the factors of its Gram matrix
say so clearly; then ranks add up. Elsewhere the matrices are decomposed as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Indices, Space
from regularize.loops.block_rows import BlockRows, Blocks, GramFactors
from regularize.loops.kept_rows import alike, coupling_blocks
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId
from regularize.tolerances import TINY


@dataclass(frozen=True, eq=False)
class _Decomposed:
    """Equations of G loops that pass k coordinates each, decomposed one by one."""

    chosen: Indices  # which loops, shape (G,)
    columns: Indices  # their coordinates, shape (G, k)
    #: Combinations of the six equations, those with large singular values first, (G, 6, 6); the
    #: last ones are wrenches dual to the scaled twists of all loops.
    left: Array
    values: Array  # singular values, shape (G, min(6, k))
    right: Array  # what the combinations say of the coordinates, shape (G, min(6, k), k)


class LoopRanks:
    """Ranks of the equations of many loops at one configuration, from those of each."""

    def __init__(
        self, loops: LoopKinematics, cycles: Sequence[Cycle], state: State, rtol: float
    ) -> None:
        self.loops, self.cycles, self.rtol, self._q = loops, cycles, rtol, state.q
        self._passed = [
            [(e, cycle.direction(loops.graph, e)) for e in cycle.edges] for cycle in cycles
        ]
        passed = [[(c, sign) for e, sign in p for c in loops.local(e)] for p in self._passed]
        screws = loops.scaled(state.screws[0])
        to_loops, self.smallest = self._loop_measures(state)
        self.by_size: list[_Decomposed] = []
        for chosen in alike([len(columns) for columns in passed]):
            pairs = np.array([passed[i] for i in chosen], dtype=int).reshape(len(chosen), -1, 2)
            columns, signs = pairs[..., 0], pairs[..., 1]
            twists = to_loops[chosen] @ np.swapaxes(signs[..., None] * screws[columns], 1, 2)
            u, s, vt = np.linalg.svd(twists * loops.units[columns][:, None])
            left = np.swapaxes(to_loops[chosen], 1, 2) @ u
            self.by_size.append(_Decomposed(chosen, columns, left, s, vt[:, : s.shape[1]]))

    def _loop_measures(self, state: State) -> tuple[Array, float]:
        """Return what takes twists to each loop's own measures, (L, 6, 6), and the smallest size.

        Alone a loop has its own size and place, whatever else hangs on it.
        """
        loops = self.loops
        edges = [loops.graph.edges[e] for e in loops.edges]
        on_parent = state.T_world_node[0, [loops.row(edge.parent) for edge in edges]]
        points = (on_parent @ np.array([edge.T_parent for edge in edges]))[:, :3, 3]
        place = {e: i for i, e in enumerate(loops.edges)}
        result, smallest = np.tile(np.eye(6), (len(self.cycles), 1, 1)), loops.length
        for chosen in alike([cycle.length for cycle in self.cycles]):
            joints = points[[[place[e] for e in self.cycles[i].edges] for i in chosen]]
            center = 0.5 * (joints.min(axis=1) + joints.max(axis=1))
            length = np.max(np.linalg.norm(joints - center[:, None], axis=2), axis=1)
            length[length == 0.0] = loops.length
            result[chosen, :3, 3:] = screw.cross_matrix((loops.center - center) / loops.length)
            result[chosen, :3] *= (loops.length / length)[:, None, None]
            smallest = min(smallest, float(length.min()))
        return result, smallest

    @cached_property
    def ranks(self) -> Indices | None:
        """Rank of every loop by itself, shape (L,); None where one of them is not clear."""
        ranks = np.zeros(len(self.cycles), dtype=int)
        for own in self.by_size:
            sizes = own.values / np.maximum(own.values[:, :1], TINY)
            if np.any((sizes > self.rtol**2) & (sizes < 100 * self.rtol)):
                return None
            ranks[own.chosen] = np.sum(sizes >= 100 * self.rtol, axis=1)
        return ranks

    @cached_property
    def factors(self) -> GramFactors | None:
        """Factors of what all loops say, a loop's own dependent rows left out; None: not clear."""
        if self.ranks is None:
            return None
        blocks, start = [], 0
        for own in self.by_size:
            ranks = self.ranks[own.chosen]
            for rank in np.unique(ranks[ranks > 0]):
                equal = ranks == rank
                rows = start + np.arange(rank * equal.sum()).reshape(-1, rank)
                start += rows.size
                blocks.append(Blocks(rows, own.columns[equal], own.right[None, equal, :rank]))
        for b in coupling_blocks(self.loops, start, self._q):
            row = b.values * self.loops.units[b.columns]
            size = float(np.linalg.norm(row)) or 1.0  # a curve may be level here
            blocks.append(Blocks(b.rows, b.columns, row / size))
        start += len(self.loops.coupling)
        return BlockRows((start, self.loops.freedoms), blocks).factors(0)

    @property
    def rank(self) -> int | None:
        """Rank of all equations; None where it does not follow from those of the loops."""
        if self.factors is None or self.ranks is None:
            return None
        return int(self.ranks.sum()) + len(self.loops.coupling)

    def self_stress(self, edge: EdgeId) -> Space:
        """Return wrenches that loops can bring into an edge while nothing gives way, as columns.

        Where the loops' equations are independent of each other, self-stress goes round one loop.
        Wrenches are dual to the scaled twists of the loops' kinematics.
        """
        return np.hstack([np.zeros((6, 0)), *self._stresses.get(edge, ())])

    @cached_property
    def _stresses(self) -> dict[EdgeId, list[Space]]:
        stresses: dict[EdgeId, list[Space]] = {}
        if self.ranks is None:
            return stresses
        for own in self.by_size:
            ranks = self.ranks[own.chosen]
            for rank in np.unique(ranks[ranks < 6]):
                states = np.linalg.qr(own.left[ranks == rank, :, rank:])[0]
                for which, state in zip(own.chosen[ranks == rank], states, strict=True):
                    for e, sign in self._passed[which]:
                        stresses.setdefault(e, []).append(-sign * state)
        return stresses


def each_configuration(
    loops: LoopKinematics, q: Coordinates, cycles: Sequence[Cycle], rtol: float
) -> list[LoopRanks]:
    """Return what the loops say one by one at N configurations."""
    state = loops.state(q)
    return [LoopRanks(loops, cycles, state[i : i + 1], rtol) for i in range(len(q))]
