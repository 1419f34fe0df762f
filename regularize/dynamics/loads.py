"""All joint forces of a simulation: those applied, and those within the joints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from regularize.dynamics.compiled_functions import CalledBack, CompiledForces, CompiledTorque
from regularize.dynamics.inputs import AppliedForces, JointForces
from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array
from regularize.pinocchio_model.exporting import to_pinocchio
from regularize.pinocchio_model.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
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


@dataclass(frozen=True, eq=False, repr=False)
class Laws:
    """Joint forces as the kernel computes them; see ``loads.c``.

    Attributes:
        joints: Of every velocity: constant forces, damping, dry friction, stiffness of springs,
            where these rest, and addresses of functions and of their data, shape (7, nv).
        closing: Damping, dry friction, stiffness and rest of joints that close loops, shape
            (4, closures).
        wrenches: Wrenches on the parts, shape (parts, 21).
        functions: Addresses of functions of all joint forces, and of their data, shape (4,).
        called: The Python functions among them, or None.
    """

    joints: Array
    closing: Array
    wrenches: Array
    functions: Array
    called: CalledBack | None

    @property
    def loaded(self) -> bool:
        """Whether something acts on bodies or in joints that close loops."""
        return bool(self.closing[:3].any() or self.wrenches.any())


def joint_laws(loads: Loads) -> Laws | None:
    """Joint forces as numbers and addresses.

    Returns:
        None where forces act in joints of several freedoms that are no coordinates of the model.
    """
    robot, applied = loads.robot, loads.applied
    if not isinstance(applied, AppliedForces):
        return None
    found, wrenches = _within_joints(robot), applied.loads.numbers()
    if found is None or wrenches is None:
        return None
    joints, closing = found
    joints[0], functions = applied.constant, np.zeros(4)
    plain = False
    for index, _, torque in applied.varying:
        if isinstance(torque, CompiledTorque):
            joints[5:, index] = _bits(torque.address)
        else:
            plain = True
    if isinstance(applied.forces, CompiledForces):
        functions[:2] = _bits(applied.forces.address)
    else:
        plain = plain or applied.forces is not None
    called = None
    if plain:
        model, of_python = robot.model, partial(applied.of_functions, compiled=False)
        called = CalledBack(of_python, model.nq, model.nv)
        functions[2:] = _bits(called.address)
    return Laws(joints, closing, wrenches, functions, called)


def _bits(address: tuple[int, int]) -> Array:
    """Addresses among numbers: the same bits."""
    return np.array(address, dtype=np.uint64).view(np.float64)


def _within_joints(robot: Robot) -> tuple[Array, Array] | None:
    """What acts within the joints: those of the tree, (7, nv), and those that close loops."""
    joints, closures = robot.passive.joints, robot.constraints.closures
    laws: Array = np.zeros((7, robot.model.nv))
    closing: Array = np.zeros((4, len(closures)))
    single: dict[int, int] = {
        closure.edge.columns[0]: i
        for i, closure in enumerate(closures)
        if closure.edge is not None and closure.edge.freedoms == 1 and not closure.edge.group
    }
    amounts = np.array([joints.damping, joints.friction, joints.stiffness])
    columns, rates = np.flatnonzero(amounts.any(axis=0)).tolist(), robot.passive.coordinates.rates
    for column in columns:
        places = np.flatnonzero(rates[column])
        if not len(places) and column in single:
            i = single[column]
            closing[:, i] = *amounts[:, column], joints.rest_position[column]
            continue
        if len(places) != 1 or abs(rates[column, places[0]]) != 1.0 or laws[1:4, places].any():
            return None
        place = int(places[0])
        if joints.stiffness[column] and not robot.counted(place):
            return None
        laws[1:4, place] = amounts[:, column]
        laws[4, place] = rates[column, place] * joints.rest_position[column]
    return laws, closing


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
