r"""Kinematics of closed loops, vectorised over configurations.

A ``LoopKinematics`` follows a spanning tree of a set of edges and closes its chords. All joints
keep their coordinates, those of the chords included, so every loop has six closure equations
whatever is cut. Coordinates are those of the joints (the file's own zero); velocities of group
joints are twists in the moving frame. Leading axes of ``q`` are configurations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.arrays import (
    Array,
    Coordinates,
    Indices,
    Jacobian,
    Point,
    Rates,
    Residual,
    Screw,
    Transform,
    Twist,
    read_only,
)
from regularize.lie.curve import Curve
from regularize.mechanism.cycles import LoopTree
from regularize.mechanism.graph import Edge, EdgeId, Graph, nodes_of
from regularize.mechanism.graph_building import TOGETHER
from regularize.tolerances import COINCIDENT, NEGLIGIBLE, RTOL, VANISHING

#: Levels of a tree up to which poses are made one after another.
FEW_LEVELS = 8
#: Edges up to which kinematics are kept as long as their graph.
FEW = 30


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """Poses and screws at N configurations, in the frame of the root node."""

    q: Coordinates
    T_world_node: Transform  # (N, nodes, 4, 4)
    screws: Screw  # of every coordinate, (N, n, 6)
    T_world_chord: Transform  # chords' joint frames, moved by the chords' coordinates, (N, L, 4, 4)
    T_world_target: Transform  # the frames on the chords' children that they have to meet

    def __getitem__(self, chosen: slice | NDArray[Any]) -> State:
        """Return the state at some of the configurations."""
        return State(*(getattr(self, field.name)[chosen] for field in fields(self)))


class LoopKinematics(LoopTree):
    """Closure equations of the loops of a connected set of edges; nothing changes them later."""

    def __init__(
        self,
        graph: Graph,
        edges: Iterable[EdgeId],
        tree: Iterable[EdgeId],
        *,
        length: float = 1.0,
        center: Point | None = None,
    ) -> None:
        super().__init__(graph, edges, tree)
        joints = [graph.edges[index] for index in self.edges]
        self.T_parent = np.array([joint.T_parent for joint in joints]).reshape(-1, 4, 4)
        self.T_child = np.array([joint.T_child for joint in joints]).reshape(-1, 4, 4)
        self.T_child_inverse = screw.inverse(self.T_child)
        self._parent: Indices = np.array([self.row(joint.parent) for joint in joints], dtype=int)
        self._child: Indices = np.array([self.row(joint.child) for joint in joints], dtype=int)
        self._chords = np.array([self._place[chord] for chord in self.chords], dtype=int)
        self._follow()
        self._sort_joints(joints)
        screws = np.zeros((self.freedoms, 6))
        for joint in joints:
            screws[self.local(joint.index)] = joint.screws.T
        self._turns = np.any(screws[:, 3:] != 0.0, axis=1)
        #: Linear and angular parts of the screws in their joint frames, shape (n, 3, 2).
        self.parts = screws.reshape(-1, 2, 3).swapaxes(1, 2)
        self._measure(length, np.zeros(3) if center is None else center)
        self._last: dict[str, Any] = {}  # the pose as assembled is asked for again and again
        #: In place of a curve a row has its coefficient; of curves row, coordinate and function.
        self.coupling, self.coupling_offset, self.curves = self._couplings()

    def _sort_joints(self, joints: Sequence[Edge]) -> None:
        """Sort joints by kind, so that the motions of one kind are computed together."""
        first = np.searchsorted(self.edge_of_column, np.arange(len(joints)))
        #: Coordinates and joints of the single motions that come k-th in a joint, and their screws.
        self._rows: list[tuple[Indices, Indices]] = []
        self._screws: list[screw.OneScrew] = []
        for k in range(6):
            alike = [i for i, joint in enumerate(joints) if not joint.group and joint.freedoms > k]
            if not alike:
                break
            self._rows.append((first[alike] + k, np.array(alike)))
            self._screws.append(screw.OneScrew(np.array([joints[i].screws[:, k] for i in alike])))
        #: Coordinates (G, f), screws (G, 6, f) and joints of group joints with equal freedoms.
        self._groups: list[tuple[Indices, Array, Indices]] = []
        for f in sorted({joint.freedoms for joint in joints if joint.group}):
            alike = [i for i, joint in enumerate(joints) if joint.group and joint.freedoms == f]
            basis = np.array([joints[i].screws for i in alike])
            self._groups.append((first[alike, None] + np.arange(f), basis, np.array(alike)))
        # Whether each joint has one coordinate, in their order.
        single = len(self._rows[0][0]) if len(self._rows) == 1 else 0
        self._alone = 0 < single == len(joints) == self.freedoms

    def _couplings(self) -> tuple[Array, Array, list[tuple[int, int, Curve]]]:
        """Return rows (C, n) of unit length, offsets (C,) and curves of the couplings."""
        rows, offsets, curves = list[Array](), list[float](), list[tuple[int, int, Curve]]()
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
        return np.array(rows).reshape(len(rows), self.freedoms), np.array(offsets), curves

    def _measure(self, length: float, center: Point) -> None:
        # Translations are divided by length; twists are about the centre, in the root's frame.
        self.length, self.center = length, read_only(center)
        self.units = read_only(np.where(self._turns, 1.0, length))

    def measured(self, length: float, center: Point | None = None) -> LoopKinematics:
        """Return the same loops with another length and, where given, another centre."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._measure(length, self.center if center is None else center)
        return other

    def state(self, q: Coordinates) -> State:
        """Return poses and world screws by the product of exponentials, at q (n,) or (N, n)."""
        q = np.atleast_2d(np.asarray(q, dtype=np.float64))
        one = len(q) == 1
        last: State | None = self._last.get("state") if one else None
        if last is not None and np.array_equal(last.q, q):
            return last
        moved, carried = self.poses(q)
        T_world = self._followed(moved)
        on_parent = T_world[:, self._parent] @ self.T_parent
        frames = on_parent if carried is None else on_parent[:, self.edge_of_column] @ carried
        T_chord = on_parent[:, self._chords] @ moved[:, self._chords]
        T_target = T_world[:, self._child[self._chords]] @ self.T_child[self._chords]
        turned = frames[..., :3, :3] @ self.parts
        screws = np.empty((*turned.shape[:2], 6))
        screws[..., 3:] = w = turned[..., 1]
        screws[..., :3] = turned[..., 0] + screw.cross(frames[..., :3, 3], w)
        parts = q, T_world, screws, T_chord, T_target
        if not one:
            return State(*parts)
        self._last["state"] = last = State(*map(read_only, parts))
        return last

    def poses(self, q: Coordinates) -> tuple[Transform, Transform | None]:
        """Return motions of edges (N, E, 4, 4), and the screws' frames if these are others."""
        if self._alone:
            return self._screws[0].motions(q), None
        moved = np.zeros((len(q), len(self.edges), 4, 4))
        moved[..., range(4), range(4)] = 1.0
        carried = np.zeros((len(q), self.freedoms, 4, 4))
        for k, (columns, places) in enumerate(self._rows):
            step = self._screws[k].motions(q[:, columns])
            before = screw.IDENTITY if k == 0 else moved[:, places]
            carried[:, columns] = before
            moved[:, places] = step if k == 0 else before @ step
        for columns, basis, places in self._groups:
            step = _group_pose(basis, q[:, columns])
            moved[:, places] = step
            carried[:, columns] = step[:, :, None]
        return moved, carried

    def _followed(self, moved: Transform) -> Transform:
        """Return the poses of all nodes along the tree by the motions of edges (N, edges, 4, 4)."""
        T_world = np.empty((len(moved), len(self.nodes), 4, 4))
        T_world[:, self._starts] = screw.IDENTITY
        edges, onward, start, end = self._ways
        step = self.T_parent[edges] @ moved[:, edges] @ self.T_child_inverse[edges]
        if not onward.all():
            step[:, ~onward] = screw.inverse(step[:, ~onward])
        T_world[:, end] = step
        rounds, levels = len(self._levels).bit_length(), len(self._levels)
        if levels > FEW_LEVELS and levels**2 > rounds * len(moved) * len(self.nodes):
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
        """Keep the steps along the tree (edge, onward, start row, end row), sorted by level."""
        edges = np.array([self._place[e] for e, _ in self.tree], dtype=int)
        end = np.array([self.row(node) for _, node in self.tree], dtype=int)
        onward = self._child[edges] == end
        start = np.where(onward, self._parent[edges], self._child[edges])
        level = np.array([self.level[node] for _, node in self.tree], dtype=int)
        rounds = [level == k for k in range(1, 1 + level.max(initial=0))]
        self._ways = edges, onward, start, end
        self._starts = [self.row(root) for root in self.roots]
        self._levels = [(start[chosen], end[chosen]) for chosen in rounds]

    def residual(self, state: State) -> Residual:
        """Return gaps by ``length`` and rotation vectors of loops, then errors of couplings."""
        gap = state.T_world_target[..., :3, 3] - state.T_world_chord[..., :3, 3]
        R = _rotation_error(state)
        errors = np.concatenate([gap / self.length, screw.log_rotation(R)], axis=-1)
        errors = errors.reshape(len(state.q), 6 * len(self.chords))
        if not len(self.coupling):
            return errors
        return np.hstack([errors, self.coupling_errors(state.q)])

    def coupling_errors(self, q: Coordinates) -> Residual:
        """Return the errors (N, C) of the couplings at configurations (N, n)."""
        errors = q @ self.coupling.T - self.coupling_offset
        for row, column, curve in self.curves:
            x = q[:, column]
            errors[:, row] += curve(x) - self.coupling[row, column] * x
        return np.asarray(errors)

    def coupling_rows(self, q: Coordinates) -> Jacobian:
        """Return the rows (N, C, n) of the couplings on velocities at configurations (N, n)."""
        rows = np.broadcast_to(self.coupling, (len(q), *self.coupling.shape))
        if self.curves:
            rows = np.array(rows)
            for row, column, curve in self.curves:
                rows[:, row, column] = curve(q[:, column], 1)
        return rows

    def coupling_bias(self, q: Coordinates, velocity: Rates) -> Residual:
        """Return the rates of the couplings' rows times the velocity, shape (N, C)."""
        rates = np.zeros((len(velocity), len(self.coupling)))
        for row, column, curve in self.curves:
            rates[:, row] = curve(q[:, column], 2) * velocity[:, column] ** 2
        return rates

    def residual_jacobian(self, state: State) -> Jacobian:
        """Return the exact derivative of ``residual`` by velocities, closed or not."""
        v, w = state.screws[:, None, :, :3], state.screws[:, None, :, 3:]
        parent, child = (side[None, ..., None] for side in self.sides)
        target = state.T_world_target[:, :, None, :3, 3]
        chord = state.T_world_chord[:, :, None, :3, 3]
        gap = child * (v + screw.cross(w, target)) - parent * (v + screw.cross(w, chord))
        # The error rotation R_t R_c^T turns with the child's rate from the left and carries the
        # parent's rate through itself; its rotation vector follows by the left Jacobian.
        L = len(self.chords)
        error = self.residual(state)[:, : 6 * L].reshape(len(state.q), L, 6)[..., 3:]
        turning = child * w - parent * (w @ np.swapaxes(_rotation_error(state), -1, -2))
        rotation = turning @ np.swapaxes(screw.inverse_left_jacobian(error), -1, -2)
        rows = np.concatenate([gap / self.length, rotation], axis=-1)
        return self._with_couplings(np.swapaxes(rows, -1, -2), state.q)

    def jacobian(self, state: State, incidence: Array | None = None) -> Jacobian:
        """Return the twists around each loop, about ``center``, lengths scaled; then couplings."""
        # Other loops, by signs (L, n) of coordinates in them, may be better conditioned.
        signs = self.incidence if incidence is None else incidence
        rows = signs[:, None] * np.swapaxes(self.scaled(state.screws), -1, -2)[:, None]
        return self._with_couplings(rows, state.q)

    def _with_couplings(self, loop_rows: Array, q: Coordinates) -> Jacobian:
        """Stack the couplings below loop rows of shape (N, L, 6, n)."""
        N = len(loop_rows)
        rows = loop_rows.reshape(N, 6 * loop_rows.shape[1], self.freedoms)
        if not len(self.coupling):
            return rows
        return np.concatenate([rows, self.coupling_rows(q)], axis=1)

    def scaled(self, twists: Twist) -> Twist:
        """Refer twists to the point ``center``, and divide their linear part by ``length``."""
        linear = twists[..., :3] + screw.cross(twists[..., 3:], self.center)
        return np.concatenate([linear / self.length, twists[..., 3:]], axis=-1)

    def bias(self, state: State, velocity: Rates) -> Residual:
        """Return the time derivative of ``jacobian`` times the velocity."""
        velocity = np.atleast_2d(velocity)
        rates = self.scaled(self.screw_rates(state.screws, velocity)) * velocity[..., None]
        loops = np.einsum("lk,nki->nli", self.incidence, rates).reshape(len(velocity), -1)
        return np.hstack([loops, self.coupling_bias(state.q, velocity)])

    def screw_rates(self, screws: Screw, velocity: Rates) -> Screw:
        """Return the rates (N, n, 6) of world screws: brackets with the twists that carry them."""
        return screw.bracket(self.carriers @ (screws * velocity[..., None]), screws)

    def joint_places(self, state: State) -> Point:
        """Return the origins of all joint frames at the first of some configurations."""
        return np.asarray((state.T_world_node[0, self._parent] @ self.T_parent)[:, :3, 3])

    def displacements(self, start: State, end: State) -> Array:
        """Return the largest shift of a joint (m) and turn of a body (rad) between states."""
        moved = end.T_world_node - start.T_world_node
        ways = (moved[:, self._parent] @ self.T_parent[:, :, 3:])[..., :3, 0]
        before, after = start.T_world_node[..., :3, :3], end.T_world_node[..., :3, :3]
        turns = screw.log_rotation(after @ np.swapaxes(before, -1, -2))
        way = np.linalg.norm(ways, axis=-1).max(axis=1, initial=0.0)
        return np.stack([way, np.linalg.norm(turns, axis=-1).max(axis=1, initial=0.0)], axis=1)

    def integrate(self, q: Coordinates, velocity: Rates) -> Coordinates:
        """Return the coordinates after a unit of time at constant joint velocity from q."""
        result = q + velocity
        for columns, basis, _ in self._groups:
            start, step = (_group_pose(basis, values[:, columns]) for values in (q, velocity))
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, screw.log(start @ step))
        return result

    def difference(self, start: Coordinates, end: Coordinates) -> Rates:
        """Return the constant joint velocity that leads from start to end in a unit of time."""
        result = end - start
        for columns, basis, _ in self._groups:
            before, after = (_group_pose(basis, values[:, columns]) for values in (start, end))
            twists = screw.log(screw.inverse(before) @ after)
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, twists)
        return result


