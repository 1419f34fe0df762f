"""What the mates of CAD systems fix between points, axes and planes.

Each side of a mate is a frame: the origin lies on the geometry, Z is the axis or the normal.
Distances, angles and tangencies hold as they are at the saved placements, so their values are
measured there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array, inverse

#: Role of each geometry that CAD systems name: what of it a mate can touch.
ROLES = {
    "point": "point",
    "vertex": "point",
    "sphere": "point",
    "origin": "point",
    "line": "axis",
    "axis": "axis",
    "edge": "axis",
    "cylinder": "axis",
    "cone": "axis",
    "circle": "axis",
    "arc": "axis",
    "plane": "plane",
    "face": "plane",
}
ORDER = ("plane", "axis", "point")
#: Pair of geometries that coincide, lie at a distance or touch, by their roles in order.
AT_DISTANCE = {
    ("plane", "plane"): "planar",
    ("plane", "axis"): "line_in_plane",
    ("plane", "point"): "point_in_plane",
    ("axis", "axis"): "revolute_cylinder",
    ("axis", "point"): "cylinder_sphere",
    ("point", "point"): "sphere_sphere",
}
#: Mates that hold wherever the distance of the geometries is what it was saved as.
MEASURED = frozenset({"distance", "tangent", "distancemate", "width", "symmetric"})
TOGETHER = frozenset({"coincident", "concentric", "coaxial", "insert", "oncoincident"})


@dataclass(frozen=True)
class Mate:
    """A mate as a pair.

    Attributes:
        pair: A key of ``pairs.PAIRS``.
        value: Offset or distance in metres, or angle in radians.
        turned: Whether the second geometry is frame I of the pair.
    """

    pair: str
    value: float
    turned: bool


def mate(kind: str, first: str, second: str, T_first_second: Array) -> Mate | None:
    """The pair that a mate is, or None for a mate that is not known.

    Args:
        kind: ``coincident``, ``concentric``, ``parallel``, ``perpendicular``, ``angle``,
            ``distance``, ``tangent`` or ``lock``.
        first: Role of the first geometry: ``point``, ``axis`` or ``plane``.
        second: Role of the second one.
        T_first_second: Its frame seen from that of the first one at the saved placements.
    """
    turned = ORDER.index(first) > ORDER.index(second)
    roles = (second, first) if turned else (first, second)
    T = inverse(T_first_second) if turned else T_first_second
    if kind in ("lock", "fixed", "weld"):
        return Mate("fixed", 0.0, turned)
    if kind in TOGETHER:
        return Mate(AT_DISTANCE[roles], 0.0, turned)
    if kind in MEASURED:
        return Mate(AT_DISTANCE[roles], _distance(roles, T), turned)
    if "point" in roles:
        return None
    # A plane is parallel to an axis that its normal is perpendicular to.
    mixed = roles == ("plane", "axis")
    if kind == "parallel":
        return Mate("perpendicular" if mixed else "parallel", 0.0, turned)
    if kind == "perpendicular":
        return Mate("parallel" if mixed else "perpendicular", 0.0, turned)
    if kind == "angle":
        return Mate("angle", math.acos(float(np.clip(T[2, 2], -1.0, 1.0))), turned)
    return None


def _distance(roles: tuple[str, str], T: Array) -> float:
    """The distance that a mate of two geometries keeps, as saved."""
    if roles[0] == "plane":
        return float(T[2, 3])
    if roles[0] == "axis":
        return math.hypot(*T[:2, 3])
    return float(np.linalg.norm(T[:3, 3]))
