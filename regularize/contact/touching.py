"""Points of collision shapes that may touch the plane z = 0.

A sphere or an ellipsoid has one, a capsule two, a box its corners. A cylinder has four on each
rim, the lowest among them, so that it rolls smoothly; of a mesh those vertices of its convex hull
count that are near the plane, and at most eight that lie far apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from regularize.errors import ModelError, ReadError
from regularize.lie.screw import Array, transform
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic
from regularize.pinocchio.robot import Robot
from regularize.shapes.meshes import load_mesh

#: Vertices of a mesh that count at a time.
MOST = 8
#: Sine of the tilt of a cylinder below which no direction of its rim is the lowest.
UPRIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class Balls:
    """Points at the lower end of balls: spheres, capsules; corners are balls of no radius.

    Attributes:
        centers: In the frame of the shape, shape (slots, 3).
        radius: In m.
    """

    centers: Array
    radius: float

    @property
    def slots(self) -> int:
        """One for each ball."""
        return len(self.centers)

    @cached_property
    def extent(self) -> float:
        """Distance of the farthest point from the origin of the frame."""
        return float(np.linalg.norm(self.centers, axis=1).max()) + self.radius

    def lowest(self, T: Array) -> float:
        """Height in m of the lowest of the balls; T is their frame in the world, shape (4, 4)."""
        return float((self.centers @ T[2, :3]).min() + T[2, 3] - self.radius)

    def points(self, T: Array, reach: float) -> Array:
        """The lowest points of the balls, shape (slots, 3), whether within reach (m) or not."""
        lowest = self.centers @ T[:3, :3].T + T[:3, 3] - [0.0, 0.0, self.radius]
        return np.asarray(lowest)


@dataclass(frozen=True, eq=False)
class Rims:
    """Points on the two rims of a cylinder.

    Attributes:
        radius: In m.
        half: Half its length in m.
    """

    radius: float
    half: float
    slots = 8

    @cached_property
    def extent(self) -> float:
        """Distance of the rims from the centre of the frame."""
        return float(np.hypot(self.radius, self.half))

    def lowest(self, T: Array) -> float:
        """Height of the lowest point of both rims."""
        return float(T[2, 3] - self.half * abs(T[2, 2]) - self.radius * np.hypot(*T[2, :2]))

    def points(self, T: Array, reach: float) -> Array:
        """The lowest point of each rim, and three more at right angles."""
        down = -T[2, :2]  # along the two axes of the disc
        length = float(np.linalg.norm(down))
        x, y = down / length if length > UPRIGHT else (1.0, 0.0)
        around = self.radius * np.array([(x, y), (-y, x), (-x, -y), (y, -x)])
        local = [[*at, z] for z in (-self.half, self.half) for at in around]
        return np.asarray(np.array(local) @ T[:3, :3].T + T[:3, 3])


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """The lowest point of an ellipsoid.

    Attributes:
        radii: Along its axes in m, shape (3,).
    """

    radii: Array
    slots = 1

    @cached_property
    def extent(self) -> float:
        """The longest of the radii."""
        return float(self.radii.max())

    def lowest(self, T: Array) -> float:
        """Height of the lowest point."""
        return float(T[2, 3] - np.linalg.norm(self.radii * T[2, :3]))

    def points(self, T: Array, reach: float) -> Array:
        """That point, where the normal of the surface is vertical, shape (1, 3)."""
        down = -self.radii * T[2, :3]
        return np.asarray([T[:3, :3] @ (self.radii * down / np.linalg.norm(down)) + T[:3, 3]])


@dataclass(frozen=True, eq=False)
class Hull:
    """Vertices of a convex hull.

    Attributes:
        vertices: From the middle of their bounding box, shape (n, 3).
    """

    vertices: Array

    @property
    def slots(self) -> int:
        """All vertices where they are few."""
        return min(len(self.vertices), MOST)

    @cached_property
    def extent(self) -> float:
        """Half the diagonal of their bounding box, whose middle is the origin."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)) / 2)

    def lowest(self, T: Array) -> float:
        """Height of the lowest vertex."""
        return float((self.vertices @ T[2, :3]).min() + T[2, 3])

    def points(self, T: Array, reach: float) -> Array:
        """The lowest vertex, and of those within reach the ones farthest from each other.

        What is beyond, or not chosen, is not a number.
        """
        found = np.full((self.slots, 3), np.nan)
        height = self.vertices @ T[2, :3] + T[2, 3]
        near = np.flatnonzero(height < reach)
        if not len(near):
            return found
        places = self.vertices[near] @ T[:3, :3].T + T[:3, 3]
        # Equal heights differ by rounding, which is not to choose.
        rounded = np.round(height[near] / (1e-9 * self.extent))
        chosen = [int(np.argmin(rounded))]
        away = np.full(len(near), np.inf)
        while len(chosen) < min(self.slots, len(near)):
            away = np.minimum(away, np.linalg.norm(places - places[chosen[-1]], axis=1))
            if away.max() <= 1e-6 * self.extent:
                break
            chosen.append(int(np.argmax(np.round(away / (1e-9 * self.extent)))))
        found[: len(chosen)] = places[chosen]
        return found


