"""Mechanisms with known answers: the files of `assets`, the design table and textbook cases."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
#: On so many configurations every reduction is tried.
CERTIFIED = 50
NAMES = ("trivial", "exceptional", "topological", "paradoxical")

with (ASSETS / "answers.csv").open(newline="", encoding="utf-8") as table:
    ANSWERS: dict[str, dict[str, Any]] = {
        row["file"]: {k: v if k in ("file", "reference") else int(v) for k, v in row.items()}
        for row in csv.DictReader(table)
    }


def load(name: str) -> rg.Mechanism:
    return rg.load(ASSETS / f"{name}.urdf")


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_check_gives_the_known_answer(name: str) -> None:
    answer, report = ANSWERS[name], rg.check(load(name)).as_dict()
    mobility, reduction = report["mobility"], report["reduction"]
    assert report["model"]["loops"] == answer["loops"]
    for key in ("gruebler", "actual", "finite", "redundant"):
        assert mobility[key] == answer[key], key
    assert report["redundancy"] == {key: answer[key] for key in NAMES}
    assert sum(report["redundancy"].values()) == mobility["redundant"]
    assert mobility["actual"] - mobility["gruebler"] == mobility["redundant"]
    assert reduction["removed"] == answer["rows"] - answer["kept"]
    assert reduction["kept"] + reduction["removed"] == reduction["constraints"]
    assert reduction["remaining_redundant"] == answer["topological"] + answer["paradoxical"]
    assert reduction["certified_configurations"] >= CERTIFIED
    json.dumps(report, allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_the_cuts_of_the_file_keep_the_known_number_of_rows(name: str) -> None:
    mechanism, answer = load(name), ANSWERS[name]
    reduction = rg.reduce(mechanism, keep_cuts=True)
    closures = {joint.name for joint in mechanism.joints if joint.closure}
    assert {cut.edge.joint.name for cut in reduction.cuts} == closures
    assert (reduction.constraints, reduction.kept) == (answer["rows"], answer["kept"])
    assert reduction.certificate.holds


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_the_files_are_assembled_and_massive(name: str) -> None:
    mechanism = load(name)
    translation, rotation = rg.assemble(mechanism).worst_before
    assert translation < 1e-13 and rotation < 1e-13
    assert {finding.severity for finding in mechanism.findings} <= {"note"}
    for body in mechanism.bodies:
        if body.name == mechanism.ground:
            continue
        assert body.inertia is not None and body.inertia.mass > 0.0
        moments = np.linalg.eigvalsh(body.inertia.matrix)
        assert moments[0] > 0.0 and moments[2] <= moments[0] + moments[1] + 1e-12
        assert body.geometry


def test_every_file_has_an_answer_with_a_reference() -> None:
    assert {path.stem for path in ASSETS.glob("*.urdf")} == set(ANSWERS)
    assert all(answer["reference"] for answer in ANSWERS.values())


def test_the_script_writes_the_same_files_again(tmp_path: Path) -> None:
    script = ASSETS / "make_mechanisms.py"
    subprocess.run([sys.executable, "-B", str(script), str(tmp_path)], check=True)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_bytes() for path in ASSETS.glob("*.urdf")}


@pytest.mark.slow
@pytest.mark.parametrize("windows", [1, 2, 3])
def test_nothing_that_matters_is_deleted_at_the_flat_pose(windows: int) -> None:
    """Every window adds a freedom at the flat pose; a rank taken there deletes real rows."""
    report = rg.check(mechanisms.n_fourbar(windows, flat=True)).as_dict()
    mobility, reduction = report["mobility"], report["reduction"]
    assert mobility["here"] == {"mobility": 1 + windows, "redundant": 4 * windows, "singular": True}
    assert (mobility["actual"], mobility["finite"]) == (1, 1)
    assert (reduction["kept"], reduction["removed"]) == (2 * windows, 3 * windows)
    assert "REG203" in {d["code"] for d in report["diagnostics"]}


def test_the_third_crank_is_redundant_only_while_it_is_equal() -> None:
    unequal = rg.reduce(mechanisms.three_cranks(third=0.45))
    assert (unequal.mobility, unequal.removed, unequal.remaining) == (0, 6, 0)


@pytest.mark.slow
def test_bennett_loses_one_row_proved_and_the_others_when_asked() -> None:
    """The screw on a link's normal with pitch a cot(alpha) is reciprocal to all hinges always."""
    reduction = rg.reduce(mechanisms.bennett())
    assert (reduction.removed, reduction.remaining) == (1, 2)
    document = rg.prove(reduction)
    verdict = rg.verify(document)
    assert verdict.holds and "D: 1 of 5 rows are never needed" in verdict.claims
    assert not document["undecided"]
    numerical = rg.reduce(mechanisms.bennett(), numerical=True)
    assert (numerical.removed, numerical.remaining) == (3, 0)
    assert numerical.numerical and numerical.certificate.holds
    assert numerical.cuts[0].numerical.shape == (6, 2)
    assert numerical.cuts[0].removed.shape == (6, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name, answer in ANSWERS.items() if answer["paradoxical"] + answer["topological"]],
)
def test_numerical_reduction_leaves_as_many_rows_as_are_independent(name: str) -> None:
    mechanism = load(name)
    reduction = rg.reduce(mechanism, numerical="anyway")
    proved = rg.reduce(mechanism)
    if name == "shaky_7r":
        # The row is dependent only to first order; without it the loop would open.
        assert (reduction.remaining, reduction.removed) == (1, 0)
        return
    assert reduction.remaining == 0 and reduction.certificate.holds
    dropped = sum(cut.numerical.shape[1] for cut in reduction.cuts)
    assert dropped == proved.remaining
    assert dropped == ANSWERS[name]["paradoxical"] + ANSWERS[name]["topological"]
    assert reduction.kept == reduction.rank - sum(cut.edge.freedoms for cut in reduction.cuts)
