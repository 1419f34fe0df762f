"""Whole files in and out: what is written is the user's machine, or is named, or is not written."""

import shutil
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import trimesh
from mujoco_rows import equality_rows
from pxr import Usd, UsdPhysics
from test_fix import FRAMES, robot
from writing_table import TARGETS, line

import regularize as rg
from regularize.cli import main

ROOT = Path(__file__).resolve().parents[3]
ASSETS = ROOT / "assets"
CORPUS = ROOT.parent / "shared" / "corpus"

ARM = """<robot name="arm">
  <!-- a comment -->
  <link name="base"/>
  <link name="upper">
    <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="../meshes/upper.stl" scale="1 1 1"/></geometry></visual>
    <collision><geometry><capsule radius="0.1" length="0.5"/></geometry></collision>
  </link>
  <joint name="J" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/>
    <dynamics damping="0.5" friction="0.2"/>
    <safety_controller k_velocity="10"/>
  </joint>
  <transmission name="t"><type>transmission_interface/SimpleTransmission</type>
    <joint name="J"><hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>
    </joint><actuator name="motor"><mechanicalReduction>50</mechanicalReduction></actuator>
  </transmission>
  <gazebo reference="upper"/>
</robot>
"""


@pytest.fixture
def arm(tmp_path: Path) -> rg.Mechanism:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "meshes" / "upper.stl")
    (tmp_path / "urdf" / "arm.urdf").write_text(ARM)
    return rg.load(tmp_path / "urdf" / "arm.urdf")


def test_limits_damping_and_motors_arrive_in_pinocchio(arm: rg.Mechanism, tmp_path: Path) -> None:
    out = tmp_path / "elsewhere" / "deeper" / "arm.urdf"
    out.parent.mkdir(parents=True)
    findings = rg.save(arm, out)
    one, two = (pin.buildModelFromUrdf(str(p)) for p in (arm.path, out))
    for what in ("damping", "friction", "effortLimit", "velocityLimit", "lowerPositionLimit"):
        np.testing.assert_array_equal(getattr(two, what), getattr(one, what))
    assert rg.load(out).actuators[0].gear == 50
    # What the mechanism does not hold is named, and nothing else is lost.
    assert [f.code for f in findings if f.severity != "note"] == ["REG329", "REG329"]
    assert {"`upper`" in f.message or "safety" in f.message for f in findings[-2:]} == {True}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_meshes_are_found_from_the_new_place(
    arm: rg.Mechanism, target: str, tmp_path: Path
) -> None:
    out = tmp_path / "a" / "b" / TARGETS[target]
    out.parent.mkdir(parents=True)
    rg.save(arm, out, format=target)
    [mesh] = [shape for shape in rg.load(out).body("upper").geometry if shape.kind == "mesh"]
    assert mesh.uri is not None
    assert (out.parent / mesh.uri).resolve() == (tmp_path / "meshes" / "upper.stl").resolve()


def test_motors_springs_and_ranges_arrive_in_mujoco(tmp_path: Path) -> None:
    source = tmp_path / "source.xml"
    source.write_text(
        """<mujoco><compiler angle="radian"/><option timestep="0.001" integrator="implicit"/>
        <contact><exclude name="e" body1="world" body2="b"/></contact><worldbody><body name="b">
        <joint name="J" damping="0.3" armature="0.02" frictionloss="0.1" stiffness="7"
          springref="0.4" range="-1 2" limited="true"/><geom size="0.1"/></body></worldbody>
        <actuator><motor name="M" joint="J" gear="25" ctrllimited="true" ctrlrange="-3 4"/>
        <position name="P" joint="J" kp="9" kv="2"/></actuator>
        <sensor><jointpos name="angle" joint="J"/><framepos name="place" objtype="body"
          objname="b"/></sensor></mujoco>"""
    )
    findings = rg.save(rg.load(source), tmp_path / "out.xml")
    one, two = (mujoco.MjModel.from_xml_path(str(p)) for p in (source, tmp_path / "out.xml"))
    names = "dof_damping dof_armature dof_frictionloss jnt_stiffness qpos_spring jnt_range"
    names += " actuator_gear actuator_ctrlrange actuator_gainprm actuator_biasprm body_mass"
    for name in names.split():
        np.testing.assert_allclose(getattr(two, name), getattr(one, name), atol=1e-12)
    assert (two.opt.timestep, two.opt.integrator) == (one.opt.timestep, one.opt.integrator)
    assert (two.nexclude, two.nsensor, findings) == (1, 2, ())


