"""From a mechanism to its reduced constraints, with the mobility and the certificate.

The order of events: close what was saved open, take the rank at generic configurations, close the
loops in the order that keeps the fewest rows, check the result by walking on the kept rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regularize import subalgebra
from regularize.assembly import (
    CLOSED,
    Assembly,
    assemble,
    center_and_length,
    center_and_radius,
)
from regularize.classification import loop_algebra, topological_redundancy
from regularize.closing import close_part
from regularize.cycles import Cycle, minimum_cycle_basis
from regularize.errors import ModelError
from regularize.kinematics import LoopKinematics, State
from regularize.mechanism import Mechanism
from regularize.mobility import (
    CellMobility,
    cell_mobility,
    decide_rank,
    generic_configurations,
    singular_values,
)
from regularize.motion_spaces import MotionSpaces
from regularize.reduction import Cut, Kind, ReducedLoops, cut_of, without_rows
from regularize.screw import Array
from regularize.topology import Graph, build, spanning_tree
from regularize.walk import walk

CONFIGURATIONS = 50
#: Steps of each walker of the certificate.
STEPS = 2


@dataclass(frozen=True)
class Certificate:
    """Outcome of walking on the kept rows alone.

    Attributes:
        configurations: Number of configurations that were checked.
        worst: Largest closure error met, lengths scaled.
        holds: Whether every closure equation stayed fulfilled.
    """

    configurations: int
    worst: float
    holds: bool


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


@dataclass(frozen=True, eq=False)
class Reduction:
    """Reduced loop constraints of a mechanism.

    Attributes:
        graph: The mechanism's graph.
        assembly: The configuration at which everything was derived.
        cells: Mobility of each cell of loops.
        parts: Reduced constraints of each biconnected part.
        certificate: What walking on the kept rows found.
        rtol: Tolerance that was asked for.
        seed: Seed of all random choices.
        numerical: Whether rows were removed on numerical evidence as well.
    """

    graph: Graph
    assembly: Assembly
    cells: tuple[CellMobility, ...]
    parts: tuple[Part, ...]
    certificate: Certificate
    rtol: float
    seed: int
    numerical: bool

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that was reduced."""
        return self.graph.mechanism

    @property
    def q(self) -> Array:
        """Assembled reference coordinates, shape (n,)."""
        return self.assembly.q

    @cached_property
    def cuts(self) -> tuple[Cut, ...]:
        """All cuts, by edge."""
        return tuple(sorted((c for p in self.parts for c in p.cuts), key=lambda c: c.edge.index))

    @cached_property
    def tree(self) -> tuple[int, ...]:
        """Edges of the spanning tree that remains when the cuts are open."""
        cut = {c.edge.index for c in self.cuts}
        return tuple(e.index for e in self.graph.edges if e.index not in cut)

    @cached_property
    def loops(self) -> LoopKinematics:
        """Kinematics of the whole mechanism, cut at the cuts, in metres."""
        return LoopKinematics(self.graph, range(len(self.graph.edges)), self.tree)

    @cached_property
    def reference(self) -> State:
        """State at the assembled configuration, world frame."""
        return self.loops.state(self.q)

    @property
    def constraints(self) -> int:
        """Constraint rows at the cuts."""
        return sum(cut.constraints for cut in self.cuts)

    @property
    def kept(self) -> int:
        """Rows kept."""
        return sum(cut.kept for cut in self.cuts)

    @property
    def removed(self) -> int:
        """Rows removed."""
        return self.constraints - self.kept

    @property
    def freedoms(self) -> int:
        """Sum of all joint freedoms."""
        return self.graph.freedoms

    @property
    def equations(self) -> int:
        """Six per loop and one per coupling."""
        return 6 * self.graph.loops + len(self.graph.couplings)

    @property
    def rank(self) -> int:
        """Rank of all closure equations and couplings at generic configurations."""
        return sum(cell.generic.rank for cell in self.cells)

    @property
    def gruebler(self) -> int:
        """Freedoms minus equations."""
        return self.freedoms - self.equations

    @property
    def mobility(self) -> int:
        """Freedoms minus generic rank."""
        return self.freedoms - self.rank

    @property
    def finite_mobility(self) -> int:
        """Dimension of the set of configurations."""
        inside = sum(cell.freedoms for cell in self.cells)
        return self.freedoms - inside + sum(cell.finite for cell in self.cells)

    @property
    def redundant(self) -> int:
        """Equations that depend on the others at generic configurations."""
        return self.equations - self.rank

    @property
    def remaining(self) -> int:
        """Redundant rows that are still among the kept ones."""
        return self.redundant - self.removed


