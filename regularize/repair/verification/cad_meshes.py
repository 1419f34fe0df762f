"""Shapes of CAD files as mesh files, which engines open: STL beside the file that is written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from regularize.adapters.registry import Adapter
from regularize.errors import MissingExtra, ReadError
from regularize.mechanism.body import Geometry
from regularize.mechanism.mechanism import Mechanism
from regularize.output_files import write_all
from regularize.repair.verification.comparison import INSIDE

#: Formats that name shapes inside of CAD files themselves, or open none.
KEEP = ("json", "usd")


@contextmanager
def shapes_as_meshes(mechanism: Mechanism, adapter: Adapter, target: Path) -> Iterator[Mechanism]:
    """Write shapes that lie in CAD files to ``NAME_meshes``; they go again if an error follows."""
    inside = [s for b in mechanism.bodies for s in b.geometry if _in_cad(s)]
    if not inside or adapter.name in KEEP or mechanism.format == "usd":
        yield mechanism
        return
    folder = target.parent / f"{target.stem}_meshes"
    suffix = ".stl" if not adapter.meshes or ".stl" in adapter.meshes else ".obj"
    made, was_there = list[Path](), folder.exists()
    try:
        bodies = []
        for body in mechanism.bodies:
            shapes = (_as_mesh(shape, mechanism, folder, suffix, made) for shape in body.geometry)
            bodies.append(replace(body, geometry=tuple(shapes)))
        yield replace(mechanism, bodies=tuple(bodies))
    except BaseException:
        for file in made:
            file.unlink(missing_ok=True)
        if not was_there and folder.exists():
            folder.rmdir()
        raise


def _in_cad(shape: Geometry) -> bool:
    """Return whether a shape is a member of a CAD file."""
    return shape.kind == "mesh" and INSIDE in (shape.uri or "")


def _as_mesh(
    shape: Geometry, mechanism: Mechanism, folder: Path, suffix: str, made: list[Path]
) -> Geometry:
    """Return a shape by a mesh file in metres, written if it is new; as it is if that fails."""
    if not _in_cad(shape):
        return shape
    try:
        from regularize.adapters.shapes.meshes import load_mesh  # with all that shapes take

        mesh = load_mesh(shape, mechanism.path)
    except (ReadError, MissingExtra):  # what is left out is a finding of the writer
        return shape
    data = mesh.export(file_type=suffix[1:])
    data = data.encode() if isinstance(data, str) else data
    member = re.sub(r"[^\w-]+", "_", Path(str(shape.uri).partition(INSIDE)[2]).stem)
    file = folder / f"{member}-{hashlib.sha256(data).hexdigest()[:8]}{suffix}"
    if not file.exists():
        folder.mkdir(exist_ok=True)
        write_all({file: data})
        made.append(file)
    return replace(shape, uri=str(file), size=np.ones(3))
