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
    """Return SI values by joint: tables count before the model, and it before a pair for all."""
    several = isinstance(given, (list, tuple)) and not _is_pair(given)
    every: dict[str, tuple[float, float]] = {}
    named: dict[str, tuple[float, float]] = {}
    own: dict[str, tuple[float, float]] = {}
    names = [joint.name for joint in mechanism.joints]
    for one in given if several else [given]:  # type: ignore[union-attr]
        if isinstance(one, str) and one == OWN and quantity is TOLERANCE:
            own = stated_tolerances(mechanism)
            if not own:
                raise ModelError("no joint of the model states a tolerance")
            continue
        if not _is_table(one):
            if every:
                raise ModelError(f"{quantity.name} {one!r}: one for all joints is given already")
            every = dict.fromkeys(names, quantity.pair(one))
            continue
        for place, name, pair in _entries(one):
            if name not in names:
                raise ModelError(f"{place}{quantity.name} of {name!r}: there is no such joint")
            if name in named:
                raise ModelError(f"{place}{quantity.name} of joint {name!r} is given twice")
            try:
                named[name] = quantity.pair(pair)
            except ModelError as error:
                raise ModelError(f"{place}joint {name!r}: {error}") from error
    return every | own | named


def stated_tolerances(mechanism: Mechanism) -> dict[str, tuple[float, float]]:
    """Return the tolerances that the model itself gives its joints."""
    return {j.name: j.tolerance for j in mechanism.joints if j.tolerance is not None}


def _is_pair(given: Sequence[Any]) -> bool:
    """Say whether two entries are a length and an angle, and not two tables or texts of pairs."""
    return len(given) == len(COLUMNS) and all(
        isinstance(each, (int, float, np.number))
        or (isinstance(each, str) and parts(each) is not None)
        for each in given
    )


def _is_table(given: object) -> bool:
    """Say whether something is a table, or the name of one."""
    if isinstance(given, (Mapping, PathLike)):
        return True
    return isinstance(given, str) and (
        Path(given).suffix.lower() in (".csv", ".json", ".yaml", ".yml") or Path(given).is_file()
    )


def _entries(given: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the place of every entry for messages, the joint, its pair."""
    if isinstance(given, Mapping):
        yield from (("", str(name), pair) for name, pair in given.items())
        return
    path = Path(fspath(given))
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
    """Read the lines of a table with commas or semicolons."""
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
