"""Names of subalgebras of se(3), by their classes under rigid motions, and what screws generate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.lie import screw
from regularize.lie.arrays import Array, Space
from regularize.lie.screw import unit
from regularize.lie.subalgebra import intersection, lie_closure, span, sum_
from regularize.tolerances import RTOL, UNNOTICED, UNSEEN


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

    @cached_property
    def basis(self) -> Array:
        """Orthonormal basis of the algebra, shape (6, d)."""
        turns, slides = KINDS_OF_MOTION[self.name]
        e = np.zeros(3) if self.direction is None else self.direction
        point = np.zeros(3) if self.point is None else self.point
        shifts = {1: e[:, None], 2: np.linalg.svd(e[None])[2][1:].T}.get(slides, np.eye(3))
        axes = e[:, None] if turns == 1 else np.eye(3)
        moments = screw.cross(point, axes.T).T + (self.pitch or 0.0) * axes
        translations = np.vstack([shifts, np.zeros_like(shifts)])[:, :slides]
        rotations = np.vstack([moments, axes])[:, :turns]
        return np.asarray(np.linalg.qr(np.hstack([translations, rotations]))[0])

    def as_dict(self) -> dict[str, Any]:
        """Return the entry ``motion_algebra`` of the JSON report."""
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


def motion_type(algebra: Space, rtol: float = RTOL) -> MotionType:
    """Name a subalgebra, orthonormal basis (6, d), by its class under rigid motions (Hervé 1978).

    Rotations and pitches below ``rtol`` count as none. It turns about no direction, one or all, and
    translates along none, one, two or all; beside one rotation, one translation is along its axis
    and two are across it.
    """
    _, s, vt = np.linalg.svd(algebra[3:])
    # About a line a thousand sizes away nothing turns: it slides.
    turns = int(np.sum(s > max(rtol, UNSEEN)))
    slides = algebra.shape[1] - turns
    if (turns, slides) not in _NAMES:
        return MotionType("no subalgebra", algebra.shape[1])
    turning, translations = algebra @ vt[:turns].T, algebra[:3] @ vt[turns:].T
    direction: Array | None = None
    point: Array | None = None
    pitch = 0.0
    if turns == 1:
        length = np.linalg.norm(turning[3:])
        direction, v = turning[3:, 0] / length, turning[:3, 0] / length
        point = screw.cross(direction, v) if slides < 2 else None
        pitch = float(direction @ v) if slides in (0, 2) else 0.0
    elif (turns, slides) == (0, 1):
        direction = translations[:, 0]
    elif (turns, slides) == (0, 2):
        direction = screw.cross(translations[:, 0], translations[:, 1])
    elif (turns, slides) == (3, 0):
        # The point p with v = p × ω for all columns.
        rows = np.vstack([-screw.cross_matrix(column) for column in turning[3:].T])
        point, *_ = np.linalg.lstsq(rows, turning[:3].T.reshape(-1), rcond=None)
    without, with_pitch = _NAMES[turns, slides]
    pitched = bool(with_pitch) and abs(pitch) > rtol
    return MotionType(
        with_pitch if pitched else without,
        turns + slides,
        None if direction is None else _oriented(direction),
        point,
        pitch if pitched else None,
    )


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedAlgebra:
    """The motion algebra that screws of order one generate, equal within a tolerance."""

    columns: Space
    rtol: float = RTOL

    @property
    def dimension(self) -> int:
        """Number of independent motions, 0 to 6."""
        return int(self.basis.shape[1])

    @cached_property
    def basis(self) -> Space:
        """Orthonormal basis."""
        return lie_closure(self.columns, self.rtol)

    @cached_property
    def type(self) -> MotionType:
        """Name of the algebra with its direction, point and pitch."""
        return self.named(self.rtol)

    def named(self, rtol: float) -> MotionType:
        """Return the name where rotations and pitches below a tolerance count as none."""
        return motion_type(self.basis, rtol)


def _oriented(vector: Array) -> Array:
    """Return a unit vector or its opposite, whichever has a positive largest component."""
    sizes = np.abs(vector)
    leading = vector[sizes > sizes.max() - UNNOTICED][0]
    return vector + 0.0 if leading > 0 else 0.0 - vector  # no zero is negative


#: A group as a report has it, its name with the axis z through the origin, or its screws (6, k).
Group: TypeAlias = "MotionType | str | ArrayLike"


def motion_group(
    name: str,
    direction: ArrayLike = (0, 0, 1),
    point: ArrayLike = (0, 0, 0),
    *,
    pitch: float | None = None,
) -> MotionType:
    """A group of motions by its name.

    Args:
        name: ``revolute``, ``planar``, ``spherical``, ``Schoenflies`` and so on, as reports say.
        direction: Of the axis or the translation, or normal of the plane.
        point: A point of the axis, or the centre, in metres.
        pitch: In m/rad, of ``helical`` and of ``planar with pitch``; by default 1.

    Raises:
        ModelError: There is no such group, or the direction has no length.
    """
    if name not in KINDS_OF_MOTION:
        raise ModelError(f"no group is called {name!r}{did_you_mean(name, KINDS_OF_MOTION)}")
    if not np.linalg.norm(direction):
        raise ModelError("the direction of a group of motions has no length")
    pitched = name in ("helical", "planar with pitch")
    size = (1.0 if pitch is None else float(pitch)) if pitched else 0.0
    at = np.asarray(point, dtype=np.float64)
    return motion_type(
        MotionType(name, sum(KINDS_OF_MOTION[name]), unit(direction), at, size).basis
    )


def compose(first: Group, second: Group) -> MotionType:
    """The smallest group that contains all motions of one group after those of another.

    Example:
        >>> compose("revolute", "translations in a plane").name
        'planar'
    """
    return motion_type(lie_closure(sum_(_basis(first), _basis(second))))


def meet(first: Group, second: Group) -> MotionType:
    """The group of the motions that belong to both.

    Example:
        >>> meet("planar", "spherical").name
        'revolute'
    """
    return motion_type(intersection(_basis(first), _basis(second)))


def _basis(group: Group) -> Space:
    """Orthonormal basis of a group's algebra, shape (6, d)."""
    if isinstance(group, str):
        group = motion_group(group)
    if not isinstance(group, MotionType):
        columns = np.asarray(group, dtype=np.float64)
        if columns.ndim != 2 or len(columns) != 6 or not np.isfinite(columns).all():
            raise ModelError(f"screws have the shape (6, k), got {columns.shape}")
        return lie_closure(span(columns))
    if group.name not in KINDS_OF_MOTION:
        raise ModelError(f"these motions form no group: {group.name!r}")
    return group.basis
