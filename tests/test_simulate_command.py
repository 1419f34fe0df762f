"""`regularize simulate`: what it refuses at once, and what it says of singular configurations."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinocchio_cases import massive

import regularize as rg
from regularize.cli import main
from regularize.dynamics import simulate as simulator
from regularize.model.mechanism import joint_in_world, mechanism_of


@pytest.fixture
def model(tmp_path: Path) -> str:
    names, points = "gabcg", [(0, 0, 0), (0, 0, 1), (2, 0, 1), (2, 0, 0)]
    joints = [
        joint_in_world(f"j{i}", names[i], names[i + 1], "revolute", (0, 1, 0), point)
        for i, point in enumerate(points)
    ]
    path = tmp_path / "parallelogram.json"
    assert rg.save(massive(mechanism_of("parallelogram", joints)), path) == ()
    return str(path)


REFUSED = [
    (["--rtol", "0"], "--rtol 0: expected a positive number between 2.2e-14 and 1"),
    (["--rtol=-1e-9"], "--rtol -1e-9: expected a positive number between 2.2e-14 and 1"),
    (["--rtol", "nan"], "--rtol nan: expected a positive number between 2.2e-14 and 1"),
    (["--rtol", "1e-30"], "--rtol 1e-30: expected a positive number between 2.2e-14 and 1"),
    (["--rtol", "fine"], "--rtol fine: expected a positive number between 2.2e-14 and 1"),
    (["--duration", "nan"], "--duration nan: expected a positive number"),
    (["--duration", "inf"], "--duration inf: expected a positive number"),
    (["--duration", "-2"], "--duration -2: expected a positive number"),
    (["--actuate", "j0=nan"], "--actuate j0=nan: expected JOINT=NUMBER, a finite one"),
    (["--rate", "j0=-inf"], "--rate j0=-inf: expected JOINT=NUMBER, a finite one"),
    (["-o", "motion.txt"], "motion.txt: motions are written as .csv or .npz"),
    (["--plot", "motion.pdf"], "motion.pdf: plots are written as .svg or .png"),
    (["--through"], "--through: goes with --coordinates path only"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[" ".join(o) for o, _ in REFUSED])
def test_refuses_in_one_line_before_anything_moves(
    model: str,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulator, "_robot", lambda *_: pytest.fail("simulates"))
    assert main(["simulate", model, *options]) == 2
    written = capsys.readouterr().err
    assert message in written
    assert written.count("\n") == 1


def test_a_singular_path_says_what_to_type(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    along = ["simulate", model, "--coordinates", "path", "--rate", "j0=9", "--duration", "2"]
    assert main(along) == 2
    refused = capsys.readouterr().err
    assert "--through" in refused
    assert "--coordinates all" in refused
    out = tmp_path / "new" / "folder" / "motion.csv"
    assert main([*along, "--through", "-o", str(out)]) == 0
    assert "warning[REG313]: the path goes straight on" in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 202


@pytest.mark.slow
def test_minimal_coordinates_say_that_they_went_straight_on(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--coordinates", "minimal", "--rate", "j0=9", "--duration", "2"]
    assert main(["simulate", model, *options]) == 0
    written = capsys.readouterr().out
    assert "warning[REG313]: the motion goes straight on at a singular configuration" in written
    assert main(["explain", "REG314"]) == 0
    assert "passage-undecided" in capsys.readouterr().out
