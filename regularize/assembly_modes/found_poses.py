"""Configurations as named coordinates, and the poses of bodies in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.frame_motion import frames_of
from regularize.assembly_modes.grouping import labels_of, table_of
from regularize.assembly_modes.inputs import node_of
from regularize.lie.screw import Array, read_only
from regularize.manifold.batches import CHUNK
from regularize.manifold.extent import sized_loops
from regularize.manifold.tolerances import EXACT
from regularize.model.graph import Graph, coordinate_names
from regularize.model.named_columns import NamedColumns, coordinate_columns
from regularize.model.short_repr import ShortRepr


@dataclass(frozen=True, eq=False, repr=False)
class FoundPoses(ShortRepr):
    """The different poses of one body among several configurations.

    Attributes:
        T: Poses in the ground's frame, filled up with NaN, shape (..., poses, 4, 4).
        group: Which of them each configuration has, -1 where there is none, (..., solutions).
        counts: Number of different poses, shape (...).
    """

    T: Array
    group: NDArray[np.intp]
    counts: NDArray[np.intp]


class Configurations(NamedColumns):
    """Coordinates of all joints in ``q``, shape (..., solutions, n), of the ``graph``."""

    graph: Graph
    q: Array

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

    def pose(self, body: str) -> Array:
        """BodyPose of a body's frame in the ground's frame, shape (..., solutions, 4, 4).

        Raises:
            ModelError: There is no such body.
        """
        graph = self.graph
        node_of(graph, body)
        loops = sized_loops(graph, graph.position)
        flat = self.q.reshape(-1, self.q.shape[-1])
        found = np.full((len(flat), 4, 4), np.nan)
        there = np.flatnonzero(np.isfinite(flat).all(axis=1))
        for k in range(0, len(there), CHUNK):
            part = there[k : k + CHUNK]
            found[part] = frames_of(graph, loops, loops.state(flat[part]), body)
        return read_only(found.reshape(*self.q.shape[:-1], 4, 4))

    def poses(self, body: str) -> FoundPoses:
        """The different poses of a body: many ways to assemble may lead to one of them.

        Raises:
            ModelError: There is no such body.
        """
        T = self.pose(body)
        shape, most = T.shape[:-3], T.shape[-3]
        flat = T[..., :3, :].reshape(-1, 12)
        there = np.flatnonzero(np.isfinite(flat).all(axis=1))
        rows = there // max(1, most)
        length = sized_loops(self.graph, self.graph.position).length
        scaled = flat[there] * np.where(np.arange(12) % 4 == 3, 1.0 / length, 1.0)
        label = labels_of(rows, scaled, EXACT.same)
        first = np.flatnonzero(label == np.arange(len(label)))
        samples = int(np.prod(shape, dtype=int))
        counts = np.bincount(rows[first], minlength=samples)
        own = np.zeros(len(label), dtype=np.intp)
        own[first] = np.arange(len(first)) - (np.cumsum(counts) - counts)[rows[first]]
        group = np.full(len(flat), -1, dtype=np.intp)
        group[there] = own[label]
        distinct = table_of(rows[first], T.reshape(-1, 4, 4)[there[first]], samples)
        return FoundPoses(
            read_only(distinct.reshape(*shape, *distinct.shape[1:])),
            group.reshape(*shape, most),
            counts.reshape(shape).astype(np.intp),
        )
