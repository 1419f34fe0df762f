"""The five texts row by row: text_rows.csv has every method, figure and example, with its tests.

Müller 2004 (A), Müller 2014 (M), Klein and Kecskeméthy 1998 (K), Paul 2020 (P), Brüls, Duysinx and
Golinval 2003 (B), Hervé 1978 as they cite him (H), and the tools that the programme names (D). A
test of this module stands with its name alone. What no other module tests is tested here.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg

HERE = Path(__file__).parents[1]
ASSETS = HERE.parent / "assets"


@cache
def rows() -> dict[str, list[str]]:
    """The tests of each row as pytest calls them."""
    with open(HERE / "report" / "text_rows.csv", encoding="utf-8") as file:
        _, *table = csv.reader(file)
    return {
        row: [
            "test_{1}.py::test_{0}".format(*name.split("::")[::-1], "text_rows")
            for name in re.findall(r"(?:[^\s\[]|\[[^\]]*\])+", tests)
        ]
        for row, _, tests in table
    }


def test_cases_of_rows_are_run() -> None:
    """Whatever a row names is collected, its parameters included."""
    modules = sorted({node.partition("::")[0] for tests in rows().values() for node in tests})
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "--nightly"]
    command += ["-p", "no:cacheprovider", *modules]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    known = {line.rpartition("/")[2] for line in done.stdout.splitlines() if "::" in line}
    known |= {line.partition("[")[0] for line in known}
    missing = [node for tests in rows().values() for node in tests if node not in known]
    gone = [m for m in modules if not any(line.startswith(m) for line in known)]
    # Modules whose engine is not installed are skipped as a whole.
    assert [node for node in missing if node.partition("::")[0] not in gone] == []
    assert set(gone) <= {"test_exudyn.py"}


def test_no_decomposition_and_no_reduction_while_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accelerations and steps are the same where no routine for a decomposition can be called."""
    import scipy.linalg

    robot = rg.to_pinocchio(rg.reduce(ASSETS / "three_prrr.urdf"))
    q, v = robot.q0, np.zeros(robot.nv)
    expected = robot.forward_dynamics(q, v, np.ones(robot.nv))

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("decomposed")

    for module, names in (
        (np.linalg, ("svd", "qr", "eig", "eigh", "pinv", "lstsq")),
        (scipy.linalg, ("svd", "qr", "eig", "eigh", "pinv", "lstsq", "null_space", "orth")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, refused)
    found = robot.forward_dynamics(q, v, np.ones(robot.nv))
    np.testing.assert_array_equal(found, expected)
    steps = robot.step(np.array([q]), np.array([v]), np.zeros((1, robot.nv)), 1e-3)
    assert steps.ok.all()


def test_two_skew_hinges_need_brackets_of_higher_order() -> None:
    """Screws and their first and second brackets span 5; the closure is the whole algebra."""
    skew = rg.motion_group("revolute", (1, 0.2, 0.4), (0, 1, 0))
    assert rg.compose("revolute", skew).dimension == 6

    def bracket(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        v = np.cross(a[3:], b[:3]) - np.cross(b[3:], a[:3])
        return np.concatenate([v, np.cross(a[3:], b[3:])])

    one = np.array([0, 0, 0, 0, 0, 1.0])
    axis = np.array([1, 0.2, 0.4]) / np.linalg.norm([1, 0.2, 0.4])
    two = np.concatenate([np.cross((0, 1, 0), axis), axis])
    first = bracket(one, two)
    span = [one, two, first, bracket(one, first), bracket(two, first)]
    assert np.linalg.matrix_rank(span, tol=1e-9) == 5


@pytest.mark.slow
def test_the_cut_of_least_rank_is_taken() -> None:
    mechanism = rg.load(ASSETS / "sarrus.urdf")
    kept = {j.name: rg.reduce(mechanism, cuts=[j.name]).kept for j in mechanism.joints}
    assert set(kept.values()) == {4, 5}
    assert rg.reduce(mechanism).kept == 4


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("three_prrr", 10.0), ("spherical_fourbar", 10.0)])
def test_kept_rows_are_well_conditioned(name: str, most: float) -> None:
    reduction = rg.reduce(ASSETS / f"{name}.urdf")
    assert 1.0 <= float(reduction.condition()[0]) < most


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three_bar", "five_point_suspension"])
def test_newton_needs_fewer_steps_than_least_squares(name: str) -> None:
    """On the thesis' own models a twentieth of a radian on: evaluations of the loops, and results.

    The thesis' ``lsqnonlin`` knows no derivatives; with them it takes at least as many.
    """
    from scipy.optimize import least_squares

    reduction = rg.reduce(ASSETS / "thesis" / f"{name}.urdf")
    loops = reduction.loops
    start = np.array(reduction.q[loops.columns])
    start[0] += 0.05

    def state(x: np.ndarray) -> Any:
        return loops.state(np.append(start[:1], x)[None])

    def gaps(x: np.ndarray) -> np.ndarray:
        return np.asarray(loops.residual(state(x))[0])

    def slopes(x: np.ndarray) -> np.ndarray:
        return np.asarray(loops.residual_jacobian(state(x))[0][:, 1:])

    exact, needed = start[1:], 1
    while np.abs(gap := gaps(exact)).max() > 1e-12:
        exact, needed = exact - np.linalg.lstsq(slopes(exact), gap, rcond=1e-9)[0], needed + 1
    assert needed < 10
    for jac, more in ((slopes, 1), ("2-point", 2)):
        found = least_squares(gaps, start[1:], jac=jac, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        assert found.nfev + (found.njev or 0) * len(exact) * (jac != slopes) >= more * needed
        assert np.abs(gaps(found.x)).max() < 1e-9
        if reduction.mobility == 1:
            np.testing.assert_allclose(found.x, exact, atol=1e-9)


def test_hinges_and_slides_leave_unmoved_what_table_1_says() -> None:
    """Of a hinge its origin and the plane across it, of a slide the planes along it."""
    for axis in range(3):
        s = np.zeros(6)
        s[3 + axis] = 1.0
        hinge, slide = s[:, None], np.roll(s, 3)[:, None]
        assert rg.meet(hinge, "spherical").dimension == 1  # the origin stays
        assert rg.meet(slide, "spherical").dimension == 0
        for other in range(3):
            normal = np.eye(3)[other]
            across = rg.motion_group("planar", tuple(normal))  # all motions that keep that plane
            assert rg.meet(hinge, across).dimension == int(axis == other)
            assert rg.meet(slide, across).dimension == int(axis != other)


def wheel() -> rg.ClosedForm:
    from closed_form_cases import wheel_suspension

    return rg.closed_form(*wheel_suspension())


def test_one_plan_serves_many_evaluations() -> None:
    """Planned once and written down, the formulas are evaluated without the planner."""
    solution = wheel()
    alone: dict[str, Any] = {}
    exec(solution.to_python("loop"), alone)
    for value in (0.1, 0.2, 0.3):
        expected = solution.solve(value)
        for way in (0, 1):
            np.testing.assert_allclose(alone["loop"]([value], way), expected.q[way], atol=1e-12)


@pytest.mark.slow
def test_three_hundred_thousand_solutions() -> None:
    """Both ways to assemble at every stroke, by formulas and in one call."""
    values = np.linspace(0.02, 0.4, 150_000)
    found = wheel().solve(values)
    assert found.q.shape == (150_000, 2, 4) and found.assembled.all()
    a, b, c, s = np.moveaxis(found.q, -1, 0)
    y = 0.84 * np.cos(a) - 0.12 * np.sin(a) - 0.85 * np.cos(a + b) - 0.13 * np.sin(a + b)
    z = 0.84 * np.sin(a) + 0.12 * np.cos(a) - 0.85 * np.sin(a + b) + 0.13 * np.cos(a + b)
    assert np.abs([y, z + s]).max() < 1e-13
    assert np.abs(np.remainder(a + b + c + np.pi, 2 * np.pi) - np.pi).max() < 1e-13
