"""Ranks, velocities and self-stress of many loops, from those of each.

Each loop by itself has a small matrix, whose singular values tell what its own joints leave
dependent. What is left of all loops together is independent where the factors of its Gram matrix
say so clearly; then ranks add up. Elsewhere the matrices are decomposed as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Indices, Mask, Residual, Space, Transform
from regularize.loops.block_rows import BlockRows, Blocks, GramFactors
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId, NodeId
from regularize.reduction.cuts import Cut
from regularize.tolerances import TINY

Key = TypeVar("Key")


@dataclass(frozen=True, eq=False)
class ShortLoopsState:
    """Short loops at N configurations."""

    q: Coordinates  # joint coordinates
    #: For the loops of each shape, where following them leads, shape (N, G, 4, 4).
    around: tuple[Transform, ...]
    #: Their screws in the frame of the body that carries the rows, shape (N, G, 6, k).
    twists: tuple[Array, ...]

    def __getitem__(self, chosen: slice | Mask) -> ShortLoopsState:
        """Return the state at some of the configurations."""
        around = tuple(part[chosen] for part in self.around)
        return ShortLoopsState(self.q[chosen], around, tuple(part[chosen] for part in self.twists))


@dataclass(frozen=True, eq=False)
class _Shape:
    """Loops with equally many joints of as many freedoms, and as many rows."""

    edges: Indices  # places of their edges in walking order, shape (G, m)
    onward: Mask  # whether each is passed from parent to child, shape (G, m)
    columns: Indices  # their coordinates in walking order, shape (G, k)
    counts: tuple[int, ...]  # coordinates of each edge, shape (m,)
    #: Kept rows and the cut's own freedoms on scaled twists at the body, shape (G, r, 6).
    kept: Array
    rows: Indices  # their places, shape (G, r)


class ShortLoops:
    """The reduced closure equations of many loops, with sparse derivatives."""

    def __init__(self, loops: LoopKinematics, cuts: Sequence[Cut]) -> None:
        self.loops, self.units, self.integrate = loops, loops.units, loops.integrate
        graph, place = loops.graph, {e: i for i, e in enumerate(loops.edges)}
        walks = [_walk(cut) for cut in cuts]
        kept = [cut.equations @ _to_frame(cut.T_node_frame, cut.length) for cut in cuts]
        counts = [tuple(graph.edges[e].freedoms for e, _ in walk) for walk in walks]
        self._shapes, start = [], 0
        for chosen in alike([(counts[i], len(kept[i])) for i in range(len(cuts))]):
            rows = start + np.arange(len(chosen) * len(kept[chosen[0]])).reshape(len(chosen), -1)
            start += rows.size
            same = [walks[i] for i in chosen]
            columns = [[c for e, _ in walk for c in loops.local(e)] for walk in same]
            self._shapes.append(
                _Shape(
                    np.array([[place[e] for e, _ in walk] for walk in same]),
                    np.array(
                        [[node == graph.edges[e].parent for e, node in walk] for walk in same]
                    ),
                    np.array(columns, dtype=int),
                    counts[chosen[0]],
                    np.array([kept[i] for i in chosen]),
                    rows,
                )
            )
        self._coupled = start

    def state(self, q: Coordinates) -> ShortLoopsState:
        """Return the product of transforms around each loop, and the screws of its joints."""
        moved, carried = self.loops.poses(q)
        across = self.loops.T_parent @ moved @ self.loops.T_child_inverse
        back = screw.inverse(across)
        on_parents = self._on_parents(carried)
        around, twists = [], []
        for shape in self._shapes:
            pose = np.tile(np.eye(4), (len(q), len(shape.edges), 1, 1))
            screws = np.empty((len(q), len(shape.edges), 6, shape.columns.shape[1]))
            first = 0
            for j, count in enumerate(shape.counts):
                edges, onward = shape.edges[:, j], shape.onward[:, j, None, None]
                after = pose @ np.where(onward, across[:, edges], back[:, edges])
                parent = np.where(onward, pose, after)
                sign = np.where(onward[..., 0], 1.0, -1.0)
                for i in range(first, first + count):
                    turned = parent[..., :3, :3] @ on_parents[:, shape.columns[:, i]]
                    w = sign * turned[..., 1]
                    screws[..., :3, i] = sign * turned[..., 0] + screw.cross(parent[..., :3, 3], w)
                    screws[..., 3:, i] = w
                pose, first = after, first + count
            around.append(pose)
            twists.append(screws)
        return ShortLoopsState(q, tuple(around), tuple(twists))

    def _on_parents(self, carried: Transform | None) -> Array:
        """Return linear and angular parts of the screws in their parents' frames, (N, n, 3, 2)."""
        frames = self.loops.T_parent[self.loops.edge_of_column]
        frames = frames[None] if carried is None else frames @ carried
        turned = np.asarray(frames[..., :3, :3] @ self.loops.parts)
        turned[..., 0] += screw.cross(frames[..., :3, 3], turned[..., 1])
        return turned

    def residual(self, state: ShortLoopsState) -> Residual:
        """Return the kept components of the closure errors as twists, then the couplings'."""
        coupled = self.loops.coupling_errors(state.q)
        result = np.zeros((len(state.q), self._coupled + coupled.shape[1]))
        for shape, around in zip(self._shapes, state.around, strict=True):
            errors = shape.kept @ screw.log(around)[..., None]
            result[:, shape.rows] = errors[..., 0]
        result[:, self._coupled :] = coupled
        return result

    def residual_jacobian(self, state: ShortLoopsState) -> BlockRows:
        """Return the kept rows on velocities, exact where the loops are closed."""
        blocks = [
            Blocks(shape.rows, shape.columns, shape.kept @ twists)
            for shape, twists in zip(self._shapes, state.twists, strict=True)
        ]
        blocks += coupling_blocks(self.loops, self._coupled, state.q)
        return BlockRows((self._coupled + len(self.loops.coupling), self.loops.freedoms), blocks)


