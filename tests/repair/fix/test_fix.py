# ruff: noqa: E501
"""`fix`: joints changed in the user's own files, and not a byte beside them."""

import codecs
import os
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from mujoco_rows import equality_rows
from test_adapter_contract import MECHANISMS, write_fixture

import regularize as rg
from regularize.adapters import adapters
from regularize.cli import main

pytestmark = pytest.mark.slow
ASSETS = Path(__file__).resolve().parents[3] / "assets"
CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
FORMATS = [n for n, a in adapters().items() if a.patcher and a.of_files and n != "xacro"]
LOOP = """  <loop name="D" type="revolute">
    <!-- the hinge that closes the loop -->
    <predecessor link="rocker"><origin xyz="-0.3 0 -0.9"/></predecessor>
    <successor link="ground"><origin xyz="1.2 0 0"/></successor>
    <axis xyz="0 1 0"/>
  </loop>
"""
SECOND_PARENT = (
    '  <joint name="D" type="continuous"><parent link="ground"/><child link="rocker"/>\n'
    '    <origin xyz="1.2 0 0"/><axis xyz="0 1 0"/></joint>\n'
)
FRAMES = (
    '  <link name="closing_x_1"/><link name="closing_x_2"/>\n'
    '  <joint name="f1" type="fixed"><parent link="rocker"/><child link="closing_x_1"/>\n'
    '    <origin xyz="-0.3 0 -0.9"/></joint>\n'
    '  <joint name="f2" type="fixed"><parent link="ground"/><child link="closing_x_2"/>\n'
    '    <origin xyz="1.2 0 0"/></joint>\n'
)
ISAAC = """  <loop_joint name="D" type="spherical">
    <link1 link="rocker" xyz="-0.3 0 -0.9" rpy="0 0 0"/>
    <link2 link="ground" xyz="1.2 0 0" rpy="0 0 0"/>
  </loop_joint>
"""
ROBOT = """<?xml version="1.0" encoding="utf-8"?>
<!-- exported by hand -- with care -->
<robot name='four_bar'   xmlns:xacro="http://ros.org/wiki/xacro" >
  <link name="ground"><visual><geometry><mesh filename="meshes/ground.stl"/></geometry></visual></link>
  <link  name="crank"><inertial><mass value='2.0'/><origin xyz="0.15 0 0.2"/>
    <inertia ixx=".1" iyy="1e-1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="coupler"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rocker"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint type="revolute" name="A"><parent link="ground"/><child link="crank"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="30" velocity="4"/><dynamics damping="0.5" friction="0.2"/></joint>
  <joint name="B" type="continuous"><parent link="crank"/><child link="coupler"/>
    <origin xyz="0.3 0 0.4"/><axis xyz="0 1 0"/></joint>
  <joint name="C" type="continuous"><parent link="coupler"/><child link="rocker"/>
    <origin xyz="1.2 0 0.5"/><axis xyz="0 1 0"/></joint>
{loop}  <transmission name="t"><type>SimpleTransmission</type><joint name="A"/><actuator name="m"/></transmission>
  <gazebo reference="crank"><material>Gazebo/Grün &amp; Blau</material></gazebo>
  <ros2_control name="c" type="system"><joint name="A"><command_interface name="effort"/></joint></ros2_control>
</robot>
"""


def changed_lines(diff: str) -> list[str]:
    lines = diff.splitlines()
    return [x for x in lines if x[:1] in ("+", "-") and x[1:3] not in ("++", "--")]


def changes(diff: str) -> list[str]:
    return [line[0] + line[1:].strip() for line in changed_lines(diff)]


def fixture(format: str, mechanism: str, folder: Path) -> Path:
    if format != "urdf":
        return write_fixture(format, mechanism, folder)
    path = folder / f"{mechanism}.urdf"
    rg.save(rg.load(write_fixture("json", mechanism, folder)), path, format="urdf+")
    return path


