#!/usr/bin/env python3
"""Work against precision on Bricard's mechanism over 10 s, beside EXUDYN and MuJoCo.

    python tests/benchmarks/work_precision.py [--json]

Error is that of the point P3 at 10 s against the reference of ``assets/benchmarks/answers.json``,
which has eight digits. Preparation is what is done once per mechanism: analysis and model, for
``path`` the tables of the path as well, for the others building and compiling their model.
Simulation is the best of several runs of the rest, up to the end only, as for the others; ``path,
record`` keeps and checks 1001 samples on the way. EXUDYN and MuJoCo take part where they are
installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import pinocchio as pin
from measuring import ASSETS, finish, timed
from numpy.typing import NDArray

import regularize as rg

Array = NDArray[np.float64]
STYLES = ("rows", "anchors", "slack", "legacy")
FOLDER = ASSETS / "benchmarks"
ANSWER = json.loads((FOLDER / "answers.json").read_text())["bricard"]
REFERENCE = np.array(ANSWER["P3"]["10"])
POINT = np.array(ANSWER["point"], dtype=float)
DURATION, RUNS = 10.0, 3


@dataclass(frozen=True)
class Measured:
    """One setting of one program.

    Attributes:
        program: Its name.
        setting: Step or tolerance.
        preparation: CPU seconds that building the model takes.
        seconds: CPU seconds that the simulation takes.
        error: Error of P3 in metres.
    """

    program: str
    setting: str
    preparation: float
    seconds: float
    error: float


def measured(
    program: str, setting: str, preparation: float, run: Callable[[], Array], runs: int = RUNS
) -> Measured:
    """Time and error of a simulation that ends at P3."""
    seconds, found = timed(run, runs)
    return Measured(
        program, setting, preparation, seconds, float(np.max(np.abs(found - REFERENCE)))
    )


def point(robot: rg.Robot, q: Array) -> Array:
    """World position of P3."""
    frame = robot.model.getFrameId(ANSWER["body"])
    pin.framesForwardKinematics(robot.model, robot.data, robot.q0)
    local = robot.data.oMf[frame].actInv(POINT)
    pin.framesForwardKinematics(robot.model, robot.data, q)
    return np.asarray(robot.data.oMf[frame].act(local))


def along_path(
    mechanism: rg.Mechanism, tolerances: Sequence[float] = (1e-6, 1e-9)
) -> Iterator[Measured]:
    """This package, along the path."""
    preparation, path = timed(lambda: rg.path(rg.reduce(mechanism)), RUNS)
    for program, times in (("path", np.array([DURATION])), ("path, record", None)):
        for rtol in tolerances:

            def run(rtol: float = rtol, times: Array | None = times) -> Array:
                motion = path.simulate(DURATION, times=times, rtol=rtol)
                return point(path.robot, motion.q[-1])

            yield measured(program, f"rtol {rtol:.0e}", preparation, run, 20)


def ours(mechanism: rg.Mechanism) -> Iterator[Measured]:
    """This package, error-controlled, kept rows."""
    preparation, robot = timed(lambda: rg.to_pinocchio(rg.reduce(mechanism)), RUNS)
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9):

        def run(rtol: float = rtol) -> Array:
            end = np.array([DURATION])
            motion = rg.simulate(robot, duration=DURATION, times=end, rtol=rtol)
            return point(robot, motion.q[-1])

        yield measured("rows", f"rtol {rtol:.0e}", preparation, run)


def of_mujoco(
    reduction: rg.Reduction,
    steps: Sequence[float] = (2e-2, 1.25e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4),
) -> Iterator[Measured]:
    """MuJoCo with RK4, stepped in C, the closing hinge as its manual says."""
    try:
        import mujoco
    except ImportError:
        return
    robot = rg.to_pinocchio(reduction)
    for step in steps:
        text = two_connects(reduction.mechanism, step)
        preparation, model = timed(lambda text=text: mujoco.MjModel.from_xml_string(text))  # type: ignore[misc]

        def run(model: Any = model, step: float = step) -> Array:
            data = mujoco.MjData(model)
            mujoco.mj_step(model, data, nstep=round(DURATION / step))
            return point(robot, np.array(data.qpos))

        yield measured("MuJoCo", f"step {step:g}", preparation, run)


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


def of_exudyn(
    reduction: rg.Reduction, steps: Sequence[float] = (1e-2, 5e-3, 2e-3, 1e-3)
) -> Iterator[Measured]:
    """EXUDYN with its implicit second-order method and the dense solver for redundancy."""
    try:
        import exudyn as exu
        from exudyn.itemInterface import SensorBody
        from exudyn.rigidBodyUtilities import RigidBodyInertia
    except ImportError:
        return
    mechanism = reduction.mechanism
    for step in steps:
        began = process_time()
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
        preparation = process_time() - began
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

        yield measured("EXUDYN", f"step {step:g}", preparation, run)


def time_for(
    rows: Sequence[Measured], program: str, error: float, *, preparation: bool = False
) -> float | None:
    """Seconds that a program needs for an error, between its settings on a logarithmic scale.

    Where a program is more exact than asked for at every setting, its quickest one counts.
    """
    points = sorted(
        (row.error, row.seconds + (row.preparation if preparation else 0.0))
        for row in rows
        if row.program == program
    )
    if not points or points[0][0] > error:
        return None
    if points[-1][0] <= error:
        return min(seconds for _, seconds in points)
    logs = np.log(np.array(points))
    return float(np.exp(np.interp(np.log(error), logs[:, 0], logs[:, 1])))


def conditioning(reduction: rg.Reduction) -> Iterator[tuple[str, int, int, float]]:
    """Rows, rank and condition number of the rows of every style at the start."""
    for style in STYLES:
        robot = rg.to_pinocchio(reduction, style)
        values = np.linalg.svd(robot.jacobian(robot.q0), compute_uv=False)
        full = values[0] / values[-1] if values[-1] > 1e-12 * values[0] else np.inf
        yield style, robot.rows, robot.rank, float(full)


def print_table(rows: Sequence[Measured]) -> None:
    """All settings, and the conditioning of the rows of every style."""
    print(f"{'program':14}{'setting':14}{'prepare [ms]':>13}{'simulate [ms]':>14}{'error':>10}")
    for row in rows:
        print(
            f"{row.program:14}{row.setting:14}{1e3 * row.preparation:13.1f}"
            f"{1e3 * row.seconds:14.2f}{row.error:10.1e}"
        )
    for name in ("bricard", "n_fourbar_2", "andrews"):
        print(f"\n{name}: rows, rank and condition number of the constraints")
        for style, count, rank, condition in conditioning(
            rg.reduce(rg.load(FOLDER / f"{name}.json"))
        ):
            print(f"  {style:8}{count:4}{rank:4}{condition:12.3g}")


def main() -> None:
    """Measure and print."""
    mechanism = rg.load(FOLDER / "bricard.json")
    reduction = rg.reduce(mechanism)
    rows = [
        *along_path(mechanism),
        *ours(mechanism),
        *of_mujoco(reduction),
        *of_exudyn(reduction),
    ]
    ratios = {}
    for mine in ("path", "rows"):
        for program in ("MuJoCo", "EXUDYN"):
            for preparation in (False, True):
                ours_takes = time_for(rows, mine, 1e-7, preparation=preparation)
                theirs = time_for(rows, program, 1e-6, preparation=preparation)
                if ours_takes is not None and theirs is not None:
                    kind = "with" if preparation else "without"
                    name = f"{mine} to 1e-7 instead of {program} to 1e-6, {kind} preparation"
                    ratios[name] = theirs / ours_takes
    finish(ratios, lambda: print_table(rows))


if __name__ == "__main__":
    main()
