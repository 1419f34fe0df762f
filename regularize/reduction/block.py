"""A biconnected block of a mechanism and its reduced constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Coordinates, Point, Space, read_only
from regularize.lie.subalgebra import decide_rank, lie_closure
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.cycles import MANY_LOOPS, Cycle, minimum_cycle_basis, summed_cycles
from regularize.mechanism.graph import CouplingRow, DisjointSets, EdgeId, Graph, NodeId
from regularize.reduction.context import Context, portion
from regularize.reduction.cuts import Cut, ReducedLoops, best_cut, kept_rows, without_rows
from regularize.reduction.mobility import CellMobility, loop_equations, singular_values

if TYPE_CHECKING:
    from regularize.reduction.descent import Lowest
    from regularize.reduction.generic_rank import GenericRank
    from regularize.reduction.propagation import Propagation
    from regularize.reduction.virtual_joints import VirtualJointConstraint

#: The numbers are off; the mechanism is shaky; its rank is another one at the assembled pose.
Ungrouped: TypeAlias = Literal["noise", "undecided", "shaky", "singular"]


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """A biconnected block with its reduced constraints."""

    edges: tuple[EdgeId, ...]  # its edges
    center: Point  # centre of its joints at the assembled pose, world coordinates, shape (3,)
    length: float  # its size in metres
    #: Screws of every edge about the centre, lengths scaled, shape (6, f) each.
    screws: dict[EdgeId, Space]
    cycles: tuple[Cycle, ...]  # short independent loops
    #: Tolerance at which the motion spaces were computed; 0 where nothing was removed because the
    #: loops are open or the certificate failed.
    rtol: float
    cuts: tuple[Cut, ...] = ()  # one per independent loop
    order: tuple[EdgeId, ...] = ()  # edges of the cuts in the order in which loops were closed
    rank: int = 0  # rank of its closure equations at generic configurations
    dimension: int = 0  # rows kept plus freedoms of the cuts, before thinning
    locked: tuple[EdgeId, ...] = ()  # edges that can never move
    #: Equations beyond the dimension of each short loop's own motion algebra, see
    #: ``classification``.
    trivial: int = 0
    topological: int = 0  # redundancy between loops that their graph has for unrelated axes too
    #: Rank of the graph for unrelated axes, where that was asked.
    generic: GenericRank | None = None
    #: Redundancy that mechanisms of the same finite mobility with other lengths and the same
    #: relations of the axes have too, and their number; 0 where none was made.
    related: int = 0
    lengths_tried: int = 0
    #: Joints whose axes are parallel by design, several groups, where all that is left is related.
    parallel: tuple[tuple[str, ...], ...] = ()
    #: Loops that are taken for parallelograms, which must not go flat.
    parallelograms: tuple[tuple[EdgeId, ...], ...] = ()
    held: tuple[VirtualJointConstraint, ...] = ()  # bodies held in a group by rows of their own
    #: The block without these rows, all rows of cuts kept that it needs then.
    alone: Block | None = None
    #: Where rows are needed that were to be removed on numerical evidence, and are kept.
    needed_at: Lowest | None = None
    #: Why it was not tried to explain rows that are left over by groups of motions, where there are
    #: legs or parallelograms that might.
    ungrouped: Ungrouped | None = None

    @cached_property
    def constraints(self) -> int:
        """Number of constraint rows of the cuts before the reduction."""
        return sum(cut.constraints for cut in self.cuts)

    @property
    def rows(self) -> tuple[CouplingRow, ...]:
        """Linear relations of joint velocities that hold bodies in groups of motions."""
        return tuple(row for held in self.held for row in held.rows)

    @cached_property
    def kept(self) -> int:
        """Number of rows kept, those that hold bodies in groups included."""
        return sum(cut.kept for cut in self.cuts) + len(self.rows)

    @cached_property
    def surplus(self) -> int:
        """Number of redundant rows among those kept."""
        return self.kept + sum(cut.edge.freedoms for cut in self.cuts) - self.rank

    @cached_property
    def unproved(self) -> int:
        """Number of redundant rows without a proof, kept or not; 0 where nothing was derived."""
        rows = self.surplus + sum(cut.numerical.shape[1] for cut in self.cuts)
        return int(rows) if self.proved else 0

    @property
    def proved(self) -> bool:
        """Whether a reduction was derived and certified."""
        return self.rtol > 0.0


def reduce_part(
    context: Context,
    block: Sequence[EdgeId],
    tolerance: float,
    enough: int | None = None,
    *,
    still: frozenset[EdgeId] = frozenset(),
    parallelograms: Set[frozenset[EdgeId]] = frozenset(),
) -> Block:
    """Reduce one block until dimensions meet ``enough``; zero tolerance keeps every constraint."""
    center, length = context.frame(block)
    cycles = tuple(minimum_cycle_basis(context.graph, block))
    screws = context.scaled_screws(block, center, length)
    part = Block(tuple(block), center, length, screws, cycles, tolerance)
    if len(part.cycles) == 1 and tolerance:
        return _of_one_loop(context, part)
    return _of_several_loops(context, part, enough, still, parallelograms)


def _of_one_loop(context: Context, part: Block) -> Block:
    """Reduce a block that is a single loop, by the best cut of Müller (2014), section 6."""
    (cycle,) = part.cycles
    screws = [part.screws[e] for e in cycle.edges]
    allowed = [e for e in cycle.edges if context.prescribed is None or e in context.prescribed]
    cuts = [cycle.edges.index(e) for e in sorted(allowed, key=context.preference)]
    joint, end, space = best_cut(screws, cuts, part.rtol)
    e, node = cycle.edges[joint], cycle.nodes[(joint + end) % cycle.length]
    algebra = lie_closure(np.hstack(screws), context.rtol)
    cut, locked = cut_at(context, part, e, node, cycle, space), _locked(context, part)
    counts = {"dimension": space.shape[1], "trivial": 6 - algebra.shape[1]}
    return replace(part, cuts=(cut,), order=(e,), locked=locked, **counts)


def _of_several_loops(
    context: Context,
    part: Block,
    enough: int | None,
    still: frozenset[EdgeId],
    parallelograms: Set[frozenset[EdgeId]],
) -> Block:
    """Reduce a block of several loops, closed one after another."""
    from regularize.reduction import classification, closed_part  # where there are several loops

    graph, rtol = context.graph, context.rtol
    basis, trivial = classification.smallest_loops(graph, part.cycles, part.screws, rtol)
    closed = closed_part.close_part(
        closed_part.open_loops(graph, part.screws, part.rtol, parallelograms),
        part.edges,
        basis,
        context.preference,
        enough=enough,
        cuts=None if context.prescribed is None else context.prescribed & set(part.edges),
        still=still,
        rng=context.rng(),
        progress=portion(context.progress, 0.0, 0.4),
    )
    part = replace(part, cycles=tuple(basis), trivial=trivial)
    locked = _locked(context, part, closed.propagation) if part.rtol else ()
    cuts = [
        cut_at(context, part, c.edge, c.node, c.cycle, closed.spaces.basis(c.space))
        for c in closed.closings
    ]
    return replace(
        part,
        cuts=tuple(sorted(cuts, key=lambda c: c.edge.index)),
        order=tuple(closing.edge for closing in closed.closings),
        dimension=closed.dimension,
        locked=locked,
        topological=classification.topological_redundancy(
            graph, locked, basis, part.screws, rtol, context.rng()
        ),
        parallelograms=closed.parallelograms,
    )


def _locked(
    context: Context, part: Block, propagation: Propagation | None = None
) -> tuple[EdgeId, ...]:
    """Return the joints that the loops lock; none where every joint has a velocity at the pose."""
    cycles, few = part.cycles, len(part.cycles) <= MANY_LOOPS
    resting = _resting(context, part) if few else frozenset(part.edges)
    if not resting:
        return ()
    if propagation is None:
        from regularize.reduction.closed_part import open_loops  # where a joint may be locked

        propagation = open_loops(context.graph, part.screws, part.rtol)()
    if few:  # a joint may be held by a loop that is the sum of others
        cycles = tuple(summed_cycles(context.graph, cycles, cycles))
        for cycle in cycles:
            propagation.close(cycle)
    locked = propagation.lock(cycles)
    # Small differences of noise lock none.
    return tuple(sorted(locked & (resting if few or not locked else _resting(context, part))))


def _resting(context: Context, part: Block) -> frozenset[EdgeId]:
    """Return the joints that have no velocity at the assembled pose."""
    _, s, vt = np.linalg.svd(loop_equations(context.graph, part.cycles, part.screws))
    free = vt[int(np.sum(s > context.rtol * s.max(initial=0.0))) :]
    still = np.linalg.norm(free, axis=0) < np.sqrt(context.rtol)
    ends = np.cumsum([screws.shape[1] for screws in part.screws.values()])[:-1]
    rates = zip(part.screws, np.split(still, ends), strict=True)
    return frozenset(e for e, columns in rates if len(columns) and columns.all())


def cut_at(
    context: Context, part: Block, e: EdgeId, node: NodeId, cycle: Cycle, space: Space
) -> Cut:
    """Return the cut at joint e by its scaled space Δ, which is constant in the node's frame."""
    edge, freedoms = context.graph.edges[e], subalgebra.span(part.screws[e])
    if freedoms.shape[1] != edge.freedoms:
        raise ModelError(f"joint {edge.name!r}: its freedoms are not independent")
    rows = kept_rows(space, freedoms)
    removed = subalgebra.complement(np.hstack([rows, freedoms]))
    T_node_frame = screw.inverse(context.T_world_node(node)) @ screw.transform(None, part.center)
    arrays = map(read_only, (freedoms, rows, removed))
    return Cut(edge, cycle, node, read_only(T_node_frame), part.length, *arrays)


