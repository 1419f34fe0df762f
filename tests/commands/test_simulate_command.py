"""`regularize simulate`: what it refuses at once, and what it says of singular configurations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from pinocchio_cases import massive

import regularize as rg
from regularize.cli import main


@pytest.fixture
def model(tmp_path: Path) -> str:
    names, points = "gabcg", [(0, 0, 0), (0, 0, 1), (2, 0, 1), (2, 0, 0)]
    joints = [
        rg.Joint.in_world(f"j{i}", names[i], names[i + 1], "revolute", (0, 1, 0), point)
        for i, point in enumerate(points)
    ]
    path = tmp_path / "parallelogram.json"
    assert rg.save(massive(rg.Mechanism.of_joints("parallelogram", joints)), path) == ()
    return str(path)


REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_bytes())["simulate"]


@pytest.mark.slow
@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[" ".join(o) for o, _ in REFUSED])
def test_refuses_in_one_line_before_anything_moves(
    model: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mechanism = rg.load(model)
    bare = [replace(body, inertia=None) for body in mechanism.bodies]
    rg.save(replace(mechanism, bodies=tuple(bare)), model)
    # Nothing of that model can move, which is not what is said first.
    assert main(["simulate", model, *options]) == 2
    written = capsys.readouterr().err
    assert message in written
    assert written.count("\n") == 1


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
