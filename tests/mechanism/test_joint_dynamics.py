"""Damping, springs, dry friction, rotors and limits of joints, from file to motion."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms import acted, bounded, turned_round
from scipy.integrate import solve_ivp
from simulation_cases import CORPUS

import regularize as rg

ASSETS = Path(__file__).parents[2] / "assets"
ARRAYS = ("damping", "friction", "armature", "velocityLimit", "effortLimit")
BOUNDS = ("lowerPositionLimit", "upperPositionLimit")
#: Mass times length times gravity, and moment of inertia about the hinge, of the pendulum.
WEIGHT, MOMENT = 2.0 * 0.5 * 9.81, 0.1 + 2.0 * 0.5**2


def pendulum(**dynamics: float) -> rg.Mechanism:
    """A body of 2 kg, 0.5 m below a hinge along Y."""
    body = rg.Body("bob", rg.Inertia(2.0, [0.0, 0.0, -0.5], 0.1 * np.eye(3)))
    hinge = rg.Joint.in_world("hinge", "ground", "bob", "revolute", (0, 1, 0))
    hinge = acted(hinge, **{key: np.array([value]) for key, value in dynamics.items()})
    return rg.Mechanism("pendulum", (rg.Body("ground"), body), (hinge,))


def fourbar(seed: int = 0, *, rotors: bool = True) -> rg.Mechanism:
    """The planar four-bar of the assets with something in all of its joints."""
    rng, mechanism = np.random.default_rng(seed), rg.load(ASSETS / "planar_fourbar.urdf")
    joints = [
        acted(
            joint,
            damping=rng.uniform(0.001, 0.01, 1),
            stiffness=rng.uniform(0.05, 0.1, 1),
            rest_position=rng.uniform(-0.5, 0.5, 1),
            armature=rng.uniform(0.001, 0.002, 1) if rotors else None,
        )
        for joint in mechanism.joints
    ]
    return replace(mechanism, joints=tuple(joints))


def angle(values: dict[str, float], start: float, duration: float, slip: float = 1e-3) -> float:
    """Where the pendulum is, by SciPy's stiff integrator and an equation written down here."""
    d, mu, k, rest, rotor = (
        values.get(key, 0.0)
        for key in ("damping", "friction", "stiffness", "rest_position", "armature")
    )

    def rate(t: float, y: Any) -> list[float]:
        force = -WEIGHT * np.sin(y[0]) - d * y[1] - k * (y[0] - rest) - mu * np.tanh(y[1] / slip)
        return [y[1], force / (MOMENT + rotor)]

    solved = solve_ivp(rate, (0.0, duration), [start, 0.0], "Radau", rtol=1e-11, atol=1e-13)
    return float(solved.y[0, -1])


EVERYTHING = {
    "damping": 0.5,
    "friction": 0.2,
    "stiffness": 3.0,
    "rest_position": 0.7,
    "armature": 0.3,
}


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["all", "minimal"])
@pytest.mark.parametrize("values", [{"damping": 0.5}, EVERYTHING], ids=["damped", "everything"])
def test_pendulum_moves_as_its_equation_says(coordinates: str, values: dict[str, float]) -> None:
    motion = rg.simulate(
        pendulum(**values), duration=1.5, q=np.array([1.0]), solver=rg.Solver(coordinates)
    )
    assert motion.coordinates[-1, 0] == pytest.approx(angle(values, 1.0, 1.5), abs=1e-7)
    assert motion.energy_drift < 1e-6
    assert motion.robot.energy(motion.q[0], motion.v[0]) > 1.0 + motion.robot.energy(
        motion.q[-1], motion.v[-1]
    )


