"""From a file to a mechanism: the one place where the library reaches for an adapter."""

from __future__ import annotations

from os import PathLike
from typing import Any

from regularize.adapters import read
from regularize.mechanism import Mechanism


def load(
    source: str | PathLike[str],
    *,
    format: str | None = None,
    loops: str | PathLike[str] | bool | None = None,
    **options: Any,
) -> Mechanism:
    """Read a model.

    Args:
        source: File, or a folder that holds one model.
        format: Name of the format; by default the content decides. See ``regularize formats``.
        loops: Sidecar file that describes the loops; False ignores one that lies beside the model,
            None takes it if it is there.
        options: Passed on to the reader, for example ``floating=True`` for URDF.

    Raises:
        ReadError: The file cannot be read; the message names file, line and element.
        UnknownFormat: No adapter recognises the file.
        MissingExtra: The format needs a package that is not installed.
    """
    if loops is not None:
        options["loops"] = loops
    return read(source, format=format, **options)
