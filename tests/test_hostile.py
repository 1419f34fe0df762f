"""Files that ask for more than they show: copies of copies, programs, places elsewhere."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import regularize as rg
from regularize.adapters.urdf.xacro_process import check_expression
from regularize.model import trial
from regularize.model.mechanism import Mechanism

ASSETS = Path(__file__).resolve().parents[1] / "assets"
BODY = "<body name='a'><joint/><geom size='1'/></body>"


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


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            f"<worldbody><replicate count='3000'><replicate count='3000'>{BODY}</replicate>"
            "</replicate></worldbody>",
            "comes to .* elements",
        ),
        (
            "<asset><texture name='t' builtin='flat' width='40000' height='40000'/></asset>",
            "asks for .* numbers",
        ),
        ("<asset><hfield name='t' nrow='40000' ncol='40000' size='1 1 1 1'/></asset>", "asks for"),
        ("<size nuserdata='2000000000'/>", "nuserdata is more than"),
        (
            "<worldbody><body><flexcomp name='f' type='grid' count='1000 1000 100' dim='3'/></body>"
            "</worldbody>",
            "asks for",
        ),
    ],
)
def test_amounts_that_no_machine_holds(asked: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(f"<mujoco>{asked}</mujoco>")
    with pytest.raises(rg.ReadError, match=said):
        rg.load(path)


def test_copies_within_reason_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    text = f"<mujoco><worldbody><replicate count='5' offset='9 0 0'>{BODY}</replicate></worldbody>"
    path.write_text(f"{text}</mujoco>")
    assert len(rg.load(path).bodies) == 6


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__",
        "(lambda: ().__class__)()",
        "[x for x in [1]].__len__()",
        "(x for x in [1]).gi_frame.f_builtins",
        "list.mro()",
        "__import__('os')",
        "math._x",
    ],
)
def test_expressions_that_reach_for_the_interpreter(expression: str) -> None:
    with pytest.raises(ValueError, match="is not allowed in an expression"):
        check_expression(expression)


@pytest.mark.parametrize("expression", ["2*pi", " sin(x) + math.cos(l)", "d['a'].b", "[1][0]"])
def test_ordinary_expressions_are_let_in(expression: str) -> None:
    check_expression(expression)


def xacro(tmp_path: Path, inside: str) -> Path:
    pytest.importorskip("xacrodoc")
    path = tmp_path / "m.xacro"
    head = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'><link name='a'/>"
    path.write_text(f"{head}{inside}</robot>")
    return path


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<link name='${(lambda: ().__class__)()}'/>", "`__class__` is not allowed"),
        ("<link name='${python.vars(list)}'/>", "vars"),
        ("<link name='${[0] * 10**12}'/>", "memory|expand"),
        (
            "<xacro:macro name='m' params=''><xacro:m/></xacro:macro><xacro:m/>",
            "nested too deeply|recursion",
        ),
    ],
)
def test_programs_in_xacro(inside: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(rg.ReadError, match=said):
        rg.load(xacro(tmp_path, inside))


@pytest.mark.skipif(sys.platform != "linux", reason="cannot bound the time of a process")
def test_programs_in_xacro_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regularize.adapters.urdf import xacro as reader

    process = tmp_path / "process.py"
    text = reader.PROCESS.read_text()
    assert "\nSECONDS = 10\n" in text
    process.write_text(text.replace("\nSECONDS = 10\n", "\nSECONDS = 1\n"))
    monkeypatch.setattr(reader, "PROCESS", process)
    with pytest.raises(rg.ReadError, match="more time or memory"):
        rg.load(xacro(tmp_path, "<link name='${9**9**9}'/>"))


def elsewhere(mechanism: Mechanism) -> list[str]:
    return [each.message for each in mechanism.findings if each.code == "REG021"]


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


@pytest.mark.skipif(sys.platform != "linux", reason="copies no process")
@pytest.mark.parametrize(
    ("function", "survived"),
    [
        (lambda: None, True),
        (lambda: 1 / 0, True),
        (lambda: os.kill(os.getpid(), 11), False),
        (os.abort, False),
    ],
)
def test_what_ends_a_process_ends_a_copy(function: object, survived: bool) -> None:
    assert callable(function)
    assert trial.survives(function) is survived


def test_shapes_that_end_a_process_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("OCP")
    from regularize.model import solids

    monkeypatch.setattr(solids, "survives", lambda function, seconds: False)
    with pytest.raises(rg.ReadError, match="damaged"):
        solids.stored_shape(b"", "part.bin")


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
