r"""Derivatives of constrained forward dynamics with respect to q, v and tau.

Differentiating :math:`M a + n = \tau + J^T \lambda` and :math:`J a + \gamma = 0` with the
multipliers held gives one linear system for all three; its right-hand sides are Pinocchio's
derivatives of the inverse dynamics under the loops' forces and of frame accelerations, plus what
the loops add because the second body's frame moves against the row frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.dynamics.constrained import Split
from regularize.lie import screw
from regularize.lie.screw import Array, read_only
from regularize.pinocchio_model.robot import Robot, mass_matrix
from regularize.pinocchio_model.rows import Closure


@dataclass(frozen=True, eq=False)
class AccelerationDerivatives:
    """The acceleration and its derivatives.

    Attributes:
        a: Acceleration, shape (nv,).
        da_dq: By tangent steps of the configuration, as of ``pinocchio.integrate``, (nv, nv).
        da_dv: By the velocity, shape (nv, nv).
        da_dtau: By the joint forces, shape (nv, nv).
    """

    a: Array
    da_dq: Array
    da_dv: Array
    da_dtau: Array


def forward_dynamics_derivatives(
    robot: Robot, q: Array, v: Array, tau: Array
) -> AccelerationDerivatives:
    """Derivatives of ``robot.forward_dynamics`` at a state with closed loops.

    Args:
        robot: The robot; of the style ``legacy`` too the exact derivatives are returned.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Joint forces and torques, shape (nv,).
    """
    robot = robot.expanded
    model, data = robot.model, robot.data
    a = robot.forward_dynamics(q, v, tau)
    parts = Split.of(robot.jacobian(q), robot.rank)
    multipliers = parts.solve_transposed(pin.rnea(model, data, q, v, a) - tau)
    forces = pin.StdVec_Force()
    for _ in range(model.njoints):
        forces.append(pin.Force.Zero())
    pin.forwardKinematics(model, data, q, v, a)
    wrenches, start = [], 0
    for closure in robot.constraints.closures:
        count = len(closure.covectors)
        wrench = pin.Force(closure.covectors.T @ multipliers[start : start + count])
        start += count
        to_first = closure.anchor.joint1_placement
        row = data.oMi[closure.first] * to_first
        to_second = data.oMi[closure.second].actInv(row)
        forces[closure.second] += to_second.act(wrench)
        forces[closure.first] -= to_first.act(wrench)
        wrenches.append(wrench)
    dtau_dq, dtau_dv, _ = pin.computeRNEADerivatives(model, data, q, v, a, forces)
    dtau_dq, dtau_dv = np.array(dtau_dq), np.array(dtau_dv)
    pin.computeForwardKinematicsDerivatives(model, data, q, v, a)
    row_dq = [np.zeros((0, model.nv))]
    row_dv = [np.zeros((0, model.nv))]
    for closure, wrench in zip(robot.constraints.closures, wrenches, strict=True):
        loop = _loop_derivatives(model, data, closure)
        row_dq.append(closure.covectors @ loop.dq)
        row_dv.append(closure.covectors @ loop.dv)
        f, m = screw.cross_matrix(wrench.linear), screw.cross_matrix(wrench.angular)
        turned = np.block([[np.zeros((3, 3)), f], [f, m]])
        dtau_dq -= loop.second.T @ turned @ loop.relative
    zero = np.zeros((len(robot.constraints.coupling), model.nv))
    dq, dv = np.vstack([*row_dq, zero]), np.vstack([*row_dv, zero])
    M = mass_matrix(model, data, q)
    return AccelerationDerivatives(
        a,
        read_only(_response(parts, M, -dtau_dq, -dq)),
        read_only(_response(parts, M, -dtau_dv, -dv)),
        read_only(_response(parts, M, np.eye(model.nv), np.zeros_like(dq))),
    )


def _response(parts: Split, M: Array, forces: Array, rows: Array) -> Array:
    """Change of the acceleration for changes of joint forces and of the rows' values."""
    particular = parts.solve(rows)
    free = parts.free
    reduced = np.linalg.solve(free.T @ M @ free, free.T @ (forces - M @ particular))
    return np.asarray(particular + free @ reduced)


@dataclass(frozen=True, eq=False)
class _LoopDerivatives:
    """Derivatives of one closure's relative acceleration, in its row frame, each (6, nv)."""

    dq: Array
    dv: Array
    relative: Array
    second: Array


def _loop_derivatives(model: Any, data: Any, closure: Closure) -> _LoopDerivatives:
    local = pin.ReferenceFrame.LOCAL
    to_row = closure.anchor.joint1_placement.inverse()
    row = data.oMi[closure.first] * closure.anchor.joint1_placement
    to_row_second = row.actInv(data.oMi[closure.second])
    X1, X2 = to_row.toActionMatrix(), to_row_second.toActionMatrix()
    one = pin.getJointAccelerationDerivatives(model, data, closure.first, local)
    two = pin.getJointAccelerationDerivatives(model, data, closure.second, local)
    v1_dq, a1_dq, a1_dv, J1 = (X1 @ block for block in one)
    v2_dq, a2_dq, a2_dv, J2 = (X2 @ block for block in two)
    relative = J2 - J1
    v1, v2 = X1 @ data.v[closure.first].vector, X2 @ data.v[closure.second].vector
    a2 = X2 @ data.a[closure.second].vector
    # The second body's twists are carried into the row frame by a motion that changes with q.
    v2_dq = v2_dq - screw.ad(v2) @ relative
    a2_dq = a2_dq - screw.ad(a2) @ relative
    dq = a2_dq - a1_dq - (screw.ad(v1) @ v2_dq - screw.ad(v2) @ v1_dq)
    dv = a2_dv - a1_dv - (screw.ad(v1) @ J2 - screw.ad(v2) @ J1)
    return _LoopDerivatives(dq, dv, relative, J2)
