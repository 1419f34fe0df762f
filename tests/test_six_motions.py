"""Closed loops of six motions: products, arrangements, candidates, and rows in groups."""

from __future__ import annotations

import numpy as np
import pytest
from loop_samples import apart, closed_by, dh_link, pencil, random_constants
from scipy.sparse.csgraph import connected_components

from regularize.guests.modes.eigen_loop import (
    closing_turn,
    from_linear_equations,
    from_null_spaces,
    solve_motion,
)
from regularize.guests.modes.elementary_loop import (
    certified,
    error_and_derivative,
    newton,
)
from regularize.guests.modes.grouping import firsts_of, labels_of
from regularize.guests.modes.pencil import (
    arrangements,
    eigenvalues,
)


@pytest.mark.parametrize("kinds", ["RRRRRR", "RPRRPR", "PPPRRR"])
def test_the_derivative_against_differences(kinds):
    rng = np.random.default_rng(0)
    C, x = random_constants(rng, 20), rng.normal(size=(20, 6))
    _, derivative, _ = error_and_derivative(kinds, C, x)
    for i, step in enumerate(1e-6 * np.eye(6)):
        ahead = error_and_derivative(kinds, C, x + step)[0]
        behind = error_and_derivative(kinds, C, x - step)[0]
        assert np.allclose(derivative[:, :, i], (ahead - behind) / 2e-6, atol=1e-8)


@pytest.mark.parametrize("kinds", ["RRRRRR", "RPRRPR"])
def test_certificates_of_approximate_solutions_name_the_true_one(kinds):
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=(200, 6))
    C = closed_by(kinds, random_constants(rng, 200), x)
    rough = x + 1e-7 * rng.normal(size=x.shape)
    _, h = certified(kinds, C, rough)
    proved = h <= 0.5
    assert proved.mean() > 0.9
    assert np.max(np.abs(newton(kinds, C, rough) - x)[proved]) < 1e-9


def test_nothing_is_proved_of_singular_configurations():
    kinds = "RRRRRR"
    C = np.repeat(np.eye(4)[None, None], 6, axis=1)  # six turns about one axis
    assert certified(kinds, C, np.zeros((1, 6))) == (0.0, np.inf)


OFFSETS = np.array([0.4, -1.3, 2.2])


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["RRRRRR", "RPRRPR", "PRRRRR"])
def test_exact_eigenvalues_give_the_configuration(kinds):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(4, 6))
    C = closed_by(kinds, random_constants(rng, 4), x)
    for arrangement in list(arrangements(kinds))[::7]:
        P = pencil(kinds, C, arrangement, OFFSETS)
        if P.regularity(np.linspace(-3, 3, 5)).max(axis=1).min() < 1e-6:
            continue
        order = list(arrangement.order)
        roles = list(arrangement.roles)
        hidden = P.angle(0, x[:, order[roles[0]]])
        rows = np.arange(4)
        candidate, values, nullity = from_null_spaces(P, rows, hidden)
        assert np.array_equal(nullity, np.ones(4)) and np.array_equal(candidate, rows)
        role_kinds = "".join(kinds[order[role]] for role in roles)
        assert np.max(apart(role_kinds, values, x[:, order][:, roles])) < 1e-8
        arranged_kinds, arranged = arrangement.arranged(kinds, C)
        own, found, determined = from_linear_equations(
            arranged_kinds, arranged, rows, values, arrangement
        )
        assert np.array_equal(own, rows) and determined.all()
        assert np.max(apart(arranged_kinds, found, x[:, order])) < 1e-7
        assert np.max(closing_turn(arranged_kinds, arranged, found)[1]) < 1e-7


def test_solutions_that_share_the_hidden_variable_are_told_apart():
    """An arm with a common point of its last axes: the wrist turns over, the arm stays."""
    links = [
        (0, -90, 0.4),
        (0.43, 20, 0.15),
        (0.02, 80, 0.1),
        (0, -90, 0.43),
        (0, 90, 0),
        (0, 0, 0),
    ]
    x = np.array([[0.3, -0.7, 1.1, 0.4, 0.9, -1.2]])
    over = x + np.array([[0, 0, 0, np.pi, -2 * 0.9, np.pi]])
    C = closed_by("RRRRRR", np.array([[dh_link(*link) for link in links]]), x)
    seen = False
    for arrangement in arrangements("RRRRRR"):
        order, roles = list(arrangement.order), list(arrangement.roles)
        if order[roles[0]] not in (0, 1, 2):
            continue  # the hidden angle is one of the arm, the same for both wrists
        if not {order[role] for role in roles[1:]} & {3, 4, 5}:
            continue
        P = pencil("RRRRRR", C, arrangement, OFFSETS)
        if P.regularity(np.linspace(-3, 3, 7)).max() < 1e-6:
            continue
        _, values, nullity = from_null_spaces(
            P, np.zeros(1, int), P.angle(0, x[:, order[roles[0]]])
        )
        assert nullity[0] >= 2
        for solution in (x, over):
            wanted = solution[:, order][:, roles]
            assert np.min(apart("RRR", values, wanted)) < 1e-6
        seen = True
    assert seen


