"""The loops of a biconnected block, closed one after another in an order that keeps few rows.

The number of rows kept depends on the order and on the cuts. Orders are tried until the number of
rows meets the rank found at generic configurations, or until the tries are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Screw
from regularize.mechanism.cycles import Cycle, candidate_cycles, independent, summed_cycles, walk
from regularize.mechanism.graph import (
    EdgeId,
    Graph,
    NodeId,
    breadth_first,
    loop_count,
    spanning_tree,
)
from regularize.reduction.propagation import Fact, MotionSpaces, Propagation, SpaceId

#: Orders tried beyond the first two, and the largest part for which that is done.
TRIES = 12
#: Loops of which all orders are tried.
FEW = 6
LARGEST_SEARCH = 80

#: Sort key of a cut among those that keep equally few rows; smaller is better.
Preference: TypeAlias = Callable[[EdgeId], tuple[int, ...]]


@dataclass(frozen=True)
class Closing:
    """The cut that closes one loop, and the relative twists that the open loop allows there."""

    edge: EdgeId  # the cut
    node: NodeId  # body in whose frame the space does not move; one of the cut's two
    space: SpaceId  # number of the space Δ of relative twists that the cut can see
    cycle: Cycle  # the loop
    #: Facts that make the space smaller, seen from the node and from the far body, relative to one
    #: body of the loop each; None where that is the body itself.
    of: tuple[tuple[Fact | None, Fact | None], ...]


class ClosedPart:
    """A biconnected block with all its loops closed, in the order of the closings."""

    def __init__(self, closings: Sequence[Closing], propagation: Propagation) -> None:
        self.closings, self.propagation = tuple(closings), propagation
        self.spaces = propagation.spaces
        self.dimension = sum(self.spaces.dimension(c.space) for c in closings)

    @property
    def parallelograms(self) -> tuple[tuple[EdgeId, ...], ...]:
        """Loops of four hinges that the spaces of the closings rest on as parallelograms."""
        loops, visited = set[tuple[EdgeId, ...]](), set[Fact]()
        todo = [fact for c in self.closings for pair in c.of for fact in pair if fact is not None]
        while todo:
            fact = todo.pop()
            if fact not in visited:
                visited.add(fact)
                todo += fact.of
                loops |= {fact.loop} if fact.loop else set()
        return tuple(sorted(loops))


def open_loops(
    graph: Graph,
    screws: Mapping[EdgeId, Screw],
    tolerance: float,
    parallelograms: Set[frozenset[EdgeId]] = frozenset(),
) -> Callable[[], Propagation]:
    """Return a factory of propagations with no joint in place, which share a store of subspaces."""
    spaces = MotionSpaces(tolerance)
    freedoms = {
        e: spaces.number(subalgebra.span(columns)) if tolerance else MotionSpaces.FULL
        for e, columns in screws.items()
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
    """Close all loops of a block with the fewest rows that are found, no fewer than ``enough``."""
    if cuts is not None:
        return close_at(nothing_closed(), block, cuts)
    best: ClosedPart | None = None
    graph = nothing_closed().graph
    for cycles in orders(graph, block, basis, rng):
        below = None if best is None else best.dimension
        closed = close_in_order(
            nothing_closed(), cycles, preference, still=still, below=below, progress=progress
        )
        if closed is not None and (enough is None or closed.dimension >= enough):
            best = closed
        if best is not None and (enough is None or best.dimension == enough):
            break
        if cycles is basis and len(block) <= LARGEST_SEARCH:
            candidates = _candidates(graph, block, basis)[1]
            if enough is not None and len(candidates) <= FEW:
                best = close_in_any_order(
                    nothing_closed, candidates, preference, best, enough, still
                )
                break
    if best is None:
        # No order of short cycles closes one loop at a time: cut at a spanning tree instead.
        tree = spanning_tree(graph, list(block))
        best = close_at(nothing_closed(), block, frozenset(block) - set(tree))
    return best


def orders(
    graph: Graph, block: Sequence[EdgeId], basis: Sequence[Cycle], rng: np.random.Generator
) -> Iterator[Sequence[Cycle]]:
    """Yield orders in which to close the cycles of a block, the basis first."""
    count, tried = loop_count(graph, block), {tuple(basis)}
    yield basis
    if count == 1 or len(block) > LARGEST_SEARCH:
        return
    candidates, sums = _candidates(graph, block, basis)
    for cycles in (candidates, sums) if len(sums) > len(candidates) else (candidates,):
        yield cycles
        for _ in range(TRIES):
            order = independent([cycles[i] for i in rng.permutation(len(cycles))], count)
            if tuple(order) not in tried:
                tried.add(tuple(order))
                yield order


def _candidates(
    graph: Graph, block: Sequence[EdgeId], basis: Sequence[Cycle]
) -> tuple[list[Cycle], list[Cycle]]:
    """Return short cycles that may be closed, and those with sums of two of the basis."""
    short = candidate_cycles(graph, block, 2 * max(c.length for c in basis))
    return short, summed_cycles(graph, basis, [*short, *basis])


def close_in_order(
    propagation: Propagation,
    cycles: Sequence[Cycle],
    preference: Preference,
    *,
    still: frozenset[EdgeId] = frozenset(),
    below: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> ClosedPart | None:
    """Close the cycles one by one; None where one closes no loop, or dimensions are too many."""
    closings: list[Closing] = []
    waiting = sorted(cycles, key=lambda cycle: not still.issuperset(cycle.edges))
    dimension = 0
    while below is None or dimension < below:
        waiting = [cycle for cycle in waiting if propagation.missing(cycle)]
        cycle = next(filter(propagation.closes_one_loop, waiting), None)
        if cycle is None:
            return None if waiting else ClosedPart(closings, propagation)
        cuts = sorted(propagation.missing(cycle), key=preference)
        closings.append(best_cut(propagation, cycle, cuts))
        dimension += propagation.spaces.dimension(closings[-1].space)
        propagation.close(cycle)
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
    """Close a few cycles in the best of all orders by dynamic programming, or return ``best``."""
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
                total = dimension + propagation.spaces.dimension(closing.space)
                rival = larger.get(closed | {cycle})
                if rival is None or total < rival[0]:
                    larger[closed | {cycle}] = total, (*before, closing)
        sets = larger
    return best


def close_at(
    propagation: Propagation,
    block: Sequence[EdgeId],
    cuts: Set[EdgeId],
    virtual: tuple[EdgeId, EdgeId] | None = None,
) -> ClosedPart:
    """Close a block's loops at prescribed cuts and virtual joints of these, shortest first."""
    graph, over = propagation.graph, dict([virtual[::-1]] if virtual else [])
    present = [e for e in block if e not in {*cuts, *over.values()}]
    for e in present:
        propagation.add_tree_edge(e)
    closings: list[Closing] = []
    waiting = sorted(set(block) & cuts)
    while waiting:
        # A virtual joint of the cut is in place while its loop is looked for.
        ways = {e: [*present, over[e]] if e in over else present for e in waiting}
        loops = ((e, shortest_loop(graph, e, ways[e])) for e in waiting)
        _, cut, cycle = min((loop.length, e, loop) for e, loop in loops if loop is not None)
        closings.append(best_cut(propagation, cycle, [cut]))
        propagation.close(cycle)
        present = [*ways[cut], cut]
        waiting.remove(cut)
    return ClosedPart(closings, propagation)


