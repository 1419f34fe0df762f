"""Closed forms where geometry, scale or structure is special."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import screws
from closed_form_cases import closure_errors, ring, written_out
from mechanisms import moved

import regularize as rg

pytestmark = pytest.mark.filterwarnings("error")

X, Y, Z = np.eye(3)


def hinge(name: str, a: str, b: str, x: float, y: float) -> object:
    return rg.Joint.in_world(name, a, b, "revolute", Z, (x, y, 0))


def two_sliding_legs() -> rg.Mechanism:
    """Two legs R P R whose slides are parallel at the stored pose."""
    joints = []
    for k, s in ((0, 1.0), (1, -1.0)):
        slide = (-0.4 * s, -0.2 * s, 0)
        joints += [
            rg.Joint.in_world(f"A{k}", "ground", f"{k}a", "revolute", Z, (s, 0, 0)),
            rg.Joint.in_world(f"P{k}", f"{k}a", f"{k}b", "prismatic", slide, (0.9 * s, 0.3 * s, 0)),
            rg.Joint.in_world(f"B{k}", f"{k}b", "plate", "revolute", Z, (0.5 * s, 0.1 * s, 0)),
        ]
    return rg.Mechanism.of_joints("two legs", joints, ground="ground")


@pytest.mark.slow
@pytest.mark.parametrize("away", [0.0, 1e-16, 1e-12, 1e-8, 1e-5, 1e-3, 1e-1])
def test_a_divisor_that_vanishes(away: float) -> None:
    """A slide is found by dividing by what is zero at the stored pose, a regular one."""
    solution = rg.closed_form(two_sliding_legs(), ["B1", "P1", "A0"])
    assert solution.plan.divisors
    x, rates = away * np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.2, 0.4])
    one, many = solution.solve(x), solution.solve([x])
    assert one.assembled.all() and many.assembled.all()
    assert np.allclose(one.q, many.q[0], rtol=0.0, atol=1e-13)
    assert np.max(closure_errors(solution, one.q)) < 1e-13
    # The solution and its rates go on smoothly.
    h = 1e-3
    ahead, behind = (solution.solve(x + s * h * rates).q for s in (1, -1))
    velocities = solution.velocities(x, rates)
    assert np.allclose(velocities, (ahead - behind) / (2 * h), atol=1e-5)
    accelerations = solution.accelerations(x, rates, 0.0 * rates)
    assert np.allclose(accelerations, (ahead - 2 * one.q + behind) / h**2, atol=1e-4)


def four_bar(size: float, away: tuple[float, float, float]) -> rg.Mechanism:
    z = screws.unit(np.array([1.0, 2.0, 3.0]))
    x = screws.unit(np.cross(z, Z))
    y = np.cross(z, x)
    places = [(0, 0), (0.1, 0.3), (0.8, 0.5), (1, 0)]
    points = [size * (a * x + b * y) + np.array(away) for a, b in places]
    return ring("four-bar", *((f"J{i}", "revolute", z, p) for i, p in enumerate(points)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "away"),
    [(1e-3, (0, 0, 0)), (1e3, (0, 0, 0)), (1, (100, -70, 30)), (1, (1000, 500, 200))],
)
def test_size_and_place(size: float, away: tuple[float, float, float]) -> None:
    near = rg.closed_form(four_bar(1, (0, 0, 0)), ["J0"]).solve([0.1, 0.2])
    far = rg.closed_form(four_bar(size, away), ["J0"]).solve([0.1, 0.2])
    assert np.allclose(near.q, far.q, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_axes_through_one_point_anywhere(seed: int) -> None:
    """Their distances are rounding, which is no size."""
    axes = [(0, 0, 1), (0.3, 0.1, 1), (1, 0.2, 0.5), (1, -0.4, 0.1)]
    hinges = ((f"J{i}", "revolute", axis, (0, 0, 0)) for i, axis in enumerate(axes))
    mechanism = ring("spherical", *hinges)
    rng = np.random.default_rng(seed)
    T = screws.exp(rng.normal(size=6))
    found = [rg.closed_form(m, ["J0"]).solve([0.1, 0.4]) for m in (mechanism, moved(mechanism, T))]
    assert found[0].assembled.all()
    assert np.allclose(found[0].q, found[1].q, atol=1e-9)


def test_a_floating_base_that_is_no_input() -> None:
    points, bodies = ((0, 0), (0.1, 0.4), (0.8, 0.5), (1, 0)), ("base", "a", "b", "c", "base")
    joints = [rg.Joint.in_world("float", "ground", "base", "free")]
    joints += [hinge("ABCD"[i], *bodies[i : i + 2], *point) for i, point in enumerate(points)]
    solution = rg.closed_form(rg.Mechanism.of_joints("floating", joints, ground="ground"), ["A"])
    found = solution.solve([0.2, 0.3])
    assert found.assembled.all()
    assert not found.q[..., :6].any()
    assert np.max(closure_errors(solution, found.q)) < 1e-13
    ahead = solution.solve([0.2 + 1e-6, 0.3 + 1e-6]).q
    rates = solution.velocities([0.2, 0.3], [[1.0], [1.0]])
    assert np.allclose(rates, (ahead - found.q) / 1e-6, atol=1e-4)
    accelerations = solution.accelerations([0.2, 0.3], [[1.0], [1.0]], [[0.0], [0.0]])
    assert np.isfinite(accelerations).all()
    assert np.allclose(written_out(solution)([0.2], 1), found.q[0, 1])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
@pytest.mark.parametrize("driven", [True, False])
def test_code_of_what_does_not_move(driven: bool, tmp_path: Path) -> None:
    """Two ways to assemble a square of hinges on two rigid bodies are constants."""
    square = """J0 ground b1 0 0, J1 b1 b2 1 0, J2 b2 b3 1 1, J3 b3 ground 0 1,
        J4 b1 b4 0 0, J5 b4 b5 0.5 0.5, J6 b5 b2 0.75 0.25"""
    text = square if driven else "A ground a 0 0, B a b 1 0, C b ground 0.4 0.9"
    inputs = ["J6"] if driven else []
    joints = [
        rg.Joint.in_world(name, a, b, "revolute", Z, (float(x), float(y), 0))
        for name, a, b, x, y in map(str.split, text.split(","))
    ]
    solution = rg.closed_form(rg.Mechanism.of_joints("constant", joints, ground="ground"), inputs)
    assert solution.solved
    source = tmp_path / "loops.c"
    source.write_text(solution.to_c())
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "-o", str(tmp_path / "loops.o")]
    subprocess.run(["gcc", *flags, str(source)], check=True)
    x = [0.1] * len(inputs)
    found = solution.solve(x)
    for branch in range(len(solution.branches)):
        q = written_out(solution)(x, branch)
        assert np.allclose(q, found.q[branch], equal_nan=True)


def double_wishbone(*, turned: bool = False) -> rg.Mechanism:
    """A wheel carrier on two wishbones and a tie rod with a rack."""
    ball = [("ub", "ua", (0.15, 0.7, 0.25)), ("lb", "la", (0.12, 0.75, -0.12))]
    balls = [
        rg.Joint.in_world(
            name, *(("carrier", arm) if turned else (arm, "carrier")), "spherical", point=p
        )
        for name, arm, p in ball
    ]
    return rg.Mechanism.of_joints(
        "double wishbone",
        [
            rg.Joint.in_world("upper", "ground", "ua", "revolute", X, (0, 0.3, 0.2)),
            rg.Joint.in_world("lower", "ground", "la", "revolute", X, (0, 0.25, -0.1)),
            *balls,
            rg.Joint.in_world("rack", "ground", "bar", "prismatic", Y),
            rg.Joint.in_world("ri", "bar", "rod", "universal", Z, (-0.1, 0.3, 0), axis2=X),
            rg.Joint.in_world("ro", "rod", "carrier", "spherical", point=(-0.05, 0.7, 0)),
        ],
        ground="ground",
    )


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_a_body_between_two_balls_that_a_third_one_holds(turned: bool) -> None:
    """The wheel carrier does not spin about the line of its ball joints: the tie rod holds it."""
    mechanism = double_wishbone(turned=turned)
    solution = rg.closed_form(mechanism, ["lower", "rack"])
    assert solution.solved
    assert len(solution.branches) == 8
    x = np.random.default_rng(3).uniform(-1.0, 1.0, size=(40, 2)) * (0.4, 0.05)
    found = solution.solve(x)
    assert found.assembled.any(axis=0).all()
    q = found.q[found.assembled]
    assert np.max(closure_errors(solution, q)) < 1e-12
    # The stored pose is one of the ways.
    stored = solution.solve([0.0, 0.0])
    assert np.min(np.max(np.abs(stored.q[stored.assembled]), axis=1)) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    "inputs", [["C[0]", "C[1]"], ["C[2]", "A"], ["C[0]", "A"], ["C[0]", "C[2]"]]
)
def test_single_coordinates_of_a_planar_joint(inputs: list[str]) -> None:
    points = {"A": (0, 0, 0), "B": (0.4, 0.3, 0), "C": (1, 0.1, 0)}
    kinds = zip(points, ("revolute", "revolute", "planar"), strict=True)
    mechanism = ring("planar", *((n, kind, Z, points[n]) for n, kind in kinds))
    solution = rg.closed_form(mechanism, inputs)
    assert solution.solved
    x = np.random.default_rng(2).uniform(-0.2, 0.2, size=(20, 2))
    found = solution.solve(x)
    assert found.assembled.any()
    given = np.broadcast_to(x[:, None], (*found.assembled.shape, 2))
    there = found.assembled
    assert np.allclose(found.q[there][:, list(solution.columns)], given[there])
    assert np.max(closure_errors(solution, found.q[there])) < 1e-13


def test_written_python_where_a_divisor_is_zero() -> None:
    solution = rg.closed_form(two_sliding_legs(), ["B1", "P1", "A0"])
    assert np.isnan(written_out(solution)([0.0, 0.0, 0.0], 0)).all()
    exact = solution.solve([0.1, 0.2, 0.1]).q[1]
    assert np.allclose(written_out(solution)([0.1, 0.2, 0.1], 1), exact)


@pytest.mark.slow
def test_a_divisor_that_vanishes_twice() -> None:
    joints = [
        rg.Joint.in_world("J0", "ground", "b0", "revolute", Z, (1, 0.5, 0.5)),
        rg.Joint.in_world("J1", "b0", "b1", "spherical", point=(1, -1, 0.5)),
        rg.Joint.in_world("J2", "b1", "b2", "revolute", Y, (1, -1.5, 0.5)),
        rg.Joint.in_world("J3", "b2", "b3", "universal", X, (-1, -1, 1), axis2=-Y),
        rg.Joint.in_world("J4", "b3", "b4", "planar", Z, (1, 0.5, 0)),
        rg.Joint.in_world("J5", "b4", "ground", "revolute", Z, (-1, 1, 0.5)),
    ]
    solution = rg.closed_form(
        rg.Mechanism.of_joints("loop", joints, ground="ground"), ["J4[0]", "J1", "J4[2]"]
    )
    found = solution.solve(np.zeros(5))
    q = found.q[found.assembled]
    assert np.min(np.max(np.abs(q), axis=1)) < 1e-12
    assert np.max(closure_errors(solution, q)) < 1e-12
