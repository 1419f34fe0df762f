"""The mechanisms of Paul (2020), their tables and their simulations."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mechanisms import coordinate_names, with_coordinates
from scipy.integrate import solve_ivp

import regularize as rg

THESIS = Path(__file__).resolve().parents[2] / "assets" / "thesis"
ANSWERS = json.loads((THESIS / "answers.json").read_text(encoding="utf-8"))
MOTORS = ("q9", "q18", "q27")


def load(name: str) -> rg.Mechanism:
    return rg.load(str(THESIS / f"{name}.urdf"))


def start(name: str) -> np.ndarray:
    """The start values of the thesis' tables, zero for the coordinates of the cuts."""
    names = coordinate_names(load(name))
    q = np.zeros(len(names))
    for joint, value in ANSWERS[name].get("start", {}).items():
        q[names.index(joint)] = value
    return q


@cache
def reduction_of(name: str) -> rg.Reduction:
    mechanism = load(name)
    assembly = rg.assemble(mechanism, start(name), ANSWERS[name].get("independent", ()))
    assert assembly.closed
    return rg.reduce(with_coordinates(mechanism, assembly.q), keep_cuts=True)


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"thesis_{name}", THESIS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_counts(name: str) -> None:
    """Sections 5.4.2 and 6.2; in a plane the third row of every ball cut is removed for ever."""
    reduction, answer = reduction_of(name), ANSWERS[name]
    counts = {
        "gruebler": reduction.gruebler,
        "mobility": reduction.mobility,
        "redundant": reduction.redundant,
        "joint_freedoms": reduction.freedoms - sum(c.edge.freedoms for c in reduction.cuts),
        "cut_constraints": reduction.constraints,
        "plane_constraints": reduction.kept,
        "plane_redundant": reduction.remaining,
    }
    assert counts == counts | {key: answer[key] for key in counts if key in answer}
    assert reduction.mobility == reduction.finite_mobility
    assert reduction.certificate.holds


def test_the_script_writes_the_files_that_are_here(tmp_path: Path) -> None:
    make = script("make")
    make.HERE = tmp_path
    make.main()
    for path in sorted(tmp_path.iterdir()):
        assert path.read_text(encoding="utf-8") == (THESIS / path.name).read_text(encoding="utf-8")
    assert len(list(tmp_path.iterdir())) == len(ANSWERS) + 1


def test_derived_numbers_of_the_tables() -> None:
    """Input values of section 6.2.2 from their symbolic ones."""
    make = script("make")
    assert pytest.approx(1.318116071652818, abs=1e-15) == make.BETA
    assert pytest.approx((0.6123724356957945, 0.0, -0.7905694150420949), abs=1e-14) == make.D_ARM
    assert pytest.approx((0.9185586535436918, -0.39528470752104744, 0), abs=1e-14) == make.D_ARM2
    assert pytest.approx((0.0, 0.408248290463863, 0.0), abs=1e-14) == make.D_EYE


@pytest.mark.parametrize("name", ["three_bar", "redundant_four_bar", "agile_eye"])
def test_closes_from_the_start_values_with_the_independents_held(name: str) -> None:
    mechanism, answer = load(name), ANSWERS[name]
    names = coordinate_names(mechanism)
    assembly = rg.assemble(mechanism, start(name), answer["independent"])
    assert assembly.closed and max(assembly.residual_after) < 1e-9
    for joint in answer["independent"]:
        assert assembly.q[names.index(joint)] == answer["start"][joint]
    # The dependent start values were rough: they end near to where the table puts them.
    for joint, value in answer["start"].items():
        if name == "agile_eye":
            assert assembly.q[names.index(joint)] == pytest.approx(value, abs=0.11)
    for joint, value in answer.get("closed", {}).items():
        assert assembly.q[names.index(joint)] == pytest.approx(value, abs=1e-9)


def test_agile_eye_closes_upright_with_its_centre_on_all_nine_axes() -> None:
    reduction = reduction_of("agile_eye")
    names = coordinate_names(reduction.mechanism)
    q = dict(zip(names, reduction.q, strict=True))
    center = np.array(ANSWERS["agile_eye"]["center"])
    np.testing.assert_allclose([q["q1"], q["q2"], q["q3"]], center, atol=1e-12)
    np.testing.assert_allclose([q["q4"], q["q5"], q["q6"]], 0.0, atol=1e-9)
    loops = reduction.loops
    for first in (9, 11, 13, 18, 20, 22, 27, 29, 31):
        column = names.index(f"q{first}")
        screw = reduction.reference.screws[0, loops.columns.tolist().index(column)]
        # A rotation whose axis passes through the centre leaves it at rest.
        np.testing.assert_allclose(screw[:3] + np.cross(screw[3:], center), 0.0, atol=1e-12)


def test_partition_finds_the_redundant_constraint_of_the_four_bar() -> None:
    reduction = reduction_of("redundant_four_bar")
    dynamics = rg.minimal_dynamics(reduction, ["q1"])
    assert dynamics.independent == ("q1",)
    assert set(dynamics.dependent) == {"q2", "q3", "q4"}
    assert len(dynamics.choice.redundant) == 1
    whole = rg.partition(reduction, independent=["q1"])
    assert whole.rank == 9 and len(whole.redundant_rows) == 3