def _rotation_error(state: State) -> Array:
    """Return the rotations (N, L, 3, 3) from the chords' frames to their targets."""
    chord = state.T_world_chord[..., :3, :3]
    return np.asarray(state.T_world_target[..., :3, :3] @ np.swapaxes(chord, -1, -2))


def center_and_length(
    loops: LoopKinematics, q: Coordinates | State, edges: Iterable[EdgeId] | None = None
) -> tuple[Point, float]:
    """Return the centre of joint frames and their largest distance from it, or the bodies' size."""
    edges = loops.edges if edges is None else list(edges)
    places = [loops._place[e] for e in edges]
    state = q if isinstance(q, State) else loops.state(q)
    points = loops.joint_places(state)[places]
    center = screw.smallest_ball_center(points)
    length = float(np.max(np.linalg.norm(points - center, axis=1)))
    rounding = NEGLIGIBLE * float(np.max(np.abs(points)))  # points that differ by no more coincide
    bodies = float(max(loops.graph.extents[nodes_of(loops.graph, edges)]))
    none = max(rounding, TOGETHER)
    extent = bodies * (bodies > none and length < COINCIDENT * bodies)
    errors = max(rounding, VANISHING * extent) if extent else none
    if not extent and length > 250.0 * errors:
        return center, length
    # One origin that is off is told from a small mechanism: all others are in one place, which is
    # the origin of the world or far from it.
    first = np.linalg.norm(points - points[0], axis=1)
    last = np.linalg.norm(points - points[np.argmax(first)], axis=1)
    one = np.minimum(first, last).max() <= errors
    meant = one and 0.0 < np.min(np.linalg.norm(points, axis=1)) < 100.0 * length
    least = 0.0 if meant else 250.0 if one else 50.0
    near = extent > 0.0 or max(bodies, length) < least * errors
    small = length <= errors or (near and _locked(loops.measured(length, center), state, edges))
    return center, (extent or 1.0) if small else length


