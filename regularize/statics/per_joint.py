"""A length and an angle, or their stiffnesses, for every joint: numbers with units, and tables.

A pair stands for all joints, a table for those that it names: a CSV file with the columns joint,
translation and rotation, a JSON or YAML file of the same, or a mapping in Python.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import yaml

from regularize.errors import ModelError, ReadError
from regularize.model.mechanism import Mechanism
from regularize.model.units import METRES, RADIANS, parts

#: A translational and a rotational value, in SI units or as texts with units.
Pair: TypeAlias = "Sequence[float | str]"
#: A pair for all joints, pairs by the names of joints, a text of these, a file of them; or several.
PerJoint: TypeAlias = "str | PathLike[str] | Pair | Mapping[str, Pair | Mapping[str, float | str]]"

_COLUMNS = ("translation", "rotation")


@dataclass(frozen=True, eq=False)
class Quantity:
    """What is given for every joint.

    Attributes:
        name: What it is called.
        units: SI value of every unit, of the translational and of the rotational one.
        example: How it may be written.
    """

    name: str
    units: tuple[Mapping[str, float], Mapping[str, float]]
    example: str

    def value(self, given: object, column: int) -> float:
        """One value in SI units.

        Raises:
            ModelError: It is no positive number with a known unit.
        """
        text = str(given) if isinstance(given, (str, int, float, np.number)) else ""
        found = parts(text)
        if found is None or isinstance(given, bool):
            raise ModelError(f"{self.name} {given!r} is no number; write it as {self.example}")
        number, unit = found
        if unit not in self.units[column]:
            known = ", ".join(name for name in self.units[column] if name)
            raise ModelError(
                f"{self.name} {given!r}: the unit {unit!r} of a {_COLUMNS[column]} is unknown; "
                f"known are {known}"
            )
        value = number * self.units[column][unit]
        if not 0.0 < value < math.inf:
            raise ModelError(f"{self.name} {given!r} is not a positive number")
        return value

    def pair(self, given: object) -> tuple[float, float]:
        """A translational and a rotational value in SI units."""
        if isinstance(given, str):
            given = given.split(",")
        if isinstance(given, Mapping) and set(given) == set(_COLUMNS):
            given = [given[column] for column in _COLUMNS]
        if not isinstance(given, (Sequence, np.ndarray)) or len(given) != len(_COLUMNS):
            raise ModelError(
                f"{self.name} {given!r}: expected one of translation and one of rotation, as in "
                f"{self.example}"
            )
        return self.value(given[0], 0), self.value(given[1], 1)


#: How far a joint may be off: one standard deviation, or the most, of its place and its frame.
TOLERANCE = Quantity("tolerance", (METRES, RADIANS), "0.05mm,0.1deg")
#: How stiff a joint is against displacement in the directions that it holds.
STIFFNESS = Quantity(
    "stiffness",
    (
        {"": 1.0, "N/m": 1.0, "N/mm": 1e3, "kN/mm": 1e6, "N/um": 1e6, "N/µm": 1e6},
        {"": 1.0, "Nm/rad": 1.0, "Nm/mrad": 1e3, "Nm/deg": 180 / math.pi},
    ),
    "50N/um,2000Nm/rad",
)


def per_joint(
    given: PerJoint | Iterable[PerJoint], quantity: Quantity, mechanism: Mechanism
) -> dict[str, tuple[float, float]]:
    """The values of every joint that has some, in SI units.

    Args:
        given: A pair for all joints, a table for some, or several of these in any order.
        quantity: What they are.
        mechanism: Whose joints they are.

    Raises:
        ModelError: A value is no positive number with a known unit; a joint is unknown or named
            twice.
        ReadError: A table cannot be read.
    """
    several = isinstance(given, (list, tuple)) and not _is_pair(given)
    every: dict[str, tuple[float, float]] = {}
    named: dict[str, tuple[float, float]] = {}
    names = [joint.name for joint in mechanism.joints]
    for one in given if several else [given]:  # type: ignore[union-attr]
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
    return every | named


def _is_pair(given: Sequence[Any]) -> bool:
    """Whether two entries are a length and an angle, and not two tables or texts of pairs."""
    return len(given) == len(_COLUMNS) and all(
        isinstance(each, (int, float, np.number))
        or (isinstance(each, str) and parts(each) is not None)
        for each in given
    )


def _is_table(given: object) -> bool:
    if isinstance(given, (Mapping, PathLike)):
        return True
    return isinstance(given, str) and (
        Path(given).suffix.lower() in (".csv", ".json", ".yaml", ".yml") or Path(given).is_file()
    )


def _entries(given: Any) -> Iterator[tuple[str, str, Any]]:
    """Place of every entry for messages, the joint, its pair."""
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
    try:
        data = json.loads(text) if path.suffix.lower() == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise ReadError(str(path), f"cannot be read as a table of joints: {error}") from error
    rows = list(data.items()) if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise ReadError(str(path), "expected one entry for each joint")
    for row in rows:
        if isinstance(row, dict) and set(row) == {"joint", *_COLUMNS}:
            yield f"{path}: ", str(row["joint"]), [row[column] for column in _COLUMNS]
        elif isinstance(row, tuple):
            yield f"{path}: ", str(row[0]), row[1]
        else:
            raise ReadError(str(path), f"expected joint, translation and rotation, found {row!r}")


def _rows(path: Path, text: str) -> Iterator[tuple[str, str, Any]]:
    """Lines of a table with commas or semicolons."""
    lines = text.splitlines()
    separator = ";" if lines and ";" in lines[0] else ","
    table = csv.DictReader(lines, delimiter=separator, skipinitialspace=True)
    heads = [str(head).strip() for head in table.fieldnames or ()]
    if sorted(heads) != sorted(("joint", *_COLUMNS)):
        raise ReadError(
            str(path), "expected the columns joint, translation, rotation in the first line", line=1
        )
    table.fieldnames = heads
    for row in table:
        if None in row or None in row.values():
            raise ReadError(str(path), "expected three columns", line=table.line_num)
        yield f"{path}:{table.line_num}: ", row["joint"].strip(), [row[c] for c in _COLUMNS]