@pytest.mark.parametrize("independent", [MOTORS, ()])
def test_partition_of_the_agile_eye_with_and_without_a_choice(independent: tuple[str, ...]) -> None:
    """Section 6.2.3: with the user's choice and without; with motors stored at a dead centre."""
    for model in (reduction_of("agile_eye"), load("agile_eye")):
        found = rg.partition(model, independent=independent)
        assert len(found.independent) == 3
        assert set(independent) <= set(found.independent)
        assert found.rank == 12 and len(found.redundant_rows) == 6


@pytest.mark.slow
def test_four_bar_swings_as_one_pendulum() -> None:
    """Figure 23: all cranks stay parallel, so q1 obeys the equation of one pendulum exactly."""
    pendulum = ANSWERS["redundant_four_bar"]["pendulum"]
    reduction, times = reduction_of("redundant_four_bar"), np.linspace(0, 5, 101)
    solver = rg.Solver("minimal", independent=["q1"], atol=1e-13)
    motion = rg.simulate(reduction, duration=5.0, times=times, rtol=1e-11, solver=solver)
    factor = 9.81 * pendulum["moment"] / pendulum["inertia"]
    expected = solve_ivp(
        lambda t, y: [y[1], -factor * np.sin(y[0])],
        (0, 5),
        [ANSWERS["redundant_four_bar"]["start"]["q1"], 0.0],
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-14,
    )
    q1, q2, q3, q4 = _coordinates(motion, ("q1", "q2", "q3", "q4")).T
    np.testing.assert_allclose(q1, expected.y[0], atol=1e-8)
    np.testing.assert_allclose(q2, pi / 2 - q1, atol=1e-12)
    np.testing.assert_allclose([q3, q4], [q1, q1], atol=1e-12)
    assert np.max(motion.closure) < 1e-12
    # The equation itself, at every sample, without any integration in between.
    dynamics = rg.minimal_dynamics(reduction, ["q1"])
    column, nothing = dynamics.robot.velocity_index("q1"), np.zeros(dynamics.robot.nv)
    a = [
        dynamics.acceleration(dynamics.pose(q), v, nothing)[0][column]
        for q, v in zip(motion.q, motion.v, strict=True)
    ]
    np.testing.assert_allclose(a, -factor * np.sin(q1), atol=1e-9)


def _coordinates(motion: rg.Simulation, names: tuple[str, ...]) -> np.ndarray:
    return np.asarray(motion.coordinates[:, [motion.names.index(name) for name in names]])


def agile_eye(
    torques: tuple[float, float, float], independent: tuple[str, ...], coordinates: Any = "minimal"
) -> np.ndarray:
    """Angles of the eye over three seconds."""
    motors = {
        name: lambda t, torque=torque: torque * np.sin(2 * pi * t)
        for name, torque in zip(MOTORS, torques, strict=True)
    }
    motion = rg.simulate(
        reduction_of("agile_eye"),
        duration=3.0,
        times=np.linspace(0, 3, 61),
        torques=motors,
        solver=rg.Solver(coordinates, independent=independent),
    )
    assert np.max(motion.closure) < 1e-12
    return _coordinates(motion, ("q4", "q5", "q6"))


@pytest.mark.slow
def test_agile_eye_runs_long_through_repartitioning_without_a_step() -> None:
    """As in all coordinates, which need no choice; no force acts: it turns at constant speed."""
    rates = dict(zip(("q18", "q27", "q9"), (0.7, -0.6, 0.8), strict=True))
    minimal, reference = (
        rg.simulate(
            reduction_of("agile_eye"),
            duration=4.0,
            times=np.linspace(0, 4, 201),
            rates=rates,
            solver=rg.Solver(coordinates, conserve=False),
        )
        for coordinates in ("minimal", "all")
    )
    begun = {name: minimal.v[0, minimal.robot.velocity_index(name)] for name in rates}
    assert begun == pytest.approx(rates)
    np.testing.assert_allclose(minimal.coordinates, reference.coordinates, atol=1e-6)
    assert np.max(minimal.closure) < 1e-12
    np.testing.assert_allclose(minimal.energy, minimal.energy[0], rtol=1e-7)


@pytest.mark.slow
def test_figures_have_the_curves_of_the_thesis(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    figures = script("figures")
    t, angles = figures.oscillation(0.5)
    assert angles.shape == (len(t), 4)
    figures.plot(tmp_path / "figure23.svg", "Redundant four-bar", t, angles, ("1", "2", "3", "4"))
    assert "<svg" in (tmp_path / "figure23.svg").read_text(encoding="utf-8")
    t, angles = figures.orientation((0.05, 0.05, 0.05), 0.5)
    assert angles.shape == (len(t), 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three_bar", "five_point_suspension"])
def test_errors_of_least_squares_are_those_of_the_thesis(name: str) -> None:
    """Figures 16, 17, 20 and 21: both ways to minimise stay within 1e-9 of Newton's."""
    pytest.importorskip("matplotlib").use("agg")
    figures = script("figures")
    dependent, samples = {"three_bar": (2, 26), "five_point_suspension": (12, 5)}[name]
    _, errors = figures.closing(name, samples, figures.CLOSINGS[name][2])
    assert set(errors) == {"fminsearch", "lsqnonlin"}
    for found in errors.values():
        assert found.shape == (samples, dependent)
        assert np.abs(found).max() < 1e-9