def _locked(loops: LoopKinematics, state: State, edges: Sequence[EdgeId]) -> bool:
    """Return whether axes that nearly meet would lose every motion with so small a length."""
    columns = [c for e in edges for c in loops.local(e) if loops.incidence[:, c].any()]
    turns = np.linalg.svd(state.screws[0, columns, 3:], compute_uv=False)
    if len(turns) < 2 or turns[1] < 1e-2 * turns[0]:
        return False  # parallel axes do not meet
    s = np.linalg.svd((loops.jacobian(state)[0] * loops.units)[:, columns], compute_uv=False)
    return len(s) == len(columns) and bool(s[-1] > RTOL * s[0])


def sized_loops(
    graph: Graph,
    q: Coordinates,
    edges: Iterable[EdgeId] | None = None,
    tree: Iterable[EdgeId] | None = None,
    *,
    length: float | None = None,
) -> LoopKinematics:
    """Return kinematics sized at q, of all joints or the edges: by these, or with ``length``."""
    every = tuple(graph.every_edge if edges is None else edges)
    preferred = frozenset(graph.tree if tree is None else tree)
    kept = every, tuple(e for e in every if e in preferred)
    # One analysis asks for the same kinematics again and again; those of many edges are large.
    if len(every) > FEW:
        loops = _large(graph, *kept)
    else:
        if kept not in graph.known:
            graph.known[kept] = LoopKinematics(graph, *kept)
        loops = graph.known[kept]
    here = q if len(q) == loops.freedoms else q[loops.columns]
    last = loops._last.get("size")
    if last is None or not np.array_equal(last[0], here):
        center, size = center_and_length(loops, loops.state(here))
        last = loops._last["size"] = read_only(here), loops.measured(size, center)
    sized: LoopKinematics = last[1]
    return sized if length is None else sized.measured(length)


@lru_cache(maxsize=4)
def _large(graph: Graph, edges: tuple[EdgeId, ...], tree: tuple[EdgeId, ...]) -> LoopKinematics:
    return LoopKinematics(graph, edges, tree)


def _group_pose(basis: Array, q: Coordinates) -> Transform:
    """Return the poses of group joints with screws (G, 6, f) at coordinates (N, G, f)."""
    return screw.exp(np.einsum("gij,ngj->ngi", basis, q))
