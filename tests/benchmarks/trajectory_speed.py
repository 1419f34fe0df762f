#!/usr/bin/env python3
"""CPU time of whole motions to an error of 1e-6 and of 1e-9, beside MuJoCo, EXUDYN and Drake.

    python tests/benchmarks/trajectory_speed.py [--json] [PROBLEM ...]

Errors are those of ``assets/benchmarks/references.json``, which has more than twelve digits (see
``references.py``), at its times. Of every program the quickest of all settings that reach an error
counts: integrators, step sizes, stiffness of constraints. Warm is the simulation alone, the best of
several runs. Cold is a process from a file to the result: of this package and of MuJoCo a whole
one, of the others, which build their models by calls, one that imports them, and the simulation; to
build these is not counted. A program that no setting brings to an error has no ratio: its settings
are listed with their errors.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import references
from measuring import ASSETS, finish, of_process, timed
from numpy.typing import NDArray
from trajectory_drake import of_drake
from trajectory_peers import Poses, Problem, Run, begun, mjcf, of_exudyn, of_mujoco

import regularize as rg

Array = NDArray[np.float64]
FOLDER = ASSETS / "benchmarks"
ERRORS = (1e-6, 1e-9)
RUNS, PROCESSES = 3, 3
#: Seconds after which a series of settings is not refined any more.
PATIENCE = 2.0


@dataclass(frozen=True)
class Measured:
    """One setting of one program: CPU seconds of the simulation, and its error."""

    program: str
    setting: str
    seconds: float
    error: float


def problems() -> dict[str, Problem]:
    """The problems, with what is compared."""
    known = json.loads((FOLDER / "references.json").read_text(encoding="utf-8"))
    found = {}
    for name in ("bricard", "andrews", "n_fourbar_2", "n_fourbar_40"):
        mechanism = rg.load(FOLDER / f"{name}.json")
        times = tuple(float(time) for time in known[name])
        given: dict[str, object] = {}
        if name == "bricard":
            inertia = mechanism.body("rod_3").inertia
            assert inertia is not None
            measure = _point_of("rod_3", np.array([1.0, -1.0, 1.0]) - inertia.center)
        elif name == "andrews":
            data = references.SQUEEZER
            measure = _axes_of([f"K{k}" for k in range(1, 8)], references.squeezer()[1])
            spring = data["spring"]
            given["torques"] = {"beta": data["torque"]}
            given["spring"] = (
                "K3",
                references.spring_end(),
                np.array([*data["C"], 0.0]),
                spring["stiffness"],
                spring["rest_length"],
            )
        else:
            measure = _axes_of(["crank_0"], np.array([0.0, 1.0]))
            given["rates"] = {"A0": -1.0}
        planar = name != "bricard"
        found[name] = Problem(name, mechanism, times, planar, measure, **given)  # type: ignore[arg-type]
    return found


def _point_of(body: str, arm: Array) -> Callable[[Poses], Array]:
    """Position of a point of a body."""
    return lambda poses: poses.position[body] + poses.rotation[body] @ arm


def _axes_of(bodies: Sequence[str], start: Array) -> Callable[[Poses], Array]:
    """Unit vectors that bodies of a plane carry."""
    begun = np.asarray(start, dtype=np.float64).reshape(-1, 2)
    return lambda poses: np.concatenate(
        [poses.rotation[b][:2, :2] @ z for b, z in zip(bodies, begun, strict=True)]
    )


def error_of(problem: Problem, found: Sequence[Poses]) -> float:
    """Largest error at all times."""
    known = json.loads((FOLDER / "references.json").read_text(encoding="utf-8"))[problem.name]
    if len(found) < len(known):
        return math.inf
    pairs = zip(found, known.values(), strict=True)
    return float(max(np.max(np.abs(problem.measure(p) - np.array(x))) for p, x in pairs))


def spring_force(problem: Problem, robot: rg.Robot) -> Callable[[float, Array, Array], Array]:
    """Joint forces of the spring."""
    assert problem.spring is not None
    body, point, fixed, stiffness, rest = problem.spring
    model = robot.model
    at = model.frames[model.getFrameId(body)]
    end = pin.Frame(
        "end", at.parentJoint, at.placement * pin.SE3(np.eye(3), point), pin.FrameType.OP_FRAME
    )
    frame, data = model.addFrame(end), model.createData()
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def force(t: float, q: Array, v: Array) -> Array:
        jacobian = pin.computeFrameJacobian(model, data, q, frame, aligned)[:3]
        span = fixed - (data.oMi[at.parentJoint] * end.placement).translation
        length = np.linalg.norm(span)
        return np.asarray(jacobian.T @ (stiffness * (length - rest) / length * span))

    return force


def of_this_package(
    problem: Problem, coordinates: str, tolerances: Sequence[float]
) -> Iterator[tuple[str, float, Callable[[], Run]]]:
    """Tolerances, and what prepares a robot."""
    for rtol in tolerances:

        def build(rtol: float = rtol) -> Run:
            robot = rg.to_pinocchio(rg.reduce(problem.mechanism))
            forces = None if problem.spring is None else spring_force(problem, robot)
            moving = problem.moving()
            frames = [robot.model.getFrameId(name) for name in moving]
            data = robot.model.createData()
            pin.framesForwardKinematics(robot.model, data, robot.q0)
            begun = [data.oMf[frame].copy() for frame in frames]
            options = {"torques": dict(problem.torques), "rates": dict(problem.rates) or None}

            def run() -> list[Poses]:
                motion = rg.simulate(
                    robot,
                    duration=problem.times[-1],
                    times=np.array(problem.times),
                    forces=forces,
                    rtol=rtol,
                    solver=rg.Solver(coordinates),
                    **options,
                )
                found = []
                for q in motion.q:
                    pin.framesForwardKinematics(robot.model, data, q)
                    pairs = zip(moving, frames, begun, strict=True)
                    now = {name: data.oMf[f] * start.inverse() for name, f, start in pairs}
                    positions = {n: T.act(problem.reference(n)) for n, T in now.items()}
                    found.append(Poses(positions, {n: T.rotation for n, T in now.items()}))
                return found

            return run

        yield "rtol", rtol, build


#: Steps in seconds of MuJoCo, of EXUDYN and of Drake.
STEPS = {
    "bricard": (
        (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4),
        (2e-3, 1e-3, 4e-4, 2e-4),
        (1e-2, 1e-3, 5e-4, 2.5e-4),
    ),
    "andrews": ((1e-5, 5e-6, 2e-6, 1e-6, 5e-7), (1e-5, 5e-6, 2e-6, 1e-6), (6e-6, 1.5e-6, 3.75e-7)),
    "n_fourbar_2": (
        (1e-2, 5e-3, 2e-3, 1e-3),
        (2e-3, 1e-3, 5e-4, 1.25e-4),
        (5e-3, 1e-3, 5e-4, 2.5e-4),
    ),
    "n_fourbar_40": ((1e-2, 5e-3, 2e-3), (5e-3, 2e-3), (5e-3, 2e-3)),
}
#: Stiffnesses of Drake's bushings, newtons in a metre and newton metres in a radian.
STIFFNESS = (1e6, 1e7, 1e8)
#: What a process imports of each program.
IMPORTS = {
    "MuJoCo": "mujoco",
    "EXUDYN": "exudyn",
    "Drake": "pydrake.multibody.plant, pydrake.systems.analysis",
}
#: Tolerances of this package.
TOLERANCES = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)


def programs(problem: Problem) -> dict[str, Iterator[tuple[str, float, Callable[[], Run]]]]:
    """All programs that are installed, with their settings."""
    soft, hard, drake = STEPS[problem.name]
    return {
        "regularize": of_this_package(problem, "all", TOLERANCES),
        "MuJoCo": of_mujoco(problem, soft),
        "EXUDYN": of_exudyn(problem, hard),
        "Drake": of_drake(problem, drake, STIFFNESS),
    }


def measured(problem: Problem) -> list[Measured]:
    """All programs at all settings, each series until it is exact enough, or hopeless."""
    found = []
    for program, settings in programs(problem).items():
        done: set[str] = set()
        for series, value, build in settings:
            if series in done:
                continue
            try:
                run = build()
            except ImportError:
                break
            seconds, poses = timed(run)
            if seconds < 1.0:
                seconds = min(seconds, timed(run, RUNS)[0])
            error = error_of(problem, poses)
            found.append(Measured(program, f"{series} {value:.3g}", seconds, error))
            if error <= ERRORS[-1] or seconds > PATIENCE or not math.isfinite(error):
                done.add(series)
    return found


def quickest(rows: Sequence[Measured], program: str, error: float) -> Measured | None:
    """The quickest setting that reaches an error."""
    good = [row for row in rows if row.program == program and row.error <= error]
    return min(good, key=lambda row: row.seconds, default=None)


def process(code: str) -> float:
    """Least CPU seconds of a process, with the bytecode that an installation has."""
    command = [sys.executable, "-c", code]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        runs = (of_process(command, check=True, env=environment) for _ in range(PROCESSES))
        return min(seconds for seconds, _ in runs)


def cold(problem: Problem, rtol: float) -> float:
    """A process of this package from a file to the result, where it has no forces to be told."""
    return process(
        "import numpy, regularize\n"
        f"mechanism = regularize.load({str(FOLDER / f'{problem.name}.json')!r})\n"
        f"regularize.simulate(mechanism, duration={problem.times[-1]}, rtol={rtol},"
        f" rates={dict(problem.rates)}, times=numpy.array({problem.times}))"
    )


def cold_mujoco(problem: Problem, setting: str) -> float:
    """A process of MuJoCo from a file to the poses, at one of its settings."""
    integrator, stiff, step = re.fullmatch(r"(\w+), (\S+) steps (\S+)", setting).groups()  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.xml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(mjcf(problem, float(step), integrator, float(stiff)))
        return process(
            "import numpy, mujoco\n"
            f"model = mujoco.MjModel.from_xml_path({path!r})\n"
            "data, done, found = mujoco.MjData(model), 0, []\n"
            f"for name, rate in {begun(problem)}.items():\n"
            "    data.qvel[model.joint(name).dofadr[0]] = rate\n"
            f"for time in {problem.times}:\n"
            f"    steps = round(time / {step})\n"
            "    mujoco.mj_step(model, data, nstep=steps - done)\n"
            "    done = steps\n"
            "    mujoco.mj_kinematics(model, data)\n"
            "    found.append((numpy.array(data.xipos), numpy.array(data.ximat)))\n"
        )


def compared(problem: Problem) -> Iterator[tuple[str, float]]:
    """Names and ratios of one problem, how many times as quick this package is."""
    rows = measured(problem)
    if "--json" not in sys.argv:
        for row in rows:
            ending = f"{1e3 * row.seconds:12.2f}{row.error:10.1e}"
            print(f"{problem.name:14}{row.program:12}{row.setting:28}{ending}", flush=True)
    for error in ERRORS:
        own = quickest(rows, "regularize", error)
        if own is None:
            continue
        start = cold(problem, float(own.setting.split()[-1])) if problem.spring is None else None
        for program, module in IMPORTS.items():
            other = quickest(rows, program, error)
            if other is not None:
                yield f"{problem.name} to {error:.0e} beside {program}", other.seconds / own.seconds
                if start is not None:
                    if program == "MuJoCo":
                        taken = cold_mujoco(problem, other.setting)
                    else:
                        taken = process(f"import numpy, {module}") + other.seconds
                    yield f"{problem.name} to {error:.0e} beside {program}, cold", taken / start


def main() -> None:
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    ratios = {
        name: ratio
        for problem in problems().values()
        if not wanted or problem.name in wanted
        for name, ratio in compared(problem)
    }
    finish(ratios)


if __name__ == "__main__":
    main()
