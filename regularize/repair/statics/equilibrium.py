r"""Equilibrium of all bodies of a mechanism, with every joint as a constraint, and self-stress.

The wrench in a joint of the spanning tree is what the bodies behind it need, less what the chords
bring there. So all joint wrenches follow from those of the chords, :math:`w = w_0 - C X`, and the
joints' freedoms, along which only motors act, give the equations :math:`J^T X = S^T w_0 - \tau`
with the closure Jacobian J. Wrenches are about ``loops.center``, world axes, forces times
``loops.length``, so that they are dual to the scaled twists of ``LoopKinematics``.

States of self-stress, the null space of :math:`J^T`, are wrenches that circulate around loops; they
are as many as redundant equations. In words, states that stay within one short loop come first,
for they are the easiest to picture; what is left runs through several loops at once.

A joint whose two frames are off by a small twist e against each other opens the loops through it.
Coordinates take up all of the gap but what states of self-stress X do work on,

.. math:: m = X^T \delta = \sum_j w_j^T e_j ,

with :math:`w_j` the wrench of the state in joint j (virtual work, as in the method of Kutzbach for
lack of fit). Where joints give way by compliances :math:`K_j^{-1}`, the state of least elastic
energy closes the gap (Castigliano): :math:`\lambda = -(\sum_j w_j^T K_j^{-1} w_j)^{-1} m`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Mask, Point, Space, Transform, Wrench, read_only
from regularize.lie.subalgebra import decide_rank
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.body import Inertia
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId, NodeId
from regularize.mechanism.mechanism import Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.tolerances import VANISHING
from regularize.validation import ARRAY, validated, vector
from regularize.words import Direction, directions


class Equilibrium:
    """Joint wrenches of a mechanism, or of some edges of it, at one configuration."""

    def __init__(
        self, reduction: Reduction, q: Array, edges: Sequence[EdgeId] | None = None
    ) -> None:
        self.graph, self.rtol = reduction.graph, reduction.tolerances.rtol
        #: Share of a unit state of self-stress below which a joint has no part in it.
        self.absent = reduction.tolerances.alike
        self.loops = loops = sized_loops(self.graph, q, edges, reduction.tree)
        self.state = loops.state(q)
        self.screws = loops.scaled(self.state.screws)[0]
        self.equations = 6 * len(loops.chords)

    @cached_property
    def jacobian(self) -> Array:
        """Closure equations and couplings, whose forces are unknowns too, shape (6 L + C, n)."""
        return np.asarray(self.loops.jacobian(self.state)[0])

    def fields(self, unknowns: Array) -> Array:
        """Return the wrench in every edge by k sets of chords' wrenches, shape (edges, 6, k)."""
        chords = unknowns[: self.equations].reshape(len(self.loops.chords), 6, unknowns.shape[1])
        return np.asarray(-np.einsum("le,lik->eik", self.loops.edge_incidence, chords))

    @cached_property
    def self_stress(self) -> Array:
        """Orthonormal basis of the states in balance without any load, shape (6 L + C, states)."""
        u, s, _ = np.linalg.svd(self.jacobian * self.loops.units, full_matrices=True)
        return np.asarray(u[:, decide_rank(s, self.rtol).rank :])

    def circulating(self, edges: Sequence[EdgeId]) -> Space:
        """Return the wrenches that all joints of a loop can transmit, shape (6, states)."""
        screws = np.vstack([self.screws[self.loops.local(e)] for e in edges])
        u, s, _ = np.linalg.svd(screws.T, full_matrices=True)
        return np.asarray(u[:, decide_rank(s, self.rtol).rank :])

    def motion(self, v: Array, a: Array) -> tuple[Array, Array]:
        """Return twist and acceleration of every node about the origin, shapes (nodes, 6)."""
        screws = self.state.screws
        rates = self.loops.screw_rates(screws, v[None])[0]
        signs = self.loops.movers
        carried = a[:, None] * screws[0] + v[:, None] * rates
        return signs @ (v[:, None] * screws[0]), signs @ carried

    def complete(self, v: Array, a: Array, given: Mask) -> tuple[Array, Array]:
        """Return velocities and accelerations of all coordinates from the given ones."""
        v, a = np.where(given, v, 0.0), np.where(given, a, 0.0)
        rest = self.jacobian[:, ~given]
        v[~given] = -np.linalg.lstsq(rest, self.jacobian @ v, rcond=self.rtol)[0]
        bias = self.loops.bias(self.state, v)[0]
        a[~given] = -np.linalg.lstsq(rest, self.jacobian @ a + bias, rcond=self.rtol)[0]
        return v, a

    def needed(self, v: Array, a: Array, loads: Mapping[str, Wrench]) -> dict[NodeId, Wrench]:
        """Return the wrench that joints exert on every node: inertia less gravity and loads."""
        graph, mechanism = self.graph, self.graph.mechanism
        twist, acceleration = self.motion(v, a)
        needed = {node: np.zeros(6) for node in self.loops.nodes}
        for node in needed:
            row = self.loops.row(node)
            T_world_node = self.state.T_world_node[0, row]
            for name in graph.members[node]:
                T = T_world_node @ graph.T_node_body[name]
                inertia = mechanism.body(name).inertia
                if inertia is not None:
                    seen = inertia.transformed(T)
                    wrench = _inertia_wrench(seen, twist[row], acceleration[row], mechanism.gravity)
                    needed[node] += self._at_center(wrench, seen.center)
                if name in loads:
                    needed[node] -= self._at_center(np.asarray(loads[name], float), T[:3, 3])
        return needed

    def _at_center(self, wrench: Wrench, point: Point) -> Wrench:
        """Return a wrench at a point as the scaled wrench about the centre."""
        moment = wrench[3:] + np.cross(point - self.loops.center, wrench[:3])
        return np.concatenate([wrench[:3] * self.loops.length, moment])

    def about(self, wrenches: Array, point: Array) -> Array:
        """Move scaled wrenches (6, k) from the centre to a point."""
        arm = (self.loops.center - point) / self.loops.length
        return np.vstack([wrenches[:3], wrenches[3:] + screw.cross_matrix(arm) @ wrenches[:3]])

    def at_point(self, wrenches: Array, point: Array) -> Array:
        """Return scaled wrenches (6, k) about the centre as N and N m at a point."""
        result = self.about(wrenches, point)
        result[:3] /= self.loops.length
        return result

    def origin(self, edge: EdgeId) -> Transform:
        """Return a joint's frame on its parent as in the file; kinematics may move its origin."""
        graph, own = self.graph, self.graph.edges[edge]
        pose, joint = self.state.T_world_node[0, self.loops.row(own.parent)], own.joint
        if graph.node_of[joint.parent] != own.parent:  # a further joint of several in series
            return np.asarray(pose @ own.T_parent)
        return np.asarray(pose @ graph.T_node_body[joint.parent] @ joint.T_parent_joint)

    def open_tree(self, needed: Mapping[NodeId, Wrench]) -> Array:
        """Return the wrench in every edge when the chords transmit nothing, shape (edges, 6)."""
        row = {e: i for i, e in enumerate(self.loops.edges)}
        behind = {node: np.array(wrench) for node, wrench in needed.items()}
        result = np.zeros((len(self.loops.edges), 6))
        for index, node in reversed(self.loops.tree):
            edge = self.graph.edges[index]
            result[row[index]] = behind[node] if node == edge.child else -behind[node]
            behind[edge.other(node)] += behind[node]
        return result

    def along_freedoms(self, fields: Array) -> Array:
        """Return the forces along all coordinates in wrench fields of shape (edges, 6)."""
        tau = np.zeros(self.loops.freedoms)
        for i, e in enumerate(self.loops.edges):
            local = self.loops.local(e)
            tau[local] = self.screws[local] @ fields[i]
        return tau

    def solve(self, open_tree: Array, tau: Array, held: Mask) -> tuple[Array, Array, Array]:
        """Return balancing unknowns, self-stress to be added, and forces that nothing balances."""
        units = self.loops.units
        matrix = (self.jacobian * units)[:, ~held]
        right = ((self.along_freedoms(open_tree) - tau) * units)[~held]
        u, s, vt = np.linalg.svd(matrix, full_matrices=True)
        rank = decide_rank(s, self.rtol).rank
        solution = u[:, :rank] @ ((vt[:rank] @ right) / s[:rank])
        missing = np.zeros(len(tau))
        missing[~held] = (right - matrix.T @ solution) / units[~held]
        return np.asarray(solution), np.asarray(u[:, rank:]), missing


