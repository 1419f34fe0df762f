"""Prescribed motions: in all coordinates and in minimal ones, by expression, table and function."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pinocchio_cases import MECHANISMS, fourbar, massive
from test_minimal import crank_rocker, slider_crank
from test_passage import bars
from test_simulate import pendulum

import regularize as rg
from regularize.cli import main

SWING = "0.3*sin(2*t) + 0.05*t**2"

ASSETS = Path(__file__).resolve().parents[3] / "assets"


def swing(t: float) -> tuple[float, float, float]:
    return (
        0.3 * math.sin(2 * t) + 0.05 * t**2,
        0.6 * math.cos(2 * t) + 0.1 * t,
        -1.2 * math.sin(2 * t) + 0.1,
    )


def moved(drive: Any, times: Any) -> list[tuple[float, float, float]]:
    """Value, rate and acceleration of a motion, by which 1 kg on a slide is driven from time 0."""
    a = rg.assembly("slide", gravity=(0, 0, 0))
    a.body("mass", mass=1.0)
    a.slider("slide", "ground", "mass", axis=(1, 0, 0))
    run = rg.simulate(a.mechanism(), duration=2.0, drive={"slide": drive}, times=times)
    return [*zip(run.q[:, 0], run.v[:, 0], run.drive_forces[:, 0], strict=True)]


# Expressions.


@pytest.mark.parametrize(
    "text",
    [
        "sin(2*t)*cos(3*t)",
        "exp(-t)/(1 + t**2)",
        "sqrt(1 + t)**3 - atan(t)",
        "-(t + 1)**-2 + 2**t",
        "tanh(t) + log(1 + t) + abs(-t)",
        "asin(t/3) - acos(t/4) + tan(t/5)",
        "sinh(t/2)*cosh(time/2) + pi*e",
        "3",
    ],
)
def test_rates_of_expressions_are_those_of_fine_differences(text: str) -> None:
    h = 1e-4
    found = iter(moved(text, [t + k * h for t in (0.3, 0.9) for k in (-1, 0, 1)]))
    for (before, *_), (value, rate, acceleration), (after, *_) in zip(*[found] * 3, strict=True):
        assert rate == pytest.approx((after - before) / (2 * h), abs=1e-6)
        assert acceleration == pytest.approx((after - 2 * value + before) / h**2, abs=1e-5)


def test_powers_have_rates_where_the_base_is_zero() -> None:
    for text, expected in (
        ("t**2", (0.0, 0.0, 2.0)),
        ("t**3 + t", (0.0, 1.0, 0.0)),
        ("0**2 + t**0", (1.0, 0.0, 0.0)),
    ):
        assert moved(text, [0.0])[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "text",
    ["", "2*", "x + 1", "__import__('os')", "t.real", "sin(t, t)", "t if t else 1", "'a'", "f(t)"],
)
def test_nothing_but_arithmetic_is_evaluated(text: str) -> None:
    with pytest.raises(rg.ModelError):
        moved(text, [1.0])


def test_an_expression_without_a_value_says_when() -> None:
    with pytest.raises(rg.ModelError, match="no rates at t = 0"):
        moved("sqrt(t)", [1.0])
    assert moved("sqrt(t + 1)", [1.0])[0][0] == pytest.approx(2**0.5)


@pytest.mark.slow
def test_every_way_to_write_a_motion_is_the_same_motion() -> None:
    times = np.linspace(0.0, 2.0, 2001)
    ways: list[Any] = [
        SWING,
        swing,
        lambda t: swing(t)[0],
        (times, np.array([swing(t)[0] for t in times])),
    ]
    for way in ways:
        for t, found in zip((0.7, 2.0), moved(way, [0.7, 2.0]), strict=True):
            assert found == pytest.approx(swing(t), abs=1e-5)
    assert moved(0.4, [1.0])[0] == pytest.approx((0.4, 0.0, 0.0), abs=1e-12)


# Motions.


def test_a_driven_pendulum_needs_the_torque_of_its_equation() -> None:
    motion = rg.simulate(pendulum(), duration=2.0, drive={"hinge": SWING}, rtol=1e-10)
    expected = np.array([swing(t) for t in motion.time])
    np.testing.assert_allclose(motion.q[:, 0], expected[:, 0], atol=1e-14)
    np.testing.assert_allclose(motion.v[:, 0], expected[:, 1], atol=1e-14)
    torque = 2.5 * expected[:, 2] - 2.0 * 9.81 * np.cos(expected[:, 0])
    assert motion.drives == ("hinge",)
    np.testing.assert_allclose(motion.drive_forces[:, 0], torque, atol=1e-10)
    assert motion.energy_drift < 1e-7


def test_torques_of_the_user_are_taken_off_what_a_drive_needs() -> None:
    motions = [
        rg.simulate(pendulum(), duration=1.0, drive={"hinge": SWING}, torques=torques)
        for torques in ({}, {"hinge": 1.5})
    ]
    change = motions[1].drive_forces - motions[0].drive_forces
    np.testing.assert_allclose(change, -1.5, atol=1e-9)
    assert motions[1].energy_drift < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rows", "anchors", "slack", "legacy"])
def test_a_driven_crank_in_all_coordinates_and_in_minimal_ones(engine: str) -> None:
    """One freedom, driven: kinematics, and the forces that the thesis' equations give."""
    mechanism, times = slider_crank(), np.linspace(0.0, 1.0, 11)
    options: dict[str, Any] = {"duration": 1.0, "times": times}
    solver = rg.Solver(style=engine)
    driven = rg.simulate(mechanism, drive={"A": SWING}, solver=solver, rtol=1e-10, **options)
    minimal = rg.simulate(mechanism, drive={"A": swing}, solver=rg.Solver("minimal"), **options)
    crank = driven.coordinates[:, driven.names.index("A")]
    np.testing.assert_allclose(crank, [swing(t)[0] for t in times], atol=1e-13)
    np.testing.assert_allclose(driven.coordinates, minimal.coordinates, atol=1e-10)
    np.testing.assert_allclose(driven.drive_forces, minimal.drive_forces, atol=1e-8)
    assert driven.drives == minimal.drives == ("A",)
    for motion in (driven, minimal):
        assert motion.energy_drift < 1e-7
        assert motion.closure_drift < 1e-12
        assert np.ptp(motion.energy + 0.0) < 1e-7 < np.ptp(motion.drive_forces)


