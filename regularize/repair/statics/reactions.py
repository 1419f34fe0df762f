r"""Joint reactions: which of them the model determines, and their values.

In equilibrium the wrenches in the joints of a loop may be changed by a state of self-stress. A
reaction is unique exactly where no such state has a component (Wojtyra 2005). What equilibrium
leaves open is settled by the smallest norm, or, where stiffnesses are known, by the smallest
elastic energy (Castigliano's theorem: a structure without prestress). The forces in the constraints
that a reduction removed are among the results: that is what the thesis of Paul (2020) left for
later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Space, Wrench, read_only
from regularize.mechanism.cycles import MANY_LOOPS
from regularize.mechanism.graph import EdgeId, columns_of, coordinate_names
from regularize.mechanism.mechanism import Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.repair.statics.equilibrium import Equilibrium
from regularize.repair.statics.passive_joints import PassiveJoints
from regularize.tolerances import NEGLIGIBLE, TINY, UNNOTICED
from regularize.validation import ARRAY, MAPPING, NAMES, NUMBER, named, validated, vector
from regularize.words import Direction, directions, directions_of_each


@dataclass(frozen=True, eq=False, repr=False)
class Reaction(ShortRepr):
    """The directions in which a joint's reaction is indeterminate, if any."""

    joint: str
    #: Directions in which self-stress is possible, about the joint's origin, ground axes; empty
    #: where the reaction is unique.
    indeterminate: tuple[Direction, ...]

    @property
    def unique(self) -> bool:
        """Whether the model determines the whole reaction."""
        return not self.indeterminate


def reactions(model: Model) -> tuple[Reaction, ...]:
    """Uniqueness of every joint's reaction, at the assembled pose unless that is singular."""
    reduction = as_reduction(model)
    graph = reduction.graph
    alike: dict[int, list[tuple[str, Space, Array]]] = {}
    for cell in reduction.cells:
        singular = cell.here.rank < cell.generic.rank
        q = cell.configurations[-1] if singular else reduction.q[graph.columns(cell.edges)]
        equilibrium = Equilibrium(reduction, q, cell.edges)
        loops = equilibrium.loops
        for e, field in _fields(reduction, cell, equilibrium):
            if np.max(np.abs(field), initial=0.0) < equilibrium.absent:
                continue
            edge = graph.edges[e]
            arm = (loops.center - equilibrium.origin(e)[:3, 3]) / loops.length
            root = loops.root_of[edge.parent]
            if root != graph.ground:
                T_world_root = reduction.reference.T_world_node[0, reduction.loops.row(root)]
                R = T_world_root[:3, :3]
                field, arm = np.vstack([R @ field[:3], R @ field[3:]]), R @ arm
            alike.setdefault(field.shape[1], []).append((edge.joint.name, field, arm))
    found: dict[str, list[Direction]] = {}
    for together in alike.values():
        names, fields, arms = zip(*together, strict=True)
        wrenches = np.array(fields)
        forces = np.swapaxes(wrenches[:, :3], 1, 2)
        wrenches[:, 3:] += np.swapaxes(screw.cross(np.array(arms)[:, None], forces), 1, 2)
        found |= zip(names, directions_of_each(wrenches), strict=True)
    return tuple(
        Reaction(joint.name, tuple(found.get(joint.name, ())))
        for joint in graph.mechanism.joints
        if joint.kind != "fixed" or joint.closure
    )


def _fields(
    reduction: Reduction, cell: CellMobility, equilibrium: Equilibrium
) -> Iterator[tuple[EdgeId, Space]]:
    """Yield every edge of a cell with the wrenches that self-stress causes in it."""
    loops = equilibrium.loops
    if len(loops.chords) > MANY_LOOPS:
        from regularize.reduction.many_loops import LoopRanks  # loaded where there are many

        cycles = reduction.cycles(cell)
        ranks = LoopRanks(loops, cycles, equilibrium.state, reduction.tolerances.rtol)
        if ranks.rank is not None:
            yield from ((e, ranks.self_stress(e)) for e in loops.edges)
            return
    yield from zip(loops.edges, equilibrium.fields(equilibrium.self_stress), strict=True)