def loops_of(
    graph: Graph, edges: Iterable[EdgeId], cuts: Collection[EdgeId]
) -> dict[EdgeId, Cycle]:
    """Return the loop that each cut closes over joints that are not cut: its rows act on these."""
    tree = [e for e in edges if e not in cuts]
    loops = {e: shortest_loop(graph, e, tree) for e in cuts}
    return {e: loop for e, loop in loops.items() if loop is not None}


def shortest_loop(graph: Graph, cut: EdgeId, present: Iterable[EdgeId]) -> Cycle | None:
    """Return a shortest loop through the cut and joints that are in place, if there is any."""
    start, end = graph.edges[cut].child, graph.edges[cut].parent
    reached_by = {node: e for e, node in breadth_first(graph, start, present)}
    path, node = [cut], end
    while node != start:
        if node not in reached_by:
            return None
        path.append(reached_by[node])
        node = graph.edges[path[-1]].other(node)
    return walk(graph, path)


def best_cut(propagation: Propagation, cycle: Cycle, cuts: Sequence[EdgeId]) -> Closing:
    """Return the cut of an open loop that sees the smallest space; the first of several."""
    spaces = propagation.spaces
    reach = _Reach(propagation, cycle)
    # No space can be smaller than what the screws of joints span that nothing else holds.
    loose = MotionSpaces.ZERO
    for e in _loose(propagation, cycle):
        loose = spaces.add(loose, propagation.freedoms[e])
    least = spaces.dimension(loose)
    best: Closing | None = None
    for cut in cuts:
        for closing in closings(propagation, cycle, cut, reach, least):
            if best is None or (spaces.dimension(closing.space) < spaces.dimension(best.space)):
                best = closing
            if spaces.dimension(best.space) == least:
                return best
    if best is None:
        raise ValueError("a loop needs at least one joint to cut")
    return best


