"""Screws, transforms and their exponentials, by SciPy: what tests measure the library's own with.

Screws are (v, ω), linear part first, and a transform ``T_a_b`` is frame b in frame a, as in the
library. All take leading axes where a shape is not said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import regularize as rg

ORIGIN = (0.0, 0.0, 0.0)


def unit(axis: ArrayLike) -> np.ndarray:
    """The direction of an axis, shape (3,)."""
    return np.asarray(axis, dtype=float) / np.linalg.norm(axis)


def revolute(axis: ArrayLike, point: ArrayLike = ORIGIN) -> np.ndarray:
    """Rotation about a line, shape (6,)."""
    e = unit(axis)
    return np.concatenate([np.cross(point, e), e])


def prismatic(axis: ArrayLike) -> np.ndarray:
    """Translation along a direction, shape (6,)."""
    return np.concatenate([unit(axis), np.zeros(3)])


def joint_screws(
    kind: str, axis: ArrayLike = (0, 0, 1), axis2: ArrayLike | None = None, pitch: float = 0.0
) -> np.ndarray:
    """Freedoms of a joint of that kind in its own frame, shape (6, freedoms)."""
    return rg.Joint.in_world("J", "a", "b", kind, axis, axis2=axis2, pitch=pitch).screws


def skew(w: np.ndarray) -> np.ndarray:
    """The matrix of the cross product with ``w``, shape (..., 3, 3)."""
    return np.cross(np.eye(3), np.asarray(w, dtype=float)[..., None, :])


def transform(
    rotation: ArrayLike | None = None, translation: ArrayLike | None = None
) -> np.ndarray:
    """A pose from a rotation matrix and a place, shape (4, 4)."""
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if rotation is None else rotation
    T[:3, 3] = 0.0 if translation is None else translation
    return T


def inverse(T: np.ndarray) -> np.ndarray:
    """The inverse of poses, shape (..., 4, 4)."""
    back = np.broadcast_to(np.eye(4), T.shape).copy()
    back[..., :3, :3] = np.swapaxes(T[..., :3, :3], -1, -2)
    back[..., :3, 3:] = -back[..., :3, :3] @ T[..., :3, 3:]
    return back


def exp(twist: np.ndarray) -> np.ndarray:
    """Where a motion along a twist ends, shape (..., 4, 4)."""
    S = np.zeros((*np.shape(twist)[:-1], 4, 4))
    S[..., :3, :3], S[..., :3, 3] = skew(twist[..., 3:]), twist[..., :3]
    return expm(S)


def log(T: np.ndarray) -> np.ndarray:
    """The twist of a pose, turning by half a turn at most, shape (6,)."""
    w = Rotation.from_matrix(T[:3, :3]).as_rotvec()
    # The place is the linear part carried along while the frame turns.
    carried = np.zeros((6, 6))
    carried[:3, :3], carried[:3, 3:] = skew(w), np.eye(3)
    return np.concatenate([np.linalg.solve(expm(carried)[:3, 3:], T[:3, 3]), w])


def bracket(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The Lie bracket of two screws, shape (6,)."""
    linear = np.cross(a[3:], b[:3]) + np.cross(a[:3], b[3:])
    return np.concatenate([linear, np.cross(a[3:], b[3:])])


def adjoint(T: np.ndarray) -> np.ndarray:
    """What carries screws from frame b to frame a, given ``T_a_b``, shape (..., 6, 6)."""
    R = T[..., :3, :3]
    return np.block([[R, skew(T[..., :3, 3]) @ R], [np.zeros_like(R), R]])


def relative_pose(joint: rg.Joint, q: np.ndarray | None = None) -> np.ndarray:
    """The child body in the parent body, at the stored coordinates or at ``q``, shape (4, 4)."""
    q = joint.position if q is None else np.asarray(q)
    moved = exp(joint.screws @ q) if joint.group else np.eye(4)
    if not joint.group:
        for column, value in zip(joint.screws.T, q, strict=True):
            moved = moved @ exp(column * value)
    return joint.T_parent_joint @ moved @ inverse(joint.T_child_joint)


def body_poses(mechanism: rg.Mechanism) -> dict[str, np.ndarray]:
    """World poses of the bodies that joints lead to from the ground, closures left aside."""
    poses = {mechanism.ground: np.eye(4)}
    waiting = [joint for joint in mechanism.joints if not joint.closure]
    while near := [joint for joint in waiting if {joint.parent, joint.child} & {*poses}]:
        for joint in near:
            waiting.remove(joint)
            if joint.parent not in poses:
                poses[joint.parent] = poses[joint.child] @ inverse(relative_pose(joint))
            elif joint.child not in poses:
                poses[joint.child] = poses[joint.parent] @ relative_pose(joint)
    return poses
