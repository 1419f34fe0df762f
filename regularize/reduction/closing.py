"""In which order to close the loops of a biconnected part, and where to cut them.

The number of rows kept depends on both. Orders are tried until the number of rows meets the rank
found at generic configurations, or until the tries are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np

from regularize.model.cycles import (
    Cycle,
    candidate_cycles,
    independent,
    summed_cycles,
    walk,
)
from regularize.model.graph import (
    EdgeId,
    Graph,
    loop_count,
    nodes_of,
    spanning_tree,
)
from regularize.reduction.motion_spaces import MotionSpaces, SpaceId
from regularize.reduction.propagation import Closing, Propagation

#: Orders tried beyond the first two, and the largest part for which that is done.
TRIES = 12
LARGEST_SEARCH = 80

Preference = Callable[[EdgeId], tuple[int, ...]]


class ClosedPart:
    """A biconnected part with all its loops closed.

    Attributes:
        closings: One per independent loop, in the order in which they were closed.
        propagation: The relative motions that remain.
        dimension: Sum of the dimensions of the spaces that the cuts see.
    """

    def __init__(self, closings: Sequence[Closing], propagation: Propagation) -> None:
        """Add up the dimensions."""
        self.closings, self.propagation = tuple(closings), propagation
        self.dimension = sum(propagation.spaces.dimension(c.space) for c in closings)


def close_part(
    graph: Graph,
    block: Sequence[EdgeId],
    basis: Sequence[Cycle],
    spaces: MotionSpaces,
    freedoms: dict[EdgeId, SpaceId],
    preference: Preference,
    *,
    enough: int | None,
    cuts: frozenset[EdgeId] | None = None,
    lock: bool = False,
    rng: np.random.Generator,
) -> ClosedPart:
    """Close all loops of a biconnected part with as few rows as the search finds.

    Args:
        graph: The mechanism's graph.
        block: Edges of the part.
        basis: Its short independent loops.
        spaces: Store of subspaces.
        freedoms: Number of the screw space of each edge.
        preference: Sort key of a cut among those that keep equally few rows; smaller is better.
        enough: Sum of dimensions that cannot be undercut: the rank at generic configurations.
            None takes the first order, that of the shortest loops.
        cuts: Edges that have to be the cuts, or None to choose freely.
        lock: Whether joints that closed loops lock are rigid for the loops that follow.
        rng: Source of the random orders.
    """
    if cuts is not None:
        return _close_at(graph, block, spaces, freedoms, cuts)
    best: ClosedPart | None = None
    for cycles, greedy in _orders(graph, block, basis, rng):
        part = _close_in_order(
            Propagation(graph, spaces, freedoms), cycles, preference, greedy=greedy, lock=lock
        )
        if part is not None and (best is None or part.dimension < best.dimension):
            best = part
        if best is not None and (enough is None or best.dimension <= enough):
            break
    if best is None:
        # No order of short cycles closes one loop at a time: cut at a spanning tree instead.
        tree = spanning_tree(graph, list(block))
        best = _close_at(graph, block, spaces, freedoms, frozenset(block) - set(tree))
    return best


def _orders(
    graph: Graph, block: Sequence[EdgeId], basis: Sequence[Cycle], rng: np.random.Generator
) -> Iterator[tuple[Sequence[Cycle], bool]]:
    """Lists of independent cycles, and whether to take the cheapest of them first."""
    count = loop_count(graph, block)
    yield basis, False
    if count == 1 or len(block) > LARGEST_SEARCH:
        return
    candidates = candidate_cycles(graph, block, 2 * max(c.length for c in basis))
    sums = summed_cycles(graph, basis, candidates)
    for known in (candidates, sums) if len(sums) > len(candidates) else (candidates,):
        yield known, True
        for _ in range(TRIES):
            order = [known[i] for i in rng.permutation(len(known))]
            yield independent(order, count), False


def _close_in_order(
    propagation: Propagation,
    cycles: Sequence[Cycle],
    preference: Preference,
    *,
    greedy: bool,
    lock: bool,
) -> ClosedPart | None:
    """Close the cycles one by one; None where at some point none closes exactly one loop."""
    closings: list[Closing] = []
    waiting = list(cycles)
    while True:
        done = next((i for i, c in enumerate(waiting) if propagation.missing(c)), len(waiting))
        del waiting[:done]
        ready = (c for c in waiting if propagation.missing(c) and propagation.closes_one_loop(c))
        choices = [
            propagation.best_cut(cycle, sorted(propagation.missing(cycle), key=preference))
            for cycle in (ready if greedy else islice(ready, 1))
        ]
        if not choices:
            return None if waiting else ClosedPart(closings, propagation)
        closing = min(
            choices, key=lambda c: (propagation.spaces.dimension(c.space), c.cycle.length)
        )
        closings.append(closing)
        propagation.close(closing.cycle)
        if lock:
            propagation.lock([c.cycle for c in closings])


def _close_at(
    graph: Graph,
    block: Sequence[EdgeId],
    spaces: MotionSpaces,
    freedoms: dict[EdgeId, SpaceId],
    cuts: frozenset[EdgeId],
) -> ClosedPart:
    """Close the loops at prescribed cuts, the cheapest first."""
    import networkx as nx  # needed where cuts are prescribed

    propagation = Propagation(graph, spaces, freedoms)
    present: Any = nx.MultiGraph()
    present.add_nodes_from(nodes_of(graph, block))
    for e in block:
        if e not in cuts:
            propagation.add_tree_edge(e)
            present.add_edge(graph.edges[e].parent, graph.edges[e].child, key=e)
    waiting = sorted(set(block) & cuts)
    closings: list[Closing] = []
    while waiting:
        choices = [propagation.best_cut(_loop_of(graph, present, cut), [cut]) for cut in waiting]
        best = min(choices, key=lambda c: (spaces.dimension(c.space), c.cycle.length, c.edge))
        closings.append(best)
        propagation.close(best.cycle)
        present.add_edge(graph.edges[best.edge].parent, graph.edges[best.edge].child, key=best.edge)
        waiting.remove(best.edge)
    return ClosedPart(closings, propagation)


def _loop_of(graph: Graph, present: Any, cut: EdgeId) -> Cycle:
    """A shortest loop through the cut and joints that are in place."""
    import networkx as nx

    edge = graph.edges[cut]
    path = nx.shortest_path(present, edge.parent, edge.child)
    joints = [min(present[a][b]) for a, b in pairwise(path)]
    return walk(graph, [cut, *joints])