#: A shape with points that may touch the plane: ``slots`` at most; half its size is ``extent``.
TouchingShape: TypeAlias = Balls | Rims | Ellipsoid | Hull


@dataclass(frozen=True, eq=False, repr=False)
class TouchingPoints:
    """All points of a robot that may touch the plane.

    Attributes:
        shapes: What they belong to: the joint that carries it, its frame in the joint's, itself.
        bodies: Name of the body of every point.
        joints: The joint that carries it, shape (points,).
        friction: Coefficient of friction of its shape, infinite where the file states none.
        findings: Shapes that had to be left out.
    """

    shapes: tuple[tuple[int, Array, TouchingShape], ...]
    bodies: tuple[str, ...]
    joints: NDArray[np.intp]
    friction: Array
    findings: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, robot: Robot) -> TouchingPoints:
        """Those of the collision shapes of all bodies that move.

        Raises:
            ModelError: There is none.
        """
        mechanism = robot.reduction.mechanism
        shapes: list[tuple[int, Array, TouchingShape]] = []
        findings, bodies, joints = list[Diagnostic](), list[str](), list[int]()
        friction = list[float]()
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
                joints += [joint] * touching.slots
                own = np.inf if shape.friction is None else shape.friction
                friction += [own] * touching.slots
        if not shapes:
            raise ModelError(
                "contacts need shapes that can touch, and no body that moves has one: give the "
                "feet a <collision> (URDF, SDF), a geom with contype (MJCF), or a collider (USD)"
            )
        at = np.array(joints, dtype=np.intp)
        return cls(tuple(shapes), tuple(bodies), at, np.array(friction), tuple(findings))

    def frames(self, poses: Array) -> Array:
        """Frames of the shapes in the world, from the poses of the joints' bodies, (S, 4, 4)."""
        carriers, local = self._placements
        return np.asarray(poses[carriers] @ local)

    @cached_property
    def _placements(self) -> tuple[NDArray[np.intp], Array]:
        """The joints that carry the shapes, and the shapes' frames in theirs."""
        return np.array([joint for joint, *_ in self.shapes]), np.array(
            [T for _, T, _ in self.shapes]
        )

    @cached_property
    def extents(self) -> Array:
        """Distance of the farthest point of every shape from its centre, in m, shape (S,)."""
        return np.array([shape.extent for *_, shape in self.shapes])

    @cached_property
    def slots(self) -> list[slice]:
        """Which of the points each shape has."""
        ends = np.cumsum([0, *(shape.slots for *_, shape in self.shapes)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]


def touching_shape(shape: Geometry, path: str | None) -> tuple[TouchingShape, Array]:
    """What of a shape may touch the plane, and its centre in the shape's frame, shape (3,).

    Raises:
        ReadError: A mesh is not found, or cannot be read.
    """
    size, origin = [float(x) for x in shape.size], np.zeros(3)
    if shape.kind == "box":
        return Balls(np.array(list(product(*([-x / 2, x / 2] for x in size)))), 0.0), origin
    if shape.kind == "sphere":
        return Balls(np.zeros((1, 3)), size[0]), origin
    if shape.kind == "ellipsoid":
        return Ellipsoid(np.asarray(shape.size)), origin
    if shape.kind == "capsule":
        ends = np.array([[0.0, 0.0, -size[1] / 2], [0.0, 0.0, size[1] / 2]])
        return Balls(ends, size[0]), origin
    if shape.kind == "cylinder":
        return Rims(size[0], size[1] / 2), origin
    vertices = np.asarray(load_mesh(shape, path).vertices, dtype=np.float64)
    try:
        vertices = vertices[ConvexHull(vertices).vertices]
    except (QhullError, ValueError):  # flat, or a few points: all of them count
        vertices = np.unique(vertices, axis=0)
    center = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    return Hull(vertices - center), center
