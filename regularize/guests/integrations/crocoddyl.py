"""Closed loops in Crocoddyl: forward dynamics with analytic derivatives, driven by motors only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from regularize.dynamics.pinocchio.forces import acceleration_derivatives
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.solvers import decaying
from regularize.dynamics.pinocchio.tree_states import Stabilization
from regularize.errors import MissingExtra
from regularize.lie.arrays import Array

try:
    import crocoddyl
except ImportError as error:
    raise MissingExtra("the action model", "crocoddyl", "crocoddyl") from error


class LoopActuation(crocoddyl.ActuationModelAbstract):  # type: ignore[misc]
    """Crocoddyl actuation that puts motor forces among all joint forces of the model.

    Args:
        state: Crocoddyl's state of the model.
        index: Indices of the motors in v.
    """

    def __init__(self, state: Any, index: NDArray[np.intp]) -> None:
        super().__init__(state, len(index))
        self.index, self.map = index, np.eye(state.nv)[:, index]

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Compute joint forces from motor forces u."""
        if u is not None:
            data.tau = self.map @ u

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Set the constant derivative of joint forces by motor forces."""
        data.dtau_du = self.map

    def commands(self, data: Any, x: Array, tau: Array) -> None:
        """Compute motor forces from joint forces tau."""
        data.u = self.map.T @ tau

    def torqueTransform(self, data: Any, x: Array, u: Array) -> None:
        """Set the transposed map, from joint forces to motor forces."""
        data.Mtau = self.map.T


class LoopDynamics(crocoddyl.DifferentialActionModelAbstract):  # type: ignore[misc]
    r"""Acceleration of a robot with closed loops under the forces of its motors.

    Armature and damping of the model's joints count, dry friction and springs do not. Use it as
    ``crocoddyl.IntegratedActionModelEuler(LoopDynamics(...), dt)``. Loops that the integration
    opens are closed again by Baumgarte's terms,
    :math:`J a + \gamma + 2 \omega J v + \omega^2 r(q) = 0`.

    Args:
        robot: From ``regularize.to_pinocchio`` or ``regularize.augment``.
        actuated: Names of the joints with motors; by default those that the model marks.
        costs: A ``crocoddyl.CostModelSum`` over a ``crocoddyl.StateMultibody`` of ``robot.model``,
            with one control for each freedom of the motors; by default there are no costs.
        frequency: Baumgarte's :math:`\omega` in rad/s.
    """

    def __init__(
        self,
        robot: Robot,
        actuated: Sequence[str] | None = None,
        costs: Any = None,
        *,
        frequency: float = 0.0,
    ) -> None:
        index = robot.actuation(actuated).index
        if costs is None:
            costs = crocoddyl.CostModelSum(crocoddyl.StateMultibody(robot.model), len(index))
        super().__init__(costs.state, len(index), costs.nr)
        self.robot, self.costs, self.frequency = robot, costs, frequency
        self.actuation = LoopActuation(costs.state, index)
        self._nq, self._nv = robot.nq, robot.nv
        self._decay = Stabilization(frequency, 1.0) if frequency else None
        self._damping = robot.model.damping  # as it is when it is read
        effort = robot.model.effortLimit[index]
        # Pinocchio writes the largest number there is where a model states no bound.
        bound = np.where(effort < np.finfo(np.float64).max, effort, np.inf)
        self.u_lb, self.u_ub = -bound, bound

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Compute acceleration and cost; the cost alone at the last node, which has no u."""
        q, v, costs = x[: self._nq], x[self._nq :], self.costs
        if u is None:
            data.xout = a = np.zeros(self._nv)
            self._update(data, q, v, a)
            costs.calc(data.costs, x)
        else:
            data.actuation.tau = forces = self.actuation.map @ u
            tau = forces - self._damping * v
            robot, decay = self.robot, self._decay
            a = decaying(robot, q, v, tau, decay) if decay else robot.forward_dynamics(q, v, tau)
            data.xout = a
            self._update(data, q, v, a)
            costs.calc(data.costs, x, u)
        data.cost = data.costs.cost

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Compute derivatives of the acceleration and of the costs."""
        if u is None:
            self.costs.calcDiff(data.costs, x)
            return
        q, v, damping = x[: self._nq], x[self._nq :], self._damping
        tau = self.actuation.map @ u - damping * v
        found = acceleration_derivatives(self.robot, q, v, tau, self._decay)
        by_state = np.empty((self._nv, 2 * self._nv))
        by_state[:, : self._nv] = found.ddq_dq
        np.subtract(found.ddq_dv, found.ddq_dtau * damping, out=by_state[:, self._nv :])
        data.Fx, data.Fu = by_state, found.ddq_dtau[:, self.actuation.index]
        self.costs.calcDiff(data.costs, x, u)

    def createData(self) -> LoopDynamicsData:
        """Allocate the data of one node."""
        return LoopDynamicsData(self)

    def _update(self, data: Any, q: Array, v: Array, a: Array) -> None:
        """Compute kinematics, centre of mass and Jacobians, which cost terms read."""
        model = self.robot.model
        pin.centerOfMass(model, data.pinocchio, q, v, a)  # begins with forward kinematics
        pin.computeJointJacobians(model, data.pinocchio)
        pin.updateFramePlacements(model, data.pinocchio)


class LoopDynamicsData(crocoddyl.DifferentialActionDataAbstract):  # type: ignore[misc]
    """Data of one node of ``LoopDynamics``: Pinocchio, actuation and costs."""

    def __init__(self, model: LoopDynamics) -> None:
        super().__init__(model)
        self.pinocchio = model.robot.model.createData()
        self.actuation = model.actuation.createData()
        self.actuation.dtau_du = model.actuation.map
        self.collector = crocoddyl.DataCollectorActMultibody(self.pinocchio, self.actuation)
        self.costs = model.costs.createData(self.collector)
        self.costs.shareMemory(self)