def test_mass_on_a_spring_has_its_textbook_period() -> None:
    """A slide of 2 kg and a rotor worth 1 kg on 27 N/m: 3 rad/s about where the weight hangs."""
    slide = rg.Joint.in_world("slide", "ground", "mass", "prismatic", (0, 0, 1))
    slide = acted(slide, stiffness=[27.0], rest_position=[0.1], armature=[1.0])
    bodies = (rg.Body("ground"), rg.Body("mass", rg.Inertia(2.0, np.zeros(3), np.eye(3))))
    motion = rg.simulate(rg.Mechanism("spring", bodies, (slide,)), duration=2.0)
    hanging = 0.1 - 2.0 * 9.81 / 27.0
    expected = hanging - hanging * np.cos(3.0 * motion.time)
    np.testing.assert_allclose(motion.coordinates[:, 0], expected, atol=1e-7)
    assert motion.energy_drift < 1e-8


def test_sliding_friction_takes_its_force_times_the_way() -> None:
    values = {"friction": 0.4}
    motion = rg.simulate(pendulum(**values), duration=0.3, q=np.array([1.2]), slip=1e-5)
    lost = motion.robot.energy(motion.q[0], motion.v[0]) - motion.robot.energy(
        motion.q[-1], motion.v[-1]
    )
    assert lost == pytest.approx(0.4 * (1.2 - motion.coordinates[-1, 0]), rel=1e-4)
    assert [f.code for f in motion.findings] == ["REG317"]


