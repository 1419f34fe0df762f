"""A length and an angle, or their stiffnesses, as numbers with units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.errors import ModelError
from regularize.model.units import METRES, RADIANS, parts

#: Names of the two values of a pair, in their order.
COLUMNS = ("translation", "rotation")


@dataclass(frozen=True, eq=False, repr=False)
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
                f"{self.name} {given!r}: the unit {unit!r} of a {COLUMNS[column]} is unknown; "
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
        if isinstance(given, Mapping) and set(given) == set(COLUMNS):
            given = [given[column] for column in COLUMNS]
        if not isinstance(given, (Sequence, np.ndarray)) or len(given) != len(COLUMNS):
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
