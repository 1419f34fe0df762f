"""Rotations and inertia matrices as files write them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie.arrays import Array
from regularize.lie.screw import cross_matrix, rotation_of, unit
from regularize.mechanism.body import Inertia

#: A body without mass, which is not the same as one of unknown mass.
MASSLESS = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

#: A principal moment below this share of the largest one counts as zero.
ROUNDING = 1e-9

#: Names of the six numbers in URDF and SDF, in the order of ``moments``.
NAMES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
#: Where they stand in the matrix.
PLACES = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return the rotation about the fixed axes X, then Y, then Z, in radians, shape (3, 3)."""
    cr, cp, cy = math.cos(roll), math.cos(pitch), math.cos(yaw)
    sr, sp, sy = math.sin(roll), math.sin(pitch), math.sin(yaw)
    x = [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr]
    y = [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr]
    return np.array([x, y, [-sp, cp * sr, cp * cr]])


def rotation_quaternion(x: float, y: float, z: float, w: float) -> Array:
    """Return the rotation of a quaternion of any length but zero, shape (3, 3)."""
    return rotation_of(unit([x, y, z, w]))


def rotation_between(a: Array, b: Array) -> Array:
    """Return the smallest rotation that turns direction ``a`` into ``b``, shape (3, 3)."""
    a, b = unit(a), unit(b)
    axis = np.cross(a, b)
    cosine = float(a @ b)
    if cosine < -1 + 1e-12:  # opposite: half a turn about any perpendicular
        helper = unit(np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))]))
        return 2 * np.outer(helper, helper) - np.eye(3)
    K = cross_matrix(axis)
    return np.asarray(np.eye(3) + K + K @ K / (1 + cosine))


def inertia_matrix(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> Array:
    """Return the matrix of three moments and three products of inertia, shape (3, 3)."""
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six(matrix: Array) -> list[float]:
    """Return moments and products of an inertia matrix, in the order of ``NAMES``."""
    return [float(matrix[place]) for place in PLACES]


def principal(R: Array, diagonal: ArrayLike) -> Array:
    """Return the inertia matrix with principal moments about the columns of R, shape (3, 3)."""
    matrix = R @ np.diag(diagonal) @ R.T
    return np.asarray((matrix + matrix.T) / 2)


def is_zero(inertia: Inertia) -> bool:
    """Return whether mass or a principal moment is zero, and neither is negative."""
    return not is_impossible(inertia) and (
        inertia.mass == 0.0 or bool(_principal_moments(inertia)[0] <= ROUNDING)
    )


def is_impossible(inertia: Inertia) -> bool:
    """Return whether the mass or a principal moment is negative, which no body has."""
    return inertia.mass < 0.0 or bool(_principal_moments(inertia)[0] < -ROUNDING)


def is_flatter_than_flat(inertia: Inertia, share: float = ROUNDING) -> bool:
    """Return whether a principal moment exceeds the sum of the others by a share of itself."""
    small, middle, large = _principal_moments(inertia)
    return bool(small + middle - large < -share)


def _principal_moments(inertia: Inertia) -> Array:
    """Return principal moments over the largest magnitude, ascending, shape (3,)."""
    moments = np.linalg.eigvalsh(inertia.matrix)
    return np.asarray(moments / (np.max(np.abs(moments)) or 1.0))
