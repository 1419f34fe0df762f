#!/usr/bin/env python3
"""A leg with a four-bar knee bends its knee and comes to rest: direct collocation in CasADi.

    pip install casadi
    python assets/examples/knee_leg_collocation.py

The acceleration is the exact one of the closed loop, as a CasADi function of configuration,
velocity and torques: no multipliers, no soft constraints. The trapezoidal rule keeps the loop
closed as well as it keeps everything else: an error of second order, which `robot.project` takes
away.
"""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np

import regularize as rg

MODEL = Path(__file__).resolve().parents[1] / "knee_leg.urdf"
MOTORS = ["hip_yaw", "hip_roll", "hip_pitch", "knee_front", "ankle_pitch", "ankle_roll"]


def bend(angle: float = 0.3, steps: int = 24, h: float = 0.0125) -> tuple[rg.Robot, np.ndarray]:
    """The leg, and configurations (steps + 1, nq) from rest to rest with the least torques."""
    robot = rg.build_model(MODEL)
    F, motors = robot.to_casadi(), robot.velocity_indices(MOTORS)
    goal = robot.follow(robot.q0, {"knee_front": angle})
    opti = ca.Opti()
    q, v = opti.variable(robot.nq, steps + 1), opti.variable(robot.nv, steps + 1)
    u, select = opti.variable(len(MOTORS), steps + 1), np.eye(robot.nv)[:, motors]
    a = [F(q[:, k], v[:, k], select @ u[:, k]) for k in range(steps + 1)]
    for k in range(steps):
        opti.subject_to(q[:, k + 1] == q[:, k] + 0.5 * h * (v[:, k] + v[:, k + 1]))
        opti.subject_to(v[:, k + 1] == v[:, k] + 0.5 * h * (a[k] + a[k + 1]))
    opti.subject_to(q[:, 0] == robot.q0)
    opti.subject_to(v[:, 0] == 0)
    for i in motors:
        opti.subject_to(
            q[i, steps] == (goal[i] if i == robot.velocity_indices(["knee_front"])[0] else 0)
        )
        opti.subject_to(v[i, steps] == 0)
    opti.minimize(ca.sumsqr(u))
    for k in range(steps + 1):
        opti.set_initial(q[:, k], robot.q0 + k / steps * (goal - robot.q0))
    opti.solver("ipopt", {"ipopt.print_level": 0, "print_time": False})
    return robot, np.asarray(opti.solve().value(q)).T


def main() -> None:
    """Bend the knee, and say how well the loop is closed."""
    robot, path = bend()
    print(f"knee at {np.rad2deg(path[-1, robot.velocity_indices(['knee_front'])[0]]):.1f} degrees")
    print(f"largest closure error {np.abs(robot.residual(path)).max():.1e}")


if __name__ == "__main__":
    main()