@pytest.mark.parametrize("kind", ["R", "P"])
def test_one_equation_for_a_motion_has_two_solutions(kind):
    x = np.array([0.7, -1.1])
    f1, f2 = (np.cos(x), np.sin(x)) if kind == "R" else (x, x * x)
    # Twice the same equation: a f1 + b f2 + c = goal.
    parts = [np.full((2, 2), c) for c in (0.3, 0.8, -0.5)]
    goal = np.repeat((0.3 + 0.8 * f1 - 0.5 * f2)[:, None], 2, axis=1)
    own, found, determined = solve_motion(kind, parts, goal)
    assert own.tolist() == [0, 0, 1, 1] and determined.all()
    for k in range(2):
        both = found[own == k]
        assert np.min(apart(kind, both[:, None], x[k])) < 1e-12
        g1, g2 = (np.cos(both), np.sin(both)) if kind == "R" else (both, both * both)
        assert np.allclose(0.3 + 0.8 * g1 - 0.5 * g2, goal[k, 0])
        assert apart(kind, both[:1], both[1:]) > 0.1


@pytest.mark.parametrize("size", [1, 7, 500])
def test_neighbours_along_a_line_are_all_neighbours(size):
    """Against the comparison of all pairs."""
    rng = np.random.default_rng(size)
    rows = rng.integers(4, size=size)
    points = rng.integers(3, size=(size, 5)) + rng.uniform(-1e-7, 1e-7, size=(size, 5))
    near = np.max(np.abs(points[:, None] - points), axis=2) < 1e-6
    near &= rows[:, None] == rows
    _, parts = connected_components(near)
    first = np.sort(np.unique(parts, return_index=True)[1])
    assert np.flatnonzero(labels_of(rows, points, 1e-6) == np.arange(size)).tolist() == [*first]
    expected = first[np.argsort(rows[first], kind="stable")]
    assert firsts_of(rows, points, 1e-6).tolist() == expected.tolist()
    assert size < 500 or len(expected) < 400


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["RRRRRR", "PRRRRR", "RPRPRR", "RRPPRR", "PPRRRR", "RPRPRP"])
def test_every_arrangement_is_singular_at_solutions(kinds):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(5, 6))
    C = closed_by(kinds, random_constants(rng, 5), x)
    count = 0
    for arrangement in arrangements(kinds):
        P = pencil(kinds, C, arrangement, OFFSETS)
        hidden = x[:, arrangement.order[arrangement.roles[0]]]
        sizes = np.linalg.svd(P.at(P.angle(0, hidden)), compute_uv=False)
        assert np.max(sizes[:, -1] / sizes[:, 0]) < 1e-11
        assert np.allclose(np.sin(P.value(0, P.angle(0, hidden)) - hidden), 0.0, atol=1e-12)
        count += 1
    assert count == 12 * kinds.count("R")


def test_a_general_loop_has_sixteen_eigenvalues_and_the_imaginary_points():
    """Raghavan and Roth: degree 24 with the factor (1 + t²)⁴ of the third angle."""
    rng = np.random.default_rng(2)
    C = random_constants(rng, 10)
    first = next(a for a in arrangements("RRRRRR") if a.hidden == 0)
    P = pencil("RRRRRR", C, first, OFFSETS)
    angles = eigenvalues(P.A)
    # The points of the half angle's tangent at +i and -i are infinitely far up and down.
    far = np.abs(angles.imag) > 6.0
    assert np.array_equal(far.sum(axis=1), np.full(10, 8))


def test_three_slides_in_turn_with_three_turns_are_singular_at_all_angles():
    rng = np.random.default_rng(4)
    C = random_constants(rng, 3)
    angles = np.linspace(-3, 3, 7)
    for arrangement in arrangements("PRPRPR"):
        assert pencil("PRPRPR", C, arrangement, OFFSETS).regularity(angles).max() < 1e-13
