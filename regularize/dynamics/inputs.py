"""Checks of what a simulation is asked for, before it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.pinocchio_model.robot import Robot

#: A joint force in N or a torque in N m: constant, or a function of the time in seconds.
Actuation: TypeAlias = float | Callable[[float], float]
#: Joint forces and torques by time, configuration and velocity, shape (nv,).
JointForces: TypeAlias = Callable[[float, Array, Array], Array]

#: Smallest relative error that numbers of double precision can keep.
FINEST = 100 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ConstantForces:
    """Joint forces that are always the same.

    Attributes:
        values: In N and N m, shape (nv,).
    """

    values: Array

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The forces, shape (nv,)."""
        return self.values


def check_numbers(
    duration: float,
    rtol: float,
    torques: Mapping[str, Actuation] | None = None,
    rates: Mapping[str, float] | None = None,
    *,
    atol: float | None = None,
    max_step: float = np.inf,
    slip: float | None = None,
) -> None:
    """Refuse numbers with which nothing can be simulated.

    Args:
        duration: In seconds.
        rtol: Relative error per step.
        torques: Joint forces by name; functions of time are not looked at.
        rates: Joint rates by name.
        atol: Absolute error per step.
        max_step: Largest step in seconds.
        slip: Rate below which dry friction falls off.

    Raises:
        ModelError: Naming the argument and its value.
    """
    if not (np.isfinite(duration) and duration > 0):
        raise ModelError(f"the duration must be a positive number of seconds, got {duration}")
    if not FINEST <= rtol <= 1:
        raise ModelError(
            f"the relative error per step must lie between {FINEST:.1e} and 1, got rtol = {rtol}"
        )
    positive = {
        "absolute error per step": atol,
        "largest step": max_step,
        "rate of slipping": slip,
    }
    for given, value in positive.items():
        if value is not None and not value > 0:
            raise ModelError(f"the {given} must be a positive number, got {value}")
    for what, values in (("torque or force", torques), ("rate", rates)):
        for name, number in (values or {}).items():
            if not callable(number) and not np.isfinite(number):
                raise ModelError(f"the {what} of joint {name!r} is no finite number: {number}")


def joint_forces(
    robot: Robot, torques: Mapping[str, Actuation], forces: JointForces | None
) -> JointForces:
    """All joint forces of a simulation as one function of time, configuration and velocity.

    Raises:
        ModelError: A name is unknown or its joint has several freedoms.
        UnsupportedExport: An actuated joint is a cut; choose other cuts.
    """
    constant = np.zeros(robot.model.nv)
    varying: list[tuple[int, Callable[[float], float]]] = []
    for name, torque in torques.items():
        index = robot.velocity_indices([name])
        if len(index) != 1:
            raise ModelError(f"joint {name!r} has {len(index)} freedoms; actuate joints with one")
        if callable(torque):
            varying.append((int(index[0]), torque))
        else:
            constant[index[0]] += torque
    constant.setflags(write=False)
    if not varying and forces is None:
        return ConstantForces(constant)

    def applied(t: float, q: Array, v: Array) -> Array:
        tau = constant.copy()
        for index, torque in varying:
            tau[index] += torque(t)
        return tau if forces is None else tau + forces(t, q, v)

    return applied