def with_rank(context: Context, part: Block, mobility: CellMobility) -> Block:
    """Return the block with its rank at the configurations that walks of its component visited."""
    graph, cut_edges = context.graph, {c.edge.index for c in part.cuts}
    columns, columns_of_block = graph.columns(mobility.edges), graph.columns(sorted(part.edges))
    if len(columns_of_block) == mobility.freedoms and 6 * len(cut_edges) == mobility.equations:
        return replace(part, rank=mobility.generic.rank)
    q = mobility.configurations[:, [columns.index(column) for column in columns_of_block]]
    loops = sized_loops(graph, q[0], part.edges, [e for e in part.edges if e not in cut_edges])
    values = singular_values(loops, q, part.cycles, couplings=False)
    rank = max(decide_rank(s, context.rtol).rank for s in values)
    return replace(part, rank=rank)


def with_rigid_joints(context: Context, part: Block) -> Block:
    """Return the block with all joints locked, where its equations leave no velocity at all."""
    # A rank equal to the number of freedoms makes the assembled configuration an isolated one.
    freedoms = sum(context.graph.edges[e].freedoms for e in part.edges)
    if not part.proved or part.rank < freedoms or len(part.locked) == len(part.edges):
        return part
    from regularize.reduction.classification import topological_redundancy  # few are rigid

    topological = topological_redundancy(
        context.graph, part.edges, part.cycles, part.screws, context.rtol, context.rng()
    )
    movable = tuple(e for e in part.edges if context.graph.edges[e].freedoms)
    return replace(part, locked=movable, topological=topological)


