"""Robots whole: from their files to map, C, twin, states, gains and ROS 2, each in one command.

``python tests/campaigns/robots_table.py [STATES]``: CPU seconds of each command, or why it is
refused, how far maps, polygons and gains are from MuJoCo, and twins from their originals.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mujoco_rows import equalities

import regularize as rg
from regularize.cli import main

HERE = Path(__file__).resolve().parents[2]
ROBOTS, CORPUS = HERE / "assets" / "robots", HERE.parent / "shared" / "corpus"
#: Robots of own building, and published ones, with what their files do not say.
OWN: dict[str, list[str]] = {
    **{f"{name}.xml": [] for name in ("humanoid_rods", "leg_two_rods", "hand_two_rods")},
    **{"hand_linkage.xml": [], "leg_struts.urdf": []},
    "waist_two_rods.sdf": ["--motors", "left_motor,right_motor"],
}
OTHERS = {
    "mjcf/menagerie_agility_cassie/cassie.xml": [],
    **{f"gepetto_yaml/{name}_like/robot.urdf": [] for name in ("cassie", "digit", "disney")},
    **{f"gepetto_yaml/{name}/robot.urdf": [] for name in ("digit_like_2legs", "disney_robot")},
    "mjcf/pal_kangaroo/src/pal_mjlab/robots/pal_kangaroo/xmls/kangaroo.xml": [],
    "mjcf/kayra/mujoco/kayraCircle.xml": ["--motors", "3BR_Joint", "--joints", "2R_Joint"],
    "mjcf/menagerie_robotiq_2f85/2f85.xml": [],
    "mjcf/playground_panda_2f85/panda_updated_robotiq_2f85.xml": [],
    "urdf_plus/jvrc1_humanoid/jvrc1_humanoid.urdf": [],
}
COMMANDS = {"map": "map -o map.c", "twin": "twin --fail-on error -o twin", "gains": "gains"}
COMMANDS |= {"states": "states -o states.npz", "ros2": "map --to ros2 -o my_robot"}
#: Seconds of a step of MuJoCo; frequency and damping of the gains, 1/s.
STEP, FAST, DAMPED = 2e-4, 2 * np.pi * 12.0, 1 / 35


def commanded(robot: Path, named: list[str], folder: Path) -> dict[str, tuple[float, int, str]]:
    """CPU seconds, exit code and last line of each command."""
    found = {}
    for what, text in COMMANDS.items():
        verb, *more = text.split()
        if "-o" in more:
            more[-1] = str(folder / more[-1]) + robot.suffix * (what == "twin")
        out, start = StringIO(), time.process_time()
        with redirect_stdout(out), redirect_stderr(out):
            code = main(["motors", verb, str(robot), *named * (what != "states"), *more])
        told = out.getvalue().strip().splitlines()
        found[what] = time.process_time() - start, code, told[-1] if told else ""
    return found


def at(model: Any, names: Any, what: str) -> list[int]:
    """Addresses of joints in positions or velocities."""
    return [int(getattr(model.joint(name), what)[0]) for name in names]


def off_mujoco(m: rg.ActuationMap, model: Any, count: int) -> float:
    """By what part rates, polygons and gains differ from those of MuJoCo's constraints."""
    data, theta = mujoco.MjData(model), m.stored + 0.9 * (m.samples(2 * count) - m.stored)
    theta = theta[m.domain.contains(theta)][:count]
    q, J, K = m.joints(theta), m.jacobian(theta), np.linspace(300.0, 200.0, len(m.joint_names))
    motors, joints = (at(model, names, "dofadr") for names in (m.motor_names, m.joint_names))
    mujoco.mj_fwdPosition(model, data)
    tied = np.abs(equalities(model, data)[0]).max(axis=0) > 0.0
    tied &= model.jnt_type[model.dof_jntid] != mujoco.mjtJoint.mjJNT_FREE
    passive = [d for d in map(int, np.flatnonzero(tied)) if d not in (*motors, *joints)]
    off = [float(len(theta) < count)]
    for x, y, rates in zip(theta, q, J, strict=True):
        data.qpos[at(model, (*m.motor_names, *m.joint_names), "qposadr")] = [*x, *y]
        for _ in range(60):
            mujoco.mj_fwdPosition(model, data)
            rows, error = equalities(model, data)
            if np.abs(error).max() < 1e-15:
                break
            step = np.zeros(model.nv)
            step[passive] = np.linalg.lstsq(rows[:, passive], -error, rcond=None)[0]
            mujoco.mj_integratePos(model, data.qpos, step, 1.0)
        theirs = np.linalg.lstsq(rows[:, [*joints, *passive]], -rows[:, motors], rcond=None)[0]
        theirs, gains = theirs[: len(y)], m.motor_gains(x, K, 0.1 * K)
        off += [np.abs(error).max(), np.abs(theirs - rates).max() / np.abs(rates).max()]
        off += [np.abs(gains[0] - theirs.T @ np.diag(K) @ theirs).max() / gains[0].max()]
        off += [np.abs(m.joint_gains(x, *gains)[1] - np.diag(0.1 * K)).max() / K.max()]
        off += [np.abs(np.abs(m.torque_polygon(x) @ theirs) / m.effort - 1.0).max()]
    return float(max(off))


