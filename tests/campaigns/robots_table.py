"""Robots whole: from their files to map, C, twin, states, gains and ROS 2, each in one command.

Run ``python tests/campaigns/robots_table.py [STATES]``: CPU seconds of each command for each robot,
or why it is refused, then how far maps, polygons and gains are from MuJoCo's own constraints,
and twins from their originals over a second.
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
#: Robots of own building, with what their files do not say.
OWN: dict[str, list[str]] = {
    **{f"{name}.xml": [] for name in ("humanoid_rods", "leg_two_rods", "hand_two_rods")},
    **{"hand_linkage.xml": [], "leg_struts.urdf": []},
    "waist_two_rods.sdf": ["--motors", "left_motor,right_motor"],
}
#: Published ones.
OTHERS = {
    "mjcf/menagerie_agility_cassie/cassie.xml": [],
    **{f"gepetto_yaml/{name}_like/robot.urdf": [] for name in ("cassie", "digit", "disney")},
    "gepetto_yaml/digit_like_2legs/robot.urdf": [],
    "gepetto_yaml/disney_robot/robot.urdf": [],
    "mjcf/pal_kangaroo/src/pal_mjlab/robots/pal_kangaroo/xmls/kangaroo.xml": [],
    "mjcf/kayra/mujoco/kayraCircle.xml": ["--motors", "3BR_Joint", "--joints", "2R_Joint"],
    "mjcf/menagerie_robotiq_2f85/2f85.xml": [],
    "mjcf/playground_panda_2f85/panda_updated_robotiq_2f85.xml": [],
    "urdf_plus/jvrc1_humanoid/jvrc1_humanoid.urdf": [],
}
#: Seconds of a step of MuJoCo.
STEP = 2e-4
COMMANDS = {
    **{"map": ["map", "-o", "map.c"], "twin": ["twin", "--fail-on", "error", "-o", "twin.xml"]},
    **{"states": ["states", "-n", "1000", "-o", "states.npz"], "gains": ["gains"]},
    "ros2": ["map", "--to", "ros2", "-o", "my_robot"],
}


def commanded(robot: Path, named: list[str], folder: Path) -> dict[str, tuple[float, int, str]]:
    """CPU seconds, exit code and last line of each command."""
    found = {}
    for what, (verb, *more) in COMMANDS.items():
        more = [str(folder / x) if more[i - 1] == "-o" else x for i, x in enumerate(more)]
        if what == "twin":  # in the robot's own format
            more[-1] = str(Path(more[-1]).with_suffix(robot.suffix))
        out, start = StringIO(), time.process_time()
        with redirect_stdout(out), redirect_stderr(out):
            options = [] if what == "states" else named
            code = main(["motors", verb, str(robot), *options, *more])
        told = out.getvalue().strip().splitlines()
        found[what] = time.process_time() - start, code, told[-1] if told else ""
    return found


def of_mujoco(robot: Path, folder: Path) -> tuple[Any, Any]:
    """The robot and its model in MuJoCo, by way of MJCF where it is none."""
    out = robot.with_suffix(".xml")
    if not out.exists():
        out = folder / "original.xml"
        rg.save(rg.load(robot), out)
    return mujoco.MjModel.from_xml_path(str(out)), out


def places(model: Any, names: Any, what: str) -> list[int]:
    """Addresses of joints in positions or velocities."""
    return [int(getattr(model.joint(name), what)[0]) for name in names]


def off_mujoco(m: rg.ActuationMap, model: Any, count: int) -> float:
    """By what part rates, polygons and gains differ from those of MuJoCo's constraints."""
    data, home = mujoco.MjData(model), m.stored
    theta = home + 0.9 * (m.samples(count + count // 4) - home)
    theta = theta[m.domain.contains(theta)][:count]
    assert len(theta) > 0.8 * count
    q, J = m.joints(theta), m.jacobian(theta)
    K = np.linspace(300.0, 200.0, len(m.joint_names))
    dofs = [places(model, names, "dofadr") for names in (m.motor_names, m.joint_names)]
    given = places(model, (*m.motor_names, *m.joint_names), "qposadr")
    driven = {*dofs[0], *dofs[1]}
    mujoco.mj_fwdPosition(model, data)
    tied = np.flatnonzero(np.abs(equalities(model, data)[0]).max(axis=0) > 0.0)
    kinds = model.jnt_type[model.dof_jntid]
    passive = [
        d for d in map(int, tied) if d not in driven and kinds[d] != mujoco.mjtJoint.mjJNT_FREE
    ]
    rest, off = [*dofs[1], *passive], []
    for x, y, rates in zip(theta, q, J, strict=True):
        data.qpos[given] = [*x, *y]
        for _ in range(60):
            mujoco.mj_fwdPosition(model, data)
            rows, error = equalities(model, data)
            if np.abs(error).max() < 1e-15:
                break
            step = np.zeros(model.nv)
            step[passive] = np.linalg.lstsq(rows[:, passive], -error, rcond=None)[0]
            mujoco.mj_integratePos(model, data.qpos, step, 1.0)
        theirs = np.linalg.lstsq(rows[:, rest], -rows[:, dofs[0]], rcond=None)[0][: len(y)]
        off += [np.abs(error).max(), np.abs(theirs - rates).max() / np.abs(rates).max()]
        gains = m.motor_gains(x, K, 0.1 * K)
        off += [np.abs(gains[0] - theirs.T @ np.diag(K) @ theirs).max() / gains[0].max()]
        off += [np.abs(m.joint_gains(x, *gains)[1] - np.diag(0.1 * K)).max() / K.max()]
        corners = m.torque_polygon(x) @ theirs
        off += [np.abs(np.abs(corners) / m.effort - 1.0).max()]
    return float(max(off))


def strayed(m: rg.ActuationMap, original: Any, twin: Any) -> float:
    """By what part of its motion a twin strays from its original in a second, by mapped gains.

    The original's motors have the gains that are those of springs and dampers at the twin's joints.
    """
    for model in (original, twin):  # loops that do not give way
        model.opt.timestep, model.eq_solref[:] = STEP, [2.5 * STEP, 1.0]
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    home, steps = m.joints(m.stored), round(1.0 / STEP)
    reach = m.joints(m.stored + 0.5 * (m.samples(1)[0] - m.stored)) - home
    wave = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(steps) / steps)
    wanted = home + wave[:, None] * reach
    names = [twin.joint(i).name for i in range(twin.njnt) if twin.jnt_type[i] > 1]
    others = [name for name in names if name not in m.joint_names]
    data, inertia, paths = mujoco.MjData(twin), np.zeros((twin.nv, twin.nv)), list[np.ndarray]()
    mujoco.mj_forward(twin, data)
    mujoco.mj_fullM(twin, data, inertia)
    K, H = (
        (2 * np.pi * 12.0) ** 2 / np.linalg.inv(inertia).diagonal()[places(twin, each, "dofadr")]
        for each in (m.joint_names, others)
    )
    for model, own, goal in (
        (twin, m.joint_names, wanted),
        (original, m.motor_names, m.motors(wanted)),
    ):
        data, path = mujoco.MjData(model), []
        at, dofs = places(model, own, "qposadr"), places(model, own, "dofadr")
        at2, dofs2 = places(model, others, "qposadr"), places(model, others, "dofadr")
        joints, gains = places(model, m.joint_names, "qposadr"), (np.diag(K), np.diag(K / 35))
        for k in range(steps):
            if model is original and k % 50 == 0:
                gains = m.motor_gains(data.qpos[at], K, K / 35)
            force = gains[0] @ (goal[k] - data.qpos[at]) - gains[1] @ data.qvel[dofs]
            data.qfrc_applied[dofs] = force
            data.qfrc_applied[dofs2] = -H * data.qpos[at2] - H / 35 * data.qvel[dofs2]
            mujoco.mj_step(model, data)
            path.append(data.qpos[joints].copy())
        paths.append(np.array(path))
    return float(np.abs(paths[0] - paths[1]).max() / np.abs(reach).max())


def measured(robot: Path, named: list[str], folder: Path, count: int) -> tuple[float, float]:
    """By what part a robot is off from MuJoCo's constraints, and its twin from its motion."""
    model, file = of_mujoco(robot, folder)
    names = [each.split(",") for each in named[1::2]]
    twin = rg.serial_twin(file, *names)
    rg.save(twin.mechanism, folder / "its_twin.xml", engine=None)
    its_twin = mujoco.MjModel.from_xml_path(str(folder / "its_twin.xml"))
    return off_mujoco(twin.map, model, count), strayed(twin.map, model, its_twin)


def run(count: int) -> None:
    """Print the table."""
    for robot, named in [*((ROBOTS / n, x) for n, x in OWN.items())] + [
        (CORPUS / n, x) for n, x in OTHERS.items()
    ]:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{robot.parent.name}/{robot.name}", flush=True)
            for what, (seconds, code, told) in commanded(robot, named, Path(folder)).items():
                print(f"  {what:7}{seconds:5.1f} s  {'' if code < 2 else told[:300]}", flush=True)
            if robot.parent == ROBOTS:
                off, away = measured(robot, named, Path(folder), count)
                print(
                    f"  off MuJoCo {off:.1g} at {count} states, twin {100 * away:.2g} %", flush=True
                )


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
