"""Values as people write them: ``30deg``, ``0.2m``, ``50mm``, ``2 Nm``; without a unit in SI."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from regularize.errors import ModelError

METRES = {"": 1.0, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "µm": 1e-6, "in": 0.0254}
RADIANS = {"": 1.0, "rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180, "°": math.pi / 180}
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "min": 60.0}
FORCES = {"": 1.0, "N": 1.0, "kN": 1e3, "mN": 1e-3}
TORQUES = {"": 1.0, "Nm": 1.0, "kNm": 1e3, "mNm": 1e-3, "Nmm": 1e-3}

_NUMBER = r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan)\s*([^,]*?)\s*"


def parts(text: str) -> tuple[float, str] | None:
    """Number and unit of a text such as ``-30 deg``; None where it does not begin with a number."""
    found = re.fullmatch(_NUMBER, text)
    return None if found is None else (float(found[1]), found[2].replace("μ", "µ"))


def rates(units: Mapping[str, float]) -> dict[str, float]:
    """Units of rates: those given, by second."""
    return {unit and f"{unit}/s": value for unit, value in units.items()}


def value_of(text: str, *tables: Mapping[str, float]) -> float:
    """A value in SI units.

    Args:
        text: A number with or without a unit.
        tables: The SI value of every unit that may stand there, in one or several tables.

    Raises:
        ModelError: It is no finite number, or the unit is none of these.
    """
    units = {unit: value for table in tables for unit, value in table.items()}
    found = parts(text)
    if found is None or not math.isfinite(found[0]):
        raise ModelError(f"{text!r} is no number, such as {_examples(units)}")
    if found[1] not in units:
        known = ", ".join(filter(None, units))
        raise ModelError(f"{text!r}: the unit {found[1]!r} does not fit; known are {known}")
    return found[0] * units[found[1]]


def _examples(units: Iterable[str]) -> str:
    return " or ".join(["0.5", *(f"30{unit}" for unit in units if unit in ("deg", "mm", "s"))])