def searched(context: Context, part: Block) -> Block:
    """Return the block with loops closed in the order of fewest surplus rows, locked ones first."""
    if part.dimension == part.rank or len(part.cycles) == 1 or context.prescribed is not None:
        return part

    def closed_again(enough: int, **how: Any) -> Block:
        better = reduce_part(context, part.edges, part.rtol, enough, **how)
        return replace(better, rank=part.rank)

    def surplus(candidate: Block) -> int:
        return thinned(context, with_rigid_joints(context, candidate)).surplus

    usual = min(part, closed_again(part.rank), key=lambda candidate: candidate.dimension)
    enough = part.rank + part.topological
    if not part.locked or usual.dimension <= enough:
        return usual
    rigid = [e for e in part.edges if not context.graph.edges[e].freedoms]
    locked = closed_again(enough, still=frozenset([*part.locked, *rigid]))
    return min(usual, locked, key=surplus)


def thinned(context: Context, part: Block) -> Block:
    """Return the block without rows, of loops that lock themselves, that depend on the others."""
    # Such rows form a constant matrix: as many independent ones as coordinates lock for ever.
    for chosen in _self_locking(context, part):
        kept = sum(cut.kept + cut.edge.freedoms for cut in part.cuts)
        count = kept - part.rank - part.topological
        if count > 0:
            loops, cuts = context.loops(part.edges, part.cuts)
            q = context.assembly.q[loops.columns]
            cuts = without_rows(cuts, loops, q, chosen, count, "thinned", context.rtol)
            part = replace(part, cuts=tuple(cuts))
    return part


