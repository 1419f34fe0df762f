"""Results of many samples in one list: which are the same, and how they fit in one table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regularize.lie.screw import Array

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


def firsts_of(rows: Indices, points: Array, radius: float) -> Indices:
    """Positions of the results that differ from all earlier ones, in the order of the samples.

    Only neighbours along one arbitrary direction are compared, so that many cost little.

    Args:
        rows: Sample of each result, shape (K,).
        points: Each result, shape (K, m).
        radius: Largest difference of an entry up to which results of one sample are the same.
    """
    K, m = points.shape
    if not K:
        return np.zeros(0, dtype=np.intp)
    direction = np.random.default_rng(0).normal(size=m)
    along = points @ direction
    reach = radius * float(np.sum(np.abs(direction)))
    order = np.lexsort((along, rows))
    pairs: list[Indices] = [np.zeros((2, 0), dtype=np.intp)]
    first, ahead = np.arange(K - 1), 1
    while len(first):
        a, b = order[first], order[first + ahead]
        near = (rows[a] == rows[b]) & (along[b] - along[a] <= reach)
        first, a, b = first[near], a[near], b[near]
        same = np.max(np.abs(points[a] - points[b]), axis=1, initial=0.0) < radius
        pairs.append(np.stack([a[same], b[same]]))
        ahead += 1
        first = first[first + ahead < K]
    i, j = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(len(i), dtype=bool), (i, j)), shape=(K, K))
    count, label = connected_components(graph, directed=False)
    least = np.full(count, K)
    np.minimum.at(least, label, np.arange(K))
    least.sort()
    return np.asarray(least[np.argsort(rows[least], kind="stable")])
