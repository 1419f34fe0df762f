"""Values with units, in the library and on the command line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import regularize as rg
from regularize.cli import main
from regularize.model.units import METRES, RADIANS, rates, value_of

ASSETS = Path(__file__).resolve().parents[1] / "assets"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30deg", math.pi / 6),
        ("0.2m", 0.2),
        ("50mm", 0.05),
        (" -1.5e2 µm ", -1.5e-4),
        ("90°", math.pi / 2),
        ("2", 2.0),
    ],
)
def test_units_are_read(text: str, value: float) -> None:
    assert value_of(text, METRES, RADIANS) == pytest.approx(value)


@given(st.floats(-1e6, 1e6), st.sampled_from(sorted(METRES)))
def test_a_number_with_its_unit_is_the_number_times_the_unit(number: float, unit: str) -> None:
    assert value_of(f"{number!r} {unit}", METRES) == pytest.approx(number * METRES[unit])


@pytest.mark.parametrize("text", ["", "wide", "3 feet", "nan", "inf", "30deg/s"])
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(rg.ModelError):
        value_of(text, METRES, RADIANS)


def test_rates_are_by_second() -> None:
    assert value_of("180deg/s", rates(RADIANS)) == pytest.approx(math.pi)
    assert value_of("2", rates(RADIANS)) == 2.0


def test_an_angle_is_no_length(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(ASSETS / "planar_fourbar.urdf")
    assert main(["solve", model, "--at", "A=10mm"]) == 2
    assert "the unit 'mm' does not fit; known are rad, mrad, deg" in capsys.readouterr().err
    assert main(["solve", model, "--at", "A=30deg"]) == 0
    assert "at A = 0.523599" in capsys.readouterr().out


def test_other_commands_take_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(ASSETS / "slider_crank.urdf")
    run = ["simulate", model, "--duration", "20ms", "--rate", "A=90deg/s", "--actuate", "A=1Nmm"]
    assert main(run) == 0
    assert "simulated 0.02 s" in capsys.readouterr().out
    assert main(["simulate", model, "--duration", "1s", "--rate", "A=1mm/s"]) == 2
    assert "does not fit" in capsys.readouterr().err
    bounds = ["--inputs", "A", "--bounds", "-10deg", "10deg", "--size", "20deg"]
    assert main(["metamodel", model, *bounds, "-o", str(tmp_path / "m.npz")]) in (0, 1)
    assert main(["check", model, "--length-scale", "300mm", "-q"]) == 1