def _inertia_wrench(inertia: Inertia, twist: Array, acceleration: Array, gravity: Array) -> Wrench:
    """Return the force and moment about the centre of mass that accelerate a body."""
    c, w = inertia.center, twist[3:]
    velocity = twist[:3] + np.cross(w, c)
    at_c = acceleration[:3] + np.cross(acceleration[3:], c) + np.cross(w, velocity)
    force = inertia.mass * (at_c - gravity)
    moment = inertia.matrix @ acceleration[3:] + np.cross(w, inertia.matrix @ w)
    return np.concatenate([force, moment])


@dataclass(frozen=True, eq=False, repr=False)
class SelfStress(ShortRepr):
    """One state of self-stress."""

    joints: tuple[str, ...]
    #: The wrench in the first of them about ``point``, ground axes.
    direction: Direction
    point: Point
    #: Whether it circulates in one short loop, the same wrench through every joint.
    one_loop: bool

    def __str__(self) -> str:
        """One phrase, for example ``a force along Y circulates through A, B, C, D``."""
        wrench = self.direction.words("force", "moment")
        if self.one_loop:
            return f"a {wrench} circulates through {', '.join(self.joints)}"
        return f"a {wrench} in {self.joints[0]} is balanced by {', '.join(self.joints[1:])}"


