r"""Closed loops of a tree: their rows in the frame of the cut, and the joints that close them.

The row of a covector :math:`w` at a closure is :math:`w^T\,(V_{second} - V_{first})` in a frame on
the first body, as in Pinocchio's ``FrameAnchorConstraintModel``, which computes it. The linear part
of the twist is divided by the length of the part (see ``reduction.Cut``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import Edge
from regularize.model.joint_motion import body_jacobian, joint_position, motion
from regularize.pinocchio_model.library import pin
from regularize.reduction.cuts import Cut


class Poses(Protocol):
    """Where the bodies behind the joints of a tree are."""

    def __getitem__(self, joint: int, /) -> Array:
        """Pose of the body behind a joint, 0 being the ground, shape (4, 4)."""


class DataPoses:
    """The same by Pinocchio's data.

    Args:
        data: Data with positions.
    """

    def __init__(self, data: Any) -> None:
        """Keep the data."""
        self._data = data

    def __getitem__(self, joint: int, /) -> Array:
        """Pose of the body behind a joint, 0 being the ground, shape (4, 4)."""
        return np.asarray(self._data.oMi[joint].homogeneous)


@dataclass(frozen=True, eq=False, repr=False)
class ClosureRows:
    """One closed loop of the model.

    Attributes:
        cut: Where it is closed.
        edge: The joint that may move there, or None where the two frames have to coincide.
        first: Joint of the tree that carries the row frame; 0 is the ground.
        second: Joint on the other side.
        row_frame: The row frame seen from the first joint, shape (4, 4).
        covectors: Rows, linear parts in units of 1/length, shape (m, 6).
        first_frame: Frame of the closing joint seen from the first joint, shape (4, 4).
        second_frame: The same from the second joint.
        sign: 1 where the second body is the child of the cut joint, else -1.
        cut_frame: The cut frame seen from the first joint, shape (4, 4).
    """

    cut: Cut
    edge: Edge | None
    first: int
    second: int
    row_frame: Array
    covectors: Array
    first_frame: Array
    second_frame: Array
    sign: int
    cut_frame: Array

    @cached_property
    def T_first_row(self) -> Any:
        """``row_frame`` as ``pinocchio.SE3``."""
        return pin.SE3(self.row_frame)

    @cached_property
    def T_first_joint(self) -> Any:
        """``first_frame`` as ``pinocchio.SE3``."""
        return pin.SE3(self.first_frame)

    @cached_property
    def T_second_joint(self) -> Any:
        """``second_frame`` as ``pinocchio.SE3``."""
        return pin.SE3(self.second_frame)

    @cached_property
    def T_first_cut(self) -> Any:
        """``cut_frame`` as ``pinocchio.SE3``."""
        return pin.SE3(self.cut_frame)

    def anchor(self, model: Any) -> Any:
        """Pinocchio's model of the two frames; the first one is the row frame."""
        places = (self.first, self.T_first_row, self.second, self.T_second_joint)
        return pin.FrameAnchorConstraintModel(model, *places)

    def current(self, poses: Poses) -> Array:
        """The covectors where the bodies are, shape (m, 6)."""
        return self.covectors

    def own_acceleration(self, poses: Poses, twist: Array) -> Array:
        """What the closing joint's rates alone make of the relative acceleration, row frame, (6,).

        Args:
            poses: Where the bodies are.
            twist: Relative twist in the row frame, shape (6,).
        """
        return np.zeros(6)

    def T_world_cut(self, poses: Poses) -> Array:
        """The cut frame in the world, shape (4, 4)."""
        return np.asarray(poses[self.first] @ self.cut_frame)

    @cached_property
    def _single(self) -> tuple[Array, Callable[[Array], float]] | None:
        """Screw and coordinate of the joint, where it has a single freedom."""
        edge = self.edge
        if edge is None or edge.freedoms != 1 or edge.group:
            return None
        return edge.screws[:, 0], _coordinate_of(edge.screws[:, 0])

    def joint_pose(self, poses: Poses) -> Array:
        """Relative pose of the two joint frames, parent to child, shape (..., 4, 4)."""
        first = poses[self.first] @ self.first_frame
        second = poses[self.second] @ self.second_frame
        parent, child = (first, second) if self.sign > 0 else (second, first)
        return np.asarray(screw.inverse(parent) @ child)

    def position(self, poses: Poses) -> Array:
        """Coordinates of the joint, shape (..., f).

        Args:
            poses: Where the bodies are, each of shape (..., 4, 4).
        """
        pose, edge, single = self.joint_pose(poses), self.edge, self._single
        if edge is not None and edge.group:
            return joint_position(edge, pose)
        each = pose.reshape(-1, 4, 4)
        if edge is None:
            found = np.zeros((len(each), 0))
        elif single is not None:
            found = np.array([[single[1](T)] for T in each])
        else:
            found = np.array([joint_position(edge, T) for T in each])
        return found.reshape(*pose.shape[:-2], -1 if found.size else 0)

    def rates(self, poses: Poses, between: Array) -> Array:
        """Rates of the joint's coordinates by velocities that keep the loop closed, (f, nv).

        Args:
            poses: Where the bodies are.
            between: Twist of the second body against the first by velocities, about the ground's
                origin, shape (6, nv).
        """
        edge = self.edge
        if edge is None:
            return np.zeros((0, between.shape[1]))
        child = poses[self.second] @ self.second_frame
        if self.sign < 0:
            child = poses[self.first] @ self.first_frame
        to_child = screw.adjoint(screw.inverse(child))
        if self._single is not None:
            along = self._single[0]
            return np.asarray(self.sign * (along @ to_child / (along @ along) @ between))[None]
        seen = np.linalg.pinv(body_jacobian(edge, self.position(poses)))
        return np.asarray(self.sign * (seen @ to_child @ between))

    def motion(self, pose: Any) -> Any:
        """The joint motion nearest to a relative pose of the two joint frames."""
        edge = self.edge
        if self._single is not None:
            along, coordinate = self._single
            return pin.exp6(along * coordinate(pose.homogeneous))
        if edge is None or edge.freedoms == 0:
            return pin.SE3.Identity()
        if edge.group:
            return pose if edge.freedoms == 6 else pin.SE3(pose.rotation, np.zeros(3))
        return pin.SE3(motion(edge, joint_position(edge, pose.homogeneous)))

    def error(self, data: Any) -> Array:
        """Twist of the second body against the first that opened the loop, row frame, (6,)."""
        body = data.oMi[self.first]
        frame, first = body * self.T_first_row, body * self.T_first_joint
        second = data.oMi[self.second] * self.T_second_joint
        if self.sign > 0:
            expected = first * self.motion(first.actInv(second))
        else:
            expected = first * self.motion(second.actInv(first)).inverse()
        gap = pin.log6(second * expected.inverse())
        return np.asarray(frame.actInv(gap).vector)


def _coordinate_of(along: Array) -> Callable[[Array], float]:
    """The coordinate of a single freedom that comes nearest to a relative pose, shape (4, 4)."""
    rate = float(np.sqrt(along[3:] @ along[3:]))
    if rate == 0.0:
        direction = along[:3] / (along[:3] @ along[:3])
        return lambda pose: float(direction @ pose[:3, 3])
    x, y, z = (along[3:] / rate).tolist()

    def angle(pose: Array) -> float:
        # The part of the rotation that turns about the axis, from its quaternion.
        a, b, c, w = screw.quaternion_of(pose[:3, :3])
        return 2.0 * math.atan2(x * a + y * b + z * c, w) / rate

    return angle
