"""Results of many samples in one list."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from regularize.assembly_modes.grouping import firsts_of, labels_of, table_of

ROWS = np.array([2, 0, 2, 2, 0, 5])
VALUES = np.array([1.0, 1.0, 1.05, 3.0, 4.0, 1.0])


def test_the_table_keeps_the_order():
    table = table_of(ROWS, 6)
    assert table.tolist() == [
        [1, 4, -1],
        [-1, -1, -1],
        [0, 2, 3],
        [-1, -1, -1],
        [-1, -1, -1],
        [5, -1, -1],
    ]
    assert table_of(np.zeros(0, dtype=int), 2).shape == (2, 0)


def test_equal_results_of_one_sample_only():
    points = VALUES[:, None]
    assert labels_of(ROWS, points, 0.1).tolist() == [0, 1, 0, 3, 4, 5]
    assert firsts_of(ROWS, points, 0.1).tolist() == [1, 4, 0, 3, 5]
    assert firsts_of(np.zeros(0, dtype=int), np.zeros((0, 3)), 0.1).tolist() == []


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