@validated(q=ARRAY)
def self_stress(model: Model, q: Array | None = None) -> tuple[SelfStress, ...]:
    """A readable basis of the self-stress of a mechanism.

    Args:
        model: From ``regularize.reduce``.
        q: Closed coordinates of all joints, shape (n,); by default the assembled ones.
    """
    reduction = as_reduction(model)
    if not reduction.redundant:
        return ()
    q = reduction.q if q is None else vector("q", q, len(reduction.q))
    equilibrium = Equilibrium(reduction, q)
    fields = equilibrium.fields(equilibrium.self_stress)
    total = fields.reshape(-1, fields.shape[2])
    found: list[SelfStress] = []
    explained = np.zeros((len(total), 0))
    for part in reduction.parts:
        for cycle in part.cycles:
            for state, field in _of_cycle(equilibrium, cycle):
                new = field - _project(explained, field)
                if np.linalg.norm(new) < equilibrium.absent * np.linalg.norm(field):
                    continue  # neighbouring loops say so already
                found.append(state)
                explained = np.column_stack([explained, field])
    u, _, _ = np.linalg.svd(total - _project(explained, total), full_matrices=False)
    rest = u.T[: max(total.shape[1] - len(found), 0)]
    return (*found, *(_across(equilibrium, column.reshape(-1, 6)) for column in rest))


def _project(columns: Array, onto: Array) -> Array:
    """Project orthogonally on the space of the columns."""
    basis = np.linalg.qr(columns)[0]
    return np.asarray(basis @ (basis.T @ onto))


def _of_cycle(equilibrium: Equilibrium, cycle: Cycle) -> Iterator[tuple[SelfStress, Array]]:
    """Return states of self-stress within one loop and their wrenches, shape (edges * 6,)."""
    loops, graph = equilibrium.loops, equilibrium.graph
    space = equilibrium.circulating(cycle.edges)
    if not space.shape[1]:
        return
    point = _common_point(equilibrium, cycle)
    names = graph.joint_names(cycle.edges)
    for direction in directions(equilibrium.about(space, point)):
        wrench = direction.covector.copy()
        wrench[3:] += np.cross((point - loops.center) / loops.length, wrench[:3])
        field = np.zeros((len(loops.edges), 6))
        for e, node in zip(cycle.edges, cycle.nodes, strict=True):
            sign = 1.0 if node == graph.edges[e].parent else -1.0
            field[loops.edges.index(e)] = sign * wrench
        yield SelfStress(names, direction, read_only(point), True), field.ravel()


