"""A few of the many rounds of ``endurance.py``."""

from __future__ import annotations

import sys

import pytest
from endurance import GROWTH, checks, steps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def test_checks_leave_nothing_behind() -> None:
    assert checks(10).growth < GROWTH


def test_steps_leave_nothing_behind_and_do_not_drift() -> None:
    found = steps(1000)
    gap, energy = found.drift
    assert found.growth < GROWTH
    assert gap < 1e-9
    assert energy < 1e-8
