"""A length and an angle, or their stiffnesses, for every joint: numbers with units, and tables.

A pair stands for all joints, a table for those that it names: a CSV file with the columns joint,
translation and rotation, a JSON or YAML file of the same, or a mapping in Python.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from regularize.errors import ModelError, ReadError
from regularize.mechanism.mechanism import Mechanism
from regularize.mechanism.quantity import COLUMNS, TOLERANCE, Quantity, parts

#: A translational and a rotational value, in SI units or as texts with units.
Pair: TypeAlias = "Sequence[float | str]"
#: A pair for all joints, pairs by the names of joints, a text of these, a file of them; or several.
PerJoint: TypeAlias = "str | PathLike[str] | Pair | Mapping[str, Pair | Mapping[str, float | str]]"
#: Stands for the tolerances that the model itself gives its joints.
OWN = "file"


def per_joint(
    given: PerJoint | Iterable[PerJoint], quantity: Quantity, mechanism: Mechanism
) -> dict[str, tuple[float, float]]:
    """Return SI values by joint: tables override the model's values, and these a pair for all."""
    several = isinstance(given, (list, tuple)) and not _is_pair(given)
    every: dict[str, tuple[float, float]] = {}
    named: dict[str, tuple[float, float]] = {}
    stated: dict[str, tuple[float, float]] = {}
    names = [joint.name for joint in mechanism.joints]
    for entry in given if several else [given]:  # type: ignore[union-attr]
        if isinstance(entry, str) and entry == OWN and quantity is TOLERANCE:
            stated = stated_tolerances(mechanism)
            if not stated:
                raise ModelError("no joint of the model states a tolerance")
            continue
        if not _is_table(entry):
            if every:
                raise ModelError(f"{quantity.name} {entry!r}: one for all joints is given already")
            every = dict.fromkeys(names, quantity.pair(entry))
            continue
        for place, name, pair in _entries(entry):
            if name not in names:
                raise ModelError(f"{place}{quantity.name} of {name!r}: there is no such joint")
            if name in named:
                raise ModelError(f"{place}{quantity.name} of joint {name!r} is given twice")
            try:
                named[name] = quantity.pair(pair)
            except ModelError as error:
                raise ModelError(f"{place}joint {name!r}: {error}") from error
    return every | stated | named


def stated_tolerances(mechanism: Mechanism) -> dict[str, tuple[float, float]]:
    """Return the tolerances that the model itself gives its joints."""
    return {j.name: j.tolerance for j in mechanism.joints if j.tolerance is not None}


def _is_pair(values: Sequence[Any]) -> bool:
    """Say whether values are a length and an angle, not two tables or texts."""
    return len(values) == len(COLUMNS) and all(
        parts(value) is not None if isinstance(value, str) else np.isscalar(value)
        for value in values
    )


def _is_table(value: object) -> bool:
    """Say whether a value is a table or the path of one."""
    if isinstance(value, (Mapping, PathLike)):
        return True
    return isinstance(value, str) and (
        Path(value).suffix.lower() in (".csv", ".json", ".yaml", ".yml") or Path(value).is_file()
    )


def _entries(table: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the rows of a table: the place for messages, the joint, its pair."""
    if isinstance(table, Mapping):
        yield from (("", str(name), pair) for name, pair in table.items())
        return
    path = Path(fspath(table))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(str(path), f"cannot be read as a table of joints: {error}") from error
    if path.suffix.lower() not in (".json", ".yaml", ".yml"):
        yield from _rows(path, text)
        return
    import yaml  # needed where a table is one

    try:
        data = json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise ReadError(str(path), f"cannot be read as a table of joints: {error}") from error
    rows = list(data.items()) if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise ReadError(str(path), "expected one entry for each joint")
    for row in rows:
        if isinstance(row, dict) and set(row) == {"joint", *COLUMNS}:
            yield f"{path}: ", str(row["joint"]), [row[column] for column in COLUMNS]
        elif isinstance(row, tuple):
            yield f"{path}: ", str(row[0]), row[1]
        else:
            raise ReadError(str(path), f"expected joint, translation and rotation, found {row!r}")


def _rows(path: Path, text: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the rows of a table with commas or semicolons as ``_entries`` does."""
    lines = text.splitlines()
    separator = ";" if lines and ";" in lines[0] else ","
    table = csv.DictReader(lines, delimiter=separator, skipinitialspace=True)
    heads = [str(head).strip() for head in table.fieldnames or ()]
    if sorted(heads) != sorted(("joint", *COLUMNS)):
        raise ReadError(
            str(path), "expected the columns joint, translation, rotation in the first line", line=1
        )
    table.fieldnames = heads
    for row in table:
        if None in row or None in row.values():
            raise ReadError(str(path), "expected three columns", line=table.line_num)
        yield f"{path}:{table.line_num}: ", row["joint"].strip(), [row[c] for c in COLUMNS]
