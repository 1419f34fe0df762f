"""Names of subalgebras of se(3), by their classes under rigid motions (Hervé 1978)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.lie.subalgebra import RTOL


@dataclass(frozen=True, eq=False)
class MotionType:
    """The name of a motion algebra and what fixes it in space.

    Attributes:
        name: For example ``planar``, ``spherical``, ``cylindrical``, ``Schoenflies``.
        dimension: 0 to 6.
        direction: Unit vector of the axis, the plane's normal or the direction, or None.
        point: Centre, or the point of the axis nearest to the origin, in metres, or None.
        pitch: Metres per radian where the type has a pitch, else None.
    """

    name: str
    dimension: int
    direction: Array | None = None
    point: Array | None = None
    pitch: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The entry ``motion_algebra`` of the JSON report."""
        return {
            "dimension": self.dimension,
            "type": self.name,
            "direction": None if self.direction is None else [float(x) for x in self.direction],
            "point": None if self.point is None else [float(x) for x in self.point],
            "pitch": self.pitch,
        }


def motion_type(algebra: Array, rtol: float = RTOL) -> MotionType:
    """Name a subalgebra by its class under rigid motions (Hervé 1978).

    The class follows from the dimension, from the number of independent directions of rotation
    and from the translations that the algebra contains.
    """
    dimension = algebra.shape[1]
    _, s, vt = np.linalg.svd(algebra[3:])
    s = np.concatenate([s, np.zeros(dimension)])[:dimension]
    rotations = int(np.sum(s > rtol))
    translations = algebra[:3] @ vt[rotations:].T
    turning = algebra @ vt[:rotations].T
    if dimension == 6:
        return MotionType("full", 6)
    if rotations == 0:
        return _translational(translations)
    if rotations == 1:
        return _about_one_direction(turning[:, 0], translations, rtol)
    if dimension == 3 and rotations == 3:
        return MotionType("spherical", 3, point=_center(turning))
    return MotionType("no subalgebra", dimension)


def _translational(translations: Array) -> MotionType:
    dimension = translations.shape[1]
    if dimension == 1:
        return MotionType("translation", 1, _oriented(translations[:, 0]))
    if dimension == 2:
        normal = np.cross(translations[:, 0], translations[:, 1])
        return MotionType("translations in a plane", 2, _oriented(normal))
    return MotionType("immobile" if dimension == 0 else "spatial translations", dimension)


def _about_one_direction(turning: Array, translations: Array, rtol: float) -> MotionType:
    """Algebras whose rotations all have one direction, e."""
    e, point, pitch = screw.axis_of(turning)
    sign = 1.0 if _oriented(e) @ e > 0.0 else -1.0
    e = sign * e
    count = translations.shape[1]
    if count == 3:
        return MotionType("Schoenflies", 4, e)
    if count == 2:
        # The pitch is that of the screw along the normal; in-plane translations absorb the rest.
        if pitch is None or abs(pitch) <= rtol:
            return MotionType("planar", 3, e)
        return MotionType("planar with pitch", 3, e, pitch=pitch)
    if count == 1:
        return MotionType("cylindrical", 2, e, point)
    if pitch is None or abs(pitch) <= rtol:
        return MotionType("revolute", 1, e, point)
    return MotionType("helical", 1, e, point, pitch)


def _center(turning: Array) -> Array:
    """The point p with v = p × ω for all columns."""
    v, w = turning[:3], turning[3:]
    rows = np.vstack([-screw.cross_matrix(column) for column in w.T])
    point, *_ = np.linalg.lstsq(rows, v.T.reshape(-1), rcond=None)
    return np.asarray(point)


def _oriented(vector: Array) -> Array:
    """The unit vector with its largest component positive, so that names do not flip."""
    e = screw.unit(vector)
    leading = int(np.argmax(np.abs(e) > np.max(np.abs(e)) - 1e-6))
    return e if e[leading] > 0 else -e
