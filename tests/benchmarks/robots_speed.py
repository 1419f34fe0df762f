#!/usr/bin/env python3
"""Many robots: steps and accelerations of batches, by tables, in generated code, and by MuJoCo.

    python tests/benchmarks/robots_speed.py [--json] [STATES]

Nanoseconds of CPU time a state, of so many states (4096 where none is given) near the assembled
configuration, on one thread, ways in turn, of

    batch     forward_dynamics through tables
    step      robot.step through tables
    rollout   robot.rollout through tables, a step of 1 ms
    code      forward_dynamics in generated code
    compiled  robot.compiled().rollout, a step
    mujoco    mujoco.rollout of the exported file at the same length of steps, a step
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import mujoco
import numpy as np
from families import windows
from measuring import ASSETS, finish, per_item
from mujoco import rollout as mujoco_rollout
from step_speed import weighed

import regularize as rg

H, STEPS, RUNS = 1e-3, 20, 15
WAYS = ("batch", "step", "rollout", "code", "compiled", "mujoco")


def models() -> dict[str, rg.Mechanism]:
    """Mechanisms by their names."""
    files = {"four-bar": "planar_fourbar", "leg": "knee_leg", "walker": "walker"}
    found = {name: rg.load(ASSETS / f"{file}.urdf") for name, file in files.items()}
    return {**found, "5 windows": weighed(windows(5))}


def measured(mechanism: rg.Mechanism, count: int) -> dict[str, float]:
    """Nanoseconds a state of all ways."""
    robot = rg.to_pinocchio(rg.reduce(mechanism))
    fast, rng, nv = robot.compiled(), np.random.default_rng(0), robot.nv
    turned = [robot.tree.space.integrate(robot.q0, x) for x in 0.03 * rng.normal(size=(count, nv))]
    q = robot.project(np.array(turned))
    v = robot.project_velocity(q, 0.3 * rng.normal(size=(count, nv)))
    tau = np.zeros((count, nv))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.xml"
        rg.save(mechanism, file)
        model = mujoco.MjModel.from_xml_path(str(file))
    model.opt.timestep, data = H, mujoco.MjData(model)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    first = np.zeros(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, first, kind)
    states = np.tile(first, (count, 1))
    ways = {
        "batch": (lambda: robot.forward_dynamics(q, v, tau), count),
        "step": (lambda: robot.step(q, v, tau, H), count),
        "rollout": (lambda: robot.rollout(q, v, tau, H, STEPS), count * STEPS),
        "code": (lambda: fast.forward_dynamics(q, v, tau), count),
        "compiled": (lambda: fast.rollout(q, v, tau, H, STEPS), count * STEPS),
        "mujoco": (lambda: mujoco_rollout.rollout(model, data, states, nstep=STEPS), count * STEPS),
    }
    return {name: 1e9 * seconds for name, seconds in per_item(ways, RUNS).items()}


def main() -> None:
    given = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    ratios: dict[str, float] = {}
    for name, mechanism in models().items():
        found = measured(mechanism, given[0] if given else 4096)
        if "--json" not in sys.argv:
            print(f"{name:12}", *[f"{way} {found[way]:.0f}" for way in WAYS], flush=True)
        ratios[f"{name}: batch in a step"] = found["step"] / found["batch"]
        ratios[f"{name}: generated accelerations"] = found["batch"] / found["code"]
        ratios[f"{name}: rollout beside mujoco"] = found["mujoco"] / found["rollout"]
        ratios[f"{name}: compiled rollout beside mujoco"] = found["mujoco"] / found["compiled"]
    finish(ratios)


if __name__ == "__main__":
    main()
