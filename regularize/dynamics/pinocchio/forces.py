r"""Forces in the loops, the forces that actuators need for a motion, and the motions they make.

With the velocities N that the rows leave free, the rows S that pick the actuated ones, and weights
W, the actuator forces are the smallest ones, :math:`\tau^T W \tau`, of those that leave least unmet
of :math:`N^T (S^T \tau - M a - n)`. Let L be the motions that remain with all actuators locked,
orthonormal. Then

.. math::

    (S^T W^{-1} S + L L^T) \, z + J^T \lambda = M a + n, \qquad J z = 0,

gives :math:`\tau = W^{-1} S z`, and :math:`L L^T (M a + n)` is what no actuator can meet. It is the
equation of a constrained motion; see ``derivatives``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.solvers import ConstrainedTree
from regularize.dynamics.pinocchio.spanning_tree import SpanningTree
from regularize.dynamics.pinocchio.tree_states import Split, Stabilization
from regularize.errors import ModelError
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import (
    Acceleration,
    Array,
    Configuration,
    Indices,
    Space,
    Torque,
    Wrench,
    read_only,
)
from regularize.tolerances import EXACT, PARALLEL, VANISHING
from regularize.words import directions


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
        """Force and moment that each cut joint transmits."""
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
    """Return force and moment at every cut joint, from the multipliers of all rows."""
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
        """Force and moment that each cut joint transmits."""
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


@dataclass(frozen=True, eq=False)
class Actuation:
    """Actuated velocities, and what the forces there cost."""

    joints: tuple[str, ...]  #: name of the joint of every actuator
    index: Indices  #: of the velocities, shape (k,)
    weights: Array  #: cost of the square of every force, shape (k,)

    @classmethod
    def of(
        cls, tree: ConstrainedTree, named: Sequence[str] | None, weights: ArrayLike | None
    ) -> Actuation:
        """Return actuators of the named joints; see ``Robot.actuation``."""
        mechanism = tree.mechanism
        if named is None:
            named = [joint.name for joint in mechanism.joints if joint.actuated]
            if not named:
                raise ModelError(
                    "the model does not say which joints are actuated; name them: actuated=[...]"
                )
        joints = tuple(name for name in named for _ in range(mechanism.joint(name).freedoms))
        index = tree.velocity_indices(named)
        if len(set(index.tolist())) < len(index):
            raise ModelError(f"an actuated joint is named twice: {', '.join(joints)}")
        costs = np.ones(len(index)) if weights is None else np.asarray(weights, dtype=np.float64)
        if costs.shape != index.shape or not np.all(costs > 0.0):
            raise ModelError(
                f"weights must be one positive number for each of the {len(index)} actuated "
                f"freedoms, not {np.asarray(weights).tolist()}"
            )
        return cls(joints, index, read_only(costs))

    def split(self, free: Array) -> ActuatorSplit:
        """Split velocities that keep the loops closed, orthonormal, shape (nv, n)."""
        scale = 1.0 / np.sqrt(self.weights)
        u, s, vt = np.linalg.svd(scale[:, None] * free[self.index])
        rank = int(np.sum(s > VANISHING * s[:1].sum()))
        forces = scale[:, None] * u[:, :rank] / s[:rank]
        return ActuatorSplit(forces, free @ vt[:rank].T, free @ vt[rank:].T)


@dataclass(frozen=True, eq=False)
class ActuatorSplit:
    """Velocities that keep loops closed, split by whether they move an actuator."""

    forces: Array  #: of actuators that do unit work on the driven velocities, shape (k, r)
    driven: Array  #: orthonormal velocities that the actuators drive, shape (nv, r)
    locked: Array  #: those that remain with all actuators locked, shape (nv, n - r)

    def motions(self) -> Array:
        """Return velocities by rates of the actuators, least squares if they conflict, (nv, k)."""
        return np.asarray(self.driven @ self.forces.T)

    def require_determined(self, tree: SpanningTree, moves: Array, what: str) -> None:
        """Refuse where something still moves with all actuators locked, naming the joints."""
        if np.max(np.abs(moves), initial=0.0) > EXACT.singular:
            size = np.max(np.abs(self.locked), axis=1)
            free = [
                tree.names[j]
                for j in range(1, tree.njoints)
                for i in [tree.idx_vs[j]]
                if np.max(size[i : i + tree.nvs[j]], initial=0.0) > EXACT.singular
            ]
            raise ModelError(
                f"the actuators do not determine how {what} moves: with all of them locked, "
                f"{', '.join(free)} can still move; count some of these as actuated"
            )


def frame_jacobian(
    model: Any, data: Any, q: Array, frame: str | int, relative_to: str | int | None
) -> Array:
    """Twist of a frame about its own origin, ground axes, by the model's velocities, (6, nv)."""
    pin.computeJointJacobians(model, data, q)
    target, axes = frame_index(model, frame), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    jacobian = np.array(pin.getFrameJacobian(model, data, target, axes))
    if relative_to is not None:
        base = frame_index(model, relative_to)
        carried = np.array(pin.getFrameJacobian(model, data, base, axes))
        pin.updateFramePlacement(model, data, target)
        pin.updateFramePlacement(model, data, base)
        arm = data.oMf[target].translation - data.oMf[base].translation
        carried[:3] -= pin.skew(arm) @ carried[3:]
        jacobian -= carried
    return jacobian