def test_ball_joint_springs_back_about_its_own_axis() -> None:
    """A free body on a ball joint with a spring: turned about one axis, it stays on that axis."""
    ball = rg.Joint.in_world("ball", "ground", "top", "spherical")
    ball = acted(ball, stiffness=[8.0], rest_position=[0.1, 0.2, -0.2])
    body = rg.Body("top", rg.Inertia(1.0, np.zeros(3), 2.0 * np.eye(3)))
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    mechanism = rg.Mechanism("ball", (rg.Body("ground"), body), (ball,), gravity=np.zeros(3))
    start = pin.Quaternion(pin.exp3(0.9 * axis)).coeffs()
    motion = rg.simulate(mechanism, duration=1.0, q=start)
    # The rest position turns by 0.3 about the same axis; 8 N m/rad on 2 kg m² are 2 rad/s.
    expected = 0.3 + 0.6 * np.cos(2.0 * motion.time)
    np.testing.assert_allclose(motion.coordinates, np.outer(expected, axis), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("rotors", [False, True])
def test_every_engine_moves_a_loop_alike(rotors: bool) -> None:
    """One joint closes the loop, where it has no coordinate in the style ``rows``."""
    mechanism = fourbar(rotors=rotors)
    start = {"duration": 0.4, "rates": {"A": 3.0}}
    motions = [
        rg.simulate(mechanism, **start),
        rg.simulate(mechanism, solver=rg.Solver(style="slack"), **start),
        rg.simulate(mechanism, solver=rg.Solver("minimal"), **start),
    ]
    assert motions[0].engine == "anchors"
    plain = rg.simulate(rg.to_pinocchio(rg.reduce(mechanism)), **start)
    assert plain.engine == "rows"
    if rotors:
        assert any("rotors of `" in f.message for f in plain.findings)
    else:
        motions.append(plain)
    for motion in motions:
        np.testing.assert_allclose(motion.coordinates, motions[0].coordinates, atol=2e-8)
        assert motion.energy_drift < 1e-8


@pytest.mark.slow
def test_mujoco_moves_the_same_loop_alike() -> None:
    pytest.importorskip("mujoco")
    mechanism, start = fourbar(), {"duration": 0.4, "rates": {"A": 3.0}}
    ours = rg.simulate(mechanism, **start)
    theirs = rg.simulate(mechanism, solver=rg.MuJoCo(2e-4), **start)
    np.testing.assert_allclose(theirs.coordinates[-1], ours.coordinates[-1], atol=1e-6)
    assert theirs.energy_drift < 1e-5


@pytest.mark.slow
def test_reduced_model_has_springs_damping_and_rotors() -> None:
    """H, D, C and p against the forward dynamics of Pinocchio with all joints in its tree."""
    mechanism = fourbar()
    model = rg.reduced_model(mechanism, ["A"])
    robot = rg.to_pinocchio(rg.reduce(mechanism), "anchors")
    i = robot.velocity_index("A")
    for theta, rate, torque in ((0.1, 1.7, 0.3), (0.4, -2.0, 0.0)):
        q = robot.configuration(model.configuration([theta]))
        v = robot.admissible_velocity(q, {"A": rate})
        tau = np.where(np.arange(robot.model.nv) == i, torque, 0.0)
        a = robot.forward_dynamics(q, v, tau + robot.passive_forces(q, v))
        assert model.forward_dynamics([theta], [rate], [torque])[0] == pytest.approx(a[i], rel=1e-9)
    assert model.C([0.1])[0, 0] > np.max(mechanism.joint("A").dynamics.damping)


@pytest.mark.slow
def test_payload_and_wrench_of_a_reduced_model() -> None:
    mechanism = fourbar()
    body, load = mechanism.bodies[2], rg.Inertia(0.3, [0.01, 0.02, 0.03], 1e-4 * np.eye(3))
    wrench = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    assert body.inertia is not None
    heavier = replace(body, inertia=rg.Inertia.total([body.inertia, load]))
    bodies = [heavier if b is body else b for b in mechanism.bodies]
    expected = rg.reduced_model(replace(mechanism, bodies=tuple(bodies)), ["A"])
    model = rg.reduced_model(
        mechanism, ["A"], payloads={body.name: load}, wrenches={body.name: wrench}
    )
    assert model.H([0.2]) == pytest.approx(expected.H([0.2]), rel=1e-12)
    reduction, q = rg.reduce(mechanism), model.configuration([0.2])
    without = rg.joint_forces(reduction, q, held=["A"])
    loaded = rg.joint_forces(reduction, q, held=["A"], loads={body.name: wrench})
    assert (model.p([0.2]) - expected.p([0.2]))[0] == pytest.approx(
        without.tau[0] - loaded.tau[0], rel=1e-9
    )
    with pytest.raises(rg.RegularizeError, match="no body 'tool'"):
        rg.reduced_model(mechanism, ["A"], wrenches={"tool": wrench})


@pytest.mark.slow
def test_damping_is_part_of_a_metamodel_and_of_its_c() -> None:
    model = rg.reduced_model(fourbar(), ["A"])
    fitted = rg.metamodel(model, [[0.0, 0.3]], tolerance=1e-2)
    motion = ([0.2], [1.7], [3.0])
    assert fitted.inverse_dynamics(*motion) == pytest.approx(
        model.inverse_dynamics(*motion), rel=1e-2
    )
    assert set(fitted.accuracy.maximal) == {"H", "D", "p", "C"}
    assert "+ C(theta) dtheta" in fitted.to_c()


def test_reactions_balance_damping_springs_and_rotors() -> None:
    mechanism = fourbar()
    reduction = rg.reduce(mechanism)
    robot = rg.to_pinocchio(reduction, "anchors")
    v = robot.admissible_velocity(robot.q0, {"A": 2.0})
    tau = np.zeros(robot.model.nv)
    tau[robot.velocity_index("A")] = 0.3
    a = robot.forward_dynamics(robot.q0, v, tau + robot.passive_forces(robot.q0, v))
    names = [joint.name for joint in mechanism.joints]
    index = robot.velocity_indices(names)
    forces = rg.joint_forces(reduction, robot.coordinates(robot.q0), v[index], a[index], held=["A"])
    assert forces.tau[0] == pytest.approx(0.3, rel=1e-8)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.floats(0.2, 5.0), st.integers(0, 1000))
