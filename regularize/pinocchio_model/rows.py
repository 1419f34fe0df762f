r"""Constraint rows on a Pinocchio model: error, Jacobian and bias, in the frame of the cut.

The row of a covector :math:`w` at a closure is :math:`w^T\,(V_{second} - V_{first})` in a frame on
the first body, as in Pinocchio's ``FrameAnchorConstraintModel``, which computes it. The linear part
of the twist is divided by the length of the part (see ``reduction.Cut``).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.lie.screw import Array
from regularize.model.graph import Edge
from regularize.model.joint_motion import body_jacobian, joint_position, motion
from regularize.reduction.cuts import Cut


@dataclass(frozen=True, eq=False, repr=False)
class ClosureRows:
    """One closed loop of the model.

    Attributes:
        cut: Where it is closed.
        edge: The joint that may move there, or None where the two frames have to coincide.
        anchor: Pinocchio's model of the two frames; the first one is the row frame.
        covectors: Rows, linear parts in units of 1/length, shape (m, 6).
        T_first_joint: The joint frame on the first body seen from that body's Pinocchio joint.
        T_second_joint: The same on the second body.
        sign: 1 where the second body is the child of the cut joint, else -1.
        T_first_cut: The cut frame seen from the first body's Pinocchio joint.
    """

    cut: Cut
    edge: Edge | None
    anchor: Any
    covectors: Array
    T_first_joint: Any
    T_second_joint: Any
    sign: int
    T_first_cut: Any

    def current(self, data: Any) -> Array:
        """The covectors at the configuration of Pinocchio's data, shape (m, 6)."""
        return self.covectors

    def own_acceleration(self, data: Any, twist: Array) -> Array:
        """What the closing joint's rates alone make of the relative acceleration, row frame, (6,).

        Args:
            data: Pinocchio's data with positions.
            twist: Relative twist in the row frame, shape (6,).
        """
        return np.zeros(6)

    def T_world_cut(self, data: Any) -> Array:
        """The cut frame in the world, shape (4, 4)."""
        return np.asarray((data.oMi[self.first] * self.T_first_cut).homogeneous)

    @cached_property
    def first(self) -> int:
        """Pinocchio joint that carries the row frame."""
        return int(self.anchor.joint1_id)

    @cached_property
    def second(self) -> int:
        """Pinocchio joint on the other side."""
        return int(self.anchor.joint2_id)

    @cached_property
    def _T_first_row(self) -> Any:
        """The row frame seen from the first Pinocchio joint."""
        return self.anchor.joint1_placement

    @cached_property
    def _single(self) -> tuple[Array, Callable[[Any], float]] | None:
        """Screw and coordinate of the joint, where it has a single freedom."""
        edge = self.edge
        if edge is None or edge.freedoms != 1 or edge.group:
            return None
        return edge.screws[:, 0], _coordinate_of(edge.screws[:, 0])

    def joint_pose(self, data: Any) -> Array:
        """Relative pose of the two joint frames, parent to child, shape (4, 4)."""
        first = data.oMi[self.first] * self.T_first_joint
        second = data.oMi[self.second] * self.T_second_joint
        pose = first.actInv(second) if self.sign > 0 else second.actInv(first)
        return np.asarray(pose.homogeneous)

    def position(self, data: Any) -> Array:
        """Coordinates of the joint, shape (f,)."""
        pose = self.joint_pose(data)
        if self._single is not None:
            return np.array([self._single[1](pin.SE3(pose))])
        return np.zeros(0) if self.edge is None else joint_position(self.edge, pose)

    def rates(self, model: Any, data: Any) -> Array:
        """Rates of the joint's coordinates by velocities that keep the loop closed, (f, nv).

        The Jacobians of the model's joints are up to date.
        """
        edge = self.edge
        if edge is None:
            return np.zeros((0, model.nv))
        world = pin.ReferenceFrame.WORLD
        one, two = (
            pin.getJointJacobian(model, data, joint, world) if joint else np.zeros((6, model.nv))
            for joint in (self.first, self.second)
        )
        child = data.oMi[self.second] * self.T_second_joint
        if self.sign < 0:
            child = data.oMi[self.first] * self.T_first_joint
        if self._single is not None:
            along = self._single[0]
            seen = along @ child.inverse().toActionMatrix() / (along @ along)
            return np.asarray(self.sign * (seen @ (two - one)))[None]
        seen = np.linalg.pinv(body_jacobian(edge, self.position(data)))
        return np.asarray(self.sign * (seen @ child.inverse().toActionMatrix() @ (two - one)))

    def motion(self, pose: Any) -> Any:
        """The joint motion nearest to a relative pose of the two joint frames."""
        edge = self.edge
        if self._single is not None:
            screw, coordinate = self._single
            return pin.exp6(screw * coordinate(pose))
        if edge is None or edge.freedoms == 0:
            return pin.SE3.Identity()
        if edge.group:
            return pose if edge.freedoms == 6 else pin.SE3(pose.rotation, np.zeros(3))
        return pin.SE3(motion(edge, joint_position(edge, pose.homogeneous)))

    def error(self, data: Any) -> Array:
        """Twist of the second body against the first that opened the loop, row frame, (6,)."""
        body = data.oMi[self.first]
        frame, first = body * self._T_first_row, body * self.T_first_joint
        second = data.oMi[self.second] * self.T_second_joint
        if self.sign > 0:
            expected = first * self.motion(first.actInv(second))
        else:
            expected = first * self.motion(second.actInv(first)).inverse()
        gap = pin.log6(second * expected.inverse())
        return np.asarray(frame.actInv(gap).vector)


