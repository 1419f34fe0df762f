"""All joint forces of a simulation: those applied, and those within the joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.dynamics.inputs import JointForces
from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array
from regularize.pinocchio_model.exporting import to_pinocchio
from regularize.pinocchio_model.robot import Robot


@dataclass(frozen=True, eq=False)
class Loads:
    """Joint forces over time, configuration and velocity.

    Attributes:
        robot: The robot.
        applied: Forces from outside, or None.
        slip: Rate in rad/s and m/s below which dry friction falls off, or None for the default.
    """

    robot: Robot
    applied: JointForces | None = None
    slip: float | None = None

    @property
    def work(self) -> bool:
        """Whether any of them changes the energy: springs only keep it."""
        return self.applied is not None or self.robot.passive.joints.dissipates

    def working(self, t: float, q: Array, v: Array) -> Array:
        """Joint forces that change the energy, shape (nv,): all but those of springs."""
        lost = self.robot.passive.dissipative(self.robot.data, q, v, self.slip)
        return lost if self.applied is None else lost + self.applied(t, q, v)

    def springs(self, q: Array) -> Array:
        """Joint forces of springs, shape (nv,)."""
        return self.robot.passive.springs(self.robot.data, q)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """All joint forces, shape (nv,)."""
        return np.asarray(self.working(t, q, v) + self.springs(q))


def style_with_rotors(robot: Robot) -> str:
    """``anchors``, whose tree has all joints, if one that closes a loop has a rotor or a spring.

    A rotor's inertia needs a coordinate, and a spring's angle is to be counted over whole turns.
    """
    passive, tree = robot.passive.joints, np.any(robot.passive.coordinates.rates, axis=1)
    if not np.any((passive.armature != 0.0) | (passive.stiffness != 0.0), where=~tree):
        return robot.style
    try:
        return to_pinocchio(robot.reduction, "anchors").style
    except UnsupportedExport:
        return robot.style
