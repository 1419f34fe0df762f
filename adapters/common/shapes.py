"""Shapes of formats that do not have all of them."""

from __future__ import annotations

from dataclasses import replace

from regularize.lie.screw import transform
from regularize.model.mechanism import Geometry


def capsule_parts(capsule: Geometry) -> list[Geometry]:
    """A cylinder and a ball at each of its ends, which together are the capsule."""
    length, ball = float(capsule.size[1]), capsule.size[:1]
    ends = (capsule.T_body_geometry @ transform(translation=[0, 0, z]) for z in _ends(length))
    balls = [replace(capsule, kind="sphere", size=ball, T_body_geometry=T) for T in ends]
    return [replace(capsule, kind="cylinder"), *balls]


def _ends(length: float) -> tuple[float, float]:
    return length / 2, -length / 2
