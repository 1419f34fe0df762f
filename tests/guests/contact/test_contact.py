"""Robots that stand: ground, joint limits and dry friction beside closed loops."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import regularize as rg
from regularize.cli import main

pytestmark = pytest.mark.guests("contact")
ASSETS = Path(__file__).resolve().parents[3] / "assets"
CORPUS = ASSETS.parents[1] / "shared" / "corpus"
FROM_CORPUS = pytest.mark.skipif(not CORPUS.exists(), reason="the model collection is not here")
MOTORS = ("hip_yaw", "hip_roll", "hip_pitch", "knee_front", "ankle_pitch", "ankle_roll")
Y = (0, 1, 0)


def urdf(shape: str, friction: str = "") -> str:
    """A body of 2 kg with one collision shape."""
    return f"""<robot name="r"><link name="b"><inertial><mass value="2"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry>{shape}</geometry></collision></link>{friction}</robot>"""


def falling(shape: str, gravity: object = (0.0, 0.0, -9.81), friction: str = "") -> rg.Robot:
    mechanism = rg.load(urdf(shape, friction).encode(), format="urdf", floating=True)
    return rg.to_pinocchio(rg.reduce(replace(mechanism, gravity=np.array(gravity))))


def at(robot: rg.Robot, height: float) -> np.ndarray:
    q = robot.q0.copy()
    q[2] = height
    return q


def fourbar(**joints: dict[str, object]) -> rg.Robot:
    a = rg.assembly("four-bar")
    for body, com in (("crank", (0, 0, 0.5)), ("coupler", (1, 0, 1.25)), ("rocker", (2, 0, 0.75))):
        a.body(body, mass=1.0, com=com, inertia=np.eye(3) * 0.01)
    places = {"A": (0, 0, 0), "B": (0, 0, 1), "C": (2, 0, 1.5), "D": (2, 0, 0)}
    links = ["ground", "crank", "coupler", "rocker", "ground"]
    for (name, place), parent, child in zip(places.items(), links, links[1:], strict=False):
        a.hinge(name, parent, child, at=place, axis=Y, **joints.get(name, {}))
    return rg.to_pinocchio(rg.reduce(a.mechanism()))


def biped(stiffness: float = 400.0, damping: float = 40.0) -> rg.Mechanism:
    """Two legs with four-bars for knees under a free body, their motors held by springs."""
    leg = rg.load(ASSETS / "knee_leg.urdf")
    body = rg.Body("body", rg.Inertia(6.0, np.array([0, 0, 1.0]), np.eye(3) * 0.05))
    bodies, joints = [rg.Body("ground"), body], []
    joints.append(rg.Joint.in_world("floating", "ground", "body", "free"))
    sole = """<robot name="r"><link name="foot"><collision><origin xyz="0.035 0 -0.08"/>
    <geometry><box size="0.2 0.1 0.02"/></geometry></collision></link></robot>"""
    shapes = rg.load(sole.encode(), format="urdf").body("foot").geometry
    for side, y in (("left", 0.1), ("right", -0.1)):
        names = {b.name: f"{side}_{b.name}" for b in leg.bodies} | {"ground": "body"}
        for b in leg.bodies:
            if b.name != "ground":
                touching = shapes if b.name == "foot" else ()
                bodies.append(replace(b, name=names[b.name], geometry=touching))
        beside = np.eye(4)
        beside[1, 3] = y
        for j in leg.joints:
            held = replace(j.dynamics, damping=np.array([damping]), stiffness=[stiffness])
            own = {"name": f"{side}_{j.name}", "parent": names[j.parent], "child": names[j.child]}
            own |= {"dynamics": held} if j.name in MOTORS else {}
            if j.parent == "ground":
                own["T_parent_joint"] = beside @ j.T_parent_joint
            joints.append(replace(j, **own))
    return rg.Mechanism("biped", bodies=tuple(bodies), joints=tuple(joints))


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.3, 0.7])
def test_a_block_on_a_slope_sticks_and_slides_by_coulombs_law(slope: float) -> None:
    mu, angle = 0.5, np.arctan(slope)
    gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    robot = falling('<box size="0.4 0.4 0.1"/>', gravity)
    ground = [rg.Ground(friction=mu)]
    motion = rg.simulate(robot, duration=0.5, h=1e-3, q=at(robot, 0.05), contacts=ground)
    pull = 9.81 * (np.sin(angle) - mu * np.cos(angle))
    went = 0.5 * max(0.0, pull) * 0.5**2
    assert motion.q[-1, 0] == pytest.approx(went, rel=0.01, abs=1e-9)
    assert motion.q[-1, 1:3] == pytest.approx([0.0, 0.05], abs=1e-8)
    forces = motion.contact_forces[1:]
    assert forces.shape == (500, 8, 3)
    assert forces[..., 2].sum(axis=1) == pytest.approx(2 * 9.81 * np.cos(angle), rel=1e-6)
    share = np.hypot(*forces.sum(axis=1)[:, :2].T) / forces[..., 2].sum(axis=1)
    assert share == pytest.approx(min(slope, mu), rel=1e-6)
    assert motion.converged.all()
    assert motion.converged.dtype == bool


@pytest.mark.slow
def test_the_smaller_friction_holds() -> None:
    gravity = 9.81 * np.array([np.sin(0.5), 0.0, -np.cos(0.5)])
    rough = '<gazebo reference="b"><mu1>0.1</mu1></gazebo>'
    robot = falling('<box size="0.4 0.4 0.1"/>', gravity, rough)
    for ground, mu in ((0.9, 0.1), (0.05, 0.05)):
        contacts = [rg.Ground(friction=ground)]
        motion = rg.simulate(robot, duration=0.1, h=1e-3, q=at(robot, 0.05), contacts=contacts)
        speed = 0.1 * 9.81 * (np.sin(0.5) - mu * np.cos(0.5))
        assert np.linalg.norm(motion.v[-1, :3]) == pytest.approx(speed, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "height"),
    [
        ('<sphere radius="0.1"/>', 0.1),
        ('<ellipsoid radii="0.1 0.2 0.15"/>', 0.15),
        ('<cylinder radius="0.1" length="0.3"/>', 0.15),
        ('<box size="0.4 0.4 0.2"/>', 0.1),
    ],
)
def test_shapes_come_to_rest_where_they_touch(shape: str, height: float) -> None:
    robot = falling(shape)
    motion = rg.simulate(
        robot, duration=0.5, h=1e-3, q=at(robot, height + 0.05), contacts=[rg.Ground()]
    )
    assert motion.q[-1, 2] == pytest.approx(height, abs=1e-7)
    assert np.min(motion.q[:, 2]) > height - 1e-6
    assert motion.contact_forces[-1].sum(axis=0) == pytest.approx([0, 0, 2 * 9.81], abs=1e-5)
    assert np.diff(motion.energy).max() < 1e-9


def test_a_tilted_ellipsoid_touches_where_it_is_lowest() -> None:
    robot, radii = falling('<ellipsoid radii="0.1 0.2 0.15"/>'), np.array([0.1, 0.2, 0.15])
    tilt = Rotation.from_rotvec([0.3, 0.5, -0.2])
    turn = tilt.as_matrix()
    q = at(robot, float(np.linalg.norm(radii * turn[2])) + 1e-4)  # the support of an ellipsoid
    q[3:7] = tilt.as_quat()
    motion = rg.simulate(robot, duration=0.02, h=1e-3, q=q, contacts=[rg.Ground()])
    (k,) = np.flatnonzero(motion.contact_forces[:, 0, 2])[:1]
    assert abs(motion.contact_points[k, 0, 2]) < 1e-3 and 0.003 < motion.time[k] < 0.007
    away = turn.T @ (motion.contact_points[k, 0] - motion.q[k, :3]) / radii
    assert away @ away == pytest.approx(1.0, abs=1e-2)


@pytest.mark.slow
def test_a_mesh_stands_on_its_hull(tmp_path: Path) -> None:
    import trimesh

    block = trimesh.creation.box((0.2, 0.3, 0.4)).subdivide()
    block.export(tmp_path / "block.stl")
    (tmp_path / "r.urdf").write_text(urdf('<mesh filename="block.stl"/>'))
    robot = rg.to_pinocchio(rg.reduce(rg.load(tmp_path / "r.urdf", floating=True)))
    motion = rg.simulate(robot, duration=0.3, h=1e-3, q=at(robot, 0.21), contacts=[rg.Ground()])
    assert motion.q[-1, 2] == pytest.approx(0.2, abs=1e-6)
    assert motion.contact_forces[-1, :, 2].sum() == pytest.approx(2 * 9.81, rel=1e-5)


@pytest.mark.slow
def test_a_wheel_rolls() -> None:
    robot = falling('<cylinder radius="0.1" length="0.05"/>')
    q = at(robot, 0.1)
    q[3:7] = np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)  # its axis along Y
    v = np.array([0.5, 0.0, 0.0, 0.0, 0.0, -5.0])
    motion = rg.simulate(robot, duration=1.0, h=1e-3, q=q, v=v, contacts=[rg.Ground()])
    assert motion.q[-1, 0] == pytest.approx(0.5, rel=1e-2)
    assert motion.q[-1, 2] == pytest.approx(0.1, abs=1e-5)


def test_impacts_bounce_by_newtons_law_where_it_is_asked_for() -> None:
    robot = falling('<sphere radius="0.1"/>')
    ground = [rg.Ground(restitution=0.5)]
    motion = rg.simulate(robot, duration=0.6, h=1e-4, q=at(robot, 0.3), contacts=ground)
    impact = np.sqrt(2 * 9.81 * 0.2)
    assert np.max(motion.v[:, 2]) == pytest.approx(0.5 * impact, rel=1e-2)
    assert np.diff(motion.energy).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("joint", ["A", "D"])  # one of them closes the loop
def test_a_fourbar_stops_at_its_limit(joint: str) -> None:
    robot = fourbar(**{joint: {"limits": [(-0.3, 0.3)]}})
    motion = rg.simulate(robot, duration=1.0, h=1e-3, limits=True, rates={"A": 0.8})
    x = motion.coordinates[:, motion.names.index(joint)]
    assert np.max(np.abs(x)) < 0.3 + 1e-6
    assert abs(x[-1]) == pytest.approx(0.3, abs=1e-6)
    assert np.diff(motion.energy).max() < 1e-9
    assert motion.closure_drift < 1e-9
    assert motion.limited == (joint,)
    # At rest the work of the bound on a virtual motion is that of the weights.
    q = motion.q[-1]
    free = robot.split(q).free[:, 0]
    rate = robot.passive.rates(q, np.ones(4))["ABCD".index(joint)] @ free
    eps = 1e-6
    below, above = (robot.project(robot.tree.space.integrate(q, s * free)) for s in (-eps, eps))
    rest = np.zeros(robot.nv)
    work = (robot.energy(above, rest) - robot.energy(below, rest)) / (2 * eps)
    assert motion.limit_forces[-1, 0] * rate == pytest.approx(work, rel=1e-5)
    assert motion.limit_forces[-1, 0] * x[-1] < 0  # it pushes back


@pytest.mark.slow
def test_forces_of_bounds_are_found_beside_dry_friction() -> None:
    """Friction takes a share of what the bound would, or none: that much is not determined."""
    robot = fourbar(A={"limits": [(-0.3, 0.3)]}, B={"friction": 2.0})
    motion = rg.simulate(robot, duration=1.0, h=1e-3, limits=True, rates={"A": 0.8})
    assert motion.converged.all()
    assert abs(motion.coordinates[-1, 0]) == pytest.approx(0.3, abs=1e-6)
    assert motion.limit_forces[-1, 0] * motion.coordinates[-1, 0] < 0.0


@pytest.mark.slow
def test_dry_friction_sticks_and_efforts_end() -> None:
    stuck = rg.simulate(fourbar(A={"friction": 60.0}), duration=0.2, h=1e-3)
    assert np.ptp(stuck.q, axis=0) == pytest.approx(0.0, abs=1e-12)
    robot = fourbar(A={"effort": 5.0})
    weak, strong = (
        rg.simulate(robot, duration=0.1, h=1e-3, limits=True, torques={"A": torque})
        for torque in (5.0, 500.0)
    )
    assert strong.q[-1] == pytest.approx(weak.q[-1], abs=1e-12)
    assert [f.code for f in strong.findings] == []
    fast = rg.simulate(
        fourbar(A={"velocity": 0.1}), duration=0.05, limits=True, h=1e-3, rates={"A": 1.0}
    )
    (said,) = fast.findings
    assert said.code == "REG316"
    assert "faster than it may" in said.message


@pytest.mark.slow
def test_half_the_step_is_half_the_error() -> None:
    robot = fourbar()
    exact = rg.simulate(robot, duration=0.5, rates={"A": 1.0}).q[-1]
    errors = [
        np.max(np.abs(rg.simulate(robot, duration=0.5, h=h, rates={"A": 1.0}).q[-1] - exact))
        for h in (4e-3, 2e-3, 1e-3)
    ]
    assert 0.4 < errors[1] / errors[0] < 0.6
    assert 0.4 < errors[2] / errors[1] < 0.6


@pytest.mark.slow
def test_forces_on_limp_legs_are_found() -> None:
    """Four corners of a light sole share what bears it while the legs give way."""
    robot = rg.to_pinocchio(rg.reduce(biped(0.0, 0.0)))
    start = robot.q0.copy()
    start[2] += 0.011
    motion = rg.simulate(robot, duration=0.3, h=2e-3, q=start, contacts=[rg.Ground(friction=0.8)])
    assert motion.converged.all()
    assert np.diff(motion.energy).max() < 1e-9


def two_legs() -> tuple[rg.Robot, np.ndarray]:
    robot = rg.to_pinocchio(rg.reduce(biped()))
    q = robot.q0.copy()
    q[2] += 0.06  # the soles are 5 cm above the ground
    return robot, q


#: Stiffness and damping of Cassie's motors, and how far they are from the pose called home.
CASSIE = {
    "hip-roll": (3000.0, 200.0, 0.0),
    "hip-yaw": (3000.0, 150.0, 0.0),
    "hip-pitch": (1575.0, 110.5, 0.0602),
    "knee": (1071.0, 65.0, 0.0216),
    "foot": (1685.0, 67.2, -0.0864),
}


def cassie() -> tuple[rg.Robot, np.ndarray]:
    path = CORPUS / "mjcf" / "menagerie_agility_cassie" / "cassie.xml"
    (home,) = re.findall(r'qpos="([^"]*)"', path.read_text())
    values = iter([float(x) for x in home.split()][7:])
    names = [
        *("hip-roll", "hip-yaw", "hip-pitch", "achilles-rod", "knee", "shin", "tarsus"),
        *("heel-spring", "foot-crank", "plantar-rod", "foot"),
    ]
    pose: dict[str, list[float]] = {}
    for side in ("left", "right"):
        for name in names:
            count = 4 if name == "achilles-rod" else 1
            pose[f"{side}-{name}"] = [next(values) for _ in range(count)]
    mechanism, joints = rg.load(path), []
    for joint in mechanism.joints:
        if (motor := CASSIE.get(joint.name.partition("-")[2])) is not None:
            stiffness, damping, off = motor
            pose[joint.name][0] += off
            own = {
                "stiffness": [stiffness],
                "damping": [damping],
                "rest_position": pose[joint.name],
            }
            joint = replace(joint, dynamics=replace(joint.dynamics, **own))
        joints.append(joint)
    robot = rg.to_pinocchio(rg.reduce(replace(mechanism, joints=tuple(joints))))
    q = robot.q0.copy()
    for index in range(1, robot.model.njoints):
        at, own = robot.model.idx_qs[index], pose.get(str(robot.model.names[index]), [])
        q[at : at + len(own)] = np.roll(own, -1)  # quaternions with the scalar last
    q = robot.project(q)
    q[2] += 0.05 - 0.00162  # the soles are 5 cm above the ground
    return robot, q


def digit(rotors: bool = False) -> tuple[rg.Robot, np.ndarray]:
    """Two legs of Digit with boxes for soles, for the file's meshes are not there."""
    mechanism = rg.load(CORPUS / "gepetto_yaml" / "digit_like_2legs" / "robot.urdf", floating=True)
    bare = replace(mechanism, bodies=tuple(replace(b, geometry=()) for b in mechanism.bodies))
    robot = rg.to_pinocchio(rg.reduce(bare))
    motors = [j.name for j in bare.joints if j.name.startswith("motor_")]
    places = {str(n): i for n, i in zip(robot.model.names, robot.model.idx_qs, strict=True)}
    stand = {name: float(robot.q0[places[name]]) for name in motors}
    stand |= {"motor_hip_y": -0.3655, "motor_hip_y_left": 0.3655}  # feet below the middle of mass
    q = robot.follow(robot.q0, stand)
    (shape,) = falling('<box size="0.22 0.1 0.02"/>').reduction.mechanism.body("b").geometry
    poses, soles = robot.states.poses(q), {}
    for name in ("foot_part", "foot_part_2"):
        joint, T = robot.places[name]
        pose, sole = poses[joint] @ T, np.eye(4)
        sole[:3, 3] = [*pose[:2, 3], -0.6861]
        soles[name] = (replace(shape, T_body_geometry=np.linalg.inv(pose) @ sole),)
    bodies = tuple(replace(b, geometry=soles.get(b.name, ())) for b in bare.bodies)
    joints = []
    for joint in bare.joints:
        if joint.name in stand:
            held = {"stiffness": [400.0], "damping": [20.0], "rest_position": [stand[joint.name]]}
            held |= {"armature": [0.036 if "shin" in joint.name else 0.1]} if rotors else {}
            joint = replace(joint, dynamics=replace(joint.dynamics, **held))
        joints.append(joint)
    q[2] += 0.7461  # the soles are 5 cm above the ground
    return rg.to_pinocchio(rg.reduce(replace(bare, bodies=bodies, joints=tuple(joints)))), q


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot_of", "duration"),
    [(two_legs, 3.0), *(pytest.param(of, 10.0, marks=FROM_CORPUS) for of in (cassie, digit))],
)
def test_robots_stand_after_a_drop(robot_of: Callable[[], Any], duration: float) -> None:
    robot, q = robot_of()
    ground = [rg.Ground(friction=0.8)]
    motion = rg.simulate(robot, duration=duration, h=2e-3, q=q, contacts=ground, limits=True)
    bodies = robot.reduction.mechanism.bodies
    weight = 9.81 * sum(b.inertia.mass for b in bodies if b.inertia is not None)
    forces = motion.contact_forces
    assert motion.converged.all()
    assert motion.closure_drift < 1e-6
    assert forces[-1].sum(axis=0) == pytest.approx([0, 0, weight], abs=1e-3 * weight)
    assert np.all(np.hypot(forces[..., 0], forces[..., 1]) <= 0.8 * forces[..., 2] + 1e-6 * weight)
    assert np.abs(motion.q[-1, :3] - motion.q[-251, :3]).max() < 5e-4
    assert np.diff(motion.energy).max() < 1e-9