def reduce(
    mechanism: Mechanism | Graph,
    *,
    rtol: float = subalgebra.RTOL,
    length_scale: float | None = None,
    keep_cuts: bool = False,
    cuts: Sequence[str] | None = None,
    numerical: bool = False,
    configurations: int = CONFIGURATIONS,
    seed: int = 0,
) -> Reduction:
    """Find the loop constraints that can never matter and keep the others.

    Args:
        mechanism: The mechanism, or its graph.
        rtol: Tolerance of ranks and of geometric relations: radians, and lengths relative to the
            size of each part.
        length_scale: Size in metres to divide lengths by; by default each part's own.
        keep_cuts: Close every loop where the file itself closes it.
        cuts: Names of the joints at which to close the loops.
        numerical: Also remove rows that are dependent at the configurations visited although the
            motion algebras do not prove it. Valid on this assembly mode only.
        configurations: Number of configurations for the certificate.
        seed: Seed of all random choices.

    Raises:
        ModelError: ``cuts`` names a joint twice, an unknown one, or not one per loop.
    """
    graph = mechanism if isinstance(mechanism, Graph) else build(mechanism)
    assembly = assemble(graph, seed=seed)
    tree = spanning_tree(graph)
    prescribed = _prescribed(graph, tree, keep_cuts, cuts)
    whole = LoopKinematics(graph, range(len(graph.edges)), tree)
    reference = whole.state(assembly.q)
    reducer = _Reducer(graph, assembly, whole, reference, prescribed, rtol, length_scale, seed)
    results = [
        reducer.reduce_cell(cell, numerical=numerical, configurations=configurations)
        for cell in graph.cells
    ]
    certificates = [certificate for _, parts, certificate in results if parts]
    return Reduction(
        graph=graph,
        assembly=assembly,
        cells=tuple(mobility for mobility, _, _ in results),
        parts=tuple(part for _, parts, _ in results for part in parts),
        certificate=Certificate(
            min((c.configurations for c in certificates), default=0),
            max((c.worst for c in certificates), default=0.0),
            all(c.holds for c in certificates),
        ),
        rtol=rtol,
        seed=seed,
        numerical=numerical,
    )


def _prescribed(
    graph: Graph, tree: Sequence[int], keep_cuts: bool, cuts: Sequence[str] | None
) -> frozenset[int] | None:
    """Edges that have to be cuts, or None."""
    if cuts is None:
        return frozenset(range(len(graph.edges))) - set(tree) if keep_cuts else None
    chosen = []
    for name in cuts:
        edges = [e.index for e in graph.edges if e.joint is graph.mechanism.joint(name)]
        chosen.append(edges[0])
    rest = spanning_tree(graph, [e for e in range(len(graph.edges)) if e not in set(chosen)])
    if len(rest) != len(graph.nodes) - 1 or len(set(chosen)) != graph.loops:
        raise ModelError(
            f"cutting {list(cuts)} does not open each of the {graph.loops} loops exactly once"
        )
    return frozenset(chosen)


