"""What may touch or stop at a configuration: rows on velocities, and what velocities they want."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.contact.ground import Ground
from regularize.contact.stops import JointStops
from regularize.contact.touching import TouchingPoints
from regularize.lie.screw import Array, cross_matrix
from regularize.pinocchio.robot import Robot

#: A contact by its shape, a bound by its coordinate and its side, or dry friction of a coordinate.
Key: TypeAlias = tuple[str, int, int]
#: What overlaps is parted with the speed of free fall in so many steps at most.
PARTING = 4.0
#: And joints beyond their bounds return at this rate at most, in rad/s or m/s.
RETURNING = 1.0
#: Part of its size by which a shape may be off the ground with points that count.
NEAR = 0.02
#: Impacts slower than free fall in so many steps do not bounce.
SOFTLY = 3.0


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Ground and stops of a robot.

    Attributes:
        robot: The robot.
        stops: Bounds and dry friction of its joints.
        ground: What it stands on.
        points: What may touch the ground; None where nothing is to.
        fall: What free fall adds to speeds in one step, in m/s.
        h: Length of a step in s.
    """

    robot: Robot = field(repr=False)
    stops: JointStops
    ground: Ground
    points: TouchingPoints | None
    fall: float
    h: float

    @cached_property
    def friction(self) -> Array:
        """Coefficient of friction of every point, shape (points,)."""
        if self.points is None:
            return np.zeros(0)
        return np.minimum(self.points.friction, self.ground.friction)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows on velocities.

    Attributes:
        matrix: Three rows for every contact, world axes, then one for every stop, shape (m, nv).
        wanted: Velocities that they have at least, shape (m,).
        contacts: Which points touch, shape (c,).
        places: Where, shape (c, 3).
        stops: Which bounds and dry friction follow, and on which side.
        boxes: Bounds of their impulses, shape (m - 3 c, 2).
    """

    matrix: Array
    wanted: Array
    contacts: NDArray[np.intp]
    places: Array
    stops: Sequence[Key]
    boxes: Array


@dataclass(eq=False)
class Hindrances:
    """What may touch or stop at a state.

    Attributes:
        around: Ground and stops.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        rates: Rates of joint coordinates by velocities, shape (n, nv).
        gaps: Distances from bounds, shape (bounded, 2).
    """

    around: Surroundings
    q: Array
    v: Array
    rates: Array
    gaps: Array

    def __post_init__(self) -> None:
        points = self.around.points
        if points is not None:
            self._frames = points.frames(self.around.robot.states.poses(self.q))
            self._lowest = points.lowest(self._frames)
        self._reach: dict[int, float] = {}
        self._twists: dict[int, Array] = {}

    def met(self, velocity: Array) -> set[Key]:
        """What a velocity (nv,) leads to within a step."""
        around, h = self.around, self.around.h
        found: set[Key] = {("rough", k, 0) for k in range(len(around.stops.rough))}
        speeds = self.rates[around.stops.bounded] @ velocity
        closer = self.gaps + h * np.column_stack([speeds, -speeds])
        found |= {("bound", int(k), int(s)) for k, s in np.argwhere(closer < 0.0)}
        points = around.points
        if points is None:
            return found
        ahead = around.robot.tree.space.integrate(self.q, h * velocity)
        low = points.lowest(points.frames(around.robot.states.poses(ahead)))
        for k in np.flatnonzero(low < around.fall * h).tolist():
            drop = max(0.0, float(self._lowest[k] - low[k]))
            near = 2.0 * drop + PARTING * around.fall * h + NEAR * points.shapes[k][2].extent
            self._reach.setdefault(k, max(near, self._lowest[k] + near))
            found.add(("contact", k, 0))
        return found

    def rows(self, keys: Collection[Key]) -> Rows:
        """The rows of some of them."""
        around = self.around
        self._look_at({k for kind, k, _ in keys if kind == "contact"})
        contacts, places = list[int](), list[Array]()
        blocks, wanted, stops = list[Array](), list[float](), list[Key]()
        boxes = list[tuple[float, float]]()
        for kind, k, side in sorted(keys, key=lambda key: (key[0] != "contact", key)):
            if kind == "contact":
                for index, place in self._touching(k):
                    block = self._block(k, place)
                    blocks.append(block)
                    wanted += [0.0, 0.0, self._rising(float(place[2]), float(block[2] @ self.v))]
                    contacts.append(index)
                    places.append(place)
                continue
            stops.append((kind, k, side))
            if kind == "bound":
                sign = -1.0 if side else 1.0
                blocks.append(sign * self.rates[around.stops.bounded[k]][None])
                wanted.append(self._parting(float(self.gaps[k, side]), RETURNING))
                boxes.append((0.0, np.inf))
            else:
                most = around.h * float(around.stops.friction[k])
                blocks.append(self.rates[around.stops.rough[k]][None])
                wanted.append(0.0)
                boxes.append((-most, most))
        return Rows(
            np.vstack([np.zeros((0, len(self.v))), *blocks]),
            np.array(wanted),
            np.array(contacts, dtype=np.intp),
            np.array(places).reshape(-1, 3),
            stops,
            np.array(boxes).reshape(-1, 2),
        )

    def _look_at(self, shapes: set[int]) -> None:
        """Find the twists of the bodies of shapes by velocities."""
        if self.around.points is None:
            return
        joints = {self.around.points.shapes[k][0] for k in shapes} - {*self._twists}
        pairs = [(0, joint) for joint in sorted(joints)]
        found = self.around.robot.states.each_between(self.q, pairs) if pairs else []
        self._twists.update(zip(sorted(joints), found, strict=True))

    def _touching(self, k: int) -> list[tuple[int, Array]]:
        """Points of a shape within reach, and where they are."""
        points, reach = self.around.points, self._reach[k]
        assert points is not None
        found = points.shapes[k][2].points(self._frames[k], reach)
        start = points.slots[k].start
        return [(start + i, place) for i, place in enumerate(found) if place[2] < reach]

    def _block(self, k: int, place: Array) -> Array:
        """Velocity of a point of a shape by velocities, shape (3, nv)."""
        assert self.around.points is not None
        twist = self._twists[self.around.points.shapes[k][0]]
        return np.asarray(twist[:3] - cross_matrix(place) @ twist[3:])

    def _rising(self, height: float, speed: float) -> float:
        """The least speed with which a point rises in a step."""
        around = self.around
        bounces = around.ground.restitution > 0 and speed < -SOFTLY * around.fall
        if bounces and height + around.h * speed < 0.0:
            return -around.ground.restitution * speed
        return self._parting(height, PARTING * around.fall)

    def _parting(self, gap: float, fastest: float) -> float:
        """The least speed of a distance in a step: it ends at zero, soon where it is less."""
        return min(-gap / self.around.h, fastest)
