"""The metamodel of the text, with its ways into files and onto controllers."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.input_files import read_bytes
from regularize.errors import ReadError
from regularize.guests.design.c_source import to_c
from regularize.guests.design.interpolation import Accuracy, BoxPolynomials
from regularize.guests.design.tree import BoxTree, Scale
from regularize.lie.arrays import read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.validation import PATH, TEXT, validated
from regularize.version import SCHEMAS

VERSION = SCHEMAS["metamodel"]
#: Arrays of the archive and their shapes; s inputs, B boxes, n inner nodes, t coefficients, k
#: basis functions. ``schema/metamodel-1.json`` describes the header.
ARRAYS = {
    "lower": ("s",),
    "upper": ("s",),
    "axis": ("n",),
    "threshold": ("n",),
    "children": ("n", 2),
    "center": ("B", "s"),
    "half": ("B", "s"),
    "constant": ("B", "t"),
    "weights": ("B", "t", "k - 1"),
    "estimated": ("B",),
}
#: Those that hold whole numbers.
INTEGERS = ("axis", "children")


def header(model: BoxPolynomials) -> dict[str, Any]:
    """Return what the arrays mean, as the JSON of the entry ``header``."""
    arrays = _arrays(model)
    return {
        "schema_version": VERSION,
        "kind": "boxes",
        "inputs": list(model.inputs),
        "root": model.tree.root,
        "samples": model.samples,
        "operations": model.operations,
        "median": model.scale.median,
        "accuracy": asdict(model.accuracy),
        "findings": [finding.as_dict() for finding in model.findings],
        "arrays": {
            name: {"shape": list(array.shape), "dtype": str(array.dtype)}
            for name, array in arrays.items()
        },
    }


def _arrays(model: BoxPolynomials) -> dict[str, Any]:
    """Return the arrays by their names in a file."""
    entries = {**vars(model.tree), **vars(model)}
    return {name: np.asarray(entries[name]) for name in ARRAYS}


def to_bytes(model: BoxPolynomials) -> bytes:
    """Return the archive as it stands in a file."""
    stream = io.BytesIO()
    np.savez_compressed(
        stream, allow_pickle=False, header=json.dumps(header(model)), **_arrays(model)
    )
    return stream.getvalue()


def read(path: str | Path) -> dict[str, Any]:
    """Read the attributes of the metamodel in a file."""
    name = str(path)
    content = read_bytes(name)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise ReadError(
            name, "is no NumPy archive; write one with `regularize metamodel MODEL -o FILE.npz`"
        ) from error
    try:
        about = json.loads(str(arrays.pop("header")))
        version = about["schema_version"]
        if version != VERSION:
            raise ReadError(
                name, f"has schema version {version}, and version {VERSION} can be read"
            )
        _check_shapes(name, arrays, len(about["inputs"]))
        return _attributes(about, arrays)
    except (KeyError, json.JSONDecodeError, TypeError) as error:
        raise ReadError(
            name, f"lacks the entry {error} of a metamodel", element="header"
        ) from error


def _check_shapes(path: str, arrays: dict[str, Any], s: int) -> None:
    """Refuse arrays whose sizes do not fit each other; KeyError where one is missing."""
    known: dict[str | int, int] = {2: 2, "s": s}
    for name, shape in ARRAYS.items():
        found = arrays[name].shape
        if len(found) != len(shape) or any(
            known.setdefault(axis, size) != size for axis, size in zip(shape, found, strict=True)
        ):
            raise ReadError(
                path, f"has shape {found} where ({', '.join(map(str, shape))}) fits", element=name
            )


def _attributes(about: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a metamodel from header and arrays."""
    fixed = {name: read_only(arrays[name]) for name in ARRAYS if name not in INTEGERS}
    sides = ("lower", "upper", "threshold", "center", "half")
    tree: dict[str, Any] = {name: fixed.pop(name) for name in sides}
    tree |= {name: arrays[name].astype(np.int64) for name in INTEGERS}
    return {
        "inputs": tuple(about["inputs"]),
        "samples": int(about["samples"]),
        "scale": Scale(about["median"]),
        "accuracy": Accuracy(**about["accuracy"]),
        "findings": tuple(_finding(**entry) for entry in about["findings"]),
        "tree": BoxTree(root=int(about["root"]), **tree),
        "lower": tree["lower"],
        "upper": tree["upper"],
        **fixed,
    }


def _finding(
    *, joints: Sequence[str], help: Sequence[str], location: object = None, **words: Any
) -> Diagnostic:
    """Make a finding from its entry; metamodels come from no place in a file."""
    return Diagnostic(**words, joints=tuple(joints), help=tuple(help))


@dataclass(frozen=True, eq=False, repr=False)
class Metamodel(BoxPolynomials):
    """Quadratic polynomials on boxes, for files and controllers; see ``BoxPolynomials``."""

    @validated(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write a NumPy archive that ``Metamodel.load`` reads."""
        Path(path).write_bytes(to_bytes(self))

    @classmethod
    def load(cls, path: str | Path) -> Metamodel:
        """Read what ``save`` has written; raises ``ReadError`` for other files."""
        return cls(**read(path))

    @validated(name=TEXT)
    def to_c(self, name: str = "metamodel") -> str:
        """C99 source for a controller; see ``c_source``."""
        return to_c(self, name)
