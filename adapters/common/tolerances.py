"""How far joints may be off, where a file says so."""

from __future__ import annotations

from regularize.adapters.common.values import Value
from regularize.errors import ModelError
from regularize.model.quantity import TOLERANCE


def read_tolerance(value: Value) -> tuple[float, float]:
    """A length and an angle in metres and radians.

    They are a list, a mapping with ``translation`` and ``rotation``, or a text with a comma:
    numbers in SI units, or with others as in ``0.05mm, 0.1deg``.

    Raises:
        ReadError: They are not positive numbers with known units.
    """
    given = value.data
    if isinstance(given, list):
        given = [entry.data for entry in value.items()]
    elif isinstance(given, dict):
        given = {key: value[key].data for key in given}
    try:
        return TOLERANCE.pair(given)
    except ModelError as error:
        raise value.error(str(error)) from error
