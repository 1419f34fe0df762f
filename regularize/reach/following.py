"""Configurations over a grid of inputs, followed from the stored one from point to point.

Each point that is reached leads on to its neighbours, so that all is found that can be reached
along the lines of the grid without passing a singularity.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.continuation import Continuation
from regularize.manifold.driving import drive
from regularize.manifold.extent import sized_loops
from regularize.manifold.projection import project
from regularize.model.graph import Graph


def followed(graph: Graph, columns: Sequence[int], x: Array, shape: tuple[int, ...]) -> Array:
    """Configurations at all points of a grid, NaN where none is reached, shape (N, n).

    Args:
        graph: The mechanism's graph.
        columns: Columns of the inputs.
        x: Inputs at the points, the last axis of the grid running fastest, shape (N, inputs).
        shape: Points along each axis; their product is N.
    """
    loops = sized_loops(graph, graph.position)
    start = project(loops, graph.position[None], steps=30).q
    along, units = Continuation(loops), loops.units[list(columns)]
    q = np.full((len(x), loops.freedoms), np.nan)
    nearest = int(np.argmin(np.max(np.abs((x - start[:, columns]) / units), axis=1)))
    first = drive(along, start, columns, x[[nearest]])
    if not first.reached[0]:
        return q
    q[nearest] = first.q[0]
    front = np.array([nearest])
    while len(front):
        places = np.array(np.unravel_index(front, shape))
        pairs = []
        for axis, size in enumerate(shape):
            for way in (-1, 1):
                there = places.copy()
                there[axis] += way
                inside = (there[axis] >= 0) & (there[axis] < size)
                goal = np.ravel_multi_index(tuple(there[:, inside]), shape)
                pairs.append(np.stack([front[inside], goal]))
        origin, goal = np.concatenate(pairs, axis=1)
        fresh = ~np.isfinite(q[goal, 0])
        origin, goal = origin[fresh], goal[fresh]
        arrived = drive(along, q[origin], columns, x[goal])
        reached, which = np.unique(goal[arrived.reached], return_index=True)
        q[reached] = arrived.q[arrived.reached][which]
        front = reached
    return q
