"""Mobility of mechanisms of the literature: rigid, shaky, branching and paradoxical ones.

The known answers of ``assets/mobility`` are compared with the project's and with those of an
independent walk in small steps (``small_step_walk.py``).
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_mechanisms import random_network
from small_step_walk import judge, largest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FOLDER = ASSETS / "mobility"
CLASSES = ("trivial", "exceptional", "topological", "paradoxical", "needed")
TEXT = ("file", "reference", "proof", "components")

with (FOLDER / "answers.csv").open(newline="", encoding="utf-8") as table:
    ANSWERS: dict[str, dict[str, Any]] = {
        row["file"]: {k: v if k in TEXT else int(v) for k, v in row.items()}
        for row in csv.DictReader(table)
    }

#: Judged by the walk here; the script judges all.
QUICK = (
    "bricard_octahedron_3",
    "hinges_on_a_line_4",
    "kaleidocycle_6",
    "origami_vertex_flat",
    "plate_on_parallel_bars",
    "squares_folded",
    "watt_against_watt",
    "wunderlich_12_bar",
)


def load(name: str) -> rg.Mechanism:
    return rg.load(FOLDER / f"{name}.urdf")


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_the_known_mobility_and_classes_are_found(name: str) -> None:
    report, answer = rg.check(rg.reduce(load(name), configurations=0)), ANSWERS[name]
    found = report.reduction
    assert report.redundancy | {"needed": report.needed} == {c: answer[c] for c in CLASSES}
    assert found.freedoms - sum(cell.here.rank for cell in found.cells) == answer["here"]
    assert found.gruebler == answer["gruebler"]
    assert found.finite_mobility == answer["finite"]
    assert found.mobility == answer["actual"]
    met = [mobility for mobility, _ in found.components]
    if answer["components"]:
        assert sorted(met) == sorted(map(int, answer["components"].split()))
        assert found.kinematotropic == (len(set(met)) > 1)
    # Where branches of two freedoms part at fourth order no terms count them.
    assert found.components_complete == (name != "wren_platform")
    assert found.redundant == answer["actual"] - answer["gruebler"]


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_walk_in_small_steps_judges_alike(name: str) -> None:
    answer, judgement = ANSWERS[name], judge(load(name), samples=6)
    assert judgement.infinitesimal == answer["here"]
    # Of components of different mobility it sees the largest.
    assert judgement.finite == max(map(int, answer["components"].split()))


@pytest.mark.slow
def test_a_walk_in_longer_steps_sees_branches_that_part_at_fourth_order() -> None:
    judgement = judge(load("wren_platform"), samples=4, away=0.3)
    assert judgement.infinitesimal == 3
    assert set(judgement.dimensions) == {1, 2}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_random_networks_move_as_the_walk_finds(seed: int) -> None:
    mechanism = random_network(np.random.default_rng(seed))
    assert largest(rg.check(mechanism)) == judge(mechanism, 8).finite


def test_every_file_has_an_answer_with_a_reference_and_a_proof() -> None:
    assert {path.stem for path in FOLDER.glob("*.urdf")} == set(ANSWERS)
    assert all(answer["reference"] and answer["proof"] for answer in ANSWERS.values())
    assert len(ANSWERS) >= 30
    for answer in ANSWERS.values():
        met = [int(entry) for entry in answer["components"].split()]
        assert not met or answer["finite"] == max(met)
        assert answer["finite"] <= max([answer["actual"], *met]) <= answer["here"]


@pytest.mark.slow
def test_the_script_writes_the_same_mechanisms_again(tmp_path: Path) -> None:
    script = ASSETS / "make_mobility.py"
    subprocess.run([sys.executable, "-B", str(script), str(tmp_path)], check=True)
    files = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.urdf")}
    assert {path.name for path in tmp_path.iterdir()} == set(files)
    number = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
    for name, text in files.items():
        again = (tmp_path / name).read_text(encoding="utf-8")
        assert number.sub("#", again) == number.sub("#", text)
        # Sines and roots leave the last digit to the machine.
        pairs = zip(number.findall(again), number.findall(text), strict=True)
        assert max(abs(float(a) - float(b)) for a, b in pairs) < 1e-14, name
