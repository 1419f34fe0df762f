"""Models in files: where the library reaches for an adapter."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from regularize.adapters import adapters, read
from regularize.adapters.urdf.objects import from_urdf_object
from regularize.errors import UnknownFormat
from regularize.model.density import with_materials
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Mechanism
from regularize.model.meshes import INSIDE


def load(
    source: Any,
    *,
    format: str | None = None,
    loops: str | PathLike[str] | bool | None = None,
    **options: Any,
) -> Mechanism:
    """Read a model.

    Bodies that state no mass properties get those of their shapes where the file gives these a
    material of known density.

    Args:
        source: File, or a folder that holds one model; or a URDF object of urdfpy, urchin or
            yourdfpy.
        format: Name of the format; by default the content decides. See ``regularize formats``.
        loops: Sidecar file that describes the loops; False ignores one that lies beside the model,
            None takes it if it is there.
        options: Passed on to the reader, for example ``floating=True`` for URDF; and
            ``packages={name: folder}``, where ROS packages are that the model names.

    Raises:
        ReadError: The file cannot be read; the message names file, line and element.
        UnknownFormat: No adapter recognises the file.
        MissingExtra: The format needs a package that is not installed.
        ModelError: The object is none that can be read.
    """
    if not isinstance(source, (str, PathLike)):
        return from_urdf_object(source, **options)
    if loops is not None:
        options["loops"] = loops
    return with_materials(read(source, format=format, **options))


def save(
    mechanism: Mechanism, path: str | PathLike[str], *, format: str | None = None
) -> tuple[Diagnostic, ...]:
    """Write a mechanism.

    Args:
        mechanism: What to write.
        path: The file; it is there whole or not at all.
        format: Name of the format; by default the one that the suffix belongs to.

    Returns:
        What the format cannot hold.

    Raises:
        UnknownFormat: There is no writer for the format, or none for the suffix.
        MissingExtra: The format needs a package that is not installed.
    """
    writers = {name: a for name, a in adapters().items() if a.writer is not None}
    if format is None:
        suffix = Path(path).suffix.lower()
        matching = [name for name, a in writers.items() if suffix in a.suffixes]
        if not matching:
            raise UnknownFormat(str(path), sorted(writers))
        format = matching[0]
    if format not in writers:
        raise UnknownFormat(format, sorted(writers))
    writer = writers[format].load_writer()
    if format == "json":
        return tuple(writer(mechanism, path))
    portable, findings = _without_inner_shapes(mechanism)
    return (*findings, *writer(portable, path))


def _without_inner_shapes(mechanism: Mechanism) -> tuple[Mechanism, tuple[Diagnostic, ...]]:
    """The mechanism without the shapes that only its CAD file holds, which no engine opens."""
    inner = [
        body.name
        for body in mechanism.bodies
        if any(INSIDE in (shape.uri or "") for shape in body.geometry)
    ]
    if not inner:
        return mechanism, ()
    bodies = tuple(
        replace(body, geometry=tuple(g for g in body.geometry if INSIDE not in (g.uri or "")))
        for body in mechanism.bodies
    )
    finding = Diagnostic(
        "REG302",
        "note",
        f"the shapes of {', '.join(f'`{name}`' for name in inner)} lie inside of the CAD file: "
        "left out",
        help=("export them from the CAD system as meshes",),
    )
    return replace(mechanism, bodies=bodies), (finding,)
