"""Files that ask for more than they show: copies of copies, programs, places elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FAULTS = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_bytes())
BODY = "<body name='a'><joint/><geom size='1'/></body>"


@pytest.mark.slow
def test_includes_that_double_come_to_an_end(tmp_path: Path) -> None:
    for k in range(13):
        include = f"<include><uri>m{k + 1}.sdf</uri><name>%s</name></include>"
        parts = include % "a" + include % "b" if k < 12 else ""
        model = f"<model name='m{k}'><link name='l'/>{parts}</model>"
        (tmp_path / f"m{k}.sdf").write_text(f"<sdf version='1.9'>{model}</sdf>")
    assert len(rg.load(tmp_path / "m7.sdf").bodies) == 64  # the ground is one of them
    with pytest.raises(rg.ReadError, match="more than 2000 models") as caught:
        rg.load(tmp_path / "m0.sdf")
    assert caught.value.element is not None


@pytest.mark.parametrize(("asked", "said"), [[*fault.values()] for fault in FAULTS["amounts"]])
def test_amounts_that_no_machine_holds(asked: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(f"<mujoco>{asked}</mujoco>")
    with pytest.raises(rg.ReadError, match=said):
        rg.load(path)


ATTACH = """<mujoco><asset><model name="s" file="{}"/></asset><worldbody><body><attach model="s"
  body="b" prefix="p"/></body><body name="b"><joint name="j"/><geom size="1"/></body></worldbody>
  </mujoco>"""


@pytest.mark.slow
def test_models_that_attach_themselves(tmp_path: Path) -> None:
    one, two = tmp_path / "one.xml", tmp_path / "two.xml"
    for inside in ("one.xml", "two.xml"):
        one.write_text(ATTACH.format(inside))
        two.write_text(ATTACH.format("./one.xml"))
        with pytest.raises(rg.ReadError, match="to itself, in a circle") as caught:
            rg.load(one)
        assert caught.value.line == 1
    inside = BODY.replace("'a'", "'b'")
    two.write_text(f"<mujoco><worldbody>{inside}</worldbody></mujoco>")
    found = rg.load(one)
    assert len(found.joints) >= 3 and [Path(each).name for each in found.files] == ["two.xml"]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are not copied there")
def test_what_ends_the_process_ends_a_copy_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mujoco

    path = tmp_path / "m.xml"
    path.write_text(
        "<mujoco><worldbody><body><composite type='cable'/></body></worldbody></mujoco>"
    )
    monkeypatch.setattr(mujoco.MjSpec, "from_file", lambda *_, **__: os.abort())
    with pytest.raises(rg.ReadError, match="MuJoCo ends the process that reads it"):
        rg.load(path)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="has no pipes")
@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<xacro:include filename='{}'/>", "no regular file"),
        ("<link name='${{xacro.load_yaml(\"{}\")}}'/>", "no regular file"),
    ],
)
def test_pipes_that_xacro_would_wait_for(inside: str, said: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(rg.ReadError, match=said):
        rg.load(xacro(tmp_path, inside.format(tmp_path / "pipe")))


def test_xacro_ends_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, run = xacro(tmp_path, ""), subprocess.run

    def impatient(*given: Any, timeout: float, **more: Any) -> Any:
        return run(*given, timeout=0.0, **more)

    monkeypatch.setattr(subprocess, "run", impatient)
    with pytest.raises(rg.ReadError, match="more time or memory"):
        rg.load(path)


@pytest.mark.skipif(os.name != "posix", reason="has no pipes")
@pytest.mark.parametrize("suffix", ["usda", "usdc", "usd"])
@pytest.mark.parametrize(
    "inside",
    [
        "(subLayers = [@./pipe.{0}@])",
        'def Xform "a" (references = @./pipe.{0}@) {{}}',
        'def Xform "a" (payload = @pipe.{0}@) {{}}',
        'def "a" (references = </b>) {{}}\nover "b" {{\ndef "c" (payload = @pipe.{0}@) {{}}\n}}',
        'def "a" (variantSets = "v"\nvariants = {{\nstring v = "x"\n}}) {{\nvariantSet "v" = {{'
        '\n"x" (references = @pipe.{0}@) {{}}\n}}\n}}',
    ],
)
def test_pipes_that_usd_would_wait_for(inside: str, suffix: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    path = tmp_path / "m.usda"
    path.write_text(f"#usda 1.0\n{inside.format(suffix)}\n")
    with pytest.raises(rg.ReadError, match="is a pipe"):
        rg.load(path)


def test_references_that_multiply(tmp_path: Path) -> None:
    def written(more: str) -> Path:
        parts = ['def Xform "p0" {}']
        for k in range(1, 9):
            copies = "".join(
                f'def "c{n}" (references = </p{k - 1}>{more}) {{}}\n' for n in range(6)
            )
            parts.append(f'def Xform "p{k}" {{ {copies} }}')
        path = tmp_path / "m.usda"
        path.write_text("#usda 1.0\n" + "\n".join(parts))
        return path

    with pytest.raises(rg.ReadError, match="more than 1000000 prims"):
        rg.load(written(""))
    with pytest.raises(rg.ReadError, match="has no rigid body"):  # one prototype for each
        rg.load(written("\ninstanceable = true\n"))


def test_large_yaml_is_refused_and_large_xml_read(tmp_path: Path) -> None:
    path, loops = tmp_path / "m.urdf", tmp_path / "loops.yaml"
    path.write_text("<robot name='r'><link name='a'/></robot>" + "<!-- much -->\n" * 800_000)
    loops.write_text("closed_loop: " + "1" * 3_000_000)
    with pytest.raises(rg.ReadError, match="more than the 2097152 read of YAML"):
        rg.load(path, loops=loops)
    assert [body.name for body in rg.load(path).bodies] == ["a"]


def test_copies_within_reason_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    text = f"<mujoco><worldbody><replicate count='5' offset='9 0 0'>{BODY}</replicate></worldbody>"
    path.write_text(f"{text}</mujoco>")
    assert len(rg.load(path).bodies) == 6


def xacro(tmp_path: Path, inside: str) -> Path:
    pytest.importorskip("xacrodoc")
    path = tmp_path / "m.xacro"
    head = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'><link name='a'/>"
    path.write_text(f"{head}{inside}</robot>")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression",
    [
        "().__class__",
        "(lambda: ().__class__)()",
        "(x for x in [1]).gi_frame.f_builtins",
        "list.mro()",
        "math._x",
    ],
)
def test_expressions_that_reach_for_the_interpreter(expression: str, tmp_path: Path) -> None:
    with pytest.raises(rg.ReadError, match="is not allowed in an expression"):
        rg.load(xacro(tmp_path, f'<link name="${{{expression}}}"/>'))


@pytest.mark.slow
def test_ordinary_expressions_are_let_in(tmp_path: Path) -> None:
    given = '<xacro:property name="x" value="0"/><xacro:property name="d" value="${dict(a=[7])}"/>'
    expressions = ("2*pi", " sin(x) + math.cos(x)", "d['a'][0]", "[1][0]", "-2**2 * (x+2)**-1")
    links = "".join(f'<link name="l${{{each}}}"/>' for each in expressions)
    bodies = rg.load(xacro(tmp_path, given + links)).bodies
    assert [body.name[:5] for body in bodies][1:] == ["l6.28", "l1.0", "l7", "l1", "l-2.0"]


@pytest.mark.slow
@pytest.mark.parametrize(("inside", "said"), [[*fault.values()] for fault in FAULTS["programs"]])
def test_programs_in_xacro(inside: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(rg.ReadError, match=said):
        rg.load(xacro(tmp_path, inside))


@pytest.mark.slow  # it may compute for ten seconds
@pytest.mark.skipif(sys.platform != "linux", reason="cannot bound the time of a process")
def test_programs_in_xacro_come_to_an_end(tmp_path: Path) -> None:
    with pytest.raises(rg.ReadError, match="more time or memory"):
        rg.load(xacro(tmp_path, "<link name='${max(a for a in python.range(10**12))}'/>"))


def elsewhere(mechanism: rg.Mechanism) -> list[str]:
    return [each.message for each in mechanism.findings if each.code == "REG021"]


@pytest.mark.slow
def test_includes_from_elsewhere_are_listed(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    link = "<link name='a'/>"
    (tmp_path / "more.xacro").write_text(f"<robot>{link}</robot>")
    (tmp_path / "own" / "m.xacro").write_text(
        "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
        f"<xacro:include filename='{tmp_path}/more.xacro'/></robot>"
    )
    (tmp_path / "more.sdf").write_text(f"<sdf version='1.9'><model name='n'>{link}</model></sdf>")
    (tmp_path / "own" / "m.sdf").write_text(
        f"<sdf version='1.9'><model name='r'>{link}<include><uri>../more.sdf</uri></include>"
        "</model></sdf>"
    )
    (tmp_path / "more.xml").write_text(f"<mujoco><worldbody>{BODY}</worldbody></mujoco>")
    (tmp_path / "own" / "m.xml").write_text("<mujoco><include file='../more.xml'/></mujoco>")
    for name in ("m.xacro", "m.sdf", "m.xml"):
        (said,) = elsewhere(rg.load(tmp_path / "own" / name))
        assert "outside of the model's folder" in said
        assert "more" in said


@pytest.mark.slow
def test_layers_from_elsewhere_are_listed(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    (tmp_path / "own").mkdir()
    rg.save(rg.load(ASSETS / "planar_fourbar.urdf"), tmp_path / "more.usda")
    text = '#usda 1.0\n(\n    defaultPrim = "%s"\n    subLayers = [@../more.usda@]\n)\n'
    path = tmp_path / "own" / "m.usda"
    path.write_text(text % "planar_fourbar")
    (said,) = elsewhere(rg.load(path))
    assert "more.usda" in said


@pytest.mark.parametrize(
    ("uri", "away"),
    [
        ("/somewhere/part.stl", True),
        ("file:///somewhere/part.stl", True),
        ("../part.stl", True),
        ("meshes/../part.stl", False),
        ("part.stl", False),
        ("package://machine/part.stl", False),
    ],
)
def test_meshes_from_elsewhere_are_listed(uri: str, away: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.urdf"
    mesh = f"<visual><geometry><mesh filename='{uri}'/></geometry></visual>"
    path.write_text(f"<robot name='r'><link name='a'>{mesh}</link></robot>")
    said = elsewhere(rg.load(path))
    assert [uri in each for each in said] == ([True] if away else [])


def test_links_lead_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "part.stl").write_text("")
    os.symlink(tmp_path / "part.stl", tmp_path / "own" / "part.stl")
    path = tmp_path / "own" / "m.urdf"
    mesh = "<visual><geometry><mesh filename='part.stl'/></geometry></visual>"
    path.write_text(f"<robot name='r'><link name='a'>{mesh}</link></robot>")
    assert len(elsewhere(rg.load(path))) == 1
    target = tmp_path / "own" / "m.json"
    rg.save(rg.load(path), target)
    assert len(elsewhere(rg.load(target))) == 1


def test_frames_and_screws_of_the_own_format(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    rg.save(rg.load(ASSETS / "planar_fourbar.urdf"), path)
    whole = json.loads(path.read_text())
    for member, change, said in (
        ("T_child_joint", lambda T: T[1].__setitem__(1, 0.0), "is no rotation"),
        ("T_parent_joint", lambda T: T[3].__setitem__(0, 1.0), "its last row"),
        ("screws", lambda s: s.__setitem__(0, [0.0] * 6), "screw of zeros"),
    ):
        data = json.loads(json.dumps(whole))
        change(data["joints"][0][member])
        path.write_text(json.dumps(data))
        with pytest.raises(rg.ReadError, match=said):
            rg.load(path)


STAGE = 'def Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"])'
ROBOT = """<robot name="r">{top}<link name="a"/><link name="b">{twice}<inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>{more}
<limit lower="-1" upper="1" effort="{effort}" velocity="1"/><dynamics damping="{damping}"/></joint>
</robot>"""
DRIVE = """<transmission name="t"><type>SimpleTransmission</type><joint name="j"/>
<actuator name="m"><drake:controller_gains p="-1" d="0"/></actuator></transmission>"""
SOUND = {"top": "", "izz": "1", "twice": "", "more": "", "effort": "1", "damping": "1"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"izz": "2.01"}, ""),  # as numbers are rounded
        ({"izz": "3"}, "moment of inertia exceeds the sum of the others: `b`"),
        ({"more": '<axis xyz="1 0 0"/>'}, "joint `j` has several `<axis>`: the first counts"),
        ({"twice": "<inertial/>"}, "link `b` has several `<inertial>`: the first counts"),
        ({"top": DRIVE}, "motor `m` of joint `j` has a stiffness or damping below zero"),
        ({"effort": "-1"}, "joint `j` has `effort` below zero"),
        ({"damping": "-1"}, "joint `j` has `damping` below zero"),
        ({"damping": "1e300"}, "joint `j` has `damping` below zero or beyond 1e+15"),
    ],
)
def test_what_no_machine_has_is_found(change: dict[str, str], words: str) -> None:
    model = rg.load(ROBOT.format(**{**SOUND, **change}))
    assert [words in finding.message for finding in model.findings if finding.code == "REG022"] == (
        [True] if words else []
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"#usda 1.0\n(\nmetersPerUnit = -1\n)\n{STAGE}{{\n}}", "metersPerUnit is -1"),
        (f"#usda 1.0\n{STAGE}{{\nquatf xformOp:orient = (0, 0, 0, 0)\n}}", "quaternion is zero"),
        (f'#usda 1.0\n{STAGE}{{\ntoken axis = "W"\n}}', "`W` is no axis; write X, Y or Z"),
        (
            '<sdf version="1.9"><model name="m"><link name="a"/><frame name="f" attached_to="g"/>'
            '<frame name="g" attached_to="f"/></model></sdf>',
            "refer to one another in a circle",
        ),
    ],
)
def test_units_turns_and_frames_that_are_none_are_errors(text: str, words: str) -> None:
    with pytest.raises(rg.ReadError, match=words):
        rg.load(text)
