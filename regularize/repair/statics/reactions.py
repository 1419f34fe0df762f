r"""Which joint reactions the model determines, and which it leaves open.

In equilibrium the wrenches in the joints of a loop may be changed by a wrench that circulates
around it, as long as no joint has a freedom that would give way. Such *self-stress* states form the
left null space of the loops' closure equations; their number is the number of redundant equations.
A reaction is unique exactly where no self-stress state has a component (Wojtyra 2005).

In words, states that stay within one short loop come first, for they are the easiest to picture;
what is left runs through several loops at once.

A joint whose two frames are off by a small twist e against each other opens the loops through it.
Coordinates take up all of the gap but what states of self-stress X do work on,

.. math:: m = X^T \delta = \sum_j w_j^T e_j ,

with :math:`w_j` the wrench of the state in joint j (virtual work; the left null space of the
closure Jacobian, as in the method of Kutzbach for lack of fit). Along its own freedoms a joint
transmits nothing, so errors there do not count. Where joints give way by compliances
:math:`K_j^{-1}`, the state of least elastic energy closes the gap (Castigliano):

.. math:: \lambda = -\left(\sum_j w_j^T K_j^{-1} w_j\right)^{-1} m .
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.lie.subalgebra import decide_rank
from regularize.mechanism.cycles import MANY_LOOPS, Cycle
from regularize.mechanism.graph import EdgeId
from regularize.mechanism.mechanism import Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.repair.statics.equilibrium import Equilibrium
from regularize.tolerances import VANISHING
from regularize.validation import ARRAY, validated, vector
from regularize.words import Direction, directions, directions_of_each


@dataclass(frozen=True, eq=False, repr=False)
class Reaction(ShortRepr):
    """What is known of the wrench that a joint transmits.

    Attributes:
        joint: Name of the joint.
        indeterminate: Directions in which self-stress is possible, about the joint's origin, ground
            axes; empty where the reaction is unique.
    """

    joint: str
    indeterminate: tuple[Direction, ...]

    @property
    def unique(self) -> bool:
        """Whether the model determines the whole reaction."""
        return not self.indeterminate


def reactions(model: Model) -> tuple[Reaction, ...]:
    """Uniqueness of every joint's reaction, at the assembled pose unless that is singular."""
    reduction = as_reduction(model)
    graph, every = reduction.graph, reduction.loops
    alike: dict[int, list[tuple[str, Array, Array]]] = {}
    for cell in reduction.cells:
        singular = cell.here.rank < cell.generic.rank
        q = cell.configurations[-1] if singular else reduction.q[graph.columns(cell.edges)]
        equilibrium = Equilibrium(reduction, q, cell.edges)
        for e, field in _fields(reduction, cell, equilibrium):
            if np.max(np.abs(field), initial=0.0) < equilibrium.absent:
                continue
            edge = graph.edges[e]
            loops = equilibrium.loops
            arm = (loops.center - equilibrium.origin(e)[:3, 3]) / loops.length
            root = loops.root_of[edge.parent]
            if root != graph.ground:
                R = reduction.reference.T_world_node[0, every.row(root), :3, :3]
                field, arm = np.vstack([R @ field[:3], R @ field[3:]]), R @ arm
            alike.setdefault(field.shape[1], []).append((edge.joint.name, field, arm))
    found: dict[str, list[Direction]] = {}
    for together in alike.values():
        named, fields, arms = zip(*together, strict=True)
        wrenches = np.array(fields)
        forces = np.swapaxes(wrenches[:, :3], 1, 2)
        wrenches[:, 3:] += np.swapaxes(screw.cross(np.array(arms)[:, None], forces), 1, 2)
        found |= zip(named, directions_of_each(wrenches), strict=True)
    return tuple(
        Reaction(joint.name, tuple(found.get(joint.name, ())))
        for joint in graph.mechanism.joints
        if joint.kind != "fixed" or joint.closure
    )


def _fields(
    reduction: Reduction, cell: CellMobility, equilibrium: Equilibrium
) -> Iterator[tuple[EdgeId, Array]]:
    """Every edge of a cell with the wrenches of self-stress in it, shape (6, states)."""
    loops = equilibrium.loops
    if len(loops.chords) > MANY_LOOPS:
        from regularize.reduction.many_loops import LoopRanks  # loaded where there are many

        cycles = reduction.cycles(cell)
        each = LoopRanks(loops, cycles, equilibrium.state, reduction.tolerances.rtol)
        if each.rank is not None:
            yield from ((e, each.self_stress(e)) for e in loops.edges)
            return
    yield from zip(loops.edges, equilibrium.fields(equilibrium.self_stress), strict=True)


@dataclass(frozen=True, eq=False, repr=False)
class SelfStress(ShortRepr):
    """One state of self-stress.

    Attributes:
        joints: Names of the joints that take part.
        direction: The wrench in the first of them, about ``point``, ground axes.
        point: World coordinates in metres, shape (3,).
        one_loop: Whether it circulates in one short loop, the same wrench through every joint.
    """

    joints: tuple[str, ...]
    direction: Direction
    point: Array
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
    if not fields.shape[2]:
        return ()
    total = fields.reshape(-1, fields.shape[2])
    found: list[SelfStress] = []
    explained: list[Array] = []
    for part in reduction.parts:
        for cycle in part.cycles:
            for state, field in _of_cycle(equilibrium, cycle):
                known = np.array(explained).reshape(-1, len(total)).T
                new = field - _project(known, field)
                if np.linalg.norm(new) < equilibrium.absent * np.linalg.norm(field):
                    continue  # neighbouring loops say so already
                found.append(state)
                explained.append(field)
    rest = total - _project(np.array(explained).reshape(-1, len(total)).T, total)
    u, _, _ = np.linalg.svd(rest, full_matrices=False)
    for column in u.T[: total.shape[1] - len(found)]:
        found.append(_across(equilibrium, column.reshape(-1, 6)))
    return tuple(found)


