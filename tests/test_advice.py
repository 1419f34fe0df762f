"""Advice: which joints to change first, compared with what textbooks make of known assemblies."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import regularize as rg
from regularize.cli import main

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
DOOR = """<robot name="door">
  <link name="wall"/><link name="door"/>
  <joint name="top" type="revolute"><parent link="wall"/><child link="door"/>
    <origin xyz="0 0 1"/><axis xyz="0 0 1"/><limit lower="0" upper="2" effort="1" velocity="1"/>
  </joint>
  <loop name="bottom" type="revolute">
    <predecessor link="wall"><origin xyz="0 0 -1"/></predecessor>
    <successor link="door"><origin xyz="0 0 -2"/></successor><axis xyz="0 0 1"/>
  </loop>
</robot>
"""


def body_on(kind: str, places: dict[str, Any], axis: Any, **more: Any) -> rg.Mechanism:
    """A body on several joints of one kind."""
    a = rg.assembly("body")
    a.body("body")
    for name, at in places.items():
        a.joint(kind, name, "ground", "body", at=at, axis=axis, **more)
    return a.mechanism()


def double_wishbone() -> rg.Mechanism:
    a = rg.assembly("double wishbone")
    for body in ("upper", "lower", "knuckle", "rod"):
        a.body(body)
    for arm, y, z in (("upper", 0.1, 0.5), ("lower", 0.0, 0.2)):
        a.hinge(f"{arm}_front", "ground", arm, at=(0.15, y, z), axis=X)
        a.hinge(f"{arm}_rear", "ground", arm, at=(-0.15, y, z), axis=X)
    a.ball("upper_ball", "upper", "knuckle", at=(0, 0.4, 0.5))
    a.ball("lower_ball", "lower", "knuckle", at=(0, 0.45, 0.2))
    a.ball("rod_in", "ground", "rod", at=(0.2, 0, 0.3))
    a.ball("rod_out", "rod", "knuckle", at=(0.2, 0.42, 0.3))
    return a.mechanism()


def tailgate() -> rg.Mechanism:
    a = rg.assembly("tailgate")
    a.body("gate")
    a.hinge("left", "ground", "gate", at=(0, -0.5, 1), axis=Y)
    a.hinge("right", "ground", "gate", at=(0, 0.5, 1), axis=Y)
    a.body("cylinder")
    a.body("piston")
    a.hinge("foot", "ground", "cylinder", at=(0.1, 0.6, 0.5), axis=Y)
    a.slider("strut", "cylinder", "piston", at=(0.2, 0.6, 0.65), axis=(0.2, 0, 0.3))
    a.hinge("head", "piston", "gate", at=(0.3, 0.6, 0.8), axis=Y)
    return a.mechanism()


def engine(actuated: bool | None = None) -> rg.Mechanism:
    a = rg.assembly("engine")
    for body in ("crank", "rod", "piston"):
        a.body(body)
    a.hinge("main_a", "ground", "crank", at=(-0.1, 0, 0), axis=X, actuated=actuated)
    a.hinge("main_b", "ground", "crank", at=(0.1, 0, 0), axis=X)
    a.hinge("big_end", "crank", "rod", at=(0, 0.03, 0.04), axis=X)
    a.hinge("small_end", "rod", "piston", at=(0, 0, 0.2), axis=X)
    a.slider("bore", "ground", "piston", at=(0, 0, 0.2), axis=Z)
    return a.mechanism()


LOCATED = ("spherical", "point_on_line")
CASES = {
    "door": (
        body_on("hinge", {"top": (0, 0, 2), "bottom": (0, 0, 0)}, Z),
        dict(zip(("top", "bottom"), LOCATED, strict=True)),
    ),
    "drawer": (
        body_on("slider", {"left": (0, -0.2, 0), "right": (0, 0.2, 0)}, X),
        {"left": "cylindrical", "right": "line_in_plane"},
    ),
    "shaft in three bearings": (
        body_on("hinge", {"a": (0, 0, 0), "b": (0.3, 0, 0), "c": (0.6, 0, 0)}, X),
        {"a": "spherical", "b": "point_on_line", "c": "point_on_line"},
    ),
    "carriage on two rails with four blocks": (
        body_on(
            "slider",
            {"a1": (0, 0, 0), "a2": (0.2, 0, 0), "b1": (0, 0.3, 0), "b2": (0.2, 0.3, 0)},
            X,
        ),
        {"a1": "cylindrical", **dict.fromkeys(("a2", "b1", "b2"), "line_in_plane")},
    ),
    "four-column press": (
        body_on("cylindrical", {"a": (0, 0, 0), "b": (1, 0, 0), "c": (1, 1, 0), "d": (0, 1, 0)}, Z),
        dict.fromkeys("bcd", "line_in_plane"),
    ),
    "double wishbone": (
        double_wishbone(),
        {f"{arm}_front": "spherical" for arm in ("upper", "lower")}
        | {f"{arm}_rear": "point_on_line" for arm in ("upper", "lower")},
    ),
    "tailgate": (
        tailgate(),
        {
            "left": "spherical",
            "right": "point_on_line",
            "head": "spherical",
        },
    ),
    "engine": (engine(), {"main_a": "spherical", "main_b": "point_on_line"}),
    "engine with a starter": (engine(True), {"main_a": "spherical", "main_b": "point_on_line"}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_textbook_answer_is_among_the_first_three(name: str) -> None:
    mechanism, textbook = CASES[name]
    before = rg.reduce(mechanism)
    report = rg.check(mechanism)
    found = report.as_dict()["advice"]
    assert 0 < len(found) <= 5
    kinds = [{c["joint"]: c["to"].partition(":")[0] for c in e["changes"]} for e in found]
    assert any(textbook.items() <= each.items() for each in kinds[:3]), kinds
    for entry, asked in zip(found, report.advice, strict=True):
        assert entry["verified"] and not entry["in_file"] and entry["command"] is None
        assert entry["removes"] + entry["left"] == before.redundant and entry["removes"] > 0
        # The changed mechanism, analysed by itself.
        new = {change.joint: change.replacement for change in asked.changes}
        joints = tuple(new.get(joint.name, joint) for joint in mechanism.joints)
        after = rg.reduce(rg.Mechanism.of_joints(mechanism.name, joints))
        assert (after.redundant, after.mobility) == (entry["left"], before.mobility)
        assert entry["mobility"] == before.mobility and len(joints) == len(mechanism.joints)


def test_motors_are_the_last_joints_to_exchange() -> None:
    first, *_ = rg.check(engine(True)).as_dict()["advice"]
    assert "main_a" not in [change["joint"] for change in first["changes"]]


def test_a_door_is_mended_as_far_as_its_file_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "door.urdf"
    path.write_text(DOOR)
    report = rg.check(path)
    found = report.as_dict()["advice"]
    whole = next(entry for entry in found if entry["left"] == 0)
    held = next(entry for entry in found if entry["in_file"])
    assert not whole["in_file"] and {c["joint"] for c in whole["changes"]} == {"top", "bottom"}
    assert held == {
        "changes": [{"joint": "bottom", "from": "revolute", "to": "point_on_line:0,0,1"}],
        "removes": 3,
        "left": 2,
        "mobility": 1,
        "in_file": True,
        "command": f"regularize fix {path} -o fixed/ --joint bottom=point_on_line:0,0,1",
        "verified": True,
    }
    lines = str(report).splitlines()
    assert lines.index("What to change") < 8 and any(
        "make bottom point on line" in x for x in lines
    )
    words = [word.replace("fixed/", f"{tmp_path}/fixed/") for word in shlex.split(held["command"])]
    assert main(words[1:]) == 0
    after = rg.reduce(tmp_path / "fixed" / "door.urdf")
    assert (after.redundant, after.mobility) == (2, 1)
    # Without `--joint` the same is done, and what stays is said; with leave, the hinge goes.
    capsys.readouterr()
    assert main(["fix", str(path), "-o", f"{tmp_path}/partly/"]) == 1
    assert "2 of 5 redundant equations stay" in capsys.readouterr().err
    assert (tmp_path / "partly/door.urdf").read_text() == (tmp_path / "fixed/door.urdf").read_text()
    assert rg.fix(path, remove=True).reduction.redundant == 0


@pytest.mark.parametrize(
    "words",
    [
        "point_on_line:Z",
        "floating_bearing:z",
        "floating-bearing:-Z",
        "Point on line",
        "point_on_line:0,0,2",
    ],
)
def test_kinds_and_directions_are_said_in_many_words(words: str, tmp_path: Path) -> None:
    path = tmp_path / "door.urdf"
    path.write_text(DOOR)
    assert '+  <loop name="bottom" type="point_on_line">' in rg.fix(path, {"bottom": words}).diff
    assert rg.cures(path, kinds=["ball", "floating_bearing"])
    with pytest.raises(rg.ModelError, match="possible is cylindrical, universal, spherical"):
        rg.cure(path, {"bottom": "slider"})