def strayed(m: rg.ActuationMap, original: Any, twin: Any) -> float:
    """By what part of its motion a twin strays from its original in a second, by mapped gains."""
    for model in (original, twin):  # loops that do not give way
        model.opt.timestep, model.eq_solref[:] = STEP, [2.5 * STEP, 1.0]
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    home, steps = m.joints(m.stored), round(1.0 / STEP)
    reach = m.joints(m.stored + 0.5 * (m.samples(1)[0] - m.stored)) - home
    wanted = home + np.sin(np.pi * np.arange(steps) / steps)[:, None] ** 2 * reach
    names = [twin.joint(i).name for i in range(twin.njnt) if twin.jnt_type[i] > 1]
    others = [name for name in names if name not in m.joint_names]
    data, inertia, paths = mujoco.MjData(twin), np.zeros((twin.nv, twin.nv)), list[np.ndarray]()
    mujoco.mj_forward(twin, data)
    mujoco.mj_fullM(twin, data, inertia)
    stiff = FAST**2 / np.linalg.inv(inertia).diagonal()
    K, H = (stiff[at(twin, each, "dofadr")] for each in (m.joint_names, others))
    ways = (twin, m.joint_names, wanted), (original, m.motor_names, m.motors(wanted))
    for model, own, goal in ways:
        data, path, gains = mujoco.MjData(model), [], (np.diag(K), np.diag(DAMPED * K))
        q, v = at(model, own, "qposadr"), at(model, own, "dofadr")
        q2, v2 = at(model, others, "qposadr"), at(model, others, "dofadr")
        joints = at(model, m.joint_names, "qposadr")
        for k in range(steps):
            if model is original and k % 50 == 0:
                gains = m.motor_gains(data.qpos[q], K, DAMPED * K)
            force = gains[0] @ (goal[k] - data.qpos[q]) - gains[1] @ data.qvel[v]
            data.qfrc_applied[v] = force
            data.qfrc_applied[v2] = -H * (data.qpos[q2] + DAMPED * data.qvel[v2])
            mujoco.mj_step(model, data)
            path.append(data.qpos[joints].copy())
        paths.append(np.array(path))
    return float(np.abs(paths[0] - paths[1]).max() / np.abs(reach).max())


def measured(robot: Path, named: list[str], folder: Path, count: int) -> tuple[float, float]:
    """By what part a robot is off from MuJoCo's constraints, and its twin from its motion."""
    file, other = robot.with_suffix(".xml"), folder / "its_twin.xml"
    if not file.exists():
        rg.save(rg.load(robot), file := folder / "original.xml")
    twin = rg.serial_twin(file, *(each.split(",") for each in named[1::2]))
    rg.save(twin.mechanism, other, engine=None)
    models = [mujoco.MjModel.from_xml_path(str(path)) for path in (file, other)]
    return off_mujoco(twin.map, models[0], count), strayed(twin.map, *models)


if __name__ == "__main__":
    states = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    every = {ROBOTS / n: x for n, x in OWN.items()} | {CORPUS / n: x for n, x in OTHERS.items()}
    for robot, named in every.items():
        print(f"{robot.parent.name}/{robot.name}")
        with tempfile.TemporaryDirectory() as place:
            for what, (seconds, code, told) in commanded(robot, named, Path(place)).items():
                print(f"  {what:7}{seconds:5.1f} s  {told[:300] * (code > 1)}", flush=True)
            if robot.parent == ROBOTS:
                off, away = measured(robot, named, Path(place), states)
                print(f"  off by {off:.1g} at {states} states, twin by {100 * away:.2g} %")
