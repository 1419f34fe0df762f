"""Overconstraints of textbooks on machine design: the first advice is the book's."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import regularize as rg

BOOK = Path(__file__).with_name("textbook.csv")
with BOOK.open(encoding="utf-8") as file:
    ROWS = list(csv.DictReader(file, delimiter=";"))
FIT = {"tolerance": "0.05mm,0.1deg", "stiffness": "50N/um,2000Nm/rad"}
AXES = dict(zip("xyz", np.eye(3), strict=True))


def assembly(joints: str) -> rg.Mechanism:
    """Two parts with the joints of a row between them."""
    made = []
    for number, words in enumerate(joints.split(" | "), start=1):
        kind, axis, point = words.split()
        direction = AXES[axis] if axis in AXES else [float(x) for x in axis.split(",")]
        place = [float(x) for x in point.split(",")]
        made.append(rg.Joint.in_world(f"j{number}", "frame", "part", kind, direction, place))
    return rg.Mechanism.of_joints("assembly", made)


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_the_first_advice_is_the_books(row: dict[str, str]) -> None:
    report = rg.check(assembly(row["joints"]), **FIT)  # type: ignore[arg-type]
    first = report.advice[0].as_dict()
    changes = [f"{c['joint']}={c['to'].partition(':')[0]}" for c in first["changes"]]
    assert (first["arrangement"], " ".join(changes)) == (row["arrangement"], row["changes"])
    assert first["left"] == int(row["left"])
    assert first["load"]["after"] < 0.2 * first["load"]["before"]
    assert f"1. {row['arrangement']}: make" in str(report)


@pytest.mark.parametrize("limit, word, status", [("200N", "binds", 1), (1e5, "fits", 1)])
def test_a_limit_says_whether_it_binds(limit: float | str, word: str, status: int) -> None:
    door = assembly(ROWS[0]["joints"])
    report = rg.check(door, load_limit=limit, **FIT)  # type: ignore[arg-type]
    (found,) = [d for d in report.diagnostics if d.code == "REG239"]
    assert found.message.startswith(f"{word}: joint") and "1770 N" in found.message
    assert report.exit_status() == status
    with pytest.raises(rg.ModelError, match="limit needs a tolerance"):
        rg.check(door, load_limit="200N")


def test_clearance_takes_joints_out_of_files(tmp_path: Path) -> None:
    press = next(row for row in ROWS if row["name"].startswith("press"))
    path = tmp_path / "press.json"
    rg.save(assembly(press["joints"]), path)
    fixed = rg.fix(path, {"j3": "clearance", "j4": "clearance"})
    assert fixed.reduction.redundant == 3 and fixed.reduction.mobility == 1
    assert [joint.name for joint in fixed.mechanism.joints] == ["j1", "j2"]
