"""What every reduction starts from: the assembled mechanism and the options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Coordinates, Direction, Point, Space, Transform
from regularize.loops.assembly import CLOSED, Assembly, largest_error
from regularize.loops.kinematics import LoopKinematics, State, center_and_length, sized_loops
from regularize.mechanism.graph import Edge, EdgeId, Graph, NodeId, joined, spanning_tree
from regularize.reduction.cuts import Cut
from regularize.tolerances import EXACT, MARGIN, ROUNDING, RTOL, TINY, Tolerances

#: Called now and then with the fraction that is done.
Progress: TypeAlias = Callable[[float], None]


def portion(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Return a callback for one part of a task, which reports fractions from start to end."""
    return progress and (lambda fraction: progress(start + (end - start) * fraction))


def forward(progress: Progress | None) -> Progress | None:
    """Return a callback that passes on a fraction only where it exceeds all earlier ones."""
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
    """The assembled mechanism and the options: what the reduction of a component starts from."""

    graph: Graph
    assembly: Assembly
    prescribed: frozenset[EdgeId] | None = None  # edges that have to be cuts; None: free choice
    rtol: float = RTOL  # of ranks and geometric relations
    length_scale: float | None = None  # metres to divide lengths by; None: each component's size
    seed: int = 0
    groups: bool = True  # whether bodies may be held in groups by rows of their own
    noise: float = ROUNDING  # closure errors that cannot be told from zero, lengths scaled
    progress: Progress | None = None

    @cached_property
    def whole(self) -> LoopKinematics:
        """Kinematics of the whole mechanism."""
        return sized_loops(self.graph, self.assembly.q)

    @cached_property
    def reference(self) -> State:
        """State of the whole mechanism at the assembled configuration."""
        return self.whole.state(self.assembly.q)

    @cached_property
    def tolerances(self) -> Tolerances:
        """Tolerances for what counts as closed, singular or dependent."""
        return Tolerances.of(self.rtol, self.noise)

    def of_cell(self, edges: Sequence[EdgeId]) -> Context:
        """Return the context of a component, its noise measured and its tolerance no finer."""
        loops = sized_loops(self.graph, self.assembly.q, edges, length=self.length_scale)
        noise = noise_of(loops, self.assembly.q[loops.columns])
        rtol = max(self.rtol, Tolerances.of(self.rtol, noise).closed)
        return replace(self, noise=noise, rtol=rtol, progress=self._progress_of(edges))

    def _progress_of(self, edges: Sequence[EdgeId]) -> Progress | None:
        """Return the callback for a component, whose share is its number of edges."""
        if self.progress is None:
            return None
        cells = self.graph.cells
        every = sum(map(len, cells))
        before = sum(map(len, takewhile(lambda cell: cell is not edges, cells)))
        return portion(self.progress, before / every, (before + len(edges)) / every)

    def done(self, fraction: float) -> None:
        """Report the fraction of the work that is done, where somebody listens."""
        if self.progress is not None:
            self.progress(fraction)

    def rng(self) -> np.random.Generator:
        """Return a new random generator from the seed: every block draws the same numbers."""
        return np.random.default_rng(self.seed)

    def frame(self, edges: Sequence[EdgeId]) -> tuple[Point, float]:
        """Return centre and size of some joints at the assembled pose."""
        center, length = center_and_length(self.whole, self.reference, edges)
        return center, self.length_scale or length

    def T_world_node(self, node: NodeId) -> Transform:
        """Return the assembled pose of a node."""
        return np.asarray(self.reference.T_world_node[0, self.whole.row(node)])

    def scaled_screws(
        self, edges: Iterable[EdgeId], center: Point, length: float
    ) -> dict[EdgeId, Space]:
        """Return scaled screws of edges about a centre, with nearly parallel axes made parallel."""
        whole = self.whole.measured(length, center)
        screws = whole.scaled(self.reference.screws[0]) * whole.units[:, None]
        return aligned({e: screws[whole.local(e)].T for e in edges}, self.rtol)

    def loops(
        self, edges: Sequence[EdgeId], cuts: Iterable[Cut]
    ) -> tuple[LoopKinematics, list[Cut]]:
        """Return kinematics of edges whose chords are the cuts, and the cuts in their order."""
        cut_at = {cut.edge.index: cut for cut in cuts}
        tree = [e for e in edges if e not in cut_at]
        loops = sized_loops(self.graph, self.assembly.q, edges, tree, length=self.length_scale)
        return loops, [cut_at[chord] for chord in loops.chords]

    def preference(self, e: EdgeId) -> tuple[int, ...]:
        """Return the sort key of cuts that keep equally few rows: plain joints come first."""
        graph, edge = self.graph, self.graph.edges[e]
        inner = {edge.parent, edge.child} - {graph.ground}
        ends = [n for n in inner if len(graph.adjacency[n]) == 2]
        massless_end = not all(map(graph.inertia_known, ends))
        coupled = any(set(c.columns) & set(edge.columns) for c in graph.couplings)
        forces = any(np.any(value) for value in edge.joint.dynamics.stated().values())
        place = bool(edge.joint.actuated), edge.split, massless_end, forces
        return coupled, *place, -edge.freedoms, not edge.joint.closure, -e


