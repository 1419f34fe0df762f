"""What the pieces of a loop leave unmoved: points, directions, planes and lines.

This is the invariance property matrix of Klein and Kecskeméthy, table 1, without its coordinate
planes: rotations about axes through one point leave that point, rotations about parallel axes and
translations leave directions, rotations about parallel axes and translations across them leave
planes, and rotations about and translations along one axis leave its line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regularize import screw
from regularize.closed_forms.axes import ROUNDING
from regularize.closed_forms.chain import Chain, Item
from regularize.screw import Array


@dataclass(frozen=True, eq=False)
class Place:
    """An element of the geometry in one frame.

    Attributes:
        kind: ``point``, ``direction``, ``plane`` or ``line``.
        position: A point of it in metres, shape (3,), or None.
        direction: Unit vector, shape (3,), or None.
    """

    kind: str
    position: Array | None
    direction: Array | None

    def seen_from(self, T: Array, size: float) -> Place:
        """The same element in the frame with the pose T, rounding removed."""
        inverse = screw.inverse(T)
        position, direction = self.position, self.direction
        if position is not None:
            position = inverse[:3, :3] @ position + inverse[:3, 3]
            position[np.abs(position) <= 4 * ROUNDING * size] = 0.0
        if direction is not None:
            direction = inverse[:3, :3] @ direction
            near = np.abs(direction - np.round(direction)) <= 2 * ROUNDING
            direction[near] = np.round(direction[near])
        return Place(self.kind, position, direction)


@dataclass(frozen=True, eq=False)
class Segment:
    """Consecutive motions of a loop and an element that they leave unmoved.

    Frames are counted around the loop: 2 i in front of motion i, 2 i + 1 behind it.

    Attributes:
        start: First motion.
        length: Number of motions; zero for an element of one body.
        base: The element in frame ``first``.
        tip: The element in frame ``last``.
    """

    start: int
    length: int
    base: Place
    tip: Place

    @property
    def first(self) -> int:
        """Frame in front of the segment."""
        return 2 * self.start

    @property
    def last(self) -> int:
        """Frame behind the segment, not reduced to one turn around the loop."""
        return 2 * (self.start + self.length) - (1 if self.length else 0)

    def members(self, m: int) -> frozenset[int]:
        """Indices of its motions in a loop of m."""
        return frozenset((self.start + k) % m for k in range(self.length))


class Invariance:
    """All segments of a loop that leave an element unmoved.

    Args:
        chain: The loop.
        rtol: Angles, and distances relative to the size of the loop, that count as none.
    """

    def __init__(self, chain: Chain, rtol: float) -> None:
        """Remember the loop."""
        self.chain, self.rtol = chain, rtol

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Every segment with every element that it leaves unmoved; the longest first."""
        m = len(self.chain)
        found = []
        for length in range(m - 1, 0, -1):
            for start in range(m):
                items = [self._unrolled(start + k) for k in range(length)]
                base, tip = items[0].before, items[-1].after
                found += [
                    Segment(
                        start,
                        length,
                        place.seen_from(base, self.chain.size),
                        place.seen_from(tip, self.chain.size),
                    )
                    for place in self._unmoved(items)
                ]
        return tuple(found)

    @cached_property
    def bodies(self) -> tuple[Segment, ...]:
        """A point and directions of each frame in front of a motion: segments without motions."""
        places = [Place("point", np.zeros(3), None)]
        places += [Place("direction", None, axis) for axis in np.eye(3)[[0, 2]]]
        return tuple(
            Segment(start, 0, place, place) for start in range(len(self.chain)) for place in places
        )

    @cached_property
    def _closing(self) -> Array:
        last, first = self.chain.items[-1], self.chain.items[0]
        return np.asarray(last.after @ self.chain.links[-1] @ screw.inverse(first.before))

    def _unrolled(self, index: int) -> Item:
        """Motion of the next turn around the loop, carried along by the gap of the loop."""
        m = len(self.chain)
        item = self.chain.items[index % m]
        if index < m:
            return item
        T = self._closing
        return replace(item, before=T @ item.before, after=T @ item.after)

    def _unmoved(self, items: list[Item]) -> list[Place]:
        turning = [item for item in items if item.kind == "R"]
        sliding = [item for item in items if item.kind == "P"]
        kinds = {item.kind for item in items}
        helical = any(item.pitch for item in turning)
        if "F" in kinds:
            return []
        found: list[Place] = []
        if not sliding and not helical:
            found += [Place("point", p, None) for p in self._common_points(items)]
        if "S" in kinds:
            return found
        axes = [item.axis for item in turning]
        if all(self._parallel(axes[0], axis) for axis in axes[1:]):
            directions = axes[:1] or [*items[0].before[:3, :3].T]
            found += [Place("direction", None, d) for d in directions]
            if not helical:
                found += self._planes(turning, sliding)
            found += self._lines(turning, sliding)
        return found

    def _common_points(self, items: list[Item]) -> list[Array]:
        """The point of all axes and centres; two points of an axis that all share."""
        centers = [item.point for item in items if item.kind == "S"]
        lines = [item for item in items if item.kind == "R"]
        tolerance = self.rtol * self.chain.size
        if centers:
            candidates = centers[:1]
        else:
            crossing = next(
                (i for i in lines[1:] if not self._parallel(lines[0].axis, i.axis)), None
            )
            if crossing is None:
                candidates = [items[0].point, items[-1].after[:3, 3]]
                if np.linalg.norm(candidates[1] - candidates[0]) <= tolerance:
                    candidates = candidates[:1]
            else:
                candidates = [_nearest(lines[0], crossing)]
        return [
            p
            for p in candidates
            if all(np.linalg.norm(c - p) <= tolerance for c in centers)
            and all(
                np.linalg.norm(np.cross(p - line.point, line.axis)) <= tolerance for line in lines
            )
        ]

    def _planes(self, turning: list[Item], sliding: list[Item]) -> list[Place]:
        point = (turning or sliding)[0].point
        if turning:
            normals = [turning[0].axis]
        else:
            first = sliding[0]
            other = next((i for i in sliding if not self._parallel(first.axis, i.axis)), None)
            if other is None:
                normals = [
                    first.before[:3, 0],
                    first.before[:3, 1],
                    sliding[-1].after[:3, 0],
                    sliding[-1].after[:3, 1],
                ]
            else:
                normals = [screw.unit(np.cross(first.axis, other.axis))]
        return [
            Place("plane", point, n)
            for n in normals
            if all(abs(float(n @ item.axis)) <= self.rtol for item in sliding)
        ]

    def _lines(self, turning: list[Item], sliding: list[Item]) -> list[Place]:
        if not turning:
            return []
        axis, point = turning[0].axis, turning[0].point
        tolerance = self.rtol * self.chain.size
        on_one = all(np.linalg.norm(np.cross(i.point - point, axis)) <= tolerance for i in turning)
        if on_one and all(self._parallel(axis, item.axis) for item in sliding):
            return [Place("line", point, axis)]
        return []

    def _parallel(self, a: Array, b: Array) -> bool:
        return bool(np.linalg.norm(np.cross(a, b)) <= self.rtol)


def _nearest(a: Item, b: Item) -> Array:
    """Point of axis a nearest to axis b."""
    normal = np.cross(a.axis, b.axis)
    s = float(np.cross(b.point - a.point, b.axis) @ normal) / float(normal @ normal)
    return np.asarray(a.point + s * a.axis)
