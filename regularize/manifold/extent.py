"""Where a mechanism is and how large: what lengths are divided by, and twists are taken about."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics, State
from regularize.model.graph import EdgeId, Graph


def center_and_length(
    loops: LoopKinematics, q: Array | State, edges: Iterable[EdgeId] | None = None
) -> tuple[Array, float]:
    """Centre of the joint frames and their largest distance from it (1 m where they coincide).

    Args:
        loops: Kinematics of the edges.
        q: Where they are: their coordinates, shape (n,), or the state at these.
        edges: Those that count; by default all.
    """
    poses = q.T_world_node[0] if isinstance(q, State) else loops.node_poses(q)
    found = [loops.graph.edges[e] for e in (loops.edges if edges is None else edges)]
    rows = [loops.row(e.parent) for e in found]
    points = (poses[rows] @ np.array([e.T_parent for e in found]))[:, :3, 3]
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    length = float(np.max(np.linalg.norm(points - center, axis=1)))
    rounding = 1e-12 * float(np.max(np.abs(points)))  # points that differ by no more coincide
    return center, length if length > rounding else 1.0


def sized_loops(
    graph: Graph,
    q: Array,
    edges: Iterable[EdgeId] | None = None,
    tree: Iterable[EdgeId] | None = None,
    *,
    length: float | None = None,
) -> LoopKinematics:
    """Kinematics whose lengths are divided by the size of the edges, twists about their centre.

    Args:
        graph: The mechanism's graph.
        q: Where the size is taken: coordinates of all joints or of the edges alone, shape (n,).
        edges: The edges that take part; by default all.
        tree: Those that form the spanning tree; by default the graph's own.
        length: Length to divide by in place of the size, in metres.
    """
    every = tuple(graph.every_edge if edges is None else edges)
    loops = _loops(graph, every, graph.tree if tree is None else tuple(tree))
    center, size = center_and_length(loops, q if len(q) == loops.freedoms else q[loops.columns])
    return loops.measured(size if length is None else length, center)


@lru_cache(maxsize=4)  # one analysis asks for the same ones again and again
def _loops(graph: Graph, edges: tuple[EdgeId, ...], tree: Collection[EdgeId]) -> LoopKinematics:
    return LoopKinematics(graph, edges, tree)
