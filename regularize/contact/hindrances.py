"""What may touch or stop at a configuration: rows on velocities, and what velocities they want.

What holds joints one by one: their bounds, and dry friction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.contact.ground import Ground
from regularize.contact.touching import TouchingPoints
from regularize.lie.screw import Array, cross_matrix
from regularize.mechanism.graph import coordinate_names
from regularize.pinocchio import pin
from regularize.pinocchio.robot import Robot
from regularize.simulation.loads import Loads
from regularize.statics.passive_joints import limits_of


@dataclass(frozen=True, eq=False, repr=False)
class JointStops:
    """Joint coordinates with bounds and with dry friction, those of closing joints among them.

    Attributes:
        robot: The robot.
        limits: Whether bounds of positions and of joint forces are kept.
        bounded: Which of the mechanism's coordinates have bounds, shape (bounded,).
        named: Names of all coordinates.
        lower: Their lower bounds, shape (bounded,).
        upper: Their upper bounds, shape (bounded,).
        rough: Which coordinates have dry friction, shape (rough,).
        friction: How much, in N m or N, shape (rough,).
        effort: Largest joint forces by velocities of the model, infinite where not stated, (nv,).
    """

    robot: Robot = field(repr=False)
    limits: bool
    bounded: NDArray[np.intp]
    named: tuple[str, ...]
    lower: Array
    upper: Array
    rough: NDArray[np.intp]
    friction: Array
    effort: Array

    @classmethod
    def of(cls, robot: Robot, limits: bool) -> JointStops:
        """Those of a robot's joints.

        Args:
            robot: The robot.
            limits: Whether bounds count, of positions and of joint forces.
        """
        mechanism = robot.reduction.mechanism
        lower, upper = (limits_of(mechanism, key) for key in ("lower", "upper"))
        counted = (np.isfinite(lower) | np.isfinite(upper)) & limits
        for edge in robot.reduction.graph.edges:
            if edge.group:  # rotation vectors, which have no bounds one by one
                counted[list(edge.columns)] = False
        bounded, friction = np.flatnonzero(counted), robot.passive.joints.friction
        columns = robot.passive.coordinates.columns
        effort = np.full(robot.nv, np.inf)
        if limits:
            own = columns >= 0
            effort[own] = limits_of(mechanism, "effort")[columns[own]]
        return cls(
            robot,
            limits,
            bounded,
            coordinate_names(mechanism),
            lower[bounded],
            upper[bounded],
            np.flatnonzero(friction),
            friction[friction != 0.0],
            effort,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bounded coordinates."""
        return tuple(self.named[i] for i in self.bounded)

    def applied(self, loads: Loads, t: float, q: Array, v: Array) -> Array:
        """Joint forces from outside, those of motors within their efforts, shape (nv,)."""
        whole, effort = loads.applied(t, q, v), self.effort
        if not np.isfinite(effort).any():
            return whole
        motors = loads.constant + loads.of_functions(t, q, v)
        return np.asarray(whole - motors + np.clip(motors, -effort, effort))

    def rates(self, q: Array) -> Array:
        """Rates of joint coordinates by velocities, of closing joints the needed, (n, nv)."""
        passive = self.robot.passive
        wanted = passive.joints.damping + passive.joints.stiffness + passive.joints.friction
        wanted[self.bounded] = 1.0
        return passive.rates(q, wanted)

    def coordinates(self, q: Array, near: Array | None = None) -> Array:
        """The mechanism's coordinates at a configuration (nq,), shape (n,).

        Args:
            q: Configuration, shape (nq,).
            near: Those before: bounded angles of closing joints are counted on from there.
        """
        x: Array = self.robot.states.coordinates(self.robot.passive.coordinates, q[None])[0]
        if near is not None and len(self._wrapped):
            turns = np.round((near - x)[self._wrapped] / (2 * np.pi))
            x[self._wrapped] += 2 * np.pi * turns
        return x

    def gaps(self, x: Array) -> Array:
        """Distances of coordinates (n,) from bounds, lower and upper ones, shape (bounded, 2)."""
        at = x[self.bounded]
        return np.column_stack([at - self.lower, self.upper - at])

    @cached_property
    def _wrapped(self) -> NDArray[np.intp]:
        """Bounded coordinates that are angles known but for whole turns."""
        graph = self.robot.reduction.graph
        turns = np.zeros(graph.freedoms, dtype=bool)
        for edge in graph.edges:
            turns[list(edge.columns)] = np.any(edge.screws[3:], axis=0)
        closing = np.isin(self.bounded, self.robot.constraints.closing_columns)
        return self.bounded[closing & turns[self.bounded]]


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
    def data(self) -> Any:
        """Pinocchio's data of the robot's model."""
        return self.robot.model.createData()

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
        self._reach: dict[int, float] = {}

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
        ahead = pin.integrate(around.robot.model, self.q, h * velocity)
        frames, least = points.frames(around.robot.states.poses(ahead)), around.fall * h
        for k in np.flatnonzero(frames[:, 2, 3] - points.extents < least).tolist():
            shape = points.shapes[k][2]
            low = shape.lowest(frames[k])
            if low >= least:
                continue
            if k not in self._reach:
                now = shape.lowest(self._frames[k])
                near = 2.0 * max(0.0, now - low) + PARTING * least + NEAR * shape.extent
                self._reach[k] = max(near, now + near)
            found.add(("contact", k, 0))
        return found

    def rows(self, keys: Collection[Key]) -> Rows:
        """The rows of some of them."""
        around, nv = self.around, len(self.v)
        contacts, places, wanted, stops = list[int](), [np.zeros((0, 3))], list[float](), []
        blocks, boxes = [np.zeros((0, nv))], list[tuple[float, float]]()
        for key in sorted(keys, key=lambda key: (key[0] != "contact", key)):
            kind, k, side = key
            if kind == "contact":
                indices, touched = self._touching(k)
                rates = self._rates_at(k, touched)
                rising = [
                    self._rising(p[2], r[2] @ self.v) for p, r in zip(touched, rates, strict=True)
                ]
                wanted += [x for speed in rising for x in (0.0, 0.0, speed)]
                blocks.append(rates.reshape(-1, nv))
                contacts += indices
                places.append(touched)
                continue
            stops.append(key)
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
            np.vstack(blocks),
            np.array(wanted),
            np.array(contacts, dtype=np.intp),
            np.vstack(places),
            stops,
            np.array(boxes).reshape(-1, 2),
        )

    @cached_property
    def _located(self) -> Any:
        """Pinocchio's data with the twists of all joints by velocities."""
        model = self.around.robot.model
        data = self.around.data
        pin.computeJointJacobians(model, data, self.q)
        return data

    def _touching(self, k: int) -> tuple[list[int], Array]:
        """Numbers of the points of a shape within reach, and where they are, shape (c, 3)."""
        points, reach = self.around.points, self._reach[k]
        assert points is not None
        found = points.shapes[k][2].points(self._frames[k], reach)
        near = np.flatnonzero(found[:, 2] < reach)
        return [points.slots[k].start + int(i) for i in near], found[near]

    def _rates_at(self, k: int, places: Array) -> Array:
        """Velocities of points of a shape by velocities, shape (c, 3, nv)."""
        assert self.around.points is not None
        joint, model = self.around.points.shapes[k][0], self.around.robot.model
        twist = pin.getJointJacobian(model, self._located, joint, pin.ReferenceFrame.WORLD)
        return np.asarray(twist[:3] - cross_matrix(places) @ twist[3:])

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
