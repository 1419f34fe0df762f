#!/usr/bin/env python3
"""A Delta robot with parallelograms draws a circle by pink's inverse kinematics.

    python assets/examples/delta_draws_a_circle.py

Its closures have 30 equations, of which 13 matter. Four solvers follow the circle with
those; with all equations, two of them give up at the first step.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pink
import pinocchio as pin
from pink.tasks import FrameTask, Task

import regularize as rg
from regularize.guests.integrations.pink import LoopTask

MODEL = Path(__file__).resolve().parents[1] / "delta_parallelograms.urdf"
RADIUS, STEPS, STEP = 0.05, 100, 0.02


class AllEquations(Task):
    """Every equation of every closure, as a task of pink's own kind."""

    def __init__(self, robot: rg.Robot) -> None:
        """Keep the robot."""
        super().__init__()
        self.robot = robot

    def compute_error(self, configuration: pink.Configuration) -> np.ndarray:
        """Errors of the equations."""
        return self.robot.residual(configuration.q, configuration.data)

    def compute_jacobian(self, configuration: pink.Configuration) -> np.ndarray:
        """Their Jacobian."""
        return self.robot.jacobian(configuration.q, configuration.data)

    def __repr__(self) -> str:
        """The task in one line."""
        return f"AllEquations({self.robot!r})"


def draw(robot: rg.Robot, loops: Task, solver: str) -> tuple[float, float]:
    """Follow the circle; the largest distances from it and from closed loops."""
    configuration = pink.Configuration(robot.model, robot.model.createData(), np.array(robot.q0))
    platform = FrameTask("platform", position_cost=1.0, orientation_cost=0.0)
    centre = configuration.get_transform_frame_to_world("platform")
    away = opened = 0.0
    for angle in np.linspace(0.0, 2.0 * np.pi, STEPS + 1):
        offset = RADIUS * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])
        platform.set_target(pin.SE3(centre.rotation, centre.translation + offset))
        velocity = pink.solve_ik(
            configuration, [platform], STEP, solver, damping=1e-6, constraints=[loops]
        )
        configuration.integrate_inplace(velocity, STEP)
        away = max(away, float(np.linalg.norm(platform.compute_error(configuration)[:3])))
        opened = max(opened, float(np.max(np.abs(robot.residual(configuration.q)))))
    return away, opened


def main() -> None:
    """Draw with every solver, with the equations that matter and with all of them."""
    reduction = rg.reduce(rg.load(MODEL))
    robot, every = rg.to_pinocchio(reduction), rg.to_pinocchio(reduction, style="legacy")
    for solver in ("quadprog", "daqp", "proxqp", "osqp"):
        for words, tree, loops in (
            (f"{robot.rank} equations", robot, LoopTask(robot)),
            (f"{every.rows} equations", every, AllEquations(every)),
        ):
            try:
                away, opened = draw(tree, loops, solver)
                result = f"within {1e3 * away:.3f} mm of the circle, loops open by {opened:.0e}"
            except pink.exceptions.NoSolutionFound:
                result = "no solution found"
            print(f"{solver:9}{words:14} {result}")


if __name__ == "__main__":
    main()
