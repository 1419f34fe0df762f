r"""Constraint rows from the motion of bodies, where Pinocchio's constraint models do not reach.

They refuse mimic joints, and their rows are constant on one body. With the spatial velocities
:math:`V` of two bodies, all in the world, the twist of the second against the first has the rate
:math:`\dot V_2 - \dot V_1 - [V_1, V_2 - V_1]` in a frame that moves with the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.pinocchio_model.closure_rows import ClosureRows, DataPoses
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.rows import ConstraintRows


class BodyRows(ConstraintRows):
    """Rows from the bodies' own Jacobians and accelerations; arguments as of the base class."""

    def current_jacobian(self, data: Any) -> Array:
        """Rows on velocities where the joint Jacobians are up to date, shape (m, nv)."""
        rows = [
            closure.current(DataPoses(data))
            @ _to_row(closure, data)
            @ (self._jacobian(data, closure.second) - self._jacobian(data, closure.first))
            for closure in self.closures
        ]
        return np.vstack([np.zeros((0, self.tree.nv)), *rows, self.coupling])

    def _jacobian(self, data: Any, joint: int) -> Array:
        if joint == 0:
            return np.zeros((6, self.tree.nv))
        world = pin.ReferenceFrame.WORLD
        return np.asarray(pin.getJointJacobian(self.model, data, joint, world))

    def bias(self, data: Any, q: Array, v: Array) -> Array:
        """Rate of the rows at zero acceleration, shape (m,)."""
        pin.forwardKinematics(self.model, data, q, v, self._no_acceleration)
        rates, poses = [], DataPoses(data)
        for closure in self.closures:
            V1, A1 = _twists(data, closure.first)
            V2, A2 = _twists(data, closure.second)
            to_row = _to_row(closure, data)
            rate = to_row @ (A2 - A1 - screw.ad(V1) @ (V2 - V1))
            own = closure.own_acceleration(poses, to_row @ (V2 - V1))
            rates.append(closure.current(poses) @ (rate - own))
        return np.concatenate([*rates, np.zeros(len(self.coupling))])

    def jacobian_and_bias(self, data: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Both at once, shapes (m, nv) and (m,)."""
        return self.jacobian(data, q), self.bias(data, q, v)


def _to_row(closure: ClosureRows, data: Any) -> Array:
    """From twists in the world to the row frame, shape (6, 6)."""
    row = data.oMi[closure.first] * closure.T_first_row
    return np.asarray(row.toActionMatrixInverse())


def _twists(data: Any, joint: int) -> tuple[Array, Array]:
    """Velocity and acceleration of a body in the world, each of shape (6,)."""
    pose = data.oMi[joint]
    return np.asarray(pose.act(data.v[joint]).vector), np.asarray(pose.act(data.a[joint]).vector)
