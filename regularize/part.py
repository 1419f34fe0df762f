"""A biconnected part of a mechanism and its reduced constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regularize import subalgebra
from regularize.assembly import Assembly, center_and_length, center_and_radius
from regularize.classification import loop_algebra, topological_redundancy
from regularize.closing import close_part
from regularize.cycles import Cycle, minimum_cycle_basis
from regularize.kinematics import LoopKinematics, State
from regularize.mobility import CellMobility, decide_rank, singular_values
from regularize.motion_spaces import MotionSpaces
from regularize.reduction import Cut, Kind, cut_of, without_rows
from regularize.screw import Array
from regularize.topology import Graph, spanning_tree


@dataclass(frozen=True, eq=False)
class Setting:
    """What the reduction of every part starts from.

    Attributes:
        graph: The mechanism's graph.
        assembly: The assembled configuration.
        prescribed: Edges that have to be cuts, or None to choose freely.
        rtol: Tolerance of ranks and geometric relations.
        length_scale: Size in metres to divide lengths by, or None for each part's own.
        seed: Seed of all random choices.
    """

    graph: Graph
    assembly: Assembly
    prescribed: frozenset[int] | None
    rtol: float
    length_scale: float | None
    seed: int

    @cached_property
    def whole(self) -> LoopKinematics:
        """Kinematics of the whole mechanism."""
        edges = range(len(self.graph.edges))
        return LoopKinematics(self.graph, edges, spanning_tree(self.graph))

    @cached_property
    def reference(self) -> State:
        """State at the assembled configuration, world frame."""
        return self.whole.state(self.assembly.q)

    def rng(self) -> np.random.Generator:
        """A fresh generator: every part sees the same random numbers whatever came before."""
        return np.random.default_rng(self.seed)

    def frame(self, edges: Sequence[int]) -> tuple[Array, float]:
        """Centre and size of some joints at the assembled pose, world coordinates."""
        points = []
        for e in edges:
            edge = self.graph.edges[e]
            points.append((self.T_world_node(edge.parent) @ edge.T_parent)[:3, 3])
        center, length = center_and_radius(np.array(points))
        return center, self.length_scale or length

    def T_world_node(self, node: int) -> Array:
        """Assembled pose of a node, shape (4, 4)."""
        return self.reference.T_world_node[0, self.whole.row(node)]

    def scaled_screws(self, e: int, center: Array, length: float) -> Array:
        """World screws of an edge at the assembled pose, about the centre, shape (6, f)."""
        screws = self.reference.screws[0, self.whole.local(e)]
        linear = screws[:, :3] + np.cross(screws[:, 3:], center)
        return np.concatenate([linear / length, screws[:, 3:]], axis=1).T

    def loops(
        self, edges: Sequence[int], parts: Sequence[Part]
    ) -> tuple[LoopKinematics, list[Cut]]:
        """Kinematics of some edges cut at the cuts of parts, and the cuts in its order."""
        cuts = {c.edge.index: c for part in parts for c in part.cuts}
        loops = LoopKinematics(self.graph, edges, [e for e in edges if e not in cuts])
        loops.center, loops.length = center_and_length(loops, self.assembly.q[loops.columns])
        loops.length = self.length_scale or loops.length
        return loops, [cuts[chord] for chord in loops.chords]

    def preference(self, e: int) -> tuple[int, ...]:
        """Sort key of a cut among those that keep equally few rows.

        Uncoupled and passive joints first, whole joints, those that leave no massless end, those
        with more freedoms, the file's own closures, the last ones of the file.
        """
        edge = self.graph.edges[e]
        massless_end = any(
            len(self.graph.adjacency[n]) == 2 and not self.graph.inertia_known(n)
            for n in (edge.parent, edge.child)
            if n != self.graph.ground
        )
        coupled = any(set(c.columns) & set(edge.columns) for c in self.graph.couplings)
        return (
            int(coupled),
            int(bool(edge.joint.actuated)),
            int(edge.split),
            int(massless_end),
            -edge.freedoms,
            int(not edge.joint.closure),
            -e,
        )


@dataclass(frozen=True, eq=False)
class Part:
    """A biconnected part with its reduced constraints.

    Attributes:
        edges: Its edges.
        center: Centre of its joints at the assembled pose, world coordinates, shape (3,).
        length: Its size in metres.
        screws: Screws of every edge about the centre, lengths scaled, shape (6, f) each.
        cycles: Short independent loops.
        cuts: One per independent loop.
        rank: Rank of its closure equations at generic configurations.
        dimension: Rows kept plus freedoms of the cuts, before thinning.
        locked: Edges that can never move.
        trivial: Equations beyond the dimension of each short loop's own motion algebra.
        topological: Redundancy between locked loops that holds for any lengths.
        rtol: Tolerance at which the motion spaces were computed; 0 where nothing was removed
            because the loops are open or the certificate failed.
    """

    edges: tuple[int, ...]
    center: Array
    length: float
    screws: dict[int, Array]
    cycles: tuple[Cycle, ...]
    cuts: tuple[Cut, ...]
    rank: int
    dimension: int
    locked: tuple[int, ...]
    trivial: int
    topological: int
    rtol: float

    @property
    def proved(self) -> bool:
        """Whether a reduction was derived and certified."""
        return self.rtol > 0.0


def reduce_part(
    setting: Setting, block: Sequence[int], tolerance: float, enough: int | None = None
) -> Part:
    """Reduce one biconnected part.

    Args:
        setting: The assembled mechanism and the options.
        block: Edges of the part.
        tolerance: Tolerance of the motion spaces; zero keeps every constraint.
        enough: Stop searching orders when the dimensions add up to this; None takes the first.
    """
    graph, rtol = setting.graph, setting.rtol
    center, length = setting.frame(block)
    screws = {e: setting.scaled_screws(e, center, length) for e in block}
    spaces = MotionSpaces(tolerance or rtol)
    numbers = {
        e: spaces.number(subalgebra.span(s)) if tolerance else MotionSpaces.FULL
        for e, s in screws.items()
    }
    closed = close_part(
        graph,
        block,
        spaces,
        numbers,
        setting.preference,
        enough=enough,
        cuts=None if setting.prescribed is None else setting.prescribed & set(block),
        rng=setting.rng(),
    )
    cuts = [
        cut_of(
            graph.edges[c.edge],
            c.cycle,
            c.node,
            spaces.basis(c.space),
            screws[c.edge],
            T_world_node=setting.T_world_node(c.node),
            center=center,
            length=length,
        )
        for c in closed.closings
    ]
    basis = minimum_cycle_basis(graph, block)
    locked = sorted(closed.propagation.lock(basis)) if tolerance else []
    return Part(
        edges=tuple(block),
        center=center,
        length=length,
        screws=screws,
        cycles=tuple(basis),
        cuts=tuple(sorted(cuts, key=lambda c: c.edge.index)),
        rank=0,
        dimension=closed.dimension,
        locked=tuple(locked),
        trivial=sum(6 - loop_algebra(screws, c, rtol).shape[1] for c in basis),
        topological=topological_redundancy(graph, locked, basis, screws, rtol, setting.rng()),
        rtol=tolerance,
    )


def with_rank(setting: Setting, part: Part, mobility: CellMobility) -> Part:
    """The part with the rank of its own loop equations at the configurations of its cell."""
    graph = setting.graph
    cut = {c.edge.index for c in part.cuts}
    loops = LoopKinematics(graph, part.edges, [e for e in part.edges if e not in cut])
    if loops.freedoms == mobility.freedoms and 6 * len(loops.chords) == mobility.equations:
        return replace(part, rank=mobility.generic.rank)
    columns = graph.columns(mobility.edges)
    own = [columns.index(int(c)) for c in loops.columns]
    q = mobility.configurations[:, own]
    loops.center, loops.length = center_and_length(loops, q[0])
    rank = max(decide_rank(s, setting.rtol).rank for s in singular_values(loops, q, part.cycles))
    return replace(part, rank=rank)


def searched(setting: Setting, part: Part, mobility: CellMobility) -> Part:
    """The part reduced in a better order, where rows are left over and there are orders."""
    if part.dimension == part.rank or len(part.cycles) == 1 or setting.prescribed is not None:
        return part
    better = reduce_part(setting, part.edges, part.rtol, part.rank)
    return part if better.dimension >= part.dimension else with_rank(setting, better, mobility)


def thinned(setting: Setting, part: Part) -> Part:
    """The part without dependent rows of loops in which every joint is locked.

    Such a loop never changes, so the rank at the pose is its rank for ever, and a full set of
    independent rows keeps locking it. Topological redundancy is left to be reported as such.
    """
    locked = set(part.locked)
    chosen = [i for i, cut in enumerate(part.cuts) if set(cut.cycle.edges) <= locked]
    count = part.dimension - part.rank - part.topological
    if not chosen or count <= 0:
        return part
    return _without(setting, part, chosen, count, "thinned", setting.assembly.q)


def numerically_reduced(setting: Setting, part: Part, mobility: CellMobility) -> Part:
    """The part without rows that depend on the others at a configuration far along the walk."""
    kept = sum(cut.kept + cut.edge.freedoms for cut in part.cuts)
    if kept <= part.rank:
        return part
    q = np.array(setting.assembly.q)
    q[setting.graph.columns(mobility.edges)] = mobility.configurations[-1]
    everywhere = range(len(part.cuts))
    return _without(setting, part, everywhere, kept - part.rank, "numerical", q)


def _without(
    setting: Setting, part: Part, chosen: Sequence[int], count: int, kind: Kind, q: Array
) -> Part:
    loops, cuts = setting.loops(part.edges, [part])
    reduced = without_rows(cuts, loops, q[loops.columns], chosen, count, kind)
    return replace(part, cuts=tuple(reduced))
