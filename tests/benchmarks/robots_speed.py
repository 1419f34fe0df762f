#!/usr/bin/env python3
"""Many robots: accelerations and steps of batches by tables, by code of LLVM, and by MuJoCo.

    python tests/benchmarks/robots_speed.py [--json] [STATES]

Nanoseconds of CPU time a state, of so many states (4096 where none is given) near the assembled
configuration, on one thread, ways in turn, of

    tables    forward_dynamics through tables
    code      the same as it is taken unasked
    stepped   robot.rollout through tables, a step of 1 ms
    rollout   the same as it is taken unasked
    mujoco    mujoco.rollout of the exported file at the same length of steps, a step
    changes   robot.dynamics_derivatives through tables
    coded     the same as it is taken unasked

and seconds of the first calls where nothing is kept on disk.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import mujoco
import numpy as np
from families import windows
from measuring import ASSETS, finish, per_item, timed
from mujoco import rollout as mujoco_rollout
from step_speed import weighed

import regularize as rg

H, STEPS, RUNS = 1e-3, 20, 7
WAYS = ("tables", "code", "stepped", "rollout", "mujoco", "changes", "coded")


def models() -> dict[str, rg.Mechanism]:
    """Mechanisms by their names."""
    files = {"four-bar": "planar_fourbar", "leg": "knee_leg", "walker": "walker"}
    found = {name: rg.load(ASSETS / f"{file}.urdf") for name, file in files.items()}
    return {**found, "5 windows": weighed(windows(5))}


def measured(mechanism: rg.Mechanism, count: int) -> dict[str, float]:
    """Nanoseconds a state of all ways."""
    robot = rg.to_pinocchio(rg.reduce(mechanism))
    rng, nv = np.random.default_rng(0), robot.nv
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
    begun = np.zeros(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, begun, kind)
    states = np.tile(begun, (count, 1))
    tables, many, few = {"compile": False}, count * STEPS, [x[:512] for x in (q, v, tau)]
    first = [
        timed(lambda: robot.forward_dynamics(q, v, tau))[0],
        timed(lambda: robot.rollout(q, v, tau, H, STEPS))[0],
    ]
    ways = {
        "tables": (lambda: robot.forward_dynamics(q, v, tau, **tables), count),
        "code": (lambda: robot.forward_dynamics(q, v, tau), count),
        "stepped": (lambda: robot.rollout(q, v, tau, H, STEPS, **tables), many),
        "rollout": (lambda: robot.rollout(q, v, tau, H, STEPS), many),
        "mujoco": (lambda: mujoco_rollout.rollout(model, data, states, nstep=STEPS), many),
        "changes": (lambda: robot._table_kernel.dynamics_derivatives(*few), len(few[0])),
        "coded": (lambda: robot.dynamics_derivatives(*few), len(few[0])),
    }
    found = {name: 1e9 * seconds for name, seconds in per_item(ways, RUNS).items()}
    return {**found, "first call": first[0], "first rollout": first[1]}


def main() -> None:
    given = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    ratios: dict[str, float] = {}
    for name, mechanism in models().items():
        found = measured(mechanism, given[0] if given else 4096)
        if "--json" not in sys.argv:
            firsts = [f"{found[k]:.2f} s" for k in ("first call", "first rollout")]
            print(f"{name:12}", *[f"{way} {found[way]:.0f}" for way in WAYS], *firsts, flush=True)
        ratios[f"{name}: accelerations by code"] = found["tables"] / found["code"]
        ratios[f"{name}: derivatives by code"] = found["changes"] / found["coded"]
        ratios[f"{name}: rollout by tables beside mujoco"] = found["mujoco"] / found["stepped"]
        ratios[f"{name}: rollout beside mujoco"] = found["mujoco"] / found["rollout"]
    finish(ratios)


if __name__ == "__main__":
    main()