def _loose(propagation: Propagation, cycle: Cycle) -> Sequence[EdgeId]:
    """Return joints that only an open loop holds: all of it, or a row between free bodies."""
    if not propagation.closed & set(cycle.nodes):
        return cycle.edges
    missing = propagation.missing(cycle)
    # A node is left through the edge of the same place.
    ends = zip(cycle.nodes, cycle.edges, (cycle.edges[-1], *cycle.edges), strict=False)
    inner = [n for n, after, before in ends if {after, before} <= set(missing)]
    row = len(missing) - len(inner) == 1 and not any(map(propagation.known, inner))
    return missing if row else ()


def closings(
    propagation: Propagation,
    cycle: Cycle,
    cut: EdgeId,
    reach: _Reach | None = None,
    least: int = -1,
) -> Iterator[Closing]:
    """Yield an open loop's cut as seen from either of its bodies, with Δ as small as is asked."""
    reach = reach or _Reach(propagation, cycle)
    nodes = reach.nodes
    m, p = len(nodes), nodes.index(cycle.nodes[cycle.edges.index(cut)])

    def split(x: int) -> tuple[Fact | None, Fact | None]:
        """Return facts of body x and the near body, going forward, and the far one, going back."""
        return reach(x, 1, (p - x) % m), reach(x, -1, (x - p - 1) % m)

    yield _seen(propagation, cycle, cut, nodes[p], map(split, range(m)), least)
    from_far = (split(x)[::-1] for x in range(m))
    yield _seen(propagation, cycle, cut, nodes[(p + 1) % m], from_far, least)


def _seen(
    propagation: Propagation,
    cycle: Cycle,
    cut: EdgeId,
    node: NodeId,
    pairs: Iterable[tuple[Fact | None, ...]],
    least: int,
) -> Closing:
    """Return the closing with the space Δ of relative twists at a cut, in one body's frame."""
    spaces, Z = propagation.spaces, propagation.freedoms[cut]
    space, of = MotionSpaces.FULL, list[tuple[Fact | None, Fact | None]]()
    for near, far in pairs:
        P = MotionSpaces.ZERO if near is None else near.space
        Q = MotionSpaces.ZERO if far is None else far.space
        smaller = spaces.meet(space, spaces.add(spaces.add(P, spaces.saturate(Q, Z)), Z))
        if smaller != space:
            space = smaller
            of.append((near, far))
            if spaces.dimension(space) <= least:
                break
    return Closing(cut, node, space, cycle, tuple(of))


class _Reach:
    """Facts about the bodies met when walking around a cycle, found as they are asked for."""

    def __init__(self, propagation: Propagation, cycle: Cycle) -> None:
        self._propagation = propagation
        self.nodes, self._steps = propagation.steps(cycle)
        self._reached: dict[tuple[int, int], list[Fact | None]] = {}

    def __call__(self, start: int, direction: int, steps: int) -> Fact | None:
        """Return the fact of the body so many steps on and the start body; None for 0 steps."""
        m, nodes = len(self.nodes), self.nodes
        reached = self._reached.setdefault((start, direction), [None])
        while len(reached) <= steps:
            position = (start + direction * (len(reached) - 1)) % m
            step = self._steps[position if direction > 0 else position - 1]
            ends = (nodes[(position + direction) % m], nodes[start])
            reached.append(self._further(ends, reached[-1], step))
        return reached[steps]

    def _further(self, ends: tuple[NodeId, NodeId], before: Fact | None, step: Fact) -> Fact:
        """Return the fact of two end bodies from that of one joint less, and that joint's step."""
        propagation, spaces = self._propagation, self._propagation.spaces
        fact = propagation.fact(*ends)
        if before is None:
            walked = step
        else:
            space = spaces.add(spaces.saturate(before.space, step.space), step.space)
            walked = Fact(ends, space, "walk", (before, step))
        return walked if fact is None else propagation.both(walked, fact)
