#!/usr/bin/env python3
"""Work against precision on Bricard's mechanism over 10 s, beside EXUDYN and MuJoCo.

    python tests/benchmarks/work_precision.py

Error is that of the point P3 at 10 s against the reference of ``assets/benchmarks/answers.json``;
time is the best of three runs of the integration alone, models built beforehand. Absolute times
depend on the machine: read the ratios. EXUDYN and MuJoCo take part where they are installed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import regularize as rg
from regularize.dynamics import split
from regularize.integrator import Integrator, unforced
from regularize.pinocchio_ import STYLES, Robot, to_pinocchio
from regularize.screw import Array

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "benchmarks"
ANSWER = json.loads((FOLDER / "answers.json").read_text())["bricard"]
REFERENCE = np.array(ANSWER["P3"]["10"])
POINT = np.array(ANSWER["point"], dtype=float)
DURATION, RUNS = 10.0, 3

#: Seconds and error of one setting of one program.
Measured = tuple[str, str, float, float]


def best(run: Callable[[], Array]) -> tuple[float, float]:
    """Shortest time of several runs, and the error of P3."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - start)
    return min(times), float(np.max(np.abs(found - REFERENCE)))


def point(robot: Robot, q: Array) -> Array:
    """World position of P3."""
    frame = robot.model.getFrameId(ANSWER["body"])
    pin.framesForwardKinematics(robot.model, robot.data, robot.q0)
    local = robot.data.oMf[frame].actInv(POINT)
    pin.framesForwardKinematics(robot.model, robot.data, q)
    return np.asarray(robot.data.oMf[frame].act(local))


def ours(reduction: rg.Reduction) -> Iterator[Measured]:
    """This package, error-controlled, kept rows."""
    robot = to_pinocchio(reduction)
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9):

        def run(rtol: float = rtol) -> Array:
            start = np.zeros(robot.model.nv)
            motion = Integrator(robot, unforced(robot.model), rtol, rtol, 0.0, robot.q0, start)
            while motion.time < DURATION:
                motion.step(DURATION)
                motion.advance()
            return point(robot, motion.q)

        yield ("regularize", f"rtol {rtol:.0e}", *best(run))


def of_mujoco(reduction: rg.Reduction) -> Iterator[Measured]:
    """MuJoCo with RK4, stepped in C: the closing hinge as its manual says, and as our weld."""
    try:
        import mujoco
    except ImportError:
        return
    from regularize.mujoco_ import mujoco_model

    welded, open_chain = to_pinocchio(reduction, "legacy"), to_pinocchio(reduction)
    for step in (1e-2, 5e-3, 2e-3, 1e-3, 5e-4):
        hinged = mujoco.MjModel.from_xml_string(two_connects(reduction.mechanism, step))
        for program, model, robot in (
            ("MuJoCo", hinged, open_chain),
            ("MuJoCo+weld", mujoco_model(welded, step), welded),
        ):

            def run(model: Any = model, step: float = step, robot: Robot = robot) -> Array:
                data = mujoco.MjData(model)
                mujoco.mj_step(model, data, nstep=round(DURATION / step))
                return point(robot, np.array(data.qpos))

            yield (program, f"step {step:.0e}", *best(run))


def two_connects(mechanism: rg.Mechanism, step: float) -> str:
    """A single loop of hinges as MJCF, the last one closed by two points of its axis."""
    *chain, last = mechanism.joints
    numbers = " ".join
    text, at = "", np.zeros(3)
    for joint in chain:
        origin = joint.T_parent_joint[:3, 3]
        inertia = mechanism.body(joint.child).inertia
        assert inertia is not None
        m = inertia.matrix
        entries = [m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]
        text += (
            f'<body name="{joint.child}" pos="{numbers(map(str, origin - at))}">'
            f'<joint axis="{numbers(map(str, joint.screws[3:, 0]))}"/>'
            f'<inertial pos="{numbers(map(str, inertia.center - origin))}" mass="{inertia.mass}" '
            f'fullinertia="{numbers(map(str, entries))}"/>'
        )
        at = origin
    text += "</body>" * len(chain)
    pivot = last.T_parent_joint[:3, 3] - at
    connects = "".join(
        f'<connect body1="{last.parent}" solref="{2 * step} 1" solimp="0.9999 0.9999 0.001 0.5 2" '
        f'anchor="{numbers(map(str, pivot + shift * last.screws[3:, 0]))}"/>'
        for shift in (0.0, 1.0)
    )
    return (
        f'<mujoco><option timestep="{step}" integrator="RK4" iterations="100" tolerance="1e-14" '
        f'gravity="{numbers(map(str, mechanism.gravity))}"/><worldbody>{text}</worldbody>'
        f"<equality>{connects}</equality></mujoco>"
    )


