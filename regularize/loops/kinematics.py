r"""Kinematics of closed loops, vectorised over configurations.

A ``LoopKinematics`` follows a spanning tree of a set of edges and closes its chords. All joints
keep their coordinates, those of the chords included, so every loop has six closure equations
whatever is cut. Coordinates are those of the joints (the file's own zero); velocities of group
joints are twists in the moving frame. Leading axes of ``q`` are configurations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.lie.curve import Curve
from regularize.lie.enclosing_ball import enclosed_at
from regularize.loops.joint_motion import JointMotions
from regularize.mechanism.graph import EdgeId, Graph, nodes_of
from regularize.mechanism.graph_building import TOGETHER
from regularize.mechanism.loop_tree import LoopTree
from regularize.tolerances import COINCIDENT, NEGLIGIBLE, RTOL, VANISHING

Indices: TypeAlias = NDArray[np.intp]

#: Edges up to which kinematics are kept as long as their graph.
FEW = 30


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

    Attributes:
        T_parent, T_child: Joint frames of the edges in the frames of their nodes, (edges, 4, 4).
        length: As given.
        center: As given; read-only.
        units: Size of one unit of each coordinate: 1 for angles, ``length`` for slides, (n,).
        coupling: Rows of unit length of the couplings among the coordinates, shape (C, n); in the
            place of a curve there is its coefficient.
        coupling_offset: Their right-hand sides, shape (C,).
        curves: Of couplings that are not linear the place, the coordinate, and its function.
    """

    geometry = ("T_parent", "T_child", "_back", "_parts", "motions")

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
        self.T_parent = np.array([joint.T_parent for joint in joints]).reshape(-1, 4, 4)
        self.T_child = np.array([joint.T_child for joint in joints]).reshape(-1, 4, 4)
        self._back = screw.inverse(self.T_child)
        self._parent = np.array([self.row(joint.parent) for joint in joints], dtype=int)
        self._child = np.array([self.row(joint.child) for joint in joints], dtype=int)
        self._chords = np.array([self._place[chord] for chord in self.chords], dtype=int)
        self._follow()
        self._joint_screws = np.zeros((self.freedoms, 6))
        for joint in joints:
            self._joint_screws[self.local(joint.index)] = joint.screws.T
        self._turns = np.any(self._joint_screws[:, 3:] != 0.0, axis=1)
        self._parts = self._joint_screws.reshape(-1, 2, 3).swapaxes(1, 2)  # linear and angular
        self._measure(length, np.zeros(3) if center is None else center)
        self._last: dict[str, Any] = {}  # the pose as assembled is asked for again and again
        self.curves: tuple[tuple[int, int, Curve], ...] = ()
        self.coupling, self.coupling_offset = self._couplings()

    def _couplings(self) -> tuple[Array, Array]:
        """Rows of unit length and offsets of the couplings among the coordinates, (C, n), (C,)."""
        rows: list[Array] = []
        offsets, curves = [], []
        for coupling in self.graph.couplings:
            if not set(coupling.columns) <= set(self._local):
                continue
            row = np.zeros(self.freedoms)
            for column, coefficient in zip(coupling.columns, coupling.coefficients, strict=True):
                row[self._local[column]] += coefficient
            norm = float(np.linalg.norm(row)) or 1.0
            if coupling.curve is not None:
                curve = coupling.curve.along(1.0, 0.0, 1.0 / norm)
                curves.append((len(rows), self._local[coupling.columns[-1]], curve))
            rows.append(row / norm)
            offsets.append(coupling.offset / norm)
        self.curves = tuple(curves)
        return np.array(rows).reshape(len(rows), self.freedoms), np.array(offsets)

    @property
    def shape(self) -> tuple[object, ...] | None:
        """What loops that differ in ``geometry`` and measures alone have in common; None: none."""
        indices = (self._parent, self._child, self._chords, *self._ways, self.incidence)
        motions = self.motions.shape
        plain = motions is not None and not len(self.coupling)
        return (motions, *(each.tobytes() for each in indices)) if plain else None

    def _measure(self, length: float, center: Array) -> None:
        self.length, self.center = length, read_only(center)
        self.units = read_only(np.where(self._turns, 1.0, length))

    def measured(self, length: float, center: Array | None = None) -> LoopKinematics:
        """The same loops with another length and, where given, another centre."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._measure(length, self.center if center is None else center)
        return other

    def state(self, q: Array) -> State:
        """Poses and world screws by the product of exponentials.

        Args:
            q: Coordinates of ``self.columns``, shape (n,) or (N, n).
        """
        q = np.atleast_2d(np.asarray(q, dtype=np.float64))
        one = len(q) == 1 and self.T_parent.ndim == 3
        last: State | None = self._last.get("state") if one else None
        if last is not None and np.array_equal(last.q, q):
            return last
        moved, carried = self.motions.poses(q)
        T_world = self._followed(moved)
        on_parent = T_world[:, self._parent] @ self.T_parent
        frames = on_parent if carried is None else on_parent[:, self.edge_of_column] @ carried
        T_chord = on_parent[:, self._chords] @ moved[:, self._chords]
        T_target = T_world[:, self._child[self._chords]] @ self.T_child[..., self._chords, :, :]
        turned = frames[..., :3, :3] @ self._parts
        screws = np.empty((*turned.shape[:2], 6))
        screws[..., 3:] = w = turned[..., 1]
        screws[..., :3] = turned[..., 0] + screw.cross(frames[..., :3, 3], w)
        if one:
            self._last["state"] = last = State(
                *map(read_only, (q, T_world, screws, T_chord, T_target))
            )
            return last
        return State(q, T_world, screws, T_chord, T_target)

    def node_poses(self, q: Array) -> Array:
        """Poses of all nodes at one configuration of shape (n,), in the root's frame."""
        return np.asarray(self._followed(self.motions.poses(q[None])[0])[0])

    def _followed(self, moved: Array) -> Array:
        """Poses of all nodes along the tree, by how far every edge moves, (N, edges, 4, 4)."""
        T_world = np.empty((len(moved), len(self.nodes), 4, 4))
        T_world[:, self._starts] = screw.IDENTITY
        edges, onward, start, end = self._ways
        step = self.T_parent[..., edges, :, :] @ moved[:, edges] @ self._back[..., edges, :, :]
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
            for start, end in self._levels[1:]:  # the first one leads away from roots
                T_world[:, end] = T_world[:, start] @ T_world[:, end]
        return T_world

    def _follow(self) -> None:
        """Put down the ways along the tree, and which of them lead away equally far from a root.

        A way is an edge, whether it leads to the child, and the rows of its two nodes.
        """
        edges = np.array([self._place[e] for e, _ in self.tree], dtype=int)
        end = np.array([self.row(node) for _, node in self.tree], dtype=int)
        onward = self._child[edges] == end
        start = np.where(onward, self._parent[edges], self._child[edges])
        level = np.array([self.level[node] for _, node in self.tree], dtype=int)
        rounds = [level == k for k in range(1, 1 + level.max(initial=0))]
        self._ways = edges, onward, start, end
        self._starts = [self.row(root) for root in self.roots]
        self._levels = [(start[chosen], end[chosen]) for chosen in rounds]

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
        return np.hstack([errors, self.coupling_errors(state.q)])

    def coupling_errors(self, q: Array) -> Array:
        """Errors of the couplings at configurations (N, n), shape (N, C)."""
        errors = q @ self.coupling.T - self.coupling_offset
        for row, column, curve in self.curves:
            x = q[:, column]
            errors[:, row] += curve(x) - self.coupling[row, column] * x
        return np.asarray(errors)

    def coupling_rows(self, q: Array) -> Array:
        """Rows of the couplings on velocities at configurations (N, n), shape (N, C, n)."""
        rows = np.broadcast_to(self.coupling, (len(q), *self.coupling.shape))
        if self.curves:
            rows = np.array(rows)
            for row, column, curve in self.curves:
                rows[:, row, column] = curve(q[:, column], 1)
        return rows

    def coupling_bias(self, q: Array, velocity: Array) -> Array:
        """Rates of the couplings' rows times the velocity, both of shape (N, n), shape (N, C)."""
        rates = np.zeros((len(velocity), len(self.coupling)))
        for row, column, curve in self.curves:
            rates[:, row] = curve(q[:, column], 2) * velocity[:, column] ** 2
        return rates

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
        return self._with_couplings(np.swapaxes(rows, -1, -2), state.q)

    def jacobian(self, state: State, incidence: Array | None = None) -> Array:
        """Twists around each loop, about ``center``, lengths scaled; couplings: (N, 6 L + C, n).

        At a closed configuration its null space holds the velocities that keep the loops closed.

        Args:
            state: Where to take it.
            incidence: Signs of the coordinates in other independent loops than those of the chords,
                shape (L, n) or (N, L, n). Short loops are better conditioned.
        """
        signs = self.incidence if incidence is None else incidence
        rows = signs[..., None, :] * np.swapaxes(self.scaled(state.screws), -1, -2)[:, None]
        return self._with_couplings(rows, state.q)

    def _with_couplings(self, loop_rows: Array, q: Array) -> Array:
        """Stack the couplings below loop rows of shape (N, L, 6, n)."""
        N = len(loop_rows)
        rows = loop_rows.reshape(N, 6 * loop_rows.shape[1], self.freedoms)
        if not len(self.coupling):
            return rows
        return np.concatenate([rows, self.coupling_rows(q)], axis=1)

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
        return np.hstack([loops, self.coupling_bias(state.q, velocity)])

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
            start: State at one configuration, or at as many.
            end: State at N of them.
        """
        points = self.T_parent[..., 3:]
        ways = ((end.T_world_node - start.T_world_node)[:, self._parent] @ points)[..., :3, 0]
        before, after = start.T_world_node[..., :3, :3], end.T_world_node[..., :3, :3]
        turns = screw.log_rotation(after @ np.swapaxes(before, -1, -2))
        way = np.linalg.norm(ways, axis=-1).max(axis=1, initial=0.0)
        return np.stack([way, np.linalg.norm(turns, axis=-1).max(axis=1, initial=0.0)], axis=1)

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configuration reached from q by a unit of time at constant joint velocity, (N, n)."""
        return self.motions.integrate(q, velocity)

    def difference(self, start: Array, end: Array) -> Array:
        """Constant joint velocity that leads from one configuration to another, shape (N, n)."""
        return self.motions.difference(start, end)


