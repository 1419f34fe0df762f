"""Joints as writers need them: hinges, slides and screws in a row, and their axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.lie.screw import Array, axis_of, helical, prismatic, revolute, transform
from regularize.model.joint import joint_screws
from regularize.model.joint_motion import joint_position, motion
from regularize.model.mechanism import Joint

#: A size or a pitch nearer than this to 1 or 0 is that but for rounding.
ROUNDING = 1e-12


def serial(joint: Joint) -> list[Joint]:
    """A joint as hinges, slides and screws in a row, each about an axis through its own frame.

    The bodies between them are called ``<joint>/1`` and so on. A ball or free joint gets the
    order of its own screws; its coordinates change then, which the position follows.
    """
    if joint.freedoms == 0:
        return [joint]
    q = joint.position
    if joint.group:
        plain = replace(joint, kind="composite")
        q = joint_position(plain, motion(joint, joint.position))
    parts, parent, T = [], joint.parent, joint.T_parent_joint
    for k in range(joint.freedoms):
        last = k == joint.freedoms - 1
        direction, point, pitch = axis_of(joint.screws[:, k])
        place = transform(translation=np.zeros(3) if point is None else point)
        size = float(
            np.linalg.norm(joint.screws[3:, k] if pitch is not None else joint.screws[:3, k])
        )
        if abs(size - 1.0) < ROUNDING:
            size = 1.0  # a unit axis, but for rounding
        if pitch is None:
            kind, screw = "prismatic", prismatic(direction)
        elif abs(pitch) < ROUNDING:
            kind, screw = "revolute", revolute(direction)
        else:
            kind, screw = "helical", helical(direction, np.zeros(3), pitch)
        child = joint.child if last else f"{joint.name}/{k + 1}"
        parts.append(
            Joint(
                joint.name if joint.freedoms == 1 else f"{joint.name}_{k + 1}",
                parent,
                child,
                kind,
                screw * size,
                T @ place,
                (joint.T_child_joint if last else np.eye(4)) @ place,
                q[k : k + 1],
                joint.actuated,
                limits=None if joint.limits is None or joint.group else joint.limits.taken([k]),
                source=joint.source,
                dynamics=joint.dynamics.taken([k]),
            )
        )
        parent, T = child, np.eye(4)
    return parts


def slide_name(hinge: str) -> str:
    """Name of the slide that follows a hinge, where a format makes the two of a screw."""
    return f"{hinge}_slide"


def twin_name(joint: Joint) -> str:
    """Name of what stands for a joint's child where the joint leads, if a loop is cut there."""
    return f"{joint.child}__{joint.name}"


def standard(joint: Joint) -> bool:
    """Whether the screws are those of a standard joint of its kind in its own frame."""
    if joint.kind == "composite":
        return False
    if joint.group or joint.kind == "fixed":
        return bool(np.array_equal(joint.screws, joint_screws(joint.kind)))
    axes = [axis_in_frame(joint, k) for k in range(joint.freedoms)]
    normal = axes[-1] if joint.kind == "planar" else axes[0]
    if joint.kind == "universal" and float(np.linalg.norm(np.cross(axes[0], axes[1]))) < 1e-9:
        return False
    plain = joint_screws(
        joint.kind, normal, axes[-1], 0.0 if joint.kind != "helical" else pitch_of(joint)
    )
    return bool(np.allclose(joint.screws, plain, rtol=0.0, atol=1e-14))


def pitch_of(joint: Joint) -> float:
    """Metres per radian of a helical joint."""
    pitch = axis_of(joint.screws[:, 0])[2]
    return 0.0 if pitch is None else pitch


def axis_in_frame(joint: Joint, freedom: int = 0) -> Array:
    """Direction of a freedom in the joint frame."""
    return axis_of(joint.screws[:, freedom])[0]