def stiff(spec: Any, h: float) -> Any:
    """A model of MuJoCo with a plane, in steps of h, with the stiffest contacts and loops.

    Its other shapes touch the plane alone.
    """
    import mujoco

    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    spec.option.timestep, spec.option.integrator = h, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    for each in (*spec.geoms, *spec.equalities):
        each.solref, each.solimp = [2 * h, 1.0], [0.9999, 0.9999, 0.001, 0.5, 2.0]
    for geom in spec.geoms:
        plane, geom.friction = geom.type == mujoco.mjtGeom.mjGEOM_PLANE, [0.8, 0.005, 0.0001]
        if plane or geom.contype:
            geom.contype, geom.conaffinity, geom.condim = 1 + plane, 2 - plane, 3
    return spec.compile()


def placed(data: Any, model: Any, robot: rg.Robot, q: np.ndarray) -> set[str]:
    """Take coordinates to joints of the same names in MuJoCo; return the names of the others."""
    names = {model.joint(k).name for k in range(model.njnt)}
    ours = {str(name): i for i, name in enumerate(robot.model.names) if name in names}
    for name, i in ours.items():
        at, own = robot.model.idx_qs[i], robot.model.joints[i].nq
        values, there = np.array(q[at : at + own]), int(model.joint(name).qposadr[0])
        if own in (4, 7):  # quaternions with the scalar first
            values[-4:] = np.roll(values[-4:], 1)
        data.qpos[there : there + own] = values
    return names - {*ours}


