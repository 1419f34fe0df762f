"""The shapes that a model gives its bodies, as meshes."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import numpy as np
from trimesh import creation

from regularize.errors import RegularizeError
from regularize.model.mechanism import Geometry
from regularize.model.meshes import load_mesh

#: Meshes with more triangles are drawn as their convex hulls.
MOST_TRIANGLES = 20_000

_log = logging.getLogger(__name__)


def mesh_of(geometry: Geometry, model: str | None) -> Any:
    """The shape in the body frame, or None where its file is missing or cannot be read.

    Args:
        geometry: The shape.
        model: The model file, from which mesh files are looked for.
    """
    size = geometry.size
    if geometry.kind == "box":
        mesh = creation.box(size)
    elif geometry.kind == "sphere":
        mesh = creation.icosphere(subdivisions=2, radius=float(size[0]))
    elif geometry.kind == "cylinder":
        mesh = creation.cylinder(float(size[0]), float(size[1]), sections=16)
    elif geometry.kind == "capsule":
        mesh = creation.capsule(float(size[1]), float(size[0]), count=(12, 12))
    else:
        loaded = _load(geometry.uri or "", tuple(np.broadcast_to(size, 3)), model)
        if loaded is None:
            return None
        mesh = loaded.copy()
    mesh.apply_transform(geometry.T_body_geometry)
    return mesh


@lru_cache(maxsize=256)
def _load(uri: str, scale: tuple[float, ...], model: str | None) -> Any:
    try:
        mesh = load_mesh(Geometry("mesh", np.array(scale), uri=uri), model)
    except RegularizeError as error:
        _log.warning("%s; a bar is drawn instead", error)
        return None
    if len(mesh.faces) == 0:
        _log.warning("%s: the mesh has no triangles; a bar is drawn instead", uri)
        return None
    if len(mesh.faces) > MOST_TRIANGLES:
        return mesh.convex_hull
    return mesh
