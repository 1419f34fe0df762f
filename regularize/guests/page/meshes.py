"""Meshes that drawings are made of: bars, arrows, rings, joints. All lengths in metres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from regularize.errors import ReadError
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.body import Geometry
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.tolerances import UNNOTICED, UNSEEN

#: Sides of round things: enough to look round at the size of a joint; half of them do where thin.
SECTIONS = 12


@dataclass(frozen=True, eq=False)
class Surface:
    """Corners, shape (V, 3), and triangles of them, shape (F, 3)."""

    vertices: Array
    faces: Any

    @property
    def bounds(self) -> Array:
        """Least and largest coordinates of its corners, shape (2, 3)."""
        return np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    @property
    def triangles(self) -> Array:
        """Its triangles' corners, shape (F, 3, 3)."""
        return np.asarray(self.vertices[self.faces])

    @property
    def diagonal(self) -> float:
        """Diagonal of its box."""
        return float(np.linalg.norm(np.ptp(self.bounds, axis=0)))

    def moved(self, T: Array) -> Surface:
        """Return it in another frame."""
        return Surface(self.vertices @ T[:3, :3].T + T[:3, 3], self.faces)


def joined(surfaces: Sequence[Surface]) -> Surface:
    """Return several surfaces as one."""
    first = np.cumsum([0, *(len(each.vertices) for each in surfaces[:-1])])
    faces = [each.faces + k for each, k in zip(surfaces, first, strict=True)]
    return Surface(np.vstack([each.vertices for each in surfaces]), np.vstack(faces))


def bar(start: Array, end: Array, radius: float) -> Surface:
    """Return a round bar between two points that lie apart."""
    return _turned(np.array([start, end]), [(0, radius), (1, radius)], SECTIONS)


def ball(center: Array, radius: float) -> Surface:
    """Return a sphere, which stands for a spherical joint."""
    t = np.linspace(-0.5, 0.5, 9) * np.pi
    points = center + radius * np.outer(np.sin(t), np.eye(3)[2])
    return _turned(points, [*enumerate(radius * np.cos(t).round(12))], SECTIONS)


def block(center: Array, axis: Array, length: float, width: float) -> Surface:
    """Return a square bar along an axis, which stands for a slide."""
    half, radius = 0.5 * length * screw.unit(axis), width / np.sqrt(2)
    return _turned(np.array([center - half, center + half]), [(0, radius), (1, radius)], 4)


def along(axis: Array) -> Array:
    """Return a rotation whose third column is the axis."""
    e = screw.unit(axis)
    first, second = perpendiculars(e)
    return np.column_stack([first, second, e])


def arrow(
    start: Array, axis: Array, length: float, radius: float, *, both: bool = False
) -> Surface:
    """Return an arrow along an axis; with two heads it is centred at ``start``."""
    e = screw.unit(axis)
    head = min(6.0 * radius, 0.4 * length)
    first, last = (-0.5 * length if both else 0.0), (0.5 * length if both else length)
    points = start + np.array([first, first + head, last - head, last])[:, None] * e
    tail = [(0, 0.0), (1, 2.6 * radius), (1, radius)] if both else [(0, radius)]
    return _turned(points, [*tail, (2, radius), (2, 2.6 * radius), (3, 0.0)], SECTIONS)