@pytest.mark.slow
@FROM_CORPUS
def test_digit_rests_where_it_does_in_mujoco(tmp_path: Path) -> None:
    """With rotors, without which MuJoCo is not stable; its other coordinates close the loops."""
    mujoco = pytest.importorskip("mujoco")
    robot, q = digit(rotors=True)
    rg.save(robot.reduction.mechanism, tmp_path / "digit.xml")
    model = stiff(mujoco.MjSpec.from_file(str(tmp_path / "digit.xml")), 2e-4)
    data = mujoco.MjData(model)
    names = placed(data, model, robot, q)
    rest = [k for k in range(model.nv) if model.joint(int(model.dof_jntid[k])).name in names]
    for _ in range(20):
        mujoco.mj_fwdPosition(model, data)
        rows, step = data.efc_J.reshape(-1, model.nv)[: data.ne, rest], np.zeros(model.nv)
        step[rest] = -np.linalg.lstsq(rows, data.efc_pos[: data.ne], rcond=1e-8)[0]
        mujoco.mj_integratePos(model, data.qpos, step, 1.0)
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-12
    mujoco.mj_step(model, data, 15_000)
    ground = [rg.Ground(friction=0.8)]
    ours = rg.simulate(robot, duration=3.0, h=2e-3, q=q, contacts=ground, times=[3.0])
    assert ours.q[-1, :3] == pytest.approx(data.qpos[:3], abs=1e-3)


