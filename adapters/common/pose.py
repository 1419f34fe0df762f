"""Frames as XML formats write them: translation with roll, pitch, yaw, or with a quaternion."""

from __future__ import annotations

import math

import numpy as np

from regularize.adapters.common.xml import Node
from regularize.lie.screw import (
    IDENTITY,
    Array,
    transform,
    unit,
)


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


def pose(node: Node | None) -> Array:
    """Transform of an element with ``xyz`` and ``rpy`` or ``quat_xyzw``; identity for None."""
    if node is None:
        return IDENTITY
    translation = node.numbers("xyz", 3, np.zeros(3))
    if node.get("quat_xyzw") is None:
        return transform(rotation_rpy(*node.numbers("rpy", 3, np.zeros(3))), translation)
    if node.get("rpy") is not None:
        raise node.error("gives rpy and quat_xyzw; keep one of them")
    try:
        return transform(rotation_quaternion(*node.numbers("quat_xyzw", 4)), translation)
    except ValueError:
        raise node.error("quat_xyzw is zero; give a unit quaternion") from None


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