def test_turning_a_joint_round_keeps_what_acts_in_it(size: float, seed: int) -> None:
    """A joint seen from its child keeps coordinates, so limits and rest positions stay."""
    rng = np.random.default_rng(seed)
    joint = rg.Joint.in_world("j", "ground", "b", "universal", (1, 0, 0), axis2=(0, 1, 0))
    joint = replace(joint, position=rng.uniform(-0.5, 0.5, 2))
    rates, bounds = (
        {"velocity": size * np.array([5.0, 6.0]), "effort": [7.0, np.inf]},
        [(-1, 3), (-2, 4)],
    )
    springs = {"stiffness": [1.0, 2.0], "rest_position": [0.3, -0.4]}
    joint = acted(bounded(joint, bounds, **rates), damping=size * rng.uniform(size=2), **springs)
    # Seen from its child, it has its axes in the other order, and so whatever belongs to them.
    turned = replace(turned_round(joint), position=joint.position[::-1])
    turned = bounded(turned, bounds[::-1], **{key: each[::-1] for key, each in rates.items()})
    turned = acted(
        turned,
        damping=joint.dynamics.damping[::-1],
        **{key: each[::-1] for key, each in springs.items()},
    )
    body = rg.Body("b", rg.Inertia(size, rng.uniform(-1, 1, 3), size * np.eye(3)))
    robots = []
    for each in (joint, turned):
        robots.append(
            rg.to_pinocchio(rg.reduce(rg.Mechanism("m", (rg.Body("ground"), body), (each,))))
        )
    one, other = robots
    for key in (*ARRAYS, *BOUNDS):
        np.testing.assert_array_equal(getattr(one.model, key), getattr(other.model, key))
    v = rng.normal(size=2)
    forces = [robot.passive_forces(robot.q0, v) for robot in robots]
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-12)
    assert one.energy(one.q0, v) == pytest.approx(other.energy(other.q0, v), rel=1e-12)


def test_a_hinge_about_the_opposite_axis_has_opposite_bounds() -> None:
    values = {"damping": 0.5, "friction": 0.2, "stiffness": 3.0, "rest_position": 0.7}
    rates = {"velocity": [3.0], "effort": [4.0]}
    (hinge,) = pendulum(**values, armature=0.3).joints
    hinge = bounded(hinge, (-1.0, 2.0), **rates)
    back = bounded(replace(hinge, screws=-hinge.screws), (-2.0, 1.0), **rates)
    back = acted(back, rest_position=[-0.7])
    ends = [
        rg.simulate(replace(pendulum(), joints=(joint,)), duration=0.5, q=np.array([start]))
        for joint, start in ((hinge, 1.0), (back, -1.0))
    ]
    assert ends[0].coordinates[-1, 0] == pytest.approx(-ends[1].coordinates[-1, 0], abs=1e-9)
    assert [m.findings[0].severity for m in ends] == ["note", "note"]


def test_limits_that_are_passed_are_named() -> None:
    hinge = bounded(pendulum().joints[0], (-0.5, 2.0), velocity=[1.0], effort=[9.0])
    motion = rg.simulate(replace(pendulum(), joints=(hinge,)), duration=1.0, q=np.array([1.0]))
    [finding] = motion.findings
    assert (finding.code, finding.severity) == ("REG316", "warning")
    assert "`hinge` goes 0.5 beyond its bounds" in finding.message
    assert "faster than it may" in finding.message


#: Values per velocity, and per coordinate.
RATED = (*ARRAYS, "lowerEffortLimit", "lowerDryFrictionLimit")