def path(points: Array, radius: float) -> Surface | None:
    """Return a bent arrow through points, shape (n, 3); None where they coincide."""
    far = np.linalg.norm(np.diff(points, axis=0), axis=1) > UNSEEN * radius
    points = points[np.concatenate([[True], far])]
    if len(points) < 2:
        return None
    points = np.vstack([points, points[-1] + 6.0 * radius * screw.unit(points[-1] - points[-2])])
    last = len(points) - 1
    head = [(last - 1, 2.6 * radius), (last, 0.0)]
    return _turned(points, [*((i, radius) for i in range(last)), *head], SECTIONS // 2)


def ring(center: Array, axis: Array, radius: float, thickness: float) -> Surface:
    """Return a turned arrow about an axis, most of a circle with two heads."""
    R = along(axis)
    angles = np.linspace(0.15 * np.pi, 1.85 * np.pi, 25)
    circle = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))]) * radius
    points = circle @ R.T + center
    first, last = (
        points[i] + 6.0 * thickness * screw.unit(points[i] - points[j])
        for i, j in ((0, 1), (-1, -2))
    )
    wide, count = 2.6 * thickness, len(points)
    body = [(i, thickness) for i in range(1, count + 1)]
    profile = [(0, 0.0), (1, wide), *body, (count, wide), (count + 1, 0.0)]
    return _turned(np.vstack([first, points, last]), profile, SECTIONS // 2)


def force(center: Array, direction: Array, size: float) -> Surface:
    """Return a straight double arrow: the sign for a force that nothing determines."""
    return arrow(center, direction, size, 0.021 * size, both=True)


def moment(center: Array, axis: Array, size: float) -> Surface:
    """Return a ring within a sphere of this diameter: the sign for an undetermined moment."""
    return ring(center, axis, 0.36 * size, 0.0173 * size)


def pedestal(tip: Array, up: Array, height: float) -> Surface:
    """Return a pyramid on a plate, on which a joint on the ground stands."""
    low = tip - height * screw.unit(up)
    stand = np.array([low, low + 0.95 * height * screw.unit(up)])
    plate = block(low, up, 0.15 * height, 2.2 * height)
    return joined([_turned(stand, [(0, 0.6 * height), (1, 0.0)], 4), plate])


def _turned(points: Array, profile: Sequence[tuple[int, float]], sections: int) -> Surface:
    """Return a surface of revolution about a line of points (n, 3) that may bend."""
    steps = np.diff(points, axis=0)
    ways = steps / np.linalg.norm(steps, axis=1)[:, None]
    sums = np.vstack([ways[:1], ways[:-1] + ways[1:], ways[-1:]])
    first = along(ways[0])[:, 0]
    frames = []
    for way, after in zip(sums, np.vstack([ways, ways[-1:]]), strict=True):
        axis = screw.unit(way if np.linalg.norm(way) > UNNOTICED else after)
        side = first - (first @ axis) * axis
        first = screw.unit(side) if np.linalg.norm(side) > UNNOTICED else along(axis)[:, 0]
        frames.append([first, np.cross(axis, first)])
    angles = np.arange(sections) * 2 * np.pi / sections
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    which, radii = zip(*profile, strict=True)
    rings = points[list(which), None] + np.array(radii)[:, None, None] * (
        circle @ np.array(frames)[list(which)]
    )
    here = np.arange(sections)
    after = np.roll(here, -1)
    faces = []
    for k, (a, b) in enumerate(pairwise(radii)):
        low, high = sections * k, sections * (k + 1)
        if a > 0.0:
            faces.append(np.column_stack([low + here, low + after, high + here]))
        if b > 0.0:
            faces.append(np.column_stack([low + after, high + after, high + here]))
    fan = np.column_stack([np.zeros(sections - 2, dtype=int), here[1:-1], here[2:]])
    if radii[0] > 0.0:
        faces.append(fan[:, ::-1])
    if radii[-1] > 0.0:
        faces.append(sections * (len(radii) - 1) + fan)
    return Surface(rings.reshape(-1, 3), np.concatenate(faces))


def mesh_of(geometry: Geometry, model: str | None) -> Surface:
    """Return the mesh of a shape in the body frame; its file is searched for from the model's."""
    from trimesh import creation  # slow to load, and many models have no shapes

    size = geometry.size
    if geometry.kind == "box":
        mesh = creation.box(size)
    elif geometry.kind in ("sphere", "ellipsoid"):
        mesh = creation.icosphere(subdivisions=2)
        mesh.apply_scale(np.broadcast_to(size, 3))
    elif geometry.kind == "cylinder":
        mesh = creation.cylinder(float(size[0]), float(size[1]), sections=24)
    elif geometry.kind == "capsule":
        mesh = creation.capsule(float(size[1]), float(size[0]), count=(12, 12))
    else:
        mesh = _load(geometry.uri or "", tuple(np.broadcast_to(size, 3)), model)
    surface = Surface(np.asarray(mesh.vertices), np.asarray(mesh.faces))
    return surface.moved(geometry.T_body_geometry)


@lru_cache(maxsize=256)
def _load(uri: str, scale: tuple[float, ...], model: str | None) -> Any:
    """Read a mesh file and simplify it, once for each scale."""
    from regularize.adapters.shapes.meshes import load_mesh  # with all that shapes take

    mesh = load_mesh(Geometry("mesh", np.array(scale), uri=uri), model)
    if len(mesh.faces) == 0:
        raise ReadError(uri, "the mesh has no triangles")
    return decimated(mesh, 20_000)


def decimated(mesh: Any, most: int) -> Any:
    """Simplify a mesh to a number of triangles by merging the corners in each cell of a grid."""
    if len(mesh.faces) <= most:
        return mesh
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    coarse, fine = 1.0, 4096.0  # cells along the longest edge of the box
    best = clustered(vertices, faces, coarse)
    while fine > 1.05 * coarse:
        middle = float(np.sqrt(coarse * fine))
        found = clustered(vertices, faces, middle)
        if len(found[1]) <= most:
            coarse, best = middle, found
        else:
            fine = middle
    return Surface(*best)


def clustered(vertices: Array, faces: Any, cells: float) -> tuple[Array, Any]:
    """Merge corners (V, 3) by cells of a grid; return them and the triangles that remain."""
    low = vertices.min(axis=0)
    step = float(np.max(np.ptp(vertices, axis=0))) / cells or 1.0
    keys = np.floor((vertices - low) / step).astype(np.int64)
    _, cluster = np.unique(keys, axis=0, return_inverse=True)
    cluster = cluster.reshape(-1)
    counts = np.bincount(cluster)
    merged = np.column_stack([np.bincount(cluster, vertices[:, i]) / counts for i in range(3)])
    left = cluster[faces]
    a, b, c = left.T
    left = left[(a != b) & (b != c) & (c != a)]
    _, first = np.unique(np.sort(left, axis=1), axis=0, return_index=True)
    return merged, left[np.sort(first)]
