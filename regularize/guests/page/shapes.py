"""The shapes that a model gives its bodies, as meshes of few enough triangles to be drawn."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import trimesh
from trimesh import creation

from regularize.adapters.shapes.meshes import load_mesh
from regularize.errors import ReadError
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Geometry


def mesh_of(geometry: Geometry, model: str | None) -> Any:
    """The shape in the body frame; its file is looked for from the model's."""
    size = geometry.size
    if geometry.kind == "box":
        mesh = creation.box(size)
    elif geometry.kind == "sphere":
        mesh = creation.icosphere(subdivisions=2, radius=float(size[0]))
    elif geometry.kind == "ellipsoid":
        mesh = creation.icosphere(subdivisions=2)
        mesh.apply_scale(size)
    elif geometry.kind == "cylinder":
        mesh = creation.cylinder(float(size[0]), float(size[1]), sections=24)
    elif geometry.kind == "capsule":
        mesh = creation.capsule(float(size[1]), float(size[0]), count=(12, 12))
    else:
        mesh = _load(geometry.uri or "", tuple(np.broadcast_to(size, 3)), model).copy()
    mesh.apply_transform(geometry.T_body_geometry)
    return mesh


@lru_cache(maxsize=256)
def _load(uri: str, scale: tuple[float, ...], model: str | None) -> Any:
    mesh = load_mesh(Geometry("mesh", np.array(scale), uri=uri), model)
    if len(mesh.faces) == 0:
        raise ReadError(uri, "the mesh has no triangles")
    return decimated(mesh, 20_000)


def decimated(mesh: Any, most: int) -> Any:
    """The mesh with a number of triangles at most: corners that share a cell of a grid become one."""
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
    return trimesh.Trimesh(*best, process=False)


def clustered(vertices: Array, faces: Any, cells: float) -> tuple[Array, Any]:
    """Corners (V, 3) merged by cells of a grid, and the triangles (F, 3) that are left of a mesh."""
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
