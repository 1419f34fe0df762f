"""A few of the many rounds of ``endurance.py``."""

from __future__ import annotations

import itertools
import sys

import pytest
from endurance import GROWTH, checks, steps
from false_motions import network, survey

import regularize as rg

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc"),
    pytest.mark.slow,
]


def test_checks_leave_nothing_behind() -> None:
    assert checks(10).growth < GROWTH


def test_steps_leave_nothing_behind_and_do_not_drift() -> None:
    found = steps(20_000)
    gap, energy = found.drift
    assert found.growth < GROWTH
    assert gap < 1e-9
    assert energy < 1e-8


def test_no_motion_is_false_without_saying_so() -> None:
    assert survey(160) == (160, [])


@pytest.mark.parametrize(
    ("family", "loops", "seed", "rtol"),
    [("windows", 2, 2, 1e-3), ("windows", 5, 7, 1e-4), ("windows", 5, 8, 1e-3)],
)
def test_what_once_leapt_away(family: str, loops: int, seed: int, rtol: float) -> None:
    """Sharp turns were taken for singular configurations, and energy came from nowhere."""
    robot = rg.to_pinocchio(rg.reduce(network(family, loops, seed)))
    loose, tight = (rg.simulate(robot, duration=2.0, rtol=each) for each in (rtol, 1e-12))
    kinetic = max(robot.energies(q, v)[0] for q, v in zip(tight.q, tight.v, strict=True))
    assert loose.leaps == 0 and loose.findings == ()
    assert loose.energy_drift < 10 * rtol * kinetic and loose.closure_drift < 1e-10
    assert abs(loose.q - tight.q).max() < 0.1


@pytest.mark.parametrize("seed", [7, 8])
def test_a_loose_tolerance_takes_no_more_than_a_tight_one(seed: int) -> None:
    """Counted in evaluations, which do not depend on the clock."""
    robot = rg.to_pinocchio(rg.reduce(network("windows", 5, seed)))
    taken = [
        rg.simulate(robot, duration=2.0, rtol=rtol).evaluations
        for rtol in (1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-4)
    ]
    assert all(now < 1.1 * before for before, now in itertools.pairwise(taken))
