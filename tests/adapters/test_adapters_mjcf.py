import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mechanisms import with_coordinates
from screws import body_poses, exp, inverse
from simulation_cases import CORPUS, assert_one_redundant_loop, read
from simulation_fixtures import MECHANISMS, mjcf

import regularize as rg
from regularize.adapters import detect
from regularize.adapters.common.write import spanning
from regularize.adapters.mjcf.compiled import compiled as compile_file
from regularize.lie.screw import log, log_rotation, transform
from regularize.mechanism.mechanism import ActuatorGains

mujoco = pytest.importorskip("mujoco")

FILES = sorted((CORPUS / "mjcf").glob("*/*.xml"))
#: Files that MuJoCo itself refuses, and the word in its message.
REFUSED = {"mjx__mujoco__mjx__test_data__constraints.xml": "must be slide or hinge"}


def random_configuration(m: Any, rng: Any) -> Any:
    q = np.array(m.qpos0)
    mujoco.mj_integratePos(m, q, rng.uniform(-0.9, 0.9, m.nv), 1.0)
    return q


def moved(m: Any, q: Any, v: Any = 0.0, ctrl: Any = 0.0) -> Any:
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, ctrl
    mujoco.mj_forward(m, data)
    return data


def corpus(name: str) -> Path:
    path = CORPUS / name
    return path if path.exists() else pytest.skip("no corpus")


def compiled(path: Any) -> Any:
    return compile_file(str(path)).model


def moving_joints(mechanism: Any, m: Any) -> Any:
    """The mechanism's joints in MuJoCo's order: by name, or as the reader lists them."""
    moving = {j.name: j for j in mechanism.joints if not j.closure and j.kind != "fixed"}
    assert len(moving) == m.njnt
    names = [m.joint(i).name for i in range(m.njnt)]
    return [moving[n] for n in names] if {*names} == {*moving} else [*moving.values()]


def ball_frame(mechanism: Any, joint: Any) -> Any:
    """Rotation of a ball joint's frame on the body that it moves in MuJoCo."""
    turned = joint.name in spanning(mechanism).turned
    return (joint.T_parent_joint if turned else joint.T_child_joint)[:3, :3]


