"""Motion of a joint by its coordinates, and the coordinates that come nearest to a motion."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from regularize.lie.screw import Array, adjoint, exp, inverse, log, log_rotation
from regularize.model.joint import Joint

#: Newton on a joint's own coordinates takes a few steps, or has no solution to find.
STEPS = 30


class Moving(Protocol):
    """A joint, or an elementary part of one."""

    @property
    def screws(self) -> Array:
        """Freedoms in the joint frame, shape (6, freedoms)."""

    @property
    def freedoms(self) -> int:
        """Number of freedoms."""

    @property
    def group(self) -> bool:
        """Whether it moves by one exponential of all its screws."""


def motion(joint: Moving, q: Array, count: int | None = None) -> Array:
    """The child's joint frame in the parent's joint frame at coordinates ``q``, shape (4, 4).

    Args:
        joint: The joint.
        q: Its coordinates, radians and metres, shape (freedoms,).
        count: Only that many of its freedoms move, the first ones of a product; None: all.
    """
    if joint.group and count is None:
        return exp(joint.screws @ q)
    T = np.eye(4)
    for column, value in zip(joint.screws.T[:count], q[:count], strict=True):
        T = T @ exp(column * value)
    return T


def relative_pose(joint: Joint, q: Array) -> Array:
    """The child body in the parent body at coordinates ``q``, shape (4, 4)."""
    return joint.T_parent_joint @ motion(joint, q) @ inverse(joint.T_child_joint)


def reversed_joint(joint: Joint) -> Joint:
    """The same joint seen from its child; its coordinates keep their values."""
    screws = -joint.screws if joint.group else -joint.screws[:, ::-1]
    order = slice(None) if joint.group else slice(None, None, -1)
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        screws=screws,
        T_parent_joint=joint.T_child_joint,
        T_child_joint=joint.T_parent_joint,
        position=joint.position[order],
        limits=None if joint.limits is None else joint.limits.taken(order),
        dynamics=joint.dynamics.taken(order),
    )


def body_jacobian(joint: Moving, q: Array) -> Array:
    """Twist of the child's frame, seen from itself, by the joint's velocities, shape (6, f).

    Velocities of group joints are twists in the moving frame, so theirs are the screws.
    """
    if joint.group:
        return joint.screws
    columns, T = [np.zeros((6, 0))], np.eye(4)
    for column, value in zip(joint.screws.T[::-1], q[::-1], strict=True):
        columns.insert(1, (adjoint(inverse(T)) @ column)[:, None])
        T = exp(column * value) @ T
    return np.hstack(columns)


def joint_position(joint: Moving, T_parent_child: Array) -> Array:
    """Coordinates that move the parent's frame of a joint nearest to its child's frame.

    What the joint cannot do is left over; it is the closure gap.

    Args:
        joint: The joint; the search starts at zero.
        T_parent_child: The child's joint frame in the parent's joint frame, shape (4, 4); of groups
            of motions (..., 4, 4).

    Returns:
        Radians and metres, shape (..., freedoms).
    """
    if joint.freedoms == 0:
        return np.zeros(0)
    if joint.group:
        whole = joint.freedoms == 6
        twist = log(T_parent_child) if whole else log_rotation(T_parent_child[..., :3, :3])
        return np.asarray(twist @ joint.screws[-joint.freedoms :])
    q = np.zeros(joint.freedoms)
    for _ in range(STEPS):
        # Newton on the twist that is still missing, seen from the moved frame.
        error = log(inverse(motion(joint, q)) @ T_parent_child)
        step = np.linalg.lstsq(body_jacobian(joint, q), error, rcond=None)[0]
        q = q + step
        if float(np.max(np.abs(step))) < 1e-14:
            break
    return q
