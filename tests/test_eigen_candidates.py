"""From eigenvalues to candidates: null spaces of several dimensions, equations of two solutions."""

from __future__ import annotations

import numpy as np
import pytest
from loop_samples import apart, closed_by, dh_link, pencil, random_constants

from regularize.assembly_modes.six_motions.candidates import (
    completed,
    fitted,
    gap,
    remaining,
)
from regularize.assembly_modes.six_motions.pencil import arrangements

OFFSETS = np.array([0.4, -1.3, 2.2])


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
        candidate, values, nullity = completed(P, rows, hidden)
        assert np.array_equal(nullity, np.ones(4)) and np.array_equal(candidate, rows)
        role_kinds = "".join(kinds[order[role]] for role in roles)
        assert np.max(apart(role_kinds, values, x[:, order][:, roles])) < 1e-8
        arranged_kinds, arranged = arrangement.arranged(kinds, C)
        own, found, determined = remaining(arranged_kinds, arranged, rows, values, arrangement)
        assert np.array_equal(own, rows) and determined.all()
        assert np.max(apart(arranged_kinds, found, x[:, order])) < 1e-7
        assert np.max(gap(arranged_kinds, arranged, found)[1]) < 1e-7


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
        _, values, nullity = completed(P, np.zeros(1, int), P.angle(0, x[:, order[roles[0]]]))
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
    own, found, determined = fitted(kind, parts, goal)
    assert own.tolist() == [0, 0, 1, 1] and determined.all()
    for k in range(2):
        both = found[own == k]
        assert np.min(apart(kind, both[:, None], x[k])) < 1e-12
        g1, g2 = (np.cos(both), np.sin(both)) if kind == "R" else (both, both * both)
        assert np.allclose(0.3 + 0.8 * g1 - 0.5 * g2, goal[k, 0])
        assert apart(kind, both[:1], both[1:]) > 0.1


def test_no_equation_determines_nothing():
    _, _, determined = fitted("R", [np.zeros((1, 3))] * 3, np.zeros((1, 3)))
    assert not determined.any()