class _Reducer:
    """Reduces the cells of a mechanism; holds what they share."""

    def __init__(
        self,
        graph: Graph,
        assembly: Assembly,
        whole: LoopKinematics,
        reference: State,
        prescribed: frozenset[int] | None,
        rtol: float,
        length_scale: float | None,
        seed: int,
    ) -> None:
        self.graph, self.assembly, self.prescribed = graph, assembly, prescribed
        self.whole, self.reference, self.length_scale = whole, reference, length_scale
        self.rtol, self.seed = rtol, seed

    def reduce_cell(
        self, cell: Sequence[int], *, numerical: bool, configurations: int
    ) -> tuple[CellMobility, list[Part], Certificate]:
        """Mobility, reduced parts and certificate of one cell.

        If the kept rows are too few at the tolerance asked for, smaller ones are tried; in the end
        nothing is removed.
        """
        blocks = [block for block in self.graph.blocks if set(block) <= set(cell)]
        tolerances = (self.rtol, 0.1 * self.rtol, 0.01 * self.rtol) if self._closed(cell) else ()
        for tolerance in tolerances:
            parts = [self._part(block, tolerance, None) for block in blocks]
            visited, certificate = self._certify(cell, parts, configurations)
            if not certificate.holds:
                continue
            mobility = self._mobility(cell, parts, visited)
            parts = [self._ranked(part, mobility) for part in parts]
            if any(part.dimension < part.rank for part in parts):
                continue
            better = [self._searched(part, mobility) for part in parts]
            better = [self._thinned(part) for part in better]
            if numerical:
                better = [self._numerical(part, mobility) for part in better]
            if any(new is not old for new, old in zip(better, parts, strict=True)):
                _, certificate = self._certify(cell, better, configurations)
                if not certificate.holds:
                    continue
            return mobility, better, certificate
        return self._unreduced(cell, blocks)

    def _unreduced(
        self, cell: Sequence[int], blocks: Sequence[Sequence[int]]
    ) -> tuple[CellMobility, list[Part], Certificate]:
        """The cell with every constraint kept: its loops are open or no reduction holds."""
        parts = [self._part(block, 0.0, None) for block in blocks]
        loops, _ = self._loops(cell, parts)
        q = self.assembly.q[loops.columns]
        closed = self._closed(cell)
        rng = np.random.default_rng(self.seed)
        visited = (
            generic_configurations(loops, q, rtol=self.rtol, rng=rng)
            if closed
            else np.zeros((0, 0, loops.freedoms))
        )
        mobility = self._mobility(cell, parts, visited)
        return mobility, [self._ranked(p, mobility) for p in parts], Certificate(0, 0.0, closed)

    def _closed(self, cell: Sequence[int]) -> bool:
        names = {self.graph.edges[e].joint.name for e in cell}
        gaps = [gap for gap in self.assembly.after if gap.joint in names]
        _, length = self._frame(cell)
        return all(g.translation <= 2 * CLOSED * length and g.rotation <= 2 * CLOSED for g in gaps)

    def _frame(self, edges: Sequence[int]) -> tuple[Array, float]:
        """Centre and size of some joints at the assembled pose, world coordinates."""
        points = []
        for e in edges:
            edge = self.graph.edges[e]
            T_world = self.reference.T_world_node[0, self.whole.row(edge.parent)]
            points.append((T_world @ edge.T_parent)[:3, 3])
        center, length = center_and_radius(np.array(points))
        return center, self.length_scale or length

    def scaled_screws(self, e: int, center: Array, length: float) -> Array:
        """World screws of an edge at the assembled pose, about the centre, shape (6, f)."""
        screws = self.reference.screws[0, self.whole.local(e)]
        linear = screws[:, :3] + np.cross(screws[:, 3:], center)
        return np.concatenate([linear / length, screws[:, 3:]], axis=1).T

    def _part(self, block: Sequence[int], tolerance: float, enough: int | None) -> Part:
        """Reduce one part; with tolerance zero every constraint is kept."""
        center, length = self._frame(block)
        screws = {e: self.scaled_screws(e, center, length) for e in block}
        spaces = MotionSpaces(tolerance or self.rtol)
        numbers = {
            e: spaces.number(subalgebra.span(s)) if tolerance else MotionSpaces.FULL
            for e, s in screws.items()
        }
        closed = close_part(
            self.graph,
            block,
            spaces,
            numbers,
            self._preference,
            enough=enough,
            cuts=None if self.prescribed is None else self.prescribed & set(block),
            rng=np.random.default_rng(self.seed),
        )
        cuts = [
            cut_of(
                self.graph.edges[c.edge],
                c.cycle,
                c.node,
                spaces.basis(c.space),
                screws[c.edge],
                T_world_node=self.reference.T_world_node[0, self.whole.row(c.node)],
                center=center,
                length=length,
            )
            for c in closed.closings
        ]
        basis = minimum_cycle_basis(self.graph, block)
        locked = closed.propagation.lock(basis) if tolerance else frozenset()
        return Part(
            edges=tuple(block),
            center=center,
            length=length,
            screws=screws,
            cycles=tuple(basis),
            cuts=tuple(sorted(cuts, key=lambda c: c.edge.index)),
            rank=0,
            dimension=closed.dimension,
            locked=tuple(sorted(locked)),
            trivial=sum(6 - loop_algebra(screws, c, self.rtol).shape[1] for c in basis),
            topological=topological_redundancy(
                self.graph,
                sorted(locked),
                basis,
                screws,
                self.rtol,
                np.random.default_rng(self.seed),
            ),
            rtol=tolerance,
        )

    def _preference(self, e: int) -> tuple[int, ...]:
        """Passive before actuated, whole joints, no massless end, more freedoms, the file's own."""
        edge = self.graph.edges[e]
        massless_end = any(
            len(self.graph.adjacency[n]) == 2 and not self.graph.inertia_known(n)
            for n in (edge.parent, edge.child)
            if n != self.graph.ground
        )
        return (
            int(bool(edge.joint.actuated)),
            int(edge.split),
            int(massless_end),
            -edge.freedoms,
            int(not edge.joint.closure),
            -e,
        )

    def _loops(
        self, cell: Sequence[int], parts: Sequence[Part]
    ) -> tuple[LoopKinematics, list[Cut]]:
        """Kinematics of the cell cut at the parts' cuts, and the cuts in its order."""
        cuts = {c.edge.index: c for part in parts for c in part.cuts}
        loops = LoopKinematics(self.graph, cell, [e for e in cell if e not in cuts])
        loops.center, loops.length = center_and_length(loops, self.assembly.q[loops.columns])
        loops.length = self.length_scale or loops.length
        return loops, [cuts[chord] for chord in loops.chords]

    def _certify(
        self, cell: Sequence[int], parts: Sequence[Part], configurations: int
    ) -> tuple[Array, Certificate]:
        """Walk on the kept rows alone and look whether every loop stays closed."""
        loops, cuts = self._loops(cell, parts)
        # Even without a certificate the rank needs a few generic configurations.
        walkers = max(4, -(-configurations // STEPS))
        visited = walk(
            loops,
            ReducedLoops(loops, cuts),
            self.assembly.q[loops.columns],
            walkers=walkers,
            steps=STEPS,
            rng=np.random.default_rng(self.seed),
            rtol=self.rtol,
        )
        errors = loops.residual(loops.state(visited.reshape(-1, loops.freedoms)))
        worst = float(np.max(np.abs(errors), initial=0.0))
        checked = walkers * STEPS if configurations > 0 else 0
        return visited, Certificate(checked, worst, worst <= 20 * self.rtol)

    def _mobility(self, cell: Sequence[int], parts: Sequence[Part], visited: Array) -> CellMobility:
        loops, _ = self._loops(cell, parts)
        return cell_mobility(
            loops,
            self.assembly.q[loops.columns],
            visited,
            rtol=self.rtol,
            rng=np.random.default_rng(self.seed),
        )

    def _ranked(self, part: Part, mobility: CellMobility) -> Part:
        """The part with the rank of its own loop equations at the configurations visited."""
        loops = LoopKinematics(
            self.graph, part.edges, sorted(set(part.edges) - {c.edge.index for c in part.cuts})
        )
        if loops.freedoms == mobility.freedoms and 6 * len(loops.chords) == mobility.equations:
            return replace(part, rank=mobility.generic.rank)
        columns = self.graph.columns(mobility.edges)
        own = [columns.index(int(c)) for c in loops.columns]
        q = mobility.configurations[:, own]
        loops.center, loops.length = center_and_length(loops, q[0])
        rank = max(decide_rank(s, self.rtol).rank for s in singular_values(loops, q))
        return replace(part, rank=rank)

    def _searched(self, part: Part, mobility: CellMobility) -> Part:
        """The part reduced in a better order, where rows are left over and there are orders."""
        if part.dimension == part.rank or len(part.cycles) == 1 or self.prescribed is not None:
            return part
        better = self._part(part.edges, part.rtol, part.rank)
        if better.dimension >= part.dimension:
            return part
        return self._ranked(better, mobility)

    def _thinned(self, part: Part) -> Part:
        """Drop dependent rows of loops in which every joint is locked.

        Such a loop never changes, so the rank at the pose is its rank for ever, and a full set of
        independent rows keeps locking it. Topological redundancy is left to be reported as such.
        """
        locked = set(part.locked)
        chosen = [i for i, cut in enumerate(part.cuts) if set(cut.cycle.edges) <= locked]
        count = part.dimension - part.rank - part.topological
        if not chosen or count <= 0:
            return part
        return self._drop(part, chosen, count, "thinned", self.assembly.q)

    def _numerical(self, part: Part, mobility: CellMobility) -> Part:
        """Drop rows that depend on the others at the configuration furthest on the walk."""
        kept = sum(cut.kept + cut.edge.freedoms for cut in part.cuts)
        if kept <= part.rank:
            return part
        q = np.array(self.assembly.q)
        q[self.graph.columns(mobility.edges)] = mobility.configurations[-1]
        return self._drop(part, range(len(part.cuts)), kept - part.rank, "numerical", q)

    def _drop(self, part: Part, chosen: Sequence[int], count: int, kind: Kind, q: Array) -> Part:
        loops, cuts = self._loops(part.edges, [part])
        reduced = without_rows(cuts, loops, q[loops.columns], chosen, count, kind)
        return replace(part, cuts=tuple(reduced))
