#!/usr/bin/env python3
"""A leg with a four-bar knee swings its foot up, planned by Crocoddyl.

    python assets/examples/knee_leg_swings_up.py

Six motors move eight hinges; the knee's loop is closed by the two equations that matter. Beside it,
the same problem with all equations of the loop and Pinocchio's defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crocoddyl
import numpy as np
import pinocchio as pin

import regularize as rg
from regularize.guests.integrations.crocoddyl import LoopDynamics

MODEL = Path(__file__).resolve().parents[1] / "knee_leg.urdf"
MOTORS = ["hip_yaw", "hip_roll", "hip_pitch", "knee_front", "ankle_pitch", "ankle_roll"]
RAISED = {"hip_pitch": -1.6, "knee_front": 0.8}  # where the swing ends, in radians
STEPS, STEP = 100, 0.01  # a second in hundredths


def costs(model: pin.Model, target: np.ndarray, weight: float) -> crocoddyl.CostModelSum:
    """Distance from a configuration, rates and torques."""
    state, count = crocoddyl.StateMultibody(model), len(MOTORS)
    total = crocoddyl.CostModelSum(state, count)
    units = crocoddyl.ActivationModelWeightedQuad(
        np.concatenate([np.ones(model.nv), np.full(model.nv, 0.01)])
    )
    away = crocoddyl.ResidualModelState(state, np.concatenate([target, np.zeros(model.nv)]), count)
    effort = crocoddyl.ResidualModelControl(state, count)
    total.addCost("target", crocoddyl.CostModelResidual(state, units, away), weight)
    total.addCost("effort", crocoddyl.CostModelResidual(state, effort), 1e-3)
    return total


def swing(robot: rg.Robot, make: Callable[..., Any]) -> crocoddyl.SolverFDDP:
    """The problem: from rest at the reference configuration to rest at the raised one.

    Args:
        robot: The leg.
        make: The action model of costs.
    """
    target, still = robot.follow(robot.q0, RAISED), np.zeros(robot.model.nv)
    start = np.concatenate([robot.q0, still])
    held = np.array(robot.inverse_dynamics(robot.q0, still, still, MOTORS).tau)
    problem = crocoddyl.ShootingProblem(
        start,
        [crocoddyl.IntegratedActionModelEuler(make(costs(robot.model, target, 0.1)), STEP)] * STEPS,
        crocoddyl.IntegratedActionModelEuler(make(costs(robot.model, target, 1e3)), 0.0),
    )
    solver = crocoddyl.SolverFDDP(problem)
    solver.solve([start] * (STEPS + 1), [held] * STEPS, 100)
    return solver


class AllEquations(LoopDynamics):
    """The same with all six equations of a weld and Pinocchio's default settings."""

    def __init__(self, robot: rg.Robot, costs: crocoddyl.CostModelSum) -> None:
        """Take Pinocchio's own constraint models."""
        super().__init__(robot, MOTORS, costs)
        self.loops = robot.constraint_models
        self.datas = pin.StdVec_RigidConstraintData()
        for loop in self.loops:
            self.datas.append(loop.createData())
        self.settings = pin.ProximalSettings()

    def calc(self, data: Any, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Acceleration by ``pinocchio.constraintDynamics``."""
        if u is not None:
            model, (q, v) = self.robot.model, np.split(x, [self.robot.model.nq])
            pin.initConstraintDynamics(model, data.pinocchio, self.loops, self.datas)
            data.xout = pin.constraintDynamics(
                *(model, data.pinocchio, q, v, self.actuation.map @ u),
                *(self.loops, self.datas, self.settings),
            )
        self.costs.calc(data.costs, x, *(() if u is None else (u,)))
        data.cost = data.costs.cost

    def calcDiff(self, data: Any, x: np.ndarray, u: np.ndarray | None = None) -> None:
        """Derivatives by Pinocchio."""
        if u is not None:
            by_q, by_v, by_tau, *_ = pin.computeConstraintDynamicsDerivatives(
                self.robot.model, data.pinocchio, self.loops, self.datas, self.settings
            )
            data.Fx, data.Fu = np.hstack([by_q, by_v]), by_tau @ self.actuation.map
        self.costs.calcDiff(data.costs, x, *(() if u is None else (u,)))


def main() -> None:
    """Plan and print."""
    reduction = rg.reduce(rg.load(MODEL))
    robot = rg.to_pinocchio(reduction)
    began = time.perf_counter()
    solver = swing(robot, lambda costs: LoopDynamics(robot, MOTORS, costs, frequency=50.0))
    seconds = time.perf_counter() - began
    q = solver.xs[-1][: robot.model.nq]
    ends = ", ".join(f"{name} {q[robot.velocity_index(name)]:.4f} rad" for name in RAISED)
    size = 1e3 * reduction.cuts[0].length
    gap = max(np.max(np.abs(robot.residual(x[: robot.model.nq]))) for x in solver.xs)
    print(f"two equations: {solver.iter} iterations, {seconds:.2f} s, cost {solver.cost:.5f}")
    print(f"  ends at {ends}; the knee's loop opens by at most {gap * size:.2f} mm")
    welded = rg.to_pinocchio(reduction, style="legacy")
    solver = swing(welded, lambda costs: AllEquations(welded, costs))
    print(f"six equations: stopped after {solver.iter} iterations, cost {solver.cost:.5g}")


if __name__ == "__main__":
    main()
