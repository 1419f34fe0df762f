"""Inertia matrices as files write them: by moments and products, or by principal moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie.screw import Array
from regularize.model.mechanism import Inertia

#: A body without mass, which is not the same as one of unknown mass.
MASSLESS = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

#: A principal moment below this share of the largest one counts as zero.
ROUNDING = 1e-9

#: Names of the six numbers in URDF and SDF, in the order of ``moments``.
NAMES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
#: Where they stand in the matrix.
PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def moments(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> Array:
    """The matrix of three moments and three products of inertia, shape (3, 3)."""
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six(matrix: Array) -> list[float]:
    """The six numbers of a matrix, in the order of ``moments``."""
    return [float(matrix[place]) for place in PLACES]


def principal(R: Array, diagonal: ArrayLike) -> Array:
    """The matrix of principal moments about the columns of a rotation, shape (3, 3)."""
    matrix = R @ np.diag(diagonal) @ R.T
    return np.asarray((matrix + matrix.T) / 2)


def is_zero(inertia: Inertia) -> bool:
    """Whether a mass or a principal moment is zero, and none is below."""
    moments = _moments(inertia)
    return not is_impossible(inertia) and (inertia.mass == 0.0 or bool(moments[0] <= ROUNDING))


def is_impossible(inertia: Inertia) -> bool:
    """Whether no body has these mass properties: a mass or a principal moment is negative."""
    return inertia.mass < 0.0 or bool(_moments(inertia)[0] < -ROUNDING)


def _moments(inertia: Inertia) -> Array:
    """Principal moments as shares of the largest magnitude, ascending, shape (3,)."""
    moments = np.linalg.eigvalsh(inertia.matrix)
    return np.asarray(moments / (np.max(np.abs(moments)) or 1.0))
