r"""Kinematics of closed loops, vectorised over configurations.

A ``LoopKinematics`` follows a spanning tree of a set of edges and closes its chords. All joints
keep their coordinates, those of the chords included, so every loop has six closure equations
whatever is cut. Coordinates are those of the joints (the file's own zero); velocities of group
joints are twists in the moving frame. Leading axes of ``q`` are configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regularize import screw
from regularize.screw import Array
from regularize.topology import Edge, Graph, breadth_first, nodes_of


@dataclass(frozen=True, eq=False)
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


class LoopKinematics:
    """Closure equations of the loops of a connected set of edges.

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
        edges: Sequence[int],
        tree: Sequence[int],
        *,
        length: float = 1.0,
        center: Array | None = None,
    ) -> None:
        """Order the tree from its root and index the coordinates."""
        self.graph, self.length = graph, length
        self.center = np.zeros(3) if center is None else center
        self.edges = tuple(sorted(edges))
        tree_set = set(tree) & set(self.edges)
        self.chords = tuple(e for e in self.edges if e not in tree_set)
        self.nodes = tuple(nodes_of(graph, self.edges))
        self.tree, self.roots = self._grow(tree_set)
        self.columns = np.array(graph.columns(self.edges), dtype=int)
        self._local = {int(c): i for i, c in enumerate(self.columns)}
        self._row = {node: i for i, node in enumerate(self.nodes)}
        self._via = {node: edge for edge, node in self.tree}
        self.coupling, self.coupling_offset = self._couplings()

    def _grow(self, tree: set[int]) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
        """The tree in breadth-first order from one root per connected part, and the roots."""
        remaining, order, roots = set(self.nodes), [], []
        while remaining:
            root = self.graph.ground if self.graph.ground in remaining else min(remaining)
            part = breadth_first(self.graph, root, tree)
            remaining -= {root, *(node for _, node in part)}
            order += part
            roots.append(root)
        return tuple(order), tuple(roots)

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

    @cached_property
    def units(self) -> Array:
        """Size of one unit of each coordinate: 1 for angles, ``length`` for translations, (n,)."""
        units = np.ones(self.freedoms)
        for index in self.edges:
            edge = self.graph.edges[index]
            translates = ~np.any(edge.screws[3:] != 0.0, axis=0)
            units[self.local(index)] = np.where(translates, self.length, 1.0)
        return units

    @property
    def freedoms(self) -> int:
        """Number of coordinates, chords included."""
        return len(self.columns)

    def path_to_root(self, node: int) -> list[tuple[int, int]]:
        """(edge, sign) from the node to the root; sign +1 where the node is on the child side."""
        path = []
        while node not in self.roots:
            edge = self.graph.edges[self._via[node]]
            path.append((edge.index, 1 if edge.child == node else -1))
            node = edge.other(node)
        return path

    @cached_property
    def incidence(self) -> Array:
        """Sign of every coordinate in every loop, shape (L, n): child side minus parent side."""
        parent, child = self._sides
        return child - parent

    def local(self, edge: int) -> list[int]:
        """Positions of an edge's coordinates in ``q``."""
        return [self._local[c] for c in self.graph.edges[edge].columns]

    def sign(self, loop: int, edge: int) -> int:
        """Direction in which a loop passes an edge: 1 from parent to child, -1 back, 0 not."""
        if edge == self.chords[loop]:
            return -1
        return self._edge_signs[loop].get(edge, 0)

    @cached_property
    def _edge_signs(self) -> list[dict[int, int]]:
        signs: list[dict[int, int]] = []
        for chord in self.chords:
            edge = self.graph.edges[chord]
            found: dict[int, int] = {}
            for node, factor in ((edge.child, 1), (edge.parent, -1)):
                for e, sign in self.path_to_root(node):
                    found[e] = found.get(e, 0) + factor * sign
            signs.append(found)
        return signs

    def row(self, node: int) -> int:
        """Position of a node in ``State.T_world_node``."""
        return self._row[node]

    def state(self, q: Array) -> State:
        """Poses and world screws by the product of exponentials.

        Args:
            q: Coordinates of ``self.columns``, shape (n,) or (N, n).
        """
        q = np.atleast_2d(np.asarray(q, dtype=np.float64))
        N = len(q)
        T_world = np.zeros((N, len(self.nodes), 4, 4))
        T_world[:, [self._row[root] for root in self.roots]] = np.eye(4)
        screws = np.zeros((N, self.freedoms, 6))
        motions = self._motions(q)
        for index, node in self.tree:
            edge = self.graph.edges[index]
            before = T_world[:, self._row[edge.other(node)]]
            if node == edge.child:
                frame = before @ edge.T_parent
                T_world[:, self._row[node]] = self._move(index, frame, motions, screws) @ (
                    screw.inverse(edge.T_child)
                )
            else:
                moved = before @ edge.T_child
                frame = moved @ screw.inverse(self._total(index, motions))
                self._move(index, frame, motions, screws)
                T_world[:, self._row[node]] = frame @ screw.inverse(edge.T_parent)
        L = len(self.chords)
        T_chord, T_target = np.zeros((N, L, 4, 4)), np.zeros((N, L, 4, 4))
        for i, index in enumerate(self.chords):
            edge = self.graph.edges[index]
            frame = T_world[:, self._row[edge.parent]] @ edge.T_parent
            T_chord[:, i] = self._move(index, frame, motions, screws)
            T_target[:, i] = T_world[:, self._row[edge.child]] @ edge.T_child
        return State(q, T_world, screws, T_chord, T_target)

    def _motions(self, q: Array) -> dict[int, list[Array]]:
        """The exponentials of every edge, one per factor, each of shape (N, 4, 4)."""
        singles = [
            (index, column, edge.screws[:, k])
            for index in self.edges
            for edge in (self.graph.edges[index],)
            if not edge.group
            for k, column in enumerate(self.local(index))
        ]
        motions: dict[int, list[Array]] = {index: [] for index in self.edges}
        if singles:
            coordinates = q[:, [column for _, column, _ in singles]]
            twists = coordinates[..., None] * np.array([s for _, _, s in singles])
            exponentials = screw.exp(twists)
            for i, (index, _, _) in enumerate(singles):
                motions[index].append(exponentials[:, i])
        for columns, basis, indices in self._groups:
            exponentials = screw.exp(np.einsum("gij,ngj->ngi", basis, q[:, columns]))
            for i, index in enumerate(indices):
                motions[index] = [exponentials[:, i]]
        return motions

    @cached_property
    def _groups(self) -> list[tuple[NDArray[np.intp], Array, list[int]]]:
        """Group edges by number of freedoms: coordinates (G, f), screws (G, 6, f), edges (G,)."""
        sizes: dict[int, list[int]] = {}
        for index in self.edges:
            if self.graph.edges[index].group:
                sizes.setdefault(self.graph.edges[index].freedoms, []).append(index)
        return [
            (
                np.array([self.local(index) for index in indices]),
                np.array([self.graph.edges[index].screws for index in indices]),
                indices,
            )
            for indices in sizes.values()
        ]

    def _total(self, index: int, motions: dict[int, list[Array]]) -> Array:
        total = np.eye(4)
        for factor in motions[index]:
            total = total @ factor
        return np.asarray(total)

    def _move(
        self, index: int, frame: Array, motions: dict[int, list[Array]], screws: Array
    ) -> Array:
        """Frame after the joint's motion; writes the joint's world screws on the way."""
        edge = self.graph.edges[index]
        if edge.group:
            frame = frame @ motions[index][0]
            moved = screw.adjoint(frame) @ edge.screws
            screws[:, self.local(index)] = np.swapaxes(moved, -1, -2)
            return frame
        for k, (column, factor) in enumerate(zip(self.local(index), motions[index], strict=True)):
            screws[:, column] = screw.adjoint(frame) @ edge.screws[:, k]
            frame = frame @ factor
        return frame

    def residual(self, state: State) -> Array:
        """Closure errors, shape (N, 6 L + C).

        Per loop the gap in units of ``length`` and the rotation vector; then the couplings' errors.
        """
        gap = state.T_world_target[..., :3, 3] - state.T_world_chord[..., :3, 3]
        R = state.T_world_target[..., :3, :3] @ np.swapaxes(
            state.T_world_chord[..., :3, :3], -1, -2
        )
        errors = np.concatenate([gap / self.length, screw.log_rotation(R)], axis=-1)
        coupled = state.q @ self.coupling.T - self.coupling_offset
        return np.hstack([errors.reshape(len(state.q), -1), coupled])

    def residual_jacobian(self, state: State) -> Array:
        """Exact derivative of ``residual`` by velocities, (N, 6 L + C, n), closed or not."""
        v, w = state.screws[:, None, :, :3], state.screws[:, None, :, 3:]
        parent, child = (side[None, ..., None] for side in self._sides)
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

    @cached_property
    def _sides(self) -> tuple[Array, Array]:
        """Signs with which each coordinate moves the chord frame and the target frame, (L, n)."""
        parent, child = np.zeros((2, len(self.chords), self.freedoms))
        for row, chord in enumerate(self.chords):
            edge = self.graph.edges[chord]
            for node, part in ((edge.parent, parent), (edge.child, child)):
                for e, sign in self.path_to_root(node):
                    part[row, self.local(e)] += sign
            parent[row, self.local(chord)] += 1
        return parent, child

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
        coupling = np.broadcast_to(self.coupling, (N, *self.coupling.shape))
        rows = loop_rows.reshape(N, 6 * loop_rows.shape[1], self.freedoms)
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
        rates = np.zeros_like(screws)
        twists = np.zeros((len(velocity), len(self.nodes), 6))
        order = [*self.tree, *((chord, -1) for chord in self.chords)]
        for index, node in order:
            edge = self.graph.edges[index]
            local = self.local(index)
            own = np.einsum("nk,nki->ni", velocity[:, local], screws[:, local])
            if node == edge.parent:
                carrier = twists[:, self._row[edge.child]] - own
                twists[:, self._row[node]] = carrier
            else:
                carrier = twists[:, self._row[edge.parent]]
                if node >= 0:
                    twists[:, self._row[node]] = carrier + own
            if edge.group:
                # The screws of a group joint are fixed in the moving frame.
                rates[:, local] = screw.bracket((carrier + own)[:, None], screws[:, local])
                continue
            for column in local:
                rates[:, column] = screw.bracket(carrier, screws[:, column])
                carrier = carrier + velocity[:, [column]] * screws[:, column]
        return rates

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configuration reached from q by a unit of time at constant joint velocity, (N, n)."""
        result = q + velocity
        for columns, basis, _ in self._groups:
            start, step = (
                screw.exp(np.einsum("gij,ngj->ngi", basis, values[:, columns]))
                for values in (q, velocity)
            )
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, screw.log(start @ step))
        return result

    def integration_jacobian(self, velocity: Array) -> Array:
        """Velocities at the end of ``integrate`` by its velocity argument, shape (n, n).

        The identity but for group joints, whose twist in the moving frame follows from the right
        Jacobian of their exponential.
        """
        matrix = np.eye(self.freedoms)
        for columns, basis, _ in self._groups:
            right = screw.right_jacobian(np.einsum("gij,gj->gi", basis, velocity[columns]))
            blocks = np.swapaxes(basis, 1, 2) @ right @ basis
            matrix[columns[:, :, None], columns[:, None, :]] = blocks
        return matrix


def joint_motion(edge: Edge, q: Array) -> Array:
    """Motion of an elementary joint at its coordinates (f,), shape (4, 4)."""
    if edge.group:
        return screw.exp(edge.screws @ q)
    motion = np.eye(4)
    for k in range(edge.freedoms):
        motion = motion @ screw.exp(edge.screws[:, k] * q[k])
    return motion


def fit_joint(edge: Edge, T_parent_child: Array) -> tuple[Array, Array]:
    """The joint motion nearest to a relative pose of the joint's two frames.

    Gauss-Newton on the part of the remaining twist along the joint's freedoms; the freedoms of an
    edge form a subgroup, so a few steps are enough.

    Returns:
        The motion, shape (4, 4), and the coordinates, shape (f,).
    """
    q = np.zeros(edge.freedoms)
    motion = np.eye(4)
    if edge.freedoms == 0:
        return motion, q
    for _ in range(20):
        error = screw.log(screw.inverse(motion) @ T_parent_child)
        if edge.group:
            step = np.linalg.pinv(edge.screws) @ error
            q = np.linalg.pinv(edge.screws) @ screw.log(motion @ screw.exp(edge.screws @ step))
        else:
            step = np.linalg.pinv(_moving_screws(edge, q)) @ error
            q = q + step
        motion = joint_motion(edge, q)
        if np.max(np.abs(step)) < 1e-14:
            break
    return motion, q


def _moving_screws(edge: Edge, q: Array) -> Array:
    """The freedoms of a serial joint seen from its moving frame, shape (6, f)."""
    columns, after = [], np.eye(4)
    for k in reversed(range(edge.freedoms)):
        columns.append(screw.adjoint(screw.inverse(after)) @ edge.screws[:, k])
        after = screw.exp(edge.screws[:, k] * q[k]) @ after
    return np.column_stack(columns[::-1])