def test_an_unnamed_motor_on_a_rope_is_named_by_its_rope(tmp_path: Path) -> None:
    source = tmp_path / "source.xml"
    source.write_text(
        """<mujoco><worldbody><site name="s"/><body name="b"><joint name="J"/><geom size="0.1"/>
        <site name="t" pos="0 0 1"/></body></worldbody><tendon><spatial name="rope">
        <site site="s"/><site site="t"/></spatial><fixed name="rod"><joint joint="J" coef="1"/>
        </fixed></tendon><actuator><motor tendon="rope"/><motor tendon="rod"/></actuator>
        </mujoco>"""
    )
    findings = rg.save(rg.load(source), tmp_path / "out.urdf")
    said = [f.message for f in findings if f.code == "REG329" and "motor" in f.message]
    assert len(said) == 1 and "<motor> on tendon `rope` stays behind" in said[0]


def test_a_mesh_that_is_seen_and_touched_is_left_out_with_one_word(tmp_path: Path) -> None:
    shape = '<{0}><geometry><mesh filename="gone.stl"/></geometry></{0}>'
    source = tmp_path / "source.urdf"
    link = f'<link name="a">{shape.format("visual")}{shape.format("collision")}</link>'
    source.write_text(f'<robot name="r">{link}</robot>')
    findings = rg.save(rg.load(source), tmp_path / "out.xml")
    assert [f.code for f in findings].count("REG328") == 1


def test_a_link_and_a_joint_of_one_name_are_told_apart_in_sdf(tmp_path: Path) -> None:
    hinge = rg.Joint.in_world("arm", "world", "arm", "revolute")
    inertia = rg.Inertia(1.0, np.zeros(3), np.eye(3))
    model = rg.Mechanism("m", (rg.Body("world"), rg.Body("arm", inertia)), (hinge,), ground="world")
    [finding] = rg.save(model, tmp_path / "m.sdf")
    assert finding.code == "REG321" and "`arm` is called `arm_joint`" in finding.message
    assert rg.load(tmp_path / "m.sdf").joint("arm_joint").child == "arm"
    other = rg.load(tmp_path / "m.sdf")
    assert rg.save(other, tmp_path / "again.sdf") == ()


@pytest.mark.slow
def test_marks_of_another_dialect_close_no_loop_twice(tmp_path: Path) -> None:
    source = robot(tmp_path, FRAMES, "bars.urdf")
    before = rg.reduce(rg.load(source))
    assert before.redundant > 0
    main(["reduce", str(source), "--to", "urdf+", "-o", str(tmp_path / "out")])
    after = rg.reduce(rg.load(tmp_path / "out" / "bars.urdf"))
    assert (after.redundant, after.mobility) == (0, before.mobility)
    pin.buildModelFromUrdf(str(tmp_path / "out" / "bars.urdf"))


@pytest.mark.slow
def test_a_reduced_model_for_drake_is_a_file_of_its_kind(tmp_path: Path) -> None:
    main(["reduce", str(ASSETS / "planar_fourbar.urdf"), "--to", "drake", "-o", str(tmp_path)])
    assert rg.load(tmp_path / "planar_fourbar.xml", format="mjcf").joints


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_fourbar", "gripper"])
def test_reduced_models_have_no_redundant_row_in_mujoco(name: str, tmp_path: Path) -> None:
    main(["reduce", str(ASSETS / f"{name}.urdf"), "--to", "mjcf", "-o", str(tmp_path)])
    model = mujoco.MjModel.from_xml_path(str(tmp_path / f"{name}.xml"))
    rows = equality_rows(model)
    assert len(rows) == np.linalg.matrix_rank(rows) == model.nv - 1


def test_what_the_engine_refuses_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "slider.xml"
    out.write_text("what was there before")
    bare = tmp_path / "bare.urdf"
    bare.write_text(
        '<robot name="r"><link name="g"/><link name="a"/><joint name="J" type="continuous">'
        '<parent link="g"/><child link="a"/></joint></robot>'
    )
    assert main(["export", str(bare), "--to", "mjcf", "-o", str(out)]) == 2
    assert "`a`" in capsys.readouterr().err
    assert out.read_text() == "what was there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bare.urdf", "slider.xml"]


