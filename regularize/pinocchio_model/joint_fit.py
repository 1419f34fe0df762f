"""Coordinates of one joint by the pose of its two frames, and the other way."""

from __future__ import annotations

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.manifold.joint_motion import product
from regularize.model.graph import Edge


def joint_motion(edge: Edge, q: Array) -> Array:
    """Motion of an elementary joint at its coordinates (f,), shape (4, 4)."""
    if edge.group:
        return screw.exp(edge.screws @ q)
    return product(screw.exp(edge.screws[:, k] * q[k]) for k in range(edge.freedoms))


def fit_joint(edge: Edge, T_parent_child: Array) -> tuple[Array, Array]:
    """The joint motion nearest to a relative pose of the joint's two frames.

    Gauss-Newton on the part of the remaining twist along the joint's freedoms; the freedoms of an
    edge form a subgroup, so a few steps are enough.

    Returns:
        The motion, shape (4, 4), and the coordinates, shape (f,).
    """
    q = np.zeros(edge.freedoms)
    motion = np.eye(4)
    if edge.freedoms == 0:
        return motion, q
    for _ in range(20):
        error = screw.log(screw.inverse(motion) @ T_parent_child)
        if edge.group:
            step = np.linalg.pinv(edge.screws) @ error
            q = np.linalg.pinv(edge.screws) @ screw.log(motion @ screw.exp(edge.screws @ step))
        else:
            step = np.linalg.pinv(_moving_screws(edge, q)) @ error
            q = q + step
        motion = joint_motion(edge, q)
        if np.max(np.abs(step)) < 1e-14:
            break
    return motion, q


def _moving_screws(edge: Edge, q: Array) -> Array:
    """The freedoms of a serial joint seen from its moving frame, shape (6, f)."""
    columns, after = [], np.eye(4)
    for k in reversed(range(edge.freedoms)):
        columns.append(screw.adjoint(screw.inverse(after)) @ edge.screws[:, k])
        after = screw.exp(edge.screws[:, k] * q[k]) @ after
    return np.column_stack(columns[::-1])
