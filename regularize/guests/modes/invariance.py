"""What the pieces of a loop leave unmoved: points, directions, planes and lines.

This is the invariance property matrix of Klein and Kecskeméthy, table 1, without its coordinate
planes: rotations about axes through one point leave that point, rotations about parallel axes and
translations leave directions, rotations about parallel axes and translations across them leave
planes, and rotations about and translations along one axis leave its line.

Between two segments of the loop, each of which leaves an element unmoved, some measure of the two
elements is the same seen along both ways around the loop. Where only one unknown lies on these
ways, it follows. To the squared distance of two points, the distance of a point from a plane and
the cosine between two directions (Klein and Kecskeméthy, eq. 4) are added the distance of a point
from a line and the moment of two lines. Where one unknown and one segment are all that is left, the
element is seen from both sides of the unknown motion, and the solution is unique.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.loop_chain import SNAP, ElementaryMotion, LoopChain
from regularize.lie import screw
from regularize.lie.arrays import Array, Point, Transform


@dataclass(frozen=True, eq=False)
class Element:
    """A point, a direction, an oriented plane or a line, of numbers or of symbolic quantities."""

    kind: str  # ``point``, ``direction``, ``plane`` or ``line``
    position: NDArray[Any] | None = None  # a point of it; None for a direction
    direction: NDArray[Any] | None = None  # or the normal of a plane; None for a point

    def carried_by(self, T: Transform, size: float) -> Element:
        """Return the element moved by a transform, entries near 0 or 1 made exact."""
        position, direction = self.position, self.direction
        if position is not None:
            position = T[:3, :3] @ position + T[:3, 3]
            position[np.abs(position) <= 4 * SNAP * size] = 0.0
        if direction is not None:
            direction = T[:3, :3] @ direction
            near = np.abs(direction - np.round(direction)) <= 2 * SNAP
            direction[near] = np.round(direction[near])
        return Element(self.kind, position, direction)


#: The point in which the axes of a spherical joint meet, and the directions of a frame.
CENTER, AXES = Element("point", np.zeros(3)), [Element("direction", None, e) for e in np.eye(3)]


@dataclass(frozen=True, eq=False)
class UnmovedSegment:
    """Motions i of a loop between frames 2 i and 2 i + 1, and an element that they do not move."""

    start: int  # its first motion
    length: int  # number of motions; zero for an element of one body
    base: Element  # in frame ``first``
    tip: Element  # in frame ``last``

    @property
    def first(self) -> int:
        """Frame in front of the segment."""
        return 2 * self.start

    @property
    def last(self) -> int:
        """Frame behind the segment, not reduced to one turn around the loop."""
        return 2 * (self.start + self.length) - (1 if self.length else 0)

    def members(self, m: int) -> int:
        """Return the segment's motions, in a loop of m, as a set of bits."""
        bits = ((1 << self.length) - 1) << self.start
        return (bits & ((1 << m) - 1)) | (bits >> m)


