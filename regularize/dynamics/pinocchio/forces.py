"""Forces in the loops, and forces of actuators for a given motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from regularize.dynamics.pinocchio.actuation import Actuation
from regularize.dynamics.pinocchio.closure_rows import ClosureRows
from regularize.dynamics.pinocchio.solvers import ConstrainedTree
from regularize.dynamics.pinocchio.split import Split
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array, read_only
from regularize.tolerances import PARALLEL
from regularize.words import directions


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
        space = subalgebra.complement(subalgebra.span(self.indeterminate, PARALLEL))
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
    """

    multipliers: Array
    generalized: Array
    _loops: Callable[[], tuple[LoopForce, ...]] = field(repr=False)

    @cached_property
    def loops(self) -> tuple[LoopForce, ...]:
        """What each cut transmits."""
        return self._loops()


def constraint_forces(
    tree: ConstrainedTree, accelerate: Callable[..., Array], q: Array, v: Array, tau: Array
) -> ConstraintForces:
    """Forces at the cuts under joint forces; see ``Robot.constraint_forces``."""
    # Multipliers of independent rows are the only ones, and the step finds them.
    unique = tree.stepped and tree.rank == tree.rows
    found = tree.kernel.constrained_dynamics(q, v, tau) if unique else None
    if found is not None:
        multipliers = found[1]
        generalized = multipliers @ tree.jacobian(q)
    else:
        terms, a = tree.states.terms(q, v), accelerate(q, v, tau)
        generalized = terms.M @ a + terms.needed - tau
        multipliers = Split.of(terms.jacobian, tree.rank).solve_transposed(generalized)
    loops = partial(loop_forces, tree, np.array(q), multipliers)
    return ConstraintForces(read_only(multipliers), read_only(generalized), loops)


def loop_forces(tree: ConstrainedTree, q: Array, multipliers: Array) -> tuple[LoopForce, ...]:
    """What the cuts transmit at a configuration, from the multipliers of all rows, shape (m,)."""
    poses, closures = tree.states.poses(q), tree.constraints.closures
    if not closures:
        return ()
    first = poses[[closure.first for closure in closures]]
    second = poses[[closure.second for closure in closures]]
    origins = (second @ np.array([closure.second_frame for closure in closures]))[:, :3, 3]

    def carry(frames: list[Array]) -> Array:
        """What takes wrenches in frames of the first links to ground axes and the joints' origins.

        Wrenches transform by the transposed inverse of what twists transform by.
        """
        T_joint_frame = first @ np.array(frames)
        T_joint_frame[:, :3, 3] -= origins
        return np.swapaxes(screw.adjoint(screw.inverse(T_joint_frame)), -1, -2)

    of_rows = carry([closure.row_frame for closure in closures])
    of_cuts = carry([closure.cut_frame for closure in closures])
    wrenches = tree.states.wrenches(q, multipliers)
    return tuple(map(_loop_force, closures, of_rows, of_cuts, wrenches))


def _loop_force(closure: ClosureRows, of_rows: Array, of_cut: Array, wrench: Array) -> LoopForce:
    return LoopForce(
        closure.cut.edge.joint.name,
        read_only(closure.sign * (of_rows @ wrench)),
        read_only(of_cut @ closure.removed),
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
    tree: ConstrainedTree, q: Array, v: Array, a: Array, actuation: Actuation, passive: Array
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
    parts = Split.of(jacobian, tree.rank)
    split = actuation.split(parts.free)
    needed = M @ a + still - passive
    tau = split.forces @ (split.driven.T @ needed)
    produced = np.zeros(tree.nv)
    produced[actuation.index] = tau
    multipliers = read_only(parts.solve_transposed(needed - produced))
    return InverseDynamics(
        actuation.joints,
        read_only(tau),
        read_only(produced),
        multipliers,
        read_only(split.locked @ (split.locked.T @ needed)),
        partial(loop_forces, tree, np.array(q), multipliers),
    )
