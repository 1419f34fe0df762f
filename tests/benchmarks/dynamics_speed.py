#!/usr/bin/env python3
"""Derivatives of constrained dynamics against Pinocchio's own, and against differences.

    python tests/benchmarks/dynamics_speed.py [--json]

Both give the acceleration and its derivatives by q, v and tau. Pinocchio gets every row of every
closure and the proximal settings that redundant rows need; the models have no composite joints,
for which its derivatives are not right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from measuring import ASSETS, finish, per_item

import regularize as rg

NAMES = ["planar_fourbar", "knee_leg", "delta_universal", "stewart_6ups", "gripper", "walker"]
CALLS, RUNS = 50, 5


def repeated(run: Callable[[], object]) -> tuple[Callable[[], object], int]:
    """A function that is called often enough for the clock, and how often that is."""

    def calls() -> None:
        for _ in range(CALLS):
            run()

    return calls, CALLS


def pinocchios(robot: rg.Robot) -> Callable[[], object]:
    """Pinocchio's own derivatives at the reference configuration."""
    model, models, settings = robot.model, robot.constraint_models, robot.proximal_settings
    data, datas = model.createData(), pin.StdVec_RigidConstraintData()
    for constraint in models:
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    q, zero = np.array(robot.q0), np.zeros(model.nv)

    def run() -> object:
        pin.constraintDynamics(model, data, q, zero, zero, models, datas, settings)
        return pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)

    return run


def differences(robot: rg.Robot) -> Callable[[], object]:
    """Forward differences, one acceleration for each column."""
    q, zero, steps = np.array(robot.q0), np.zeros(robot.model.nv), 1e-7 * np.eye(robot.model.nv)

    def run() -> object:
        robot.forward_dynamics(q, zero, zero)
        for step in steps:
            robot.forward_dynamics(pin.integrate(robot.model, q, step), zero, zero)
            robot.forward_dynamics(q, step, zero)
            robot.forward_dynamics(q, zero, step)
        return None

    return run


def main() -> None:
    """Measure and print."""
    ratios, seconds = {}, {}
    for name in NAMES:
        reduction = rg.reduce(rg.load(ASSETS / f"{name}.urdf"))
        robot = rg.to_pinocchio(reduction, composite=False)
        every = rg.to_pinocchio(reduction, style="legacy", composite=False)
        q, zero = np.array(robot.q0), np.zeros(robot.model.nv)

        def exact(robot: rg.Robot = robot, q: np.ndarray = q, zero: np.ndarray = zero) -> object:
            return robot.dynamics_derivatives(q, zero, zero)

        found = per_item(
            {
                "exact": repeated(exact),
                "Pinocchio": repeated(pinocchios(every)),
                "differences": repeated(differences(robot)),
            },
            RUNS,
        )
        seconds[name] = found
        rows = f"{robot.rows} of {every.rows} rows"
        ratios[f"{name}: derivatives, {rows}, instead of Pinocchio's"] = (
            found["Pinocchio"] / found["exact"]
        )
        ratios[f"{name}: derivatives instead of differences"] = (
            found["differences"] / found["exact"]
        )

    def table() -> None:
        for name, found in seconds.items():
            print(f"{name:20}" + "".join(f"{way} {1e6 * s:.0f} us  " for way, s in found.items()))

    finish(ratios, table)


if __name__ == "__main__":
    main()
