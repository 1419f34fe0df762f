"""All joint forces of a simulation: those applied, and those within the joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.dynamics.inputs import ConstantForces, JointForces
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


def joint_laws(loads: Loads) -> Array | None:
    """Joint forces as numbers of every velocity, shape (5, nv).

    Constant forces, damping, dry friction, stiffness of springs, and where these rest.

    Returns:
        None where forces are functions, or act in joints that are no coordinate of the model.
    """
    robot, applied = loads.robot, loads.applied
    nv, joints = robot.model.nv, robot.passive.joints
    laws: Array = np.zeros((5, nv))
    if applied is not None:
        if not isinstance(applied, ConstantForces):
            return None
        laws[0] = applied.values
    amounts = np.array([joints.damping, joints.friction, joints.stiffness])
    columns, rates = np.flatnonzero(amounts.any(axis=0)), robot.passive.coordinates.rates
    for column in columns:
        places = np.flatnonzero(rates[column])
        if len(places) != 1 or abs(rates[column, places[0]]) != 1.0 or laws[1:4, places].any():
            return None
        place = int(places[0])
        if joints.stiffness[column] and not robot.counted(place):
            return None
        laws[1:4, place] = amounts[:, column]
        laws[4, place] = rates[column, place] * joints.rest_position[column]
    return laws


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