@pytest.mark.slow
def test_some_joints_driven_and_others_free() -> None:
    mechanism = bars(0.2, 0.5, 0.5, 0.5, 1.0, carriage=True)
    options: dict[str, Any] = {
        "duration": 1.0,
        "drive": {"P": "0.1*sin(5*t)"},
        "times": np.linspace(0.0, 1.0, 11),
    }
    whole = rg.simulate(mechanism, rtol=1e-10, **options)
    minimal = rg.simulate(mechanism, solver=rg.Solver("minimal"), rtol=1e-10, **options)
    np.testing.assert_allclose(whole.coordinates, minimal.coordinates, atol=1e-6)
    np.testing.assert_allclose(whole.drive_forces, minimal.drive_forces, atol=1e-4)
    # The same motion without the drive, under the force that it needed.
    forces = np.array([whole.time, whole.drive_forces[:, 0]])
    assert np.ptp(forces[1]) > 1.0
    fine = rg.simulate(mechanism, rtol=1e-10, **{**options, "times": np.linspace(0.0, 1.0, 2001)})
    force = {"P": lambda t: float(np.interp(t, fine.time, fine.drive_forces[:, 0]))}
    again: dict[str, Any] = {"duration": 1.0, "times": whole.time, "rtol": 1e-7}
    released = rg.simulate(mechanism, rates={"P": 0.5}, torques=force, **again)
    crank = whole.names.index("P")
    assert whole.v[0, whole.robot.velocity_index("P")] == pytest.approx(0.5, abs=1e-12)
    assert np.abs(released.coordinates[:, crank] - whole.coordinates[:, crank]).max() < 1e-3
    assert whole.energy_drift < 1e-6 and minimal.energy_drift < 1e-6


