"""Why mechanisms are locked or move, what shaky ones are said to do, and what is not proposed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import pytest

import regularize as rg
from regularize.lie import screw

ASSETS = Path(__file__).resolve().parents[2] / "assets"
RIGID = (
    "hinges_in_a_plane",
    "hinges_on_a_line_3",
    "hinges_on_a_line_4",
    "plate_on_concurrent_bars",
    "plate_on_parallel_bars",
)


def load(name: str) -> rg.Mechanism:
    return rg.load(ASSETS / f"{name}.urdf")


@cache
def checked(name: str) -> Any:
    return rg.check(load(name))


def only(report: Any) -> dict[str, Any]:
    """The one reason of a report."""
    (reason,) = report.as_dict()["why"]
    return dict(reason)


def distance(wrench: list[float], axis: Any, point: Any) -> float:
    """Of the line of a force (force, moment) from an axis of rotation; a force has no pitch."""
    force, moment = np.array(wrench[:3]), np.array(wrench[3:])
    assert abs(force @ moment) < 1e-9
    on_line = np.cross(force, moment)
    normal = np.cross(force, axis)
    gap = np.asarray(point) - on_line
    size = np.linalg.norm(normal)
    return float(abs(gap @ normal) / size if size > 1e-9 else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bricard", "mobility/kaleidocycle_6", "mobility/altmann_6r"])
def test_the_line_that_all_axes_meet_stands_in_the_report(name: str) -> None:
    mechanism = load(name)
    report = checked(name)
    reason = only(report)
    assert reason["subject"] == "moves" and set(reason["joints"]) == set("ABCDEF")
    assert "Why it moves" in str(report) and "all axes meet its line" in reason["text"]
    reference = rg.reduce(mechanism).reference
    for s in reference.screws[0]:
        axis, point, _ = screw.axis_of(s)
        assert distance(reason["wrench"], axis, point) < 1e-9


@pytest.mark.slow
def test_a_wrench_with_pitch_is_no_line_to_meet() -> None:
    reason = only(checked("schatz"))
    assert "of pitch -200 mm" in reason["text"] and "linear complex" in reason["text"]


@pytest.mark.slow
def test_several_wrenches_are_counted() -> None:
    text = only(checked("bennett"))["text"]
    assert "3-system of screws" in text and "3 wrenches" in text


@pytest.mark.parametrize("build", [mechanisms.planar_fourbar, mechanisms.sarrus, mechanisms.rssr])
def test_what_is_proved_or_regular_needs_no_other_reason(build: Any) -> None:
    assert rg.check(build()).as_dict()["why"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param(
            "six_rods_that_meet_a_line",
            "`platform` could turn about the axis along Y through (0, 0, 1200) mm, which the lines "
            "of all its rods meet",
            marks=pytest.mark.slow,
        ),
        (
            "plate_on_concurrent_bars",
            "`A1_B1_C1` could turn about the axis along Y through (0, 0, 2000) mm, which the lines "
            "of all its rods meet",
        ),
        ("plate_on_parallel_bars", "`A1_B1_C1` could slide along X"),
        # At the stretched pose every rod is as long as can be, so pulling on all holds it.
        pytest.param(
            "delta_stretched",
            "tension in `rod_1`, `rod_2`, `rod_3`, `rod_4`, `rod_5` and `rod_6`)",
            marks=pytest.mark.slow,
        ),
        # Balance: forces 1.4 : -2.4 : 1 at 0, 0.5 and 1.2 m; 1.4/0.5 - 2.4/0.8 + 1/0.6 > 0.
        ("plate_on_parallel_bars", "tension in `A_A1` and `C_C1`, compression in `B_B1`"),
        ("hinges_on_a_line_3", "a force along X on the line through (0, 0, 0) mm"),
    ],
)
def test_what_locks_a_shaky_frame(name: str, words: str) -> None:
    report = checked(f"mobility/{name}")
    reason = only(report)
    assert reason["subject"] == "locked" and words in reason["text"]
    assert "at second order" in reason["text"]
    text = str(report)
    assert "Why it is locked" in text and "True mobility 0" in text and "Shaky" in text
    assert " moves for its special dimensions" not in text


@pytest.mark.slow
def test_what_no_stress_locks_is_locked_at_a_higher_order() -> None:
    report = checked("mobility/watt_against_watt")
    assert "terms of order 3 forbid it" in only(report)["text"]
    assert report.as_dict()["mobility"]["finite"] == 0 and report.cures == ()


@pytest.mark.slow
def test_what_moves_is_what_finite_motions_move() -> None:
    """The hinge between two spherical chains stands still: both its bodies turn as one."""
    report = rg.check(mechanisms.shaky_7r())
    reason = only(report)
    assert np.abs(reason["wrench"]) == pytest.approx([1, 0, 0, 0, 0, 0], abs=1e-9)
    words = {body.body: body.words for body in report.moving}
    assert words["link 3"] == words["link 4"]
    assert words["link 3"].startswith("rotates about X through")
    assert "Why it goes no further" in str(report)


@pytest.mark.slow
def test_a_plate_on_equal_parallel_rods_only_translates() -> None:
    report = checked("mobility/plate_on_four_rods")
    words = {body.body: body.words for body in report.moving}
    assert words["platform"] == "translates in space without turning"


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGID)
def test_nothing_makes_a_mechanism_of_a_rigid_frame(name: str) -> None:
    mechanism = load(f"mobility/{name}")
    report = checked(f"mobility/{name}")
    assert {body.words for body in report.moving} == {"stays at rest"}
    assert report.cures == () and rg.cures(report.reduction) == ()
    text = str(report)
    assert "numerical=True" not in text and "build it without redundancy" not in text
    last = mechanism.joints[-1].name
    assert not rg.cure(report.reduction, {last: "spherical"})
    motion = rg.simulate(mechanism, duration=0.1, times=np.linspace(0.0, 0.1, 3))
    assert np.ptp(np.array(motion.coordinates), axis=0).max() < 1e-9
    assert "REG318" in {finding.code for finding in motion.findings}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hinges_on_a_line_3", "plate_on_concurrent_bars"])
def test_what_holds_at_second_order_is_no_numerical_redundancy(name: str) -> None:
    mechanism = load(f"mobility/{name}")
    proved, numerical = rg.reduce(mechanism), rg.reduce(mechanism, numerical=True)
    assert (numerical.removed, numerical.remaining) == (proved.removed, proved.remaining)
    assert numerical.remaining == 1 and all(part.proved for part in numerical.parts)


@pytest.mark.slow
def test_forces_that_nothing_balances_are_no_surprise() -> None:
    """Gravity pulls a stretched chain down: no finite tension holds it straight."""
    reduction = rg.reduce(load("mobility/hinges_on_a_line_3"))
    with pytest.raises(rg.ModelError, match="the mechanism is shaky"):
        rg.joint_forces(reduction)


@pytest.mark.slow
def test_a_shaky_mechanism_moves_on_its_one_freedom() -> None:
    """One finite freedom, though two of velocity: energy is kept, and loops stay closed."""
    mechanism = load("shaky_7r")
    times = np.linspace(0.0, 0.3, 4)
    coarse, fine = (
        rg.simulate(mechanism, duration=0.3, times=times, rtol=rtol) for rtol in (1e-9, 1e-11)
    )
    assert coarse.coordinates == pytest.approx(fine.coordinates, abs=1e-7)
    assert fine.energy_drift < 1e-9 and fine.closure_drift < 1e-11
    assert np.ptp(fine.coordinates, axis=0).max() > 0.1