def robot(folder: Path, loop: str = LOOP, name: str = "robot.urdf") -> Path:
    path, text = folder / name, ROBOT.replace("{loop}", loop).replace("\n", "\r\n")
    text = text.replace(" -- ", " ") if name.endswith("xacro") else text  # which it finds wrong
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_fixed_once_and_for_all(
    format: str, mechanism: str, tmp_path: Path
) -> None:
    path = fixture(format, mechanism, tmp_path)
    before, original = rg.load(path), path.read_bytes()
    fix = rg.fix(path, slack=True)
    if fix.slack.links:  # SDF has no joint that slides and turns
        assert (format, mechanism) == ("sdf", "spherical_four_bar")
    else:
        assert 0 < len(changed_lines(fix.diff)) <= {"json": 40, "usd": 60, "sdf": 9}.get(format, 8)
    written = fix.write(tmp_path / "fixed" / path.name)
    after = rg.load(written)
    reduction = rg.reduce(after)
    assert (reduction.redundant, reduction.mobility, reduction.finite_mobility) == (0, 1, 1)
    assert path.read_bytes() == original
    assert rg.fix(written).diff == ""
    masses = {body.name: body.inertia.mass for body in before.bodies if body.inertia}
    found = {b.name: b.inertia.mass for b in after.bodies if b.inertia and b.inertia.mass}
    for links in fix.slack.links:
        found[links.carrier] += sum(found.pop(body.name) for body in links.bodies)
    assert found == pytest.approx(masses)
    changed = {change.joint.name for change in fix.changes}
    for joint in before.joints:
        if joint.name not in changed:
            same = after.joint(joint.name)
            assert same.kind == joint.kind
            assert np.allclose(same.screws, joint.screws)


def test_only_closure_lines_of_a_urdf_file_change(tmp_path: Path) -> None:
    path = robot(tmp_path)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    original = path.read_bytes()
    fix = rg.fix(path)
    assert changes(fix.diff) == [
        '-<loop name="D" type="revolute">',
        '+<loop name="D" type="point_on_line">',
    ]
    expected = original.replace(b'"D" type="revolute"', b'"D" type="point_on_line"')
    away = fix.write(tmp_path / "a" / "b" / "new.urdf").read_bytes()
    assert away == expected.replace(b'"meshes/ground.stl"', b'"../../meshes/ground.stl"')
    assert path.read_bytes() == original
    assert fix.write(path) == path
    assert path.read_bytes() == expected
    assert rg.reduce(rg.load(path)).redundant == 0


def test_meshes_of_a_json_file_are_found_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "bars.json"
    rg.save(robot(tmp_path), path)
    path.write_text(path.read_text().replace("ground.stl", "press.FCStd#Shape.brp"))
    away = rg.fix(path).write(tmp_path / "a" / "b" / "new.json").read_text()
    assert '"uri": "../../meshes/press.FCStd#Shape.brp"' in away


@pytest.mark.parametrize(
    ("loop", "line"),
    [
        (SECOND_PARENT, '+  <loop name="D" type="point_on_line">'),
        (FRAMES, '<loop name="closing_x" type="point_on_line">'),
        (ISAAC, '+    <axis xyz="0 1 0"/>'),
    ],
    ids=["two parents", "closing frames", "Isaac"],
)
def test_dialects_of_loops(loop: str, line: str, tmp_path: Path) -> None:
    path = robot(tmp_path, loop)
    fix = rg.fix(path)
    assert line in fix.diff
    if loop == SECOND_PARENT:
        with pytest.raises(rg.ModelError, match=r"'D' cannot become helical as a URDF\+ <loop>"):
            rg.fix(path, {"D": "helical:0.01"})
    fix.write(path)
    assert rg.reduce(rg.load(path)).redundant == 0
    assert rg.fix(path).diff == ""


PIN = "{parent: rocker, child: ground, parent_xyz: [-0.3, 0, -0.9], child_xyz: [1.2, 0, 0]"
ENDS = "link_a: rocker, link_b: ground"
BALL = """  <drake:ball_constraint>
    <drake:ball_constraint_body_A name="rocker"/><drake:ball_constraint_p_AP value="-0.3 0 -0.9"/>
    <drake:ball_constraint_body_B name="ground"/><drake:ball_constraint_p_BQ value="1.2 0 0"/>
  </drake:ball_constraint>
"""


