"""References to mesh files from the place of a new file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from regularize.adapters.registry import Adapter
from regularize.errors import ReadError
from regularize.model.body import Geometry
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Mechanism
from regularize.model.meshes import find_mesh

#: Between the file of a USD stage or of a CAD system and what is meant inside it.
INSIDE = "#"


def with_meshes_from(
    mechanism: Mechanism, adapter: Adapter, folder: Path, findings: list[Diagnostic]
) -> Mechanism:
    """The model with its meshes named as they are found from a folder.

    Adds a finding for each shape that the format cannot refer to, which is left out.
    """
    bodies = []
    for body in mechanism.bodies:
        shapes, left_out = [], set()
        for shape in body.geometry:
            if shape.kind != "mesh":
                shapes.append(shape)
                continue
            found = _reference(shape, mechanism, adapter, folder)
            if found is not None:
                shapes.append(replace(shape, uri=found))
                continue
            if shape.uri in left_out:
                continue  # seen and touched by the same mesh
            left_out.add(shape.uri)
            takes = ", ".join(sorted(adapter.meshes)) or "files"
            why = f"it is not found, or none of {takes}"
            if INSIDE in (shape.uri or ""):
                why = "it lies inside of a CAD file, which engines do not open; export it as a mesh"
            message = (
                f"{adapter.label}: mesh `{shape.uri}` of body `{body.name}` is left out: {why}"
            )
            findings.append(Diagnostic("REG328", "warning", message, source=body.source))
        bodies.append(replace(body, geometry=tuple(shapes)))
    return replace(mechanism, bodies=tuple(bodies))


def _reference(shape: Geometry, mechanism: Mechanism, adapter: Adapter, folder: Path) -> str | None:
    """How a file in a folder names the mesh of a shape; None where it cannot."""
    uri, path = shape.uri or "", mechanism.path
    if mechanism.format == "usd" and path is not None and uri.startswith("/"):
        inside = f"{_from(folder, os.path.realpath(path))}{INSIDE}{uri}"
        return inside if adapter.name in ("usd", "json") else None
    if INSIDE in uri and adapter.name != "json":  # engines open no CAD files
        return None
    if uri.startswith(INSIDE) and path is not None:
        return f"{_from(folder, os.path.realpath(path))}{uri}"
    if adapter.meshes:
        try:
            file = find_mesh(uri, path)
        except ReadError:
            return None
        return _from(folder, str(file)) if file.suffix.lower() in adapter.meshes else None
    if "://" in uri or os.path.isabs(uri) or path is None or not uri:
        return uri
    return _from(folder, os.path.join(os.path.dirname(os.path.realpath(path)), uri))


def _from(folder: Path, file: str) -> str:
    return Path(os.path.relpath(file, os.path.realpath(folder))).as_posix()
