r"""Values of the joint reactions: the unique ones, and two ways to settle the others.

What equilibrium leaves open is settled by the smallest norm, or, where stiffnesses are known, by
the smallest elastic energy (Castigliano's theorem: a structure without prestress). The forces in
the constraints that a reduction removed are among the results: that is what the thesis of Paul
(2020) left for later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.graph import EdgeId, columns_of, coordinate_names
from regularize.mechanism.mechanism import Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.repair.statics.equilibrium import Equilibrium
from regularize.repair.statics.passive_joints import PassiveJoints
from regularize.repair.statics.reactions import Reaction
from regularize.tolerances import NEGLIGIBLE, TINY, UNNOTICED
from regularize.validation import ARRAY, MAPPING, NAMES, NUMBER, named, validated, vector
from regularize.words import Direction, directions

#: A pair of stiffnesses (N/m and N m/rad) or a matrix in the joint or body frame, shape (6, 6).
Stiffness: TypeAlias = "float | tuple[float, float] | Array"


def settle(
    equilibrium: Equilibrium, fields: Array, free: Array, compliances: Mapping[EdgeId, list[Array]]
) -> Array:
    """Amounts of the self-stress states with the least energy, then the least norm, (states,)."""
    states = free.shape[2]
    if states == 0:
        return np.zeros(0)
    given = np.concatenate([fields[..., None], free], axis=2)
    loaded = list(zip(equilibrium.loops.edges, given, strict=True))
    rows = []
    for e, wrenches in loaded:
        pose = equilibrium.origin(e)
        for root in compliances.get(e, ()):
            # Square roots of the compliances turn the energy into a sum of squares.
            rotated = root @ np.kron(np.eye(2), pose[:3, :3].T)
            rows.append(rotated @ equilibrium.at_point(wrenches, pose[:3, 3]))
    amounts: Array = np.zeros(states)
    open_states: Array = np.eye(states)
    if rows:
        matrix: Array = np.vstack(rows)
        least = np.linalg.lstsq(matrix[:, 1:], -matrix[:, 0], rcond=NEGLIGIBLE)[0]
        amounts = np.asarray(least, dtype=np.float64)
        _, s, vt = np.linalg.svd(matrix[:, 1:], full_matrices=True)
        open_states = vt[int(np.sum(s > NEGLIGIBLE * max(float(s[0]), TINY))) :].T
    if open_states.shape[1]:
        norm: Array = np.vstack(
            [equilibrium.about(wrenches, equilibrium.origin(e)[:3, 3]) for e, wrenches in loaded]
        )
        held = norm[:, 0] + norm[:, 1:] @ amounts
        further = np.linalg.lstsq(norm[:, 1:] @ open_states, -held, rcond=None)[0]
        amounts = amounts + np.asarray(open_states @ further, dtype=np.float64)
    return np.asarray(amounts)


def compliance_roots(
    reduction: Reduction, stiffness: Mapping[str, Stiffness]
) -> dict[EdgeId, list[Array]]:
    """Square roots of compliance matrices in the frame of each edge on its parent, by edge."""
    graph, mechanism = reduction.graph, reduction.mechanism
    found: dict[EdgeId, list[Array]] = {}
    for name, value in stiffness.items():
        root = _root_of_compliance(name, value)
        edges = [e.index for e in graph.edges if e.joint.name == name]
        if not edges:
            body = mechanism.body(name)
            node = graph.node_of[body.name]
            edges = [e.index for e in graph.edges if e.child == node][:1]
            if not edges:
                raise ModelError(f"body {name!r} has no joint on its parent side to load it")
        found.setdefault(edges[0], []).append(root)
    return found


def _root_of_compliance(name: str, stiffness: Stiffness) -> Array:
    value = np.asarray(stiffness, dtype=np.float64)
    if value.ndim == 0:
        value = np.repeat(value, 6)
    if value.shape == (2,):
        value = np.repeat(value, 3)
    matrix = np.diag(value) if value.ndim == 1 else value
    if matrix.shape != (6, 6) or np.any(np.linalg.eigvalsh(matrix) <= 0.0):
        raise ModelError(
            f"stiffness of {name!r}: expected a pair (N/m, N m/rad) or a symmetric positive "
            f"definite 6 by 6 matrix, got {np.asarray(stiffness).tolist()}"
        )
    return np.linalg.inv(np.linalg.cholesky(matrix))


@dataclass(frozen=True, eq=False, repr=False)
class JointForce(Reaction):
    """The wrench that a joint transmits, and in which directions equilibrium leaves it open.

    Attributes:
        wrench: From parent to child at the origin of the joint frame on the parent, ground axes,
            force in newtons first, moment in newton metres, shape (6,).
        motor: Generalised forces of motors along the joint's freedoms. ``wrench`` includes them,
            and what acts within the joint: damping, dry friction, springs, and rotors.
        determined: The part of ``wrench`` that equilibrium determines, shape (6,).
    """

    wrench: Array
    motor: Array
    determined: Array


@dataclass(frozen=True, eq=False)
class EliminatedForce:
    """Force in a constraint that the reduction removed.

    Attributes:
        joint: Name of the cut joint.
        direction: The constraint's direction at the joint's origin, ground axes.
        value: Force along it in newtons, or moment in newton metres.
    """

    joint: str
    direction: Direction
    value: float


@dataclass(frozen=True, eq=False, repr=False)
class JointForces(ShortRepr):
    """Wrenches in all joints in balance with motion, gravity, motors and loads.

    Attributes:
        joints: One entry per joint with freedoms, and per welded closure.
        eliminated: Forces in the removed constraints.
        states: Number of independent self-stress states.
        method: ``unique``, ``minimum norm`` or ``elastic``: how the open part was settled.
        tau: Generalised forces of all coordinates, those of the held ones included, shape (n,).
    """

    joints: tuple[JointForce, ...]
    eliminated: tuple[EliminatedForce, ...]
    states: int
    method: str
    tau: Array

    def __getitem__(self, joint: str) -> JointForce:
        """The entry of that name; raises ``ModelError`` naming those there are."""
        for entry in self.joints:
            if entry.joint == joint:
                return entry
        raise ModelError(f"there is no joint {joint!r} in {[j.joint for j in self.joints]}")


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
    graph = reduction.graph
    rest = np.zeros(graph.freedoms)
    given_or_rest = {"q": reduction.q if q is None else q, "v": v, "a": a}
    q, v, a = (
        rest if value is None else vector(name, value, len(rest))
        for name, value in given_or_rest.items()
    )
    equilibrium = Equilibrium(reduction, q)
    known = coordinate_names(graph.mechanism)
    forces = np.zeros(graph.freedoms)
    forces[columns_of(known, tau or {})] = list((tau or {}).values())
    free_to_take = np.zeros(graph.freedoms, dtype=bool)
    free_to_take[columns_of(known, held)] = True
    applied = {name: np.asarray(load, dtype=np.float64) for name, load in (loads or {}).items()}
    for name in applied:
        graph.mechanism.body(name)
    given = np.ones(graph.freedoms, dtype=bool)
    for cut in reduction.cuts:
        given[list(cut.edge.columns)] = False
    v, a = equilibrium.complete(v, a, given)
    passive = PassiveJoints.of(graph)
    within = passive.dissipative(v) + passive.springs(q) - passive.armature * a
    tree = equilibrium.open_tree(equilibrium.needed(v, a, applied))
    solution, stress, missing = equilibrium.solve(tree, forces + within, free_to_take)
    scale = max(
        float(np.max(np.abs(tree), initial=0.0)), float(np.max(np.abs(forces), initial=0.0))
    )
    missed = np.abs(missing * equilibrium.loops.units)
    if np.max(missed, initial=0.0) > balance * max(scale, NEGLIGIBLE):
        worst = int(np.argmax(missed))
        if not reduction.followed:
            raise ModelError(
                f"no finite forces in the joints balance {abs(missing[worst]):.3g} along "
                f"{known[worst]!r}: the mechanism is shaky, its loops hold that to second order "
                "only; change a length, or hold the coordinate with held="
            )
        raise ModelError(
            f"nothing balances {abs(missing[worst]):.3g} along {known[worst]!r}: the accelerations "
            "do not fit the forces; give the motor forces with tau=, or name with held= the "
            "coordinates that are held or driven"
        )
    fields = tree + equilibrium.fields(solution[:, None])[..., 0]
    free = equilibrium.fields(stress)
    compliances = compliance_roots(reduction, stiffness or {})
    amounts = settle(equilibrium, fields, free, compliances)
    settled = fields + free @ amounts
    # A held coordinate's force is what the wrench has along it; elsewhere it was given.
    motor = np.where(free_to_take, equilibrium.along_freedoms(settled) - within, forces)
    method = "unique" if not stress.shape[1] else "elastic" if compliances else "minimum norm"
    return JointForces(
        joints=_joints(equilibrium, settled, free, motor),
        eliminated=_eliminated(reduction, equilibrium, settled),
        states=stress.shape[1],
        method=method,
        tau=read_only(motor),
    )


def _joints(
    equilibrium: Equilibrium, fields: Array, free: Array, tau: Array
) -> tuple[JointForce, ...]:
    loops, graph = equilibrium.loops, equilibrium.graph
    found: dict[str, JointForce] = {}
    for i, e in enumerate(loops.edges):
        edge = graph.edges[e]
        if edge.joint.name in found:  # the other parts of a split joint transmit the same
            continue
        origin = equilibrium.origin(e)[:3, 3]
        wrench = equilibrium.at_point(fields[i][:, None], origin)[:, 0]
        scaled = equilibrium.about(free[i], origin)
        indeterminate: tuple[Direction, ...] = ()
        determined = wrench
        if np.max(np.abs(scaled), initial=0.0) > equilibrium.absent:
            indeterminate = tuple(directions(scaled))
            weights = np.repeat([loops.length, 1.0], 3)
            basis = np.linalg.svd(scaled, full_matrices=False)[0]
            basis = basis[:, : len(indeterminate)]
            determined = wrench - basis @ (basis.T @ (weights * wrench)) / weights
        columns = [c for other in graph.edges if other.joint is edge.joint for c in other.columns]
        found[edge.joint.name] = JointForce(
            edge.joint.name,
            indeterminate,
            read_only(wrench),
            read_only(tau[columns]),
            read_only(determined),
        )
    return tuple(found.values())


def _eliminated(
    reduction: Reduction, equilibrium: Equilibrium, fields: Array
) -> tuple[EliminatedForce, ...]:
    loops, found = equilibrium.loops, []
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
            found.append(EliminatedForce(cut.edge.joint.name, direction, value))
    return tuple(found)
