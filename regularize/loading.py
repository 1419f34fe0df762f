"""From a file, or a parsed model, to a mechanism: where the library reaches for an adapter."""

from __future__ import annotations

from os import PathLike
from typing import Any

from regularize.adapters import read
from regularize.adapters.objects import from_urdf_object
from regularize.mechanism import Mechanism


def load(
    source: Any,
    *,
    format: str | None = None,
    loops: str | PathLike[str] | bool | None = None,
    **options: Any,
) -> Mechanism:
    """Read a model.

    Args:
        source: File, or a folder that holds one model; or a URDF object of urdfpy, urchin or
            yourdfpy.
        format: Name of the format; by default the content decides. See ``regularize formats``.
        loops: Sidecar file that describes the loops; False ignores one that lies beside the model,
            None takes it if it is there.
        options: Passed on to the reader, for example ``floating=True`` for URDF.

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
    return read(source, format=format, **options)
