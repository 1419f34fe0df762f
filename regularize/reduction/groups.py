"""Parts whose bodies move in groups although no leg confines them: found and held by rows.

The theorem stands in ``virtual_joints``. The candidates are pairs of bodies that several legs join,
with the algebra of their relative velocities at the pose, and parallelograms before them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Space
from regularize.lie.subalgebra import decide_rank
from regularize.mechanism.cycles import candidate_cycles, minimum_cycle_basis
from regularize.mechanism.graph import DisjointSets, EdgeId, Graph, NodeId, breadth_first, nodes_of
from regularize.reduction.block import Block, Ungrouped, cut_at, reduce_part
from regularize.reduction.closed_part import (
    ClosedPart,
    close_at,
    close_in_order,
    loops_of,
    open_loops,
    orders,
    shortest_loop,
)
from regularize.reduction.context import Context
from regularize.reduction.cuts import ReducedLoops
from regularize.reduction.mobility import CellMobility, loop_equations, singular_values
from regularize.reduction.propagation import MotionSpaces
from regularize.tolerances import EXACT

if TYPE_CHECKING:
    from regularize.reduction.virtual_joints import VirtualJointConstraint

#: Two bodies and the algebra of the group in which one shall move against the other.
Wanted: TypeAlias = tuple[NodeId, NodeId, Space]


def grouped(context: Context, part: Block, mobility: CellMobility) -> Block:
    """Return the block with fewer rows where bodies of it are proved to move in groups."""
    if part.dimension == part.rank or not part.proved or not context.groups:
        return part
    reason: Ungrouped | None = None
    if context.tolerances.closed > EXACT.same:
        reason = "noise"  # bars that are equal but for noise go flat in ways of their own
    elif mobility.finite is None:
        reason = "undecided"
    elif mobility.finite != mobility.actual:
        reason = "shaky"
    elif _rank_here(context, part) != part.rank:
        reason = "singular"
    loops = _parallelograms(context.graph, part)
    if reason is not None:
        # Which groups there might be noise does not tell.
        legs = _pairs(context.graph, part)
        recognised = reason in ("shaky", "singular")
        possible = [*_candidates(context.graph, part)] if recognised else legs
        return replace(part, ungrouped=reason) if loops or possible else part
    if loops:
        better = reduce_part(context, part.edges, part.rtol, part.rank, parallelograms=loops)
        part = replace(better, rank=part.rank) if better.dimension < part.dimension else part
    return _held(context, part, loops) if part.dimension > part.rank else part


def _rank_here(context: Context, part: Block) -> int:
    """Return the rank of the block's own loop equations at the assembled pose."""
    loops, _ = context.loops(part.edges, part.cuts)
    q = context.assembly.q[None, loops.columns]
    values = singular_values(loops, q, part.cycles, couplings=False)[0]
    return decide_rank(values, context.rtol).rank


def _parallelograms(graph: Graph, part: Block) -> frozenset[frozenset[EdgeId]]:
    """Return loops of four hinges with parallel bars that do not lie flat."""
    spaces = MotionSpaces(part.rtol)
    hinges = [e for e in part.edges if part.screws[e].shape[1] == 1]
    numbers = {e: spaces.number(subalgebra.span(part.screws[e])) for e in hinges}
    return frozenset(
        frozenset(cycle.edges)
        for cycle in candidate_cycles(graph, part.edges, 4)
        if set(cycle.edges) <= set(hinges)
        and spaces.parallelogram([numbers[e] for e in cycle.edges]) is not None
    )


def _held(context: Context, part: Block, loops: frozenset[frozenset[EdgeId]]) -> Block:
    """Return the block with rows for the first virtual joints that leave nothing redundant."""
    candidates = list(_candidates(context.graph, part))
    for wanted in [*([one] for one in candidates), *([candidates] if candidates[1:] else [])]:
        for closed, held in _closed(context, part, wanted, loops):
            better = _without_virtual_joints(context, part, closed, held)
            if _full(context, better):
                return better
    return part


def _candidates(graph: Graph, part: Block) -> Iterator[Wanted]:
    """Yield pairs of bodies that three chains join, with their relative motion algebras."""
    pairs = _pairs(graph, part)
    twists = _twists(graph, part) if pairs else {}
    for i, j in pairs:
        algebra = subalgebra.lie_closure(subalgebra.span(twists[j] - twists[i], part.rtol))
        if 0 < algebra.shape[1] < 6:
            yield i, j, algebra


