import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from simulation_cases import assert_one_redundant_loop, read

import regularize as rg

TURN = "0 0 1.5707963267948966"


def four_bar(tmp_path: Path, extra: Any = "", last: Any = "", name: Any = "robot.urdf") -> Any:
    """The planar four-bar along Y with its last hinge left out; frames are turned on the way."""
    links = "".join(f'<link name="{n}"/>' for n in ("ground", "crank", "coupler", "rocker"))
    joints = f"""
    <joint name="A" type="continuous"><parent link="ground"/><child link="crank"/>
      <axis xyz="0 1 0"/></joint>
    <joint name="B" type="continuous"><origin xyz="0.3 0 0.4" rpy="{TURN}"/>
      <parent link="crank"/><child link="coupler"/><axis xyz="1 0 0"/></joint>
    <joint name="C" type="continuous"><origin xyz="0 -1.2 0.5" rpy="0 0 -1.5707963267948966"/>
      <parent link="coupler"/><child link="rocker"/><axis xyz="0 1 0"/></joint>"""
    path = tmp_path / name
    path.write_text(f'<robot name="m">{links}{joints}{extra}{last}</robot>')
    return path


PIN = "<pose>-0.3 0 -0.9 0 0 0</pose>"
TURNED = f"<pose>-0.3 0 -0.9 {TURN}</pose>"


def gazebo(axis: Any, pose: Any = PIN, kind: Any = "revolute") -> Any:
    return (
        f'<gazebo><joint name="D" type="{kind}">{pose}<parent>ground</parent>'
        f"<child>rocker</child><axis>{axis}</axis></joint></gazebo>"
    )


@pytest.mark.parametrize(
    ("axis", "pose"),
    [
        ("<xyz>0 1 0</xyz>", PIN),
        ("<xyz>1 0 0</xyz>", TURNED),
        ("<xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", TURNED),
        ('<xyz expressed_in="__model__">0 1 0</xyz>', TURNED),
        ('<xyz expressed_in="coupler">1 0 0</xyz>', TURNED),
        ("<xyz>0 1 0</xyz>", '<pose relative_to="ground">1.2 0 0 0 0 0</pose>'),
        ("<xyz>0 1 0</xyz>", '<pose frame="__model__">1.2 0 0 0 0 0</pose>'),
        ("<xyz>0 1 0</xyz>", '<pose relative_to="C">-0.3 0 -0.9 0 0 0</pose>'),
        ("<xyz>0 1 0</xyz>", '<pose relative_to="eye">0 0 0 0 0 0</pose>'),
    ],
)
def test_joint_of_gazebo_closes_the_loop(axis: str, pose: str, tmp_path: Path) -> None:
    eye = (
        '<gazebo><frame name="eye" attached_to="ground"><pose>1.2 0 0 0 0 0</pose></frame></gazebo>'
    )
    mechanism = read(four_bar(tmp_path, gazebo(axis, pose), eye))
    assert_one_redundant_loop(mechanism)
    assert mechanism.joint("D").closure
    np.testing.assert_allclose(mechanism.joint("D").T_parent_joint[:3, 3], [1.2, 0, 0], atol=1e-12)


def test_frames_that_gazebo_does_not_find_are_errors(tmp_path: Path) -> None:
    pose = '<pose relative_to="grund">1.2 0 0 0 0 0</pose>'
    with pytest.raises(rg.ReadError, match="no link or frame `grund`; did you mean `ground`"):
        read(four_bar(tmp_path, gazebo("<xyz>0 1 0</xyz>", pose)))


DRAKE_ROBOT = """<robot name="rod" xmlns:drake="http://drake.mit.edu"><link name="base"/>
<link name="rod"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="weld" type="fixed"><parent link="world"/><child link="base"/></joint>
<drake:joint name="j" type="{}"><parent link="base"/><child link="rod"/>
<origin xyz="0 0 1" rpy="0.3 0 0"/><axis xyz="0 1 0"/><dynamics damping="{}"/>
<drake:screw_thread_pitch value="0.5"/></drake:joint></robot>"""