def _project(columns: Array, onto: Array) -> Array:
    """Orthogonal projection on the space of the columns."""
    basis = np.linalg.qr(columns)[0]
    return np.asarray(basis @ (basis.T @ onto))


def _of_cycle(equilibrium: Equilibrium, cycle: Cycle) -> Iterator[tuple[SelfStress, Array]]:
    """States within one loop and their wrench fields, shape (edges * 6,)."""
    loops, graph = equilibrium.loops, equilibrium.graph
    screws = np.vstack([equilibrium.screws[loops.local(e)] for e in cycle.edges])
    u, s, _ = np.linalg.svd(screws.T, full_matrices=True)
    space = u[:, decide_rank(s, equilibrium.rtol).rank :]
    if not space.shape[1]:
        return
    point = _common_point(equilibrium, cycle)
    names = tuple(dict.fromkeys(graph.edges[e].joint.name for e in cycle.edges))
    for direction in directions(equilibrium.about(space, point)):
        wrench = direction.covector.copy()
        wrench[3:] += np.cross((point - loops.center) / loops.length, wrench[:3])
        field = np.zeros((len(loops.edges), 6))
        for e, node in zip(cycle.edges, cycle.nodes, strict=True):
            sign = 1.0 if node == graph.edges[e].parent else -1.0
            field[loops.edges.index(e)] = sign * wrench
        yield SelfStress(names, direction, read_only(point), True), field.ravel()


def _common_point(equilibrium: Equilibrium, cycle: Cycle) -> Array:
    """The point nearest to all axes of rotation of a loop, world coordinates."""
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
    """A state that runs through several loops, seen from its first joint."""
    loops, graph = equilibrium.loops, equilibrium.graph
    sizes = np.max(np.abs(field), axis=1)
    taking = np.flatnonzero(sizes > equilibrium.absent * sizes.max()).tolist()
    first = taking[0]
    origin = equilibrium.origin(loops.edges[first])[:3, 3]
    wrench = equilibrium.about(field[first][:, None], origin)
    names = tuple(dict.fromkeys(graph.edges[loops.edges[i]].joint.name for i in taking))
    wrench /= np.linalg.norm(wrench)
    return SelfStress(names, directions(wrench)[0], read_only(origin), False)


@dataclass(frozen=True, eq=False)
class StressedJoints:
    """States of self-stress of a cell as wrenches in its joints.

    Attributes:
        names: The joints.
        places: The frame of each, on its parent, world, shape (joints, 4, 4).
        wrenches: In every joint at its place along these axes, force in newtons first, moment in
            newton metres, shape (joints, 6, states).
        chords: In the closing joints, by edge: about the origin, axes of the world, as the bodies
            that carry the cut frames stand at the assembled pose, shape (6, states).
    """

    names: tuple[str, ...]
    places: Array
    wrenches: Array
    chords: dict[EdgeId, Array]

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.wrenches.shape[2])

    def mixed(self, amounts: Array) -> StressedJoints:
        """Other states, made of some amounts of these, shape (states, k)."""
        chords = {e: wrench @ amounts for e, wrench in self.chords.items()}
        return StressedJoints(self.names, self.places, self.wrenches @ amounts, chords)


def stressed_joints(reduction: Reduction, cell: CellMobility) -> StressedJoints:
    """The states of self-stress of a cell.

    Where the assembled pose is singular, they are those of the least singular configuration that
    was visited.
    """
    equilibrium = Equilibrium(reduction, _regular(reduction, cell), cell.edges)
    loops, graph, state = equilibrium.loops, reduction.graph, equilibrium.state
    unknowns = equilibrium.self_stress
    fields = equilibrium.fields(unknowns)
    reference, every = reduction.reference.T_world_node[0], reduction.loops
    T_world_root = reference[every.row(loops.roots[0])]
    names, places, wrenches = [], [], []
    for e, field in zip(loops.edges, fields, strict=True):
        name = graph.edges[e].joint.name
        if name in names:  # in series: what one of them transmits, all do
            continue
        pose = equilibrium.origin(e)
        names.append(name)
        places.append(T_world_root @ pose)
        wrench = equilibrium.at_point(field, pose[:3, 3])
        wrenches.append(np.kron(np.eye(2), pose[:3, :3].T) @ wrench)
    chords = {}
    cuts = {cut.edge.index: cut for cut in reduction.cuts}
    for k, e in enumerate(loops.chords):
        node = cuts[e].node
        here = state.T_world_node[0, loops.row(node)]
        T = reference[every.row(node)] @ screw.inverse(here)
        own = equilibrium.at_point(unknowns[6 * k : 6 * k + 6], np.zeros(3))
        chords[e] = screw.adjoint(screw.inverse(T)).T @ own
    return StressedJoints(tuple(names), np.array(places), np.array(wrenches), chords)


def _regular(reduction: Reduction, cell: CellMobility) -> Array:
    """The assembled coordinates of a cell, or others where these are singular, shape (n,)."""
    q = reduction.q[reduction.graph.columns(cell.edges)]
    if cell.here.rank == cell.generic.rank:
        return np.asarray(q)
    loops = Equilibrium(reduction, q, cell.edges).loops
    rows = loops.jacobian(loops.state(cell.configurations)) * loops.units
    s = np.linalg.svd(rows, compute_uv=False)
    clear = s[:, cell.generic.rank - 1] / s[:, 0]
    return np.asarray(cell.configurations[int(np.argmax(clear))])
