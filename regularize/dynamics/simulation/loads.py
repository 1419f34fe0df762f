"""All joint forces of a simulation: those applied, and those within the joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.pinocchio.exporting import to_pinocchio
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.compiled_functions import (
    CalledBack,
    CompiledForces,
    CompiledTorque,
    compiled_or_own,
)
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.repair.statics.passive_joints import limits_of
from regularize.validation import vector

if TYPE_CHECKING:
    from scipy import LowLevelCallable


#: A joint force in N or a torque in N m: constant, or a function of the time in seconds.
Actuation: TypeAlias = "float | Callable[[float], float] | LowLevelCallable"
#: Joint forces and torques by time, configuration and velocity, shape (nv,).
JointForces: TypeAlias = Callable[[float, Array, Array], Array]


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
                found = vector(name, getattr(self, name), 3)
            except ModelError:
                raise ModelError(
                    f"the {name} of a load consists of three finite numbers; got "
                    f"{getattr(self, name)!r:.60}"
                ) from None
            object.__setattr__(self, name, read_only(found))
        if self.axes not in ("ground", "body"):
            raise ModelError(f"the axes of a load are 'ground' or 'body'; got {self.axes!r:.60}")


@dataclass(frozen=True, eq=False, repr=False)
class Loads:
    """Joint forces over time, configuration and velocity: those applied, and those within joints.

    Attributes:
        robot: The robot.
        constant: Applied, in N and N m, shape (nv,).
        varying: Indices of velocities, names of joints, and functions of the time.
        bodies: What acts on bodies: the joint that carries one, its frame in the joint's, the load.
        forces: Further joint forces, or None.
        slip: Rate in rad/s and m/s below which dry friction falls off, or None for the default.
    """

    robot: Robot
    constant: Array
    varying: tuple[tuple[int, str, Callable[[float], float]], ...]
    bodies: tuple[tuple[int, Array, BodyLoad], ...]
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
        """All that is applied, by the names of joints and bodies.

        Raises:
            ModelError: A name is unknown, its joint has several freedoms, a load does not consist
                of six numbers, or a compiled function has another signature.
            UnsupportedExport: An actuated joint is a cut; choose other cuts.
        """
        constant = np.zeros(robot.nv)
        varying: list[tuple[int, str, Callable[[float], float]]] = []
        for name, torque in torques.items():
            index = robot.velocity_indices([name])
            if len(index) != 1:
                raise ModelError(
                    f"joint {name!r} has {len(index)} freedoms; actuate joints with one"
                )
            what = f"the torque of joint {name!r}"
            value = compiled_or_own(torque, what, partial(CompiledTorque, what=what))
            if callable(value):
                varying.append((int(index[0]), name, value))
            else:
                constant[index[0]] += value
        function = compiled_or_own(forces, "forces", partial(CompiledForces, what="forces"))
        bodies = tuple(_on_body(robot, name, load) for name, load in (loads or {}).items())
        return cls(robot, read_only(constant), tuple(varying), bodies, function, slip)

    def applied(self, t: float, q: Array, v: Array) -> Array:
        """Forces from outside, shape (nv,)."""
        tau = self.of_functions(t, q, v) + self.constant
        poses = self.robot.states.poses(q) if self.bodies else ()
        for joint, place, load in self.bodies:
            T = poses[joint] @ place
            force, moment = np.asarray(load.force), np.asarray(load.moment)
            if load.axes == "body":
                force, moment = T[:3, :3] @ force, T[:3, :3] @ moment
            point = T[:3, :3] @ np.asarray(load.point) + T[:3, 3]
            wrench = np.concatenate([force, moment + np.cross(point, force)])
            tau += self.robot.states.between(q, 0, joint).T @ wrench
        return tau

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

    def working(self, t: float, q: Array, v: Array) -> Array:
        """Joint forces that change the energy, shape (nv,): all but those of springs."""
        return self.robot.passive.dissipative(q, v, self.slip) + self.applied(t, q, v)

    def springs(self, q: Array) -> Array:
        """Joint forces of springs, shape (nv,)."""
        return self.robot.passive.springs(q)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """All joint forces, shape (nv,)."""
        return np.asarray(self.working(t, q, v) + self.springs(q))

    def on_links(self) -> Array | None:
        """What the kernel adds to each link, as ``loads.c`` reads it, shape (links, 21).

        Returns:
            None where the kernel does not know the model.
        """
        known = self.robot.multibody
        if known is None:
            return None
        multibody, link_of = known
        result: Array = np.zeros((len(multibody.links) + 1, 21))
        for joint, place, load in self.bodies:
            link = link_of[joint]
            T = screw.inverse(multibody.turned(link)) @ place
            point = T[:3, :3] @ np.asarray(load.point) + T[:3, 3]
            force, moment = np.asarray(load.force), np.asarray(load.moment)
            if load.axes == "body":
                force, moment = T[:3, :3] @ force, T[:3, :3] @ moment
                result[link, :6] += [*force, *(moment + np.cross(point, force))]
            else:
                result[link, 6:12] += [*force, *moment]
                result[link, 12:] += np.outer(point, force).ravel()
        return result


def _on_body(robot: Robot, name: str, load: ArrayLike | BodyLoad) -> tuple[int, Array, BodyLoad]:
    """A load with the joint that carries the body, and the body's frame in the joint's.

    Raises:
        ModelError: There is no such body, or the load does not consist of six numbers.
    """
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
    """What a function of time returned, refused if it is no number."""
    if not isinstance(value, (str, bytes)):
        with suppress(TypeError, ValueError):
            return float(value)
    raise ModelError(f"the torque of joint {name!r} is a number; the function gave {value!r:.60}")


@dataclass(frozen=True, eq=False, repr=False)
class Laws:
    """Joint forces as the kernel computes them; see ``loads.c``.

    Attributes:
        joints: Of every velocity: constant forces, damping, dry friction, stiffness of springs,
            where these rest, the sense of the joint, and numbers of functions, shape (7, nv).
        closing: Damping, dry friction, stiffness and rest of the freedoms of joints that close
            loops, shape (4, f).
        wrenches: Wrenches on the parts, shape (parts, 21).
        functions: Numbers of functions of all joint forces, shape (2,).
        capsules: The functions, counted from 1.
        called: The Python functions among them, or None.
    """

    joints: Array
    closing: Array
    wrenches: Array
    functions: Array
    capsules: tuple[Any, ...]
    called: CalledBack | None

    @property
    def loaded(self) -> bool:
        """Whether something acts on bodies or in joints that close loops."""
        return bool(self.closing[:3].any() or self.wrenches.any())


def joint_laws(loads: Loads) -> Laws | None:
    """Joint forces as numbers and functions.

    Returns:
        None where ``PassiveForces.laws`` finds none.
    """
    robot, wrenches = loads.robot, loads.on_links()
    found = None if wrenches is None else robot.passive.laws(robot.joints)
    if found is None or wrenches is None:
        return None
    joints, closing = found
    joints[0], functions = loads.constant, np.zeros(2)
    plain, capsules = False, list[Any]()
    for index, _, torque in loads.varying:
        if isinstance(torque, CompiledTorque):
            capsules.append(torque.owned)
            joints[6, index] = len(capsules)
        else:
            plain = True
    if isinstance(loads.forces, CompiledForces):
        capsules.append(loads.forces.owned)
        functions[0] = len(capsules)
    else:
        plain = plain or loads.forces is not None
    called = None
    if plain:
        of_python = partial(loads.of_functions, compiled=False)
        called = CalledBack(of_python, robot.nq, robot.nv)
        capsules.append(called.owned)
        functions[1] = len(capsules)
    return Laws(joints, closing, wrenches, functions, tuple(capsules), called)


def style_with_rotors(robot: Robot, events: bool = False) -> str:
    """``anchors``, whose tree has all joints, if one that closes a loop has a rotor or a spring.

    A rotor's inertia needs a coordinate, and a spring's angle is to be counted over whole turns.
    With events that holds of bounds and dry friction as well.
    """
    passive, tree = robot.passive.joints, np.any(robot.passive.coordinates.rates, axis=1)
    needed = (passive.armature != 0.0) | (passive.stiffness != 0.0)
    if events:
        lower, upper = (limits_of(robot.reduction.mechanism, key) for key in ("lower", "upper"))
        needed |= (passive.friction != 0.0) | np.isfinite(lower) | np.isfinite(upper)
    if not np.any(needed, where=~tree):
        return robot.style
    try:
        return to_pinocchio(robot.reduction, "anchors").style
    except UnsupportedExport:
        return robot.style
