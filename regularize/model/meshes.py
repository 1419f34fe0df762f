"""Files of shapes: where a model's URIs lead, triangles of meshes, and shapes of CAD systems."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from regularize.errors import MissingExtra, ReadError
from regularize.input_files import check_regular
from regularize.model import solids
from regularize.model.body import Geometry
from regularize.model.exchange_files import shape_file
from regularize.model.solids import CadShape

#: Mesh formats that need another package, its module and the extra that brings it.
EXTRAS = {".dae": ("collada", "meshes"), ".zae": ("collada", "meshes")}
#: Suffixes of USD stages, whose meshes are prims.
STAGES = (".usd", ".usda", ".usdc", ".usdz")
#: Between an archive and its member in a URI.
INSIDE = "#"


def cad_shape(uri: str, path: str | None) -> CadShape | None:
    """The shape of a CAD system that a URI means; None where it means a mesh.

    Args:
        uri: A file as the model names it, ``archive.FCStd#member`` for a shape that FreeCAD stores,
            ``#member`` for one in the model's own file.
        path: The model file.

    Raises:
        ReadError: The file is not found, or cannot be read.
        MissingExtra: OpenCASCADE is not installed.
    """
    archive, inside, member = uri.partition(INSIDE)
    if inside and member.lower().endswith(solids.STORED):
        file = find_mesh(archive, path) if archive or path is None else Path(path)
        if not file.is_file():
            raise ReadError(str(file), "is not there any more, and with it the shape")
        return _member(file, member, file.stat().st_mtime_ns)
    if not uri.lower().endswith(solids.SUFFIXES):
        return None
    return shape_file(find_mesh(uri, path))


@lru_cache(maxsize=256)
def _member(file: Path, member: str, _saved: int, largest: int = 2**27) -> CadShape:
    """A shape stored in an archive, which may be saved again meanwhile; at most 128 MB of it."""
    name = f"{file}/{member}"
    try:
        with zipfile.ZipFile(file) as archive, archive.open(member) as stream:
            data = stream.read(largest + 1)
    except (KeyError, zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as error:
        raise ReadError(name, f"cannot be read ({error})") from error
    if len(data) > largest:
        raise ReadError(name, f"unpacks to more than {largest} bytes; not read for safety")
    return solids.stored_shape(data, name)


def load_mesh(shape: Geometry, path: str | None) -> Any:
    """The mesh of a shape as one ``trimesh.Trimesh``, scaled to metres.

    Raises:
        ReadError: The file is not found, or cannot be read.
        MissingExtra: Its format needs a package that is not installed.
    """
    uri = shape.uri or ""
    found = cad_shape(uri, path)
    if found is not None:
        mesh = found.mesh()
    elif uri.startswith("/") and path is not None and Path(path).suffix.lower() in STAGES:
        mesh = _of_stage(uri, path)
    else:
        mesh = _triangles(find_mesh(uri, path))
    mesh.apply_transform(np.diag([*np.broadcast_to(shape.size, 3), 1.0]))
    return mesh


def _of_stage(prim: str, path: str) -> Any:
    """The mesh of a prim of a USD stage, in the prim's own frame and units."""
    import trimesh

    try:
        from pxr import Usd, UsdGeom
    except ImportError as error:
        raise MissingExtra(Path(path).name, "usd-core", "usd") from error
    stage = Usd.Stage.Open(path)
    found = UsdGeom.Mesh(stage.GetPrimAtPath(prim))
    if not found or not found.GetPointsAttr().Get():
        raise ReadError(path, f"the mesh `{prim}` has no points there")
    corners = np.asarray(found.GetFaceVertexIndicesAttr().Get() or [])
    counts = np.asarray(found.GetFaceVertexCountsAttr().Get() or [])
    starts = np.cumsum(counts) - counts
    # A polygon is a fan of triangles about its first corner.
    fans = [
        corners[[start, start + k, start + k + 1]]
        for start, count in zip(starts, counts, strict=True)
        for k in range(1, count - 1)
    ]
    points = np.asarray(found.GetPointsAttr().Get(), dtype=np.float64)
    return trimesh.Trimesh(points, np.reshape(fans, (-1, 3)))


def _triangles(file: Path) -> Any:
    import trimesh  # loaded where there is a mesh to read

    suffix = file.suffix.lower()
    module, extra = EXTRAS.get(suffix, ("trimesh[easy]", "meshes"))
    check_regular(str(file))
    try:
        loaded = trimesh.load(file, force="scene")
    except ImportError as error:
        raise MissingExtra(f"{file.name} ({suffix})", module, extra) from error
    # Loaders of other people's files fail in any way they like.
    except Exception as error:
        if suffix in EXTRAS and not _installed(module):
            raise MissingExtra(f"{file.name} ({suffix})", module, extra) from error
        reason = " ".join(str(error).split())
        raise ReadError(str(file), f"is not a mesh that can be read: {reason[:120]}") from error
    return loaded.to_mesh() if hasattr(loaded, "to_mesh") else loaded


def _installed(module: str) -> bool:
    import trimesh

    return bool(trimesh.util.has_module(module))


def find_mesh(uri: str, path: str | None) -> Path:
    """The file that a mesh URI means, beside the model or in the folders above it.

    Raises:
        ReadError: There is none.
    """
    found = next((file for file in _candidates(uri, path) if file.is_file()), None)
    if found is None:
        raise ReadError(
            path or uri,
            f"the mesh `{uri}` is not found beside the model or in the folders above it",
        )
    return found


def _candidates(uri: str, path: str | None, levels: int = 5) -> Iterator[Path]:
    """Where the file may be: also in that many folders above the model."""
    name = unquote(uri.split("://", 1)[-1]).lstrip("/") if "://" in uri else uri
    base = Path(path).resolve().parent if path is not None else Path.cwd()
    if os.path.isabs(name):
        yield Path(name)
    if uri.startswith("file://"):
        yield Path("/" + name)
    tails = [name]
    if "://" in uri and "/" in name:
        tails.append(name.split("/", 1)[1])  # the package's own folder
    for folder in (base, *[*base.parents][:levels]):
        yield from (folder / tail for tail in tails)