def _self_locking(context: Context, part: Block) -> Iterator[list[int]]:
    """Yield sets of cuts whose rows act on locked joints alone, and hold all coordinates."""
    edges = context.graph.edges
    if not part.locked and all(edges[e].freedoms for e in part.edges):
        return
    loops, cuts = context.loops(part.edges, part.cuts)
    movable = np.ones(loops.freedoms, dtype=bool)
    movable[[column for e in part.locked for column in loops.local(e)]] = False
    passed = loops.incidence != 0.0
    still = [i for i in range(len(cuts)) if not (passed[i] & movable).any()]
    together = DisjointSets(still)
    for column in passed[still].T:
        together.union(*np.array(still)[column])
    state = loops.state(context.assembly.q[loops.columns])
    rows = ReducedLoops(loops, cuts).residual_jacobian(state)[0] * loops.units
    owner = np.repeat(np.arange(len(cuts)), [cut.kept + cut.edge.freedoms for cut in cuts])
    for chosen in map(sorted, together.groups()):
        columns = passed[chosen].any(axis=0)
        closed = rows[: len(owner)][np.isin(owner, chosen)][:, columns]
        values = np.linalg.svd(closed, compute_uv=False)
        if decide_rank(values, context.rtol).rank == int(columns.sum()):
            yield chosen


@dataclass(frozen=True, eq=False)
class Descents:
    """Searches for places where the kept rows of a component lose rank; run when asked for."""

    graph: Graph
    q: Coordinates  # assembled, of the whole mechanism
    parts: tuple[Block, ...]
    mobility: CellMobility

    def firm(self, rtol: float) -> bool:
        """Return whether kept rows have the rank of all equations wherever searches lead."""
        cuts = [cut for part in self.parts for cut in part.cuts]
        # What rests on evidence alone is measured by what was asked for.
        if any(cut.numerical.size for cut in cuts):
            return True
        # The kept rows and freedoms of a cut that closes a loop alone are a basis of the space of
        # all twists that the loop can have: whatever the loop holds, these rows hold.
        alone = all(len(part.cycles) == 1 and not part.held for part in self.parts)
        if alone and not any(cut.thinned.size for cut in cuts):
            return True
        return self.lowest is None or self.lowest.ratio > rtol

    @cached_property
    def lowest(self) -> Lowest | None:
        """Where kept rows are nearest to losing rank; None if none went, none move, or too many."""
        from regularize.reduction.descent import THOROUGH, Descent, Effort  # where rows went

        mobility = self.mobility
        cuts = [cut for part in self.parts for cut in part.cuts]
        removed = any(part.kept < part.constraints or part.held for part in self.parts)
        moving = mobility.finite != 0 and mobility.generic.rank
        if not removed or not moving or len(cuts) > MANY_LOOPS:
            return None
        coupled = self.graph.coupled_by([row for part in self.parts for row in part.rows])
        flat = [loop for part in self.parts for loop in part.parallelograms]
        descent = Descent(self.graph, coupled, self.q, mobility, cuts, flat)
        # Large matrices are decomposed at fewer places.
        stride = -(-len(mobility.configurations) * len(cuts) // 200)
        starts = mobility.configurations[::-stride]
        numerical = any(cut.numerical.size for cut in cuts)
        place = descent.lowest(starts, THOROUGH if numerical else Effort())
        if not numerical and place is not None and place.missing:
            place = descent.lowest(starts, THOROUGH)
        if place is None:
            return None
        q = np.array(self.q)
        q[self.graph.columns(mobility.edges)] = place.q
        return replace(place, q=read_only(q))
