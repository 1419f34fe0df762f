"""A biconnected block with all its loops closed, in an order that keeps few rows.

The number of rows kept depends on the order and on the cuts. Orders are tried until the number of
rows meets the rank found at generic configurations, or until the tries are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Array
from regularize.mechanism.cycles import (
    Cycle,
    candidate_cycles,
    independent,
    summed_cycles,
    walk,
)
from regularize.mechanism.graph import EdgeId, Graph, loop_count, nodes_of, spanning_tree
from regularize.reduction.closing import Closing, best_cut
from regularize.reduction.motion_spaces import MotionSpaces
from regularize.reduction.propagation import Fact, Propagation

#: Orders tried beyond the first two, and the largest part for which that is done.
TRIES = 12
#: Loops of which all orders are tried.
FEW = 6
LARGEST_SEARCH = 80

#: Sort key of a cut among those that keep equally few rows; smaller is better.
Preference: TypeAlias = Callable[[EdgeId], tuple[int, ...]]


class ClosedPart:
    """A biconnected block with all its loops closed.

    Attributes:
        closings: One per independent loop, in the order in which they were closed.
        propagation: The relative motions that remain.
        dimension: Sum of the dimensions of the spaces that the cuts see.
    """

    def __init__(self, closings: Sequence[Closing], propagation: Propagation) -> None:
        """Add up the dimensions."""
        self.closings, self.propagation = tuple(closings), propagation
        self.dimension = sum(propagation.spaces.dimension(c.space) for c in closings)

    @property
    def spaces(self) -> MotionSpaces:
        """The store of subspaces."""
        return self.propagation.spaces

    @property
    def parallelograms(self) -> tuple[tuple[EdgeId, ...], ...]:
        """Loops that the closings take for parallelograms."""
        found: set[tuple[EdgeId, ...]] = set()
        known: set[Fact] = set()
        todo = [fact for c in self.closings for pair in c.of for fact in pair if fact is not None]
        while todo:
            fact = todo.pop()
            if fact not in known:
                known.add(fact)
                todo += fact.of
                found |= {fact.loop} if fact.loop else set()
        return tuple(sorted(found))


def open_loops(
    graph: Graph,
    screws: Mapping[EdgeId, Array],
    tolerance: float,
    parallelograms: Set[frozenset[EdgeId]] = frozenset(),
) -> Callable[[], Propagation]:
    """What makes propagations with no joint in place, all with one store of subspaces.

    Args:
        graph: The mechanism's graph.
        screws: Scaled screws by edge, shape (6, f) each.
        tolerance: Tolerance of the motion spaces; zero takes every joint for free.
        parallelograms: Loops of four hinges that are taken for parallelograms.
    """
    spaces = MotionSpaces(tolerance)
    freedoms = {
        e: spaces.number(subalgebra.span(own)) if tolerance else MotionSpaces.FULL
        for e, own in screws.items()
    }
    return lambda: Propagation(graph, spaces, freedoms, parallelograms=parallelograms)


def close_part(
    nothing_closed: Callable[[], Propagation],
    block: Sequence[EdgeId],
    basis: Sequence[Cycle],
    preference: Preference,
    *,
    enough: int | None,
    cuts: frozenset[EdgeId] | None = None,
    still: frozenset[EdgeId] = frozenset(),
    rng: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> ClosedPart:
    """Close all loops of a biconnected block with as few rows as the search finds.

    Args:
        nothing_closed: Makes what is known with no joint in place; from ``open_loops``.
        block: Edges of the block.
        basis: Its short independent loops.
        preference: Sort key of a cut among those that keep equally few rows; smaller is better.
        enough: Sum of dimensions that must not be undercut: the rank at generic configurations,
            or more. None takes the first order, that of the shortest loops.
        cuts: Edges that have to be the cuts, or None to choose freely.
        still: Joints that cannot move. Their own loops are closed first, and what closed loops lock
            is rigid for the loops that follow.
        rng: Source of the random orders.
        progress: Called with the fraction of the loops that are closed.
    """
    if cuts is not None:
        return close_at(nothing_closed(), block, cuts)
    best: ClosedPart | None = None
    graph = nothing_closed().graph
    for cycles, greedy in orders(graph, block, basis, rng):
        found = close_in_order(
            nothing_closed(),
            cycles,
            preference,
            greedy=greedy,
            still=still,
            below=None if best is None else best.dimension,
            progress=progress,
        )
        if found is not None and (enough is None or found.dimension >= enough):
            best = found
        if best is not None and (enough is None or best.dimension == enough):
            break
        if cycles is basis and len(block) <= LARGEST_SEARCH:
            known = _candidates(graph, block, basis)[1]
            if enough is not None and len(known) <= FEW:
                best = close_in_any_order(nothing_closed, known, preference, best, enough, still)
                break
    if best is None:
        # No order of short cycles closes one loop at a time: cut at a spanning tree instead.
        tree = spanning_tree(graph, list(block))
        best = close_at(nothing_closed(), block, frozenset(block) - set(tree))
    return best


def orders(
    graph: Graph, block: Sequence[EdgeId], basis: Sequence[Cycle], rng: np.random.Generator
) -> Iterator[tuple[Sequence[Cycle], bool]]:
    """Lists of independent cycles, and whether to take the cheapest of them first."""
    count, before = loop_count(graph, block), {tuple(basis)}
    yield basis, False
    if count == 1 or len(block) > LARGEST_SEARCH:
        return
    candidates, sums = _candidates(graph, block, basis)
    for known in (candidates, sums) if len(sums) > len(candidates) else (candidates,):
        yield known, True
        for _ in range(TRIES):
            order = independent([known[i] for i in rng.permutation(len(known))], count)
            if tuple(order) not in before:
                before.add(tuple(order))
                yield order, False


def _candidates(
    graph: Graph, block: Sequence[EdgeId], basis: Sequence[Cycle]
) -> tuple[list[Cycle], list[Cycle]]:
    """Short cycles that may be closed, and those with sums of two of the basis."""
    found = candidate_cycles(graph, block, 2 * max(c.length for c in basis))
    return found, summed_cycles(graph, basis, [*found, *basis])


def close_in_order(
    propagation: Propagation,
    cycles: Sequence[Cycle],
    preference: Preference,
    *,
    greedy: bool,
    still: frozenset[EdgeId] = frozenset(),
    below: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> ClosedPart | None:
    """Close the cycles one by one.

    None where at some point none closes exactly one loop, or the dimensions do not stay below.
    """
    closings: list[Closing] = []
    waiting = sorted(cycles, key=lambda cycle: not still.issuperset(cycle.edges))
    dimension = 0
    while below is None or dimension < below:
        done = next((i for i, c in enumerate(waiting) if propagation.missing(c)), len(waiting))
        del waiting[:done]
        ready = (c for c in waiting if propagation.missing(c) and propagation.closes_one_loop(c))
        choices = [
            best_cut(propagation, cycle, sorted(propagation.missing(cycle), key=preference))
            for cycle in (ready if greedy else islice(ready, 1))
        ]
        if not choices:
            return None if waiting else ClosedPart(closings, propagation)
        closing = min(
            choices,
            key=lambda c: (
                not still.issuperset(c.cycle.edges),
                propagation.spaces.dimension(c.space),
                c.cycle.length,
            ),
        )
        closings.append(closing)
        dimension += propagation.spaces.dimension(closing.space)
        propagation.close(closing.cycle)
        if progress is not None:
            progress(len(closings) / (len(closings) + len(waiting)))
        if still:
            propagation.lock([c.cycle for c in closings])
    return None


def close_in_any_order(
    nothing_closed: Callable[[], Propagation],
    cycles: Sequence[Cycle],
    preference: Preference,
    best: ClosedPart | None,
    enough: int,
    still: Set[EdgeId],
) -> ClosedPart | None:
    """Close few cycles in the best of all orders: every set of them in the best of its own.

    The best one known, where none has a smaller dimension that is enough.
    """
    sets: dict[frozenset[Cycle], tuple[int, tuple[Closing, ...]]] = {frozenset(): (0, ())}
    while sets:
        larger: dict[frozenset[Cycle], tuple[int, tuple[Closing, ...]]] = {}
        for closed, (dimension, before) in sets.items():
            propagation = nothing_closed()
            for i, closing in enumerate(before):
                propagation.close(closing.cycle)
                if still:
                    propagation.lock([c.cycle for c in before[: i + 1]])
            waiting = [c for c in cycles if propagation.missing(c)]
            better = best is None or dimension < best.dimension
            if not waiting and dimension >= enough and better:
                best = ClosedPart(before, propagation)
            for cycle in filter(propagation.closes_one_loop, waiting):
                missing = sorted(propagation.missing(cycle), key=preference)
                closing = best_cut(propagation, cycle, missing)
                whole = dimension + propagation.spaces.dimension(closing.space)
                known = larger.get(closed | {cycle})
                if known is None or whole < known[0]:
                    larger[closed | {cycle}] = whole, (*before, closing)
        sets = larger
    return best


def close_at(
    propagation: Propagation,
    block: Sequence[EdgeId],
    cuts: Set[EdgeId],
    virtual: tuple[EdgeId, EdgeId] | None = None,
) -> ClosedPart:
    """Close the loops at prescribed cuts, the cheapest first.

    Args:
        propagation: Relative motions with no joint in place.
        block: Edges of the block.
        cuts: Edges that have to be the cuts.
        virtual: A joint that is in place from when the loop over it and another one is closed, and
            that cut: the first loop that passes over it.
    """
    import networkx as nx  # needed where cuts are prescribed

    graph, spaces = propagation.graph, propagation.spaces
    present: Any = nx.MultiGraph()
    present.add_nodes_from(nodes_of(graph, block))

    def put(e: EdgeId) -> None:
        present.add_edge(graph.edges[e].parent, graph.edges[e].child, key=e)

    for e in block:
        if e not in cuts and (virtual is None or e != virtual[0]):
            propagation.add_tree_edge(e)
            put(e)
    waiting = sorted(set(block) & cuts)
    closings: list[Closing] = []
    while waiting:
        choices = []
        for cut in waiting:
            ends = graph.edges[cut].parent, graph.edges[cut].child
            if virtual is not None and cut == virtual[1]:
                there = present.copy()
                there.add_edge(
                    graph.edges[virtual[0]].parent, graph.edges[virtual[0]].child, key=virtual[0]
                )
                choices.append(best_cut(propagation, loop_of(graph, there, cut), [cut]))
            elif virtual is None or nx.has_path(present, *ends):
                choices.append(best_cut(propagation, loop_of(graph, present, cut), [cut]))
        best = min(choices, key=lambda c: (spaces.dimension(c.space), c.cycle.length, c.edge))
        closings.append(best)
        propagation.close(best.cycle)
        put(best.edge)
        if virtual is not None and best.edge == virtual[1]:
            put(virtual[0])
        waiting.remove(best.edge)
    return ClosedPart(closings, propagation)


def loops_of(
    graph: Graph, edges: Iterable[EdgeId], cuts: Collection[EdgeId]
) -> dict[EdgeId, Cycle]:
    """The loop that each cut closes over joints that are not cut: what its rows act on."""
    import networkx as nx

    tree: Any = nx.MultiGraph()
    for edge in (graph.edges[e] for e in edges if e not in cuts):
        tree.add_edge(edge.parent, edge.child, key=edge.index)
    return {e: loop_of(graph, tree, e) for e in cuts}


def loop_of(graph: Graph, present: Any, cut: EdgeId) -> Cycle:
    """A shortest loop through the cut and joints that are in place."""
    import networkx as nx

    edge = graph.edges[cut]
    path = nx.shortest_path(present, edge.parent, edge.child)
    joints = [min(present[a][b]) for a, b in pairwise(path)]
    return walk(graph, [cut, *joints])
