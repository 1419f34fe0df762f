"""What every reduction starts from: the assembled mechanism and the options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.assembly import Assembly
from regularize.manifold.extent import center_and_length, sized_loops
from regularize.manifold.kinematics import LoopKinematics, State
from regularize.manifold.noise import noise_of
from regularize.manifold.tolerances import ROUNDING, Tolerances
from regularize.model.graph import EdgeId, Graph, NodeId
from regularize.reduction.cuts import Cut

#: Closed configurations of some loops on the branch of given ones, where they can be had without a
#: walk: from the loops, configurations (k, n), a number, a tolerance of ranks and random numbers.
Sampler: TypeAlias = Callable[[LoopKinematics, Array, int, float, np.random.Generator], Array]
#: Called now and then with the fraction that is done.
Progress: TypeAlias = Callable[[float], None]


def portion(progress: Progress | None, start: float, end: float) -> Progress | None:
    """What tells of all how far a part is that goes from one fraction to another."""
    return progress and (lambda fraction: progress(start + (end - start) * fraction))


def forward(progress: Progress | None) -> Progress | None:
    """The same without the ways back where something is tried once more."""
    if progress is None:
        return None
    furthest = 0.0

    def onwards(fraction: float) -> None:
        nonlocal furthest
        if fraction > furthest:
            furthest = fraction
            progress(fraction)

    return onwards


@dataclass(frozen=True, eq=False, repr=False)
class Setting:
    """What the reduction of every part starts from.

    Attributes:
        graph: The mechanism's graph.
        assembly: The assembled configuration.
        prescribed: Edges that have to be cuts, or None to choose freely.
        rtol: Tolerance of ranks and geometric relations.
        length_scale: Size in metres to divide lengths by, or None for each part's own.
        seed: Seed of all random choices.
        sampler: Where many configurations come from, or None to walk to all of them.
        groups: Whether bodies may be held in groups by rows of their own.
        noise: Errors of the closure equations that cannot be told from zero, lengths scaled.
        progress: Called now and then with the fraction done.
    """

    graph: Graph
    assembly: Assembly
    prescribed: frozenset[EdgeId] | None
    rtol: float
    length_scale: float | None
    seed: int
    sampler: Sampler | None = None
    groups: bool = True
    noise: float = ROUNDING
    progress: Progress | None = None

    @cached_property
    def whole(self) -> LoopKinematics:
        """Kinematics of the whole mechanism."""
        return LoopKinematics(self.graph, self.graph.every_edge, self.graph.tree)

    @cached_property
    def reference(self) -> State:
        """State at the assembled configuration, world frame."""
        return self.whole.state(self.assembly.q)

    @cached_property
    def tolerances(self) -> Tolerances:
        """What counts as closed, singular or dependent."""
        return Tolerances.of(self.rtol, self.noise)

    def of_cell(self, edges: Sequence[EdgeId]) -> Setting:
        """The same with the noise of some loops, and no finer tolerance than it allows."""
        loops = sized_loops(self.graph, self.assembly.q, edges, length=self.length_scale)
        noise = noise_of(loops, self.assembly.q[loops.columns])
        rtol = max(self.rtol, Tolerances.of(self.rtol, noise).closed)
        found = replace(self, noise=noise, rtol=rtol, progress=self._progress_of(edges))
        # What follows from the graph and the pose alone is the same for all cells.
        vars(found).update(whole=self.whole, reference=self.reference)
        return found

    def _progress_of(self, edges: Sequence[EdgeId]) -> Progress | None:
        """What tells how far a cell is; it takes its share of the edges of all."""
        if self.progress is None:
            return None
        cells = self.graph.cells
        every = sum(map(len, cells))
        before = sum(map(len, takewhile(lambda cell: cell is not edges, cells)))
        return portion(self.progress, before / every, (before + len(edges)) / every)

    def done(self, fraction: float) -> None:
        """Tell whoever wants to know how far it is."""
        if self.progress is not None:
            self.progress(fraction)

    def rng(self) -> np.random.Generator:
        """A fresh generator: every part sees the same random numbers whatever came before."""
        return np.random.default_rng(self.seed)

    def frame(self, edges: Sequence[EdgeId]) -> tuple[Array, float]:
        """Centre and size of some joints at the assembled pose, world coordinates."""
        center, length = center_and_length(self.whole, self.reference, edges)
        return center, self.length_scale or length

    def T_world_node(self, node: NodeId) -> Array:
        """Assembled pose of a node, shape (4, 4)."""
        return np.asarray(self.reference.T_world_node[0, self.whole.row(node)])

    def scaled_screws(
        self, edges: Iterable[EdgeId], center: Array, length: float
    ) -> dict[EdgeId, Array]:
        """World screws of edges at the assembled pose, about the centre, shape (6, f) each.

        Those of slides are of order one as well, whatever the length is.
        """
        whole = self.whole.measured(length, center)
        screws = whole.scaled(self.reference.screws[0]) * whole.units[:, None]
        return {e: screws[self.whole.local(e)].T for e in edges}

    def loops(
        self, edges: Sequence[EdgeId], cuts: Iterable[Cut]
    ) -> tuple[LoopKinematics, list[Cut]]:
        """Kinematics of some edges with the given cuts as chords, and the cuts in its order."""
        cut_at = {cut.edge.index: cut for cut in cuts}
        tree = [e for e in edges if e not in cut_at]
        loops = sized_loops(self.graph, self.assembly.q, edges, tree, length=self.length_scale)
        return loops, [cut_at[chord] for chord in loops.chords]

    def preference(self, e: EdgeId) -> tuple[int, ...]:
        """Sort key of a cut among those that keep equally few rows.

        Uncoupled and passive joints first, whole joints, those that leave no massless end, those
        without springs, damping, friction or rotors, those with more freedoms, the file's own
        closures, the last ones of the file.
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
            int(any(np.any(value) for value in edge.joint.dynamics.stated().values())),
            -edge.freedoms,
            int(not edge.joint.closure),
            -e,
        )
