"""Closed loops in pink: a task that keeps them closed, on pink's own configuration and data.

Hand it over as a constraint, ``solve_ik(configuration, tasks, dt, solver, constraints=[loops])``.
All rows of a redundant closure make some quadratic programming solvers fail, because they are
linearly dependent; the kept rows are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.dynamics.pinocchio.robot import Robot
from regularize.errors import MissingExtra, ModelError
from regularize.lie.arrays import Array

try:
    import pink
    from pink.tasks import Task
except ImportError as error:
    raise MissingExtra("the loop task", "pink", "pink") from error


class LoopTask(Task):  # type: ignore[misc]
    r"""Task that keeps all loops closed: :math:`J \Delta q = -\alpha \, r(q)` of kept rows.

    Where rows depend on each other for their lengths alone, as many combinations of them as are
    independent stand for all.

    Args:
        robot: From ``regularize.to_pinocchio`` or ``regularize.augment``; configurations are those
            of ``robot.model``, limits included.
        cost: As a task that is not a constraint: what an error of one metre or radian costs.
        gain: Part of the error that a step takes away, in (0, 1].
        lm_damping: Levenberg-Marquardt damping of a task that is not a constraint.
    """

    def __init__(
        self, robot: Robot, cost: float | None = None, gain: float = 1.0, lm_damping: float = 0.0
    ) -> None:
        super().__init__(cost=cost, gain=gain, lm_damping=lm_damping)
        self.robot = robot

    def compute_error(self, configuration: pink.Configuration) -> Array:
        """Return residuals of the rows, (rows,): rad, and lengths as parts of the loops' size."""
        error = self.robot.residual(configuration.q, self._checked_data(configuration))
        return self._independent(configuration) @ error

    def compute_jacobian(self, configuration: pink.Configuration) -> Array:
        """Return the Jacobian of the rows, shape (rows, nv)."""
        jacobian = self.robot.jacobian(configuration.q, self._checked_data(configuration))
        return self._independent(configuration) @ jacobian

    def _independent(self, configuration: pink.Configuration) -> Array:
        """Return a basis of the row space's combinations at a configuration, shape (rank, m)."""
        robot = self.robot
        if robot.rank == robot.rows:
            return np.eye(robot.rows)
        jacobian = robot.jacobian(configuration.q, self._checked_data(configuration))
        return np.asarray(np.linalg.svd(jacobian)[0][:, : robot.rank].T)

    def _checked_data(self, configuration: pink.Configuration) -> Any:
        """Check the configuration's size; return pink's data if the robot has no kernel."""
        model = configuration.model
        if (model.nq, model.nv) != (self.robot.nq, self.robot.nv):
            raise ModelError(
                f"the configuration has nq {model.nq} and nv {model.nv}, the robot nq "
                f"{self.robot.nq} and nv {self.robot.nv}: make it of robot.model"
            )
        return configuration.data if self.robot.kernel is None else None

    def __repr__(self) -> str:
        return f"LoopTask({self.robot!r}, cost={self.cost}, gain={self.gain})"