@pytest.mark.slow
def test_dependent_rows_and_dead_points_do_not_matter() -> None:
    motion = rg.simulate(crank_rocker(), duration=3.0, drive={"A": "4*t"})
    assert motion.energy_drift < 1e-5
    bricard = massive(MECHANISMS["Bricard"]())
    name = bricard.joints[0].name
    driven = rg.simulate(bricard, duration=0.5, drive={name: "0.2*t"})
    column = driven.names.index(name)
    np.testing.assert_allclose(driven.coordinates[:, column], 0.2 * driven.time, atol=1e-12)
    assert driven.energy_drift < 1e-7 and driven.closure_drift < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["all", "minimal"])
def test_the_mechanism_is_moved_to_where_the_drive_begins(coordinates: str) -> None:
    solver = rg.Solver(coordinates)
    motion = rg.simulate(crank_rocker(), duration=0.5, drive={"A": "2.5 + t"}, solver=solver)
    crank = motion.coordinates[:, motion.names.index("A")]
    np.testing.assert_allclose(crank, 2.5 + motion.time, atol=1e-12)
    assert motion.closure_drift < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["all", "minimal"])
def test_drives_that_cannot_be(coordinates: str) -> None:
    mechanism = crank_rocker()
    ball = massive(MECHANISMS["RSSR"]())
    wrong: list[tuple[rg.Mechanism, Any, str]] = [
        (mechanism, {"Z": "t"}, "no joint 'Z'"),
        (ball, {"B": "t"}, "'B' has 3 freedoms"),
        (mechanism, {"A": "t", "B": "t"}, "'A', 'B' depend on each other"),
        (mechanism, {"A": "t +"}, "no arithmetic expression"),
        (mechanism, {"A": "log(t)"}, "no value or no rates at t = 0"),
        (mechanism, {"A": lambda t: math.nan}, "three finite numbers"),
        (mechanism, {"A": lambda t: (t, 1.0)}, "three finite numbers"),
        (mechanism, {"A": ([0.0, 0.5], [0.0, 1.0])}, "given from 0 s to 0.5 s"),
        (mechanism, {"A": ([0.0, 0.0], [0.0, 1.0])}, "increasing times"),
        (mechanism, {"A": ([0.0, 2.0], [0.0])}, "as many times as positions"),
        (mechanism, {"D": "3"}, "begin at D = 3, but the loops let the joints move to D = "),
    ]
    for model, drive, message in wrong:
        with pytest.raises(rg.ModelError, match=message):
            rg.simulate(model, duration=1.0, drive=drive, solver=rg.Solver(coordinates))
    with pytest.raises(rg.ModelError, match="'A' is driven, so its rate is given"):
        rg.simulate(mechanism, duration=1.0, drive={"A": "t"}, rates={"A": 1.0})


def test_a_drive_against_a_limit_is_stopped_with_a_reason() -> None:
    for coordinates in ("all", "minimal"):
        solver = rg.Solver(coordinates)
        with pytest.raises(rg.RegularizeError, match="dead centre") as caught:
            rg.simulate(crank_rocker(), duration=3.0, drive={"D": "t"}, solver=solver)
        error = caught.value
        assert type(error).__name__ == "StepTooSmall"
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert (str(again), again.__dict__) == (str(error), error.__dict__)


def test_drives_go_with_rows_only() -> None:
    with pytest.raises(rg.ModelError, match="not by the engine mujoco; leave one"):
        rg.simulate(crank_rocker(), duration=1.0, drive={"A": "t"}, solver=rg.MuJoCo())


# The command line.


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "fourbar.json"
    rg.save(massive(fourbar(0.4)), path)
    return str(path)


