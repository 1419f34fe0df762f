r"""Subspaces and subalgebras of se(3), in a frame whose lengths are of order one.

A subspace is an orthonormal basis, shape (6, d). What the functions here call equal is equal to
``rtol``; since the bases are orthonormal and lengths are scaled by the caller, ``rtol`` is an angle
in radians and a displacement relative to the size of the mechanism.

se(3) has subalgebras of dimension 0, 1, 2, 3, 4 and 6, and none of dimension 5; the classification
by which they are named here is that of Hervé (1978), with the conjugacy classes of the group of
rigid motions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array, read_only

RTOL = 1e-5
ZERO = read_only(np.zeros((6, 0)))
FULL = read_only(np.eye(6))


def span(columns: Array, rtol: float = RTOL) -> Array:
    """Orthonormal basis of the span of columns of order one, shape (6, d).

    A direction counts when its singular value exceeds ``rtol`` times the larger of one and the
    largest singular value.
    """
    if columns.shape[1] == 0:
        return ZERO
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(u[:, s > rtol * max(1.0, s[0])])


def complement(basis: Array) -> Array:
    """Orthonormal basis of the orthogonal complement, shape (6, 6 - d)."""
    if basis.shape[1] == 0:
        return FULL
    u, _, _ = np.linalg.svd(basis, full_matrices=True)
    return np.asarray(u[:, basis.shape[1] :])


def residual(basis: Array, columns: Array) -> Array:
    """Parts of the columns that lie outside the subspace, shape (6, k)."""
    return np.asarray(columns - basis @ (basis.T @ columns))


def contains(basis: Array, columns: Array, rtol: float = RTOL) -> bool:
    """Whether every column of order one lies in the subspace."""
    return bool(np.all(np.linalg.norm(residual(basis, columns), axis=0) <= rtol))


def sum_(a: Array, b: Array, rtol: float = RTOL) -> Array:
    """Basis of the sum of two subspaces."""
    if a.shape[1] == 6 or b.shape[1] == 6:
        return FULL
    return span(np.hstack([a, b]), rtol)


def intersection(a: Array, b: Array, rtol: float = RTOL) -> Array:
    """Basis of the intersection: directions of a that leave no residual outside b."""
    if a.shape[1] == 6:
        return b
    if b.shape[1] == 6:
        return a
    if a.shape[1] == 0 or b.shape[1] == 0:
        return ZERO
    _, s, vt = np.linalg.svd(residual(b, a), full_matrices=True)
    singular = np.zeros(a.shape[1])
    singular[: len(s)] = s[: a.shape[1]]
    return span(a @ vt[singular <= rtol].T, rtol)


def _enlarge(basis: Array, candidates: Array, rtol: float) -> Array:
    """The basis together with the directions of the candidates that are new."""
    new = residual(basis, candidates)
    if new.shape[1] == 0:
        return basis
    u, s, _ = np.linalg.svd(new, full_matrices=False)
    return np.hstack([basis, u[:, s > rtol]])


def lie_closure(columns: Array, rtol: float = RTOL) -> Array:
    r"""The smallest subalgebra that contains the columns (Müller 2014, eq. 25), shape (6, d).

    Brackets of all pairs are added until the dimension stops growing, which it never does at five:
    let the unit covector :math:`n = (f, m)` vanish on five dimensions and the unit vector x be
    normal to f and m. Then :math:`a = (0, x)` and :math:`b = (f \times x, m \times x)` are two
    of their unit vectors, and :math:`n \cdot [a, b] = |b|^2 = 1`.
    """
    basis = span(columns, rtol)
    while 1 < basis.shape[1] < 6:
        i, j = np.triu_indices(basis.shape[1], 1)
        larger = _enlarge(basis, screw.bracket(basis.T[i], basis.T[j]).T, rtol)
        if larger.shape[1] == basis.shape[1]:
            break
        basis = larger
    return FULL if basis.shape[1] == 6 else basis


def saturation(space: Array, freedoms: Array, rtol: float = RTOL) -> Array:
    r"""The smallest superspace of ``space`` that is invariant under the adjoint of the freedoms.

    While a joint with the screws Z moves by q, the space :math:`Ad_{\exp(Zq)} B` stays in it.
    """
    basis = space
    while freedoms.shape[1] and 0 < basis.shape[1] < 6:
        brackets = screw.ad(freedoms.T) @ basis
        larger = _enlarge(basis, np.hstack([*brackets]), rtol)
        if larger.shape[1] == basis.shape[1]:
            break
        basis = larger
    return basis


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
    sign = 1.0 if np.allclose(_oriented(e), e) else -1.0
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
