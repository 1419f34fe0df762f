"""Closed loops in Crocoddyl: forward dynamics with analytic derivatives, driven by motors only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from regularize.dynamics.pinocchio.robot import Robot
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
        self.map = np.eye(state.nv)[:, index]

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
        effort = robot.model.effortLimit[index]
        # Pinocchio writes the largest number there is where a model states no bound.
        bound = np.where(effort < np.finfo(np.float64).max, effort, np.inf)
        self.u_lb, self.u_ub = -bound, bound

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Compute acceleration and cost; the cost alone at the last node, which has no u."""
        robot, (q, v) = self.robot, self._state(x)
        if u is None:
            data.xout = np.zeros(robot.nv)
            self._update(data, q, v, data.xout)
            self.costs.calc(data.costs, x)
        else:
            self.actuation.calc(data.actuation, x, u)
            tau = self.actuation.map @ u - robot.model.damping * v
            if self.frequency:
                a = robot.stabilized_dynamics(q, v, tau, frequency=self.frequency)
            else:
                a = robot.forward_dynamics(q, v, tau)
            data.xout = a
            self._update(data, q, v, a)
            self.costs.calc(data.costs, x, u)
        data.cost = data.costs.cost

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """Compute derivatives of the acceleration and of the costs."""
        if u is None:
            self.costs.calcDiff(data.costs, x)
            return
        (q, v), motors = self._state(x), self.actuation.map
        damping = self.robot.model.damping
        found = self.robot.dynamics_derivatives(
            q, v, motors @ u - damping * v, frequency=self.frequency
        )
        data.Fx = np.hstack([found.ddq_dq, found.ddq_dv - found.ddq_dtau * damping])
        data.Fu = found.ddq_dtau @ motors
        self.actuation.calcDiff(data.actuation, x, u)
        self.costs.calcDiff(data.costs, x, u)

    def createData(self) -> LoopDynamicsData:
        """Allocate the data of one node."""
        return LoopDynamicsData(self)

    def _state(self, x: Array) -> tuple[Array, Array]:
        return x[: self.state.nq], x[self.state.nq :]

    def _update(self, data: Any, q: Array, v: Array, a: Array) -> None:
        """Compute kinematics, Jacobians and centre of mass, which cost terms read."""
        model = self.robot.model
        pin.forwardKinematics(model, data.pinocchio, q, v, a)
        pin.computeJointJacobians(model, data.pinocchio, q)
        pin.updateFramePlacements(model, data.pinocchio)
        pin.centerOfMass(model, data.pinocchio, q, v, a)


class LoopDynamicsData(crocoddyl.DifferentialActionDataAbstract):  # type: ignore[misc]
    """Data of one node of ``LoopDynamics``: Pinocchio, actuation and costs."""

    def __init__(self, model: LoopDynamics) -> None:
        super().__init__(model)
        self.pinocchio = model.robot.model.createData()
        self.actuation = model.actuation.createData()
        self.collector = crocoddyl.DataCollectorActMultibody(self.pinocchio, self.actuation)
        self.costs = model.costs.createData(self.collector)
        self.costs.shareMemory(self)
