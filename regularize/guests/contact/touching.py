"""Points of collision shapes that may touch the plane z = 0.

A sphere or an ellipsoid has one, a capsule two, a box its corners. A cylinder has four on each
rim, the lowest among them, so that it rolls smoothly; of a mesh those vertices of its convex hull
count that are near the plane, and at most eight that lie far apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, product

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from regularize.adapters.shapes.meshes import load_mesh
from regularize.dynamics.pinocchio.robot import Robot
from regularize.errors import ModelError, ReadError
from regularize.lie.arrays import Array, Indices, Point, Transform
from regularize.lie.screw import transform
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic

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
        """Return numbers and places of points lower than ``reach``; of many, some far apart."""
        places = self.places(T)
        low = np.flatnonzero(places[:, 2] < reach)
        near = places[low]
        if self.count <= MOST or not len(low):
            return low, near
        # Equal heights and distances differ by rounding, which is not to choose.
        fine = 1e-9 * self.extent
        chosen, away = [int(np.argmin(np.round(near[:, 2] / fine)))], np.full(len(near), np.inf)
        while len(chosen) < min(MOST, len(near)):
            away = np.minimum(away, np.linalg.norm(near - near[chosen[-1]], axis=1))
            if away.max() <= 1e3 * fine:
                break
            chosen.append(int(np.argmax(np.round(away / fine))))
        return np.arange(len(chosen)), near[chosen]


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
