"""Classes of the redundancy that joint axes do not prove: by the graph, by relations, by lengths.

Where the graph with unrelated axes has as many finite freedoms, what it has of the redundancy is
topological: an exact count. Else lengths and angles are drawn anew with the relations of the axes
kept. What every such mechanism of the same finite mobility has is owed to these relations alone;
only the rest needs the lengths as they are. A mechanism that is rigid when it is drawn anew says
nothing: it has one pose, where equations may depend on each other to first order only.

Axes are parallel where they stay so in motion. What two joints of one body have in common never
changes: axes that meet, coincide or are at right angles, balls on axes. Everything else is a length
or an angle that could have been chosen otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Point, Space
from regularize.lie.screw import IDENTITY
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import least_norm
from regularize.mechanism.cycles import minimum_cycle_basis
from regularize.mechanism.graph import DisjointSets, Edge, EdgeId, NodeId
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.block import Block
from regularize.reduction.generic_rank import generic_rank
from regularize.reduction.mobility import (
    CellMobility,
    clearest,
    generic_configurations,
    local_mobility,
    singular_values,
)
from regularize.reduction.reduce import Reduction
from regularize.tolerances import ROUNDING, VANISHING, Tolerances

#: A joint and the number of one of its screws.
Element: TypeAlias = tuple[EdgeId, int]
#: Unit directions, a point of every axis, and points where axes meet, each of shape (k, 3).
AxisGeometry: TypeAlias = tuple[Array, Array, Array]


def with_other_lengths(reduction: Reduction, tries: int = 4) -> Reduction:
    """Return the reduction with the classes of its redundancy as other mechanisms show them."""
    return replace(reduction, parts=tuple(_tried(reduction, p, tries) for p in reduction.parts))


def _tried(reduction: Reduction, part: Block, tries: int) -> Block:
    """Return a block with how much of its redundancy other axes, or other lengths, keep."""
    graph = reduction.graph
    kept = sum(cut.kept + cut.edge.freedoms for cut in part.cuts)
    left, columns = kept - part.rank, set(graph.columns(part.edges))
    # Ratios of gears and the like would have to follow the lengths.
    coupled = any(columns & set(coupling.columns) for coupling in graph.couplings)
    if not part.proved or left <= part.topological or coupled:
        return part
    cell = reduction.cell_at[part.edges[0]]
    generic = generic_rank(graph, part.cycles, part.screws, reduction.seed, reduction.rtol)
    if cell.finite == generic.mobility:
        # What is dependent beyond it is so to first order only, and holds the mechanism.
        topological = max(left - max(generic.rank - part.rank, 0), part.topological)
        return replace(part, topological=topological, generic=generic)
    relations = _relations(reduction, part, cell)
    rng = np.random.default_rng(reduction.seed)
    stays = left
    for _ in range(tries if cell.finite else 0):
        redundant, mobility = _counted(relations.redrawn(rng), reduction.rtol, rng)
        if mobility != cell.finite:
            stays = part.topological
        stays = max(min(stays, redundant - 6 * len(part.cuts) + kept), part.topological)
        if stays == part.topological:
            break
    groups = relations.parallel() if stays == left else []
    parallel = tuple(tuple(graph.edges[e].joint.name for e in group) for group in groups)
    related = stays - part.topological if cell.finite else 0
    return replace(part, generic=generic, related=related, lengths_tried=tries, parallel=parallel)


def _relations(reduction: Reduction, part: Block, cell: CellMobility) -> AxisRelations:
    """Return the relations that hold at configurations that a block's cell was walked to."""
    graph, loops = reduction.graph, reduction.loops
    visited = cell.configurations[[0, *range(-min(4, len(cell.configurations)), 0)]]
    q = np.repeat(reduction.q[None], len(visited), axis=0)
    q[:, graph.columns(cell.edges)] = visited
    state = loops.state(q)
    edges = [graph.edges[e] for e in part.edges]
    columns = [loops.local(e)[k] for e, k in elements(edges)]
    v, w = state.screws[:, columns, :3], state.screws[:, columns, 3:]
    slides = np.linalg.norm(w, axis=2, keepdims=True) < np.finfo(float).eps
    ways = np.where(slides, v, w)
    ways /= np.linalg.norm(ways, axis=2, keepdims=True)
    return AxisRelations.of(edges, part.screws, ways, reduction.rtol)