@pytest.mark.slow
@FROM_CORPUS
def test_cassie_lands_where_it_does_in_mujoco_if_both_take_fine_steps() -> None:
    """On landing its feet lift off again: MuJoCo's own steps have to be fine to find where to."""
    mujoco = pytest.importorskip("mujoco")
    robot, q = cassie()
    rest = {j.name: j.dynamics.rest_position for j in robot.reduction.mechanism.joints}

    def lands(h: float) -> list[Any]:
        spec = mujoco.MjSpec.from_file(str(robot.reduction.mechanism.path))
        shown = [g for g in spec.geoms if g.type == mujoco.mjtGeom.mjGEOM_MESH]
        for each in (*shown, *spec.meshes, *spec.materials, *spec.textures):
            spec.delete(each)
        model = stiff(spec, h)
        data = mujoco.MjData(model)
        placed(data, model, robot, q)
        data.qpos[:3] += q[:3]  # its free joint has no name, and is at zero at the reference
        for k in range(model.njnt):
            name = model.joint(k).name
            if (motor := CASSIE.get(name.partition("-")[2])) is not None:
                model.jnt_stiffness[k], model.dof_damping[model.jnt_dofadr[k]], _ = motor
                model.qpos_spring[model.jnt_qposadr[k]] = rest[name][0]
        mujoco.mj_step(model, data, round(2.0 / h))
        mujoco.mj_kinematics(model, data)
        return [data.body(f"{side}-foot").xpos.copy() for side in ("left", "right")]

    coarse, fine = lands(5e-4), lands(5e-5)
    motion = rg.simulate(
        robot, duration=2.0, h=2.5e-4, q=q, contacts=[rg.Ground(0.8)], limits=True, times=[2.0]
    )
    places = [robot.places[f"{side}-foot"] for side in ("left", "right")]
    poses = robot.states.poses(motion.q[-1])
    ours = [(poses[joint] @ place)[:3, 3] for joint, place in places]
    np.testing.assert_allclose(ours, fine, atol=1e-3)
    assert np.abs(np.subtract(coarse, fine)).max(axis=1).min() > 3e-3  # the file's own step