class AnchorData(threading.local):
    """What Pinocchio computes of the anchors: every thread has its own.

    Args:
        anchors: Pinocchio's models of the frames that meet.
    """

    def __init__(self, anchors: Any) -> None:
        """Make room for one thread."""
        self.datas = pin.StdVec_ConstraintData()
        for anchor in anchors:
            self.datas.append(anchor.createData())
        self.pairs = list(zip(anchors, self.datas, strict=True))
        self.inner = [data.extract() for data in self.datas]


class ConstraintRows:
    """All rows of a model: those of the closures, then those of the couplings.

    Args:
        model: The Pinocchio model.
        closures: The closures.
        coupling: Rows of the couplings on velocities, shape (C, nv).
        targets: Their values on the model's coordinates, shape (C,).
    """

    def __init__(
        self, model: Any, closures: Sequence[ClosureRows], coupling: Array, targets: Array
    ) -> None:
        """Stack the covectors of all closures."""
        self.model, self.closures = model, tuple(closures)
        self.anchors = pin.StdVec_ConstraintModel()
        for closure in closures:
            self.anchors.append(pin.ConstraintModel(closure.anchor))
        self._own = AnchorData(self.anchors)
        total = sum(len(c.covectors) for c in closures)
        self.projection = np.zeros((total, 6 * len(closures)))
        row = 0
        for i, closure in enumerate(closures):
            count = len(closure.covectors)
            self.projection[row : row + count, 6 * i : 6 * i + 6] = closure.covectors
            row += count
        self.coupling, self.targets = coupling, targets
        self._no_acceleration = np.zeros(model.nv)

    @cached_property
    def closing_columns(self) -> list[int]:
        """Coordinates of the mechanism that closing joints have, one after the other."""
        return [column for each in self.closures if each.edge for column in each.edge.columns]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.projection) + len(self.coupling)

    def jacobian(self, data: Any, q: Array) -> Array:
        """Rows on velocities, shape (m, nv)."""
        pin.computeJointJacobians(self.model, data, q)
        return self.current_jacobian(data)

    def current_jacobian(self, data: Any) -> Array:
        """Rows on velocities where the joint Jacobians are up to date, shape (m, nv)."""
        if not self.closures:
            return self.coupling
        for anchor, anchor_data in self._own.pairs:
            anchor.calc(self.model, data, anchor_data)
        twists = pin.getConstraintsJacobian(self.model, data, self.anchors, self._own.datas)
        # Pinocchio gives a vector where there is one velocity.
        rows = self.projection @ twists.reshape(self.projection.shape[1], self.model.nv)
        return np.vstack([rows, self.coupling]) if len(self.coupling) else rows

    def bias(self, data: Any, q: Array, v: Array) -> Array:
        """Rate of the rows at zero acceleration, shape (m,)."""
        pin.forwardKinematics(self.model, data, q, v, self._no_acceleration)
        for anchor, anchor_data in self._own.pairs:
            anchor.calc(self.model, data, anchor_data)
        return self.current_bias()

    def current_bias(self) -> Array:
        """Rate of the rows at zero acceleration where the anchors are up to date, shape (m,)."""
        if not self.closures:
            return np.zeros(len(self.coupling))
        rates = [data.constraint_acceleration_error for data in self._own.inner]
        drift = self.projection @ (rates[0] if len(rates) == 1 else np.concatenate(rates))
        if not len(self.coupling):
            return np.asarray(drift)
        return np.concatenate([drift, np.zeros(len(self.coupling))])

    def jacobian_and_bias(self, data: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Both at once, shapes (m, nv) and (m,)."""
        pin.forwardKinematics(self.model, data, q, v, self._no_acceleration)
        pin.computeJointJacobians(self.model, data)
        return self.current_jacobian(data), self.current_bias()

    def residual(self, data: Any, q: Array, coupled: Array) -> Array:
        """Errors of the rows, zero where the loops are closed, shape (m,).

        Args:
            data: Pinocchio's data.
            q: Configuration, shape (nq,).
            coupled: Errors of the couplings, shape (C,).
        """
        pin.forwardKinematics(self.model, data, q)
        errors = [closure.current(data) @ closure.error(data) for closure in self.closures]
        return np.concatenate([*errors, coupled])


def _coordinate_of(screw: Array) -> Callable[[Any], float]:
    """The coordinate of a single freedom that comes nearest to a relative pose."""
    rate = float(np.sqrt(screw[3:] @ screw[3:]))
    if rate == 0.0:
        along = screw[:3] / (screw[:3] @ screw[:3])
        return lambda pose: float(along @ pose.translation)
    x, y, z = (screw[3:] / rate).tolist()

    def angle(pose: Any) -> float:
        # The part of the rotation that turns about the axis, from its quaternion.
        turned = pin.Quaternion(pose.rotation)
        return 2.0 * math.atan2(x * turned.x + y * turned.y + z * turned.z, turned.w) / rate

    return angle
