"""Results of many samples in one list: which are the same, and how they fit in one table.

Phase unwrapping: coordinates without whole turns, along a path or from a reference.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regularize.lie.arrays import Array, Coordinates, Indices
from regularize.mechanism.graph import Graph
from regularize.tolerances import EXACT


def table_of(rows: Indices, values: Array, count: int) -> Array:
    """Put each sample's values in one row, filled up with NaN, shape (count, most, ...)."""
    counts = np.bincount(rows, minlength=count)
    filled = np.arange(counts.max(initial=0)) < counts[:, None]
    table = np.full((*filled.shape, *values.shape[1:]), np.nan)
    table[filled] = values[np.argsort(rows, kind="stable")]
    return table


def labels_of(rows: Indices, points: Array, radius: float) -> Indices:
    """Return for each result the first that is the same, directly or by way of others.

    Two are the same if they are of one sample and no entry of their points (K, m) differs by more
    than the radius.
    """
    # Only neighbours along one arbitrary direction are compared, so that many cost little.
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
    """Return the results that differ from all earlier ones, in the order of the samples."""
    first = np.flatnonzero(labels_of(rows, points, radius) == np.arange(len(rows)))
    return first[np.argsort(rows[first], kind="stable")]


class Turns:
    """Knows which coordinates repeat after whole turns; columns ``but`` are left as they are."""

    def __init__(self, graph: Graph, but: Iterable[int] = ()) -> None:
        kept = set(but)
        self.angles: list[int] = []
        self.vectors: list[list[int]] = []
        for edge in graph.edges:
            if kept & set(edge.columns):
                continue
            turning = np.any(edge.screws[3:], axis=0)
            pitch = np.abs(np.sum(edge.screws[:3] * edge.screws[3:], axis=0))
            if not edge.group:
                repeats = turning & (pitch < EXACT.closed)  # a screw joint advances with every turn
                self.angles += [c for c, yes in zip(edge.columns, repeats, strict=True) if yes]
            elif edge.freedoms == 3 and turning.all():
                self.vectors.append([*edge.columns])

    def unwrapped(self, q: Coordinates) -> Coordinates:
        """Return coordinates (N, n) along a path without jumps; gaps are passed over."""
        result = q.copy()
        for column in self.angles:
            known = np.isfinite(q[:, column])
            result[known, column] = np.unwrap(q[known, column])
        for columns in self.vectors:
            rows = np.flatnonzero(np.isfinite(q[:, columns]).all(axis=1))[:, None]
            result[rows, columns] = _unwrapped_vectors(q[rows, columns])
        return result

    def near(self, q: Coordinates, reference: Coordinates) -> Coordinates:
        """Bring configurations (N, n) near to one or N others by whole turns."""
        result = q.copy()
        away = q[:, self.angles] - reference[..., self.angles]
        result[:, self.angles] -= 2 * np.pi * np.round(away / (2 * np.pi))
        for columns in self.vectors:
            w = q[:, columns]
            angle = np.linalg.norm(w, axis=1, keepdims=True)
            axis = w / np.where(angle > 0.0, angle, 1.0)
            turns = np.round(np.sum((reference[..., columns] - w) * axis, axis=1) / (2 * np.pi))
            result[:, columns] += 2 * np.pi * turns[:, None] * axis
        return result


def _unwrapped_vectors(w: Array) -> Array:
    """Return w + 2 pi k w / |w| with whole k such that rotation vectors (N, 3) do not jump.

    The angle of rotation is counted along an axis that never turns round between two samples.
    """
    if not len(w):
        return w
    angle = np.linalg.norm(w, axis=1)
    still = angle < EXACT.singular
    axis = w / np.where(still, 1.0, angle)[:, None]
    # Where nothing is rotated, any axis will do: the one before.
    last = np.maximum.accumulate(np.where(still, -1, np.arange(len(w))))
    axis[still] = np.where(last[still, None] >= 0, axis[last[still]], 0.0)
    same = np.sum(axis[1:] * axis[:-1], axis=1) >= 0.0
    side = np.cumprod(np.concatenate([[1.0], np.where(same, 1.0, -1.0)]))
    signed = side * angle
    turns = np.unwrap(signed) - signed
    return np.asarray(w + (turns * side)[:, None] * axis)