class Invariance:
    """All segments of a loop that leave an element unmoved, within ``rtol``."""

    def __init__(self, chain: LoopChain, rtol: float) -> None:
        self.chain, self.rtol = chain, rtol
        before = np.array([item.before for item in chain.items])
        after = np.array([item.after for item in chain.items])
        gap = after[-1] @ chain.links[-1] @ screw.inverse(before[0])
        self._before = np.concatenate([before, gap @ before])
        self._after = np.concatenate([after, gap @ after])
        self._into_before, self._into_after = map(screw.inverse, (self._before, self._after))
        self._axes, self._points = self._before[:, :3, 2], self._before[:, :3, 3]
        crossed = screw.cross(self._axes[:, None], self._axes)
        self._parallel = (np.sqrt(np.sum(crossed**2, axis=-1)) <= rtol).tolist()

    @cached_property
    def segments(self) -> tuple[UnmovedSegment, ...]:
        """Every segment with every element that it leaves unmoved; the longest first."""
        m, size, found = len(self.chain), self.chain.size, list[UnmovedSegment]()
        for start in range(m):
            for length in range(1, m):
                places = self._unmoved(start, start + length)
                if not places:
                    # Longer segments leave no more unmoved than what they consist of.
                    break
                base, tip = self._into_before[start], self._into_after[start + length - 1]
                for place in places:
                    ends = place.carried_by(base, size), place.carried_by(tip, size)
                    found.append(UnmovedSegment(start, length, *ends))
        return tuple(sorted(found, key=lambda segment: -segment.length))

    @cached_property
    def bodies(self) -> tuple[UnmovedSegment, ...]:
        """Segments without motions: origin and axes of the frame in front of each motion."""
        return tuple(
            UnmovedSegment(start, 0, place, place)
            for start in range(len(self.chain))
            for place in (CENTER, AXES[0], AXES[2])
        )

    @cached_property
    def members(self) -> tuple[tuple[UnmovedSegment, int, str], ...]:
        """Segments and bodies, each with its motions as a set of bits and its unmoved element."""
        m = len(self.chain)
        return tuple((s, s.members(m), s.base.kind) for s in (*self.segments, *self.bodies))

    def _unmoved(self, start: int, end: int) -> list[Element]:
        """Return points, lines and directions that motions ``start`` to ``end`` - 1 do not move."""
        items = [self.chain.items[i % len(self.chain)] for i in range(start, end)]
        kinds = [item.kind for item in items]
        turning = [i for i, kind in enumerate(kinds, start) if kind == "R"]
        sliding = [i for i, kind in enumerate(kinds, start) if kind == "P"]
        helical = any(item.pitch for item in items)
        if "F" in kinds:
            return []
        found: list[Element] = []
        if not sliding and not helical:
            centers = [i for i, kind in enumerate(kinds, start) if kind == "S"]
            points = self._common_points(turning, centers, start, end - 1)
            found += [Element("point", p) for p in points]
        if "S" in kinds:
            return found
        if not turning or all(self._parallel[turning[0]][i] for i in turning[1:]):
            first = [self._axes[turning[0]]] if turning else [*self._before[start, :3, :3].T]
            found += [Element("direction", None, d) for d in first]
            if not helical:
                found += self._planes(turning, sliding)
            found += self._lines(turning, sliding)
        return found

    def _common_points(
        self, turning: list[int], centers: list[int], first: int, last: int
    ) -> list[Point]:
        """Return the point of all axes and centres, or two points of an axis that all share."""
        tolerance = self.rtol * self.chain.size
        if centers:
            candidates = [self._points[centers[0]]]
        else:
            crossing = next((i for i in turning[1:] if not self._parallel[turning[0]][i]), None)
            if crossing is None:
                candidates = [self._points[first], self._after[last, :3, 3]]
                if np.linalg.norm(candidates[1] - candidates[0]) <= tolerance:
                    candidates = candidates[:1]
            else:
                candidates = [self._nearest(turning[0], crossing)]
        return [
            p
            for p in candidates
            if np.all(_lengths(self._points[centers] - p) <= tolerance)
            and np.all(self._distances(p - self._points[turning], turning) <= tolerance)
        ]

    def _planes(self, turning: list[int], sliding: list[int]) -> list[Element]:
        """Return the planes across all axes of turns and along all slides."""
        point = self._points[(turning or sliding)[0]]
        if turning:
            normals = [self._axes[turning[0]]]
        else:
            first, last = sliding[0], sliding[-1]
            other = next((i for i in sliding if not self._parallel[first][i]), None)
            if other is None:
                normals = [*self._before[first, :3, :2].T, *self._after[last, :3, :2].T]
            else:
                normals = [screw.unit(screw.cross(self._axes[first], self._axes[other]))]
        return [
            Element("plane", point, n)
            for n in normals
            if np.all(np.abs(self._axes[sliding] @ n) <= self.rtol)
        ]

    def _lines(self, turning: list[int], sliding: list[int]) -> list[Element]:
        """Return the line that is the axis of all motions."""
        if not turning or not all(self._parallel[turning[0]][i] for i in sliding):
            return []
        first = turning[0]
        off = self._distances(self._points[turning] - self._points[first], [first])
        if np.any(off > self.rtol * self.chain.size):
            return []
        return [Element("line", self._points[first], self._axes[first])]

    def _distances(self, gaps: Array, motions: list[int]) -> Array:
        """Return lengths of the gaps across the axes of some motions."""
        return _lengths(screw.cross(gaps, self._axes[motions]))

    def _nearest(self, i: int, k: int) -> Point:
        """Return the point of axis i nearest to axis k."""
        normal = screw.cross(self._axes[i], self._axes[k])
        gap = screw.cross(self._points[k] - self._points[i], self._axes[k])
        return np.asarray(self._points[i] + (gap @ normal) / (normal @ normal) * self._axes[i])


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.sqrt(np.sum(vectors**2, axis=-1)))