def frame_index(model: Any, frame: str | int) -> int:
    """Index of a frame given by name or index."""
    if isinstance(frame, str):
        if not model.existFrame(frame):
            known = ", ".join(f.name for f in model.frames[1:])
            raise ModelError(f"the model has no frame {frame!r}; it has: {known}")
        return int(model.getFrameId(frame))
    if not 0 <= frame < model.nframes:
        raise ModelError(f"the model has no frame {frame}; it has {model.nframes}")
    return frame


@dataclass(frozen=True, eq=False)
class AccelerationDerivatives:
    """The acceleration and its derivatives, shape (nv, nv) each.

    Those by q are by tangent steps of the configuration, as of ``pinocchio.integrate``.
    """

    a: Acceleration
    ddq_dq: Array
    ddq_dv: Array
    ddq_dtau: Array

    @classmethod
    def of(cls, parts: Iterable[Array]) -> AccelerationDerivatives:
        """Make the arrays read-only."""
        arrays = tuple(parts)
        for array in arrays:
            array.setflags(write=False)
        return cls(*arrays)

    def __iter__(self) -> Iterator[Array]:
        """The three derivatives, so that they can be unpacked."""
        return iter((self.ddq_dq, self.ddq_dv, self.ddq_dtau))


@dataclass(frozen=True, eq=False)
class InverseDynamicsDerivatives:
    """The actuator forces for an acceleration, shape (k,), and their derivatives, (k, nv) each.

    Those by q are by tangent steps of the configuration, as of ``pinocchio.integrate``.
    """

    tau: Array
    dtau_dq: Array
    dtau_dv: Array
    dtau_da: Array

    def __iter__(self) -> Iterator[Array]:
        """The three derivatives, so that they can be unpacked."""
        return iter((self.dtau_dq, self.dtau_dv, self.dtau_da))


def acceleration_derivatives(
    tree: ConstrainedTree, q: Array, v: Array, tau: Array, terms: Stabilization | None = None
) -> AccelerationDerivatives:
    """Return the acceleration under joint forces and its derivatives."""
    kernel, nv = tree.kernel, tree.nv
    if kernel is not None:
        if terms is None:
            compiled = kernel.dynamics_derivatives(q, v, tau)
        else:
            compiled = kernel.decaying_derivatives(q, v, tau, terms.factors)
        if compiled is not None:
            return AccelerationDerivatives.of(compiled)
    q, v, tau = tree._checked(q=q, v=v, tau=tau)
    with tree.massive_motion():
        state = tree.states.dense(q, v)
        M, jacobian, bias = state.mass_matrix, state.jacobian, state.bias
        if terms is not None:
            bias = bias + terms.of(jacobian @ v, tree.residual(q))
        force, parts = tau - state.needed, Split.of(jacobian, tree.rank)
        answer, taken = parts.inverse(M)
    a = answer @ force - taken @ bias
    multipliers = parts.solve_transposed(M @ a - force)
    forces, rates, values = tree.states.changes(q, v, a, multipliers)
    if terms is not None:
        rates[:, :nv] += terms.by_q(values, jacobian)
        rates[:, nv:] += terms.rate * jacobian
    by_state = -answer @ forces - taken @ rates
    return AccelerationDerivatives.of((a, by_state[:, :nv], by_state[:, nv:], answer))


def inverse_dynamics_derivatives(
    tree: ConstrainedTree, q: Array, v: Array, a: Array, actuation: Actuation
) -> InverseDynamicsDerivatives:
    """Return actuator forces for an acceleration and their derivatives."""
    index, nv, kernel = actuation.index, tree.nv, tree.kernel
    if kernel is None:
        q, v, a = tree._checked(q=q, v=v, a=a)
    elif len(index) >= nv - tree.rank:
        cost = np.zeros(nv)
        cost[index] = 1.0 / actuation.weights
        compiled = kernel.actuated_derivatives(q, v, a, cost)
        if compiled is not None:  # the actuators leave no motion
            z, by_q, by_v, by_force, M = compiled
            return _of_actuators(actuation, z, [by_q[index], by_v[index], by_force[index] @ M])
    states = tree.states
    M, still, jacobian, _ = states.terms(q, v)
    parts, needed = Split.of(jacobian, tree.rank), M @ a + still
    split = actuation.split(parts.free)
    locked = split.locked
    cost = locked @ locked.T
    cost[index, index] += 1.0 / actuation.weights
    answer, taken = parts.inverse(cost)
    z = answer @ needed
    multipliers = parts.solve_transposed(needed - cost @ z)
    unmet = locked @ (locked.T @ needed)
    forces = np.hstack([states.force_changes(q, v, a, multipliers), M])
    # Velocities z and unmet forces stay on the loops while the loops move.
    forces -= locked @ (locked.T @ forces)
    if locked.shape[1]:
        turned = parts.solve(states.values_by_q(q, unmet))
        forces[:, :nv] += turned - split.motions() @ turned[index]
    change = answer[index] @ forces
    change[:, :nv] -= taken[index] @ states.values_by_q(q, z - unmet)
    return _of_actuators(actuation, z, np.split(change, 3, axis=1))


def _of_actuators(
    actuation: Actuation, z: Array, changes: Sequence[Array]
) -> InverseDynamicsDerivatives:
    """Return the actuated entries of z by their costs, and derivatives by theirs."""
    cost = actuation.weights
    parts = [read_only(change / cost[:, None]) for change in changes]
    return InverseDynamicsDerivatives(read_only(z[actuation.index] / cost), *parts)
