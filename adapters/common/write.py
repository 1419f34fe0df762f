"""What the writers share: numbers, frames, elements, and what a format cannot hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from regularize.adapters.common.joint_motion import joint_position, motion
from regularize.adapters.common.names import listed
from regularize.lie.screw import (
    Array,
    axis_of,
    helical,
    prismatic,
    revolute,
    transform,
)
from regularize.model.diagnostic import Diagnostic, Severity
from regularize.model.joint import joint_screws
from regularize.model.mechanism import (
    STANDARD_GRAVITY,
    Coupling,
    Joint,
    Mechanism,
)


@dataclass(eq=False)
class Losses:
    """What a format cannot hold, as findings with code REG302."""

    target: str
    findings: list[Diagnostic] = field(default_factory=list)

    def add(
        self, message: str, severity: Severity = "warning", *, joints: Iterable[str] = ()
    ) -> None:
        """Add a finding about the target format."""
        self.findings.append(
            Diagnostic("REG302", severity, f"{self.target} {message}", joints=tuple(joints))
        )

    def positions(self, mechanism: Mechanism) -> None:
        """Say that stored coordinates are lost, if there are any."""
        moved = [joint.name for joint in mechanism.joints if np.any(joint.position)]
        if moved:
            self.add(
                f"cannot hold stored coordinates: those of {listed(moved)} are lost",
                joints=moved,
            )

    def gravity(self, mechanism: Mechanism) -> None:
        """Say that gravity is lost, if it is not the standard one."""
        if not np.array_equal(mechanism.gravity, STANDARD_GRAVITY):
            shown = " ".join(f"{value:g}" for value in mechanism.gravity)
            self.add(f"cannot hold gravity, which is {shown} m/s²")


def numbers(values: Iterable[float]) -> str:
    """Numbers in full precision, separated by spaces."""
    return " ".join(number(value) for value in values)


def number(value: float) -> str:
    """A number from which the same double is read back."""
    text = repr(float(value) + 0.0)  # no negative zero
    return text.removesuffix(".0")


def rpy(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation, exact to rounding in every orientation."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    c, s = math.cos(yaw), math.sin(yaw)
    # Whatever the yaw near the poles, this roll completes it.
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def quaternion(R: Array) -> Array:
    """Quaternion x, y, z, w of a rotation, shape (4,)."""
    return np.asarray(Rotation.from_matrix(R).as_quat())


def text_of(root: Any) -> str:
    """The XML file with two spaces per level."""
    etree.indent(root, space="  ")
    data: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data.decode().replace("'", '"', 4) + "\n"


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
        if abs(size - 1.0) < 1e-12:
            size = 1.0  # a unit axis, but for rounding
        if pitch is None:
            kind, screw = "prismatic", prismatic(direction)
        elif abs(pitch) < 1e-12:
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
                limits=None if joint.limits is None or joint.group else joint.limits[k : k + 1],
                source=joint.source,
            )
        )
        parent, T = child, np.eye(4)
    return parts


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


def follower(coupling: Coupling) -> tuple[tuple[str, int], tuple[str, int], float, float] | None:
    """A coupling of two coordinates as follower, leader, multiplier and offset; else None."""
    if len(coupling.terms) != 2:
        return None
    (one, i, a), (other, j, b) = coupling.terms
    if a == 0.0:
        return None
    return (one, i), (other, j), -b / a, coupling.offset / a
