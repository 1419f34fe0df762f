"""Mass properties from shapes, for models that state none.

Nothing here happens unasked: a density is a statement about the user's parts that no reader makes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import trimesh

from regularize.errors import MissingExtra, ReadError
from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import (
    Body,
    Geometry,
    Inertia,
    Mechanism,
)

#: Mesh formats that need another package, its module and the extra that brings it.
EXTRAS = {
    ".dae": ("collada", "meshes"),
    ".zae": ("collada", "meshes"),
    ".step": ("cascadio", "step"),
    ".stp": ("cascadio", "step"),
    ".iges": ("cascadio", "step"),
    ".igs": ("cascadio", "step"),
}
LEVELS = 5  # folders above the model in which `package://` and `model://` are looked for


def with_density(mechanism: Mechanism, density: float) -> Mechanism:
    """The mechanism with mass properties for the bodies that state none, from their shapes.

    The visual shapes count where a body has any, for they show the part; else those for collisions.
    Overlaps count twice. Bodies that state mass properties, and the ground, stay as they are.

    Args:
        mechanism: The mechanism.
        density: Density of all parts, kg/m³.

    Raises:
        ValueError: The density is not a positive number.
        ReadError: A mesh is not found, or cannot be read.
        MissingExtra: A mesh format needs a package that is not installed.
    """
    if not (math.isfinite(density) and density > 0.0):
        raise ValueError(f"a density is a positive number of kg/m³, got {density}")
    bodies, findings = [], [*mechanism.findings]
    for body in mechanism.bodies:
        if body.inertia is not None or body.name == mechanism.ground:
            bodies.append(body)
            continue
        inertia, found = _inertia(body, density, mechanism.path)
        bodies.append(replace(body, inertia=inertia))
        findings += found
    return replace(mechanism, bodies=tuple(bodies), findings=tuple(findings))


def _inertia(
    body: Body, density: float, path: str | None
) -> tuple[Inertia | None, list[Diagnostic]]:
    parts, findings = [], []
    for shape in shown(body):
        part = shape_inertia(shape, density, path)
        if part is None:
            findings.append(
                _finding(
                    "warning",
                    f"mesh `{shape.uri}` of `{body.name}` is not closed, so it has no volume: "
                    "the body keeps no mass properties",
                    body.source,
                    "repair the mesh, or write an inertia into the model",
                )
            )
            return None, findings
        parts.append(part.transformed(shape.T_body_geometry))
    if not parts:
        findings.append(
            _finding(
                "note",
                f"`{body.name}` has neither mass properties nor shapes to compute them from",
                body.source,
            )
        )
        return None, findings
    total = Inertia.total(parts)
    findings.append(
        _finding(
            "note",
            f"mass of `{body.name}` computed from its shapes at {density:g} kg/m³: "
            f"{total.mass:.4g} kg",
            body.source,
        )
    )
    return total, findings


def _finding(severity: Any, message: str, source: Source | None, *help: str) -> Diagnostic:
    return Diagnostic("REG018", severity, message, source=source, help=help)


def shown(body: Body) -> tuple[Geometry, ...]:
    """The visual shapes of a body, or those for collisions where it has no visual ones."""
    visual = tuple(shape for shape in body.geometry if not shape.collision)
    return visual or body.geometry


def shape_inertia(shape: Geometry, density: float, path: str | None = None) -> Inertia | None:
    """Mass properties of one shape in its own frame; None for a mesh that is not closed.

    Args:
        shape: The shape; cylinders and capsules stand along Z, about the origin.
        density: kg/m³.
        path: The model file, beside which meshes are looked for.
    """
    if shape.kind == "mesh":
        return _mesh_inertia(shape, density, path)
    volume, moments = _SOLIDS[shape.kind](*(float(value) for value in shape.size))
    return Inertia(density * volume, np.zeros(3), density * np.diag(moments))


def _box(x: float, y: float, z: float) -> tuple[float, list[float]]:
    volume = x * y * z
    return volume, [volume * (a * a + b * b) / 12 for a, b in ((y, z), (x, z), (x, y))]


def _sphere(radius: float) -> tuple[float, list[float]]:
    volume = 4 / 3 * math.pi * radius**3
    return volume, [0.4 * volume * radius**2] * 3


def _cylinder(radius: float, length: float) -> tuple[float, list[float]]:
    volume = math.pi * radius**2 * length
    across = volume * (3 * radius**2 + length**2) / 12
    return volume, [across, across, volume * radius**2 / 2]


def _capsule(radius: float, length: float) -> tuple[float, list[float]]:
    """A cylinder of that length between two half balls."""
    tube, (across, _, along) = _cylinder(radius, length)
    ball, (moment, _, _) = _sphere(radius)
    # Each half ball has its centre of mass 3/8 of the radius above its flat side.
    lift = length / 2 + 3 * radius / 8
    across += moment - ball * (3 * radius / 8) ** 2 + ball * lift**2
    return tube + ball, [across, across, along + moment]


_SOLIDS: dict[str, Callable[..., tuple[float, list[float]]]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _capsule,
}


def _mesh_inertia(shape: Geometry, density: float, path: str | None) -> Inertia | None:
    mesh = load_mesh(shape, path)
    if not mesh.is_watertight:
        return None
    mesh.density = density
    properties = mesh.mass_properties
    mass, matrix = float(properties.mass), np.asarray(properties.inertia)
    if mass < 0.0:  # the faces look inwards
        mass, matrix = -mass, -matrix
    return Inertia(mass, np.asarray(properties.center_mass), (matrix + matrix.T) / 2)


def load_mesh(shape: Geometry, path: str | None) -> Any:
    """The mesh of a shape as one ``trimesh.Trimesh``, scaled to metres.

    Raises:
        ReadError: The file is not found, or cannot be read.
        MissingExtra: Its format needs a package that is not installed.
    """
    file = find_mesh(shape.uri or "", path)
    suffix = file.suffix.lower()
    try:
        loaded = trimesh.load(file, force="scene")
    except ImportError as error:
        module, extra = EXTRAS.get(suffix, ("trimesh[easy]", "meshes"))
        raise MissingExtra(f"{file.name} ({suffix})", module, extra) from error
    except (ValueError, OSError, IndexError, KeyError, TypeError) as error:
        if suffix in EXTRAS and not _installed(EXTRAS[suffix][0]):
            module, extra = EXTRAS[suffix]
            raise MissingExtra(f"{file.name} ({suffix})", module, extra) from error
        reason = " ".join(str(error).split())
        raise ReadError(str(file), f"is not a mesh that can be read: {reason[:120]}") from error
    mesh = loaded.to_mesh() if hasattr(loaded, "to_mesh") else loaded
    if suffix in (".step", ".stp", ".iges", ".igs"):
        mesh.merge_vertices(merge_norm=True, merge_tex=True)
    mesh.apply_transform(np.diag([*np.broadcast_to(shape.size, 3), 1.0]))
    return mesh


def _installed(module: str) -> bool:
    return bool(trimesh.util.has_module(module))


def find_mesh(uri: str, path: str | None) -> Path:
    """The file that a mesh URI means, beside the model or in the folders above it.

    Raises:
        ReadError: There is none.
    """
    name = unquote(uri.split("://", 1)[-1]).lstrip("/") if "://" in uri else uri
    base = Path(path).resolve().parent if path is not None else Path.cwd()
    if os.path.isabs(name) and Path(name).is_file():
        return Path(name)
    if uri.startswith("file://") and Path("/" + name).is_file():
        return Path("/" + name)
    tails = [name]
    if "://" in uri and "/" in name:
        tails.append(name.split("/", 1)[1])  # the package's own folder
    for folder in (base, *[*base.parents][:LEVELS]):
        for tail in tails:
            if (folder / tail).is_file():
                return folder / tail
    raise ReadError(
        path or uri, f"the mesh `{uri}` is not found beside the model or in the folders above it"
    )
