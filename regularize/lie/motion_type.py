"""Names of subalgebras of se(3), by their classes under rigid motions, and what screws generate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from regularize.lie.algebra_lattice import generated_form
from regularize.lie.motion_algebra import MotionAlgebra, Vector
from regularize.lie.screw import Array
from regularize.lie.subalgebra import lie_closure
from regularize.tolerances import RTOL, UNNOTICED


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


#: Names by independent directions of rotation and of translation; without pitch and with it.
_NAMES = {
    (0, 0): ("immobile", ""),
    (0, 1): ("translation", ""),
    (0, 2): ("translations in a plane", ""),
    (0, 3): ("spatial translations", ""),
    (1, 0): ("revolute", "helical"),
    (1, 1): ("cylindrical", ""),
    (1, 2): ("planar", "planar with pitch"),
    (1, 3): ("Schoenflies", ""),
    (3, 0): ("spherical", ""),
    (3, 3): ("full", ""),
}
#: Independent directions of rotation and of translation by the names.
KINDS_OF_MOTION = {name: key for key, names in _NAMES.items() for name in names if name}


def motion_type(algebra: Array, rtol: float = RTOL) -> MotionType:
    """Name a subalgebra by its class under rigid motions (Hervé 1978)."""
    form = MotionAlgebra.of(algebra, rtol)
    return MotionType("no subalgebra", algebra.shape[1]) if form is None else _named(form, rtol)


def _named(form: MotionAlgebra, rtol: float) -> MotionType:
    """The name of an algebra; a pitch within the tolerance is none."""
    turns, slides, e, point, pitch = form
    without, with_pitch = _NAMES[turns, slides]
    pitched = bool(with_pitch) and abs(pitch) > rtol
    directed = turns == 1 or (turns == 0 and slides in (1, 2))
    placed = (turns, slides) in ((1, 0), (1, 1), (3, 0))
    return MotionType(
        with_pitch if pitched else without,
        form.dimension,
        _oriented(e) if directed else None,
        np.array(point) if placed else None,
        pitch if pitched else None,
    )


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedAlgebra:
    """The motion algebra that screws generate.

    Args:
        columns: The screws, of order one, shape (6, k).
        rtol: Tolerance of what is equal.
    """

    columns: Array
    rtol: float = RTOL

    @cached_property
    def _form(self) -> MotionAlgebra | None:
        return generated_form(self.columns, self.rtol)

    @property
    def dimension(self) -> int:
        """0 to 6."""
        return int(self.basis.shape[1]) if self._form is None else self._form.dimension

    @cached_property
    def basis(self) -> Array:
        """Orthonormal basis, shape (6, d)."""
        return lie_closure(self.columns, self.rtol) if self._form is None else self._form.basis()

    @cached_property
    def type(self) -> MotionType:
        """Its name, and what fixes it in space."""
        return self.named(self.rtol)

    def named(self, rtol: float) -> MotionType:
        """Its name where rotations and pitches within another tolerance are none."""
        return motion_type(self.basis, rtol) if self._form is None else _named(self._form, rtol)


def _oriented(vector: Vector) -> Array:
    """The unit vector with its largest component positive, so that names do not flip."""
    sizes = [abs(x) for x in vector]
    leading = next(x for x in vector if abs(x) > max(sizes) - UNNOTICED)
    return np.array(vector) if leading > 0 else -np.array(vector)
