"""Closed-form loop kinematics: branches, special loops and what has no closed form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import pytest
from closed_form_cases import closure_errors, ring

import regularize as rg

X, Y, Z = np.eye(3)


def four_bar() -> Any:
    return rg.closed_form(mechanisms.planar_fourbar(), ["A"])


def test_branches_are_continuous_and_named():
    solution = four_bar()
    assert len(solution.branches) == 2
    values = np.linspace(-0.4, 0.4, 300)[:, None]
    found = solution.solve(values)
    for branch in range(found.q.shape[1]):
        q = found.q[found.assembled[:, branch], branch]
        assert np.max(np.abs(np.diff(np.unwrap(q, axis=0), axis=0))) < 0.1


def test_loops_without_a_closed_form_are_named():
    rng = np.random.default_rng(3)
    joints = [
        (f"j{i}", "revolute", rng.normal(size=3), tuple(rng.normal(size=3))) for i in range(7)
    ]
    solution = rg.closed_form(ring("7R", *joints), ["j0"])
    assert not solution.solved
    (loop,) = solution.loops
    assert not loop.solved and loop.reason
    with pytest.raises(rg.ModelError):
        solution.solve(np.array([0.1]))


@pytest.mark.slow
@pytest.mark.parametrize("make", [mechanisms.slider_crank, mechanisms.planar_fourbar])
def test_just_beyond_the_dead_centre_nothing_is_assembled(make):
    """Every place at which the discriminant is slightly negative, found by bisection."""
    mechanism = make()
    solution = rg.closed_form(mechanism, [mechanism.joints[-1].name])
    values = np.linspace(0.0, 3.0, 301)
    edge = int(np.argmin(solution.solve(values).assembled.any(axis=1)))
    inside, outside = float(values[edge - 1]), float(values[edge])
    assert edge > 0 and solution.solve(inside).assembled.any()
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        if solution.solve(middle).assembled.any():
            inside = middle
        else:
            outside = middle
    assert not solution.solve([[outside]]).assembled.any()
    assert np.isnan(solution.velocities([inside], [1.0])).all(), "branches meet: no velocity"


@pytest.mark.slow
def test_couplings_that_give_no_coordinate_are_checked():
    """Of a parallelogram's two shapes, only one keeps opposite angles opposite."""
    corners = ("A", (0, 0, 0)), ("B", (0, 0.3, 0)), ("C", (1, 0.3, 0)), ("D", (1, 0, 0))
    links = ring("parallelogram", *((name, "revolute", Z, p) for name, p in corners))
    opposite = rg.Coupling("opposite", "mimic", (("B", 0, 1.0), ("C", 0, 1.0)))
    solution = rg.closed_form(replace(links, couplings=(opposite,)), ["A"])
    found = solution.solve(np.linspace(0.2, 1.2, 20))
    assert (found.assembled.sum(axis=1) == 1).all()
    q = found.q[found.assembled]
    assert np.max(np.abs(q[:, 1] + q[:, 2])) < 1e-12
    both = rg.Coupling("both", "gear", (("A", 0, 1.0), ("D", 0, 1.0)))
    with pytest.raises(rg.ModelError, match="cannot be chosen freely"):
        five = ring("five", *((n, "revolute", Z, p) for n, p in (*corners, ("E", (0.4, -0.3, 0)))))
        rg.closed_form(replace(five, couplings=(both,)), ["A", "D"])


def test_no_samples_and_infinite_inputs():
    solution = four_bar()
    assert solution.solve(np.zeros((0, 1))).q.shape == (0, 2, 4)
    assert solution.velocities(np.zeros((0, 1)), np.zeros((0, 1))).shape == (0, 2, 4)
    assert not solution.solve(np.inf).assembled.any()
    assert not solution.solve(np.nan).assembled.any()


@pytest.mark.slow
def test_branches_of_many_loops_are_made_one_by_one() -> None:
    """Of 17 four-bars there are too many to be computed at once; of 70 more than have numbers."""
    joints = [
        replace(j, name=f"{j.name}{k}", parent=at(j.parent, k), child=at(j.child, k))
        for k in range(70)
        for j in mechanisms.planar_fourbar().joints
        for at in [lambda body, k: body if body == "ground" else f"{body}{k}"]
    ]
    some, every = (rg.Mechanism.of_joints("many", joints[: 4 * n]) for n in (17, 70))
    solution = rg.closed_form(some, [f"A{k}" for k in range(17)])
    assert len(solution.branches) == 2**17
    assert solution.branches[5].signs == (*[1] * 14, -1, 1, -1)
    assert solution.branches[-1].name.count("negative") == 17
    values = np.zeros(17)
    one = solution.solve(values, branch=5)
    alone = rg.closed_form(mechanisms.planar_fourbar(), ["A"]).solve(0.0)
    assert np.allclose(one.q.reshape(17, 4), alone.q[[0] * 14 + [1, 0, 1]])
    with pytest.raises(rg.ModelError, match="131072 branches, and 65536"):
        solution.solve(values)
    with pytest.raises(rg.ModelError, match="70 steps"):
        rg.closed_form(every, [f"A{k}" for k in range(70)])


ASSETS = Path(__file__).resolve().parents[3] / "assets"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["n_fourbar_5", "three_cranks", "roberval_balance", "knee_leg"])
def test_whatever_is_called_solved_closes_the_loops(name):
    """Rows of equal links, where much that holds on most branches does not hold on all."""
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    solved = 0
    names = [
        joint.name if joint.freedoms == 1 else f"{joint.name}[{k}]"
        for joint in mechanism.joints
        for k in range(joint.freedoms)
    ]
    for column in names:
        solution = rg.closed_form(mechanism, [column])
        if not solution.solved:
            with pytest.raises(rg.ModelError, match="no closed form"):
                solution.solve(0.1)
            continue
        solved += 1
        found = solution.solve(np.linspace(-2.0, 2.0, 20))
        assert np.max(closure_errors(solution, found.q[found.assembled])) < 1e-9, column
    assert solved