def _counted(mechanism: Mechanism, rtol: float, rng: np.random.Generator) -> tuple[int, int | None]:
    """Return redundant equations and finite mobility of a mechanism at generic configurations."""
    graph = build(mechanism)
    q = np.zeros(graph.freedoms)
    loops = sized_loops(graph, q)
    cycles = [c for block in graph.blocks for c in minimum_cycle_basis(graph, block)]
    visited = generic_configurations(loops, q, Tolerances.of(rtol), rng=rng, walkers=3, steps=2)
    every = np.concatenate([q[None], visited.reshape(-1, graph.freedoms)])
    best, rank = clearest(singular_values(loops, every, cycles), rtol)
    local = local_mobility(loops, every[best], rank, cycles, Tolerances.of(rtol), rng)
    return 6 * graph.loops - rank, local.mobility


class AxisRelations(NamedTuple):
    """Relations of the axes of some joints; axes, directions and points are numbered."""

    edges: dict[EdgeId, Edge]
    #: Scaled.
    screws: Mapping[EdgeId, Space]
    geometry: AxisGeometry
    #: Direction of every axis or slide, and its sign.
    direction: dict[Element, tuple[int, float]]
    #: Axis of every rotation.
    axis: dict[Element, int]
    #: Centre of every ball joint among the meeting points.
    ball: dict[EdgeId, int]
    #: Pairs of directions at right angles, and triples of slides in one plane.
    across: Sequence[tuple[int, ...]]
    flat: Sequence[tuple[int, ...]]
    #: Meeting points and the axes and directions through them.
    through: list[tuple[int, int, int]]

    @classmethod
    def of(
        cls, edges: Sequence[Edge], screws: Mapping[EdgeId, Space], moved: Array, rtol: float
    ) -> AxisRelations:
        """Find relations of axes with directions ``moved`` at N poses, (N, elements, 3)."""
        every, ends = elements(edges), _ends(edges)
        lines = {e: screw.axis_of(screws[e[0]][:, e[1]]) for e in every}
        share = {(a, b) for a, b in combinations(every, 2) if ends[a[0]] & ends[b[0]]}
        dots = np.einsum("nik,njk->nij", moved, moved)
        parallel = np.all(1.0 - np.abs(dots) < rtol**2, axis=0)
        normal = np.all(np.abs(dots) < rtol, axis=0)
        same = DisjointSets(range(len(every)))
        for i, j in combinations(range(len(every)), 2):
            if parallel[i, j]:
                same.union(i, j)
        first: list[int] = [same[i] for i in range(len(every))]
        classes = list(dict.fromkeys(first))
        direction = {
            e: (classes.index(f), float(np.sign(lines[e][0] @ lines[every[f]][0])))
            for e, f in zip(every, first, strict=True)
        }
        slides = {e for e in every if lines[e][1] is None}
        across = {
            tuple(sorted((direction[a][0], direction[b][0])))
            for (i, a), (j, b) in combinations(enumerate(every), 2)
            if normal[i, j] and ((a, b) in share or a in slides or b in slides)
        }
        flat = [
            triple
            for triple in combinations(sorted({direction[e][0] for e in slides}), 3)
            if np.max(np.abs(np.linalg.det(moved[:, [classes[c] for c in triple]]))) < rtol
        ]
        axes, meeting = _axes_and_points(edges, ends, screws, lines, direction, share, rtol)
        numbers = list(dict.fromkeys(axes.values()))
        through = {
            (k, numbers.index(axes[e]), direction[e][0])
            for k, met in enumerate(meeting)
            for e in met.axes
        }
        ways, centers = [lines[every[f]][0] for f in classes], [met.place for met in meeting]
        directions, points, places = (
            np.array(each, dtype=np.float64).reshape(-1, 3)
            for each in (ways, [lines[e][1] for e in numbers], centers)
        )
        return cls(
            {edge.index: edge for edge in edges},
            screws,
            (directions, points, places),
            direction,
            {e: numbers.index(a) for e, a in axes.items()},
            {ball: k for k, met in enumerate(meeting) for ball in met.balls},
            sorted(across),
            flat,
            sorted(through),
        )

    def parallel(self) -> list[list[EdgeId]]:
        """List edges with parallel axes or slides, the largest groups first."""
        found: dict[int, list[EdgeId]] = {}
        for (e, _), (number, _) in self.direction.items():
            found.setdefault(number, []).append(e)
        return sorted((g for g in found.values() if len(g) > 1), key=len, reverse=True)

    def redrawn(self, rng: np.random.Generator) -> Mechanism:
        """Draw a mechanism of these joints with other lengths and angles and the same relations."""
        amounts = zip(self.geometry, (0.3, 0.2, 0.2), strict=True)
        geometry = self._related([g + x * rng.normal(size=g.shape) for g, x in amounts])
        return Mechanism.of_joints("other lengths", [self._joint(e, geometry) for e in self.edges])

    def _joint(self, e: EdgeId, geometry: AxisGeometry) -> Joint:
        """Make a joint of the drawn geometry, between bodies whose frames coincide."""
        edge, (directions, points, meeting) = self.edges[e], geometry
        kind, screws, frame = "composite", np.zeros((6, edge.freedoms)), IDENTITY
        if edge.group:
            kind, screws = edge.joint.kind, edge.screws
        if e in self.ball:
            frame = screw.transform(None, meeting[self.ball[e]])
        for k in range(edge.freedoms if not edge.group else 0):
            number, sign = self.direction[e, k]
            way = sign * directions[number]
            _, point, pitch = screw.axis_of(self.screws[e][:, k])
            if point is None or pitch is None:
                screws[:, k] = screw.prismatic(way)
            else:
                screws[:, k] = screw.helical(way, points[self.axis[e, k]], pitch)
        welded = not edge.freedoms
        kind, ends = "fixed" if welded else kind, (f"{edge.parent}", f"{edge.child}")
        return Joint(f"{e}", *ends, kind, screws, frame, frame, closure=welded)

    def _related(self, drawn: Sequence[Array]) -> AxisGeometry:
        """Find the nearest geometry that keeps the relations, by Newton's method."""
        ends = np.cumsum([part.size for part in drawn])
        x = np.concatenate([part.ravel() for part in drawn])
        for _ in range(30):
            d, p, v = (part.reshape(-1, 3) for part in np.split(x, ends[:-1]))
            values, rows = self._equations((d, p, v), ends)
            if np.max(np.abs(values), initial=0.0) < ROUNDING:
                break
            x = x - least_norm(rows[None], values[None], VANISHING)[0]
        return d, p, v

    def _equations(self, geometry: AxisGeometry, ends: Array) -> tuple[Array, Array]:
        """Write relations as equations, with their derivatives by all numbers in a row."""
        d, p, v = geometry
        values: list[float] = []
        rows: list[Array] = []

        def add(value: float, *terms: tuple[int, Array]) -> None:
            row = np.zeros(ends[-1])
            for start, term in terms:
                row[start : start + 3] += term
            values.append(value)
            rows.append(row)

        for i, way in enumerate(d):
            add(0.5 * (way @ way - 1.0), (3 * i, way))
        for i, j in self.across:
            add(d[i] @ d[j], (3 * i, d[j]), (3 * j, d[i]))
        for i, j, k in self.flat:
            slopes = np.cross(d[j], d[k]), np.cross(d[k], d[i]), np.cross(d[i], d[j])
            add(d[i] @ slopes[0], *zip((3 * i, 3 * j, 3 * k), slopes, strict=True))
        for k, axis, way in self.through:
            arm, at = v[k] - p[axis], (ends[1] + 3 * k, ends[0] + 3 * axis, 3 * way)
            turn, lever = screw.cross_matrix(d[way]), screw.cross_matrix(arm)
            for value, by_arm, by_way in zip(np.cross(arm, d[way]), -turn, lever, strict=True):
                add(value, *zip(at, (by_arm, -by_arm, by_way), strict=True))
        return np.array(values), np.array(rows).reshape(-1, ends[-1])


