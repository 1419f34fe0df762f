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
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from regularize.adapters.shapes.meshes import load_mesh
from regularize.dynamics.pinocchio.robot import Robot
from regularize.errors import ModelError, ReadError
from regularize.lie.arrays import Array
from regularize.lie.screw import transform
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic

#: Vertices of a mesh that count at a time.
MOST = 8
#: Sine of the tilt of a cylinder below which no direction of its rim is the lowest.
UPRIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class TouchingShape:
    """A shape with points that may touch the plane.

    Attributes:
        extent: Distance of its farthest point from the origin of its frame, in m.
        count: How many points it has.
        places: Where they are, shape (count, 3), if its frame in the world is T, shape (4, 4).
    """

    extent: float
    count: int
    places: Callable[[Array], Array]

    @property
    def slots(self) -> int:
        """How many points count at a time."""
        return min(self.count, MOST)

    def lowest(self, T: Array) -> float:
        """Height in m of the lowest point."""
        return float(self.places(T)[:, 2].min())

    def near(self, T: Array, reach: float) -> tuple[NDArray[np.intp], Array]:
        """Numbers (c,) and places (c, 3) of the points that are lower than reach (m).

        Of many the lowest is taken, and those that are farthest apart.
        """
        places = self.places(T)
        found = np.flatnonzero(places[:, 2] < reach)
        near = places[found]
        if self.count <= MOST or not len(found):
            return found, near
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
    """Lower ends of balls: spheres, capsules; corners and vertices are balls of no radius."""

    def places(T: Array) -> Array:
        return np.asarray(centers @ T[:3, :3].T + T[:3, 3] - [0.0, 0.0, radius])

    return TouchingShape(
        float(np.linalg.norm(centers, axis=1).max()) + radius, len(centers), places
    )


def rims(radius: float, half: float) -> TouchingShape:
    """Of each rim of a cylinder of half a length the lowest point, and three at right angles."""

    def places(T: Array) -> Array:
        down = -T[2, :2]  # along the two axes of the disc
        length = float(np.linalg.norm(down))
        x, y = down / length if length > UPRIGHT else (1.0, 0.0)
        around = radius * np.array([(x, y), (-y, x), (-x, -y), (y, -x)])
        local = np.array([[*at, z] for z in (-half, half) for at in around])
        return np.asarray(local @ T[:3, :3].T + T[:3, 3])

    return TouchingShape(float(np.hypot(radius, half)), 8, places)


def ellipsoid(radii: Array) -> TouchingShape:
    """The lowest point of an ellipsoid, where the normal of its surface is vertical."""

    def places(T: Array) -> Array:
        down = -radii * T[2, :3]
        return np.asarray([T[:3, :3] @ (radii * down / np.linalg.norm(down)) + T[:3, 3]])

    return TouchingShape(float(radii.max()), 1, places)


@dataclass(frozen=True, eq=False, repr=False)
class TouchingPoints:
    """All points of a robot that may touch the plane.

    Attributes:
        shapes: What they belong to: the joint that carries it, its frame in the joint's, itself.
        bodies: Name of the body of every point.
        friction: Coefficient of friction of its shape, infinite where the file states none.
        findings: Shapes that had to be left out.
    """

    shapes: tuple[tuple[int, Array, TouchingShape], ...] = ()
    bodies: tuple[str, ...] = ()
    friction: Array = field(default_factory=lambda: np.zeros(0))
    findings: tuple[Diagnostic, ...] = ()

    @classmethod
    def of(cls, robot: Robot) -> TouchingPoints:
        """Those of the collision shapes of all bodies that move.

        Raises:
            ModelError: There is none.
        """
        mechanism = robot.reduction.mechanism
        shapes: list[tuple[int, Array, TouchingShape]] = []
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
                own = np.inf if shape.friction is None else shape.friction
                friction += [own] * touching.slots
        if not shapes:
            raise ModelError(
                "contacts need shapes that can touch, and no body that moves has one: give the "
                "feet a <collision> (URDF, SDF), a geom with contype (MJCF), or a collider (USD)"
            )
        return cls(tuple(shapes), tuple(bodies), np.array(friction), tuple(findings))

    def frames(self, poses: Array) -> Array:
        """Frames of the shapes in the world, from the poses of the joints' bodies, (S, 4, 4)."""
        return np.asarray(poses[self._carriers] @ self._local)

    @cached_property
    def _carriers(self) -> NDArray[np.intp]:
        return np.array([joint for joint, *_ in self.shapes], dtype=np.intp)

    @cached_property
    def _local(self) -> Array:
        return np.array([T for _, T, _ in self.shapes]).reshape(-1, 4, 4)

    @cached_property
    def extents(self) -> Array:
        """Distance of the farthest point of every shape from its centre, in m, shape (S,)."""
        return np.array([shape.extent for *_, shape in self.shapes])

    @cached_property
    def first(self) -> list[int]:
        """The first of the points of each shape."""
        return [0, *accumulate(shape.slots for *_, shape in self.shapes)]


def touching_shape(shape: Geometry, path: str | None) -> tuple[TouchingShape, Array]:
    """What of a shape may touch the plane, and its centre in the shape's frame, shape (3,).

    Raises:
        ReadError: A mesh is not found, or cannot be read.
    """
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
