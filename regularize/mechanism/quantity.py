"""Values as people write them: ``30deg``, ``0.2m``, ``50mm``, ``2 Nm``; without a unit in SI.

Quantities are pairs of them: a length and an angle, or their stiffnesses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from regularize.errors import ModelError

METRES = {"": 1.0, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "µm": 1e-6, "in": 0.0254}
RADIANS = {"": 1.0, "rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180, "°": math.pi / 180}
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "min": 60.0}
FORCES = {"": 1.0, "N": 1.0, "kN": 1e3, "mN": 1e-3}
TORQUES = {"": 1.0, "Nm": 1.0, "kNm": 1e3, "mNm": 1e-3, "Nmm": 1e-3}

_NUMBER = r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan)\s*([^,]*?)\s*"


def parts(text: str) -> tuple[float, str] | None:
    """Split a text such as ``-30 deg`` into number and unit; None where there is no number."""
    found = re.fullmatch(_NUMBER, text)
    return None if found is None else (float(found[1]), found[2].replace("μ", "µ"))


def rates(units: Mapping[str, float]) -> dict[str, float]:
    """Return the units of rates: those given, by second."""
    return {unit and f"{unit}/s": value for unit, value in units.items()}


def value_of(text: str, *tables: Mapping[str, float]) -> float:
    """Convert a finite number with one of the units of some tables to SI units."""
    units = {unit: value for table in tables for unit, value in table.items()}
    found = parts(text)
    if found is None or not math.isfinite(found[0]):
        examples = ["0.5", *(f"30{unit}" for unit in units if unit in ("deg", "mm", "s"))]
        raise ModelError(f"{text!r} is no number, such as {' or '.join(examples)}")
    if found[1] not in units:
        known = ", ".join(filter(None, units))
        raise ModelError(f"{text!r}: the unit {found[1]!r} does not fit; known are {known}")
    return found[0] * units[found[1]]


#: Names of the two values of a pair, in their order.
COLUMNS = ("translation", "rotation")


@dataclass(frozen=True, eq=False, repr=False)
class Quantity:
    """A pair of positive values given for a joint: one of translation and one of rotation."""

    name: str
    units: tuple[Mapping[str, float], Mapping[str, float]]  # SI value of every unit of both
    example: str

    def value(self, given: object, column: int) -> float:
        """Convert one of the pair, a positive number with or without a unit, to SI units."""
        text = str(given) if isinstance(given, (str, Real)) else ""
        found = parts(text)
        if found is None or isinstance(given, bool):
            raise ModelError(f"{self.name} {given!r} is no number; write it as {self.example}")
        number, unit = found
        if unit not in self.units[column]:
            known = ", ".join(name for name in self.units[column] if name)
            raise ModelError(
                f"{self.name} {given!r}: the unit {unit!r} of a {COLUMNS[column]} is unknown; "
                f"known are {known}"
            )
        value = number * self.units[column][unit]
        if not 0.0 < value < math.inf:
            raise ModelError(f"{self.name} {given!r} is not a positive number")
        return value

    def pair(self, given: Any) -> tuple[float, float]:
        """Convert a translational and a rotational value to SI units."""
        if isinstance(given, str):
            given = given.split(",")
        if isinstance(given, Mapping) and set(given) == set(COLUMNS):
            given = [given[column] for column in COLUMNS]
        if not hasattr(given, "__getitem__") or isinstance(given, Mapping) or len(given) != 2:
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