DRAKE_PLANE = """<sdf version="1.9"><model name="r"><link name="base"/><link name="rod"><inertial>
<mass>1</mass></inertial></link><joint name="weld" type="fixed"><parent>world</parent>
<child>base</child></joint><frame name="f" attached_to="base"><pose>1 0 1 0.3 0 0</pose></frame>
<drake:joint name="j" type="planar"><drake:parent>f</drake:parent><drake:child>rod</drake:child>
<drake:damping>1 2 3</drake:damping></drake:joint></model></sdf>"""


@pytest.mark.parametrize("kind", ["universal", "ball", "planar", "screw", "sdf"])
def test_joints_of_drake_move_as_in_drake(kind: str, tmp_path: Path) -> None:
    plants = pytest.importorskip("pydrake.multibody.plant")
    parsing = pytest.importorskip("pydrake.multibody.parsing")
    text = DRAKE_ROBOT.format(kind, "1 2 3" if kind == "planar" else "2")
    file = tmp_path / ("rod.sdf" if kind == "sdf" else "rod.urdf")
    file.write_text(DRAKE_PLANE if kind == "sdf" else text)
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModels(str(file))
    plant.Finalize()
    theirs, ours = plant.GetJointByName("j"), rg.load(file).joint("j")
    variable = pytest.importorskip("pydrake.multibody.tree").JacobianWrtVariable.kV
    rod, base = plant.GetFrameByName("rod"), plant.GetFrameByName("base")
    context = plant.CreateDefaultContext()
    rows = plant.CalcJacobianSpatialVelocity(context, variable, rod, np.zeros(3), base, base)
    R = ours.T_parent_joint[:3, :3]
    screws = np.vstack([R @ ours.screws[3:], R @ ours.screws[:3]])  # at the origin of the rod
    turns = np.linalg.pinv(screws) @ rows  # of our coordinates into theirs
    np.testing.assert_allclose(screws @ turns, rows, atol=1e-12)
    damping = turns.T @ np.diag(ours.dynamics.damping) @ turns
    np.testing.assert_allclose(np.diag(damping), theirs.default_damping_vector())


def test_frames_of_drake_name_loops(tmp_path: Path) -> None:
    ends = (("at_base", "ground", "1.2 0 0"), ("at_rocker", "rocker", "-0.3 0 -0.9"))
    frames = [f'<frame name="{n}" link="{link}" xyz="{xyz}" rpy="0 0 0"/>' for n, link, xyz in ends]
    path = four_bar(tmp_path, *frames)
    (offer,) = (finding for finding in read(path).findings if finding.code == "REG019")
    assert (
        rg.check(rg.load(path, close="at_base=at_rocker:ball")).as_dict()["mobility"]
        == (rg.check(four_bar(tmp_path, offer.help[-2].partition(": ")[2])).as_dict()["mobility"])
    )


def test_a_urdf_file_with_macros_is_expanded(tmp_path: Path) -> None:
    pytest.importorskip("xacrodoc")
    body = '<robot name="m" xmlns:xacro="http://ros.org/wiki/xacro">{}<link name="a"/></robot>'
    macro = '<xacro:macro name="twin"><link name="b"/></xacro:macro><xacro:twin/>'
    (tmp_path / "m.urdf").write_text(body.format(macro))
    (tmp_path / "plain.urdf").write_text(body.format("<!-- <xacro:twin/> ${x} -->"))
    mechanism = read(tmp_path / "m.urdf")
    assert ([b.name for b in mechanism.bodies], mechanism.format) == (["b", "a"], "xacro")
    assert read(tmp_path / "plain.urdf").format == "urdf"


