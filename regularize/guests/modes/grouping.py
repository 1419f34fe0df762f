"""Configurations of many samples in tables: which are the same, and the poses of bodies in them.

Phase unwrapping: coordinates without whole turns, along a path or from a reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Indices, Transform, read_only
from regularize.loops.kinematics import LoopKinematics, State, sized_loops
from regularize.loops.projection import in_parts
from regularize.mechanism.graph import Graph, NodeId, coordinate_names
from regularize.mechanism.named_columns import NamedColumns, ShortRepr, coordinate_columns
from regularize.tolerances import EXACT


def table_of(rows: Indices, values: Array, count: int) -> Array:
    """Put each sample's values in one row, filled up with NaN, shape (count, most, ...)."""
    counts = np.bincount(rows, minlength=count)
    filled = np.arange(counts.max(initial=0)) < counts[:, None]
    table = np.full((*filled.shape, *values.shape[1:]), np.nan)
    table[filled] = values[np.argsort(rows, kind="stable")]
    return table


def labels_of(rows: Indices, points: Array, radius: float) -> Indices:
    """Label results of equal sample and points (K, m) by the first that they are chained to."""
    from scipy.sparse import coo_array  # slow to load
    from scipy.sparse.csgraph import connected_components

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
    """The coordinates that repeat after whole turns, without the columns ``but``."""

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
    """Return rotation vectors (N, 3) plus whole turns about their axes, such that none jumps."""
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


def node_of(graph: Graph, body: str) -> NodeId:
    """Return the node of a body."""
    if body not in graph.node_of:
        names = [known.name for known in graph.mechanism.bodies]
        raise ModelError(f"there is no body {body!r}{did_you_mean(body, names)}")
    return graph.node_of[body]


def frames_of(graph: Graph, loops: LoopKinematics, state: State, body: str) -> Transform:
    """Return a body's frame seen from the ground's at N configurations."""
    node = graph.node_of[body]
    if node not in loops.nodes:
        return np.broadcast_to(graph.T_node_body[body], (len(state.q), 4, 4))
    posed = state.T_world_node[:, loops.row(node)] @ graph.T_node_body[body]
    return np.asarray(screw.inverse(graph.T_node_body[graph.mechanism.ground]) @ posed)


@dataclass(frozen=True, eq=False, repr=False)
class DistinctPoses(ShortRepr):
    """The different poses of one body among several configurations.

    Attributes:
        T: Poses in the ground's frame, filled up with NaN, shape (..., poses, 4, 4).
        group: Which of them each configuration has, -1 where there is none, (..., solutions).
        counts: Number of different poses, shape (...).
    """

    T: Transform
    group: Indices
    counts: Indices


class Configurations(NamedColumns):
    """Configurations of a mechanism, as ``configurations`` and ``ClosedForm.solve`` find them.

    Leading axes are those of the inputs; the last axes are those of the solutions and of all n
    coordinates. Those that do not exist are NaN.

    Example:
        >>> modes = rg.configurations("assets/planar_fourbar.urdf", ["A"], [0.1, 0.2])
        >>> print(modes.q.shape, modes.names, modes.columns()["C"], modes.pose("coupler").shape)

    Attributes:
        graph: The mechanism's graph.
        q: Coordinates of all joints in radians and metres, shape (..., solutions, n).
    """

    graph: Graph
    q: Coordinates

    @property
    def names(self) -> tuple[str, ...]:
        """Name of every coordinate, shape (n,)."""
        return coordinate_names(self.graph.mechanism)

    @property
    def axes(self) -> Sequence[str]:
        """The last axis tells the solutions apart."""
        return ("solution",)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Every coordinate by its name, radians and metres, shape (..., solutions) each."""
        return coordinate_columns(self.names, self.q)

    def pose(self, body: str) -> Transform:
        """Return a body's frame seen from the ground's, shape (..., solutions, 4, 4).

        Raises:
            ModelError: There is no such body.
        """
        graph = self.graph
        node_of(graph, body)
        loops = sized_loops(graph, graph.position)
        flat = self.q.reshape(-1, self.q.shape[-1])
        frames = np.full((len(flat), 4, 4), np.nan)
        known = np.flatnonzero(np.isfinite(flat).all(axis=1))
        frames[known] = in_parts(
            lambda q: frames_of(graph, loops, loops.state(q), body), flat[known]
        )
        return read_only(frames.reshape(*self.q.shape[:-1], 4, 4))

    def poses(self, body: str) -> DistinctPoses:
        """Return the different poses of a body: many ways to assemble may lead to one of them.

        Raises:
            ModelError: There is no such body.
        """
        T = self.pose(body)
        shape, most = T.shape[:-3], T.shape[-3]
        flat = T[..., :3, :].reshape(-1, 12)
        known = np.flatnonzero(np.isfinite(flat).all(axis=1))
        rows = known // max(1, most)
        length = sized_loops(self.graph, self.graph.position).length
        scaled = flat[known] * np.where(np.arange(12) % 4 == 3, 1.0 / length, 1.0)
        label = labels_of(rows, scaled, EXACT.same)
        first, samples = np.unique(label), int(np.prod(shape, dtype=int))
        counts = np.bincount(rows[first], minlength=samples)
        number = np.zeros(len(label), dtype=np.intp)
        number[first] = np.arange(len(first)) - (np.cumsum(counts) - counts)[rows[first]]
        group = np.full(len(flat), -1, dtype=np.intp)
        group[known] = number[label]
        distinct = table_of(rows[first], T.reshape(-1, 4, 4)[known[first]], samples)
        T, counts = distinct.reshape(*shape, *distinct.shape[1:]), counts.reshape(shape)
        return DistinctPoses(read_only(T), group.reshape(*shape, most), counts.astype(np.intp))
