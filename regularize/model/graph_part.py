"""The graph of some edges of another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from regularize.model.graph import ColumnId, EdgeId, Graph


def part_of(graph: Graph, edges: Iterable[EdgeId]) -> Graph | None:
    """The graph of some edges alone, numbered anew in the same order; nodes stay.

    None where a joint with several edges has some of them elsewhere.
    """
    chosen = [graph.edges[e] for e in sorted(edges)]
    names = {edge.joint.name for edge in chosen}
    joints = tuple(joint for joint in graph.mechanism.joints if joint.name in names)
    taken = graph.columns(edge.index for edge in chosen)
    column = {c: ColumnId(k) for k, c in enumerate(taken)}
    if len(column) != sum(joint.freedoms for joint in joints):
        return None
    kept = [row for row in graph.couplings if set(row.columns) <= set(column)]
    used = {row.name for row in kept}
    couplings = tuple(c for c in graph.mechanism.couplings if c.name in used)
    return replace(
        graph,
        mechanism=replace(graph.mechanism, joints=joints, couplings=couplings),
        edges=tuple(
            replace(edge, index=EdgeId(k), columns=tuple(column[c] for c in edge.columns))
            for k, edge in enumerate(chosen)
        ),
        freedoms=len(column),
        couplings=tuple(
            replace(row, columns=tuple(column[c] for c in row.columns)) for row in kept
        ),
        rigid_loops=(),
    )
