"""One-sided constraints of a step: points on the ground, joints at their bounds, dry friction."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.loads import Loads
from regularize.guests.contact import Ground
from regularize.guests.contact.touching import TouchingPoints
from regularize.lie.arrays import (
    Array,
    Configuration,
    Coordinates,
    Indices,
    Jacobian,
    Mask,
    Point,
    Torque,
    Transform,
    Velocity,
)
from regularize.lie.screw import cross_matrix
from regularize.mechanism.graph import coordinate_names
from regularize.repair.statics.passive_joints import limits_of

#: Overlaps are parted with at most this many times the speed that free fall gains in a step.
PARTING = 4.0
#: Largest rate in rad/s or m/s at which joints return that are beyond their bounds.
RETURNING = 1.0
#: Points up to this part of a shape's size above the ground are taken into account.
NEAR = 0.02
#: Impacts slower than this many times the speed that free fall gains in a step do not bounce.
SOFTLY = 3.0


@dataclass(frozen=True, eq=False, repr=False)
class JointStops:
    """Bounds, then dry friction, of single joint coordinates; one entry of each array per stop."""

    robot: Robot = field(repr=False)
    columns: Indices  # coordinate of the mechanism that it stops
    signs: Array  # 1 for lower bounds and dry friction, -1 for upper bounds
    places: Array  # where the bound is, NaN for dry friction
    boxes: Array  # least and largest force, shape (stops, 2)
    effort: Torque  # largest force of the motors, infinite where the model states none

    @classmethod
    def of(cls, robot: Robot, limits: bool) -> JointStops:
        """Collect the stops of a robot; bounds and efforts only if ``limits``."""
        mechanism, friction = robot.reduction.mechanism, robot.passive.joints.friction
        sides = np.array([limits_of(mechanism, key) for key in ("lower", "upper")])
        counted = np.isfinite(sides) & limits
        for edge in robot.reduction.graph.edges:
            if edge.group:  # rotation vectors, which have no bounds one by one
                counted[:, list(edge.columns)] = False
        side, bounded = np.nonzero(counted)
        rough, effort = np.flatnonzero(friction), np.full(robot.nv, np.inf)
        columns = robot.passive.coordinates.columns
        if limits:
            plain = columns >= 0
            effort[plain] = limits_of(mechanism, "effort")[columns[plain]]
        return cls(
            robot,
            np.concatenate([bounded, rough]),
            np.concatenate([1.0 - 2.0 * side, np.ones(len(rough))]),
            np.concatenate([sides[counted], np.full(len(rough), np.nan)]),
            np.concatenate(
                [np.tile([0.0, np.inf], (len(bounded), 1)), np.outer(friction[rough], [-1.0, 1.0])]
            ),
            effort,
        )

    @cached_property
    def rough(self) -> Mask:
        """Which stops are dry friction."""
        return np.isnan(self.places)

    @cached_property
    def bounded(self) -> Indices:
        """Which of the mechanism's coordinates have bounds, in order."""
        return np.unique(self.columns[~self.rough])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bounded coordinates."""
        names = coordinate_names(self.robot.reduction.mechanism)
        return tuple(names[i] for i in self.bounded)

    def limit_forces(self, forces: Array) -> Array:
        """Return the forces on bounded coordinates from the forces of all stops."""
        total = np.zeros(self.robot.reduction.graph.freedoms)
        np.add.at(total, self.columns, np.where(self.rough, 0.0, self.signs * forces))
        return total[self.bounded]

    def applied(self, loads: Loads, t: float, q: Configuration, v: Velocity) -> Torque:
        """Return all forces from outside, with motors cut off at their efforts."""
        total, effort = loads.applied(t, q, v), self.effort
        if not np.isfinite(effort).any():
            return total
        motors = loads.constant + loads.of_functions(t, q, v)
        return np.asarray(total - motors + np.clip(motors, -effort, effort))

    def rates(self, q: Configuration) -> Jacobian:
        """Return the rates of the mechanism's coordinates by velocities, shape (n, nv).

        Rows of closing joints are filled in only where something acts on them.
        """
        passive = self.robot.passive
        wanted = passive.joints.damping + passive.joints.stiffness
        wanted[self.columns] = 1.0
        return passive.rates(q, wanted)

    def rows(self, rates: Jacobian) -> Jacobian:
        """Return the rates of the distances from bounds, and of the coordinates with friction."""
        return np.asarray(self.signs[:, None] * rates[self.columns])

    def coordinates(self, q: Configuration, near: Coordinates | None = None) -> Coordinates:
        """Return the mechanism's coordinates; angles that are found up to turns lie near others."""
        robot = self.robot
        step = pin.difference(robot.model, pin.neutral(robot.model), q)
        x: Array = robot.states.coordinates(robot.passive.coordinates, q[None], step[None])[0]
        if near is not None and len(self._wrapped):
            turns = np.round((near - x)[self._wrapped] / (2 * np.pi))
            x[self._wrapped] += 2 * np.pi * turns
        return x

    def gaps(self, x: Coordinates) -> Array:
        """Return the distance from each bound, NaN for dry friction."""
        return np.asarray(self.signs * (x[self.columns] - self.places))

    @cached_property
    def _wrapped(self) -> Indices:
        """Bounded angles of closing joints, which poses give up to whole turns only."""
        graph = self.robot.reduction.graph
        turning = np.zeros(graph.freedoms, dtype=bool)
        for edge in graph.edges:
            turning[list(edge.columns)] = np.any(edge.screws[3:], axis=0)
        closing = np.isin(self.bounded, self.robot.constraints.closing_columns)
        return self.bounded[closing & turning[self.bounded]]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Ground and joint stops of a robot, for steps of a fixed length."""

    stops: JointStops
    ground: Ground
    points: TouchingPoints
    h: float  # length of a step in s

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
        """Coefficient of friction of every point."""
        return np.minimum(self.points.friction, self.ground.friction)

    @cached_property
    def data(self) -> Any:
        """Pinocchio's data of the robot's model."""
        return self.robot.model.createData()

    def frames(self, q: Configuration) -> Transform:
        """Return the frames of the shapes in the world, one each."""
        poses = self.robot.states.poses(q) if self.points.shapes else np.zeros((1, 4, 4))
        return self.points.frames(poses)


@dataclass(frozen=True, eq=False)
class StepRows:
    """Rows on velocities: three for each contact along the world's axes, one for each stop."""

    matrix: Jacobian
    wanted: Array  # least velocity of each row
    contacts: Indices  # which points touch, shape (c,)
    places: Point  # where, shape (c, 3)
    stops: Indices  # which stops follow, shape (m - 3 c,)


