"""Forces in the loops, and forces of actuators for a given motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from regularize.dynamics.pinocchio.actuation import Actuation
from regularize.dynamics.pinocchio.solvers import ConstrainedTree
from regularize.dynamics.pinocchio.split import Split
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array, Configuration, Space, Torque, Wrench, read_only
from regularize.lie.directions import directions
from regularize.tolerances import PARALLEL


@dataclass(frozen=True, eq=False)
class LoopForce:
    """What a cut joint transmits, about its origin in ground axes.

    The parent exerts the wrench on the child; it does no work on the joint's freedoms. Any multiple
    of the indeterminate wrenches, which are the removed rows, may be added: rigid bodies leave them
    open.
    """

    joint: str
    wrench: Wrench
    indeterminate: Space

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
    """Forces that keep the loops closed: a multiplier for each row, and as joint forces."""

    multipliers: Array
    generalized: Torque
    _loops: Callable[[], tuple[LoopForce, ...]] = field(repr=False)

    @cached_property
    def loops(self) -> tuple[LoopForce, ...]:
        """What each cut transmits."""
        return self._loops()


def constraint_forces(
    tree: ConstrainedTree, accelerate: Callable[..., Array], q: Array, v: Array, tau: Array
) -> ConstraintForces:
    """Return forces at the cuts under joint forces; see ``Robot.constraint_forces``."""
    # Multipliers of independent rows are the only ones, and the step finds them.
    unique = tree.stepped and tree.rank == tree.rows
    solved = tree.kernel.constrained_dynamics(q, v, tau) if unique else None
    if solved is not None:
        multipliers = solved[1]
        generalized = multipliers @ tree.jacobian(q)
    else:
        terms, a = tree.states.terms(q, v), accelerate(q, v, tau)
        generalized = terms.M @ a + terms.needed - tau
        multipliers = Split.of(terms.jacobian, tree.rank).solve_transposed(generalized)
    loops = partial(loop_forces, tree, np.array(q), multipliers)
    return ConstraintForces(read_only(multipliers), read_only(generalized), loops)


def loop_forces(
    tree: ConstrainedTree, q: Configuration, multipliers: Array
) -> tuple[LoopForce, ...]:
    """Return what the cuts transmit at a configuration, from the multipliers of all rows."""
    poses, closures = tree.states.poses(q), tree.constraints.closures
    wrenches = tree.states.wrenches(q, multipliers)
    forces = []
    for closure, wrench in zip(closures, wrenches, strict=True):
        first, origin = poses[closure.first], poses[closure.second] @ closure.second_frame
        carries = []
        for frame in (closure.row_frame, closure.cut_frame):
            # Wrenches transform by the transposed inverse of what twists transform by.
            T_joint_frame = first @ frame
            T_joint_frame[:3, 3] -= origin[:3, 3]
            carries.append(screw.adjoint(screw.inverse(T_joint_frame)).T)
        forces.append(
            LoopForce(
                closure.cut.edge.joint.name,
                read_only(closure.sign * (carries[0] @ wrench)),
                read_only(carries[1] @ closure.removed),
            )
        )
    return tuple(forces)


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """Actuator forces for a motion."""

    joints: tuple[str, ...]  #: name of the joint of every actuator
    tau: Array  #: forces and torques of the actuators, shape (k,)
    generalized: Torque  #: the same among all joint forces of the model
    constraint_forces: Array  #: multipliers of the rows, shape (m,)
    unmet: Torque  #: what the actuators cannot produce, zero where the motion is possible
    _loops: Callable[[], tuple[LoopForce, ...]] = field(repr=False)

    @cached_property
    def loops(self) -> tuple[LoopForce, ...]:
        """What each cut transmits."""
        return self._loops()


def inverse_dynamics(
    tree: ConstrainedTree, q: Array, v: Array, a: Array, actuation: Actuation, passive: Array
) -> InverseDynamics:
    """Return forces of actuators for an acceleration, ``passive`` joint forces acting besides."""
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
