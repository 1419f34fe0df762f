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

from regularize.lie import screw
from regularize.lie.screw import Array, read_only
from regularize.pinocchio_model.rows import ClosureRows
from regularize.pinocchio_model.solvers import ConstrainedTree
from regularize.pinocchio_model.split import Split, mass_matrix


@dataclass(frozen=True, eq=False)
class AccelerationDerivatives:
    """The acceleration and its derivatives.

    Attributes:
        a: Acceleration, shape (nv,).
        ddq_dq: By tangent steps of the configuration, as of ``pinocchio.integrate``, (nv, nv).
        ddq_dv: By the velocity, shape (nv, nv).
        ddq_dtau: By the joint forces, shape (nv, nv).
    """

    a: Array
    ddq_dq: Array
    ddq_dv: Array
    ddq_dtau: Array


def dynamics_derivatives(
    tree: ConstrainedTree, q: Array, v: Array, a: Array, tau: Array
) -> AccelerationDerivatives:
    """Derivatives of an acceleration under joint forces; see ``Robot.dynamics_derivatives``.

    Pinocchio's analytical derivatives are right only where no joint is a composite one.
    """
    model, data, rows = tree.model, tree.data, tree.constraints
    parts = Split.of(rows.jacobian(data, q), tree.rank)
    multipliers = parts.solve_transposed(pin.rnea(model, data, q, v, a) - tau)
    forces = pin.StdVec_Force()
    for _ in range(model.njoints):
        forces.append(pin.Force.Zero())
    pin.forwardKinematics(model, data, q, v, a)
    wrenches, start = [], 0
    for closure in rows.closures:
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
    for closure, wrench in zip(rows.closures, wrenches, strict=True):
        loop = _loop_derivatives(model, data, closure)
        row_dq.append(closure.covectors @ loop.dq)
        row_dv.append(closure.covectors @ loop.dv)
        f, m = screw.cross_matrix(wrench.linear), screw.cross_matrix(wrench.angular)
        turned = np.block([[np.zeros((3, 3)), f], [f, m]])
        dtau_dq -= loop.second.T @ turned @ loop.relative
    zero = np.zeros((len(rows.coupling), model.nv))
    dq, dv = np.vstack([*row_dq, zero]), np.vstack([*row_dv, zero])
    M = mass_matrix(model, data, q)
    return AccelerationDerivatives(
        a,
        read_only(parts.response(M, -dtau_dq, -dq)),
        read_only(parts.response(M, -dtau_dv, -dv)),
        read_only(parts.response(M, np.eye(model.nv), np.zeros_like(dq))),
    )


@dataclass(frozen=True, eq=False)
class _LoopDerivatives:
    """Derivatives of one closure's relative acceleration, in its row frame, each (6, nv)."""

    dq: Array
    dv: Array
    relative: Array
    second: Array


def _loop_derivatives(model: Any, data: Any, closure: ClosureRows) -> _LoopDerivatives:
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