def center_and_length(
    loops: LoopKinematics, q: Array | State, edges: Iterable[EdgeId] | None = None
) -> tuple[Array, float]:
    """Centre of the joint frames and their largest distance from it.

    Axes that meet in one point have no lengths between them but errors: where frames are no further
    apart, the size is that of the bodies, or 1 m where nothing tells it.

    Args:
        loops: Kinematics of the edges.
        q: Where they are: their coordinates, shape (n,), or the state at these.
        edges: Those that count; by default all.
    """
    poses = q.T_world_node[0] if isinstance(q, State) else loops.node_poses(q)
    edges = edges if edges is None else list(edges)
    own = slice(None) if edges is None else [loops._place[e] for e in edges]
    points = (poses[loops._parent[own]] @ loops.T_parent[own])[:, :3, 3]
    center = enclosed_at(points)
    length = float(np.max(np.linalg.norm(points - center, axis=1)))
    rounding = NEGLIGIBLE * float(np.max(np.abs(points)))  # points that differ by no more coincide
    bodies = float(max(loops.graph.extents[list(nodes_of(loops.graph, edges or loops.edges))]))
    none = max(rounding, TOGETHER)
    extent = bodies * (bodies > none and length < COINCIDENT * bodies)
    errors = max(rounding, VANISHING * extent) if extent else none
    # One origin that is off is told from a small mechanism: all others are in one place, which is
    # the origin of the world or far from it.
    first = np.linalg.norm(points - points[0], axis=1)
    last = np.linalg.norm(points - points[np.argmax(first)], axis=1)
    one = np.minimum(first, last).max() <= errors
    meant = one and 0.0 < np.min(np.linalg.norm(points, axis=1)) < 100.0 * length
    least = 0.0 if meant else 250.0 if one else 50.0
    near = extent > 0.0 or max(bodies, length) < least * errors
    small = length <= errors or (near and _locked(loops, q, center, length, edges))
    return center, (extent or 1.0) if small else length


