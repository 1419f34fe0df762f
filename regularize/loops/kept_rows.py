"""Kept rows of loops as constraint sets: few loops along one tree, many each by itself.

Rows are constant in a frame on one of the two bodies of a cut, and act on the relative twist there.
Along the spanning tree the way around a loop may be as long as the mechanism. The short loop of a
cut passes joints that other cuts opened; while the loops closed before it hold, both say the same.
A short loop needs no poses but its own: it is followed from the body that carries the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import (
    Array,
    Coordinates,
    Indices,
    Jacobian,
    Mask,
    Rates,
    Residual,
    Rows,
    Space,
    Transform,
    Wrench,
)
from regularize.loops.block_rows import BlockRows, Blocks
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId, NodeId

Key = TypeVar("Key")


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows on the relative twist at a cut, in a frame fixed on one of its two bodies.

    This *cut frame* has the axes of the ground, and its origin at the centre of the block, at the
    assembled configuration. Covectors are columns; they act on twists in that frame whose linear
    part is divided by ``length``.
    """

    cycle: Cycle  # the loop that the cut closes
    node: NodeId  # the body that carries the cut frame
    T_node_frame: Transform  # the cut frame in that body's frame
    length: float  # length by which linear parts are divided, in metres
    freedoms: Space  # orthonormal basis of the joint's own freedoms
    rows: Space  # kept covectors, orthonormal

    @property
    def equations(self) -> Rows:
        """The kept rows, and the joint's own freedoms: they determine its own coordinates."""
        return np.hstack([self.rows, self.freedoms]).T

    def walk(self) -> list[tuple[EdgeId, NodeId]]:
        """Return edges of the loop and nodes where they are entered, from the carrier on."""
        start = self.cycle.nodes.index(self.node)
        edges = (*self.cycle.edges[start:], *self.cycle.edges[:start])
        nodes = (*self.cycle.nodes[start:], *self.cycle.nodes[:start])
        return list(zip(edges, nodes, strict=True))


class ReducedLoops:
    """The reduced closure equations of loops whose chords are the cuts, in the same order."""

    def __init__(self, loops: LoopKinematics, cuts: Sequence[KeptRows]) -> None:
        self.loops, self.cuts, self.units = loops, tuple(cuts), loops.units
        self.state, self.integrate = loops.state, loops.integrate
        self._projections = [cut.equations for cut in cuts]
        self._nodes = np.array([loops.row(cut.node) for cut in cuts], dtype=int)
        self._frames = np.array([cut.T_node_frame for cut in cuts]).reshape(-1, 4, 4)
        self._lengths = np.array([cut.length for cut in cuts])

    def residual(self, state: State) -> Residual:
        """Return the kept components of the closure errors as twists, then the couplings'."""
        error = screw.log(state.T_world_target @ screw.inverse(state.T_world_chord))
        errors = np.moveaxis(error, 1, 0)[..., None]
        coupled = self.loops.coupling_errors(state.q)
        return self._rows(state, errors, coupled[..., None])[..., 0]

    def residual_jacobian(self, state: State) -> Jacobian:
        """Return the kept rows on velocities, exact where the loops are closed."""
        twists = np.swapaxes(state.screws, -1, -2)
        coupling = self.loops.coupling_rows(state.q)
        return self._rows(state, (signs * twists for signs in self.loops.incidence), coupling)

    jacobian = residual_jacobian  # the rows act on twists around the loops

    def bias(self, state: State, velocity: Rates) -> Residual:
        """Return the rate of the rows times the velocity, where the loops are closed."""
        rates = self.loops.screw_rates(state.screws, velocity) * velocity[..., None]
        twists = np.einsum("lk,nki->nli", self.loops.incidence, rates)
        coupling = self.loops.coupling_bias(state.q, np.atleast_2d(velocity))
        return self._rows(state, np.moveaxis(twists[..., None], 1, 0), coupling[..., None])[..., 0]

    def loop_rows(self, state: State, twists: Array) -> Jacobian:
        """Return the kept components of k twists around each loop, (N, L, 6, k); couplings zero."""
        coupling = np.zeros((len(state.q), len(self.loops.coupling), twists.shape[-1]))
        return self._rows(state, np.moveaxis(twists, 1, 0), coupling)

    def wrenches(self, state: State, multipliers: Residual) -> Wrench:
        """Return the wrenches around the loops that multipliers of the kept rows stand for."""
        ends = np.cumsum([kept.shape[-2] for kept in self._projections])
        to_cuts = np.moveaxis(self._to_cuts(state), 1, 0)
        parts = np.split(multipliers, ends, axis=1)  # the last ones are the couplings'
        wrenches = [
            part[:, None] @ kept @ to_cut
            for kept, part, to_cut in zip(self._projections, parts, to_cuts, strict=False)
        ]
        return np.concatenate([np.zeros((len(state.q), 0, 6)), *wrenches], axis=1)

    def _to_cuts(self, state: State) -> Array:
        """Return what takes root-frame twists to scaled ones in the cut frames, (N, L, 6, 6)."""
        poses = state.T_world_node[:, self._nodes] @ self._frames
        result = screw.adjoint(screw.inverse(poses))
        result[..., :3, :] /= self._lengths[..., None, None]
        return result

    def _rows(self, state: State, twists: Iterable[Array], coupling: Array) -> Array:
        """Project root-frame twists around each loop, (N, 6, k), and append the couplings."""
        to_cuts = np.moveaxis(self._to_cuts(state), 1, 0)
        parts = [
            kept @ to_cut @ around
            for kept, to_cut, around in zip(self._projections, to_cuts, twists, strict=True)
        ]
        return np.concatenate([*parts, coupling], axis=1)


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

    def __init__(self, loops: LoopKinematics, cuts: Sequence[KeptRows]) -> None:
        self.loops, self.units, self.integrate = loops, loops.units, loops.integrate
        graph, place = loops.graph, {e: i for i, e in enumerate(loops.edges)}
        walks = [cut.walk() for cut in cuts]
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
        joints = [graph.edges[e] for e in loops.edges]
        self._T_parent = np.array([joint.T_parent for joint in joints])
        self._back = screw.inverse(np.array([joint.T_child for joint in joints]))
        self._edge_of_column = np.repeat(np.arange(len(joints)), [e.freedoms for e in joints])
        screws = np.hstack([joint.screws for joint in joints]).T
        self._parts = screws.reshape(-1, 2, 3).swapaxes(1, 2)  # linear and angular

    def state(self, q: Coordinates) -> ShortLoopsState:
        """Return where all loops lead, and their screws on the way."""
        moved, carried = self.loops.motions.poses(q)
        across = self._T_parent @ moved @ self._back
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
        frames = self._T_parent[self._edge_of_column]
        frames = frames[None] if carried is None else frames @ carried
        turned = np.asarray(frames[..., :3, :3] @ self._parts)
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
    """Return what takes twists of a node to scaled ones in a frame fixed on it, shape (6, 6)."""
    result = screw.adjoint(screw.inverse(T_node_frame))
    result[:3] /= length
    return np.asarray(result)
