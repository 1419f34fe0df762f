#!/usr/bin/env python3
"""A leg with a four-bar knee squats by pink's inverse kinematics.

    python assets/examples/leg_squats.py

The sole stays level below the hip and comes up by 12 cm and down again. The knee's loop is closed
by the two of its five equations that matter.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pink
import pinocchio as pin
from pink.tasks import FrameTask

import regularize as rg
from regularize.guests.integrations.pink import LoopTask

MODEL = Path(__file__).resolve().parents[1] / "knee_leg.urdf"
DEPTH, STEPS, STEP = 0.12, 200, 0.01


def squat(robot: rg.Robot, solver: str) -> tuple[float, float, float]:
    """Squat once; the bend of the knee, and the largest errors of the sole and of the loop."""
    q = robot.follow(robot.q0, {"hip_pitch": -0.3, "knee_front": 0.6, "ankle_pitch": -0.3})
    configuration = pink.Configuration(robot.model, robot.model.createData(), q)
    sole, loops = FrameTask("foot", position_cost=1.0, orientation_cost=1.0), LoopTask(robot)
    start = configuration.get_transform_frame_to_world("foot")
    knee = robot.velocity_index("knee_front")
    bend = away = opened = 0.0
    for phase in np.linspace(0.0, 2.0 * np.pi, STEPS + 1):
        up = np.array([0.0, 0.0, 0.5 * DEPTH * (1.0 - np.cos(phase))])
        sole.set_target(pin.SE3(start.rotation, start.translation + up))
        velocity = pink.solve_ik(
            configuration, [sole], STEP, solver, damping=1e-8, constraints=[loops]
        )
        configuration.integrate_inplace(velocity, STEP)
        bend = max(bend, float(configuration.q[knee]))
        away = max(away, float(np.max(np.abs(sole.compute_error(configuration)))))
        opened = max(opened, float(np.max(np.abs(robot.residual(configuration.q)))))
    return bend, away, opened


def main() -> None:
    """Squat and print."""
    robot = rg.to_pinocchio(rg.reduce(rg.load(MODEL)))
    for solver in ("quadprog", "daqp", "proxqp", "osqp"):
        bend, away, opened = squat(robot, solver)
        print(f"{solver:9} the knee bends to {bend:.3f} rad, the sole errs by {away:.1e} at most, ")
        print(f"{'':9} the loop by {opened:.1e}")


if __name__ == "__main__":
    main()
