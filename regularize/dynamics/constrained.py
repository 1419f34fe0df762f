r"""What a simulation needs besides the acceleration: projections, forces, derivatives.

All functions take a ``Robot`` of any style. With the mass matrix M, the bias forces n, the rows J
with their bias :math:`\gamma` and multipliers :math:`\lambda`:

.. math:: M a + n = \tau + J^T \lambda, \qquad J a + \gamma = 0.

Where rows depend on each other, the known rank of the reduction says how many directions count, and
multipliers are the smallest that fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from regularize.errors import ModelError, NotClosed
from regularize.lie import screw
from regularize.lie.screw import Array, read_only
from regularize.pinocchio_model.robot import Robot, mass_matrix
from regularize.pinocchio_model.rows import Closure

#: Largest error of a row, lengths scaled, at which loops count as closed.
CLOSED = 1e-12
STEPS = 50


@dataclass(frozen=True, eq=False)
class Split:
    """Singular vectors of the rows at a configuration, cut at their rank.

    Attributes:
        left: Directions among the rows, shape (m, r).
        values: Singular values, shape (r,).
        right: Velocities that the rows see, shape (nv, r).
        free: Velocities that keep the loops closed, orthonormal, shape (nv, nv - r).
    """

    left: Array
    values: Array
    right: Array
    free: Array

    @classmethod
    def of(cls, jacobian: Array, rank: int) -> Split:
        """The split of a Jacobian of known rank."""
        u, s, vt = np.linalg.svd(jacobian)
        return cls(u[:, :rank], s[:rank], vt[:rank].T, vt[rank:].T)

    def solve(self, values: Array) -> Array:
        """The smallest velocity on which the rows take the given values."""
        return np.asarray(self.right @ ((self.left.T @ values).T / self.values).T)

    def solve_transposed(self, forces: Array) -> Array:
        """The smallest multipliers with the given joint forces, as far as there are any."""
        return np.asarray(self.left @ ((self.right.T @ forces).T / self.values).T)


def split(robot: Robot, q: Array) -> Split:
    """Constrained and free directions at a configuration."""
    return Split.of(robot.jacobian(q), robot.rank)


def close_loops(robot: Robot, q: Array, *, hold: Sequence[str] = ()) -> Array:
    """The configuration with closed loops that is reached from q by Newton steps.

    Args:
        robot: The robot.
        q: Configuration near the loops' closure, shape (nq,).
        hold: Names of joints that keep their coordinates.

    Raises:
        NotClosed: The steps do not converge.
    """
    q = np.array(q, dtype=np.float64)
    held = velocity_indices(robot, hold)
    moving = np.setdiff1d(np.arange(robot.model.nv), held)
    error = robot.residual(q)
    for _ in range(STEPS):
        if np.max(np.abs(error), initial=0.0) <= CLOSED:
            return q
        step = np.zeros(robot.model.nv)
        # At a double root the smallest singular values are noise of the residual's square root.
        jacobian = robot.jacobian(q)[:, moving]
        step[moving] = np.linalg.lstsq(jacobian, -error, rcond=1e-7)[0]
        largest = float(np.max(np.abs(step)))
        q = pin.integrate(robot.model, q, step / max(1.0, 2.0 * largest))
        error = robot.residual(q)
    if np.max(np.abs(error)) <= 1e3 * CLOSED:
        return q
    raise _not_closed(robot, q)


def _not_closed(robot: Robot, q: Array) -> NotClosed:
    pin.forwardKinematics(robot.model, robot.data, q)
    closures = robot.constraints.closures
    if not closures:
        return NotClosed("of a coupling", 0.0, float(np.max(np.abs(robot.residual(q)))))
    errors = [closure.error(robot.data) for closure in closures]
    worst = int(np.argmax([np.linalg.norm(error) for error in errors]))
    linear, angular = np.linalg.norm(errors[worst][:3]), np.linalg.norm(errors[worst][3:])
    return NotClosed(closures[worst].cut.edge.name, float(linear), float(angular))


def project_velocity(robot: Robot, q: Array, v: Array) -> Array:
    """The admissible velocity nearest to v in kinetic energy, shape (nv,).

    This is the velocity after the loops are closed by an inelastic impact.
    """
    free = split(robot, q).free
    momentum = mass_matrix(robot.model, robot.data, q)
    return np.asarray(
        free @ np.linalg.solve(free.T @ momentum @ free, free.T @ (momentum @ np.asarray(v)))
    )


def admissible_velocity(robot: Robot, q: Array, rates: Mapping[str, float]) -> Array:
    """The velocity at which the named joints move at given rates, shape (nv,).

    Where they do not decide the motion, the smallest one; rates in rad/s and m/s.

    Raises:
        ModelError: The loops do not let the joints move like that.
    """
    index = velocity_indices(robot, list(rates))
    free = split(robot, q).free
    wanted = np.array(list(rates.values()))
    rate = free @ np.linalg.lstsq(free[index], wanted, rcond=1e-9)[0]
    if np.max(np.abs(rate[index] - wanted), initial=0.0) > 1e-8 * (1.0 + np.max(np.abs(wanted))):
        raise ModelError(f"the loops do not let the joints {list(rates)} move at these rates")
    return np.asarray(rate)


def velocity_indices(robot: Robot, joints: Sequence[str]) -> Array:
    """Indices in v of all freedoms of the named joints, in the order of the names."""
    return np.array(
        [
            robot.velocity_index(name, k)
            for name in joints
            for k in range(robot.reduction.mechanism.joint(name).freedoms)
        ],
        dtype=int,
    )


def stabilized_dynamics(
    robot: Robot, q: Array, v: Array, tau: Array, *, frequency: float, damping: float = 1.0
) -> Array:
    r"""Acceleration with Baumgarte's terms, which let closure errors decay, shape (nv,).

    .. math:: J a + \gamma + 2 \zeta \omega J v + \omega^2 \phi(q) = 0

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Joint forces and torques, shape (nv,).
        frequency: :math:`\omega` in rad/s.
        damping: :math:`\zeta`; 1 lets errors decay without oscillation.
    """
    error = robot.residual(q)
    jacobian, bias = robot.constraints.jacobian_and_bias(robot.data, q, v)
    target = -bias - 2.0 * damping * frequency * (jacobian @ v) - frequency**2 * error
    return _constrained(robot, q, v, tau, Split.of(jacobian, robot.rank), target)


def _constrained(
    robot: Robot, q: Array, v: Array, tau: Array, parts: Split, target: Array
) -> Array:
    """Acceleration at which the rows take the values ``target``."""
    particular = parts.solve(target)
    M = mass_matrix(robot.model, robot.data, q)
    force = tau - pin.nonLinearEffects(robot.model, robot.data, q, v) - M @ particular
    free = parts.free
    return np.asarray(particular + free @ np.linalg.solve(free.T @ M @ free, free.T @ force))


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


def constraint_forces(robot: Robot, q: Array, v: Array, tau: Array) -> ConstraintForces:
    """Forces at the cuts, in physical units.

    In the style ``rows`` a cut is a joint of the mechanism, and the wrench is the joint's; in the
    others it is what the two halves of a cut body exert on each other.
    """
    parts = split(robot, q)
    a = robot.forward_dynamics(q, v, tau)
    generalized = pin.rnea(robot.model, robot.data, q, v, a) - tau
    multipliers = parts.solve_transposed(generalized)
    pin.forwardKinematics(robot.model, robot.data, q)
    loops, start = [], 0
    for closure in robot.constraints.closures:
        mine = multipliers[start : start + len(closure.covectors)]
        start += len(closure.covectors)
        loops.append(_loop_force(robot, closure, mine))
    return ConstraintForces(read_only(multipliers), read_only(generalized), tuple(loops))


def _loop_force(robot: Robot, closure: Closure, multipliers: Array) -> LoopForce:
    data = robot.data
    T_world_row = (data.oMi[closure.first] * closure.anchor.joint1_placement).homogeneous
    second = (data.oMi[closure.second] * closure.T_second_joint).homogeneous
    # Wrenches transform by the transposed inverse of what twists transform by.
    T_joint_row = screw.transform(None, -second[:3, 3]) @ T_world_row
    carry = screw.adjoint(screw.inverse(T_joint_row)).T
    cut = closure.cut
    removed = np.hstack([cut.removed, cut.thinned, cut.numerical])
    removed[:3] /= cut.length
    T_joint_cut = screw.transform(None, -second[:3, 3]) @ _cut_frame(robot, closure)
    return LoopForce(
        closure.cut.edge.joint.name,
        read_only(closure.sign * (carry @ (closure.covectors.T @ multipliers))),
        read_only(screw.adjoint(screw.inverse(T_joint_cut)).T @ removed),
    )


def _cut_frame(robot: Robot, closure: Closure) -> Array:
    """The cut frame in the world, shape (4, 4)."""
    frame = robot.model.getFrameId(f"cut frame {closure.cut.edge.name}")
    joint = robot.model.frames[frame].parentJoint
    return np.asarray((robot.data.oMi[joint] * robot.model.frames[frame].placement).homogeneous)


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """Actuator forces for a motion.

    Attributes:
        joints: Name of the joint of every entry.
        torques: Actuator forces and torques, shape (k,).
        tau: The same among all joint forces of the model, shape (nv,).
        multipliers: Multipliers of the rows, shape (m,).
        unbalanced: Joint forces that the actuators cannot produce, zero where the motion is
            possible, shape (nv,).
    """

    joints: tuple[str, ...]
    torques: Array
    tau: Array
    multipliers: Array
    unbalanced: Array


def inverse_dynamics(
    robot: Robot, q: Array, v: Array, a: Array, actuated: Sequence[str] | None = None
) -> InverseDynamics:
    """Forces of the actuated joints that produce an acceleration.

    With more actuators than freedoms the smallest forces are taken.

    Args:
        robot: The robot.
        q: Configuration with closed loops, shape (nq,).
        v: Velocity that keeps them closed, shape (nv,).
        a: Acceleration that keeps them closed, shape (nv,).
        actuated: Names of the actuated joints; by default those that the model marks.

    Raises:
        ModelError: The model marks no joint as actuated and none is given.
        UnsupportedExport: An actuated joint is a cut; choose other cuts.
    """
    if actuated is None:
        actuated = [j.name for j in robot.reduction.mechanism.joints if j.actuated]
        if not actuated:
            raise ModelError(
                "the model does not say which joints are actuated; name them: actuated=[...]"
            )
    index = velocity_indices(robot, actuated)
    parts = split(robot, q)
    needed = pin.rnea(robot.model, robot.data, q, v, np.asarray(a))
    torques = np.linalg.lstsq(parts.free[index].T, parts.free.T @ needed, rcond=1e-9)[0]
    tau = np.zeros(robot.model.nv)
    tau[index] = torques
    multipliers = parts.solve_transposed(needed - tau)
    joints = robot.reduction.mechanism
    return InverseDynamics(
        tuple(name for name in actuated for _ in range(joints.joint(name).freedoms)),
        read_only(torques),
        read_only(tau),
        read_only(multipliers),
        read_only(parts.free @ (parts.free.T @ (needed - tau))),
    )


def energy(robot: Robot, q: Array, v: Array) -> float:
    """Kinetic and gravitational energy in J."""
    kinetic = pin.computeKineticEnergy(robot.model, robot.data, q, v)
    return float(kinetic + pin.computePotentialEnergy(robot.model, robot.data, q))
