"""What every reduction starts from: the assembled mechanism and the options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.loops.assembly import Assembly
from regularize.loops.gaps import noise_of
from regularize.loops.kinematics import (
    FEW,
    LoopKinematics,
    State,
    center_and_length,
    sized_loops,
)
from regularize.mechanism.connections import DisjointSets
from regularize.mechanism.graph import EdgeId, Graph, NodeId, spanning_tree
from regularize.reduction.cuts import Cut
from regularize.tolerances import EXACT, ROUNDING, RTOL, TINY, Tolerances

#: Called now and then with the fraction that is done.
Progress: TypeAlias = Callable[[float], None]


def portion(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Progress of a task that is the part of the whole from one fraction to another."""
    return progress and (lambda fraction: progress(start + (end - start) * fraction))


def forward(progress: Progress | None) -> Progress | None:
    """Progress that never goes back, where something is tried once more."""
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
class Context:
    """What the reduction of every component starts from."""

    graph: Graph
    assembly: Assembly
    whole: LoopKinematics
    reference: State
    prescribed: frozenset[EdgeId] | None = None
    rtol: float = RTOL
    length_scale: float | None = None
    seed: int = 0
    groups: bool = True
    noise: float = ROUNDING
    progress: Progress | None = None

    @classmethod
    def of(cls, graph: Graph, assembly: Assembly, **options: Any) -> Context:
        """The context of an assembled mechanism; options are attributes."""
        whole = LoopKinematics(graph, graph.every_edge, graph.tree)
        return cls(graph, assembly, whole, whole.state(assembly.q), **options)

    @cached_property
    def tolerances(self) -> Tolerances:
        """What counts as closed, singular or dependent."""
        return Tolerances.of(self.rtol, self.noise)

    def of_cell(self, edges: Sequence[EdgeId]) -> Context:
        """The same with the noise of some loops, and no finer tolerance than it allows."""
        loops = sized_loops(self.graph, self.assembly.q, edges, length=self.length_scale)
        noise = noise_of(loops, self.assembly.q[loops.columns])
        rtol = max(self.rtol, Tolerances.of(self.rtol, noise).closed)
        return replace(self, noise=noise, rtol=rtol, progress=self._progress_of(edges))

    def _progress_of(self, edges: Sequence[EdgeId]) -> Progress | None:
        """Progress of a coupled component, whose share is that of its edges."""
        if self.progress is None:
            return None
        cells = self.graph.cells
        every = sum(map(len, cells))
        before = sum(map(len, takewhile(lambda cell: cell is not edges, cells)))
        return portion(self.progress, before / every, (before + len(edges)) / every)

    def done(self, fraction: float) -> None:
        """Report the fraction that is done."""
        if self.progress is not None:
            self.progress(fraction)

    def rng(self) -> np.random.Generator:
        """A fresh generator: every block sees the same random numbers whatever came before."""
        return np.random.default_rng(self.seed)

    def frame(self, edges: Sequence[EdgeId]) -> tuple[Array, float]:
        """Centre and size of some joints at the assembled pose, world coordinates."""
        if len(edges) <= FEW:  # their kinematics are known
            loops = sized_loops(self.graph, self.assembly.q, edges, length=self.length_scale)
            if loops.roots == (self.graph.ground,):
                return loops.center, loops.length
        center, length = center_and_length(self.whole, self.reference, edges)
        return center, self.length_scale or length

    def T_world_node(self, node: NodeId) -> Array:
        """Assembled pose of a node, shape (4, 4)."""
        return np.asarray(self.reference.T_world_node[0, self.whole.row(node)])

    def scaled_screws(
        self, edges: Iterable[EdgeId], center: Array, length: float
    ) -> dict[EdgeId, Array]:
        """World screws of edges at the assembled pose, about the centre, shape (6, f) each."""
        whole = self.whole.measured(length, center)
        own = {e: whole.local(e) for e in edges}
        every = [column for columns in own.values() for column in columns]
        screws = whole.scaled(self.reference.screws[0, every]) * whole.units[every, None]
        ends = np.cumsum([len(columns) for columns in own.values()])[:-1]
        found = dict(zip(own, (each.T for each in np.split(screws, ends)), strict=True))
        return aligned(found, self.rtol)

    def loops(
        self, edges: Sequence[EdgeId], cuts: Iterable[Cut]
    ) -> tuple[LoopKinematics, list[Cut]]:
        """Kinematics of some edges with the given cuts as chords, and the cuts in its order."""
        cut_at = {cut.edge.index: cut for cut in cuts}
        tree = [e for e in edges if e not in cut_at]
        loops = sized_loops(self.graph, self.assembly.q, edges, tree, length=self.length_scale)
        return loops, [cut_at[chord] for chord in loops.chords]

    def preference(self, e: EdgeId) -> tuple[int, ...]:
        """Sort key of a cut among those that keep equally few rows."""
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


def aligned(screws: Mapping[EdgeId, Array], rtol: float) -> dict[EdgeId, Array]:
    """The same joints, turned on the spot where their axes are parallel within a tolerance."""
    axes = {e: own[3:] if own[3:].any() else own[:3] for e, own in screws.items()}
    members = [
        e
        for e, own in axes.items()
        if own.shape[1] == 1 or np.linalg.matrix_rank(own, tol=rtol) == 1
    ]
    directions = np.array([axes[e].sum(axis=1) for e in members]).reshape(-1, 3)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    found = dict(screws)
    for together in _nearly_parallel(directions, rtol):
        _, _, vt = np.linalg.svd([directions[i] for i in together])
        for i in together:
            own, turn = screws[members[i]], np.cross(directions[i], vt[0])
            turn *= np.sign(directions[i] @ vt[0])
            v, w = own[:3].sum(axis=1), own[3:].sum(axis=1)
            point = np.cross(w, v) / max(TINY, float(w @ w))
            twist = np.hstack([np.cross(point, turn), turn])
            found[members[i]] = screw.adjoint(screw.exp(twist)) @ own
    return found


def _nearly_parallel(directions: Array, rtol: float) -> list[list[int]]:
    """Groups of unit vectors (n, 3) that are parallel within a tolerance, and not exactly so."""
    if len(directions) <= FEW:
        angles = np.linalg.norm(screw.cross(directions[:, None], directions), axis=-1)
        if not np.any((angles < rtol) & (angles > EXACT.closed)):
            return []
    distinct, which = np.unique(directions.round(12), axis=0, return_inverse=True)
    together = DisjointSets(range(len(distinct)))
    # Parallel vectors are neighbours in the order of their first components, whatever their sign.
    leading = np.abs(distinct[:, 0])
    order = np.argsort(leading)
    last = np.searchsorted(leading[order], leading[order] + rtol, side="right")
    off = set[int]()
    for k, i in enumerate(order.tolist()):
        others = order[k + 1 : last[k]]
        angles = np.linalg.norm(np.cross(distinct[i], distinct[others]), axis=1)
        together.union(i, *others[angles < rtol].tolist())
        if np.any((angles < rtol) & (angles > EXACT.closed)):
            off.add(i)
    groups = [group for group in together.groups() if off.intersection(group)]
    return [np.flatnonzero(np.isin(which.ravel(), group)).tolist() for group in groups]


def prescribed_cuts(
    graph: Graph, keep_cuts: bool, cuts: Sequence[str] | None
) -> frozenset[EdgeId] | None:
    """Edges that have to be cuts, or None where the choice is free."""
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
