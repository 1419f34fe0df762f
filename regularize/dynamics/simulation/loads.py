"""All joint forces of a simulation: those applied, and those within the joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.compiled_functions import (
    CompiledForces,
    CompiledTorque,
    compiled_or_python,
)
from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import (
    Array,
    Configuration,
    Point,
    Torque,
    Transform,
    Velocity,
    read_only,
)
from regularize.validation import vector

if TYPE_CHECKING:
    from scipy import LowLevelCallable


#: A joint force in N or a torque in N m: constant, or a function of the time in seconds.
Actuation: TypeAlias = "float | Callable[[float], float] | LowLevelCallable"
#: Joint forces and torques by time, configuration and velocity.
JointForces: TypeAlias = Callable[[float, Configuration, Velocity], Torque]


@dataclass(frozen=True, eq=False)
class BodyLoad:
    """A constant force and moment on a body.

    Attributes:
        force: In N, shape (3,).
        moment: In N m, about the point where the force acts, shape (3,).
        point: That point in the body's frame, in m, shape (3,).
        axes: ``ground``: force and moment keep their directions; ``body``: they turn with the body.

    Raises:
        TypeError: Something else than numbers is given.
        ModelError: An array has another shape, or there are no such axes.
    """

    force: ArrayLike = (0.0, 0.0, 0.0)
    moment: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    axes: str = "ground"

    def __post_init__(self) -> None:
        for name in ("force", "moment", "point"):
            try:
                values = vector(name, getattr(self, name), 3)
            except ModelError:
                raise ModelError(
                    f"the {name} of a load consists of three finite numbers; got "
                    f"{getattr(self, name)!r:.60}"
                ) from None
            object.__setattr__(self, name, read_only(values))
        if self.axes not in ("ground", "body"):
            raise ModelError(f"the axes of a load are 'ground' or 'body'; got {self.axes!r:.60}")

    def placed(self, T: Transform) -> tuple[Array, Array, Point]:
        """Force and moment turned with the body's frame, and the point, in the frame of ``T``."""
        R = T[:3, :3]
        turned = R @ np.asarray(self.force), R @ np.asarray(self.moment)
        return (*turned, R @ np.asarray(self.point) + T[:3, 3])


@dataclass(frozen=True, eq=False, repr=False)
class Loads:
    """Joint forces over time, q and v; dry friction falls off below the rate ``slip``."""

    robot: Robot
    constant: Torque
    varying: tuple[tuple[int, str, Callable[[float], float]], ...]  #: velocity, joint, torque
    bodies: tuple[tuple[int, Transform, BodyLoad], ...]  #: carrying joint, frame in it, load
    forces: JointForces | None
    slip: float | None = None

    @classmethod
    def of(
        cls,
        robot: Robot,
        torques: Mapping[str, Actuation],
        forces: JointForces | LowLevelCallable | None = None,
        loads: Mapping[str, ArrayLike | BodyLoad] | None = None,
        slip: float | None = None,
    ) -> Loads:
        """Collect forces on joints and loads on bodies from tables by name."""
        constant = np.zeros(robot.nv)
        varying: list[tuple[int, str, Callable[[float], float]]] = []
        for name, torque in torques.items():
            index = robot.velocity_indices([name])
            if len(index) != 1:
                raise ModelError(
                    f"joint {name!r} has {len(index)} freedoms; actuate joints with one"
                )
            title = f"the torque of joint {name!r}"
            value = compiled_or_python(torque, title, CompiledTorque)
            if callable(value):
                varying.append((int(index[0]), name, value))
            else:
                constant[index[0]] += value
        function = compiled_or_python(forces, "forces", CompiledForces)
        bodies = tuple(_on_body(robot, name, load) for name, load in (loads or {}).items())
        return cls(robot, read_only(constant), tuple(varying), bodies, function, slip)

    def applied(self, t: float, q: Configuration, v: Velocity) -> Torque:
        """Return joint forces of motors, force functions and loads on bodies."""
        tau = self.of_functions(t, q, v) + self.constant
        poses = self.robot.states.poses(q) if self.bodies else ()
        for joint, T_joint_body, load in self.bodies:
            force, moment, point = load.placed(poses[joint] @ T_joint_body)
            if load.axes == "ground":
                force, moment = np.asarray(load.force), np.asarray(load.moment)
            wrench = np.concatenate([force, moment + np.cross(point, force)])
            tau += self.robot.states.between(q, 0, joint).T @ wrench
        return tau

    def of_functions(
        self, t: float, q: Configuration, v: Velocity, compiled: bool = True
    ) -> Torque:
        """Evaluate the user's force functions; without ``compiled``, only those in Python."""
        tau = np.zeros(len(v))
        for index, name, torque in self.varying:
            if compiled or not isinstance(torque, CompiledTorque):
                tau[index] += _number(torque(t), name)
        if self.forces is None or (not compiled and isinstance(self.forces, CompiledForces)):
            return tau
        forces = np.asarray(self.forces(t, q, v))
        if forces.shape != tau.shape or forces.dtype.kind not in "iuf":
            raise ModelError(
                f"forces returns joint forces of shape ({len(v)},); got shape {forces.shape} of "
                f"{forces.dtype}"
            )
        return np.asarray(tau + forces)

    def working(self, t: float, q: Configuration, v: Velocity) -> Torque:
        """Return the joint forces that change the energy: all but those of springs."""
        return self.robot.passive.dissipative(q, v, self.slip) + self.applied(t, q, v)

    def __call__(self, t: float, q: Configuration, v: Velocity) -> Torque:
        """Return all joint forces."""
        return np.asarray(self.working(t, q, v) + self.robot.passive.springs(q))

    def on_links(self) -> Array:
        """Return the loads on links in the layout that ``loads.c`` reads, shape (links, 21)."""
        multibody, link_of = self.robot.multibody
        result: Array = np.zeros((len(multibody.links) + 1, 21))
        for joint, T_joint_body, load in self.bodies:
            link = link_of[joint]
            T_link_body = screw.inverse(multibody.turned(link)) @ T_joint_body
            force, moment, point = load.placed(T_link_body)
            if load.axes == "body":
                result[link, :6] += [*force, *(moment + np.cross(point, force))]
            else:
                force, moment = np.asarray(load.force), np.asarray(load.moment)
                result[link, 6:12] += [*force, *moment]
                result[link, 12:] += np.outer(point, force).ravel()
        return result


def _on_body(
    robot: Robot, name: str, load: ArrayLike | BodyLoad
) -> tuple[int, Transform, BodyLoad]:
    """Return the joint that carries a body, the body's frame in that of the joint, and the load."""
    robot.reduction.mechanism.body(name)
    if name not in robot.places:
        raise ModelError(f"body {name!r} is within a joint and has no place in the model")
    if not isinstance(load, BodyLoad):
        if np.shape(load) != (6,):
            raise ModelError(
                f"the load on body {name!r} is a BodyLoad or six numbers, force first; got "
                f"{load!r:.60}"
            )
        load = BodyLoad(*np.reshape(load, (2, 3)))
    return (*robot.places[name], load)


def _number(value: Any, name: str) -> float:
    """Convert the result of a torque function to a float; raises ``ModelError`` if it is none."""
    if not isinstance(value, (str, bytes)):
        with suppress(TypeError, ValueError):
            return float(value)
    raise ModelError(f"the torque of joint {name!r} is a number; the function gave {value!r:.60}")