class _Meeting(NamedTuple):
    """A point where axes and balls meet."""

    place: Point
    axes: list[Element]
    balls: list[EdgeId]


def elements(edges: Iterable[Edge]) -> list[Element]:
    """List the axes and slides of joints; balls and free joints have none of their own."""
    return [(e.index, k) for e in edges if not e.group for k in range(e.freedoms)]


def _ends(edges: Sequence[Edge]) -> dict[EdgeId, set[NodeId]]:
    """Return the two bodies of every joint; bodies welded together count as one."""
    body = DisjointSets({node for e in edges for node in (e.parent, e.child)})
    for e in edges:
        if not e.freedoms:
            body.union(e.parent, e.child)
    return {e.index: {body[e.parent], body[e.child]} for e in edges}


def _axes_and_points(
    edges: Sequence[Edge],
    ends: Mapping[EdgeId, set[NodeId]],
    screws: Mapping[EdgeId, Space],
    lines: Mapping[Element, tuple[Array, Point | None, float | None]],
    direction: Mapping[Element, tuple[int, float]],
    share: Iterable[tuple[Element, Element]],
    rtol: float,
) -> tuple[dict[Element, Element], list[_Meeting]]:
    """Return the first of the axes that coincide, by axis, and points where axes and balls meet."""
    same = DisjointSets[Element]()
    points: list[_Meeting] = []

    def meet(place: Point, axes: list[Element], balls: list[EdgeId]) -> None:
        new = _Meeting(place, axes, balls)
        for old in [*points]:
            touching = set(old.axes) & set(new.axes) or set(old.balls) & set(new.balls)
            if touching and np.linalg.norm(old.place - place) < rtol:
                points[:] = [point for point in points if point is not old]
                own = [*dict.fromkeys((*old.axes, *new.axes))]
                new = _Meeting(old.place, own, [*dict.fromkeys((*old.balls, *new.balls))])
        points.append(new)

    turning = {e: (way, point) for e, (way, point, _) in lines.items() if point is not None}
    for a, b in sorted(share):
        if a not in turning or b not in turning:
            continue
        (d1, p1), (d2, p2) = turning[a], turning[b]
        gap, normal = p2 - p1, np.cross(d1, d2)
        if direction[a][0] == direction[b][0]:
            if np.linalg.norm(np.cross(gap, d1)) < rtol:
                same.union(a, b)
        elif abs(gap @ normal) < rtol * np.linalg.norm(normal):
            along = np.cross(gap, d2) @ normal / (normal @ normal)
            meet(p1 + along * d1, [a, b], [])
    centers: dict[EdgeId, Point] = {}
    for edge in edges:
        if edge.joint.kind == "spherical":
            linear, turns = screws[edge.index][:3], screws[edge.index][3:]
            rows = np.vstack([screw.cross_matrix(w) for w in turns.T])
            center = np.linalg.lstsq(rows, linear.T.ravel(), rcond=None)[0]
            centers[edge.index] = -np.asarray(center, dtype=np.float64)
    for ball, center in centers.items():
        meet(center, [], [ball])
        for e, (way, point) in turning.items():
            near = np.linalg.norm(np.cross(center - point, way)) < rtol
            if near and ends[ball] & ends[e[0]]:
                meet(center, [e], [ball])
        for other, place in centers.items():
            near = np.linalg.norm(place - center) < rtol
            if other != ball and near and ends[ball] & ends[other]:
                meet(center, [], [ball, other])
    return {e: same[e] for e in turning}, points
