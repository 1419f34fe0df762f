"""All joint forces of a simulation: those applied, and those within the joints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from regularize.dynamics.compiled_functions import CalledBack, CompiledForces, CompiledTorque, bits
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
        lost = self.robot.passive.dissipative(q, v, self.slip)
        return lost if self.applied is None else lost + self.applied(t, q, v)

    def springs(self, q: Array) -> Array:
        """Joint forces of springs, shape (nv,)."""
        return self.robot.passive.springs(q)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """All joint forces, shape (nv,)."""
        return np.asarray(self.working(t, q, v) + self.springs(q))


@dataclass(frozen=True, eq=False, repr=False)
class Laws:
    """Joint forces as the kernel computes them; see ``loads.c``.

    Attributes:
        joints: Of every velocity: constant forces, damping, dry friction, stiffness of springs,
            where these rest, the sense of the joint, and addresses of functions and of their data,
            shape (8, nv).
        closing: Damping, dry friction, stiffness and rest of the freedoms of joints that close
            loops, shape (4, f).
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
        None where ``_within_joints`` finds none.
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
            joints[6:, index] = bits(torque.address)
        else:
            plain = True
    if isinstance(applied.forces, CompiledForces):
        functions[:2] = bits(applied.forces.address)
    else:
        plain = plain or applied.forces is not None
    called = None
    if plain:
        of_python = partial(applied.of_functions, compiled=False)
        called = CalledBack(of_python, robot.nq, robot.nv)
        functions[2:] = bits(called.address)
    return Laws(joints, closing, wrenches, functions, called)


def _within_joints(robot: Robot) -> tuple[Array, Array] | None:
    """What acts within the joints: those of the tree, (8, nv), and those that close loops, (4, f).

    Returns:
        None where a coordinate of the mechanism is no single one of the model, where friction acts
        in a joint that follows another one faster or slower, or a spring in a planar joint whose
        velocity turns with it.
    """
    joints, map_ = robot.passive.joints, robot.passive.coordinates
    amounts = np.array([joints.damping, joints.friction, joints.stiffness])
    rests = joints.rest_position - map_.of_tree(robot.tree.space.neutral)
    laws: Array = np.zeros((8, robot.nv))
    laws[5], planar = 1.0, _planar(robot)
    for joint in robot.joints:
        begin = robot.tree.idx_vs[joint.index]
        freedoms = sum(edge.freedoms for edge in joint.edges)
        laws[5, begin : begin + freedoms] = -1.0 if joint.reversed else 1.0
    closed = robot.constraints.closing_columns
    closing = np.vstack([amounts, joints.rest_position])[:, closed]
    amounts[:, closed] = 0.0
    for column in np.flatnonzero(amounts.any(axis=0)).tolist():
        places = np.flatnonzero(map_.rates[column])
        if len(places) != 1:
            return None
        place, factor = int(places[0]), float(map_.rates[column, places[0]])
        damping, friction, stiffness = amounts[:, column].tolist()
        if (friction and abs(factor) != 1.0) or (stiffness and place in planar):
            return None
        laws[1:4, place] += factor**2 * damping, friction, factor**2 * stiffness
        if stiffness:  # of several springs, where they rest together
            part = factor * stiffness / laws[3, place]
            laws[4, place] += part * (rests[column] - factor * laws[4, place])
    return laws, closing


def _planar(robot: Robot) -> set[int]:
    """Velocities of planar joints, which are no rates of coordinates."""
    parts = [] if robot.machine is None else robot.machine[0].parts
    planes = [part for part in parts if part.kind == "plane"]
    return {part.rate + k for part in planes for k in range(part.freedoms)}


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