def coordinates(mechanism: Any, m: Any, q: Any) -> Any:
    """The mechanism's coordinates at MuJoCo's configuration, joint by joint in MuJoCo's order."""

    def rotation(wxyz: Any) -> Any:
        flat = np.zeros(9)
        mujoco.mju_quat2Mat(flat, np.array(wxyz))
        return flat.reshape(3, 3)

    values = {}
    for i, joint in enumerate(moving_joints(mechanism, m)):
        at = m.jnt_qposadr[i]
        if joint.kind == "free":
            T = transform(rotation(q[at + 3 : at + 7]), q[at : at + 3])
            values[joint.name] = log(inverse(joint.T_parent_joint) @ T)
        elif joint.kind == "spherical":
            # Where the tree enters a ball joint by its child, the rotation is the inverse one.
            sign = -1.0 if joint.name in spanning(mechanism).turned else 1.0
            R = ball_frame(mechanism, joint)
            values[joint.name] = sign * R.T @ log_rotation(rotation(q[at : at + 4]))
        else:
            values[joint.name] = q[at : at + 1]
    return np.concatenate(
        [values.get(j.name, np.zeros(j.freedoms)) for j in mechanism.joints] or [np.zeros(0)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_real_file_has_kinematics_and_masses_of_mujoco_or_is_refused(path: Path) -> None:
    if path.name in REFUSED:
        with pytest.raises(rg.ReadError, match=f"^[^\n]*{REFUSED[path.name]}[^\n]*$"):
            read(path)
        return
    reduction = rg.reduce(read(path))
    assert reduction.redundant == reduction.equations - reduction.rank >= 0
    # What does not close near where it is drawn is not walked.
    assert reduction.certificate.holds or not reduction.assembly.closed
    assert detect(path).name == "mjcf"
    mechanism, m = read(path, keyframe=False), compiled(path)
    names = [body.name for body in mechanism.bodies[: m.nbody]]
    rng = np.random.default_rng(1)
    for _ in range(3):
        q = random_configuration(m, rng)
        data = moved(m, q)
        ours = body_poses(with_coordinates(mechanism, coordinates(mechanism, m, q)))
        for i, name in enumerate(names):
            np.testing.assert_allclose(ours[name][:3, 3], data.xpos[i], atol=1e-10)
            np.testing.assert_allclose(ours[name][:3, :3], data.xmat[i].reshape(3, 3), atol=1e-10)
    known = [b.inertia for b in mechanism.bodies[1:] if b.inertia is not None]
    if not any("no mass properties" in f.message for f in mechanism.findings):
        # Vertices that stand in the file itself have a mass as well.
        whole = mujoco.MjModel.from_xml_path(str(path)) if "vertex=" in path.read_text() else m
        assert sum(i.mass for i in known) == pytest.approx(whole.body_mass[1:].sum(), rel=1e-12)


@pytest.mark.slow
def test_closure_residuals_are_those_of_mujoco() -> None:
    path = corpus("mjcf/menagerie_agility_cassie/cassie.xml")
    mechanism, m = read(path, keyframe=False), compiled(path)
    q = random_configuration(m, np.random.default_rng(3))
    data = moved(m, q)
    ours = body_poses(with_coordinates(mechanism, coordinates(mechanism, m, q)))
    closures = [joint for joint in mechanism.joints if joint.closure]
    assert len(closures) == m.neq == 4
    gaps = []
    for joint in closures:
        ends = [ours[joint.parent] @ joint.T_parent_joint, ours[joint.child] @ joint.T_child_joint]
        gaps += [*(ends[0][:3, 3] - ends[1][:3, 3])]
    np.testing.assert_allclose(gaps, data.efc_pos[: data.ne], atol=1e-9)


@pytest.mark.slow
def test_connects_of_cassie_and_of_a_gripper_have_two_redundant_rows_each() -> None:
    # 12 rows of four connects, 10 of them independent: the plantar loops are planar. At the
    # keyframe as saved MuJoCo's Jacobian has rank 12, for its connects are open by 2 mm there.
    reduction = rg.reduce(read(corpus("mjcf/menagerie_agility_cassie/cassie.xml")))
    assert (reduction.redundant, reduction.mobility) == (2, 22)
    assert 1e-3 < reduction.assembly.worst_before[0] < 3e-3
    assert reduction.assembly.worst_after[0] < 1e-12
    mechanism = read(corpus("mjcf/menagerie_robotiq_2f85/2f85.xml"))
    reduction = rg.reduce(mechanism)
    assert (reduction.redundant, reduction.mobility) == (2, 3)
    assert [c.kind for c in mechanism.couplings] == ["mimic"]
    driven = {j.name for j in mechanism.joints if j.actuated}
    assert driven == {"left_driver_joint", "right_driver_joint"}


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_two_connects_are_one_hinge(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text(mjcf(name))
    mechanism = read(path)
    assert_one_redundant_loop(mechanism)
    closing = "C" if name == "slider_crank" else "D"
    joint = mechanism.joint(closing)
    assert (joint.kind, joint.closure) == ("revolute", True)
    [finding] = mechanism.findings
    assert (finding.code, finding.severity) == ("REG211", "warning")
    assert "the sixth row is redundant" in finding.message
    line = mjcf(name).splitlines()[finding.source.line - 1]
    assert f'name="{closing}_z"' in line


def model(tmp_path: Path, body: Any, extra: Any = "", name: Any = "model.xml") -> Any:
    path = tmp_path / name
    path.write_text(f"<mujoco><worldbody>{body}</worldbody>{extra}</mujoco>")
    return path


BALL = '<geom type="sphere" size="0.1" mass="1"/>'


def test_joints_of_one_body_keep_their_names_and_order(tmp_path: Path) -> None:
    path = model(
        tmp_path,
        f'<body name="b" pos="1 2 3" euler="10 20 30"><joint name="x" type="slide" axis="1 0 0"/>'
        f'<joint name="h" type="hinge" axis="0 1 1" pos="0.1 0 0" ref="30"/>'
        f'<joint name="s" type="ball" pos="0 0.2 0"/>{BALL}</body>',
    )
    mechanism, m = read(path), compiled(path)
    assert [j.name for j in mechanism.joints] == ["x", "h", "s"]
    assert [b.name for b in mechanism.bodies] == ["world", "b", "b/x", "b/h"]
    assert mechanism.body("b/h").inertia.mass == 0.0
    assert mechanism.joint("h").position == pytest.approx([np.radians(30)])
    q = random_configuration(m, np.random.default_rng(4))
    data = moved(m, q)
    T = body_poses(with_coordinates(mechanism, coordinates(mechanism, m, q)))["b"]
    np.testing.assert_allclose(T[:3, 3], data.xpos[1], atol=1e-12)


def test_stored_positions_are_those_of_the_keyframe(tmp_path: Path) -> None:
    arm = f'<body name="c"><joint name="h"/>{BALL}</body>'
    body = f'<body name="b"><freejoint name="f"/>{BALL}{arm}</body>'
    home_key = '<key name="home" qpos="1 2 3 0 1 0 0 0.5"/>'
    keys = f'<keyframe>{home_key}<key name="up" qpos="0 0 0 1 0 0 0 1"/></keyframe>'
    path = model(tmp_path, body, keys)
    home = read(path)
    assert [f.code for f in home.findings] == ["REG016"]
    expected = [[1, 0, 0, 1], [0, -1, 0, 2], [0, 0, -1, 3]]
    np.testing.assert_allclose(exp(home.joint("f").position)[:3], expected, atol=1e-12)
    assert home.joint("h").position == pytest.approx([0.5])
    assert read(path, keyframe="up").joint("h").position == pytest.approx([1.0])
    assert read(path, keyframe=False).joint("h").position == pytest.approx([0.0])
    with pytest.raises(rg.ReadError, match="no keyframe `hom`; did you mean `home`"):
        read(path, keyframe="hom")


def test_several_root_bodies_and_a_world_connect(tmp_path: Path) -> None:
    body = f'<body name="a" pos="0 0 1"><joint name="ja"/>{BALL}</body>'
    body += f'<body name="b"><joint name="jb"/>{BALL}</body>'
    equality = '<equality><connect body1="a" anchor="0 0.5 0"/></equality>'
    mechanism = read(model(tmp_path, body, equality))
    closing = mechanism.joints[-1]
    assert (closing.parent, closing.child, closing.kind) == ("a", "world", "spherical")
    assert rg.reduce(mechanism).mobility == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("points", "kind", "words"),
    [
        (("0 0 0", "0 0 0"), "spherical", "3 rows are redundant"),
        (("0 0 0", "0 0 1", "0 0 2"), "revolute", "4 rows are redundant"),
        (("0 0 0", "0 0 1", "0 1 0"), "fixed", "3 rows are redundant"),
    ],
)
def test_connects_of_one_pair_amount_to_one_joint(
    points: Any, kind: str, words: str, tmp_path: Path
) -> None:
    rows = "".join(f'<connect body1="a" body2="b" anchor="{p}"/>' for p in points)
    body = f'<body name="a"><freejoint/>{BALL}</body>'
    body += f'<body name="b" euler="10 0 40"><freejoint/>{BALL}</body>'
    mechanism = read(model(tmp_path, body, f"<equality>{rows}</equality>"))
    [closing] = [j for j in mechanism.joints if j.closure]
    assert closing.kind == kind
    assert re.search(words, next(f.message for f in mechanism.findings if f.code == "REG211"))
    assert rg.reduce(mechanism).assembly.worst_before == pytest.approx((0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize("sites", [False, True])
@pytest.mark.parametrize(("scale", "kind", "rank"), [(1, "fixed", 6), (0, "spherical", 3)])
def test_welds_hold_orientations_if_they_scale_torques(
    scale: float, kind: str, rank: int, sites: bool, tmp_path: Path
) -> None:
    body = f'<body name="a"><freejoint/>{BALL}<site name="s" pos="0 1 0" euler="0 0 30"/></body>'
    body += f'<body name="b" pos="1 2 3"><freejoint/>{BALL}<site name="t" pos="0 2 0"/></body>'
    ends = 'site1="s" site2="t"' if sites else 'body1="a" body2="b" anchor="0 2 0"'
    path = model(tmp_path, body, f'<equality><weld {ends} torquescale="{scale}"/></equality>')
    [closing] = [joint for joint in read(path).joints if joint.closure]
    assert closing.kind == kind
    np.testing.assert_allclose(closing.T_child_joint[:3, 3], [0.0, 2.0, 0.0], atol=1e-12)
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    data = moved(m, m.qpos0)
    assert np.linalg.matrix_rank(data.efc_J.reshape(-1, m.nv)[: data.nefc]) == rank


@pytest.mark.parametrize(
    ("equality", "words"),
    [
        ('<connect name="e" site1="s" site2="u"/>', "`e` joins body `a` to itself"),
        ('<tendon name="e" tendon1="rope" polycoef="0 1 0 0 0"/>', "`e` is not linear"),
        ('<tendon tendon1="rope" polycoef="0 1 0 0 0"/>', "`tendon_rope` is not linear"),
        (
            '<connect body1="a" body2="b" anchor="0 0 0" active="false"/>',
            "`connect_a_b` is not active",
        ),
    ],
)
def test_equalities_that_are_not_read_are_named(equality: str, words: str, tmp_path: Path) -> None:
    body = f"""<body name="a"><joint name="j"/><site name="s"/><site name="u"/>{BALL}</body>
    <body name="b"><joint name="ball" type="ball"/>{BALL}</body><site name="t" pos="1 0 0"/>"""
    rope = '<tendon><spatial name="rope"><site site="s"/><site site="t"/></spatial></tendon>'
    path = model(tmp_path, body, f"{rope}<equality>{equality}</equality>")
    mechanism = read(path)
    assert not mechanism.couplings and not any(joint.closure for joint in mechanism.joints)
    assert any(words in finding.message for finding in mechanism.findings)


def test_joint_and_tendon_equalities_are_rows(tmp_path: Path) -> None:
    body = "".join(
        f'<body name="{n}"><joint name="{n}" ref="{ref}"/>{BALL}</body>'
        for n, ref in (("a", 0), ("b", 90), ("c", 0))
    )
    extra = """<tendon><fixed name="t">
    <joint joint="a" coef="2"/><joint joint="c" coef="3"/></fixed></tendon>
    <equality><joint name="lin" joint1="a" joint2="b" polycoef="0.1 2 0 0 0"/>
    <joint name="alone" joint1="c" polycoef="0.3 0 0 0 0"/>
    <tendon name="ten" tendon1="t" polycoef="0.2 0 0 0 0"/>
    <joint name="square" joint1="a" joint2="b" polycoef="0 1 1 0 0"/></equality>"""
    mechanism = read(model(tmp_path, body, extra))
    rows = {c.name: c for c in mechanism.couplings}
    assert rows["lin"].terms == (("a", 0, 1.0), ("b", 0, -2.0))
    assert rows["lin"].offset == pytest.approx(0.1 - 2 * np.pi / 2)
    assert rows["alone"].terms == (("c", 0, 1.0),)
    assert rows["alone"].offset == pytest.approx(0.3)
    assert rows["ten"].terms == (("a", 0, 2.0), ("c", 0, 3.0))
    assert rows["ten"].offset == pytest.approx(0.2)
    assert rows["square"].curved and [name for name, *_ in rows["square"].terms] == ["a", "b"]
    assert not any(f.severity == "warning" for f in mechanism.findings)


def test_meshes_are_named_but_never_opened(tmp_path: Path) -> None:
    body = """<body name="a"><freejoint/>
    <geom type="mesh" mesh="m" pos="1 0 0" euler="0 0 90"/></body>
    <body name="b"><freejoint/><inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/>
    <geom type="mesh" mesh="m"/></body>
    <body name="c"><joint name="h" damping="1 2"/><geom size=".1" mass="1"/>
    <body name="d"><joint/></body></body>"""
    asset = """<asset><mesh name="m" file="there/is/none.stl" scale="2 2 2"/>
    <texture name="t" type="2d" file="none.png"/><material name="mt" texture="t"/></asset>"""
    mechanism = read(model(tmp_path, body, asset))
    [shape] = mechanism.body("a").geometry
    assert (shape.kind, shape.size.tolist()) == ("mesh", [2.0, 2.0, 2.0])
    assert shape.uri.endswith("there/is/none.stl")
    np.testing.assert_allclose(shape.T_body_geometry[:3, 3], [1, 0, 0])
    np.testing.assert_allclose(shape.T_body_geometry[:3, 0], [0, 1, 0], atol=1e-12)
    masses = {b.name: b.inertia and b.inertia.mass for b in mechanism.bodies[1:]}
    assert masses == {"a": None, "b": 3.0, "c": 1.0, "d": None}
    assert any(f.code == "REG014" and "`a`" in f.message for f in mechanism.findings)
    assert any("beyond their linear terms" in f.message for f in mechanism.findings)


def test_motors_are_the_joints_that_actuators_move(tmp_path: Path) -> None:
    body = "".join(f'<body><joint name="{n}"/>{BALL}</body>' for n in "abc")
    extra = """<tendon><fixed name="t"><joint joint="c" coef="1"/></fixed></tendon>
    <actuator><motor joint="b"/><position tendon="t"/></actuator>"""
    mechanism = read(model(tmp_path, body, extra))
    assert [j.actuated for j in mechanism.joints] == [False, True, True]
    assert [j.actuated for j in read(model(tmp_path, body)).joints] == [None, None, None]


@pytest.mark.parametrize(
    ("motor", "kind"),
    [
        ("<motor name='m' joint='j'/>", "motor"),
        ("<position name='m' joint='j' kp='5'/>", "position"),
        ("<velocity name='m' joint='j' kv='5'/>", "velocity"),
        ("<damper name='m' joint='j' kv='5' ctrlrange='0 1'/>", "general"),
        ("<general name='m' joint='j' biastype='affine' biasprm='1 0 0'/>", "general"),
        ("<general name='m' joint='j' biastype='affine' biasprm='0 0 0'/>", "general"),
        ("<muscle name='m' joint='j' lengthrange='0.1 1'/>", "general"),
    ],
)
def test_what_an_actuator_is_controlled_by(motor: str, kind: str, tmp_path: Path) -> None:
    body = f'<body name="a"><joint name="j"/>{BALL}</body>'
    mechanism = read(model(tmp_path, body, f"<actuator>{motor}</actuator>"))
    (actuator,) = mechanism.actuators
    assert (actuator.name, actuator.joint, actuator.kind) == ("m", "j", kind)
    assert (actuator.gains is None) == (motor[1:7] in ("damper", "muscle"))


def test_the_whole_joint(tmp_path: Path) -> None:
    body = """<body name="a"><joint name="j" class="stiff" actuatorfrcrange="-7 7" springref="90"/>
    <joint name="k" range="-90 45"/><geom size="0.1" mass="2"/></body>"""
    rest = """<default><default class="stiff"><joint armature="1" damping="2" stiffness="3"
    frictionloss="4"/></default></default><actuator><motor joint="j" name="m" gear="25"
    ctrlrange="-1 1"/><position joint="k" name="p" kp="50" kv="5" forcerange="-6 6"/></actuator>"""
    mechanism = read(model(tmp_path, body, rest))
    j, k = mechanism.joint("j"), mechanism.joint("k")
    stated = {key: float(value[0]) for key, value in j.dynamics.stated().items()}
    rest_position = stated.pop("rest_position")
    assert stated == {"armature": 1, "damping": 2, "stiffness": 3, "friction": 4}
    assert rest_position == pytest.approx(math.pi / 2)
    assert j.limits is not None and j.limits.effort == [7] and not j.limits.bounded
    assert k.limits == pytest.approx(np.radians([[-90, 45]])) and not k.dynamics
    motor, servo = mechanism.actuators
    assert (motor.kind, motor.gear, motor.control_range) == ("motor", 25, (-1, 1))
    assert (servo.kind, servo.force_range) == ("position", (-6, 6))
    assert servo.gains == ActuatorGains(50, 50, 5)
    assert servo.source is not None and str(servo.source.element).endswith("position[@name='p']")


def test_motors_without_a_joint_and_one_sided_bounds_are_named(tmp_path: Path) -> None:
    body = f"""<body name="a"><joint name="j" actuatorfrcrange="-1 7"/>
    <joint name="k" axis="1 0 0" actuatorfrcrange="-7 7"/><site name="s"/>{BALL}</body>
    <site name="t" pos="1 0 0"/>"""
    rest = """<tendon><spatial name="rope"><site site="s"/><site site="t"/></spatial></tendon>
    <actuator><motor name="winch" tendon="rope"/><motor site="s" gear="0 0 1 0 0 0"/>
    <motor name="m" joint="k"/></actuator>"""
    mechanism = read(model(tmp_path, body, rest))
    said = [f.message for f in mechanism.findings if f.code == "REG013"]
    [bound] = [text for text in said if "larger magnitude" in text]
    assert "`j`" in bound and "-1 to 7" in bound
    [motors] = [text for text in said if "no motors of joints" in text]
    assert "`winch`, `actuator[2]`" in motors and "`m`" not in motors
    lost = [f.message for f in rg.save(mechanism, tmp_path / "new.urdf") if f.code == "REG329"]
    assert any("<motor> `winch`" in text for text in lost)
    assert sum("<motor>" in text for text in lost) == 2


def test_included_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(
        f'<mujocoinclude><body name="a"><joint name="j"/>{BALL}</body></mujocoinclude>'
    )
    path = tmp_path / "scene.xml"
    path.write_text('<mujoco><worldbody><include file="arm.xml"/></worldbody></mujoco>')
    mechanism = read(path)
    assert mechanism.files == (str(tmp_path / "arm.xml"),)
    assert mechanism.joint("j").source.path == str(tmp_path / "arm.xml")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["menagerie_agility_cassie/cassie", "menagerie_robotiq_2f85/2f85"])
def test_pinocchio_has_mass_matrix_and_gravity_of_mujoco(name: str) -> None:
    path = corpus(f"mjcf/{name}.xml")
    mechanism, m = read(path), compiled(path)
    for body in mechanism.bodies[: m.nbody]:
        if body.inertia is None:  # MuJoCo weighs the mesh there, which is not opened
            i = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_BODY, body.name)
            m.body_mass[i], m.body_inertia[i] = 0.0, 0.0
    assert_same_dynamics(mechanism, m)


def assert_same_dynamics(mechanism: Any, m: Any) -> None:
    """Compare mass matrix and gravity terms at a random configuration to 1e-9."""
    pin = pytest.importorskip("pinocchio")
    robot = rg.to_pinocchio(rg.reduce(mechanism, keep_cuts=True))
    data = moved(m, random_configuration(m, np.random.default_rng(5)))
    q = robot.configuration(coordinates(mechanism, m, data.qpos))
    # MuJoCo's velocities by Pinocchio's: free bodies count their linear part in the world.
    B = np.zeros((m.nv, robot.model.nv))
    for i, joint in enumerate(moving_joints(mechanism, m)):
        at = m.jnt_dofadr[i]
        columns = [robot.velocity_index(joint.name, k) for k in range(joint.freedoms)]
        B[np.arange(at, at + joint.freedoms), columns] = 1.0
        if joint.kind == "spherical":
            B[at : at + 3, columns] = ball_frame(mechanism, joint)
        if joint.kind == "free":
            B[at : at + 3, columns[:3]] = data.xmat[m.jnt_bodyid[i]].reshape(3, 3)
    theirs = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, data, theirs)
    ours = pin.crba(robot.model, robot.data, q)
    ours = np.triu(ours) + np.triu(ours, 1).T
    np.testing.assert_allclose(ours, B.T @ theirs @ B, atol=1e-9)
    gravity = pin.computeGeneralizedGravity(robot.model, robot.data, q)
    np.testing.assert_allclose(gravity, B.T @ data.qfrc_bias, atol=1e-9)


def test_what_deforms_is_left_out_and_named(tmp_path: Path) -> None:
    body = f'<body name="a"><joint name="j"/>{BALL}</body><body name="b">{BALL}</body>'
    skin = """<skin name="s" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"><bone body="a"
      bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin>"""
    flex = '<flex name="f" dim="1" body="a b" vertex="0 0 0 0 0 1" element="0 1"/>'
    whole = read(model(tmp_path, body))
    for extra, named in ((skin, False), (flex, True)):
        mechanism = read(model(tmp_path, body, f"<deformable>{extra}</deformable>"))
        assert [joint.name for joint in mechanism.joints] == [joint.name for joint in whole.joints]
        assert any("<flex>" in finding.message for finding in mechanism.findings) == named


@pytest.mark.slow
def test_closures_of_attached_models_stand_in_no_line_of_this_file(tmp_path: Path) -> None:
    two = f"""<body name="a">{{0}}<body name="b"><joint name="j"/>{BALL}</body></body>"""
    connect = '<equality><connect name="e" body1="a" body2="b" anchor="1 0 0"/></equality>'
    model(tmp_path, two.format(""), connect, "arm.xml")
    assets = '<asset><model name="arm" file="arm.xml"/></asset>'
    attached = two.format('<attach model="arm" body="a" prefix="p_"/>')
    found = read(model(tmp_path, attached, assets + connect))
    own, other = (found.joint(name).source for name in ("e", "p_e"))
    assert own is not None and own.line == 1
    assert other is not None and other.element == "equality[2]"


def test_files_may_end_otherwise(tmp_path: Path) -> None:
    (tmp_path / "gravity.xml").write_text('<mujoco><option gravity="0 0 -1"/></mujoco>')
    text = """<mujoco><include file="gravity.xml"/><worldbody><body name="link"><geom size=".1"/>
    <joint name="hinge"/></body></worldbody></mujoco>"""
    (tmp_path / "arm.mjcf").write_text(text)
    mechanism = rg.load(tmp_path / "arm.mjcf")
    assert [joint.name for joint in mechanism.joints] == ["hinge"]
    rg.save(mechanism, tmp_path / "again.mjcf")
    assert [joint.name for joint in rg.load(tmp_path / "again.mjcf").joints] == ["hinge"]


FINGER = f"""<body name="a"><joint name="j" axis="0 1 0"/>{BALL}<body name="b" pos="0.3 0 0">
<joint name="k" type="slide" axis="1 0 0" ref="0.1"/>{BALL}</body></body>
<body name="c" pos="0 1 0"><joint name="l" type="ball"/>{BALL}</body>"""
MOTORS = """<tendon><fixed name="sum"><joint joint="j" coef="2"/><joint joint="k" coef="-3"/>
</fixed></tendon><actuator>
<position name="grip" tendon="sum" kp="5" kv="0.3" gear="2" ctrlrange="-1 1"/>
<motor name="grip_2" joint="j"/><velocity name="brake" tendon="sum" kv="0.7" forcerange="-2 2"/>
<position name="eye" joint="l" kp="4" gear="1 0 -2"/></actuator>"""


@pytest.mark.slow
def test_one_motor_of_several_coordinates_stays_one(tmp_path: Path) -> None:
    source = model(tmp_path, FINGER, MOTORS)
    mechanism = read(source)
    shared = {a.name: a.motor for a in mechanism.actuators}
    assert shared == {
        **{"grip": "grip", "grip_3": "grip", "grip_2": None},
        **{"brake": "brake", "brake_2": "brake", "eye": "eye", "eye_2": "eye"},
    }
    assert rg.save(mechanism, tmp_path / "again.xml") == ()
    one, two = (mujoco.MjModel.from_xml_path(str(p)) for p in (source, tmp_path / "again.xml"))
    assert [two.actuator(i).name for i in range(two.nu)] == ["grip", "grip_2", "brake", "eye"]
    rng = np.random.default_rng(0)
    qpos, qvel, ctrl = rng.normal(size=one.nq), rng.normal(size=one.nv), rng.normal(size=one.nu)
    forces = [moved(m, qpos, qvel, ctrl).qfrc_actuator.copy() for m in (one, two)]
    np.testing.assert_allclose(forces[1], forces[0], rtol=1e-12)
    rg.save(mechanism, tmp_path / "own.json")
    assert {a.name: a.motor for a in rg.load(tmp_path / "own.json").actuators} == shared


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["urdf", "usda"])
def test_a_motor_of_several_coordinates_that_became_several_is_named(
    suffix: str, tmp_path: Path
) -> None:
    found = rg.save(read(model(tmp_path, FINGER, MOTORS)), tmp_path / f"new.{suffix}")
    said = [f.message for f in found if "together, became several" in f.message]
    assert any("`grip`" in text and "`j` and `k`" in text for text in said)
    assert any("`eye`" in text for text in said) == (suffix == "usda")


