"""Robots whole: humanoid, legs and hands from their files to everything, held against MuJoCo."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mujoco")
from robots_table import OWN, ROBOTS, commanded, measured

pytestmark = [pytest.mark.slow, pytest.mark.guests("modes", "actuation", "design")]


@pytest.mark.parametrize("name", [*OWN])
def test_one_command_each_and_what_they_give_is_mujocos(name: str, tmp_path: Path) -> None:
    for what, (seconds, code, told) in commanded(ROBOTS / name, OWN[name], tmp_path).items():
        assert code == 0 and seconds < 20.0, (what, told)
    off, away = measured(ROBOTS / name, OWN[name], tmp_path, 170)
    assert off < 1e-9 and away < 0.02