#: A pair of stiffnesses (N/m and N m/rad) or a matrix in the joint or body frame, shape (6, 6).
Stiffness: TypeAlias = "float | tuple[float, float] | Array"


def settle(
    equilibrium: Equilibrium, fields: Array, free: Array, compliances: Mapping[EdgeId, list[Array]]
) -> Array:
    """Return amounts of the self-stress states of least elastic energy, then of least norm."""
    amounts: Array = np.zeros(free.shape[2])
    unsettled: Array = np.eye(len(amounts))
    if not len(amounts):
        return amounts
    loads = np.concatenate([fields[..., None], free], axis=2)
    loaded = list(zip(equilibrium.loops.edges, loads, strict=True))
    rows = []
    for e, wrenches in loaded:
        pose = equilibrium.origin(e)
        for root in compliances.get(e, ()):
            # Square roots of the compliances turn the energy into a sum of squares.
            rotated = root @ np.kron(np.eye(2), pose[:3, :3].T)
            rows.append(rotated @ equilibrium.at_point(wrenches, pose[:3, 3]))
    if rows:
        energy = np.vstack(rows)
        amounts += np.linalg.lstsq(energy[:, 1:], -energy[:, 0], rcond=NEGLIGIBLE)[0]
        _, s, vt = np.linalg.svd(energy[:, 1:], full_matrices=True)
        unsettled = vt[int(np.sum(s > NEGLIGIBLE * max(float(s[0]), TINY))) :].T
    if unsettled.shape[1]:
        norm = np.vstack([equilibrium.about(w, equilibrium.origin(e)[:3, 3]) for e, w in loaded])
        settled = norm[:, 0] + norm[:, 1:] @ amounts
        amounts += unsettled @ np.linalg.lstsq(norm[:, 1:] @ unsettled, -settled, rcond=None)[0]
    return np.asarray(amounts)


