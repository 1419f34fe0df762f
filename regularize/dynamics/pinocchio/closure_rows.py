"""The rows of closed loops of a Pinocchio model, and of couplings, at poses of its bodies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regularize.dynamics.step.multibody import CurvedEntry, Loop
from regularize.lie import screw
from regularize.lie.arrays import Array, Jacobian, Screw, Transform, Twist
from regularize.mechanism.graph import Edge
from regularize.mechanism.joint import body_jacobian, joint_position, motion
from regularize.reduction.cuts import Cut


@dataclass(frozen=True, eq=False, repr=False)
class ClosureRows(Loop):
    """One closed loop between joints of the model; methods take the poses of all bodies."""

    cut: Cut
    edge: Edge | None  #: the joint there, None where the two frames have to coincide
    cut_frame: Transform  #: seen from the first joint

    @cached_property
    def _single(self) -> tuple[Array, Callable[[Array], float]] | None:
        """Screw of a closing joint and its coordinate by pose; None with several freedoms."""
        edge = self.edge
        if edge is None or edge.freedoms != 1 or edge.group:
            return None
        return edge.screws[:, 0], _coordinate_of(edge.screws[:, 0])

    @cached_property
    def removed(self) -> Array:
        """The removed rows: wrenches in the cut frame that rigid bodies leave open, (6, r)."""
        cut = self.cut
        rows = np.hstack([cut.removed, cut.thinned, cut.numerical])
        rows[:3] /= cut.length
        return rows

    def joint_pose(self, poses: Transform) -> Transform:
        """Return the pose of the child's joint frame in the parent's."""
        first = poses[self.first] @ self.first_frame
        second = poses[self.second] @ self.second_frame
        parent, child = (first, second) if self.sign > 0 else (second, first)
        return np.asarray(screw.inverse(parent) @ child)

    def position(self, poses: Transform) -> Array:
        """Return the coordinates of the joint, shape (f,)."""
        pose = self.joint_pose(poses)
        if self._single is not None:
            return np.array([self._single[1](pose)])
        return np.zeros(0) if self.edge is None else joint_position(self.edge, pose)

    def rates(self, poses: Transform, between: Array) -> Array:
        """Return rates of the joint (f, nv) by velocities, from the twists between its bodies."""
        edge = self.edge
        if edge is None:
            return np.zeros((0, between.shape[1]))
        child = poses[self.second] @ self.second_frame
        if self.sign < 0:
            child = poses[self.first] @ self.first_frame
        twists = screw.adjoint(screw.inverse(child)) @ between
        return np.asarray(
            self.sign * np.linalg.pinv(body_jacobian(edge, self.position(poses))) @ twists
        )

    def _motion(self, pose: Transform) -> Transform:
        """Return the joint motion nearest to a relative pose of the two joint frames."""
        edge = self.edge
        if self._single is not None:
            along, coordinate = self._single
            return screw.exp(along * coordinate(pose))
        if edge is None or edge.freedoms == 0:
            return np.eye(4)
        if edge.group:
            return pose if edge.freedoms == 6 else screw.transform(pose[:3, :3])
        return motion(edge, joint_position(edge, pose))

    def error(self, poses: Transform) -> Twist:
        """Return the twist of the second body against the first that opened the loop, row frame."""
        pose = self.joint_pose(poses)
        moved = self._motion(pose)
        if self.sign < 0:
            pose, moved = screw.inverse(pose), screw.inverse(moved)
        T_row_moved = screw.inverse(self.row_frame) @ self.first_frame @ moved
        return np.asarray(screw.adjoint(T_row_moved) @ screw.log(screw.inverse(moved) @ pose))


@dataclass(frozen=True, eq=False, repr=False)
class ConstraintRows:
    """All rows of a tree: those of the closures, then those of the couplings."""

    closures: Sequence[ClosureRows]
    coupling: Jacobian  #: rows of the couplings, 1 where there is a curve
    targets: Array  #: their values on the coordinates
    curves: tuple[CurvedEntry, ...] = ()

    @cached_property
    def closing_columns(self) -> list[int]:
        """Indices of the mechanism's coordinates that belong to closing joints, loop by loop."""
        return [
            column for closure in self.closures if closure.edge for column in closure.edge.columns
        ]

    def __len__(self) -> int:
        return sum(len(c.covectors) for c in self.closures) + len(self.coupling)


def _coordinate_of(along: Screw) -> Callable[[Transform], float]:
    """Return the function from a relative pose to the coordinate of a hinge, slide or screw."""
    rate = float(np.sqrt(along[3:] @ along[3:]))
    if rate == 0.0:
        direction = along[:3] / (along[:3] @ along[:3])
        return lambda pose: float(direction @ pose[:3, 3])
    x, y, z = (along[3:] / rate).tolist()

    def angle(pose: Transform) -> float:
        # The part of the rotation that turns about the axis, from its quaternion.
        a, b, c, w = screw.quaternion_of(pose[:3, :3])
        return 2.0 * math.atan2(x * a + y * b + z * c, w) / rate

    return angle