def coupling_blocks(loops: LoopKinematics, start: int, q: Coordinates) -> list[Blocks]:
    """Return the couplings at N configurations as sparse rows, numbered from ``start`` on."""
    blocks, rows = [], loops.coupling_rows(q)
    for k, row in enumerate(loops.coupling):
        columns = np.flatnonzero(row)
        values = rows[:, None, None, k, columns]
        blocks.append(Blocks(np.array([[start + k]]), columns[None], values))
    return blocks


def alike(keys: Sequence[Key]) -> list[Indices]:
    """Return the places of each group of equal keys."""
    places: dict[Key, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    return [np.array(group) for group in places.values()]


def _to_frame(T_node_frame: Transform, length: float) -> Array:
    """Return the matrix from a node's twists to scaled ones in a frame on it, shape (6, 6)."""
    result = screw.adjoint(screw.inverse(T_node_frame))
    result[:3] /= length
    return np.asarray(result)


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
        """Return matrices that scale twists by each loop's size and centre, and the least size."""
        loops = self.loops
        points = loops.joint_places(state)
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
        for group in self.by_size:
            sizes = group.values / np.maximum(group.values[:, :1], TINY)
            if np.any((sizes > self.rtol**2) & (sizes < 100 * self.rtol)):
                return None
            ranks[group.chosen] = np.sum(sizes >= 100 * self.rtol, axis=1)
        return ranks

    @cached_property
    def factors(self) -> GramFactors | None:
        """Gram factors of all loops' independent rows; None where a rank is not clear."""
        if self.ranks is None:
            return None
        blocks, start = [], 0
        for group in self.by_size:
            ranks = self.ranks[group.chosen]
            for rank in np.unique(ranks[ranks > 0]):
                equal = ranks == rank
                rows = start + np.arange(rank * equal.sum()).reshape(-1, rank)
                start += rows.size
                blocks.append(Blocks(rows, group.columns[equal], group.right[None, equal, :rank]))
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
        """Return self-stress wrenches on an edge as columns, dual to the loops' scaled twists."""
        return np.hstack([np.zeros((6, 0)), *self._stresses.get(edge, ())])

    @cached_property
    def _stresses(self) -> dict[EdgeId, list[Space]]:
        stresses: dict[EdgeId, list[Space]] = {}
        if self.ranks is None:
            return stresses
        for group in self.by_size:
            ranks = self.ranks[group.chosen]
            for rank in np.unique(ranks[ranks < 6]):
                states = np.linalg.qr(group.left[ranks == rank, :, rank:])[0]
                for which, state in zip(group.chosen[ranks == rank], states, strict=True):
                    for e, sign in self._passed[which]:
                        stresses.setdefault(e, []).append(-sign * state)
        return stresses


def each_configuration(
    loops: LoopKinematics, q: Coordinates, cycles: Sequence[Cycle], rtol: float
) -> list[LoopRanks]:
    """Return the ranks of the loops, each by itself, at N configurations."""
    state = loops.state(q)
    return [LoopRanks(loops, cycles, state[i : i + 1], rtol) for i in range(len(q))]


def _walk(cut: Cut) -> list[tuple[EdgeId, NodeId]]:
    """Return edges of a cut's loop, and the node before each, from the cut frame's body on."""
    start, cycle = cut.cycle.nodes.index(cut.node), cut.cycle
    edges = (*cycle.edges[start:], *cycle.edges[:start])
    nodes = (*cycle.nodes[start:], *cycle.nodes[:start])
    return list(zip(edges, nodes, strict=True))
