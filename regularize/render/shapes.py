"""The shapes that a model gives its bodies, as meshes. Files are opened here and nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from trimesh import creation

from regularize.model.mechanism import Geometry

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
        found = _find(geometry.uri or "", model)
        if found is None:
            return None
        loaded = _load(found)
        if loaded is None:
            return None
        mesh = loaded.copy()
        mesh.apply_scale(np.broadcast_to(size, 3) if len(size) else 1.0)
    mesh.apply_transform(geometry.T_body_geometry)
    return mesh


def _find(uri: str, model: str | None) -> Path | None:
    """The mesh file of ``package://name/path``, ``file://path``, ``model://`` or a plain path."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        scheme, rest = "", uri
    base = Path(model).resolve().parent if model else Path.cwd()
    return next((path for path in _candidates(scheme, rest, base) if path.is_file()), None)


def _candidates(scheme: str, rest: str, base: Path) -> Iterator[Path]:
    yield Path(rest) if Path(rest).is_absolute() else base / rest
    if scheme in ("package", "model"):
        inside = Path(*Path(rest).parts[1:])
        for folder in (base, *base.parents):
            yield folder / rest
            yield folder / inside


@lru_cache(maxsize=256)
def _load(path: Path) -> Any:
    try:
        mesh = trimesh.load_mesh(path)
    except Exception as error:  # loaders of other people's files fail in any way they like
        _log.warning("%s: the mesh cannot be read (%s); a bar is drawn instead", path, error)
        return None
    if len(mesh.faces) == 0:
        _log.warning("%s: the mesh has no triangles; a bar is drawn instead", path)
        return None
    if len(mesh.faces) > MOST_TRIANGLES:
        return mesh.convex_hull
    return mesh
