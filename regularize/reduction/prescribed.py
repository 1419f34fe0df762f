"""Cuts that are asked for: where the file closes its loops, or at joints that are named."""

from __future__ import annotations

from collections.abc import Sequence

from regularize.errors import ModelError
from regularize.model.graph import EdgeId, Graph, spanning_tree


def prescribed_cuts(
    graph: Graph, keep_cuts: bool, cuts: Sequence[str] | None
) -> frozenset[EdgeId] | None:
    """Edges that have to be cuts, or None where the choice is free.

    Args:
        graph: The mechanism's graph.
        keep_cuts: Cut where the file itself closes its loops.
        cuts: Names of the joints to cut instead; None: none are named.

    Raises:
        ModelError: ``cuts`` names a joint twice, an unknown one, or not one per loop.
    """
    if cuts is None:
        every = frozenset(graph.every_edge)
        return every - graph.tree if keep_cuts else None
    chosen = []
    for name in cuts:
        edges = [e.index for e in graph.edges if e.joint is graph.mechanism.joint(name)]
        chosen.append(edges[0])
    rest = spanning_tree(graph, [e for e in graph.every_edge if e not in set(chosen)])
    if len(rest) != len(graph.nodes) - 1 or len(set(chosen)) != graph.loops:
        raise ModelError(
            f"cutting {list(cuts)} does not open each of the {graph.loops} loops exactly once"
        )
    return frozenset(chosen)
