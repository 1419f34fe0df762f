"""Models in files: where the library reaches for an adapter."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from regularize.adapters import adapters, read
from regularize.adapters.reading import read_object
from regularize.adapters.registry import adapter_of, objects
from regularize.adapters.sniffers import is_text
from regularize.errors import UnknownFormat
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism, not_taken
from regularize.validation import FLAG, PATH, READING, TEXT, validated


@validated(format=TEXT, loops=PATH | FLAG, absorb_gaps=FLAG, as_designed=FLAG, reading=READING)
def load(
    source: Any,
    *,
    format: str | None = None,
    loops: str | PathLike[str] | bool | None = None,
    absorb_gaps: bool = False,
    as_designed: bool = False,
    reading: Literal["written", "meant", "designed"] = "meant",
    **options: Any,
) -> Mechanism:
    """Read a model.

    Bodies that state no mass properties get those of their shapes where the file gives these a
    material of known density.

    Args:
        source: File, or a folder that holds one model; text or bytes of such a file; or an object
            of another library: MjSpec, MjModel, a USD stage, a Newton builder, a Drake plant, a
            Pinocchio model alone or as ``(model, [constraint models])``, a URDF object of
            yourdfpy, urchin or urdfpy, an lxml tree.
        format: Name of the format; by default the content decides. See ``regularize formats``.
        loops: Sidecar file that describes the loops; False ignores one that lies beside the model,
            None takes it if it is there.
        absorb_gaps: Close loops that contradict themselves by the least change of joint frames.
        as_designed: Take the nearest mechanism that moves more freely, where there is one, for the
            numbers in the file may be rounded; see ``idealise``.
        reading: ``meant``: the mechanism with the most motions within the rounding of the file's
            numbers, which its ``reading`` tells of; ``written``: what they say literally;
            ``designed``: as ``as_designed``, which does not ask how precise they are.
        options: Passed on to the reader, for example ``floating=True`` for URDF; and
            ``packages={name: folder}``, where ROS packages are that the model names.

    Raises:
        ReadError: The file cannot be read; the message names file, line and element.
        UnknownFormat: No adapter recognises the file.
        MissingExtra: The format needs a package that is not installed.
        NotTaken: The object is none that can be read.
    """
    as_designed = as_designed or reading == "designed"
    if loops is not None:
        options["loops"] = loops
    if not (isinstance(source, PathLike) or (isinstance(source, str) and not is_text(source))):
        adapter = adapter_of(source)
        if adapter is None:
            raise not_taken(source, objects())
        mechanism = read_object(source, adapter, format=format, **options)
    else:
        mechanism = read(source, format=format, **options)
    massless = (body for body in mechanism.bodies if body.inertia is None and body.geometry)
    if any(body.name != mechanism.ground for body in massless):
        from regularize.adapters.shapes.density import with_materials  # opens files of shapes

        mechanism = with_materials(mechanism)
    if mechanism.reading is not None and mechanism.reading.levels:
        from regularize.repair.nominal.reading import as_read  # the analysis of mobility

        literal = reading == "written" or as_designed or absorb_gaps
        mechanism = as_read(mechanism, "written" if literal else "meant")
    if absorb_gaps:
        from regularize.repair.nominal.absorb import with_gaps_absorbed

        mechanism = with_gaps_absorbed(mechanism)
    if as_designed:
        from regularize.repair.nominal.idealise import idealise  # the whole analysis

        designed = idealise(mechanism)
        found = (*mechanism.findings, *designed.findings)
        mechanism = replace(designed.mechanism, findings=found)
    return mechanism


@validated(path=PATH, format=TEXT, engine=TEXT)
def save(
    model: Model, path: str | PathLike[str], *, format: str | None = None, engine: str | None = None
) -> tuple[Diagnostic, ...]:
    """Write a mechanism; it is read back, compared, and only then put in its place.

    Args:
        model: What to write.
        path: The file; it is there whole or not at all.
        format: Name of the format; by default the one that the suffix belongs to. ``exudyn`` is a
            Python script for that program, which is not read back.
        engine: Where the file is moved before it counts, as in ``fix``; ``first`` for the first
            one of its format that is installed. By default it is not moved.

    Returns:
        What the format cannot hold, one finding for each datum.

    Raises:
        UnknownFormat: There is no writer for the format, or none for the suffix.
        MissingExtra: The format needs a package that is not installed.
        UnsupportedExport: What the format holds of it is another machine, or the program that it
            is for refuses the file; nothing is written then.
    """
    if format == "exudyn":
        from regularize.repair.statics.absolute_rows import write_exudyn

        return write_exudyn(model, path)
    mechanism = as_mechanism(model)
    from regularize.repair.verification.writing import write_verified

    format, moved = written_format(path, format), None
    if engine:
        from regularize.reduction.reduce import as_reduction
        from regularize.repair.engines.trial import mover

        mechanism, moved = mover(as_reduction(model), mechanism, format, engine)
    return write_verified(mechanism, path, format, moved=moved)


def written_format(path: str | PathLike[str], format: str | None) -> str:
    """Return the format to write a file in; raise ``UnknownFormat`` where there is none."""
    writers = {name: a for name, a in adapters().items() if a.writer is not None}
    if format is None:
        suffix = Path(path).suffix.lower()
        matching = [name for name, a in writers.items() if suffix in a.suffixes]
        if not matching:
            raise UnknownFormat(str(path), sorted(writers), "format=")
        format = matching[0]
    if format not in writers:
        raise UnknownFormat(format, sorted(writers), "format=")
    return format
