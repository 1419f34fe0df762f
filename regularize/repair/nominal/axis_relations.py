"""Relations of joint axes that a design means, and other lengths and angles that keep them.

Axes are parallel where they stay so in motion. What two joints of one body have in common never
changes: axes that meet, coincide or are at right angles, balls on axes. Everything else is a length
or an angle that could have been chosen otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY
from regularize.loops.projection import least_norm
from regularize.mechanism.graph import DisjointSets, Edge, EdgeId, NodeId
from regularize.mechanism.mechanism import Joint, Mechanism
from regularize.tolerances import ROUNDING, VANISHING

#: A joint and the number of one of its screws.
Element: TypeAlias = tuple[EdgeId, int]


@dataclass(frozen=True, eq=False)
class AxisGeometry:
    """Axes of joints as directions, points of axes and points where they meet.

    Attributes:
        directions: Unit vectors, shape (d, 3).
        points: A point of every axis, shape (p, 3).
        meeting: Points where axes meet, and centres of balls, shape (v, 3).
    """

    directions: Array
    points: Array
    meeting: Array


@dataclass(frozen=True, eq=False)
class AxisRelations:
    """Relations of the axes of some joints.

    Attributes:
        edges: The joints, by edge.
        screws: Their screws, lengths scaled, shape (6, f) each.
        geometry: How they are.
        direction: Number of the direction of every axis or slide, and its sign.
        axis: Number of the axis of every rotation.
        ball: Number of the centre of every ball joint among the meeting points.
        across: Pairs of directions at right angles.
        flat: Triples of directions of slides in one plane.
        through: Meeting points and the axes and directions through them.
    """

    edges: Mapping[EdgeId, Edge]
    screws: Mapping[EdgeId, Array]
    geometry: AxisGeometry
    direction: Mapping[Element, tuple[int, float]]
    axis: Mapping[Element, int]
    ball: Mapping[EdgeId, int]
    across: Sequence[tuple[int, int]]
    flat: Sequence[tuple[int, int, int]]
    through: Sequence[tuple[int, int, int]]

    @classmethod
    def of(
        cls, edges: Iterable[Edge], screws: Mapping[EdgeId, Array], moved: Array, rtol: float
    ) -> AxisRelations:
        """The relations that hold.

        Args:
            edges: The joints.
            screws: Scaled screws by edge at the assembled pose, shape (6, f) each.
            moved: Directions of all elements in the order of ``elements`` at some configurations,
                shape (N, elements, 3).
            rtol: Tolerance of geometric relations.
        """
        edges = list(edges)
        every = elements(edges)
        ends = _ends(edges)
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
        vectors = np.array([lines[every[f]][0] for f in classes]).reshape(-1, 3)
        sliding = sorted({direction[e][0] for e in slides})
        flat = [
            triple
            for triple in combinations(sliding, 3)
            if np.max(np.abs(np.linalg.det(moved[:, [classes[c] for c in triple]]))) < rtol
        ]
        axes, meeting = _axes_and_points(edges, ends, screws, lines, direction, share, rtol)
        numbers = list(dict.fromkeys(axes.values()))
        points = [lines[e][1] for e in numbers]
        return cls(
            edges={e.index: e for e in edges},
            screws=screws,
            geometry=AxisGeometry(
                vectors,
                np.array(points, dtype=np.float64).reshape(-1, 3),
                np.array([m.place for m in meeting], dtype=np.float64).reshape(-1, 3),
            ),
            direction=direction,
            axis={e: numbers.index(a) for e, a in axes.items()},
            ball={b: k for k, m in enumerate(meeting) for b in m.balls},
            across=[(a, b) for a, b in sorted(across)],
            flat=flat,
            through=sorted(
                {
                    (k, numbers.index(axes[e]), direction[e][0])
                    for k, m in enumerate(meeting)
                    for e in m.axes
                }
            ),
        )

    def parallel(self) -> list[list[EdgeId]]:
        """Edges whose axes or slides are parallel, three at least, the largest groups first."""
        found: dict[int, list[EdgeId]] = {}
        for (e, _), (number, _) in self.direction.items():
            found.setdefault(number, []).append(e)
        return sorted((g for g in found.values() if len(g) > 2), key=len, reverse=True)

    def redrawn(self, rng: np.random.Generator) -> Mechanism:
        """A mechanism of these joints with other lengths and angles and the same relations."""
        g = self.geometry
        drawn = self._related(
            AxisGeometry(
                g.directions + 0.3 * rng.normal(size=g.directions.shape),
                g.points + 0.2 * rng.normal(size=g.points.shape),
                g.meeting + 0.2 * rng.normal(size=g.meeting.shape),
            )
        )
        return Mechanism.of_joints("other lengths", [self._joint(e, drawn) for e in self.edges])

    def _joint(self, e: EdgeId, drawn: AxisGeometry) -> Joint:
        """A joint as it was drawn, between bodies whose frames coincide."""
        edge = self.edges[e]
        kind, screws, frame = "composite", np.zeros((6, edge.freedoms)), IDENTITY
        if edge.group:
            kind, screws = edge.joint.kind, edge.screws
        if e in self.ball:
            frame = screw.transform(None, drawn.meeting[self.ball[e]])
        for k in range(edge.freedoms if not edge.group else 0):
            number, sign = self.direction[e, k]
            way = sign * drawn.directions[number]
            _, point, pitch = screw.axis_of(self.screws[e][:, k])
            slides = point is None or pitch is None
            screws[:, k] = (
                screw.prismatic(way)
                if slides
                else screw.helical(way, drawn.points[self.axis[e, k]], pitch or 0.0)
            )
        welded = not edge.freedoms
        return Joint(
            f"{e}",
            f"{edge.parent}",
            f"{edge.child}",
            "fixed" if welded else kind,
            screws,
            frame,
            frame,
            closure=welded,
        )

    def _related(self, drawn: AxisGeometry) -> AxisGeometry:
        """The nearest geometry that keeps the relations, by Newton's method."""
        shapes = [drawn.directions.shape, drawn.points.shape, drawn.meeting.shape]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        x = np.concatenate([drawn.directions.ravel(), drawn.points.ravel(), drawn.meeting.ravel()])
        for _ in range(30):
            parts = np.split(x, ends[:-1])
            d, p, v = (part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
            values, rows = self._equations(d, p, v, len(x), ends)
            if np.max(np.abs(values), initial=0.0) < ROUNDING:
                break
            x = x - least_norm(rows[None], values[None], VANISHING)[0]
        return AxisGeometry(d, p, v)

    def _equations(
        self, d: Array, p: Array, v: Array, size: int, ends: Array
    ) -> tuple[Array, Array]:
        """Relations as equations, and their derivatives."""
        values: list[float] = []
        rows: list[Array] = []

        def add(value: float, *terms: tuple[int, Array]) -> None:
            row = np.zeros(size)
            for start, term in terms:
                row[start : start + 3] += term
            values.append(value)
            rows.append(row)

        for i, way in enumerate(d):
            add(0.5 * (way @ way - 1.0), (3 * i, way))
        for i, j in self.across:
            add(d[i] @ d[j], (3 * i, d[j]), (3 * j, d[i]))
        for i, j, k in self.flat:
            a, b, c = d[i], d[j], d[k]
            add(
                a @ np.cross(b, c),
                (3 * i, np.cross(b, c)),
                (3 * j, np.cross(c, a)),
                (3 * k, np.cross(a, b)),
            )
        for k, axis, way in self.through:
            arm = v[k] - p[axis]
            turn, lever = screw.cross_matrix(d[way]), screw.cross_matrix(arm)
            for value, by_arm, by_way in zip(np.cross(arm, d[way]), -turn, lever, strict=True):
                add(
                    value,
                    (ends[1] + 3 * k, by_arm),
                    (ends[0] + 3 * axis, -by_arm),
                    (3 * way, by_way),
                )
        return np.array(values), np.array(rows).reshape(-1, size)


@dataclass(frozen=True, eq=False)
class _Meeting:
    """A point where axes and balls meet."""

    place: Array
    axes: list[Element]
    balls: list[EdgeId]


def elements(edges: Iterable[Edge]) -> list[Element]:
    """The axes and slides of some joints; balls and free joints have none of their own."""
    return [(e.index, k) for e in edges if not e.group for k in range(e.freedoms)]


def _ends(edges: Sequence[Edge]) -> dict[EdgeId, set[NodeId]]:
    """The two bodies of every joint; what is welded together is one."""
    body = DisjointSets({node for e in edges for node in (e.parent, e.child)})
    for e in edges:
        if not e.freedoms:
            body.union(e.parent, e.child)
    return {e.index: {body[e.parent], body[e.child]} for e in edges}


def _axes_and_points(
    edges: Sequence[Edge],
    ends: Mapping[EdgeId, set[NodeId]],
    screws: Mapping[EdgeId, Array],
    lines: Mapping[Element, tuple[Array, Array | None, float | None]],
    direction: Mapping[Element, tuple[int, float]],
    share: Iterable[tuple[Element, Element]],
    rtol: float,
) -> tuple[dict[Element, Element], list[_Meeting]]:
    """Axes that coincide by the first of them, and the points where axes and balls meet."""
    same = DisjointSets[Element]()
    met: list[_Meeting] = []

    def meet(place: Array, axes: list[Element], balls: list[EdgeId]) -> None:
        new = _Meeting(place, axes, balls)
        for known in [*met]:
            touching = set(known.axes) & set(new.axes) or set(known.balls) & set(new.balls)
            if touching and np.linalg.norm(known.place - place) < rtol:
                met.remove(known)
                own = [*dict.fromkeys((*known.axes, *new.axes))]
                new = _Meeting(known.place, own, [*dict.fromkeys((*known.balls, *new.balls))])
        met.append(new)

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
    centers = {e.index: _center(screws[e.index]) for e in edges if e.joint.kind == "spherical"}
    for ball, center in centers.items():
        meet(center, [], [ball])
        for e, (way, point) in turning.items():
            near = np.linalg.norm(np.cross(center - point, way)) < rtol
            if near and ends[ball] & ends[e[0]]:
                meet(center, [e], [ball])
        for other in centers:
            near = np.linalg.norm(centers[other] - center) < rtol
            if other != ball and near and ends[ball] & ends[other]:
                meet(center, [], [ball, other])
    return {e: same[e] for e in turning}, met


def _center(screws: Array) -> Array:
    """Centre of three screws without pitch."""
    rows = np.vstack([screw.cross_matrix(w) for w in screws[3:].T])
    return np.asarray(-np.linalg.lstsq(rows, screws[:3].T.ravel(), rcond=None)[0])
