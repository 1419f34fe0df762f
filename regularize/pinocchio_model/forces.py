"""Forces in the loops, and forces of actuators for a given motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.directions import TOLERANCE, directions
from regularize.lie.screw import Array, read_only
from regularize.pinocchio_model.actuation import Actuation
from regularize.pinocchio_model.closure_rows import ClosureRows, Poses
from regularize.pinocchio_model.solvers import ConstrainedTree
from regularize.pinocchio_model.split import Split, free_velocities


@dataclass(frozen=True, eq=False)
class LoopForce:
    """What a cut transmits.

    Attributes:
        joint: Name of the cut joint.
        wrench: Force in N and moment in N m about the joint's origin that the parent exerts on the
            child, ground axes, shape (6,). It does no work on the joint's freedoms.
        indeterminate: Wrenches of the joint that rigid bodies leave open, same axes and point,
            shape (6, r): any multiple of them may be added. They are the removed rows.
    """

    joint: str
    wrench: Array
    indeterminate: Array

    @property
    def unique(self) -> bool:
        """Whether the wrench is the only one that fits."""
        return bool(self.indeterminate.shape[1] == 0)

    @property
    def determined(self) -> dict[str, float]:
        """The components that rigid bodies determine, by name, for example ``force along X``."""
        space = subalgebra.complement(subalgebra.span(self.indeterminate, TOLERANCE))
        return {
            direction.words("force", "moment"): float(direction.covector @ self.wrench)
            for direction in directions(space)
        }


@dataclass(frozen=True, eq=False)
class ConstraintForces:
    """Forces that keep the loops closed.

    Attributes:
        multipliers: One per row, shape (m,).
        generalized: The same as joint forces and torques, shape (nv,).
        loops: What each cut transmits.
    """

    multipliers: Array
    generalized: Array
    loops: tuple[LoopForce, ...]


def constraint_forces(
    tree: ConstrainedTree, q: Array, v: Array, a: Array, tau: Array
) -> ConstraintForces:
    """Forces at the cuts at an acceleration under joint forces; see ``Robot.constraint_forces``."""
    terms = tree.states.terms(q, v)
    parts, generalized = Split.of(terms.jacobian, tree.rank), terms.M @ a + terms.needed - tau
    multipliers = parts.solve_transposed(generalized)
    loops = loop_forces(tree, q, multipliers)
    return ConstraintForces(read_only(multipliers), read_only(generalized), loops)


def loop_forces(tree: ConstrainedTree, q: Array, multipliers: Array) -> tuple[LoopForce, ...]:
    """What the cuts transmit at a configuration, from the multipliers of all rows, shape (m,)."""
    poses, loops, start = tree.states.poses(q), [], 0
    for closure in tree.constraints.closures:
        mine = multipliers[start : start + len(closure.covectors)]
        start += len(closure.covectors)
        loops.append(_loop_force(poses, closure, mine))
    return tuple(loops)


def _loop_force(poses: Poses, closure: ClosureRows, multipliers: Array) -> LoopForce:
    T_world_row = poses[closure.first] @ closure.row_frame
    second = poses[closure.second] @ closure.second_frame
    # Wrenches transform by the transposed inverse of what twists transform by.
    T_joint_row = screw.transform(None, -second[:3, 3]) @ T_world_row
    carry = screw.adjoint(screw.inverse(T_joint_row)).T
    cut = closure.cut
    removed = np.hstack([cut.removed, cut.thinned, cut.numerical])
    removed[:3] /= cut.length
    T_joint_cut = screw.transform(None, -second[:3, 3]) @ closure.T_world_cut(poses)
    return LoopForce(
        closure.cut.edge.joint.name,
        read_only(closure.sign * (carry @ (closure.current(poses).T @ multipliers))),
        read_only(screw.adjoint(screw.inverse(T_joint_cut)).T @ removed),
    )


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """Actuator forces for a motion.

    Attributes:
        joints: Name of the joint of every entry.
        tau: Actuator forces and torques, shape (k,).
        generalized: The same among all joint forces of the model, shape (nv,).
        constraint_forces: Multipliers of the rows, shape (m,).
        unmet: Joint forces that the actuators cannot produce, zero where the motion is possible,
            shape (nv,).
    """

    joints: tuple[str, ...]
    tau: Array
    generalized: Array
    constraint_forces: Array
    unmet: Array
    _loops: Callable[[], tuple[LoopForce, ...]] = field(repr=False)

    @cached_property
    def loops(self) -> tuple[LoopForce, ...]:
        """What each cut transmits."""
        return self._loops()


def inverse_dynamics(
    tree: ConstrainedTree,
    q: Array,
    v: Array,
    a: Array,
    actuation: Actuation,
    passive: Array,
) -> InverseDynamics:
    """Forces of actuators for an acceleration; see ``Robot.inverse_dynamics``.

    Args:
        tree: The tree with its rows.
        q: Configuration with closed loops, shape (nq,).
        v: Velocity that keeps them closed, shape (nv,).
        a: Acceleration that keeps them closed, shape (nv,).
        actuation: The actuators.
        passive: Joint forces that act besides, shape (nv,).
    """
    M, still, jacobian, _ = tree.states.terms(q, v)
    if tree.rank == len(jacobian):
        free, inverse = free_velocities(jacobian)
    else:
        parts = Split.of(jacobian, tree.rank)
        free, inverse = parts.free, parts.solve(np.eye(len(jacobian)))
    split = actuation.split(free)
    needed = M @ a + still - passive
    tau = split.forces @ (split.driven.T @ needed)
    produced = np.zeros(tree.nv)
    produced[actuation.index] = tau
    multipliers = read_only((needed - produced) @ inverse)
    return InverseDynamics(
        actuation.joints,
        read_only(tau),
        read_only(produced),
        multipliers,
        read_only(split.locked @ (split.locked.T @ needed)),
        partial(loop_forces, tree, np.array(q), multipliers),
    )