class StepConstraints:
    """Finds which shapes and stops a step from one state can meet, and their rows."""

    def __init__(
        self,
        around: Surroundings,
        q: Configuration,
        v: Velocity,
        stop_rows: Jacobian,
        stop_gaps: Array,
    ) -> None:
        self._around, self._q, self._v = around, q, v
        self._stop_rows, self._stop_gaps = stop_rows, stop_gaps
        self._frames = around.frames(q)
        self._reach = np.zeros(len(self._frames))

    def met(self, velocity: Velocity) -> Mask:
        """Tell which shapes touch, then which stops act, if the step is made with a velocity."""
        around, h = self._around, self._around.h
        shapes, least = around.points.shapes, around.fall * h
        touching = np.zeros(len(shapes), dtype=bool)
        frames = around.frames(pin.integrate(around.robot.model, self._q, h * velocity))
        for k in np.flatnonzero(frames[:, 2, 3] - around.points.extents < least).tolist():
            shape = shapes[k][2]
            low = shape.lowest(frames[k])
            touching[k] = low < least
            if touching[k] and not self._reach[k]:
                now = shape.lowest(self._frames[k])
                near = 2.0 * max(0.0, now - low) + PARTING * least + NEAR * shape.extent
                self._reach[k] = max(near, now + near)
        # Dry friction has no distance: it always acts.
        return np.concatenate([touching, ~(self._stop_gaps + h * self._stop_rows @ velocity >= 0)])

    def rows(self, met: Mask) -> StepRows:
        """Return the rows of some shapes and stops, chosen as by ``met``."""
        around, model, points = self._around, self._around.robot.model, self._around.points
        shapes, nv = met[: len(points.shapes)], len(self._v)
        stops = np.flatnonzero(met[len(shapes) :])
        contacts, places = [np.zeros(0, dtype=np.intp)], [np.zeros((0, 3))]
        rates = [np.zeros((0, 3, nv))]
        if shapes.any():
            pin.computeJointJacobians(model, around.data, self._q)
        for k in np.flatnonzero(shapes).tolist():
            joint, _, shape = points.shapes[k]
            numbers, near = shape.near(self._frames[k], float(self._reach[k]))
            twist = pin.getJointJacobian(model, around.data, joint, pin.ReferenceFrame.WORLD)
            contacts.append(points.first[k] + numbers)
            places.append(near)
            rates.append(twist[:3] - cross_matrix(near) @ twist[3:])
        touched, of_points = np.concatenate(places), np.concatenate(rates)
        rising = self._rising(touched[:, 2], of_points[:, 2] @ self._v)
        back = np.minimum(-self._stop_gaps[stops] / around.h, RETURNING)
        back[around.stops.rough[stops]] = 0.0
        return StepRows(
            np.concatenate([of_points.reshape(-1, nv), self._stop_rows[stops]]),
            np.concatenate([rising.ravel(), back]),
            np.concatenate(contacts),
            touched,
            stops,
        )

    def _rising(self, heights: Array, speeds: Array) -> Array:
        """Return the least velocities of points that end the step above the ground, (c, 3)."""
        around, wanted = self._around, np.zeros((len(heights), 3))
        wanted[:, 2] = np.minimum(-heights / around.h, PARTING * around.fall)
        if bounce := around.ground.restitution:
            hard = (speeds < -SOFTLY * around.fall) & (heights + around.h * speeds < 0.0)
            wanted[hard, 2] = -bounce * speeds[hard]
        return wanted