def _locked(
    loops: LoopKinematics,
    q: Array | State,
    center: Array,
    length: float,
    edges: Iterable[EdgeId] | None,
) -> bool:
    """Whether lengths so small forbid axes that nearly meet every motion."""
    state = q if isinstance(q, State) else loops.state(q)
    own = [c for e in edges or loops.edges for c in loops.local(e)]
    own = [c for c in own if loops.incidence[:, c].any()]
    turns = np.linalg.svd(state.screws[0, own, 3:], compute_uv=False)
    if len(turns) < 2 or turns[1] < 1e-2 * turns[0]:
        return False  # parallel axes do not meet
    sized = loops.measured(length, center)
    s = np.linalg.svd((sized.jacobian(state)[0] * sized.units)[:, own], compute_uv=False)
    return len(s) == len(own) and bool(s[-1] > RTOL * s[0])


def sized_loops(
    graph: Graph,
    q: Array,
    edges: Iterable[EdgeId] | None = None,
    tree: Iterable[EdgeId] | None = None,
    *,
    length: float | None = None,
) -> LoopKinematics:
    """Kinematics whose lengths are divided by the size of the edges, twists about their centre.

    Args:
        graph: The mechanism's graph.
        q: Where the size is taken: coordinates of all joints or of the edges alone, shape (n,).
        edges: The edges that take part; by default all.
        tree: Those that form the spanning tree; by default the graph's own.
        length: Length to divide by in place of the size, in metres.
    """
    every = tuple(graph.every_edge if edges is None else edges)
    among = frozenset(graph.tree if tree is None else tree)
    loops = _loops(graph, every, tuple(e for e in every if e in among))
    own = q if len(q) == loops.freedoms else q[loops.columns]
    last = loops._last.get("size")
    if last is None or not np.array_equal(last[0], own):
        center, size = center_and_length(loops, loops.state(own))
        last = loops._last["size"] = read_only(own), loops.measured(size, center)
    sized: LoopKinematics = last[1]
    return sized if length is None else sized.measured(length)


def _loops(graph: Graph, edges: tuple[EdgeId, ...], tree: tuple[EdgeId, ...]) -> LoopKinematics:
    """Kinematics in metres: one analysis asks for the same ones again and again."""
    if len(edges) > FEW:
        return _last(graph, edges, tree)
    if (edges, tree) not in graph.known:
        graph.known[edges, tree] = LoopKinematics(graph, edges, tree)
    found: LoopKinematics = graph.known[edges, tree]
    return found


@lru_cache(maxsize=4)  # those of many edges are large
def _last(graph: Graph, edges: tuple[EdgeId, ...], tree: tuple[EdgeId, ...]) -> LoopKinematics:
    return LoopKinematics(graph, edges, tree)
