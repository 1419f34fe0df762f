"""Closed loops of six motions: products, arrangements, candidates, and rows in groups."""

from __future__ import annotations

import numpy as np
import pytest
from loop_samples import apart, closed_by, dh_link, pencil
from scipy.sparse.csgraph import connected_components

from regularize.guests.modes.eigen_loop import from_null_spaces
from regularize.guests.modes.elementary_loop import certified
from regularize.guests.modes.grouping import firsts_of, labels_of
from regularize.guests.modes.pencil import arrangements


def test_nothing_is_proved_of_singular_configurations():
    kinds = "RRRRRR"
    C = np.repeat(np.eye(4)[None, None], 6, axis=1)  # six turns about one axis
    assert certified(kinds, C, np.zeros((1, 6))) == (0.0, np.inf)


OFFSETS = np.array([0.4, -1.3, 2.2])


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


@pytest.mark.parametrize("size", [1, 7, 500])
def test_neighbours_along_a_line_are_all_neighbours(size):
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