@pytest.mark.slow
def test_rest_is_that_of_mujoco_with_stiff_contacts(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    mechanism = biped()
    robot = rg.to_pinocchio(rg.reduce(mechanism))
    start = robot.q0.copy()
    start[2] += 0.011
    ours = rg.simulate(robot, duration=3.0, h=2e-3, q=start, contacts=[rg.Ground(friction=0.8)])
    rg.save(mechanism, tmp_path / "biped.xml")
    spec = mujoco.MjSpec.from_file(str(tmp_path / "biped.xml"))
    model = stiff(spec, 2e-4)
    data = mujoco.MjData(model)
    data.qpos[2] += 0.011
    for _ in range(15_000):
        mujoco.mj_step(model, data)
    assert ours.q[-1, :3] == pytest.approx(data.qpos[:3], abs=1e-3)


def test_times_are_recorded_and_states_begin() -> None:
    robot = falling('<sphere radius="0.1"/>')
    motion = rg.simulate(robot, duration=0.01, h=1e-3, contacts=[rg.Ground()], q=at(robot, 1.0))
    assert motion.time == pytest.approx(np.arange(11) * 1e-3, abs=1e-15)
    assert motion.q[0] == pytest.approx(at(robot, 1.0))
    assert not motion.contact_forces[0].any()
    some = rg.simulate(
        robot, duration=0.01, times=[0.002, 0.01], limits=True, contacts=[rg.Ground()]
    )
    assert some.time == pytest.approx([0.002, 0.01], abs=1e-15)
    assert some.limit_forces.shape == (2, 0)
    assert {f.code for f in motion.findings} == {"REG319"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"contacts": [rg.Ground()]}, "shapes that can touch"),
        ({"contacts": ["floor"]}, r"rg\.Ground"),
        ({"limits": True, "drive": {"A": "t"}}, "prescribed"),
        ({"h": 1e-3, "solver": rg.MuJoCo()}, "exact rows"),
        ({"limits": "events"}, "limits=True"),
        ({"h": 1e-3, "torques": {"A": 1e12}}, "shorter"),
    ],
)
def test_what_steps_do_not_know_is_refused(options: dict[str, Any], told: str) -> None:
    error = rg.ClosureLost if told == "shorter" else rg.ModelError
    with pytest.raises(error, match=told):
        rg.simulate(fourbar(), duration=0.1, **options)


