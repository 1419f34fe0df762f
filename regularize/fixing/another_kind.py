"""A joint made another kind, in the same place and about its own axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.errors import ModelError
from regularize.lie.screw import Array, axis_of, transform, unit
from regularize.model.higher_pairs import HIGHER_PAIRS
from regularize.model.joint import KINDS, joint_screws, perpendiculars
from regularize.model.joint_motion import joint_position, motion
from regularize.model.mechanism import Joint, JointDynamics

#: Kinds that a user can ask for.
KNOWN = (*(kind for kind in KINDS if kind not in ("free", "composite")), "slotted", *HIGHER_PAIRS)


def of_another_kind(joint: Joint, words: str) -> Joint:
    """The joint that another one becomes.

    Args:
        joint: The joint as it is.
        words: The kind; of a helical joint with its pitch in metres per turn, ``helical:0.002``.

    Raises:
        ModelError: The kind needs more than the joint tells.
    """
    kind, _, more = words.partition(":")
    if kind in ("slotted", *HIGHER_PAIRS):
        raise ModelError(f"joint {joint.name!r} is {joint.kind} and cannot be made {kind}")
    axis, point = _axis(joint)
    screws = joint_screws(kind, axis, perpendiculars(axis)[0], _pitch(joint, kind, more))
    shift = transform(None, point)
    result = replace(
        joint,
        kind=kind,
        screws=screws,
        position=np.zeros(screws.shape[1]),
        T_parent_joint=joint.T_parent_joint @ shift,
        T_child_joint=joint.T_child_joint @ shift,
        limits=None,
        dynamics=JointDynamics(),
    )
    if not np.any(joint.position):
        return result
    moved = transform(None, -point) @ motion(joint, joint.position) @ shift
    return replace(result, position=joint_position(result, moved))


def _pitch(joint: Joint, kind: str, words: str) -> float:
    """Pitch of a helical joint in metres per radian, from metres per turn."""
    if kind != "helical":
        return 0.0
    try:
        return float(words) / (2 * np.pi)
    except ValueError:
        raise ModelError(
            f"joint {joint.name!r}: a helical joint has a pitch; write helical:METRES_PER_TURN"
        ) from None


def _axis(joint: Joint) -> tuple[Array, Array]:
    """Axis and a point of it in the frame of a joint: Z where the joint has none."""
    origin, z = np.zeros(3), np.eye(3)[2]
    if joint.kind in ("fixed", "spherical", "free"):
        return z, origin
    turning = [column for column in joint.screws.T if np.any(column[3:])]
    if not turning:
        return unit(joint.screws[:3, 0]), origin
    axis, point, _ = axis_of(turning[0])
    return axis, origin if point is None else point