def assert_values_of_pinocchios_own_reader(path: Path) -> bool:
    """Compare names, order and values of a URDF file's tree; False where a reader refuses it."""
    try:
        theirs = pin.buildModelFromUrdf(str(path))
        mechanism = rg.load(path, loops=False)
    except (ValueError, rg.RegularizeError):
        return False
    tree = replace(mechanism, joints=tuple(j for j in mechanism.joints if not j.closure))
    ours = rg.to_pinocchio(rg.reduce(replace(tree, couplings=()))).model
    assert list(ours.names) == list(theirs.names)
    for name in theirs.names[1:]:
        i, j = ours.getJointId(name), theirs.getJointId(name)
        # A joint that turns for ever is an angle here, a cosine and a sine there.
        turning = ours.nqs[i] != theirs.nqs[j]
        for key in (*RATED, *BOUNDS):
            first, count = ("idx_qs", "nqs") if key in BOUNDS else ("idx_vs", "nvs")
            mine, other = (
                getattr(m, key)[getattr(m, first)[k] :][: getattr(m, count)[k]]
                for m, k in ((ours, i), (theirs, j))
            )
            if turning and key in BOUNDS:
                assert abs(other[-1]) == 1.01
                other = np.append(other[:-2], np.copysign(np.inf, other[-1]))
            other = np.where(np.abs(other) > 1e300, np.copysign(np.inf, other), other)
            np.testing.assert_array_equal(mine, other, err_msg=f"{path.name} {name} {key}")
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "least"), [(ASSETS, 30), (CORPUS, 100)])
def test_trees_have_the_values_of_pinocchios_own_reader(folder: Path, least: int) -> None:
    if not folder.exists():
        pytest.skip("no corpus")
    files = [*folder.rglob("*.urdf")]
    assert sum(map(assert_values_of_pinocchios_own_reader, files)) >= least


@pytest.mark.slow
def test_limits_without_bounds_are_zero_in_pinocchio_and_lock_nothing_here(tmp_path: Path) -> None:
    path, silent = tmp_path / "bars.urdf", '<limit effort="3" velocity="40"/></joint>'
    text = (ASSETS / "planar_fourbar.urdf").read_text().replace("continuous", "revolute", 1)
    path.write_text(text.replace("</joint>", silent, 1))
    assert assert_values_of_pinocchios_own_reader(path)
    mechanism = rg.load(path)
    robot = rg.to_pinocchio(rg.reduce(mechanism))
    assert robot.model.upperPositionLimit[0] == robot.model.lowerPositionLimit[0] == 0.0
    for coordinates in ("all", "minimal"):
        run = rg.simulate(mechanism, duration=0.2, solver=rg.Solver(coordinates))
        assert {f.severity for f in run.findings if f.code == "REG316"} == {"note"}
        assert np.ptp(run.coordinates[:, 0]) > 1e-3
    for form in ("again.urdf", "again.json", "again.sdf", "again.xml"):
        rg.save(mechanism, tmp_path / form)
        found = rg.load(tmp_path / form).joint("A").limits
        assert found is not None and not found.bounded and found.effort == [3]
        assert (found.lower is None) == (form in ("again.urdf", "again.json"))
    assert "lower" not in (tmp_path / "again.urdf").read_text()


@pytest.mark.slow
def test_mjcf_has_the_values_of_pinocchios_own_reader() -> None:
    pytest.importorskip("mujoco")
    path = CORPUS / "mjcf/menagerie_robotiq_2f85/2f85.xml"
    if not path.exists():
        pytest.skip("no corpus")
    robot = rg.to_pinocchio(rg.reduce(rg.load(path), keep_cuts=True))
    theirs = pin.buildModelFromMJCF(str(path))
    assert list(robot.model.names) == list(theirs.names)
    for key in (*ARRAYS, *BOUNDS):
        np.testing.assert_allclose(getattr(robot.model, key), getattr(theirs, key), rtol=1e-12)
    assert np.any(theirs.armature) and np.any(theirs.damping)
    springs = [f for f in robot.findings if f.code == "REG325"]
    assert springs and "springs" in springs[0].message


def test_pinocchio_models_keep_their_values_both_ways() -> None:
    model, rng = pin.buildSampleModelManipulator(), np.random.default_rng(0)
    for key in ARRAYS:
        setattr(model, key, rng.uniform(0.1, 1.0, model.nv))
    model.lowerPositionLimit, model.upperPositionLimit = -rng.uniform(size=(2, model.nq))
    robot = rg.to_pinocchio(rg.reduce(rg.from_pinocchio(model)))
    for key in (*ARRAYS, *BOUNDS):
        np.testing.assert_array_equal(getattr(robot.model, key), getattr(model, key))


