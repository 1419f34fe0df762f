"""Motions of all joints of some loops by their coordinates, vectorised over configurations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import Edge, EdgeId
from regularize.model.loop_tree import LoopTree


class JointMotions:
    """The motions of all edges of some loops, vectorised over configurations.

    Args:
        loops: The loops; their coordinates, in order, are those of every configuration.
    """

    def __init__(self, loops: LoopTree) -> None:
        """Sort the edges by how they move."""
        self._edges = loops.edges
        edges = [loops.graph.edges[index] for index in loops.edges]
        self._singles = [
            (edge.index, column, edge.screws[:, k])
            for edge in edges
            if not edge.group
            for k, column in enumerate(loops.local(edge.index))
        ]
        self._groups = _by_freedoms(loops, [edge for edge in edges if edge.group])

    def factors(self, q: Array) -> dict[EdgeId, list[Array]]:
        """The exponentials of every edge, one per factor, each of shape (N, 4, 4)."""
        factors: dict[EdgeId, list[Array]] = {index: [] for index in self._edges}
        if self._singles:
            coordinates = q[:, [column for _, column, _ in self._singles]]
            twists = coordinates[..., None] * np.array([s for _, _, s in self._singles])
            exponentials = screw.exp(twists)
            for i, (index, _, _) in enumerate(self._singles):
                factors[index].append(exponentials[:, i])
        for columns, basis, indices in self._groups:
            exponentials = screw.exp(np.einsum("gij,ngj->ngi", basis, q[:, columns]))
            for i, index in enumerate(indices):
                factors[index] = [exponentials[:, i]]
        return factors

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configuration reached from q by a unit of time at constant joint velocity, (N, n)."""
        result = q + velocity
        for columns, basis, _ in self._groups:
            start, step = (
                screw.exp(np.einsum("gij,ngj->ngi", basis, values[:, columns]))
                for values in (q, velocity)
            )
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, screw.log(start @ step))
        return result

    def difference(self, start: Array, end: Array) -> Array:
        """Constant joint velocity that leads from one configuration to another in a unit of time.

        Args:
            start: Configurations, shape (N, n).
            end: Others, shape (N, n).
        """
        result = end - start
        for columns, basis, _ in self._groups:
            before, after = (
                screw.exp(np.einsum("gij,ngj->ngi", basis, values[:, columns]))
                for values in (start, end)
            )
            twists = screw.log(screw.inverse(before) @ after)
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, twists)
        return result


def _by_freedoms(
    loops: LoopTree, edges: list[Edge]
) -> list[tuple[NDArray[np.intp], Array, list[EdgeId]]]:
    """Group edges by number of freedoms: coordinates (G, f), screws (G, 6, f), edges (G,)."""
    sizes: dict[int, list[Edge]] = {}
    for edge in edges:
        sizes.setdefault(edge.freedoms, []).append(edge)
    return [
        (
            np.array([loops.local(edge.index) for edge in alike], dtype=int),
            np.array([edge.screws for edge in alike]),
            [edge.index for edge in alike],
        )
        for alike in sizes.values()
    ]


def product(motions: Iterable[Array]) -> Array:
    """The motions one after the other; none of them is the identity of shape (4, 4)."""
    total = np.eye(4)
    for motion in motions:
        total = total @ motion
    return total
