"""Motions over time, as the solver inside FreeCAD writes them."""

from __future__ import annotations

import re


def expression_of(text: str, scale: float) -> str:
    """An expression of the solver as one of the time t in SI units.

    Args:
        text: As in ``2.0d*pi*time^2``, where a d marks a number.
        scale: The file's unit, in rad or m.
    """
    plain = re.sub(r"(?<=[\d.])d\b", "", text.strip()).replace("^", "**")
    plain = re.sub(r"\btime\b", "t", plain)
    return plain if scale == 1.0 else f"{scale!r}*({plain})"
