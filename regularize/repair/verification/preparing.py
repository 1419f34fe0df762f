"""A model as a format can hold it: under names that are allowed there, and with closed loops."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from regularize.adapters.common.validation import renamed
from regularize.adapters.registry import Adapter
from regularize.adapters.shapes.meshes import find_mesh
from regularize.adapters.urdf.loops import CLOSING
from regularize.errors import ReadError, UnsupportedExport
from regularize.escape import unique
from regularize.loops.assembly import assemble, with_coordinates
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism
from regularize.tolerances import EXACT

#: Between the file of a USD stage or of a CAD system and what is meant inside it.
INSIDE = "#"


def prepared(
    mechanism: Mechanism, adapter: Adapter, folder: Path
) -> tuple[Mechanism, list[Diagnostic]]:
    """Give a model names, meshes and a pose that a format can hold, with findings of changes."""
    bodies = _body_names(mechanism, adapter)
    joints = _joint_names(mechanism, adapter, bodies)
    findings = [
        Diagnostic("REG321", "warning", f"{adapter.label}: {what} `{old}` is called `{new}`")
        for what, names in (("body", bodies), ("joint", joints))
        for old, new in names.items()
        if old != new
    ]
    if findings:
        mechanism = renamed(mechanism, bodies.__getitem__, joints.__getitem__)
    mechanism = with_meshes_from(mechanism, adapter, folder, findings)
    if adapter.closed:
        mechanism = _assembled(mechanism, adapter.label, findings)
    return mechanism, findings


def _body_names(mechanism: Mechanism, adapter: Adapter) -> dict[str, str]:
    """Return the names that bodies get in a file."""
    taken = {body.name for body in mechanism.bodies} | adapter.reserved
    marks = _idle_marks(mechanism) if adapter.name.startswith("urdf") else set()
    names = {}
    for body in mechanism.bodies:
        new = body.name
        if body.name in marks:
            new = unique(f"frame_{body.name}", taken)
        elif body.name in adapter.reserved and body.name != mechanism.ground:
            new = unique(f"{body.name}_body", taken)
        names[body.name] = new
        taken.add(new)
    return names


def _idle_marks(mechanism: Mechanism) -> set[str]:
    """Find links whose names close a loop in URDF, which something else closes in the model."""
    closed = {frozenset((j.parent, j.child)) for j in mechanism.joints if j.closure}
    names = {body.name for body in mechanism.bodies}
    found: set[str] = set()
    for first in names:
        if match := CLOSING.fullmatch(first):
            pair = {first, f"closing_{match[1]}_2"}
            found |= pair if pair <= names and frozenset(pair) not in closed else set()
    return found


def _joint_names(
    mechanism: Mechanism, adapter: Adapter, bodies: Mapping[str, str]
) -> dict[str, str]:
    """Return the names that joints get in a file."""
    others = {*bodies.values()} | adapter.reserved if adapter.one_namespace else set()
    taken = others | {joint.name for joint in mechanism.joints}
    names = {}
    for joint in mechanism.joints:
        new = unique(f"{joint.name}_joint", taken) if joint.name in others else joint.name
        names[joint.name] = new
        taken.add(new)
    return names


def _assembled(mechanism: Mechanism, target: str, findings: list[Diagnostic]) -> Mechanism:
    """Close the loops; adds a finding for each joint that moves for that."""
    found = assemble(mechanism)
    translation, rotation = found.worst_before
    if max(translation, rotation) < EXACT.closed:
        return mechanism
    if not found.closed:
        raise UnsupportedExport(
            f"{target} holds no open loops, and those of the model cannot be closed: "
            f"{1e3 * translation:.3g} mm and {rotation:.3g} rad stay open"
        )
    closed = with_coordinates(mechanism, found.q)
    for old, new in zip(mechanism.joints, closed.joints, strict=True):
        if float(abs(new.position - old.position).max(initial=0.0)) > 0.0 and not old.closure:
            message = f"{target}: holds no open loops, so that `{old.name}` is moved to close them"
            findings.append(Diagnostic("REG323", "warning", message, joints=(old.name,)))
    return closed


def with_meshes_from(
    mechanism: Mechanism, adapter: Adapter, folder: Path, findings: list[Diagnostic]
) -> Mechanism:
    """Name meshes as they are found from a folder; adds a finding for each that is left out."""
    bodies = []
    for body in mechanism.bodies:
        shapes, left_out = [], set()
        for shape in body.geometry:
            uri = _reference(shape, mechanism, adapter, folder) if shape.kind == "mesh" else None
            if shape.kind != "mesh" or uri is not None:
                shapes.append(shape if uri is None else replace(shape, uri=uri))
            elif shape.uri not in left_out:  # else it is seen and touched by the same mesh
                left_out.add(shape.uri)
                takes = ", ".join(sorted(adapter.meshes)) or "files"
                why = f"it is not found, or none of {takes}"
                if INSIDE in (shape.uri or ""):
                    why = (
                        "it lies inside of a CAD file, which engines do not open; export it as a "
                        "mesh"
                    )
                what = f"mesh `{shape.uri}` of body `{body.name}`"
                message = f"{adapter.label}: {what} is left out: {why}"
                findings.append(Diagnostic("REG328", "warning", message, source=body.source))
        bodies.append(replace(body, geometry=tuple(shapes)))
    return replace(mechanism, bodies=tuple(bodies))


def _reference(shape: Geometry, mechanism: Mechanism, adapter: Adapter, folder: Path) -> str | None:
    """Return how a file in a folder names the mesh of a shape; None where it cannot."""
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