def test_rollouts_and_grounds_that_make_no_sense() -> None:
    bare = fourbar()
    for asked in ({"contacts": [rg.Ground()]}, {"limits": True}):
        with pytest.raises(rg.ModelError, match="one state at a time"):
            bare.rollout(bare.q0, np.zeros(3), np.zeros(3), 1e-3, 2, **asked)
    for name, value in (("friction", -1.0), ("restitution", 1.5)):
        with pytest.raises(rg.ModelError, match=name):
            rg.Ground(**{name: value})


@pytest.mark.slow
def test_friction_of_shapes_is_kept_by_formats(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="b"><freejoint/>
    <geom type="sphere" size=".1" friction=".4"/></body></worldbody></mujoco>"""
    mechanism = rg.load(text.encode(), format="mjcf")
    for ending in ("json", "xml", "sdf"):
        rg.save(mechanism, tmp_path / f"m.{ending}")
        again = rg.load(tmp_path / f"m.{ending}")
        assert again.body("b").geometry[0].friction == pytest.approx(0.4)


@pytest.mark.slow
@pytest.mark.guests("contact", "page")
def test_films_and_pages_show_forces_of_the_ground(tmp_path: Path) -> None:
    robot = falling('<box size="0.2 0.2 0.2"/>')
    motion = rg.simulate(robot, duration=0.1, h=2e-3, q=at(robot, 0.1), contacts=[rg.Ground()])
    mechanism = robot.reduction.mechanism
    page = rg.show(mechanism, motion=motion).save(tmp_path / "m.html").read_text()
    forces, _ = json.JSONDecoder().raw_decode(page[page.index('"forces":') + 9 :].lstrip())
    assert forces[0] == []
    corners = np.array(forces[-1])
    assert corners[:, 3:] == pytest.approx(np.tile([0, 0, 1], (4, 1)), abs=1e-3)  # equal: usual
    rg.save(mechanism, tmp_path / "m.json")
    films = []
    for ending in ("npz", "csv"):  # a table has no forces
        path = motion.save(tmp_path / f"m.{ending}")
        film = tmp_path / f"{ending}.gif"
        assert (
            main(["show", str(tmp_path / "m.json"), "--motion", str(path), "--movie", str(film)])
            == 0
        )
        films.append(film.read_bytes())
    assert films[0] != films[1]
