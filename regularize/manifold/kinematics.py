r"""Kinematics of closed loops, vectorised over configurations.

A ``LoopKinematics`` follows a spanning tree of a set of edges and closes its chords. All joints
keep their coordinates, those of the chords included, so every loop has six closure equations
whatever is cut. Coordinates are those of the joints (the file's own zero); velocities of group
joints are twists in the moving frame. Leading axes of ``q`` are configurations.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.screw import Array, read_only
from regularize.manifold.joint_motion import JointMotions
from regularize.model.graph import EdgeId, Graph
from regularize.model.loop_tree import LoopTree

Indices: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """Poses and screws at N configurations, in the frame of the root node.

    Attributes:
        q: Joint coordinates, shape (N, n).
        T_world_node: Pose of every node, shape (N, nodes, 4, 4).
        screws: World screw of every coordinate (6 per column), shape (N, n, 6).
        T_world_chord: Chords' joint frames, moved by the chords' own coordinates, (N, L, 4, 4).
        T_world_target: The frames on their children that they have to meet, shape (N, L, 4, 4).
    """

    q: Array
    T_world_node: Array
    screws: Array
    T_world_chord: Array
    T_world_target: Array

    def __getitem__(self, chosen: slice | NDArray[Any]) -> State:
        """The state at some of the configurations."""
        return State(
            self.q[chosen],
            self.T_world_node[chosen],
            self.screws[chosen],
            self.T_world_chord[chosen],
            self.T_world_target[chosen],
        )


class LoopKinematics(LoopTree):
    """Closure equations of the loops of a connected set of edges; nothing changes them later.

    Args:
        graph: The mechanism's graph.
        edges: The edges that take part.
        tree: Those that form the spanning tree; the others are chords.
        length: Length by which translations are divided, in metres.
        center: Point about which twists are taken, in the root node's frame, shape (3,).
    """

    def __init__(
        self,
        graph: Graph,
        edges: Iterable[EdgeId],
        tree: Iterable[EdgeId],
        *,
        length: float = 1.0,
        center: Array | None = None,
    ) -> None:
        """Order the tree from its root and index the coordinates."""
        super().__init__(graph, edges, tree)
        self.motions = JointMotions(self)
        joints = [graph.edges[index] for index in self.edges]
        self._T_parent = np.array([joint.T_parent for joint in joints]).reshape(-1, 4, 4)
        self._T_child = np.array([joint.T_child for joint in joints]).reshape(-1, 4, 4)
        self._back = screw.inverse(self._T_child)
        self._parent = np.array([self.row(joint.parent) for joint in joints], dtype=int)
        self._child = np.array([self.row(joint.child) for joint in joints], dtype=int)
        counts = [joint.freedoms for joint in joints]
        self._edge_of_column = np.repeat(np.arange(len(joints)), counts)
        self._levels, self._ways = self._by_level(), self._along_tree()
        self._joint_screws = np.zeros((self.freedoms, 6))
        for joint in joints:
            self._joint_screws[self.local(joint.index)] = joint.screws.T
        self._turns = np.any(self._joint_screws[:, 3:] != 0.0, axis=1)
        self._parts = self._joint_screws.reshape(-1, 2, 3).swapaxes(1, 2)  # linear and angular
        self._measure(length, np.zeros(3) if center is None else center)
        self.coupling, self.coupling_offset = self._couplings()

    def _couplings(self) -> tuple[Array, Array]:
        """Rows of unit length and offsets of the couplings among the coordinates, (C, n), (C,)."""
        rows, offsets = [], []
        for coupling in self.graph.couplings:
            if not set(coupling.columns) <= set(self._local):
                continue
            row = np.zeros(self.freedoms)
            for column, coefficient in zip(coupling.columns, coupling.coefficients, strict=True):
                row[self._local[column]] += coefficient
            norm = float(np.linalg.norm(row)) or 1.0
            rows.append(row / norm)
            offsets.append(coupling.offset / norm)
        return np.array(rows).reshape(len(rows), self.freedoms), np.array(offsets)

    def _measure(self, length: float, center: Array) -> None:
        units = np.where(self._turns, 1.0, length)
        self._length, self._center, self._units = length, read_only(center), read_only(units)

    def measured(self, length: float, center: Array | None = None) -> LoopKinematics:
        """The same loops with another length and, where given, another centre."""
        other = copy(self)
        other._measure(length, self.center if center is None else center)
        return other

    @property
    def length(self) -> float:
        """Length by which translations are divided, in metres."""
        return self._length

    @property
    def center(self) -> Array:
        """Point about which twists are taken, in the root node's frame, shape (3,)."""
        return self._center

    @property
    def units(self) -> Array:
        """Size of one unit of each coordinate: 1 for angles, ``length`` for translations, (n,)."""
        return self._units

    def state(self, q: Array) -> State:
        """Poses and world screws by the product of exponentials.

        Args:
            q: Coordinates of ``self.columns``, shape (n,) or (N, n).
        """
        q = np.atleast_2d(np.asarray(q, dtype=np.float64))
        moved, carried = self.motions.poses(q)
        T_world = self._followed(moved)
        on_parent = T_world[:, self._parent] @ self._T_parent
        frames = on_parent[:, self._edge_of_column] @ carried
        chords = [self._place[chord] for chord in self.chords]
        T_chord = on_parent[:, chords] @ moved[:, chords]
        T_target = T_world[:, self._child[chords]] @ self._T_child[chords]
        turned = frames[..., :3, :3] @ self._parts
        screws = np.empty((*turned.shape[:2], 6))
        screws[..., 3:] = w = turned[..., 1]
        screws[..., :3] = turned[..., 0] + screw.cross(frames[..., :3, 3], w)
        return State(q, T_world, screws, T_chord, T_target)

    def node_poses(self, q: Array) -> Array:
        """Poses of all nodes at one configuration of shape (n,), in the root's frame."""
        return np.asarray(self._followed(self.motions.poses(q[None])[0])[0])

    def _followed(self, moved: Array) -> Array:
        """Poses of all nodes along the tree, by how far every edge moves, (N, edges, 4, 4)."""
        T_world = np.zeros((len(moved), len(self.nodes), 4, 4))
        T_world[:, [self._row[root] for root in self.roots]] = np.eye(4)
        edges, onward, start, end = self._ways
        step = self._T_parent[edges] @ moved[:, edges] @ self._back[edges]
        if not onward.all():
            step[:, ~onward] = screw.inverse(step[:, ~onward])
        T_world[:, end] = step
        rounds, levels = len(self._levels).bit_length(), len(self._levels)
        if levels**2 > rounds * len(moved) * len(self.nodes):
            # Long ways are put together from halves: in each round they double.
            before = np.arange(len(self.nodes))
            before[end] = start
            for _ in range(rounds):
                T_world = T_world[:, before] @ T_world
                before = before[before]
        else:
            for start, end in self._levels:
                T_world[:, end] = T_world[:, start] @ T_world[:, end]
        return T_world

    def _by_level(self) -> list[tuple[Indices, Indices]]:
        """Rows of nodes at the same distance from the root, those before them first."""
        level = dict.fromkeys(self.roots, 0)
        found: list[tuple[list[int], list[int]]] = []
        for index, node in self.tree:
            before = self.graph.edges[index].other(node)
            level[node] = level[before] + 1
            if level[node] > len(found):
                found.append(([], []))
            found[level[node] - 1][0].append(self.row(before))
            found[level[node] - 1][1].append(self.row(node))
        return [(np.array(start), np.array(end)) for start, end in found]

    def _along_tree(self) -> tuple[Indices, NDArray[np.bool_], Indices, Indices]:
        """Edges of the tree: places, whether they lead to the child, rows of their two nodes."""
        edges = [self.graph.edges[index] for index, _ in self.tree]
        nodes = [node for _, node in self.tree]
        ways = list(zip(edges, nodes, strict=True))
        return (
            np.array([self._place[edge.index] for edge in edges], dtype=int),
            np.array([node == edge.child for edge, node in ways], dtype=bool),
            np.array([self.row(edge.other(node)) for edge, node in ways], dtype=int),
            np.array([self.row(node) for node in nodes], dtype=int),
        )

    def residual(self, state: State) -> Array:
        """Closure errors, shape (N, 6 L + C).

        Per loop the gap in units of ``length`` and the rotation vector; then the couplings' errors.
        """
        gap = state.T_world_target[..., :3, 3] - state.T_world_chord[..., :3, 3]
        R = state.T_world_target[..., :3, :3] @ np.swapaxes(
            state.T_world_chord[..., :3, :3], -1, -2
        )
        errors = np.concatenate([gap / self.length, screw.log_rotation(R)], axis=-1)
        errors = errors.reshape(len(state.q), 6 * len(self.chords))
        if not len(self.coupling):
            return errors
        return np.hstack([errors, state.q @ self.coupling.T - self.coupling_offset])

    def residual_jacobian(self, state: State) -> Array:
        """Exact derivative of ``residual`` by velocities, (N, 6 L + C, n), closed or not."""
        v, w = state.screws[:, None, :, :3], state.screws[:, None, :, 3:]
        parent, child = (side[None, ..., None] for side in self.sides)
        target = state.T_world_target[:, :, None, :3, 3]
        chord = state.T_world_chord[:, :, None, :3, 3]
        gap = child * (v + screw.cross(w, target)) - parent * (v + screw.cross(w, chord))
        # The error rotation R_t R_c^T turns with the child's rate from the left and carries the
        # parent's rate through itself; its rotation vector follows by the left Jacobian.
        L = len(self.chords)
        error = self.residual(state)[:, : 6 * L].reshape(len(state.q), L, 6)[..., 3:]
        R = state.T_world_target[..., :3, :3] @ np.swapaxes(
            state.T_world_chord[..., :3, :3], -1, -2
        )
        turning = child * w - parent * (w @ np.swapaxes(R, -1, -2))
        rotation = turning @ np.swapaxes(screw.inverse_left_jacobian(error), -1, -2)
        rows = np.concatenate([gap / self.length, rotation], axis=-1)
        return self._with_couplings(np.swapaxes(rows, -1, -2))

    def jacobian(self, state: State, incidence: Array | None = None) -> Array:
        """Twists around each loop, about ``center``, lengths scaled; couplings: (N, 6 L + C, n).

        At a closed configuration its null space holds the velocities that keep the loops closed.

        Args:
            state: Where to take it.
            incidence: Signs of the coordinates in other independent loops than those of the chords,
                shape (L, n). Short loops are better conditioned.
        """
        signs = self.incidence if incidence is None else incidence
        rows = signs[:, None, :] * np.swapaxes(self.scaled(state.screws), -1, -2)[:, None]
        return self._with_couplings(rows)

    def _with_couplings(self, loop_rows: Array) -> Array:
        """Stack the couplings below loop rows of shape (N, L, 6, n)."""
        N = len(loop_rows)
        rows = loop_rows.reshape(N, 6 * loop_rows.shape[1], self.freedoms)
        if not len(self.coupling):
            return rows
        coupling = np.broadcast_to(self.coupling, (N, *self.coupling.shape))
        return np.concatenate([rows, coupling], axis=1)

    def scaled(self, twists: Array) -> Array:
        """Twists taken about ``center``, their linear part divided by ``length``."""
        linear = twists[..., :3] + screw.cross(twists[..., 3:], self.center)
        return np.concatenate([linear / self.length, twists[..., 3:]], axis=-1)

    def bias(self, state: State, velocity: Array) -> Array:
        """Time derivative of ``jacobian`` times the velocity, shape (N, 6 L + C).

        A joint's screw is carried by the body before it, so its rate is the bracket of that
        body's twist with the screw.
        """
        velocity = np.atleast_2d(velocity)
        rates = self.scaled(self.screw_rates(state.screws, velocity)) * velocity[..., None]
        loops = np.einsum("lk,nki->nli", self.incidence, rates).reshape(len(velocity), -1)
        return np.hstack([loops, np.zeros((len(velocity), len(self.coupling)))])

    def screw_rates(self, screws: Array, velocity: Array) -> Array:
        """Rate of every world screw, linear in the velocity, shape (N, n, 6).

        Args:
            screws: World screws, ``State.screws``, shape (N, n, 6).
            velocity: Joint velocities, shape (N, n).
        """
        return screw.bracket(self.carriers @ (screws * velocity[..., None]), screws)

    def displacements(self, start: State, end: State) -> Array:
        """Largest way of a joint in metres and largest turn of a body in radians, shape (N, 2).

        Args:
            start: State at one configuration.
            end: State at N of them.
        """
        joints = [self.graph.edges[e] for e in self.edges]
        rows = [self.row(joint.parent) for joint in joints]
        points = np.array([joint.T_parent[:, 3] for joint in joints])[..., None]
        ways = (end.T_world_node - start.T_world_node)[:, rows] @ points
        before, after = (state.T_world_node[..., :3, :3] for state in (start, end))
        turns = screw.log_rotation(after @ np.swapaxes(before, -1, -2))
        far = [np.linalg.norm(ways[..., :3, 0], axis=-1), np.linalg.norm(turns, axis=-1)]
        return np.stack([sizes.max(axis=1, initial=0.0) for sizes in far], axis=1)

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configuration reached from q by a unit of time at constant joint velocity, (N, n)."""
        return self.motions.integrate(q, velocity)

    def difference(self, start: Array, end: Array) -> Array:
        """Constant joint velocity that leads from one configuration to another, shape (N, n)."""
        return self.motions.difference(start, end)