def _pairs(graph: Graph, part: Block, most: int = 6) -> list[tuple[NodeId, NodeId]]:
    """Return a few pairs of bodies that three chains join at least, first those with the most."""
    ends = [(graph.edges[e].parent, graph.edges[e].child) for e in part.edges]
    degree = Counter(chain.from_iterable(ends))
    legs = {}
    for pair in combinations([n for n in nodes_of(graph, part.edges) if degree[n] > 2], 2):
        chains = DisjointSets[NodeId](degree.keys() - {*pair})
        for one, other in ends:
            if not {one, other} & {*pair}:
                chains.union(one, other)
        legs[pair] = len(chains.groups()) + sum({*pair} == {*both} for both in ends)
    return sorted((pair for pair in legs if legs[pair] > 2), key=lambda pair: -legs[pair])[:most]


def _twists(graph: Graph, part: Block) -> dict[NodeId, Space]:
    """Return the twists (6, k) of each body at the k velocities that the loops allow."""
    columns = {e: own / np.linalg.norm(own, axis=0) for e, own in part.screws.items()}
    _, s, vt = np.linalg.svd(loop_equations(graph, part.cycles, columns))
    rates = vt[int(np.sum(s > part.rtol * s[0])) :].T
    ends = np.cumsum([own.shape[1] for own in columns.values()])[:-1]
    rate = dict(zip(columns, np.split(rates, ends), strict=True))
    root = graph.edges[part.edges[0]].parent
    twists = {root: np.zeros((6, rates.shape[1]))}
    for e, node in breadth_first(graph, root, part.edges):
        edge = graph.edges[e]
        sign = 1.0 if node == edge.child else -1.0
        twists[node] = twists[edge.other(node)] + sign * columns[e] @ rate[e]
    return twists


def _closed(
    context: Context,
    part: Block,
    wanted: Sequence[Wanted],
    loops: frozenset[frozenset[EdgeId]],
    tries: int = 6,
) -> Iterator[tuple[ClosedPart, list[VirtualJointConstraint]]]:
    """Yield closings of the block with virtual joints that leave no redundancy, and their rows."""
    from regularize.reduction import virtual_joints  # few mechanisms have such

    graph, virtual = virtual_joints.with_virtual_joints(context.graph, wanted)
    screws = part.screws | {v.index: v.screws for v in virtual}
    nothing_closed = open_loops(graph, screws, part.rtol, loops)
    joined = {v.index for v in virtual}
    enough = part.rank + sum(v.freedoms for v in virtual)

    def preference(e: EdgeId) -> tuple[int, ...]:
        return (1,) if e in joined else (0, *context.preference(e))

    block = [*part.edges, *joined]

    def ways() -> Iterator[ClosedPart | None]:
        if context.prescribed is None:
            basis = minimum_cycle_basis(graph, block)
            for cycles in islice(orders(graph, block, basis, context.rng()), tries):
                yield close_in_order(nothing_closed(), cycles, preference)
        elif len(virtual) == 1:
            cuts = context.prescribed & set(block)
            tree = [e for e in part.edges if e not in cuts]
            way = shortest_loop(graph, virtual[0].index, tree)
            for e in way.edges if way is not None else ():
                if e not in joined:
                    yield close_at(nothing_closed(), block, cuts | {e}, (virtual[0].index, e))

    for closed in ways():
        if closed is None or closed.dimension != enough:
            continue
        more = screws, context.assembly.q, sorted(joined)
        held = [virtual_joints.constraint_of(graph, closed, v, *more) for v in virtual]
        every = [h for h in held if h is not None]
        if len(every) == len(virtual):
            yield closed, every


def _without_virtual_joints(
    context: Context, part: Block, closed: ClosedPart, held: Sequence[VirtualJointConstraint]
) -> Block:
    """Return the block without virtual joints, held by rows on its own joints instead."""
    spaces, joints = closed.spaces, {h.edge.index for h in held}
    first = [next(c for c in closed.closings if e in c.cycle.edges) for e in joints]
    closings = [c for c in closed.closings if c not in first]
    over_joints = loops_of(context.graph, part.edges, [c.edge for c in closings])
    cuts = []
    for c in closings:
        cycle = over_joints[c.edge] if joints & set(c.cycle.edges) else c.cycle
        cuts.append(cut_at(context, part, c.edge, c.node, cycle, spaces.basis(c.space)))
    return replace(
        part,
        cuts=tuple(sorted(cuts, key=lambda c: c.edge.index)),
        order=tuple(c.edge for c in closings),
        dimension=sum(spaces.dimension(c.space) for c in closings) + sum(len(h.rows) for h in held),
        parallelograms=closed.parallelograms,
        held=tuple(held),
        alone=part,
    )


def _full(context: Context, part: Block) -> bool:
    """Return whether the rows are as many as the rank, and independent at the pose."""
    graph = replace(context.graph, couplings=part.rows)
    loops, cuts = replace(context, graph=graph).loops(part.edges, part.cuts)
    state = loops.state(context.assembly.q[loops.columns])
    rows = ReducedLoops(loops, cuts).residual_jacobian(state)[0] * loops.units
    values = np.linalg.svd(rows, compute_uv=False)
    return len(rows) == part.rank == decide_rank(values, context.rtol).rank