def test_what_of_tendons_and_motors_has_no_place_is_named(tmp_path: Path) -> None:
    acting = MOTORS.replace('name="sum"', 'name="sum" stiffness="3"')
    acting = acting.replace("<velocity", "<intvelocity actrange='-1 1'").replace('kv="0.7"', "")
    mechanism = read(model(tmp_path, FINGER, acting))
    said = " ".join(f.message for f in mechanism.findings)
    assert "fixed tendons" in said and "activation states" in said and "`brake`" in said
    assert rg.save(mechanism, tmp_path / "again.xml") == ()  # the owner's own file
    lost = [f.message for f in rg.save(mechanism, tmp_path / "new.urdf") if f.code == "REG329"]
    assert any("<fixed> `sum`" in text for text in lost)


def test_two_equal_welds_are_two_closures() -> None:
    hinged = '<body name="{}"><joint axis="0 1 0"/><geom size=".1" mass="1"/></body>'
    bodies = hinged.format("a") + hinged.format("b")
    weld = '<weld body1="a" body2="b"/>'
    text = f"<mujoco><worldbody>{bodies}</worldbody><equality>{weld}{weld}</equality></mujoco>"
    found = rg.load(text, format="mjcf")
    assert sum(joint.closure for joint in found.joints) == 2
    assert rg.reduce(found).redundant == 11


