"""Inputs that are too few or too many for all configurations to be found."""

from __future__ import annotations

import sys
from pathlib import Path

import mechanisms
import numpy as np
import pytest
from closed_form_cases import CASES

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@pytest.mark.slow
def test_too_few_inputs():
    (five_bar, _), _ = CASES["five-bar"]
    with pytest.raises(rg.ModelError) as error:
        rg.configurations(five_bar, ["A"], 0.1)
    assert str(error.value) == (
        "with A given the loops keep 1 of 2 freedoms and their configurations have no end; "
        "give 1 more input, such as E"
    )
    with pytest.raises(rg.ModelError, match="without inputs the loops keep 1 of 1 freedom and"):
        rg.configurations(mechanisms.sarrus(), [], np.zeros(0))
    with pytest.raises(rg.ModelError, match="give 2 more inputs, such as"):
        rg.configurations(mechanisms.spherical_9r(), ["a1"], 0.1)


@pytest.mark.slow
def test_too_many_inputs():
    with pytest.raises(rg.ModelError, match=r"cannot be chosen freely: 1 of them .* leave out 1"):
        rg.configurations(mechanisms.bricard(), ["A", "B"], [0.1, 0.1])
    with pytest.raises(rg.ModelError, match="cannot be chosen freely"):
        rg.configurations(mechanisms.planar_fourbar(), ["A", "B"], [0.1, 0.1])
    with pytest.raises(rg.ModelError, match="cannot be chosen freely"):
        rg.configurations(mechanisms.spherical_9r(), ["a1", "b1", "c1", "a2"], np.zeros(4))


@pytest.mark.slow
def test_velocities_that_no_motion_follows_are_no_freedoms():
    """A shaky loop allows two velocities everywhere, and moves in one way."""
    found = rg.configurations(ASSETS / "shaky_7r.urdf", ["A"], 0.0)
    assert found.counts >= 1


@pytest.mark.slow
def test_rods_that_spin_need_no_input():
    (mechanism, _), _ = CASES["Stewart platform"]
    legs = [f"P{i}" for i in range(6)]
    found = rg.configurations(mechanism, legs, np.zeros((0, 6)))
    assert found.method == "iteration"


@pytest.mark.slow
def test_a_bar_shows_how_far_the_search_is(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for name, seconds in {"SHOWN": 0.0, "EVERY": 0.01}.items():
        monkeypatch.setattr(f"regularize.adapters.common.console.{name}", seconds)
    x = np.zeros((1, 3))
    found = rg.configurations(mechanisms.three_prrr(), ["a1", "b1", "c1"], x, rounds=4)
    assert capsys.readouterr().err == ""
    shown = rg.configurations(
        mechanisms.three_prrr(), ["a1", "b1", "c1"], x, rounds=4, progress=True
    )
    output = capsys.readouterr()
    assert "configurations" in output.err and output.out == ""
    assert np.array_equal(found.q, shown.q, equal_nan=True)


@pytest.mark.parametrize("name", ["starts", "rounds"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "3"])
def test_numbers_of_starts_and_rounds(name, value):
    said = f"{name} (is|needs to be) a whole number"
    with pytest.raises((rg.ModelError, TypeError), match=said):
        rg.configurations(mechanisms.planar_fourbar(), ["A"], 0.1, **{name: value})
