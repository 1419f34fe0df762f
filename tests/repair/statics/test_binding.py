"""Joints that bind where what moves as designed is built as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mechanisms
import noise_table
import pytest

import regularize as rg

#: By how much the middle hinge of the door is off.
OFF = 3e-4


def door() -> rg.Mechanism:
    """Three hinges on one line, the middle one aside."""
    places = {"low": (0, 0, 0), "middle": (OFF, 0, 1), "high": (0, 0, 2)}
    joints = [
        rg.Joint.in_world(name, "ground", "leaf", "revolute", mechanisms.Z, place)
        for name, place in places.items()
    ]
    return rg.Mechanism.of_joints("door", joints)


def bound(
    mechanism: rg.Mechanism, stiffness: Mapping[str, tuple[float, float]] | None = None
) -> dict[str, Any]:
    tolerance = None if stiffness is None else (1e-4, 1e-3)
    report = rg.check(mechanism, tolerance=tolerance, stiffness=stiffness)
    return {each.joint: each for each in report.binding}


@pytest.mark.slow
def test_the_middle_hinge_of_three_takes_two_thirds() -> None:
    found = bound(door())
    assert list(found) == ["middle", "low", "high"] or list(found) == ["middle", "high", "low"]
    # A gap d that three equal springs share gives way by d / 3, 2 d / 3 and d / 3.
    assert [found[name].share for name in ("low", "middle", "high")] == pytest.approx(
        [1 / 6, 2 / 3, 1 / 6]
    )
    assert found["middle"].translation == pytest.approx(2 * found["low"].translation)
    # The middle hinge's axis goes round the others': off by twice the distance at most.
    assert 0.1 * OFF < found["middle"].translation <= 2 / 3 * 2 * OFF
    assert found["middle"].force is None


def test_forces_by_stiffness() -> None:
    springs = {"low": (2e6, 1e9), "middle": (1e6, 1e9), "high": (2e6, 1e9)}
    found = bound(door(), springs)
    # One spring against two of twice its stiffness, side by side: 1/1 and 1/4 of its compliance.
    assert found["middle"].share == pytest.approx(4 / 5)
    force = found["middle"].force
    assert force == pytest.approx(1e6 * found["middle"].translation)
    assert found["low"].force == pytest.approx(0.5 * force)
    assert found["low"].moment == pytest.approx(0.0, abs=1e-6 * force)


@pytest.mark.slow
def test_what_a_stiffness_leaves_rigid_is_taken_as_equally_stiff() -> None:
    assert bound(mechanisms.bennett()) == {}  # it moves as it is written
    found = bound(noise_table.noisy(mechanisms.bennett(), 1e-4), {})
    assert found["A"].force is None
    assert sum(each.share for each in found.values()) == pytest.approx(1.0)


@pytest.mark.slow
def test_the_report_names_them() -> None:
    report = rg.check(door())
    (finding,) = [d for d in report.diagnostics if d.code == "REG219"]
    assert any(
        "if all are equally stiff, `middle` takes 67% of the strain" in h for h in finding.help
    )
    meant = report.as_dict()["as_designed"]
    assert {each["joint"] for each in meant["moves"]} == {"low", "middle", "high"}
    assert finding.help[0].startswith("moved: `middle` 0.2 mm, 0°; ")
    entries = meant["binding"]
    assert entries[0]["joint"] == "middle"
    assert entries[0]["force"] is None
    springs = dict.fromkeys(("low", "middle", "high"), (1e6, 1e9))
    report = rg.check(door(), tolerance=(1e-4, 1e-3), stiffness=springs)
    (finding,) = [d for d in report.diagnostics if d.code == "REG219"]
    assert any("by these stiffnesses" in h and " N and " in h for h in finding.help)
