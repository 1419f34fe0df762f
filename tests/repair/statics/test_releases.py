"""Closures that are stiffer than the mechanism: what is said, proposed, and what moves then."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from test_augment import dense_acceleration, state
from test_fix import LOOP, robot
from test_pinocchio_import import GROUND_PIVOT, closures, open_fourbar

import regularize as rg
from regularize.cli import main

Y = (0, 1, 0)


def welded() -> tuple[Any, Any, Any]:
    """A planar four-bar in Pinocchio, closed by a weld as its user wrote it."""
    model, tip, end = open_fourbar()
    return model, closures(model, tip, end)["rigid 6d"][0], (tip, end)


@pytest.mark.slow
def test_from_locked_to_swinging_by_the_line_that_is_proposed() -> None:
    model, weld, (tip, end) = welded()
    before, names = model.copy(), list(model.names)
    locked = rg.augment(model, [weld])
    (finding,) = locked.findings
    assert (finding.code, locked.reduction.mobility) == ("REG218", 0)
    assert finding.message == (
        "`closure 0` is a weld; a hinge along Y there gives mobility 1 (3 equations redundant)"
    )
    line = finding.help[0].partition(": ")[2]
    robot = eval(line, {"rg": rg, "model": model, "closures": [weld]})
    assert robot.findings == () and robot.reduction.mobility == 1
    assert robot.model is model and model == before and list(model.names) == names
    q, v, tau = state(robot)
    assert np.max(np.abs(v)) > 0.01
    anchor = pin.FrameAnchorConstraintModel(model, 0, GROUND_PIVOT, tip, end)
    expected = dense_acceleration(model, anchor, [0, 1, 2, 3, 5], q, v, tau)
    bound = 1e-12 * (1.0 + np.max(np.abs(expected)))
    assert np.max(np.abs(robot.forward_dynamics(q, v, tau) - expected)) < bound


def test_cures_of_a_locked_mechanism_free_it() -> None:
    model, weld, _ = welded()
    reduction = rg.reduce(rg.from_pinocchio(model, [weld]))
    best, *others = rg.cures(reduction, limit=3)
    assert best.kinds == {"closure 0": "revolute"} and (best.freed, best.mobility) == (1, 1)
    assert str(best) == "closure 0: fixed to revolute (axis along Y)"
    assert [cure.kinds["closure 0"] for cure in others] == ["prismatic", "spherical"]
    named = rg.cure(reduction, {"closure 0": "revolute"})
    assert named is not None and str(named) == str(best)
    assert rg.cures(reduction, keep=["closure 0"])[0].freed == 0


def test_a_hinge_across_the_plane_frees_nothing() -> None:
    model, weld, _ = welded()
    with pytest.raises(rg.ModelError, match="cannot be made revolute"):
        rg.augment(model, [weld], kinds={"closure 0": "revolute:1,0,0"})
    with pytest.raises(rg.ModelError, match="no direction"):
        rg.augment(model, [weld], kinds={"closure 0": "revolute:along"})


def six_for_three() -> rg.Mechanism:
    """A spatial chain of six hinges that a weld closes where a ball joint belongs."""
    rng = np.random.default_rng(1)
    joints = [
        rg.Joint.in_world(f"j{k}", f"b{k}", f"b{k + 1}", "revolute", *rng.normal(size=(2, 3)))
        for k in range(6)
    ]
    weld = rg.Joint.in_world("w", "b0", "b6", "fixed", closure=True)
    return rg.Mechanism.of_joints("six", [*joints, weld])


@pytest.mark.slow
def test_six_rows_where_three_belong() -> None:
    reduction = rg.reduce(six_for_three())
    assert reduction.mobility == 0
    found = rg.cures(reduction)
    assert [cure.kinds["w"] for cure in found[:3]] == ["revolute", "prismatic", "spherical"]
    assert [cure.freed for cure in found[:3]] == [1, 1, 3]
    ball = next(cure for cure in found if cure.kinds["w"] == "spherical")
    assert (ball.mobility, ball.reduction.redundant) == (3, 0)


@pytest.mark.slow
def test_several_welds_are_changed_together() -> None:
    """Two four-bars on one coupler: none moves while the other one is welded."""
    bars = [("A", "E", 0.0), ("B", "F", 1.0), ("C", "G", 0.5)]
    joints = []
    for low, high, x in bars:
        joints.append(rg.Joint.in_world(low, "ground", f"bar {low}", "revolute", Y, (x, 0, 0)))
        closing = low != "A"
        kind = "fixed" if closing else "revolute"
        joints.append(
            rg.Joint.in_world(high, f"bar {low}", "plate", kind, Y, (x, 0, 0.7), closure=closing)
        )
    mechanism = rg.Mechanism.of_joints("three bars", joints)
    reduction = rg.reduce(mechanism)
    assert reduction.mobility == 0
    (best, *_) = rg.cures(reduction)
    assert best.kinds == {"F": "revolute", "G": "revolute"} and best.mobility == 1
    report = rg.check(mechanism)
    (finding,) = [d for d in report.diagnostics if d.code == "REG218"]
    assert finding.message.startswith("`F`, `G` are welds; hinges along Y there give mobility 1")


@pytest.mark.parametrize("kind", ["free", "prismatic"])
def test_what_is_meant_to_be_welded_is_no_finding(kind: str) -> None:
    joints = [
        rg.Joint.in_world("j", "ground", "body", kind),
        rg.Joint.in_world("w", "ground", "body", "fixed", closure=True),
    ]
    report = rg.check(rg.Mechanism.of_joints("held", joints))
    assert report.reduction.mobility == 0
    assert "REG218" not in {d.code for d in report.diagnostics}


@pytest.mark.slow
def test_files_are_told_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loop = LOOP.replace("revolute", "fixed").replace('    <axis xyz="0 1 0"/>\n', "")
    path = robot(tmp_path, loop)
    report = rg.check(rg.load(path))
    (finding,) = [d for d in report.diagnostics if d.code == "REG218"]
    assert "`D` is a weld; a hinge along Y there gives mobility 1" in finding.message
    assert finding.help[0].endswith("robot.urdf --joint D=revolute:0,1,0 -o OUT")
    assert "make D revolute (axis along Y), which gives mobility 1" in " ".join(str(report).split())
    # The command that is proposed.
    _, *arguments = shlex.split(finding.help[0].rpartition(": ")[2])
    assert main([*arguments[:-1], str(tmp_path / "free.urdf")]) == 0
    reduction = rg.reduce(rg.load(tmp_path / "free.urdf"))
    assert (reduction.mobility, reduction.redundant) == (1, 3)
    assert '<axis xyz="0 1 0"/>' in (tmp_path / "free.urdf").read_text().partition("<loop")[2]


@pytest.mark.slow
def test_a_weld_in_mjcf(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "bar.xml"
    body = '<geom type="capsule" size="0.01 0.1"/><joint name="{}" axis="0 1 0"/>'
    path.write_text(
        '<mujoco><worldbody><body name="a">' + body.format("A") + '<body name="b" pos="0.1 0 0.35">'
        + body.format("B") + '<body name="c" pos="0.5 0 0.25">' + body.format("C")
        + '</body></body></body></worldbody><equality><weld name="w" body1="c" body2="world" '
        'anchor="1 0 0"/></equality></mujoco>'
    )  # fmt: skip
    report = rg.check(rg.load(path))
    (finding,) = [d for d in report.diagnostics if d.code == "REG218"]
    assert "`w` is a weld; a hinge along Y there gives mobility 1" in finding.message
    # A hinge that closes a loop is two points of it, which hold one distance twice.
    commands = [text for text in finding.help if "--joint" in text]
    assert [line.partition(",")[0] for line in commands] == [
        "a hinge along Y there",
        "a ball joint there",
    ]
    for line in commands:
        _, *arguments = shlex.split(line.rpartition(": ")[2])
        assert main([*arguments[:-1], str(tmp_path / "free.xml")]) == 0
        assert rg.reduce(rg.load(tmp_path / "free.xml")).mobility == 1


PART = (
    '<body name="{n}" pos="{x} 0 {z}"><joint name="{n}" axis="0 1 0"/><geom size=".01"/>'
    "{more}</body>"
)


def finger(side: str, x: float) -> str:
    """A crank with a finger, and a crank beside it."""
    more = PART.format(n=f"finger_{side}", x=0.05 * x, z=-0.05, more="")
    driver = PART.format(n=f"driver_{side}", x=0.02 * x, z=-0.01, more=more)
    return driver + PART.format(n=f"idler_{side}", x=0.005 * x, z=-0.01, more="")


@pytest.mark.slow
def test_welds_that_a_gear_ties_together_are_opened_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "gripper.xml"
    path.write_text(
        f"<mujoco><worldbody>{finger('l', -1.0)}{finger('r', 1.0)}</worldbody>"
        '<equality><weld name="l" body1="finger_l" body2="idler_l" anchor="-.05 0 -.05"/>'
        '<weld name="r" body1="finger_r" body2="idler_r" anchor=".05 0 -.05"/>'
        '<joint joint1="driver_r" joint2="driver_l" polycoef="0 -1 0 0 0"/></equality></mujoco>'
    )
    report = rg.check(path)
    (finding,) = [d for d in report.diagnostics if d.code == "REG218"]
    assert "`l`, `r` are welds; hinges along Y there give mobility 1" in finding.message
    first, *_ = report.as_dict()["advice"]
    assert {c["joint"]: c["to"] for c in first["changes"]} == dict.fromkeys("lr", "revolute:0,1,0")
    assert first["mobility"] == 1 and first["in_file"]
    words = [word.replace("fixed/", str(tmp_path / "new.xml")) for word in first["command"].split()]
    assert main(words[1:]) == 0 and rg.reduce(tmp_path / "new.xml").mobility == 1
    # Without these changes nothing moves, and nobody is told that all is well: MuJoCo's soft loops
    # open wider, and where the file cannot be moved it is said that it is locked.
    assert main(["fix", str(path), "--diff"]) == 2
    assert re.search(r"in MuJoCo .*loops open by .*nothing is written", capsys.readouterr().err)
    assert main(["fix", str(path), "--diff", "--for", "gazebo"]) == 1
    assert "LOCKED" in capsys.readouterr().err
