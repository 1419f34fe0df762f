"""Values with units, in the library and on the command line."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[2] / "assets"


MODEL = str(ASSETS / "slider_crank.urdf")
METRES = {"": 1.0, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "µm": 1e-6, "in": 0.0254}
RADIANS = {"": 1.0, "rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180, "°": math.pi / 180}


def solved_at(joint: str, text: str, capsys: pytest.CaptureFixture[str]) -> float:
    """Where the command line puts a joint that is given as that text."""
    assert main(["solve", MODEL, "--at", f"{joint}={text}"]) == 0
    (found,) = re.findall(rf"^at {joint} = ([^:]+): ", capsys.readouterr().out, re.M)
    return float(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("joint", "text", "value"),
    [
        ("A", "30deg", math.pi / 6),
        ("D", "0.2m", 0.2),
        ("D", "50mm", 0.05),
        ("D", " -1.5e2 µm ", -1.5e-4),
        ("A", "90°", math.pi / 2),
        ("A", "2", 2.0),
        *(("D", f"3.25 {unit}", 3.25 * value) for unit, value in METRES.items()),
        *(("A", f"-0.75{unit}", -0.75 * value) for unit, value in RADIANS.items()),
    ],
)
def test_units_are_read(
    joint: str, text: str, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert solved_at(joint, text, capsys) == pytest.approx(value, rel=1e-5)


@pytest.mark.slow
@given(st.floats(1e-6, 1e6), st.sampled_from(sorted(METRES)), st.sampled_from(sorted(RADIANS)))
def test_a_number_with_its_unit_is_the_number_times_the_unit(
    number: float, length: str, angle: str
) -> None:
    texts = f"{number!r} {length}", f"{number!r}{angle}"
    joint = rg.Joint.in_world("A", "ground", "a", "revolute", tolerance=texts)
    wanted = number * METRES[length], number * RADIANS[angle]
    assert joint.tolerance == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["", "wide", "3 feet", "nan", "inf", "30deg/s"])
def test_what_is_no_value_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", MODEL, "--at", f"A={text}"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("text", "value"), [("180deg/s", math.pi), ("2", 2.0)])
def test_rates_are_by_second(text: str, value: float, tmp_path: Path) -> None:
    out = tmp_path / "motion.npz"
    run = ["simulate", MODEL, "--duration", "1ms", "--rate", f"A={text}", "-o", str(out)]
    assert main(run) == 0
    with np.load(out) as motion:
        names = [str(name) for name in motion["names"]]
        turned = np.ptp(motion["coordinates"][:, names.index("A")])
    assert turned == pytest.approx(1e-3 * value, rel=0.05)


@pytest.mark.slow
def test_an_angle_is_no_length(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(ASSETS / "planar_fourbar.urdf")
    assert main(["solve", model, "--at", "A=10mm"]) == 2
    assert "the unit 'mm' does not fit; known are rad, mrad, deg" in capsys.readouterr().err
    assert main(["solve", model, "--at", "A=30deg"]) == 0
    assert "at A = 0.523599" in capsys.readouterr().out


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "words",
    [
        ["solve", MODEL, "--at", "A=30"],
        ["workspace", MODEL, "--over", "A=-30:30"],
        ["workspace", MODEL, "--over", "A", "--limits", "A=-30:0.5"],
    ],
)
def test_whoever_writes_thirty_of_an_angle_is_asked_for_the_unit(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert re.search(r"write -?30deg or -?30rad", capsys.readouterr().err)
