"""Kept rows of many loops, each around the short loop that its cut closed.

Over the spanning tree the way around a loop may be as long as the mechanism. The short loop of a
cut passes joints that other cuts opened; while the loops closed before it hold, both say the same.
A short loop needs no poses but its own: it is followed from the body that carries the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.loops.block_rows import BlockRows, Blocks
from regularize.loops.kinematics import LoopKinematics
from regularize.reduction.cuts import Cut
from regularize.reduction.many_loops import alike, coupling_blocks

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ShortLoopsState:
    """Short loops at N configurations.

    Attributes:
        q: Joint coordinates, shape (N, n).
        around: For the loops of each shape, where following them leads, shape (N, G, 4, 4).
        twists: Their screws in the frame of the body that carries the rows, shape (N, G, 6, k).
    """

    q: Array
    around: tuple[Array, ...]
    twists: tuple[Array, ...]

    def __getitem__(self, chosen: slice | NDArray[np.bool_]) -> ShortLoopsState:
        """The state at some of the configurations."""
        return ShortLoopsState(
            self.q[chosen],
            tuple(part[chosen] for part in self.around),
            tuple(part[chosen] for part in self.twists),
        )


@dataclass(frozen=True, eq=False)
class _Shape:
    """Loops with equally many joints of as many freedoms, and as many rows.

    Attributes:
        edges: Places of their edges in walking order, shape (G, m).
        onward: Whether each is passed from parent to child, shape (G, m).
        columns: Their coordinates in walking order, shape (G, k).
        counts: Coordinates of each edge, shape (m,).
        kept: Kept rows and the cut's own freedoms on scaled twists at the body, shape (G, r, 6).
        rows: Their places, shape (G, r).
    """

    edges: Indices
    onward: NDArray[np.bool_]
    columns: Indices
    counts: tuple[int, ...]
    kept: Array
    rows: Indices


class ShortLoops:
    """The reduced closure equations of many loops, as a constraint set with sparse derivatives.

    Args:
        loops: Kinematics whose chords are the cuts.
        cuts: The cuts, in the order of ``loops.chords``.
    """

    def __init__(self, loops: LoopKinematics, cuts: Sequence[Cut]) -> None:
        """Sort the loops by their shapes."""
        self.loops = loops
        graph, place = loops.graph, {e: i for i, e in enumerate(loops.edges)}
        walks = [_from_carrier(cut) for cut in cuts]
        kept = [
            np.hstack([cut.rows, cut.freedoms]).T @ _to_frame(cut.T_node_frame, cut.length)
            for cut in cuts
        ]
        counts = [tuple(graph.edges[e].freedoms for e, _ in walk) for walk in walks]
        self._shapes, start = [], 0
        for chosen in alike([(counts[i], len(kept[i])) for i in range(len(cuts))]):
            rows = start + np.arange(len(chosen) * len(kept[chosen[0]])).reshape(len(chosen), -1)
            start += rows.size
            own = [walks[i] for i in chosen]
            columns = [[c for e, _ in walk for c in loops.local(e)] for walk in own]
            self._shapes.append(
                _Shape(
                    np.array([[place[e] for e, _ in walk] for walk in own]),
                    np.array([[node == graph.edges[e].parent for e, node in walk] for walk in own]),
                    np.array(columns, dtype=int),
                    counts[chosen[0]],
                    np.array([kept[i] for i in chosen]),
                    rows,
                )
            )
        self._coupled = start
        self._T_parent = np.array([graph.edges[e].T_parent for e in loops.edges])
        self._back = screw.inverse(np.array([graph.edges[e].T_child for e in loops.edges]))
        joints = [graph.edges[e] for e in loops.edges]
        self._edge_of_column = np.repeat(np.arange(len(joints)), [e.freedoms for e in joints])
        screws = np.hstack([e.screws for e in joints]).T
        self._parts = screws.reshape(-1, 2, 3).swapaxes(1, 2)  # linear and angular

    @property
    def units(self) -> Array:
        """One unit of every velocity, shape (n,)."""
        return self.loops.units

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configurations after a unit of time at constant velocities, shape (N, n)."""
        return self.loops.integrate(q, velocity)

    def state(self, q: Array) -> ShortLoopsState:
        """Where all loops lead at configurations (N, n), and their screws on the way."""
        moved, carried = self.loops.motions.poses(q)
        across = self._T_parent @ moved @ self._back
        back = screw.inverse(across)
        own = self._on_parents(carried)
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
                    turned = parent[..., :3, :3] @ own[:, shape.columns[:, i]]
                    w = sign * turned[..., 1]
                    screws[..., :3, i] = sign * turned[..., 0] + screw.cross(parent[..., :3, 3], w)
                    screws[..., 3:, i] = w
                pose, first = after, first + count
            around.append(pose)
            twists.append(screws)
        return ShortLoopsState(q, tuple(around), tuple(twists))

    def _on_parents(self, carried: Array | None) -> Array:
        """Linear and angular part of every screw in its parent's frame, shape (N, n, 3, 2)."""
        frames = self._T_parent[self._edge_of_column]
        frames = frames[None] if carried is None else frames @ carried
        turned = np.asarray(frames[..., :3, :3] @ self._parts)
        turned[..., 0] += screw.cross(frames[..., :3, 3], turned[..., 1])
        return turned

    def residual(self, state: ShortLoopsState) -> Array:
        """Kept components of the closure errors as twists, then the couplings', shape (N, m)."""
        coupled = self.loops.coupling_errors(state.q)
        result = np.zeros((len(state.q), self._coupled + coupled.shape[1]))
        for shape, around in zip(self._shapes, state.around, strict=True):
            errors = shape.kept @ screw.log(around)[..., None]
            result[:, shape.rows] = errors[..., 0]
        result[:, self._coupled :] = coupled
        return result

    def residual_jacobian(self, state: ShortLoopsState) -> BlockRows:
        """Kept rows on velocities, shape (N, m, n); exact where the loops are closed."""
        blocks = [
            Blocks(shape.rows, shape.columns, shape.kept @ twists)
            for shape, twists in zip(self._shapes, state.twists, strict=True)
        ]
        blocks += coupling_blocks(self.loops, self._coupled, state.q)
        return BlockRows((self._coupled + len(self.loops.coupling), self.loops.freedoms), blocks)


def _from_carrier(cut: Cut) -> list[tuple[int, int]]:
    """Edges of the short loop of a cut, and the nodes where they are entered, from its carrier."""
    start = cut.cycle.nodes.index(cut.node)
    edges = (*cut.cycle.edges[start:], *cut.cycle.edges[:start])
    nodes = (*cut.cycle.nodes[start:], *cut.cycle.nodes[:start])
    return list(zip(edges, nodes, strict=True))


def _to_frame(T_node_frame: Array, length: float) -> Array:
    """Twists in the frame of a node to scaled ones in a frame fixed on it, shape (6, 6)."""
    result = screw.adjoint(screw.inverse(T_node_frame))
    result[:3] /= length
    return np.asarray(result)
