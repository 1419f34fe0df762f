"""Results of many samples in one list: which are the same, and how they fit in one table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


def table_of(rows: Indices, count: int) -> Indices:
    """Positions of each sample's results in order, filled up with -1, shape (count, most).

    Args:
        rows: Sample of each result, shape (K,).
        count: Number of samples.
    """
    each = np.bincount(rows, minlength=count)
    order = np.argsort(rows, kind="stable")
    place = np.arange(len(rows)) - np.repeat(np.cumsum(each) - each, each)
    table = np.full((count, int(each.max(initial=0))), -1, dtype=np.intp)
    table[rows[order], place] = order
    return table


def labels_of(rows: Indices, same: Callable[[Indices, Indices], NDArray[np.bool_]]) -> Indices:
    """The first result of the same sample that is the same as each result, shape (K,).

    Args:
        rows: Sample of each result, shape (K,).
        same: Whether two results are the same, by their positions, both (P,).
    """
    labels = np.arange(len(rows))
    if not len(rows):
        return labels
    _, packed = np.unique(rows, return_inverse=True)
    table = table_of(packed, int(packed.max()) + 1)
    for slot in range(1, table.shape[1]):
        own = table[:, slot]
        samples = np.flatnonzero(own >= 0)
        earlier = table[samples, :slot]
        first = labels[earlier] == earlier
        row, place = np.nonzero(first)
        equal = np.zeros(earlier.shape, dtype=bool)
        equal[row, place] = same(earlier[row, place], own[samples][row])
        found = equal.any(axis=1)
        labels[own[samples[found]]] = earlier[found, equal[found].argmax(axis=1)]
    return labels


def firsts_of(rows: Indices, same: Callable[[Indices, Indices], NDArray[np.bool_]]) -> Indices:
    """Positions of the results that differ from all earlier ones, in the order of the samples."""
    labels = labels_of(rows, same)
    first = np.flatnonzero(labels == np.arange(len(rows)))
    return np.asarray(first[np.argsort(rows[first], kind="stable")])
