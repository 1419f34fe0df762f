"""Joint coordinates that lead from one frame of a joint to the other."""

from __future__ import annotations

import numpy as np

from regularize.lie.screw import (
    Array,
    exp,
    inverse,
    log,
    log_rotation,
)
from regularize.model.mechanism import Joint

STEPS = 30


def joint_position(joint: Joint, T_parent_child: Array) -> Array:
    """Coordinates that move the parent's frame of a joint nearest to its child's frame.

    What the joint cannot do is left over; it is the closure gap.

    Args:
        joint: The joint; its own position is the start of the search.
        T_parent_child: The child's joint frame in the parent's joint frame, shape (4, 4).

    Returns:
        Radians and metres, shape (freedoms,).
    """
    if joint.freedoms == 0:
        return np.zeros(0)
    if joint.kind == "spherical":
        return log_rotation(T_parent_child[:3, :3])
    if joint.kind == "free":
        return log(T_parent_child)
    q = np.zeros(joint.freedoms)
    for _ in range(STEPS):
        T, J = np.eye(4), []
        for column, value in zip(joint.screws.T, q, strict=True):
            J.append((T.copy(), column))
            T = T @ exp(column * value)
        error = log(inverse(T) @ T_parent_child)
        # Newton on the twist that is still missing, seen from the moved frame.
        columns = np.column_stack([_carried(inverse(T) @ before, s) for before, s in J])
        step = np.linalg.lstsq(columns, error, rcond=None)[0]
        q = q + step
        if float(np.max(np.abs(step))) < 1e-15:
            break
    return q


def motion(joint: Joint, q: Array) -> Array:
    """The child's joint frame in the parent's joint frame at coordinates ``q``, shape (4, 4)."""
    if joint.group:
        return exp(joint.screws @ q)
    T = np.eye(4)
    for column, value in zip(joint.screws.T, q, strict=True):
        T = T @ exp(column * value)
    return T


def _carried(T: Array, screw: Array) -> Array:
    R, p = T[:3, :3], T[:3, 3]
    w = R @ screw[3:]
    return np.concatenate([R @ screw[:3] + np.cross(p, w), w])
