"""USD files in Newton: the loop is kept outside of the articulation, and stays closed in motion."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize.files import save
from regularize.mechanism.joint import JointDynamics, JointLimits

newton = pytest.importorskip("newton")
pytest.importorskip("newton_usd_schemas")
ASSETS = Path(__file__).resolve().parents[2] / "assets"


def place(transform: Any, point: Any) -> Any:
    """A point carried by a position and a quaternion x, y, z, w."""
    u, w = transform[3:6], transform[6]
    return transform[:3] + point + 2 * np.cross(u, np.cross(u, point) + w * point)


def gaps(model: Any, bodies: Any) -> Any:
    """Distance of the two ends of every joint."""
    ends = []
    for parts, frames in (
        (model.joint_parent, model.joint_X_p),
        (model.joint_child, model.joint_X_c),
    ):
        pairs = zip(parts.numpy(), frames.numpy(), strict=True)
        ends.append([X[:3] if b < 0 else place(bodies[b], X[:3]) for b, X in pairs])
    return np.linalg.norm(np.array(ends[0]) - np.array(ends[1]), axis=1)


def stepped(builder: Any) -> tuple[Any, Any, Any]:
    """A builder's model, and poses of its bodies before and after 25 ms by Newton's own steps."""
    model = builder.finalize(device="cpu")
    solver = newton.solvers.SolverMuJoCo(model)
    now, then, control = model.state(), model.state(), model.control()
    newton.eval_fk(model, model.joint_q, model.joint_qd, now)
    start = now.body_q.numpy().copy()
    for _ in range(25):
        now.clear_forces()
        solver.step(now, then, control, None, 0.001)
        now, then = then, now
    return model, start, now.body_q.numpy()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Newton's own, of MuJoCo
@pytest.mark.parametrize("name", ["planar_fourbar", "gripper"])
def test_loops_are_kept_and_stay_closed(name: str, tmp_path: Path) -> None:
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    save(mechanism, tmp_path / "model.usda")
    builder = newton.ModelBuilder()
    builder.add_usd(str(tmp_path / "model.usda"))
    model = builder.finalize(device="cpu")
    loops = rg.reduce(mechanism).graph.loops
    assert int(np.sum(model.joint_articulation.numpy() < 0)) == loops
    assert model.joint_count == len(mechanism.joints) + 1  # the ground is held to the world
    masses = {b.name: b.inertia.mass for b in mechanism.bodies if b.inertia is not None}
    assert sum(masses.values()) == pytest.approx(
        sum(
            m
            for m, label in zip(model.body_mass.numpy(), model.body_label, strict=True)
            if label.split("/")[-1] in masses
        ),
        rel=1e-6,
    )
    _, start, bodies = stepped(builder)
    assert np.isfinite(bodies).all()
    assert np.max(np.abs(bodies - start)) > 1e-4  # it moves
    assert np.max(gaps(model, bodies)) < 1e-3  # MuJoCo's constraints are soft


def test_loops_are_closed_where_newton_holds_them(tmp_path: Path) -> None:
    crank = tmp_path / "crank.usda"
    rg.save(ASSETS / "slider_crank.urdf", crank)  # closed at its slider
    said = [d.message for d in rg.check(crank, engine="newton").diagnostics if d.code == "REG348"]
    assert said == ["Newton (SolverMuJoCo) holds no prismatic joint that closes a loop: `D`"]
    found = rg.save(ASSETS / "slider_crank.urdf", crank, engine="newton")
    assert any("1 freedoms" in finding.message for finding in found)


def test_limits_damping_and_springs_arrive(tmp_path: Path) -> None:
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    forces = JointDynamics(
        damping=np.array([0.3]),
        friction=np.array([0.1]),
        armature=np.array([0.02]),
        stiffness=np.array([7.0]),
        rest_position=np.array([0.4]),
    )
    bounds = JointLimits.of([-1.0, 2.0], velocity=[4.0], effort=[30.0])
    joints = [
        replace(j, dynamics=forces, limits=bounds) if j.name == "A" else j for j in mechanism.joints
    ]
    save(replace(mechanism, joints=tuple(joints)), tmp_path / "model.usda")
    builder = newton.ModelBuilder()
    builder.add_usd(
        str(tmp_path / "model.usda"),
        schema_resolvers=[newton.usd.SchemaResolverMjc(), newton.usd.SchemaResolverNewton()],
    )
    at = builder.joint_qd_start[
        next(k for k, label in enumerate(builder.joint_label) if label.endswith("/A"))
    ]
    for values, expected in (
        (builder.joint_limit_lower, -1.0),
        (builder.joint_limit_upper, 2.0),
        (builder.joint_velocity_limit, 4.0),
        (builder.joint_effort_limit, 30.0),
        (builder.joint_damping, 0.3),
        (builder.joint_friction, 0.1),
        (builder.joint_armature, 0.02),
        (builder.joint_stiffness, 7.0),
        (builder.joint_rest_q, 0.4),
    ):
        assert values[at] == pytest.approx(expected, rel=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:SolverMuJoCo is converting")  # an arm without articulation
@pytest.mark.parametrize("servo", ['position kp="20" kv="1"', 'velocity kv="2"', "motor"])
@pytest.mark.parametrize("registered", [False, True])
def test_every_motor_acts_once(servo: str, registered: bool, tmp_path: Path) -> None:
    if servo == "motor" and not registered:
        return  # what gives a force alone is an actuator of MuJoCo
    path = tmp_path / "arm.xml"
    path.write_text(
        '<mujoco><worldbody><body name="arm"><joint name="j" axis="0 1 0"/><geom type="capsule" '
        'fromto="0 0 0 0 0 .2" size=".01"/></body></worldbody>'
        f'<actuator><{servo} name="s" joint="j"/></actuator></mujoco>'
    )
    save(rg.load(path), tmp_path / "arm.usda")
    builder = newton.ModelBuilder()
    if registered:
        newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    builder.add_usd(str(tmp_path / "arm.usda"))
    solver = newton.solvers.SolverMuJoCo(builder.finalize(device="cpu"), use_mujoco_cpu=True)
    model = pytest.importorskip("mujoco").MjModel.from_xml_path(str(path))
    assert solver.mj_model.nu == 1
    assert solver.mj_model.actuator_gainprm[0] == pytest.approx(model.actuator_gainprm[0])
    assert solver.mj_model.actuator_biasprm[0] == pytest.approx(model.actuator_biasprm[0])