@pytest.mark.slow
def test_drives_on_the_command_line(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, table = tmp_path / "motion.csv", tmp_path / "crank.csv"
    options = ["simulate", model, "--duration", "1", "-o", str(out)]
    assert main([*options, "--drive", "j0=0.3*sin(2*t)"]) == 0
    assert "largest force of the drive of j0" in capsys.readouterr().out
    rows = np.genfromtxt(out, delimiter=",", names=True)
    np.testing.assert_allclose(rows["j0"], 0.3 * np.sin(2 * rows["time_s"]), atol=1e-12)
    times = np.linspace(0.0, 1.0, 101)
    table.write_text(
        "time_s,angle\n" + "".join(f"{t:.17g},{0.3 * np.sin(2 * t):.17g}\n" for t in times)
    )
    assert main([*options, "--drive", f"j0={table}"]) == 0
    again = np.genfromtxt(out, delimiter=",", names=True)
    np.testing.assert_allclose(again["j0"], rows["j0"], atol=1e-8)
    np.testing.assert_allclose(again["drive_force_j0"], rows["drive_force_j0"], rtol=1e-2)


@pytest.mark.slow
def test_motions_of_the_file_are_offered_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fourbar.json"
    assert rg.save(massive(fourbar(0.4)), path) == ()
    data = json.loads(path.read_text())
    data["motions"] = [{"name": "turning", "joint": "j0", "expression": "0.3*sin(2*t)"}]
    path.write_text(json.dumps(data))
    (motion,) = rg.load(path).motions
    assert (motion.name, motion.joint, motion.expression) == ("turning", "j0", "0.3*sin(2*t)")
    assert rg.save(rg.load(path), path) == ()
    assert rg.load(path).motions == (motion,)
    out = tmp_path / "motion.csv"
    options = ["simulate", str(path), "--duration", "0.5", "-o", str(out)]
    assert main(options) == 0
    offer = "offered: --drive turning moves j0 by 0.3*sin(2*t)"
    assert offer in capsys.readouterr().out
    assert main([*options, "--drive", "turning"]) == 0
    assert offer not in capsys.readouterr().out
    rows = np.genfromtxt(out, delimiter=",", names=True)
    np.testing.assert_allclose(rows["j0"], 0.3 * np.sin(2 * rows["time_s"]), atol=1e-12)
    assert main([*options, "--drive", "turn"]) == 2
    assert "there is no motion 'turn' (did you mean 'turning'?)" in capsys.readouterr().err


def test_servos_of_an_mjcf_keyframe_hold_their_joints(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco><worldbody><body name="arm"><joint name="hinge" type="hinge" axis="0 1 0"/>
        <geom type="sphere" size="0.1" mass="1"/></body></worldbody><actuator>
        <position name="servo" joint="hinge" kp="10" gear="2"/>
        <motor name="motor" joint="hinge"/></actuator>
        <keyframe><key name="home" qpos="0.4" ctrl="0.8 3"/></keyframe></mujoco>"""
    )
    (motion,) = rg.load(path).motions
    assert (motion.name, motion.joint, float(motion.expression)) == ("servo", "hinge", 0.4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drive", "message"),
    [
        ("j0=sin(", "no arithmetic expression"),
        ("j9=t", "no joint 'j9'"),
        ("j0=nothing.csv", "nothing.csv"),
        ("=t", "--drive =t: expected JOINT=EXPRESSION"),
        ("j0=t --drive j0=2*t", "joint 'j0' is driven already"),
    ],
)
def test_drives_that_the_command_refuses_in_one_line(
    model: str, drive: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", model, "--drive", *drive.split(" ")]) == 2
    written = capsys.readouterr().err
    assert message in written
    assert written.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "message"),
    [("t,q\n0,0\n1\n", "row 3 has one column"), ("t,q\n0,0\nx,1\n", "could not convert")],
)
def test_tables_at_fault_are_refused(
    model: str, rows: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "drive.csv"
    table.write_text(rows)
    assert main(["simulate", model, "--drive", f"j0={table}"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_kinks_do_not_slip_through_steps() -> None:
    """A rate that jumps is a blow, whose work no step knows: the motion ends there, in words."""
    fourbar = rg.load(ASSETS / "planar_fourbar.urdf")
    with pytest.raises(rg.RegularizeError, match=r"vanishes at 0\.\d+ s: .* discontinuous"):
        rg.simulate(fourbar, duration=1, drive={"A": "abs(t-.5)"})
    gentle = rg.simulate(fourbar, duration=1, drive={"A": "sqrt((t-.5)**2+1e-4)"})
    assert gentle.energy_drift < 1e-6


@pytest.mark.parametrize("drive", ["t*1e9", "exp(1000*t)", "1e8", "1e3*sin(1e5*t)"])
def test_drives_faster_than_any_machine_are_refused(drive: str) -> None:
    with pytest.raises(rg.ModelError, match=r"joint 'A' .* rad"):
        rg.simulate(rg.load(ASSETS / "planar_fourbar.urdf"), duration=0.6, drive={"A": drive})
