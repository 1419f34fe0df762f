#!/usr/bin/env python3
"""Derivatives, errors and projection of closed loops, against Pinocchio's and against one step.

    python tests/benchmarks/dynamics_speed.py [--json]

Derivatives are those of the acceleration by q, v and tau. Pinocchio gets its own closures: points
and frames, all of whose rows it keeps; where these are independent one iteration without damping,
otherwise the proximal settings that redundant rows need. The models have no composite joints, for
which its derivatives are not right. Every call gets another state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle

import numpy as np
import pinocchio as pin
from families import windows
from measuring import ASSETS, CHECKOUT, finish, per_item
from step_speed import weighed

import regularize as rg

NAMES = (
    "planar_fourbar",
    "knee_leg",
    "delta_universal",
    "delta_parallelograms",
    "stewart_6ups",
    "gripper",
    "walker",
)
#: Robots of the corpus, where it lies beside the checkout.
CORPUS = CHECKOUT.parent / "shared" / "corpus"
FIELD = (
    "sdf/cassie/cassie_v2.sdf",
    "gepetto_yaml/digit_like_2legs/robot.urdf",
    "gepetto_yaml/robot_delta/robot.urdf",
)
#: How many windows there are in a row.
WINDOWS = (1, 5, 20)
STATES, CALLS, RUNS = 32, 64, 3

State = tuple[np.ndarray, np.ndarray, np.ndarray]


def states(robot: rg.Robot) -> list[State]:
    """Configurations near the reference one with closed loops, velocities and joint forces."""
    rng, found = np.random.default_rng(0), []
    for _ in range(STATES):
        step = 0.01 * rng.normal(size=robot.model.nv)
        q = robot.project(pin.integrate(robot.model, np.array(robot.q0), step))
        v = robot.project_velocity(q, rng.normal(size=robot.model.nv))
        found.append((q, v, rng.normal(size=robot.model.nv)))
    return found


def repeated(
    run: Callable[..., object], given: Iterable[Sequence[np.ndarray]]
) -> tuple[Callable[[], object], int]:
    """A function that is called often enough for the clock, on one state after the other."""
    turns = cycle(given)

    def calls() -> None:
        for _ in range(CALLS):
            run(*next(turns))

    return calls, CALLS


def pinocchios(robot: rg.Robot) -> Callable[[np.ndarray, np.ndarray, np.ndarray], object]:
    """Pinocchio's own acceleration and derivatives."""
    model, models, settings = robot.model, robot.constraint_models, robot.proximal_settings
    if robot.rank == robot.rows:
        settings = pin.ProximalSettings(1e-12, 0.0, 1)
    data, datas = model.createData(), pin.StdVec_RigidConstraintData()
    for constraint in models:
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, datas)

    def run(q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> object:
        pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)
        return pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)

    return run


def actuators(robot: rg.Robot) -> list[str]:
    """Joints of one freedom that determine the motion, as far as there are any."""
    free, chosen = robot.split(robot.q0).free, list[str]()
    for joint in robot.joints:
        name = joint.edges[0].joint.name
        if joint.edges[0].joint.freedoms == 1 and len(chosen) < free.shape[1]:
            rows = free[robot.velocity_indices([*chosen, name])]
            if np.linalg.svd(rows, compute_uv=False)[-1] > 1e-2:
                chosen.append(name)
    return chosen


def models() -> Iterator[tuple[str, rg.Mechanism]]:
    """Names and models: assets, robots of the corpus, and windows of which every link weighs."""
    for name in NAMES:
        yield name, rg.load(ASSETS / f"{name}.urdf")
    for name in FIELD:
        path = CORPUS / name
        if path.exists():
            yield (path.parent.name if path.stem == "robot" else path.stem), rg.load(path)
    for count in WINDOWS:
        yield f"windows {count}", weighed(windows(count))


def measured(mechanism: rg.Mechanism) -> tuple[dict[str, float], int, int]:
    """Seconds per call on one robot, and how many rows ours and Pinocchio's keep."""
    reduction = rg.reduce(mechanism)
    robot = rg.to_pinocchio(reduction, composite=False)
    every = rg.to_pinocchio(reduction, style="legacy", composite=False)
    own, theirs, names = states(robot), states(every), actuators(robot)
    accelerations = [(q, v, robot.forward_dynamics(q, v, tau)) for q, v, tau in own]
    inverse = robot.inverse_dynamics_derivatives
    ways = {
        "exact": repeated(robot.dynamics_derivatives, own),
        "Pinocchio": repeated(pinocchios(every), theirs),
        "inverse": repeated(lambda q, v, a: inverse(q, v, a, names), accelerations),
        "step": repeated(robot.forward_dynamics, own),
        "residual": repeated(lambda q, v, tau: robot.residual(q), own),
    }
    if robot.kernel is not None:
        ways["newton"] = repeated(lambda q, v, tau: robot.kernel.newton_step(q), own)
    return per_item(ways, RUNS), robot.rows, every.rows


def main() -> None:
    ratios, seconds = {}, {}
    for name, mechanism in models():
        found, rows, every = measured(mechanism)
        seconds[name] = found
        peer, step = found["Pinocchio"], found["step"]
        kept = f"{rows} rows instead of {every}"
        ratios[f"{name}: derivatives, {kept}, by Pinocchio's"] = peer / found["exact"]
        ratios[f"{name}: inverse derivatives by Pinocchio's forward ones"] = peer / found["inverse"]
        ratios[f"{name}: residual by a step"] = step / found["residual"]
        if "newton" in found:
            ratios[f"{name}: Newton step by a step"] = step / found["newton"]

    def table() -> None:
        for name, found in seconds.items():
            print(f"{name:20}" + "".join(f"{way} {1e6 * s:.1f} us  " for way, s in found.items()))

    finish(ratios, table)


if __name__ == "__main__":
    main()