def test_anchors_far_off_meet_by_the_line_that_is_said(tmp_path: Path) -> None:
    bar = '<joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 {} 0 0" size="0.01"/>{}</body>'
    bars = f'<body name="crank">{bar}<body name="long" pos="-0.3 0 0.5">{bar}'
    far = '<equality><connect name="pin" body1="crank" body2="long" anchor="0.15 0 0"/></equality>'
    (finding,) = read(model(tmp_path, bars.format(0.15, "", 0.5, ""), far)).findings
    assert "lies 0 mm from `crank` and 502 mm from `long` as they are drawn" in finding.message
    one, two, line = re.findall("<[^>]*>", finding.help[0])
    met = model(tmp_path, bars.format(0.15, one, 0.5, two), f"<equality>{line}</equality>")
    data = mujoco.MjData(m := mujoco.MjModel.from_xml_path(str(met)))
    mujoco.mj_step(m, data, 4000)
    assert np.linalg.norm(data.site_xpos[0] - data.site_xpos[1]) < 0.02
    body = "".join(f'<body name="{n}" pos="0 1 0"><joint/>{BALL}</body>' for n in "ab")
    connect = '<equality><connect body1="a" body2="b" anchor="0 1 0"/></equality>'
    (finding,) = read(model(tmp_path, body, connect)).findings
    assert finding.help == ('if it was meant in the world, write anchor="0 0 0"',)
