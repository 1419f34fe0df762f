"""Closed-loop robot models in URDF that other people wrote, with known answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import regularize as rg

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
pytestmark = [
    pytest.mark.skipif(not CORPUS.exists(), reason="the model collection is not here"),
    pytest.mark.slow,
]

GEPETTO, PLUS, DRAKE = "gepetto_yaml", "urdf_plus", "urdf_drake"
#: Models without redundancy: name, loops and mobility.
CONTROLS = [
    ("5bar_linkage_iso3d", 1, 2),
    ("5bar_linkage_iso6d", 1, 2),
    ("cassie_like", 2, 7),
    ("digit_like", 3, 9),
    ("digit_like_2legs", 6, 12),
    ("digit_like_2legs_old", 6, 12),
    ("disney_like", 3, 9),
    ("disney_robot", 6, 14),
    ("old_digit_like_2legs", 6, 18),
    ("true_talos_2_legs", 2, 34),
]


@cache
def checked(*parts: str) -> rg.Report:
    return rg.check(rg.load(CORPUS.joinpath(*parts)))


def answer(*parts: str) -> dict[str, Any]:
    return checked(*parts).as_dict()


def counts(report: dict[str, Any]) -> tuple[int, int, int]:
    """Grübler count, mobility and redundancy, which have to fit together."""
    mobility = report["mobility"]
    assert mobility["actual"] - mobility["gruebler"] == mobility["redundant"]
    assert sum(report["redundancy"].values()) == mobility["redundant"]
    assert report["assembly"]["closed"] is True
    return mobility["gruebler"], mobility["actual"], mobility["redundant"]


@pytest.mark.parametrize(("name", "loops", "mobility"), CONTROLS)
def test_control_models_close_and_are_not_redundant(name: str, loops: int, mobility: int) -> None:
    report = answer(GEPETTO, name)
    assert report["model"]["loops"] == loops
    assert counts(report) == (mobility, mobility, 0)
    assert report["reduction"]["removed"] == 0
    assert report["assembly"]["residual_before"]["translation_m"] > 1e-7
    assert report["assembly"]["residual_after"]["translation_m"] < 1e-12
    assert not {d["code"] for d in report["diagnostics"]} & {"REG201", "REG202", "REG210"}


def test_five_bar_of_hinges_is_planar() -> None:
    report = answer(GEPETTO, "5bar_linkage")
    assert counts(report) == (0, 3, 3)
    (loop,) = report["loops"]
    assert (loop["class"], loop["motion_algebra"]["type"]) == ("trivial", "planar")
    assert (loop["constraints"], loop["kept"]) == (5, 2)


def test_delta_robot_of_planar_legs() -> None:
    report = answer(GEPETTO, "robot_delta")
    assert counts(report) == (-4, 5, 9)
    assert report["redundancy"]["trivial"] == 9
    assert (report["reduction"]["constraints"], report["reduction"]["kept"]) == (15, 6)


def test_four_bar_is_not_misled_by_its_singular_pose() -> None:
    report = answer(PLUS, "four_bar", "four_bar.urdf")
    assert counts(report) == (-2, 1, 3)
    assert (report["reduction"]["kept"], report["reduction"]["removed"]) == (2, 3)
    here = report["mobility"]["here"]
    assert here == {"mobility": 2, "redundant": 4, "singular": True}


@pytest.mark.parametrize(("branches", "depth"), [(1, 1), (2, 5), (4, 10), (6, 10)])
def test_branches_of_four_bars(branches: int, depth: int) -> None:
    """Each of the four-bars has three redundant rows, and a hinge of its own leads to it."""
    report = answer(PLUS, "bench_variable_four_bar", f"four_bar_branch_{branches}_{depth}.urdf")
    loops = branches * depth
    assert report["model"]["loops"] == loops
    assert counts(report)[2] == 3 * loops
    assert report["redundancy"]["trivial"] == 3 * loops
    assert report["reduction"]["kept"] == 2 * loops
    assert {loop["motion_algebra"]["type"] for loop in report["loops"]} == {"planar"}


@pytest.mark.parametrize("size", [3, 9, 13])
def test_parallel_chains(size: int) -> None:
    paths = sorted(
        (CORPUS / PLUS / "bench_parallel_chains_implicit").rglob(f"loop_size{size}.urdf")
    )
    if not paths:
        pytest.skip("no chain of this size")
    report = answer(*paths[0].relative_to(CORPUS).parts)
    assert counts(report)[2] == 3
    assert report["redundancy"]["trivial"] == 3


def test_strandbeest() -> None:
    """Twelve planar legs closed by ball joints on a floating frame."""
    report = answer(DRAKE, "strandbeest", "strandbeest_expanded.urdf")
    gruebler, actual, redundant = counts(report)
    assert (gruebler, actual, redundant) == (-29, 7, 36)
    assert report["reduction"]["removed"] == 36
    assert report["reduction"]["remaining_redundant"] == 0
    assert report["reduction"]["certified_configurations"] >= 50


@pytest.mark.parametrize("name", ["mini_cheetah", "mit_humanoid", "jvrc1_humanoid"])
def test_couplings_without_loops_are_independent(name: str) -> None:
    report = answer(PLUS, name, f"{name}.urdf")
    gruebler, actual, redundant = counts(report)
    assert report["model"]["loops"] == 0 and redundant == 0 and actual == gruebler
    assert report["model"]["couplings"] > 0
    freedoms = rg.load(CORPUS / PLUS / name / f"{name}.urdf").freedoms
    assert gruebler == freedoms - report["model"]["couplings"]
