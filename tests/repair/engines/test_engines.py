"""Models moved in their engine before a change takes its place; the peers' own in `tests/peers`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mechanisms
import mujoco
import numpy as np
import pytest

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[3] / "assets"


@pytest.fixture
def gripper(tmp_path: Path) -> Path:
    rg.save(ASSETS / "gripper.urdf", tmp_path / "gripper.xml")
    return tmp_path / "gripper.xml"


def test_what_an_engine_showed_is_told(gripper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = rg.fix(gripper).engine
    assert told is not None
    assert (told["name"], told["version"], told["moved"]) == ("mujoco", mujoco.__version__, True)
    assert told["freedoms"] == [1, 1]
    assert told["motors"] == [1, 1]
    assert 0.0 < told["gap"][1] <= told["gap"][0] < 0.003
    assert main(["fix", str(gripper), "-o", str(gripper.with_name("fixed.xml"))]) == 0
    assert "moved in MuJoCo" in capsys.readouterr().out


def test_no_balls_where_a_joint_has_one_freedom(gripper: Path) -> None:
    fixed = rg.fix(gripper, engine="mjlab")
    assert fixed.reduction.redundant == 0
    assert not any(j.kind == "spherical" and not j.closure for j in fixed.mechanism.joints)
    with pytest.raises(rg.ModelError, match="for mjlab"):
        rg.fix(gripper, {"pivot_left": "spherical"}, engine="mjlab")
    entries = rg.check(gripper, engine="mjlab").advice
    assert entries
    closing = {joint.name for joint in rg.load(gripper).joints if joint.closure}
    changes = [change for entry in entries for change in entry.changes]
    assert not any(c.after == "spherical" and c.joint not in closing for c in changes)


def test_what_an_engine_refuses_names_what_it_holds(tmp_path: Path) -> None:
    rg.save(ASSETS / "roberval_balance.urdf", tmp_path / "scales.xml")
    with pytest.raises(rg.ModelError, match=r"opened by.*the nearest that it holds is") as error:
        rg.fix(tmp_path / "scales.xml", engine="mjlab")
    number = int(str(error.value).partition("--advice ")[2].split()[0])
    assert str(error.value).endswith("--for mjlab")
    assert "--for mjlab" in rg.check(tmp_path / "scales.xml", engine="mjlab").advice[0].command
    fixed = rg.fix(tmp_path / "scales.xml", advice=number, engine="mjlab")
    assert fixed.engine is not None and fixed.engine["moved"]


def test_motors_that_no_mechanism_holds_are_counted_in_the_owners_file(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="b"><joint name="j"/><geom size=".1"/><site name="s"/>
        </body></worldbody><actuator><motor joint="j"/><motor site="s"/></actuator></mujoco>"""
    (tmp_path / "one.xml").write_text(text)
    said = rg.save(rg.load(tmp_path / "one.xml"), tmp_path / "two.xml", engine="mujoco")
    assert "1 freedoms, 2 motors" in said[0].message


def test_an_engine_that_is_not_there_is_said(tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    rg.save(ASSETS / "planar_fourbar.urdf", tmp_path / "bars.usda")
    fixed = rg.fix(tmp_path / "bars.usda", engine="isaac")
    assert str(fixed.tested) == "not moved in Isaac (PhysX): not installed"
    assert fixed.engine == {
        **{"name": "isaac", "version": None, "freedoms": None, "motors": None, "gap": None},
        **{"moved": False, "reason": "not installed"},
    }
    with pytest.raises(rg.RegularizeError, match="no engine is called"):
        rg.fix(tmp_path / "bars.usda", engine="izaac")


def test_a_servo_keeps_the_damping_that_its_ratio_came_to(tmp_path: Path) -> None:
    bars = (ASSETS / "planar_fourbar.urdf", tmp_path / "bars.xml")
    rg.save(*bars)
    text = bars[1].read_text()
    start = text.index("<motor")
    servo = '<position name="servo" joint="A" kp="50" dampratio="1"'
    bars[1].write_text(text[:start] + servo + text[text.index("/>", start) :])
    before = mujoco.MjModel.from_xml_path(str(bars[1])).actuator_biasprm[0]
    fixed = rg.fix(bars[1])
    assert any("is written as kv=" in finding.message for finding in fixed.findings)
    after = mujoco.MjModel.from_xml_path(str(fixed.write(tmp_path / "fixed.xml")))
    assert after.actuator_biasprm[0] == pytest.approx(before)


def test_exports_are_moved_and_named_for_their_parser(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(ASSETS / "planar_fourbar.urdf")
    main(["export", model, "--to", "mjcf", "-o", str(tmp_path / "bars.xml")])
    assert "moved in MuJoCo" in capsys.readouterr().err
    assert main(["export", model, "--to", "drake", "-o", str(tmp_path / "bars.urdf")]) == 2
    assert "name the file NAME.xml" in capsys.readouterr().err


def test_hinges_that_close_loops_of_a_reduced_file_may_turn_all_around(tmp_path: Path) -> None:
    file, inertia = tmp_path / "cranks.urdf", rg.Inertia(1.0, np.zeros(3), 1e-3 * np.eye(3))
    cranks = mechanisms.scaled(mechanisms.three_cranks(), 0.2)
    bodies = tuple(replace(body, inertia=inertia) for body in cranks.bodies)
    rg.save(replace(cranks, bodies=bodies), file, format="urdf+")
    assert main(["reduce", str(file), "-o", str(tmp_path / "reduced")]) in (0, 1)
    assert (tmp_path / "reduced" / file.name).exists()
