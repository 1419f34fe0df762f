"""The verb ``solve``: ways to assemble and formulas, as a user at a terminal meets them."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FOUR_BAR = str(ASSETS / "planar_fourbar.urdf")


def solve(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is printed."""
    assert main(["solve", *arguments]) == 0
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that says why not."""
    assert main(["solve", *arguments]) == 2
    out, error = capsys.readouterr()
    assert not out
    assert error.count("\n") == 1
    return error


def table(text: str) -> dict[str, list[float]]:
    """Coordinates of all ways by joint."""
    found: dict[str, list[float]] = {}
    for row in text.split("assembled\n")[-1].splitlines():
        name, *cells = row.split()
        if "more" not in row and name != "way":
            found.setdefault(name, []).extend(map(float, cells))
    return found


def test_formulas_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    text = solve(capsys, FOUR_BAR)
    assert text.startswith("planar_fourbar, given A: 2 ways to assemble, in closed form\n")
    assert "loop A B C D" in text
    assert "two solutions" in text
    assert "way 1: elbow D bent to the negative side" in text
    assert "multiplications" in text
    assert "at A" not in text


@pytest.mark.slow
def test_ways_at_a_coordinate(capsys: pytest.CaptureFixture[str]) -> None:
    text = solve(capsys, FOUR_BAR, "--at", "A=0.5")
    assert "at A = 0.5: 2 ways of 2 can be assembled" in text
    found = table(text)
    exact = rg.closed_form(rg.load(FOUR_BAR), ["A"]).solve(0.5).q
    assert np.allclose(np.array([found[n] for n in "BCD"]).T, exact[:, 1:], atol=1e-5)


def test_what_cannot_be_assembled_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    text = solve(capsys, str(ASSETS / "slider_crank.urdf"), "--at", "D=9")
    assert "0 ways of 2 can be assembled" in text


@pytest.mark.slow
def test_many_ways_are_cut_short_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    gripper = str(ASSETS / "gripper.urdf")
    short = solve(capsys, gripper, "--inputs", "plunger", "--at", "plunger=0.001")
    whole = solve(capsys, gripper, "--inputs", "plunger", "--at", "plunger=0.001", "--all")
    assert "16 ways of 16" in short
    assert "and 8 more: --all prints them" in short
    assert "more" not in whole
    assert {len(row) for row in table(whole).values()} == {16}


@pytest.mark.slow
def test_loops_without_closed_form_are_solved_numerically(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = solve(capsys, str(ASSETS / "bricard.urdf"), "--at", "A=0.3")
    assert "given A: no closed form" in text
    assert "every equation has at least two of the unknowns B, C, D, E, F" in text
    told = " ".join(text.split("\nat ")[1].split())
    assert "2 ways by eigenvalues, loops closed to " in told
    assert "each proved to be one and alone there (Kantorovich); no others" in told


@pytest.mark.slow
def test_formulas_as_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    c, python = tmp_path / "c" / "loops.c", tmp_path / "loops.py"
    solve(capsys, FOUR_BAR, "--c", str(c), "--python", str(python))
    assert "loops(" in c.read_text()
    spec = importlib.util.spec_from_file_location("loops", python)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    exact = rg.closed_form(rg.load(FOUR_BAR), ["A"]).solve(0.5).q[1]
    assert all(map(math.isclose, module.loops([0.5], 1), exact))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--inputs", "A", "--at", "B=1"], "--at: A has no value; the inputs are A"),
        (["--inputs", "A", "--at", "A=1", "B=1"], "--at: B is no input; the inputs are A"),
        (["--at", "A"], "--at A: expected JOINT=NUMBER"),
        (["--inputs", "Q"], "no joint or coordinate 'Q'"),
        (["--inputs", "A", "B"], "cannot be chosen freely"),
    ],
)
def test_wrong_inputs(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    assert told in refused(capsys, FOUR_BAR, *arguments)


@pytest.mark.slow
def test_degrees_without_their_unit_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(Path(__file__).parents[2] / "assets" / "planar_fourbar.urdf")
    assert "write 30deg or 30rad" in refused(capsys, path, "--inputs", "A", "--at", "A=30")
    assert solve(capsys, path, "--inputs", "A", "--at", "A=30deg")


def test_no_driven_joint(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    mechanism = rg.load(FOUR_BAR)
    joints = [replace(joint, actuated=False) for joint in mechanism.joints]
    path = tmp_path / "passive.json"
    rg.save(replace(mechanism, joints=tuple(joints)), path)
    assert "name the inputs: --inputs JOINT" in refused(capsys, str(path))


def test_no_code_without_formulas(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.c"
    told = refused(capsys, str(ASSETS / "bricard.urdf"), "--inputs", "A", "--c", str(path))
    assert "no closed form" in told
    assert not path.exists()


def test_formulas_are_counted_and_written_without_further_packages(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    path = tmp_path / "loops.c"
    text = solve(capsys, FOUR_BAR, "--at", "A=0.5", "--c", str(path))
    assert "2 ways of 2 can be assembled" in text
    (count,) = re.findall(r"\d+ additions, .* arctangents", " ".join(text.split()))
    assert f"Operations: {count}." in path.read_text()
