"""Checks of what a simulation is asked for, before it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.body_loads import BodyLoad, BodyLoads
from regularize.dynamics.compiled_functions import CompiledForces, CompiledTorque, compiled_or_own
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.pinocchio_model.robot import Robot

if TYPE_CHECKING:
    from scipy import LowLevelCallable

#: A joint force in N or a torque in N m: constant, or a function of the time in seconds.
Actuation: TypeAlias = "float | Callable[[float], float] | LowLevelCallable"
#: Joint forces and torques by time, configuration and velocity, shape (nv,).
JointForces: TypeAlias = Callable[[float, Array, Array], Array]

#: Smallest relative error that numbers of double precision can keep.
FINEST = 100 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, repr=False)
class AppliedForces:
    """All joint forces from outside.

    Attributes:
        constant: In N and N m, shape (nv,).
        varying: Indices of velocities, names of joints, and functions of the time.
        loads: What acts on bodies.
        forces: Further joint forces, or None.
    """

    constant: Array
    varying: tuple[tuple[int, str, Callable[[float], float]], ...]
    loads: BodyLoads
    forces: JointForces | None

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The forces, shape (nv,)."""
        tau = self.of_functions(t, q, v) + self.constant
        return np.asarray(tau + self.loads(q) if self.loads.places else tau)

    def of_functions(self, t: float, q: Array, v: Array, compiled: bool = True) -> Array:
        """Those of functions, shape (nv,).

        Args:
            t: Time in seconds.
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
            compiled: Whether those count that C code can call by itself.

        Raises:
            ModelError: A function returns something else than a number, or than joint forces.
        """
        tau = np.zeros(len(v))
        for index, name, torque in self.varying:
            if compiled or not isinstance(torque, CompiledTorque):
                tau[index] += _number(torque(t), name)
        if self.forces is None or not (compiled or not isinstance(self.forces, CompiledForces)):
            return tau
        found = np.asarray(self.forces(t, q, v))
        if found.shape != tau.shape or found.dtype.kind not in "iuf":
            raise ModelError(
                f"forces returns joint forces of shape ({len(v)},); got shape {found.shape} of "
                f"{found.dtype}"
            )
        return np.asarray(tau + found)


def _number(value: Any, name: str) -> float:
    """What a function of time returned.

    Raises:
        ModelError: It is no number.
    """
    if not isinstance(value, (str, bytes)):
        with suppress(TypeError, ValueError):
            return float(value)
    raise ModelError(f"the torque of joint {name!r} is a number; the function gave {value!r:.60}")


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
            if callable(number) or isinstance(number, tuple):  # as a LowLevelCallable is
                continue
            if not np.isfinite(number):
                raise ModelError(f"the {what} of joint {name!r} is no finite number: {number}")


def torque_of(name: str, given: Actuation) -> float | Callable[[float], float]:
    """The torque of a joint: a number, or a function that Python can call.

    Raises:
        ModelError: A compiled function has another signature.
    """
    what = f"the torque of joint {name!r}"
    found: float | Callable[[float], float] = compiled_or_own(
        given, what, partial(CompiledTorque, what=what)
    )
    return found


def forces_of(given: JointForces | LowLevelCallable | None) -> JointForces | None:
    """Joint forces as a function that Python can call.

    Raises:
        ModelError: A compiled function has another signature.
    """
    found: JointForces | None = compiled_or_own(
        given, "forces", partial(CompiledForces, what="forces")
    )
    return found


def joint_forces(
    robot: Robot,
    torques: Mapping[str, Actuation],
    forces: JointForces | LowLevelCallable | None,
    loads: Mapping[str, ArrayLike | BodyLoad] | None = None,
) -> AppliedForces:
    """All joint forces of a simulation as one function of time, configuration and velocity.

    Raises:
        ModelError: A name is unknown, its joint has several freedoms, or a compiled function has
            another signature.
        UnsupportedExport: An actuated joint is a cut; choose other cuts.
    """
    constant = np.zeros(robot.nv)
    varying: list[tuple[int, str, Callable[[float], float]]] = []
    for name, torque in torques.items():
        index = robot.velocity_indices([name])
        if len(index) != 1:
            raise ModelError(f"joint {name!r} has {len(index)} freedoms; actuate joints with one")
        value = torque_of(name, torque)
        if callable(value):
            varying.append((int(index[0]), name, value))
        else:
            constant[index[0]] += value
    constant.setflags(write=False)
    on_bodies = BodyLoads.of(robot, loads or {})
    return AppliedForces(constant, tuple(varying), on_bodies, forces_of(forces))