def test_joint_of_gazebo_without_an_axis_turns_about_z(tmp_path: Path) -> None:
    joint = read(four_bar(tmp_path, gazebo(""))).joint("D")
    np.testing.assert_array_equal(joint.screws[:, 0], [0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize("frame", ["parent", "child"])
def test_loop_joint_of_fusion_has_points_and_one_axis(frame: str, tmp_path: Path) -> None:
    axis = {"parent": "0 1 0", "child": "1 0 0"}[frame]
    loop = f"""<loop_joint name="D" type="revolute"><parent link="ground"/><child link="coupler"/>
    <parent_origin xyz="1.2 0 0"/><child_origin xyz="0 -0.9 -0.4"/>
    <axis xyz="{axis}" frame="{frame}"/></loop_joint>"""
    joint = read(four_bar(tmp_path, loop)).joint("D")
    np.testing.assert_allclose(joint.T_parent_joint[:3, 3], [1.2, 0, 0])
    np.testing.assert_allclose(joint.T_child_joint[:3, 3], [0, -0.9, -0.4])
    for T, direction in ((joint.T_parent_joint, [0, 1, 0]), (joint.T_child_joint, [1, 0, 0])):
        np.testing.assert_allclose(T[:3, :3] @ joint.screws[3:, 0], direction, atol=1e-12)


def test_loop_joint_without_an_axis_turns_about_x_aloud(tmp_path: Path) -> None:
    loop = """<loop_joint name="D" type="revolute"><link1 link="ground" xyz="1.2 0 0" rpy="0 0 0"/>
    <link2 link="rocker" xyz="-0.3 0 -0.9" rpy="0 0 0"/></loop_joint>"""
    mechanism = read(four_bar(tmp_path, loop))
    np.testing.assert_allclose(mechanism.joint("D").screws[3:, 0], [1, 0, 0])
    (finding,) = mechanism.findings
    assert (finding.code, finding.severity) == ("REG013", "warning")
    assert "`D` gives no axis" in finding.message


def test_ends_of_a_loop_joint_are_asked_for_by_their_names(tmp_path: Path) -> None:
    loop = '<loop_joint name="D" type="spherical"><link1 link="ground"/></loop_joint>'
    with pytest.raises(rg.ReadError, match=r"add <link1 link=\.\.\.> and <link2 link=\.\.\.>"):
        read(four_bar(tmp_path, loop))


def test_passive_joints_of_a_transmission_are_said(tmp_path: Path) -> None:
    trans = """<transmission name="grip" type="pr2_mechanism_model/PR2GripperTransmission">
    <gap_joint name="A"/><passive_joint name="B"/><passive_joint name="C"/></transmission>"""
    (finding,) = read(four_bar(tmp_path, trans)).findings
    assert (finding.code, finding.severity, finding.joints) == ("REG013", "warning", ("B", "C"))
    assert "transmission `grip` couples `B`, `C`" in finding.message


def test_distance_constraint_of_drake_is_a_rod(tmp_path: Path) -> None:
    prefix = "drake:distance_constraint"
    rod = f"""<{prefix}><{prefix}_body_A name="ground"/><{prefix}_p_AP value="1.2 0 0"/>
    <{prefix}_body_B name="coupler"/><{prefix}_p_BQ value="0 -1.2 0.5"/>
    <{prefix}_distance value="{float(np.hypot(0.3, 0.9))!r}"/></{prefix}>"""
    mechanism = read(four_bar(tmp_path, rod))
    joint = mechanism.joints[-1]
    assert (joint.kind, joint.freedoms, joint.closure) == ("composite", 5, True)
    reduction = rg.reduce(mechanism)
    # A and B of a four-bar with a rod for the rocker, and the idle hinge C.
    assert (reduction.mobility, reduction.redundant) == (2, 0)
    assert max(reduction.assembly.worst_before) < 1e-12


@pytest.mark.parametrize(
    ("torque", "force", "kind"),
    [
        ("1 0 1", "1 1 1", "revolute"),
        ("0 0 0", "1 1 1", "spherical"),
        ("1 0 1", "1 0 1", "cylindrical"),
        ("1 1 1", "1 1 1", "fixed"),
    ],
)
def test_bushing_of_drake_is_free_where_it_is_soft(
    torque: str, force: str, kind: str, tmp_path: Path
) -> None:
    bushing = f"""<frame name="onGround" link="ground" xyz="1.2 0 0" rpy="0 0 0"/>
    <frame name="onRocker" link="rocker" xyz="-0.3 0 -0.9" rpy="0 0 0"/>
    <drake:linear_bushing_rpy><drake:bushing_frameA name="onGround"/>
    <drake:bushing_frameC name="onRocker"/>
    <drake:bushing_torque_stiffness value="{torque}"/><drake:bushing_torque_damping value="1 1 1"/>
    <drake:bushing_force_stiffness value="{force}"/><drake:bushing_force_damping value="1 1 1"/>
    </drake:linear_bushing_rpy>"""
    mechanism = read(four_bar(tmp_path, bushing))
    assert mechanism.joints[-1].kind == kind
    assert "REG015" in {f.code for f in mechanism.findings}
    if kind == "revolute":
        assert_one_redundant_loop(mechanism)


def test_closing_frames_of_onshape_are_balls_and_said_so(tmp_path: Path) -> None:
    frames = """<link name="closing_D_1"/><link name="closing_D_2"/>
    <joint name="f1" type="fixed"><origin xyz="1.2 0 0"/><parent link="ground"/>
    <child link="closing_D_1"/></joint>
    <joint name="f2" type="fixed"><origin xyz="-0.3 0 -0.9"/><parent link="rocker"/>
    <child link="closing_D_2"/></joint>"""
    mechanism = read(four_bar(tmp_path, frames))
    assert mechanism.joint("closing_D").kind == "spherical"
    [finding] = [f for f in mechanism.findings if f.code == "REG015"]
    assert finding.severity == "warning"
    reduction = rg.reduce(mechanism)
    assert (reduction.mobility, reduction.redundant) == (1, 1)
    # A kind that the file gives itself counts.
    loop = """<loop name="D" type="revolute"><predecessor link="closing_D_1"/>
    <successor link="closing_D_2"/><axis xyz="0 1 0"/></loop>"""
    mechanism = read(four_bar(tmp_path, frames, loop))
    assert "closing_D" not in [j.name for j in mechanism.joints]
    assert rg.reduce(mechanism).redundant == 3


CLOSURES = """closures:
  - link_a: ground
    link_b: rocker
    point: [1.2, 0.0, 0.0]
    axis: [0.0, 1.0, 0.0]
independent: [A]
dependent: [B, C]
"""
PINS = """ball_loops: []
pin_loops:
  - name: D
    parent: ground
    child: rocker
    parent_xyz: [1.2, 0.0, 0.0]
    child_xyz: [-0.3, 0.0, -0.9]
    axis: [0.0, 1.0, 0.0]
"""
BALLS = PINS.replace("ball_loops: []\npin_loops:", "ball_loops:").replace(
    "    axis: [0.0, 1.0, 0.0]\n", ""
)


@pytest.mark.slow
@pytest.mark.parametrize("text", [CLOSURES, PINS])
@pytest.mark.parametrize("folder", [".", "config"])
def test_loop_closures_beside_the_model(text: str, folder: str, tmp_path: Path) -> None:
    (tmp_path / "urdf").mkdir()
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "loop_closures.yaml").write_text(text)
    mechanism = read(four_bar(tmp_path / "urdf"))
    assert_one_redundant_loop(mechanism)
    assert len(mechanism.files) == 1
    if text is CLOSURES:
        assert [j.actuated for j in mechanism.joints] == [True, False, False, False]
    assert read(four_bar(tmp_path / "urdf"), loops=False).files == ()


def test_tolerances_beside_the_model(tmp_path: Path) -> None:
    stated = "tolerances:\n  A: [0.05mm, 1mrad]\n  D: {translation: 1e-4, rotation: 2e-3}\n"
    (tmp_path / "loop_closures.yaml").write_text(PINS + stated)
    mechanism = read(four_bar(tmp_path))
    assert mechanism.joint("A").tolerance == pytest.approx((5e-5, 1e-3))
    assert mechanism.joint("D").tolerance == pytest.approx((1e-4, 2e-3))
    assert mechanism.joint("B").tolerance is None
    for wrong, words in (
        ("[1, 0]", "not a positive"),
        ("[1furlong, 1]", "unit"),
        ("1mm", "one of"),
    ):
        text = PINS + f"tolerances: {{A: {wrong}}}\n"
        (tmp_path / "loop_closures.yaml").write_text(text)
        with pytest.raises(rg.ReadError, match=rf"loop_closures.yaml:\d+: tolerances/A: .*{words}"):
            read(four_bar(tmp_path))
    (tmp_path / "loop_closures.yaml").write_text(PINS + "tolerances: {E: [1mm, 1deg]}\n")
    with pytest.raises(rg.ReadError, match="no joint 'E'"):
        read(four_bar(tmp_path))


def test_upgrades_to_balls_are_said(tmp_path: Path) -> None:
    (tmp_path / "loop_closures.yaml").write_text(PINS + "ball_upgrades: [A]\n")
    mechanism = read(four_bar(tmp_path))
    assert mechanism.joint("A").kind == "revolute"
    [finding] = mechanism.findings
    assert "`ball_upgrades` is not read: those joints stay what the URDF" in finding.message
    assert finding.source is not None and finding.source.path.endswith("loop_closures.yaml")


def test_loop_closures_named_by_the_user(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(BALLS)
    mechanism = read(four_bar(tmp_path), loops=other)
    assert mechanism.joint("D").kind == "spherical"
    assert mechanism.files == (str(other),)


FAULTS = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_bytes())["loop_closures"]


@pytest.mark.parametrize(("text", "words"), [(fault["text"], fault["says"]) for fault in FAULTS])
def test_faults_in_loop_closures(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "loop_closures.yaml").write_text(text)
    with pytest.raises(rg.ReadError, match=words) as caught:
        read(four_bar(tmp_path))
    assert caught.value.path.endswith("loop_closures.yaml")


@pytest.mark.slow
def test_xacro_is_expanded_with_its_includes(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    head = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"'
    (tmp_path / "part.xacro").write_text(
        f'{head}><xacro:macro name="bar" params="n"><link name="${{n}}"/></xacro:macro></robot>'
    )
    path = tmp_path / "robot.urdf.xacro"
    path.write_text(
        f'{head} name="m"><xacro:include filename="part.xacro"/><xacro:arg name="x" default="1"/>'
        '<xacro:bar n="a"/><xacro:bar n="b"/><joint name="j" type="continuous"><parent link="a"/>'
        '<child link="b"/><origin xyz="$(arg x) 0 0"/></joint></robot>'
    )
    mechanism = read(path)
    assert (mechanism.format, [b.name for b in mechanism.bodies]) == ("xacro", ["a", "b"])
    assert mechanism.joint("j").T_parent_joint[0, 3] == 1
    assert read(path, arguments={"x": "2"}).joint("j").T_parent_joint[0, 3] == 2
    path.write_text(f'{head}><link name="${{1 / 0}}"/></robot>')
    with pytest.raises(rg.ReadError, match="xacro cannot expand it") as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_long_chains_and_many_parts_are_read_in_the_time_of_their_length(tmp_path: Path) -> None:
    """Steps are counted, not seconds: Python's own calls grow as the file does."""
    counted = {}
    for n in (500, 2000):
        links = "".join(f'<link name="l{k}"/>' for k in range(n + 1))
        joints = "".join(
            f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
            for k in range(n)
        )
        for what, inside in (("chain", links + joints), ("parts", links)):
            path = tmp_path / f"{what}{n}.urdf"
            path.write_text(f'<robot name="r">{inside}</robot>')
            steps = 0

            def count(frame: object, event: str, argument: object) -> object:
                nonlocal steps
                steps += event == "line"
                return count

            before = sys.gettrace()
            sys.settrace(count)
            try:
                mechanism = rg.load(path)
            finally:
                sys.settrace(before)
            assert len(mechanism.joints) == n
            counted[what, n] = steps
    for what in ("chain", "parts"):
        assert counted[what, 2000] < 5 * counted[what, 500]
