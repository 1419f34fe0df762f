"""A biconnected part of a mechanism and its reduced constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.screw import Array
from regularize.manifold.extent import sized_loops
from regularize.model.connections import DisjointSets
from regularize.model.cycles import Cycle, minimum_cycle_basis
from regularize.model.graph import EdgeId
from regularize.reduction.classification import loop_algebra, topological_redundancy
from regularize.reduction.closing import close_part
from regularize.reduction.cuts import (
    Cut,
    Kind,
    ReducedLoops,
    cut_of,
    without_rows,
)
from regularize.reduction.facts import Closing
from regularize.reduction.mobility import CellMobility, singular_values
from regularize.reduction.motion_spaces import MotionSpaces
from regularize.reduction.rank import decide_rank
from regularize.reduction.setting import Setting, portion

if TYPE_CHECKING:
    from regularize.reduction.descent import Lowest
    from regularize.reduction.held import Held

#: The numbers are off; the mechanism is shaky; its rank is another one at the assembled pose.
Ungrouped: TypeAlias = Literal["noise", "undecided", "shaky", "singular"]


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """A biconnected part with its reduced constraints.

    Attributes:
        edges: Its edges.
        center: Centre of its joints at the assembled pose, world coordinates, shape (3,).
        length: Its size in metres.
        screws: Screws of every edge about the centre, lengths scaled, shape (6, f) each.
        cycles: Short independent loops.
        cuts: One per independent loop.
        order: Edges of the cuts in the order in which their loops were closed.
        rank: Rank of its closure equations at generic configurations.
        dimension: Rows kept plus freedoms of the cuts, before thinning.
        locked: Edges that can never move.
        trivial: Equations beyond the dimension of each short loop's own motion algebra.
        topological: Redundancy between loops that other lengths do not change.
        rtol: Tolerance at which the motion spaces were computed; 0 where nothing was removed
            because the loops are open or the certificate failed.
        lengths_tried: Number of mechanisms with other lengths and the same relations of the axes
            that were counted to tell topological from paradoxical; 0 where none was.
        parallel: Joints whose axes are parallel by design, several groups, where these relations
            were kept in that test and all that is left over is topological.
        parallelograms: Loops that are taken for parallelograms, which must not go flat.
        held: Bodies held in a group by rows of their own.
        alone: The part without these rows, all rows of cuts kept that it needs then.
        needed_at: Where rows are needed that were to be removed on numerical evidence, and are
            kept.
        ungrouped: Why it was not tried to explain rows that are left over by groups of motions,
            where there are legs or parallelograms that might.
    """

    edges: tuple[EdgeId, ...]
    center: Array
    length: float
    screws: dict[EdgeId, Array]
    cycles: tuple[Cycle, ...]
    cuts: tuple[Cut, ...]
    order: tuple[EdgeId, ...]
    rank: int
    dimension: int
    locked: tuple[EdgeId, ...]
    trivial: int
    topological: int
    rtol: float
    lengths_tried: int = 0
    parallel: tuple[tuple[str, ...], ...] = ()
    parallelograms: tuple[tuple[EdgeId, ...], ...] = ()
    held: tuple[Held, ...] = ()
    alone: Part | None = None
    needed_at: Lowest | None = None
    ungrouped: Ungrouped | None = None

    @property
    def constraints(self) -> int:
        """Constraint rows of the unreduced cuts."""
        return sum(cut.constraints for cut in self.cuts)

    @property
    def kept(self) -> int:
        """Rows kept, with those that hold bodies in groups."""
        return sum(cut.kept for cut in self.cuts) + sum(len(held.rows) for held in self.held)

    @property
    def surplus(self) -> int:
        """Redundant rows that are still among those kept."""
        return self.kept + sum(cut.edge.freedoms for cut in self.cuts) - self.rank

    @property
    def proved(self) -> bool:
        """Whether a reduction was derived and certified."""
        return self.rtol > 0.0

    def cell_of(self, cells: Iterable[CellMobility]) -> CellMobility:
        """The one of all cells that it belongs to."""
        return next(cell for cell in cells if self.edges[0] in cell.edges)


def reduce_part(
    setting: Setting,
    block: Sequence[EdgeId],
    tolerance: float,
    enough: int | None = None,
    *,
    lock: bool = False,
    parallelograms: Set[frozenset[EdgeId]] = frozenset(),
) -> Part:
    """Reduce one biconnected part.

    Args:
        setting: The assembled mechanism and the options.
        block: Edges of the part.
        tolerance: Tolerance of the motion spaces; zero keeps every constraint.
        enough: Stop searching orders when the dimensions add up to this; None takes the first.
        lock: Whether joints that closed loops lock are rigid for the loops that follow.
        parallelograms: Loops of four hinges that are taken for parallelograms.
    """
    graph, rtol = setting.graph, setting.rtol
    center, length = setting.frame(block)
    screws = setting.scaled_screws(block, center, length)
    basis = minimum_cycle_basis(graph, block)
    spaces = MotionSpaces(tolerance or rtol)
    numbers = {
        e: spaces.number(subalgebra.span(s)) if tolerance else MotionSpaces.FULL
        for e, s in screws.items()
    }
    closed = close_part(
        graph,
        block,
        basis,
        spaces,
        numbers,
        setting.preference,
        enough=enough,
        cuts=None if setting.prescribed is None else setting.prescribed & set(block),
        lock=lock,
        parallelograms=parallelograms,
        rng=setting.rng(),
        progress=portion(setting.progress, 0.0, 0.4),
    )
    locked = sorted(closed.propagation.lock(basis)) if tolerance else []
    part = Part(
        edges=tuple(block),
        center=center,
        length=length,
        screws=screws,
        cycles=tuple(basis),
        cuts=(),
        order=tuple(closing.edge for closing in closed.closings),
        rank=0,
        dimension=closed.dimension,
        locked=tuple(locked),
        trivial=sum(6 - loop_algebra(screws, c, rtol).dimension for c in basis),
        topological=topological_redundancy(graph, locked, basis, screws, rtol, setting.rng()),
        rtol=tolerance,
        parallelograms=closed.parallelograms,
    )
    cuts = [cut_at(setting, part, c, c.cycle, spaces.basis(c.space)) for c in closed.closings]
    return replace(part, cuts=tuple(sorted(cuts, key=lambda c: c.edge.index)))


def cut_at(setting: Setting, part: Part, closing: Closing, cycle: Cycle, space: Array) -> Cut:
    """The cut of a loop that is closed so, with its rows.

    Args:
        setting: The assembled mechanism and the options.
        part: The part.
        closing: How the loop is closed.
        cycle: The loop in the mechanism's own joints.
        space: Basis of the space that the cut sees, shape (6, d).
    """
    return cut_of(
        setting.graph.edges[closing.edge],
        cycle,
        closing.node,
        space,
        part.screws[closing.edge],
        T_world_node=setting.T_world_node(closing.node),
        center=part.center,
        length=part.length,
    )


def with_rank(setting: Setting, part: Part, mobility: CellMobility) -> Part:
    """The part with the rank of its own loop equations at the configurations of its cell."""
    graph = setting.graph
    cut = {c.edge.index for c in part.cuts}
    columns, own = graph.columns(mobility.edges), graph.columns(sorted(part.edges))
    if len(own) == mobility.freedoms and 6 * len(cut) == mobility.equations:
        return replace(part, rank=mobility.generic.rank)
    q = mobility.configurations[:, [columns.index(column) for column in own]]
    loops = sized_loops(graph, q[0], part.edges, [e for e in part.edges if e not in cut])
    values = singular_values(loops, q, part.cycles, couplings=False)
    rank = max(decide_rank(s, setting.rtol).rank for s in values)
    return replace(part, rank=rank)


def with_rigid_joints(setting: Setting, part: Part) -> Part:
    """The part with all its joints locked, where its equations leave no velocity at all.

    A rank equal to the number of freedoms makes the assembled configuration an isolated one, so no
    joint can ever move.
    """
    freedoms = sum(setting.graph.edges[e].freedoms for e in part.edges)
    if not part.proved or part.rank < freedoms or len(part.locked) == len(part.edges):
        return part
    topological = topological_redundancy(
        setting.graph, part.edges, part.cycles, part.screws, setting.rtol, setting.rng()
    )
    movable = tuple(e for e in part.edges if setting.graph.edges[e].freedoms)
    return replace(part, locked=movable, topological=topological)


def searched(setting: Setting, part: Part, mobility: CellMobility) -> Part:
    """The part reduced in a better order, where rows are left over and there are orders.

    Locked joints are made rigid for the loops that follow, but where all that is left is
    topological redundancy, which is reported as such.
    """
    if part.dimension == part.rank or len(part.cycles) == 1 or setting.prescribed is not None:
        return part
    lock = bool(part.locked) and part.dimension > part.rank + part.topological
    better = reduce_part(setting, part.edges, part.rtol, part.rank, lock=lock)
    return part if better.dimension >= part.dimension else with_rank(setting, better, mobility)


def thinned(setting: Setting, part: Part) -> Part:
    """The part without dependent rows of loops that lock themselves.

    Where all joints of some loops are locked, their rows on these joints form a constant matrix.
    If it has as many independent rows as there are coordinates, that many of them keep locking the
    joints for ever, without the help of any loop that moves. Topological redundancy is left to be
    reported as such.
    """
    for chosen in _self_locking(setting, part):
        kept = sum(cut.kept + cut.edge.freedoms for cut in part.cuts)
        count = kept - part.rank - part.topological
        if count > 0:
            part = _without(setting, part, chosen, count, "thinned", setting.assembly.q)
    return part


def _self_locking(setting: Setting, part: Part) -> Iterator[list[int]]:
    """Sets of cuts whose rows see locked joints alone, and hold every coordinate of these."""
    edges = setting.graph.edges
    if not part.locked and all(edges[e].freedoms for e in part.edges):
        return
    loops, cuts = setting.loops(part.edges, part.cuts)
    movable = np.ones(loops.freedoms, dtype=bool)
    movable[[column for e in part.locked for column in loops.local(e)]] = False
    seen = loops.incidence != 0.0
    still = [i for i in range(len(cuts)) if not (seen[i] & movable).any()]
    together = DisjointSets(still)
    for column in seen[still].T:
        together.union(*np.array(still)[column])
    state = loops.state(setting.assembly.q[loops.columns])
    rows = ReducedLoops(loops, cuts).residual_jacobian(state)[0] * loops.units
    owner = np.repeat(np.arange(len(cuts)), [cut.kept + cut.edge.freedoms for cut in cuts])
    for chosen in map(sorted, together.groups()):
        columns = seen[chosen].any(axis=0)
        own = rows[: len(owner)][np.isin(owner, chosen)][:, columns]
        values = np.linalg.svd(own, compute_uv=False)
        if decide_rank(values, setting.rtol).rank == int(columns.sum()):
            yield chosen


def _without(
    setting: Setting, part: Part, chosen: Sequence[int], count: int, kind: Kind, q: Array
) -> Part:
    loops, cuts = setting.loops(part.edges, part.cuts)
    reduced = without_rows(cuts, loops, q[loops.columns], chosen, count, kind, setting.rtol)
    return replace(part, cuts=tuple(reduced))
