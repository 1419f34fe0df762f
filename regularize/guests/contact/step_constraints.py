"""One-sided constraints of a step: points on the ground, joints at their bounds, dry friction.

Of collision shapes those points count that may touch the plane z = 0: one of a sphere or an
ellipsoid, two of a capsule, the corners of a box. A cylinder has four on each rim, the lowest among
them, so that it rolls smoothly; of a mesh those vertices of its convex hull count that are near the
plane, and at most eight that lie far apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, product
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from regularize.adapters.shapes.meshes import load_mesh
from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.loads import Loads
from regularize.errors import ModelError, ReadError
from regularize.guests.contact import Ground
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
from regularize.lie.screw import cross_matrix, transform
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import coordinate_names
from regularize.repair.statics.passive_joints import limits_of, ranges_of

#: Vertices of a mesh that count at a time.
MOST = 8
#: Sine of the tilt of a cylinder below which no direction of its rim is the lowest.
UPRIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class TouchingShape:
    """A shape with points that may touch the plane."""

    extent: float  # from the origin of its frame to its farthest point, in m
    count: int  # number of its points
    places: Callable[[Transform], Point]  # where they are in the world, by its frame

    @property
    def slots(self) -> int:
        """Largest number of points that are taken into account at a time."""
        return min(self.count, MOST)

    def lowest(self, T: Transform) -> float:
        """Return the height in m of the lowest point."""
        return float(self.places(T)[:, 2].min())

    def near(self, T: Transform, reach: float) -> tuple[Indices, Point]:
        """Return indices and places of points lower than ``reach``, thinned out if many."""
        places = self.places(T)
        low = np.flatnonzero(places[:, 2] < reach)
        below = places[low]
        if self.count <= MOST or not len(low):
            return low, below
        # Equal heights and distances differ by rounding, which is not to choose.
        fine = 1e-9 * self.extent
        chosen, away = [int(np.argmin(np.round(below[:, 2] / fine)))], np.full(len(below), np.inf)
        while len(chosen) < min(MOST, len(below)):
            away = np.minimum(away, np.linalg.norm(below - below[chosen[-1]], axis=1))
            if away.max() <= 1e3 * fine:
                break
            chosen.append(int(np.argmax(np.round(away / fine))))
        return np.arange(len(chosen)), below[chosen]


def balls(centers: Array, radius: float) -> TouchingShape:
    """Make a shape of the lowest points of balls; corners and vertices are balls of no radius."""

    def places(T: Transform) -> Point:
        return np.asarray(centers @ T[:3, :3].T + T[:3, 3] - [0.0, 0.0, radius])

    return TouchingShape(
        float(np.linalg.norm(centers, axis=1).max()) + radius, len(centers), places
    )


def rims(radius: float, half: float) -> TouchingShape:
    """Make a cylinder of a half length: the lowest point of each rim, and three at right angles."""

    def places(T: Transform) -> Point:
        down = -T[2, :2]  # along the two axes of the disc
        length = float(np.linalg.norm(down))
        x, y = down / length if length > UPRIGHT else (1.0, 0.0)
        around = radius * np.array([(x, y), (-y, x), (-x, -y), (y, -x)])
        local = np.array([[*at, z] for z in (-half, half) for at in around])
        return np.asarray(local @ T[:3, :3].T + T[:3, 3])

    return TouchingShape(float(np.hypot(radius, half)), 8, places)


def ellipsoid(radii: Array) -> TouchingShape:
    """Make an ellipsoid, which touches where the normal of its surface is vertical."""

    def places(T: Transform) -> Point:
        down = -radii * T[2, :3]
        return np.asarray([T[:3, :3] @ (radii * down / np.linalg.norm(down)) + T[:3, 3]])

    return TouchingShape(float(radii.max()), 1, places)


@dataclass(frozen=True, eq=False, repr=False)
class TouchingPoints:
    """All points of a robot that may touch the plane."""

    #: The joint that carries a shape, the shape's frame in the joint's, and the shape.
    shapes: tuple[tuple[int, Transform, TouchingShape], ...] = ()
    bodies: tuple[str, ...] = ()  # body of every point
    friction: Array = field(default_factory=lambda: np.zeros(0))  # infinite where none is stated
    findings: tuple[Diagnostic, ...] = ()  # shapes that were left out

    @classmethod
    def of(cls, robot: Robot) -> TouchingPoints:
        """Collect the points of the collision shapes of all bodies that move."""
        mechanism = robot.reduction.mechanism
        shapes: list[tuple[int, Transform, TouchingShape]] = []
        findings, bodies, friction = list[Diagnostic](), list[str](), list[float]()
        for body in mechanism.bodies:
            joint, T_joint_body = robot.places.get(body.name, (0, np.eye(4)))
            for shape in body.geometry:
                if joint == 0 or not shape.collision:
                    continue
                try:
                    touching, center = touching_shape(shape, mechanism.path)
                except ReadError as error:
                    words = f"a shape of body `{body.name}` touches nothing: {error.reason}"
                    findings.append(Diagnostic("REG013", "warning", words, source=body.source))
                    continue
                T_body_center = shape.T_body_geometry @ transform(np.eye(3), center)
                shapes.append((joint, T_joint_body @ T_body_center, touching))
                bodies += [body.name] * touching.slots
                coefficient = np.inf if shape.friction is None else shape.friction
                friction += [coefficient] * touching.slots
        if not shapes:
            raise ModelError(
                "contacts need shapes that can touch, and no body that moves has one: give the "
                "feet a <collision> (URDF, SDF), a geom with contype (MJCF), or a collider (USD)"
            )
        return cls(tuple(shapes), tuple(bodies), np.array(friction), tuple(findings))

    def frames(self, poses: Transform) -> Transform:
        """Return the frames of the shapes in the world, from those of all joints."""
        joints, local = self._carriers
        return np.asarray(poses[joints] @ local)

    @cached_property
    def _carriers(self) -> tuple[Indices, Transform]:
        """The joint of every shape and its frame there, as arrays."""
        joints = np.array([joint for joint, *_ in self.shapes], dtype=np.intp)
        return joints, np.array([T for _, T, _ in self.shapes]).reshape(-1, 4, 4)

    @cached_property
    def extents(self) -> Array:
        """Distance of the farthest point of every shape from its centre, in m."""
        return np.array([shape.extent for *_, shape in self.shapes])

    @cached_property
    def first(self) -> list[int]:
        """Number of the first point of each shape."""
        return [0, *accumulate(shape.slots for *_, shape in self.shapes)]


def touching_shape(shape: Geometry, path: str | None) -> tuple[TouchingShape, Point]:
    """Return the points of a shape about its centre, and the centre in the shape's frame."""
    size, origin = [float(x) for x in shape.size], np.zeros(3)
    if shape.kind == "box":
        return balls(np.array(list(product(*([-x / 2, x / 2] for x in size)))), 0.0), origin
    if shape.kind == "sphere":
        return balls(np.zeros((1, 3)), size[0]), origin
    if shape.kind == "ellipsoid":
        return ellipsoid(np.array(size)), origin
    if shape.kind == "capsule":
        return balls(np.array([[0.0, 0.0, z * size[1] / 2] for z in (-1, 1)]), size[0]), origin
    if shape.kind == "cylinder":
        return rims(size[0], size[1] / 2), origin
    vertices = np.asarray(load_mesh(shape, path).vertices, dtype=np.float64)
    try:
        vertices = vertices[ConvexHull(vertices).vertices]
    except (QhullError, ValueError):  # flat, or a few points: all of them count
        vertices = np.unique(vertices, axis=0)
    center = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    return balls(vertices - center, 0.0), center


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
        sides = ranges_of(mechanism).T
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
        """Mask of the stops that are dry friction."""
        return np.isnan(self.places)

    @cached_property
    def bounded(self) -> Indices:
        """Columns of the mechanism's bounded coordinates, in increasing order."""
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
        """Return the rates of the coordinates by velocities (n, nv), of closing joints if used."""
        passive = self.robot.passive
        wanted = passive.joints.damping + passive.joints.stiffness
        wanted[self.columns] = 1.0
        return passive.rates(q, wanted)

    def rows(self, rates: Jacobian) -> Jacobian:
        """Return the rates of the distances from bounds, and of the coordinates with friction."""
        return np.asarray(self.signs[:, None] * rates[self.columns])

    def coordinates(self, q: Configuration, near: Coordinates | None = None) -> Coordinates:
        """Return the mechanism's coordinates, angles of cut joints to the turn near others."""
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
        turning = self.robot.reduction.graph.turning[self.bounded]
        closing = np.isin(self.bounded, self.robot.constraints.closing_columns)
        return self.bounded[closing & turning]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The ground and joint stops that a robot can meet in steps of a fixed length."""

    stops: JointStops
    ground: Ground
    points: TouchingPoints
    h: float  # length of a step in s

    @cached_property
    def fall(self) -> float:
        """Speed that free fall gains in one step, in m/s."""
        return self.h * (float(np.linalg.norm(self.stops.robot.reduction.mechanism.gravity)) or 1.0)

    @cached_property
    def friction(self) -> Array:
        """Coefficient of friction of every point."""
        return np.minimum(self.points.friction, self.ground.friction)

    @cached_property
    def data(self) -> Any:
        """Pinocchio's data of the robot's model."""
        return self.stops.robot.model.createData()

    def frames(self, q: Configuration) -> Transform:
        """Return the frames of the shapes in the world, one each."""
        poses = self.stops.robot.states.poses(q) if self.points.shapes else np.zeros((1, 4, 4))
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
        """Return which shapes touch and which stops act in a step with a velocity."""
        around, h = self._around, self._around.h
        shapes, least = around.points.shapes, around.fall * h
        touching = np.zeros(len(shapes), dtype=bool)
        frames = around.frames(pin.integrate(around.stops.robot.model, self._q, h * velocity))
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
        """Return the constraint rows of the chosen shapes and stops, ordered as in ``met``."""
        around, model, points = self._around, self._around.stops.robot.model, self._around.points
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
        matrix = np.concatenate([of_points.reshape(-1, nv), self._stop_rows[stops]])
        wanted = np.concatenate([rising.ravel(), back])
        return StepRows(matrix, wanted, np.concatenate(contacts), touched, stops)

    def _rising(self, heights: Array, speeds: Array) -> Array:
        """Return least velocities of points that end the step above ground, (c, 3)."""
        around, wanted = self._around, np.zeros((len(heights), 3))
        wanted[:, 2] = np.minimum(-heights / around.h, PARTING * around.fall)
        if bounce := around.ground.restitution:
            hard = (speeds < -SOFTLY * around.fall) & (heights + around.h * speeds < 0.0)
            wanted[hard, 2] = -bounce * speeds[hard]
        return wanted