#: What is equated, by the kinds of the two elements.
MEASURES = {
    ("point", "point"): "distance between points",
    ("point", "plane"): "distance of a point from a plane",
    ("plane", "point"): "distance of a point from a plane",
    ("direction", "direction"): "angle between directions",
    ("line", "line"): "moment of two lines",
    ("point", "line"): "distance of a point from a line",
    ("line", "point"): "distance of a point from a line",
}


@dataclass(frozen=True, eq=False)
class LoopProjection:
    """An equation between elements of a loop that gives one unknown."""

    unknown: int  # index of the motion in the loop
    segments: tuple[UnmovedSegment, ...]  # two, or one that is seen from both sides
    measure: str  # what is equated, in words
    solutions: int
    cost: int  # number of motions that have to be computed with


def projections(invariance: Invariance, unknown: int) -> Iterator[LoopProjection]:
    """Yield all ways to find one of the unknowns, a set of bits; those of long segments first."""
    chain = invariance.chain
    m = len(chain)
    translations = sum(1 << i for i, item in enumerate(chain.items) if item.kind == "P")
    useful = [
        # Directions see no translations.
        (segment, members, unknown & ~translations if kind == "direction" else unknown, kind)
        for segment, members, kind in invariance.members
    ]
    for segment, members, relevant, kind in useful:
        left = relevant & ~members
        if left.bit_count() == 1:
            u = left.bit_length() - 1
            item = chain.items[u]
            seen = ("point", "direction", "line") if item.kind == "R" else ("point", "plane")
            if item.simple and kind in seen:
                cost = 2 * (m - segment.length - 1)
                yield LoopProjection(u, (segment,), f"seen {kind}", 1, cost)
    # Most segments share their motions with others: those are compared once.
    groups: dict[int, list[tuple[int, UnmovedSegment]]] = {}
    for i, (segment, members, _, _) in enumerate(useful):
        if segment.length == 1 or members & unknown:
            groups.setdefault(members, []).append((i, segment))
    pairs: list[tuple[int, int, UnmovedSegment, UnmovedSegment, int]] = []
    for (of_a, some), (of_b, others) in combinations(groups.items(), 2):
        rest = 0 if of_a & of_b else unknown & ~(of_a | of_b)
        for directional, left in ((False, rest), (True, rest & ~translations)):
            if left.bit_count() == 1:
                u = left.bit_length() - 1
                pairs += [
                    (i, k, a, b, u) if i < k else (k, i, b, a, u)
                    for i, a in some
                    for k, b in others
                    if (a.base.kind == "direction") == (b.base.kind == "direction") == directional
                ]
    for _, _, a, b, u in sorted(pairs, key=lambda pair: pair[:2]):
        kinds = a.base.kind, b.base.kind
        solutions = _solutions(chain.items[u], *kinds)
        if solutions and kinds in MEASURES:
            yield LoopProjection(u, (a, b), MEASURES[kinds], solutions, m - a.length - b.length - 1)


def _solutions(item: ElementaryMotion, a: str, b: str) -> int:
    """Count the solutions of an equation, 0 where it has not the form that is solved."""
    if not item.simple:
        return 0
    if item.kind == "R":
        return 2
    if "direction" in (a, b):
        return 0
    return 2 if {a, b} in ({"point"}, {"point", "line"}) else 1