@pytest.mark.slow
def test_a_changed_joint_keeps_what_acts_along_its_own_freedom(tmp_path: Path) -> None:
    mechanism = fourbar()
    joints = [bounded(joint, (-3.0, 3.0), velocity=[5.0]) for joint in mechanism.joints]
    rg.save(replace(mechanism, joints=joints), tmp_path / "m.json")
    data = json.loads((tmp_path / "m.json").read_text())
    data["actuators"] = [{"name": f"m{joint.name}", "joint": joint.name} for joint in joints]
    (tmp_path / "m.json").write_text(json.dumps(data))
    mechanism = rg.load(tmp_path / "m.json")
    cure = next(c for c in rg.cures(rg.reduce(mechanism)) if "cylindrical" in c.kinds.values())
    changed = cure.reduction.mechanism
    name = next(name for name, kind in cure.kinds.items() if kind == "cylindrical")
    after, before = changed.joint(name), mechanism.joint(name)
    assert after.dynamics.damping[1] == before.dynamics.damping[0] and not after.dynamics.damping[0]
    assert after.limits is not None and after.limits.tolist() == [[-np.inf, np.inf], [-3.0, 3.0]]
    assert next(a for a in changed.actuators if a.joint == name).freedom == 1


@pytest.mark.slow
def test_mjcf_file_moves_as_mujoco_moves_it(tmp_path: Path) -> None:
    """Degrees, default classes, a rotor behind a gear and a ball joint, read and stepped."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco><compiler angle="degree"/><option timestep="1e-4" integrator="RK4"/>
        <default><joint damping="0.3" armature="0.02"/>
        <default class="soft"><joint stiffness="2" springref="40" damping="0.1"/></default>
        </default>
        <worldbody><body name="a"><joint name="hinge" axis="0 1 0" class="soft"/>
        <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="1"/>
        <body name="b" pos="0.4 0 0"><joint name="slide" type="slide" axis="1 0 0" stiffness="80"/>
        <geom size="0.05" mass="0.5"/><body name="c" pos="0.1 0 0">
        <joint name="ball" type="ball" stiffness="1" damping="0.05"/>
        <geom type="box" size="0.1 0.02 0.05" pos="0.1 0 0.03" mass="0.4"/></body></body></body>
        </worldbody><actuator><general joint="hinge" gear="3" armature="0.01" damping="0.02"/>
        </actuator></mujoco>"""
    )
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    for _ in range(5000):
        mujoco.mj_step(model, data)
    motion = rg.simulate(rg.load(path), duration=0.5)
    ball = pin.log3(pin.Quaternion(*data.qpos[2:6]).matrix())
    assert np.linalg.norm(ball) > 0.1
    np.testing.assert_allclose(motion.coordinates[-1], [*data.qpos[:2], *ball], atol=1e-6)
    assert motion.energy_drift < 1e-7


def test_a_drive_overcomes_what_acts_in_its_joint() -> None:
    motion = rg.simulate(
        pendulum(damping=0.5, stiffness=3.0, rest_position=0.7, armature=0.3),
        duration=0.6,
        drive={"hinge": "0.4*sin(3*t)"},
    )
    t = motion.time
    theta, rate, acceleration = 0.4 * np.sin(3 * t), 1.2 * np.cos(3 * t), -3.6 * np.sin(3 * t)
    expected = (MOMENT + 0.3) * acceleration + WEIGHT * np.sin(theta) + 0.5 * rate
    np.testing.assert_allclose(motion.drive_forces[:, 0], expected + 3.0 * (theta - 0.7), atol=1e-8)
    assert motion.energy_drift < 1e-7
