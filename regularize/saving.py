"""From a mechanism to a file: the other place where the library reaches for an adapter."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from regularize.adapters import adapters
from regularize.diagnostic import Diagnostic
from regularize.errors import UnknownFormat
from regularize.mechanism import Mechanism


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
    return tuple(writers[format].load_writer()(mechanism, path))
