#!/usr/bin/env python3
"""Robots on the ground: a step with loops, stops and contacts beside one of MuJoCo.

    python tests/benchmarks/contact_speed.py [--json]

CPU seconds a step of 2 ms, ways in turn, of a knee leg under a body on its sole, dropped from 1 cm,
and of a box, which has no loop. Ours are exact and one-sided; MuJoCo's are soft, as by default.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
from measuring import ASSETS, finish, per_item

import regularize as rg

H, STEPS, RUNS = 2e-3, 200, 5
SOLE = '<origin xyz="0.035 0 -0.08"/><geometry><box size="0.2 0.1 0.02"/></geometry>'
BOX = """<robot name="box"><link name="foot"><inertial><mass value="2"/>
<inertia ixx="0.03" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
<collision>{}</collision></link></robot>"""


def models() -> dict[str, rg.Mechanism]:
    """Mechanisms by their names."""
    box, leg = rg.load(BOX.format(SOLE).encode(), format="urdf", floating=True), "knee_leg.urdf"
    sole, knee = box.body("foot").geometry, rg.load(ASSETS / leg, floating=True)
    bodies = [replace(b, geometry=sole if b.name == "foot" else ()) for b in knee.bodies]
    weight = rg.Inertia(6.0, np.array([0.0, 0.0, 0.1]), np.eye(3) * 0.05)
    root = next(j.child for j in knee.joints if j.kind == "free")
    bodies = [replace(b, inertia=weight) if b.name == root else b for b in bodies]
    return {"box": box, "knee leg": replace(knee, bodies=tuple(bodies))}


def measured(mechanism: rg.Mechanism) -> dict[str, float]:
    """Seconds a step of both."""
    robot = rg.to_pinocchio(rg.reduce(mechanism))
    q, ground = robot.q0.copy(), [rg.Ground(0.8)]
    joint, place = robot.places["foot"]
    drop = 0.1 - float((robot.states.poses(q)[joint] @ place)[2, 3])  # the sole is 9 cm below
    q[2] += drop
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.xml"
        rg.save(mechanism, file)
        spec = mujoco.MjSpec.from_file(str(file))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    spec.option.timestep = H
    model = spec.compile()

    def soft() -> None:
        data = mujoco.MjData(model)
        data.qpos[2] += drop
        for _ in range(STEPS):
            mujoco.mj_step(model, data)

    end = [H * STEPS]
    ours = {"contacts": ground, "limits": True, "h": H, "q": q, "times": end}
    ways = {
        "ours": (lambda: rg.simulate(robot, duration=end[0], **ours), STEPS),
        "mujoco": (soft, STEPS),
    }
    return per_item(ways, RUNS)


def main() -> None:
    found = {name: measured(mechanism) for name, mechanism in models().items()}

    def table() -> None:
        for name, each in found.items():
            print(f"{name:12}", *(f"{way} {1e6 * seconds:.0f} us" for way, seconds in each.items()))

    finish(
        {
            f"{name} on the ground beside mujoco": x["mujoco"] / x["ours"]
            for name, x in found.items()
        },
        table,
    )


if __name__ == "__main__":
    main()