@pytest.mark.parametrize(
    ("loop", "sidecar", "rows"),
    [
        (BALL, "", 1),
        ("", f"closures:\n- {{{ENDS}, point: [1.2, 0, 0], axis: [0, 1, 0]}}\n", 3),
        ("", f"pin_loops:\n- {PIN}, axis: [0, 1, 0]}}\n", 3),
        ("", f"ball_loops:\n- {PIN}}}\n", 1),
    ],
)
def test_slack_links_stand_where_a_dialect_has_too_few_kinds(
    loop: str, sidecar: str, rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = robot(tmp_path, loop)
    if sidecar:
        (tmp_path / "loop_closures.yaml").write_text(sidecar)
    before = rg.load(path)
    fix = rg.fix(path, slack=True)
    [links] = fix.slack.links
    assert links.carrier == "rocker" and len(links.joints) == rows
    main(["fix", str(path), "--diff", "--slack"])
    names = ", ".join(joint.name for joint in links.joints)
    assert f"{links.joint.name}: on slack links at rocker ({names})" in capsys.readouterr().err
    assert all(body.inertia and body.inertia.mass == 1 / (rows + 1) for body in links.bodies)
    text = fix.write(tmp_path / "new" / path.name).read_bytes()
    again = rg.load(tmp_path / "new" / path.name)
    reduction = rg.reduce(again)
    assert (reduction.redundant, reduction.mobility, reduction.finite_mobility) == (0, 1, 1)
    assert b"\n" not in text.replace(b"\r\n", b"")
    assert "REG206" not in {finding.code for finding in rg.check(again).diagnostics}
    assert rg.fix(tmp_path / "new" / path.name).diff == ""
    # The same machine: it swings as before.
    one, two = (
        rg.simulate(m, duration=0.1, rates={"A": 2.0}).coordinates[-1, :3] for m in (before, again)
    )
    assert two == pytest.approx(one, abs=1e-7)


@pytest.mark.parametrize("kind", ["revolute", "point_on_line", "spherical", "cylindrical"])
def test_a_closure_that_others_imply_is_taken_out(kind: str, tmp_path: Path) -> None:
    loop = LOOP.replace("revolute", kind)
    path = robot(tmp_path, "".join(loop.replace('"D"', f'"{name}"') for name in "DEF"))
    fix = rg.fix(path, remove=True, slack=True)
    assert {joint.name for joint in fix.slack.removed} == {"E", "F"}
    changed = {change.joint.name: change.kind for change in fix.changes}
    assert changed == ({} if kind == "point_on_line" else {"D": "point_on_line"})
    assert not fix.slack.links
    assert f'-  <loop name="E" type="{kind}">' in fix.diff
    assert (fix.reduction.redundant, fix.reduction.mobility) == (0, 1)
    fix.write(path)
    assert rg.fix(path).diff == ""


@pytest.mark.parametrize(
    ("loop", "sidecar", "left"),
    [
        ("", f"ball_loops:\n- {PIN}}}\n# the same\n- {PIN}}}\n", b"# the same\n"),
        ("", f"pin_loops:\n- {PIN}, axis: [0, 1, 0]}}\n- {PIN}, axis: [0, 1, 0]}}\n", b"pin_loops"),
        (
            LOOP,
            "ball_loops:\n- parent: rocker\n  child: ground\n  child_xyz: [1.2, 0, 0]\n"
            "  parent_xyz:\n  - -0.3\n  - 0\n  - -0.9\npin_loops: []\n",
            b"ball_loops: []\npin_loops: []\n",
        ),
        (LOOP, f"ball_loops:\n- {PIN}}}\npin_loops: []\n", b"ball_loops: []\npin_loops: []\n"),
    ],
)
def test_an_implied_closure_of_a_file_beside_the_model_is_taken_out(
    loop: str, sidecar: str, left: bytes, tmp_path: Path
) -> None:
    path = robot(tmp_path, loop)
    (tmp_path / "loop_closures.yaml").write_text(sidecar)
    fix = rg.fix(path, remove=True, slack=True)
    assert len(fix.slack.removed) == 1
    fix.write(path)
    assert left in (tmp_path / "loop_closures.yaml").read_bytes()
    after = rg.reduce(rg.load(path))
    assert (after.redundant, after.mobility) == (0, 1)


@pytest.mark.parametrize(
    ("other", "removed", "changed"), [(BALL, "rocker-ground", "D"), (FRAMES, "D", "closing_x")]
)
def test_of_closures_that_do_the_same_the_one_of_more_kinds_stays(
    other: str, removed: str, changed: str, tmp_path: Path
) -> None:
    fix = rg.fix(robot(tmp_path, other + LOOP), remove=True)
    assert [joint.name for joint in fix.slack.removed] == [removed]
    assert [(each.joint.name, each.kind) for each in fix.changes] == [(changed, "point_on_line")]
    assert not fix.slack.links and fix.reduction.redundant == 0


def test_other_kinds_of_joints_go_before_slack_links() -> None:
    path = CORPUS / "traps" / "locked_5134.urdf"
    if not path.exists():
        pytest.skip("needs the corpus")
    fix = rg.fix(path, slack=True)
    changed = {change.joint.name: change.kind for change in fix.changes}
    assert changed == {"j7": "point_on_line", "j1": "cylindrical"}
    assert not fix.slack.links
    assert (fix.reduction.redundant, fix.reduction.mobility) == (0, 3)


def test_slack_links_need_mass_to_share(tmp_path: Path) -> None:
    path = robot(tmp_path, BALL)
    text = path.read_text()
    start = text.index("<inertial>", text.index('"rocker"'))
    path.write_text(text[:start] + text[text.index("</inertial>", start) + 11 :])
    with pytest.raises(rg.UnsupportedExport, match="`rocker`, which has no mass to share"):
        rg.fix(path, slack=True)


def test_files_of_closing_joints_are_edited_and_go_along(tmp_path: Path) -> None:
    ends = FRAMES.replace("closing_x_1", "one").replace("closing_x_2", "two")
    ends = ends.replace('"f1" type="fixed"', '"f1" type="continuous"')
    ends = ends.replace('"-0.3 0 -0.9"/>', '"-0.3 0 -0.9"/><axis xyz="0 1 0"/>')
    path = robot(tmp_path, ends)
    sidecar = tmp_path / "robot.yaml"
    sidecar.write_text("# mine\nclosed_loop: [['one', 'two']]\ntype: ['6d']\n")
    fix = rg.fix(path)
    assert f"--- {path}" not in fix.diff
    written = fix.write(tmp_path / "new" / "walker.urdf")
    assert (tmp_path / "new" / "walker.yaml").read_text().startswith("# mine\nclosed_loop")
    assert sidecar.read_text().endswith("['6d']\n")
    reduction = rg.reduce(rg.load(written))
    assert (reduction.redundant, reduction.mobility) == (0, 1)
    assert rg.fix(tmp_path).write(tmp_path / "folder") == tmp_path / "folder"
    assert rg.fix(tmp_path / "folder").diff == ""


def test_a_binary_stage_is_changed_through_usd(tmp_path: Path) -> None:
    sdf = pytest.importorskip("pxr.Sdf")
    text = write_fixture("usd", "planar_four_bar", tmp_path)
    path = tmp_path / "stage.usdc"
    sdf.Layer.FindOrOpen(str(text)).Export(str(path))
    written = rg.fix(path).write(tmp_path / "new.usdc")
    assert written.read_bytes().startswith(b"PXR-USDC")
    assert rg.reduce(rg.load(written)).redundant == 0


def test_comments_and_strings_of_a_stage_are_no_prims(tmp_path: Path) -> None:
    path = write_fixture("usd", "planar_four_bar", tmp_path)
    note = '# def PhysicsRevoluteJoint "D" {\n'
    path.write_text(path.read_text().replace("def Xform", note + "def Xform", 1))
    fix = rg.fix(path)
    fix.write(path)
    assert note in path.read_text()
    assert len([line for line in changed_lines(fix.diff) if line[0] == "-"]) == 2
    assert rg.reduce(rg.load(path)).redundant == 0


def test_what_cannot_be_held_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = robot(tmp_path)
    original = path.read_bytes()
    out = tmp_path / "out.urdf"
    for arguments, words in (
        (["--joint", "B=universal"], "cannot become universal in this file; urdf holds there"),
        (["--joint", "X=spherical"], "there is no joint 'X'"),
        (["--joint", "D=bendy"], "joint kind 'bendy' is unknown; known are"),
        (["--joint", "D"], "write it as NAME=KIND"),
        (["--joint", "D=spherical", "--joint", "D=universal"], "names 'D' twice; give it one kind"),
        (["--joint", "D=helical"], "a helical joint has a pitch"),
        (["--joint", "B=spherical"], "`planar`, which is what Pinocchio and ROS read"),
    ):
        assert main(["fix", str(path), "-o", str(out), *arguments]) == 2
        assert words in capsys.readouterr().err
    with pytest.raises(rg.ReadError):
        rg.fix(tmp_path / "absent.urdf")
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == original


def test_devices_and_a_file_changed_in_the_meantime_are_left_alone(tmp_path: Path) -> None:
    path = robot(tmp_path)
    fix = rg.fix(path)
    with pytest.raises(rg.RegularizeError, match="cannot be written: /dev/null is no folder"):
        fix.write("/dev/null/robot.urdf")
    with pytest.raises(rg.RegularizeError, match="is no file that could be replaced"):
        fix.write("/dev/null")
    assert [*tmp_path.iterdir()] == [path]
    path.write_bytes(path.read_bytes() + b"<!-- later -->")
    with pytest.raises(rg.ModelError, match="was changed since it was read"):
        fix.write(path)
    assert path.read_bytes().endswith(b"<!-- later -->")


def test_of_two_files_that_cannot_both_be_replaced_both_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one is written by somebody else as soon as the first one is replaced."""
    path, sidecar = robot(tmp_path, ""), tmp_path / "loop_closures.yaml"
    ends = "parent: rocker, child: ground, parent_xyz: [-0.3, 0, -0.9], child_xyz: [1.2, 0, 0]"
    sidecar.write_text(f"ball_loops:\n- {{{ends}}}\n")
    before, later = {file: file.read_bytes() for file in (path, sidecar)}, b"# somebody else's"
    fix, sync = rg.fix(path, slack=True), os.fsync
    assert all(f"--- {file}" in fix.diff for file in before)

    def meanwhile(handle: int) -> None:
        sync(handle)
        left = [file for file, data in before.items() if file.read_bytes() == data]
        if len(left) == 1:
            left[0].write_bytes(later)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", meanwhile)
        with pytest.raises(rg.RegularizeError, match="was changed since it was read"):
            fix.write(path)
    assert sorted(f.read_bytes() in (later, data) for f, data in before.items()) == [True, True]
    assert [f.read_bytes() for f in before].count(later) == 1
    assert {*tmp_path.iterdir()} == {*before}
    for file, data in before.items():
        file.write_bytes(data)
    assert rg.reduce(rg.load(fix.write(path))).redundant == 0


def test_what_a_new_kind_cannot_hold_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = LOOP.replace("<axis", '<limit lower="-1" upper="1" effort="1" velocity="1"/><axis')
    path = robot(tmp_path, loop)
    assert main(["fix", str(path), "--diff"]) == 1
    captured = capsys.readouterr()
    assert "warning[REG324]: <limit> of joint `D` means nothing to a point on line" in captured.err
    assert captured.out.startswith(f"--- {path}")


def test_an_axis_that_the_file_leaves_to_its_default_stays_so(tmp_path: Path) -> None:
    loop = LOOP.replace('    <axis xyz="0 1 0"/>\n', "")
    fix = rg.fix(robot(tmp_path, loop), {"D": "cylindrical"})
    assert changes(fix.diff) == [
        '-<loop name="D" type="revolute">',
        '+<loop name="D" type="cylindrical">',
    ]
    np.testing.assert_array_equal(fix.mechanism.joint("D").screws[:3, 0], [1, 0, 0])


def test_a_closing_joint_of_gazebo_is_written_as_in_sdf(tmp_path: Path) -> None:
    loop = (
        '<gazebo><joint name="D" type="revolute"><pose>-0.3 0 -0.9 0 0 0</pose>'
        "<parent>ground</parent><child>rocker</child><axis><xyz>0 1 0</xyz></axis></joint></gazebo>\n"
    )
    fix = rg.fix(robot(tmp_path, loop), {"D": "spherical"})
    added = [line for line in changed_lines(fix.diff) if line[0] == "+"]
    assert 'type="ball"' in added[0]
    assert fix.mechanism.joint("D").kind == "spherical"


def test_a_model_without_a_file_is_refused() -> None:
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    assert rg.fix(mechanism).diff
    with pytest.raises(rg.ModelError, match="was read from no file"):
        rg.fix(rg.Mechanism("m", mechanism.bodies, mechanism.joints, ground=mechanism.ground))


def test_xacro_is_edited_where_a_joint_is_written_out(tmp_path: Path) -> None:
    pytest.importorskip("xacrodoc")
    inside = LOOP.replace('name="D"', 'name="${n}"')
    hidden = f'<xacro:macro name="last" params="n">{inside}</xacro:macro><xacro:last n="D"/>'
    path = robot(tmp_path, LOOP.replace("1.2", "${2*0.6}"), "robot.urdf.xacro")
    written = rg.fix(path).write(tmp_path / "new" / path.name)
    assert b"${2*0.6}" in written.read_bytes()
    assert rg.reduce(rg.load(written)).redundant == 0
    for text in (hidden, hidden.replace("${n}", "D")):  # a name that stands there itself
        path = robot(tmp_path, text, "macro.urdf.xacro")
        with pytest.raises(rg.ModelError, match="joint 'D' comes from a macro or an included file"):
            rg.fix(path, {"D": "spherical"})


def test_included_files_of_xacro_are_found_from_another_folder(tmp_path: Path) -> None:
    pytest.importorskip("xacrodoc")
    (tmp_path / "part.xacro").write_text(
        '<robot xmlns:xacro="http://ros.org/wiki/xacro"><link name="part"/>'
        '<joint name="P" type="fixed"><parent link="ground"/><child link="part"/></joint></robot>'
    )
    include = '  <xacro:include filename="part.xacro"/>\n'
    path = robot(tmp_path, include + LOOP, "robot.urdf.xacro")
    written = rg.fix(path, {"D": "spherical"}).write(tmp_path / "new" / path.name)
    assert b'filename="../part.xacro"' in written.read_bytes()
    assert rg.load(written).joint("D").kind == "spherical"


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_encodings_and_symbolic_links_stay(encoding: str, tmp_path: Path) -> None:
    real = robot(tmp_path)
    text = real.read_bytes().decode().replace('encoding="utf-8"', f'encoding="{encoding}"')
    real.write_bytes(text.encode(encoding))
    (tmp_path / "link").mkdir()
    link = tmp_path / "link" / "robot.urdf"
    link.symlink_to(real)
    rg.fix(link).write(link)
    assert link.is_symlink()
    expected = text.replace('"D" type="revolute"', '"D" type="point_on_line"').encode(encoding)
    assert real.read_bytes() == expected


def test_models_too_redundant_for_a_choice_are_told_of_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = robot(tmp_path)
    report = replace(rg.check(rg.load(path)), cures=())
    assert f"regularize fix {path.name} -o fixed/" in " ".join(str(report).split())


SITES = """<mujoco>
  <worldbody>
    <site name="base" pos="1.2 0 0"/><site name="base_z" pos="1.2 0.1 0"/>
    <body name="crank"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      <joint name="A" axis="0 1 0" damping="0.1"/>
      <body name="coupler" pos="0.3 0 0.4"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <joint name="B" axis="0 1 0"/>
        <body name="rocker" pos="1.2 0 0.5"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
          <joint axis="0 1 0"/>
          <site name="tip" pos="-0.3 0 -0.9"/><site name="tip_z" pos="-0.3 0.1 -0.9"/>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect name="closing_D" site1="base" site2="tip" solref="0.01 1"/>
    <connect name="closing_D_z" site1="base_z" site2="tip_z"/>
  </equality>
  <keyframe><key name="home" qpos="0.1 0.2
    0.3" qvel="0 0 0"/></keyframe>
</mujoco>
"""


def test_two_connects_of_sites_become_one_of_bodies(tmp_path: Path) -> None:
    path = tmp_path / "sites.xml"
    path.write_text(SITES)
    fix = rg.fix(path, keyframe=False)
    fix.write(path)
    text = path.read_text()
    assert '<connect name="closing_D" body1="rocker" anchor="-0.3 0 -0.9" solref' in text
    assert "closing_D_z" not in text and '<site name="tip_z"' in text
    assert 'qpos="0.1 0.2\n    0.3 0" qvel="0 0 0 0"' in text
    model = mujoco.MjModel.from_xml_path(str(path))
    rows = equality_rows(model)
    assert rows.shape[0] == np.linalg.matrix_rank(rows) == 3
    assert rg.fix(path, keyframe=False).diff == ""


REAL = (
    "asmt/ondsel_testapp/fourbar.asmt",
    "asmt/ondsel_testapp/crank_slider.asmt",
    "asmt/ondsel_testapp/runPreDragBackhoe1.asmt",
    "usd/newton_kamino_basics/boxes_fourbar.usda",
    "sdf/drake_four_bar_loop/four_bar_loop.sdf",
    "sdf/cassie/cassie_v2.sdf",
    "sdf/kermorgant_biglide_closed/biglide_closed.sdf",
    "urdf_plus/planar_leg_linkage/planar_leg_linkage.urdf",
    "gepetto_yaml/5bar_linkage",
    "mjcf/dm_robotics_2f85/robotiq_2f85_v2.xml",
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.formats("asmt")] * n.startswith("asmt")) for n in REAL],
)
def test_real_files(name: str, tmp_path: Path) -> None:
    path = CORPUS / name
    if not path.exists():
        pytest.skip("needs the corpus")
    before = rg.reduce(rg.load(path))
    fix = rg.fix(path)
    written = fix.write(tmp_path / path.name)
    after = rg.reduce(rg.load(written))
    assert before.redundant > 0 == after.redundant
    assert (after.mobility, after.finite_mobility) == (before.mobility, before.finite_mobility)
    assert rg.fix(written).diff == ""
    most = 40 if written.suffix == ".usda" else 2 * len(fix.changes) + 2
    assert len(changed_lines(fix.diff)) <= most


def test_a_point_on_a_plane_gives_way_where_equal_cranks_fight_each_other(tmp_path: Path) -> None:
    path = ASSETS / "three_cranks.urdf"
    fix = rg.fix(path)
    assert sorted(change.kind for change in fix.changes) == ["point_on_line", "point_on_plane"]
    reduction = fix.reduction
    assert (reduction.redundant, reduction.mobility, reduction.finite_mobility) == (0, 1, 1)
    assert rg.fix(fix.write(tmp_path / path.name)).diff == ""


def test_a_floating_robot_is_read_again_as_it_was() -> None:
    mechanism = rg.load(ASSETS / "slider_crank.urdf", floating=True)
    assert rg.fix(mechanism).diff == rg.fix(ASSETS / "slider_crank.urdf").diff


@pytest.mark.parametrize("name", ["slider_crank", "planar_fourbar", "knee_leg"])
def test_the_first_cure_of_a_file_is_one_that_the_file_can_hold(name: str) -> None:
    path = ASSETS / f"{name}.urdf"
    first, *others = rg.cures(rg.reduce(rg.load(path)))
    assert rg.fix(path, first).reduction.redundant == 0
    words = r"cannot become \w+ in this file; urdf holds there: "
    for cure in others:
        with pytest.raises(rg.ModelError, match=words):
            rg.fix(path, cure)