def of_exudyn(reduction: rg.Reduction) -> Iterator[Measured]:
    """EXUDYN with its implicit second-order method and the dense solver for redundancy."""
    try:
        import exudyn as exu
        from exudyn.itemInterface import SensorBody
        from exudyn.rigidBodyUtilities import RigidBodyInertia
    except ImportError:
        return
    mechanism = reduction.mechanism
    for step in (1e-2, 5e-3, 2e-3, 1e-3):
        container = exu.SystemContainer()
        system = container.AddSystem()
        bodies = {mechanism.ground: system.CreateGround()}
        for body in mechanism.bodies:
            if body.inertia is not None:
                inertia = RigidBodyInertia(
                    mass=body.inertia.mass, inertiaTensor=np.array(body.inertia.matrix)
                )
                bodies[body.name] = system.CreateRigidBody(
                    referencePosition=[*body.inertia.center],
                    inertia=inertia,
                    gravity=[*mechanism.gravity],
                )
        for joint in mechanism.joints:
            system.CreateRevoluteJoint(
                itemNumbers=[bodies[joint.parent], bodies[joint.child]],
                position=[*joint.T_parent_joint[:3, 3]],
                axis=[*joint.screws[3:, 0]],
                useGlobalFrame=True,
            )
        last = mechanism.body(ANSWER["body"])
        assert last.inertia is not None
        sensor = system.AddSensor(
            SensorBody(
                bodyNumber=bodies[last.name],
                localPosition=[*(POINT - last.inertia.center)],
                outputVariableType=exu.OutputVariableType.Position,
                storeInternal=True,
                writeToFile=False,
            )
        )
        system.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.endTime = DURATION
        settings.timeIntegration.numberOfSteps = round(DURATION / step)
        settings.timeIntegration.verboseMode = 0
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = DURATION
        settings.linearSolver.solverType = exu.LinearSolverType.EigenDense
        settings.linearSolver.ignoreSingularJacobian = True
        settings.timeIntegration.newton.useModifiedNewton = True

        def run(system: Any = system, settings: Any = settings, sensor: Any = sensor) -> Array:
            system.SolveDynamic(settings)
            return np.array(system.GetSensorStoredData(sensor)[-1, 1:4])

        yield ("EXUDYN", f"step {step:.0e}", *best(run))


def time_for(rows: list[Measured], program: str, error: float) -> float | None:
    """Seconds that a program needs for an error, between its settings on a logarithmic scale."""
    points = sorted((e, t) for p, _, t, e in rows if p == program)
    if not points or points[0][0] > error:
        return None
    logs = np.log(np.array(points))
    return float(np.exp(np.interp(np.log(error), logs[:, 0], logs[:, 1])))


def conditioning(reduction: rg.Reduction) -> Iterator[tuple[str, int, int, float]]:
    """Rows, rank and condition number of the rows of every style at the start."""
    for style in STYLES:
        robot = to_pinocchio(reduction, style)
        values = np.linalg.svd(robot.jacobian(robot.q0), compute_uv=False)
        parts = split(robot, robot.q0)
        full = values[0] / values[-1] if values[-1] > 1e-12 * values[0] else np.inf
        yield style, robot.rows, len(parts.values), float(full)


def main() -> None:
    """Measure and print."""
    reduction = rg.reduce(rg.load(FOLDER / "bricard.json"))
    rows = [*ours(reduction), *of_mujoco(reduction), *of_exudyn(reduction)]
    print(f"{'program':12}{'setting':14}{'time [ms]':>10}{'error of P3':>14}")
    for program, setting, seconds, error in rows:
        print(f"{program:12}{setting:14}{1e3 * seconds:10.1f}{error:14.1e}")
    mine = time_for(rows, "regularize", 1e-7)
    for program in ("MuJoCo", "MuJoCo+weld", "EXUDYN"):
        theirs = time_for(rows, program, 1e-6)
        if mine is not None and theirs is not None:
            print(f"{program} needs {theirs / mine:.1f} times as long for 1e-6 as we for 1e-7")
    for name in ("bricard", "n_fourbar_2", "andrews"):
        print(f"\n{name}: rows, rank and condition number of the constraints")
        for style, count, rank, condition in conditioning(
            rg.reduce(rg.load(FOLDER / f"{name}.json"))
        ):
            print(f"  {style:8}{count:4}{rank:4}{condition:12.3g}")


if __name__ == "__main__":
    main()