def _common_point(equilibrium: Equilibrium, cycle: Cycle) -> Point:
    """Return the point nearest to all axes of rotation of a loop."""
    normal, moment = np.zeros((3, 3)), np.zeros(3)
    for e in cycle.edges:
        for twist in equilibrium.state.screws[0, equilibrium.loops.local(e)]:
            axis, point, _ = screw.axis_of(twist)
            if point is not None:
                across = np.eye(3) - np.outer(axis, axis)
                normal, moment = normal + across, moment + across @ point
    center = np.asarray(equilibrium.loops.center)
    return center + np.linalg.lstsq(normal, moment - normal @ center, rcond=VANISHING)[0]


def _across(equilibrium: Equilibrium, field: Array) -> SelfStress:
    """Describe a self-stress state that runs through several loops, by its first joint's wrench."""
    loops, graph = equilibrium.loops, equilibrium.graph
    sizes = np.max(np.abs(field), axis=1)
    taking = np.flatnonzero(sizes > equilibrium.absent * sizes.max()).tolist()
    first = taking[0]
    origin = equilibrium.origin(loops.edges[first])[:3, 3]
    wrench = equilibrium.about(field[first][:, None], origin)
    names = graph.joint_names(loops.edges[i] for i in taking)
    wrench /= np.linalg.norm(wrench)
    return SelfStress(names, directions(wrench)[0], read_only(origin), False)


@dataclass(frozen=True, eq=False)
class StressedJoints:
    """States of self-stress of a cell as wrenches in its joints."""

    names: tuple[str, ...]
    #: The frame of each on its parent, shape (joints, 4, 4).
    places: Transform
    #: In every joint at its place along the axes of its frame, in N and N m, (joints, 6, states).
    wrenches: Array
    #: In the closing joints, by edge: about the origin, axes of the world, as the bodies that carry
    #: the cut frames stand at the assembled pose, shape (6, states).
    chords: dict[EdgeId, Array]

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.wrenches.shape[2])

    def mixed(self, amounts: Array) -> StressedJoints:
        """Return linear combinations of the states by given amounts, shape (states, k)."""
        chords = {e: wrench @ amounts for e, wrench in self.chords.items()}
        return StressedJoints(self.names, self.places, self.wrenches @ amounts, chords)


def stressed_joints(reduction: Reduction, cell: CellMobility) -> StressedJoints:
    """Return the states of self-stress of a cell, at the pose or where it is least singular."""
    q = np.asarray(reduction.q[reduction.graph.columns(cell.edges)])
    if cell.here.rank < cell.generic.rank:
        loops = Equilibrium(reduction, q, cell.edges).loops
        rows = loops.jacobian(loops.state(cell.configurations)) * loops.units
        s = np.linalg.svd(rows, compute_uv=False)
        q = cell.configurations[int(np.argmax(s[:, cell.generic.rank - 1] / s[:, 0]))]
    equilibrium = Equilibrium(reduction, q, cell.edges)
    loops, graph, state = equilibrium.loops, reduction.graph, equilibrium.state
    unknowns = equilibrium.self_stress
    reference, every = reduction.reference.T_world_node[0], reduction.loops
    T_world_root = reference[every.row(loops.roots[0])]
    places: dict[str, Transform] = {}
    wrenches = []
    for e, field in zip(loops.edges, equilibrium.fields(unknowns), strict=True):
        name, pose = graph.edges[e].joint.name, equilibrium.origin(e)
        if name not in places:  # in series: what one of them transmits, all do
            places[name] = T_world_root @ pose
            wrench = equilibrium.at_point(field, pose[:3, 3])
            wrenches.append(np.kron(np.eye(2), pose[:3, :3].T) @ wrench)
    chords = {}
    cuts = {cut.edge.index: cut for cut in reduction.cuts}
    for k, e in enumerate(loops.chords):
        node = cuts[e].node
        T = reference[every.row(node)] @ screw.inverse(state.T_world_node[0, loops.row(node)])
        own = equilibrium.at_point(unknowns[6 * k : 6 * k + 6], np.zeros(3))
        chords[e] = screw.adjoint(screw.inverse(T)).T @ own
    return StressedJoints(tuple(places), np.array([*places.values()]), np.array(wrenches), chords)
