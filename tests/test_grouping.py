"""Results of many samples in one list."""

from __future__ import annotations

import numpy as np

from regularize.all_configurations.grouping import firsts_of, labels_of, table_of

ROWS = np.array([2, 0, 2, 2, 0, 5])
VALUES = np.array([1.0, 1.0, 1.05, 3.0, 4.0, 1.0])


def same(i, j):
    return np.abs(VALUES[i] - VALUES[j]) < 0.1


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
    assert labels_of(ROWS, same).tolist() == [0, 1, 0, 3, 4, 5]
    assert firsts_of(ROWS, same).tolist() == [1, 4, 0, 3, 5]
    assert firsts_of(np.zeros(0, dtype=int), same).tolist() == []
