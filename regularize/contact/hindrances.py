"""What may touch or stop at a configuration: rows on velocities, and what velocities they want.

What holds joints one by one: their bounds, and dry friction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.contact.ground import Ground
from regularize.contact.touching import TouchingPoints
from regularize.lie.screw import Array, cross_matrix
from regularize.mechanism.graph import coordinate_names
from regularize.pinocchio.library import pin
from regularize.pinocchio.robot import Robot
from regularize.simulation.loads import Loads
from regularize.statics.passive_joints import limits_of


@dataclass(frozen=True, eq=False, repr=False)
class JointStops:
    """Joint coordinates with bounds and with dry friction, those of closing joints among them.

    Attributes:
        robot: The robot.
        bounded: Which of the mechanism's coordinates have bounds, shape (bounded,).
        named: Names of all coordinates.
        lower: Their lower bounds, shape (bounded,).
        upper: Their upper bounds, shape (bounded,).
        rough: Which coordinates have dry friction, shape (rough,).
        friction: How much, in N m or N, shape (rough,).
        effort: Largest joint forces by velocities of the model, infinite where not stated, (nv,).
    """

    robot: Robot = field(repr=False)
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
        robot = self.robot
        step = pin.difference(robot.model, pin.neutral(robot.model), q)
        x: Array = robot.states.coordinates(robot.passive.coordinates, q[None], step[None])[0]
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


#: A shape in contact or one of its points, a bound by its coordinate and its side, or dry friction.
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
        stops: Bounds and dry friction of its joints.
        ground: What it stands on.
        points: What may touch the ground; None where nothing is to.
        h: Length of a step in s.
    """

    stops: JointStops
    ground: Ground
    points: TouchingPoints | None
    h: float

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.stops.robot

    @cached_property
    def fall(self) -> float:
        """What free fall adds to speeds in one step, in m/s."""
        return self.h * (float(np.linalg.norm(self.robot.reduction.mechanism.gravity)) or 1.0)

    @cached_property
    def friction(self) -> Array:
        """Coefficient of friction of every point, shape (points,)."""
        return np.minimum(self.points.friction if self.points else [], self.ground.friction)

    @cached_property
    def data(self) -> Any:
        """Pinocchio's data of the robot's model."""
        return self.robot.model.createData()


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows on velocities.

    Attributes:
        keys: What they are of: contacts by their points, three rows each in world axes, then stops.
        matrix: Shape (m, nv).
        wanted: Velocities that they have at least, shape (m,).
        places: Where the contacts are, shape (c, 3).
        boxes: Bounds of the stops' impulses, shape (m - 3 c, 2).
    """

    keys: Sequence[Key]
    matrix: Array
    wanted: Array
    places: Array
    boxes: Array

    @property
    def contacts(self) -> list[int]:
        """Which points touch."""
        return [key[1] for key in self.keys[: len(self.places)]]

    def split(self, values: Array) -> dict[Key, Array]:
        """Values of the rows (m,) by what they are of."""
        count = 3 * len(self.places)
        parts = [*values[:count].reshape(-1, 3), *values[count:, None]]
        return dict(zip(self.keys, parts, strict=True))

    def joined(self, parts: Mapping[Key, Array]) -> Array:
        """Values of the rows from those of their keys, zero for others, shape (m,)."""
        sizes = [3] * len(self.places) + [1] * len(self.boxes)
        known = zip(self.keys, sizes, strict=True)
        return np.concatenate([np.zeros(0), *(parts.get(k, np.zeros(n)) for k, n in known)])


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
        if self.around.points is not None:
            self._frames = self._frames_at(self.q)
        self._reach: dict[int, float] = {}

    def _frames_at(self, q: Array) -> Array:
        assert self.around.points is not None
        return self.around.points.frames(self.around.robot.states.poses(q))

    def met(self, velocity: Array) -> set[Key]:
        """What a velocity (nv,) leads to within a step."""
        around, h = self.around, self.around.h
        found: set[Key] = {("rough", k, 0) for k in range(len(around.stops.rough))}
        speeds = self.rates[around.stops.bounded] @ velocity
        closer = self.gaps + h * np.column_stack([speeds, -speeds])
        found |= {("bound", k, s) for k, s in np.argwhere(closer < 0.0).tolist()}
        points, least = around.points, around.fall * h
        if points is None:
            return found
        frames = self._frames_at(pin.integrate(around.robot.model, self.q, h * velocity))
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
        around, stops = self.around, self.around.stops
        named, boxes = list[Key](), list[tuple[float, float]]()
        pin.computeJointJacobians(around.robot.model, around.data, self.q)
        matrix, wanted, places = [np.zeros((0, len(self.v)))], list[float](), [np.zeros((0, 3))]
        for key in sorted(keys, key=lambda key: (key[0] != "contact", key)):
            kind, k, side = key
            if kind == "contact":
                points, touched, rates = self._touching(k)
                named += points
                matrix.append(rates.reshape(-1, len(self.v)))
                wanted += self._rising(touched[:, 2], rates[:, 2] @ self.v).ravel().tolist()
                places.append(touched)
                continue
            named.append(key)
            if kind == "bound":
                matrix.append((-1.0 if side else 1.0) * self.rates[stops.bounded[k]][None])
                wanted.append(min(-float(self.gaps[k, side]) / around.h, RETURNING))
                boxes.append((0.0, np.inf))
            else:
                most = around.h * float(stops.friction[k])
                matrix.append(self.rates[stops.rough[k]][None])
                wanted.append(0.0)
                boxes.append((-most, most))
        bounds = np.array(boxes).reshape(-1, 2)
        return Rows(named, np.vstack(matrix), np.array(wanted), np.vstack(places), bounds)

    def _touching(self, k: int) -> tuple[list[Key], Array, Array]:
        """Points of a shape within reach, where they are, and their velocities by velocities.

        The last two have the shapes (c, 3) and (c, 3, nv).
        """
        points, around = self.around.points, self.around
        assert points is not None
        joint, _, shape = points.shapes[k]
        numbers, places = shape.near(self._frames[k], self._reach[k])
        model, frame = around.robot.model, pin.ReferenceFrame.WORLD
        twist = pin.getJointJacobian(model, around.data, joint, frame)
        rates = twist[:3] - cross_matrix(places) @ twist[3:]
        return [("point", points.first[k] + i, 0) for i in numbers], places, rates

    def _rising(self, heights: Array, speeds: Array) -> Array:
        """The least velocities of points in a step, which ends above the ground, shape (c, 3)."""
        around, wanted = self.around, np.zeros((len(heights), 3))
        wanted[:, 2] = np.minimum(-heights / around.h, PARTING * around.fall)
        if bounce := around.ground.restitution:
            hard = (speeds < -SOFTLY * around.fall) & (heights + around.h * speeds < 0.0)
            wanted[hard, 2] = -bounce * speeds[hard]
        return wanted