@pytest.mark.slow
def test_a_file_of_loops_that_would_be_read_along_is_not_written_beside(tmp_path: Path) -> None:
    source = ASSETS / "planar_fourbar.urdf"
    rg.save(rg.load(source), tmp_path / "robot.urdf", format="urdf")
    with pytest.raises(rg.UnsupportedExport, match=r"robot\.yaml lists closing joints"):
        rg.save(rg.load(source), tmp_path / "robot.urdf", format="urdf+")


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for name in ("model.usda", "model.json"):
        with pytest.raises(rg.RegularizeError, match="no such folder"):
            rg.save(ASSETS / "planar_fourbar.urdf", tmp_path / "nowhere" / name)
    assert not (tmp_path / "nowhere").exists()


def test_findings_decide_the_exit_status(arm: rg.Mechanism, tmp_path: Path) -> None:
    command = ["export", str(arm.path), "--to", "sdf", "-o", str(tmp_path / "m.sdf")]
    assert main(command) == 1  # the motor is lost, among others
    assert main([*command, "--fail-on", "error"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "name", ["planar_fourbar", "gripper", "knee_leg", "stewart_6ups", "delta_universal"]
)
def test_assets_are_the_same_machine_in_every_format(
    name: str, target: str, tmp_path: Path
) -> None:
    text, good = line(rg.load(ASSETS / f"{name}.urdf"), target, tmp_path, counts=True)
    assert good and "refused" not in text, text


@pytest.mark.skipif(not CORPUS.exists(), reason="needs the corpus")
@pytest.mark.parametrize(
    "name", ["2f85/robotiq_2f85.xml", "agility_cassie/cassie.xml", "sdf/cassie/cassie_v2.sdf"]
)
@pytest.mark.slow
def test_real_robots_keep_what_a_format_can_hold(name: str, tmp_path: Path) -> None:
    [path] = [p for p in CORPUS.rglob(Path(name).name) if str(p).endswith(name)][:1]
    source = Path(shutil.copytree(path.parent, tmp_path / "source")) / path.name
    mechanism = rg.load(source)
    for target in ("mjcf", "usd", "json"):
        findings = rg.save(mechanism, tmp_path / TARGETS[target], format=target)
        back = rg.load(tmp_path / TARGETS[target])
        assert [a.gear for a in back.actuators] == [a.gear for a in mechanism.actuators]
        lost = {f.code for f in findings if f.severity != "note"} - {"REG328", "REG329"}
        # Meshes that are not there weigh nothing known, and USD programs make something up. One
        # motor of several joints becomes several there.
        assert lost <= {"mjcf": {"REG324"}, "usd": {"REG302", "REG326"}, "json": set()}[target]


@pytest.mark.slow
def test_usd_has_closing_joints_outside_of_the_articulation(tmp_path: Path) -> None:
    mechanism = rg.load(ASSETS / "gripper.urdf")
    odd = {body.name: f"{body.name} #1" for body in mechanism.bodies}
    odd[mechanism.ground] = mechanism.ground
    mechanism = replace(
        mechanism,
        bodies=tuple(replace(body, name=odd[body.name]) for body in mechanism.bodies),
        joints=tuple(
            replace(joint, parent=odd[joint.parent], child=odd[joint.child])
            for joint in mechanism.joints
        ),
    )
    assert rg.save(mechanism, tmp_path / "gripper.usdc") == ()
    stage = Usd.Stage.Open(str(tmp_path / "gripper.usdc"))
    assert stage.GetDefaultPrim().HasAPI(UsdPhysics.ArticulationRootAPI)
    joints = [UsdPhysics.Joint(prim) for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    outside = {j.GetPrim().GetName() for j in joints if j.GetExcludeFromArticulationAttr().Get()}
    assert outside == {joint.name for joint in mechanism.joints if joint.closure}
    [drive] = [prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.DriveAPI)]
    assert drive.GetName() == "plunger"
    # Names that USD does not allow are kept beside those that it does.
    assert {body.name for body in rg.load(tmp_path / "gripper.usdc").bodies} >= {*odd.values()}
    # Single precision loses nothing that the reduction would miss.
    after = rg.reduce(rg.load(tmp_path / "gripper.usdc"))
    assert (after.mobility, after.redundant) == (1, 12)