def aligned(screws: Mapping[EdgeId, Space], rtol: float) -> dict[EdgeId, Space]:
    """Return screws turned about their own places so that nearly parallel axes are parallel."""
    axes = {e: own[3:] if own[3:].any() else own[:3] for e, own in screws.items()}
    members = [
        e
        for e, own in axes.items()
        if own.shape[1] == 1 or np.linalg.matrix_rank(own, tol=rtol) == 1
    ]
    directions = np.array([axes[e].sum(axis=1) for e in members]).reshape(-1, 3)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    turned = dict(screws)
    # Groups are joined by way of others, so that none is parallel in part or by its order.
    for together in _nearly_parallel(directions, rtol):
        _, _, vt = np.linalg.svd([directions[i] for i in together])
        for i in together:
            own, turn = screws[members[i]], np.cross(directions[i], vt[0])
            turn *= np.sign(directions[i] @ vt[0])
            v, w = own[:3].sum(axis=1), own[3:].sum(axis=1)
            point = np.cross(w, v) / max(TINY, float(w @ w))
            twist = np.hstack([np.cross(point, turn), turn])
            turned[members[i]] = screw.adjoint(screw.exp(twist)) @ own
    return turned


def _nearly_parallel(directions: Direction, rtol: float) -> list[list[int]]:
    """Return groups of places of unit vectors that are nearly, and not exactly, parallel."""
    distinct, which = np.unique(directions.round(12), axis=0, return_inverse=True)
    # Parallel vectors are neighbours in the order of their first components, whatever their sign.
    order = np.argsort(np.abs(distinct[:, 0]))
    distinct, near, off = distinct[order], list[tuple[int, int]](), set[int]()
    for step in range(1, len(distinct)):
        leading = np.abs(distinct[:, 0])
        one = np.flatnonzero(leading[step:] - leading[:-step] < rtol)
        if not one.size:
            break
        angles = np.linalg.norm(screw.cross(distinct[one], distinct[one + step]), axis=1)
        near += [(i, i + step) for i in one[angles < rtol].tolist()]
        off.update(one[(angles < rtol) & (angles > EXACT.closed)].tolist())
    groups = (group for group in joined(near) if off.intersection(group))
    return [np.flatnonzero(np.isin(which.ravel(), order[group])).tolist() for group in groups]


def prescribed_cuts(
    graph: Graph, keep_cuts: bool, cuts: Sequence[str] | None
) -> frozenset[EdgeId] | None:
    """Return the file's or the named closing edges, or None where the choice of cuts is free."""
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


def uncoupled_cuts(graph: Graph, cuts: Sequence[Edge]) -> list[str] | None:
    """Return joints to cut in place of coupled ones; None where none of these is, or must be."""
    columns = {column for coupling in graph.couplings for column in coupling.columns}
    if not any(columns.intersection(edge.columns) for edge in cuts):
        return None
    order = sorted(
        graph.edges,
        key=lambda e: (columns.isdisjoint(e.columns), e.split, e.joint.closure, e.index),
    )
    tree = spanning_tree(graph, [edge.index for edge in order])
    rest = [edge for edge in graph.edges if edge.index not in tree]
    if any(edge.split or columns.intersection(edge.columns) for edge in rest):
        return None
    return [edge.joint.name for edge in rest]


def rounding_of(loops: LoopKinematics) -> float:
    """Return how far a file's rounding can move a joint of the loops; 0 if read as it is meant."""
    reading = loops.graph.mechanism.reading
    if reading is None or reading.as_ == "meant":
        return 0.0
    names = (loops.graph.edges[e].joint.name for e in loops.edges)
    level = reading.rounding(names, loops.length)
    return level if level < RTOL else 0.0  # what is coarser was looked for when the file was read


def noise_of(loops: LoopKinematics, q: Coordinates) -> float:
    """Return the noise of the closure equations at the assembled pose, lengths scaled."""
    # Rounding grows with the distance of frames from where they are measured.
    frames = np.concatenate([loops.T_parent, loops.T_child])
    farthest = float(np.abs(frames[:, :3, 3]).max()) / loops.length
    rounding = np.finfo(np.float64).eps * farthest
    # A tenth of what rounding does to a joint: the errors of many are seldom all alike. Loops close
    # no better than that; ranks keep the tolerance that was asked for.
    written = min(0.1 * rounding_of(loops), RTOL / MARGIN)
    # A tenth of what Newton's method leaves open here: elsewhere it leaves something else.
    remaining = largest_error(loops, q)
    opening = 0.1 * remaining if remaining <= 2 * CLOSED else 0.0
    return max(ROUNDING, rounding, written, opening)