def compliance_roots(
    reduction: Reduction, stiffness: Mapping[str, Stiffness]
) -> dict[EdgeId, list[Array]]:
    """Return square roots of compliance matrices in the frame of each edge on its parent."""
    graph = reduction.graph
    roots: dict[EdgeId, list[Array]] = {}
    for name, value in stiffness.items():
        matrix = np.asarray(value, dtype=np.float64)
        if matrix.ndim == 0 or matrix.shape == (2,):
            matrix = np.repeat(matrix, 6 // matrix.size)
        matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
        if matrix.shape != (6, 6) or np.any(np.linalg.eigvalsh(matrix) <= 0.0):
            raise ModelError(
                f"stiffness of {name!r}: expected a pair (N/m, N m/rad) or a symmetric positive "
                f"definite 6 by 6 matrix, got {np.asarray(value).tolist()}"
            )
        edges = [e.index for e in graph.edges if e.joint.name == name]
        if not edges:
            node = graph.node_of[reduction.mechanism.body(name).name]
            edges = [e.index for e in graph.edges if e.child == node]
        if not edges:
            raise ModelError(f"body {name!r} has no joint on its parent side to load it")
        roots.setdefault(edges[0], []).append(np.linalg.inv(np.linalg.cholesky(matrix)))
    return roots


@dataclass(frozen=True, eq=False, repr=False)
class JointForce(Reaction):
    """The wrench that a joint transmits, and the directions that equilibrium leaves open."""

    #: From parent to child at the origin of the joint frame on the parent, ground axes.
    wrench: Wrench
    #: Forces of motors along the joint's freedoms. ``wrench`` includes them, and what acts within
    #: the joint: damping, dry friction, springs, and rotors.
    motor: Array
    #: The part of ``wrench`` that equilibrium determines.
    determined: Wrench


@dataclass(frozen=True, eq=False)
class EliminatedForce:
    """The force in a constraint that the reduction removed."""

    joint: str
    #: Of the constraint at the joint's origin, ground axes.
    direction: Direction
    #: In newtons, or newton metres of a moment.
    value: float


@dataclass(frozen=True, eq=False, repr=False)
class JointForces(ShortRepr):
    """Wrenches in all moving and closing joints, in balance with motion and loads."""

    joints: tuple[JointForce, ...]
    eliminated: tuple[EliminatedForce, ...]
    #: Number of independent self-stress states.
    states: int
    #: ``unique``, ``minimum norm`` or ``elastic``: how the open part was settled.
    method: str
    #: Forces along all coordinates, those of the held ones included.
    tau: Coordinates

    def __getitem__(self, joint: str) -> JointForce:
        """The entry of that name; raises ``ModelError`` naming those there are."""
        entries = {entry.joint: entry for entry in self.joints}
        if joint not in entries:
            raise ModelError(f"there is no joint {joint!r} in {[*entries]}")
        return entries[joint]


@validated(
    q=ARRAY,
    v=ARRAY,
    a=ARRAY,
    tau=named(NUMBER),
    held=NAMES,
    loads=named(ARRAY),
    stiffness=MAPPING,
    balance=NUMBER,
)
def joint_forces(
    model: Model,
    q: Array | None = None,
    v: Array | None = None,
    a: Array | None = None,
    *,
    tau: Mapping[str, float] | None = None,
    held: Iterable[str] = (),
    loads: Mapping[str, ArrayLike] | None = None,
    stiffness: Mapping[str, Stiffness] | None = None,
    balance: float = UNNOTICED,
) -> JointForces:
    """Wrenches in all joints.

    Args:
        model: From ``regularize.reduce``.
        q: Closed coordinates of all joints, shape (n,); by default the assembled ones.
        v: Velocities of all coordinates, shape (n,); those of the cuts are replaced by what
            the others imply. By default at rest.
        a: Accelerations in the same way; by default zero.
        tau: Known motor forces by coordinate name, zero elsewhere.
        held: Coordinates that are held or driven by whatever force that needs.
        loads: Wrenches on bodies at the origin of the body frame, ground axes, force first.
        stiffness: By joint or body name. What is not named is rigid. A body passes on what its
            parent-side joint transmits. Without any, the smallest norm is taken.
        balance: Imbalance along a freedom that is accepted, relative to the largest wrench.

    Raises:
        ModelError: A name is unknown, or forces and accelerations do not fit each other.
    """
    reduction = as_reduction(model)
    graph, n = reduction.graph, reduction.graph.freedoms
    q, v, a = (
        np.zeros(n) if value is None else vector(name, value, n)
        for name, value in (("q", reduction.q if q is None else q), ("v", v), ("a", a))
    )
    equilibrium = Equilibrium(reduction, q)
    names = coordinate_names(graph.mechanism)
    forces, takes_any = np.zeros(n), np.zeros(n, dtype=bool)
    forces[columns_of(names, tau or {})] = list((tau or {}).values())
    takes_any[columns_of(names, held)] = True
    applied = {
        graph.mechanism.body(name).name: np.asarray(load, dtype=np.float64)
        for name, load in (loads or {}).items()
    }
    given = np.ones(n, dtype=bool)
    for cut in reduction.cuts:
        given[list(cut.edge.columns)] = False
    v, a = equilibrium.complete(v, a, given)
    passive = PassiveJoints.of(graph)
    within = passive.dissipative(v) + passive.springs(q) - passive.armature * a
    tree = equilibrium.open_tree(equilibrium.needed(v, a, applied))
    solution, stress, missing = equilibrium.solve(tree, forces + within, takes_any)
    scale = max(np.max(np.abs(x), initial=0.0) for x in (tree, forces))
    missed = np.abs(missing * equilibrium.loops.units)
    if np.max(missed, initial=0.0) > balance * max(scale, NEGLIGIBLE):
        worst = int(np.argmax(missed))
        words = f"balance {abs(missing[worst]):.3g} along {names[worst]!r}"
        if not reduction.followed:
            raise ModelError(
                f"no finite forces in the joints {words}: the mechanism is shaky, its loops hold "
                "that to second order only; change a length, or hold the coordinate with held="
            )
        raise ModelError(
            f"nothing {words.replace('balance', 'balances')}: the accelerations do not fit the "
            "forces; give the motor forces with tau=, or name with held= the coordinates that are "
            "held or driven"
        )
    fields = tree + equilibrium.fields(solution[:, None])[..., 0]
    free = equilibrium.fields(stress)
    compliances = compliance_roots(reduction, stiffness or {})
    settled = fields + free @ settle(equilibrium, fields, free, compliances)
    # A held coordinate's force is what the wrench has along it; elsewhere it was given.
    motor = np.where(takes_any, equilibrium.along_freedoms(settled) - within, forces)
    method = "unique" if not stress.shape[1] else "elastic" if compliances else "minimum norm"
    joints = _joints(equilibrium, settled, free, motor)
    eliminated = _eliminated(reduction, equilibrium, settled)
    return JointForces(joints, eliminated, stress.shape[1], method, read_only(motor))


def _joints(
    equilibrium: Equilibrium, fields: Array, free: Array, tau: Coordinates
) -> tuple[JointForce, ...]:
    """Return the force entry of each joint from the wrenches in all edges."""
    loops, graph = equilibrium.loops, equilibrium.graph
    forces: dict[str, JointForce] = {}
    for i, e in enumerate(loops.edges):
        joint = graph.edges[e].joint
        if joint.name in forces:  # the other parts of a split joint transmit the same
            continue
        origin = equilibrium.origin(e)[:3, 3]
        wrench = equilibrium.at_point(fields[i][:, None], origin)[:, 0]
        scaled = equilibrium.about(free[i], origin)
        indeterminate, determined = tuple[Direction, ...](), wrench
        if np.max(np.abs(scaled), initial=0.0) > equilibrium.absent:
            indeterminate = tuple(directions(scaled))
            weights = np.repeat([loops.length, 1.0], 3)
            basis = np.linalg.svd(scaled, full_matrices=False)[0][:, : len(indeterminate)]
            determined = wrench - basis @ (basis.T @ (weights * wrench)) / weights
        columns = [c for other in graph.edges if other.joint is joint for c in other.columns]
        numbers = (read_only(x) for x in (wrench, tau[columns], determined))
        forces[joint.name] = JointForce(joint.name, indeterminate, *numbers)
    return tuple(forces.values())


def _eliminated(
    reduction: Reduction, equilibrium: Equilibrium, fields: Array
) -> tuple[EliminatedForce, ...]:
    """Return the forces in the constraints that the reduction removed."""
    loops, forces = equilibrium.loops, []
    for cut in reduction.cuts:
        removed = np.hstack([cut.removed, cut.thinned, cut.numerical])
        if not removed.shape[1]:
            continue
        e = cut.edge.index
        origin = equilibrium.origin(e)[:3, 3]
        wrench = equilibrium.at_point(fields[loops.edges.index(e)][:, None], origin)[:, 0]
        pose = equilibrium.state.T_world_node[0, loops.row(cut.node)] @ cut.T_node_frame
        # Covectors of the cut frame, first as wrenches at the joint's origin in ground axes.
        force, moment = pose[:3, :3] @ removed[:3], pose[:3, :3] @ removed[3:]
        arm = pose[:3, 3] - origin
        covectors = np.vstack([force, moment + np.cross(arm, force / cut.length, axisb=0, axisc=0)])
        weights = np.repeat([cut.length, 1.0], 3)
        for direction in directions(covectors):
            value = float(direction.covector @ (weights * wrench))
            if direction.kind == "linear":
                value /= cut.length
            forces.append(EliminatedForce(cut.edge.joint.name, direction, value))
    return tuple(forces)
