r"""Forces within the joints: damping, springs with rest positions, and dry friction.

With the joint coordinates x of the mechanism, those of the cuts included, and their rates
:math:`\dot x = W(q)\, v`, the joint forces of the model are

.. math:: \tau = -W^T (d\,\dot x + \mu \tanh(\dot x / \epsilon) + k\,(x - x_0)).

Dry friction is regularised: below the rate :math:`\epsilon` it falls off, so that a joint that
would stick creeps instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.joint_motion import body_jacobian, joint_position, motion
from regularize.model.joint_values import dynamics_of
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.rows import ClosureRows


@dataclass(frozen=True, eq=False)
class PassiveForces:
    """Forces within the joints of a robot.

    Attributes:
        coordinates: Where the mechanism's coordinates are in the model.
        closures: The loops' closures; joints that close loops have no coordinate in the model.
        damping: Of every joint coordinate, shape (n,).
        friction: Dry friction, shape (n,).
        stiffness: Of springs, shape (n,).
        rest_position: Where springs have no force, shape (n,).
    """

    coordinates: ModelCoordinates
    closures: tuple[ClosureRows, ...]
    damping: Array = field(repr=False)
    friction: Array = field(repr=False)
    stiffness: Array = field(repr=False)
    rest_position: Array = field(repr=False)

    @classmethod
    def of(cls, coordinates: ModelCoordinates, closures: tuple[ClosureRows, ...]) -> PassiveForces:
        """The forces of a mechanism's joints."""
        mechanism = coordinates.graph.mechanism
        keys = ("damping", "friction", "stiffness", "rest_position")
        return cls(coordinates, closures, *(dynamics_of(mechanism, key) for key in keys))

    @property
    def dissipates(self) -> bool:
        """Whether a joint has damping or friction."""
        return bool(np.any(self.damping) or np.any(self.friction))

    @property
    def stores(self) -> bool:
        """Whether a joint has a spring."""
        return bool(np.any(self.stiffness))

    def dissipative(self, data: Any, q: Array, v: Array, slip: float) -> Array:
        """Joint forces of damping and friction, shape (nv,).

        Args:
            data: Pinocchio's data.
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
            slip: Rate in rad/s and m/s below which dry friction falls off.
        """
        if not self.dissipates:
            return np.zeros(len(v))
        rates = self._rates(data, q, self.damping + self.friction)
        x = rates @ v
        return np.asarray(-rates.T @ (self.damping * x + self.friction * np.tanh(x / slip)))

    def springs(self, data: Any, q: Array) -> Array:
        """Joint forces of springs, shape (nv,)."""
        if not self.stores:
            return np.zeros(self.coordinates.model.nv)
        rates = self._rates(data, q, self.stiffness)
        return np.asarray(-rates.T @ (self.stiffness * self._stretch(data, q)))

    def energy(self, data: Any, q: Array) -> float:
        """Energy in the springs, in J."""
        return 0.5 * float(self.stiffness @ self._stretch(data, q) ** 2) if self.stores else 0.0

    def _stretch(self, data: Any, q: Array) -> Array:
        """Joint coordinates from where springs have no force, shape (n,)."""
        x = self.coordinates.of_tree(q)
        pin.forwardKinematics(self.coordinates.model, data, q)
        for closure in self.closures:
            edge = closure.edge
            if edge is not None and np.any(self.stiffness[list(edge.columns)]):
                x[list(edge.columns)] = joint_position(edge, closure.joint_pose(data))
        stretch = x - self.rest_position
        for edge in self.coordinates.graph.edges:
            columns = list(edge.columns)
            if edge.group and np.any(self.rest_position[columns]):
                # Rotations do not subtract: take the one from the rest position to here.
                rest = motion(edge, self.rest_position[columns])
                stretch[columns] = joint_position(
                    edge, screw.inverse(rest) @ motion(edge, x[columns])
                )
        return np.asarray(stretch)

    def _rates(self, data: Any, q: Array, wanted: Array) -> Array:
        """Rates of the joint coordinates by the velocity, zero where none is wanted, (n, nv)."""
        rates = self.coordinates.rates.copy()
        for closure in self.closures:
            edge = closure.edge
            if edge is not None and np.any(wanted[list(edge.columns)]):
                pin.computeJointJacobians(self.coordinates.model, data, q)
                rates[list(edge.columns)] = _closing_rates(self.coordinates.model, data, closure)
        return np.asarray(rates)


def _closing_rates(model: Any, data: Any, closure: ClosureRows) -> Array:
    """Rates of a closing joint's coordinates by the velocity, shape (f, nv)."""
    edge = closure.edge
    assert edge is not None
    world = pin.ReferenceFrame.WORLD
    one, two = (
        pin.getJointJacobian(model, data, joint, world) if joint else np.zeros((6, model.nv))
        for joint in (closure.first, closure.second)
    )
    child = closure.second if closure.sign > 0 else closure.first
    T_joint = closure.T_second_joint if closure.sign > 0 else closure.T_first_joint
    T_world_child = (data.oMi[child] * T_joint).homogeneous
    twist = screw.adjoint(screw.inverse(T_world_child)) @ ((two - one) * closure.sign)
    position = joint_position(edge, closure.joint_pose(data))
    return np.asarray(np.linalg.pinv(body_jacobian(edge, position)) @ twist)
