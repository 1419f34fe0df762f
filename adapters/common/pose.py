"""Rotations as files write them: roll, pitch, yaw, quaternions, and from one axis to another."""

from __future__ import annotations

import math

import numpy as np

from regularize.lie.screw import Array, unit


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Rotation about the fixed axes X, then Y, then Z, in radians, shape (3, 3)."""
    cr, cp, cy = math.cos(roll), math.cos(pitch), math.cos(yaw)
    sr, sp, sy = math.sin(roll), math.sin(pitch), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_quaternion(x: float, y: float, z: float, w: float) -> Array:
    """Rotation of a quaternion, scaled to length one, shape (3, 3).

    Raises:
        ValueError: The quaternion is zero.
    """
    x, y, z, w = unit([x, y, z, w])
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation_between(a: Array, b: Array) -> Array:
    """The rotation by the smallest angle that turns direction ``a`` into ``b``, shape (3, 3)."""
    a, b = unit(a), unit(b)
    axis = np.cross(a, b)
    cosine = float(a @ b)
    if cosine < -1 + 1e-12:  # opposite: half a turn about any perpendicular
        helper = unit(np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))]))
        return 2 * np.outer(helper, helper) - np.eye(3)
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.asarray(np.eye(3) + K + K @ K / (1 + cosine))
