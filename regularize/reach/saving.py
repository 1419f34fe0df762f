"""A map as a file: its columns as arrays or text, or its picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.errors import RegularizeError
from regularize.output_files import write_bytes

PICTURES = (".svg", ".png", ".pdf")
SUFFIXES = (".npz", ".csv", *PICTURES)


def checked(path: Path) -> Path:
    """The path, if its ending is known.

    Raises:
        RegularizeError: It is not.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise RegularizeError(
            f"{path}: unknown kind of file {path.suffix!r} (known: {', '.join(SUFFIXES)})"
        )
    return path


def saved(columns: Mapping[str, NDArray[Any]], figure: Callable[[], Any], path: Path) -> Path:
    """Write columns, or the figure of them, to a file whose ending says what it is."""
    kind = checked(path).suffix.lower()
    data = io.BytesIO()
    if kind == ".npz":
        np.savez_compressed(data, **columns)  # type: ignore[arg-type]
        write_bytes(path, data.getvalue())
    elif kind == ".csv":
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(
            zip(*(values.ravel().tolist() for values in columns.values()), strict=True)
        )
        write_bytes(path, text.getvalue().encode("utf-8"))
    else:
        figure().savefig(data, format=kind[1:])
        write_bytes(path, data.getvalue())
    return path
