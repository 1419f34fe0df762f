"""Results of many samples in one list: which are the same, and how they fit in one table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regularize.lie.screw import Array

Indices = NDArray[np.intp]


def table_of(rows: Indices, values: Array, count: int) -> Array:
    """Each sample's values in order, filled up with NaN, shape (count, most, ...).

    Of each result the sample, shape (K,), and what there is of it, shape (K, ...), are given.
    """
    each = np.bincount(rows, minlength=count)
    there = np.arange(each.max(initial=0)) < each[:, None]
    table = np.full((*there.shape, *values.shape[1:]), np.nan)
    table[there] = values[np.argsort(rows, kind="stable")]
    return table


def labels_of(rows: Indices, points: Array, radius: float) -> Indices:
    """The first result that is the same as each one, or the same as one that is, shape (K,).

    Only neighbours along one arbitrary direction are compared, so that many cost little. Results of
    different samples ``rows``, shape (K,), are never the same, others where no entry of their
    points, shape (K, m), differs by more than the radius.
    """
    K = len(rows)
    direction = np.random.default_rng(0).normal(size=points.shape[1])
    along, reach = points @ direction, radius * float(np.sum(np.abs(direction)))
    order = np.lexsort((along, rows))
    pairs: list[Indices] = [np.zeros((2, 0), dtype=np.intp)]
    first, ahead = np.arange(K - 1), 1
    while len(first):
        a, b = order[first], order[first + ahead]
        near = (rows[a] == rows[b]) & (along[b] - along[a] <= reach)
        first, a, b = first[near], a[near], b[near]
        equal = np.max(np.abs(points[a] - points[b]), axis=1, initial=0.0) < radius
        pairs.append(np.stack([a[equal], b[equal]]))
        ahead += 1
        first = first[first + ahead < K]
    i, j = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(len(i), dtype=bool), (i, j)), shape=(K, K))
    count, label = connected_components(graph, directed=False)
    least = np.full(count, K)
    np.minimum.at(least, label, np.arange(K))
    return np.asarray(least[label])


def firsts_of(rows: Indices, points: Array, radius: float) -> Indices:
    """Positions of the results that differ from all earlier ones, in the order of the samples.

    Arguments as of ``labels_of``.
    """
    first = np.flatnonzero(labels_of(rows, points, radius) == np.arange(len(rows)))
    return first[np.argsort(rows[first], kind="stable")]
