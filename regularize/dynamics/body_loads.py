"""Constant forces and moments on bodies, as joint forces and as the compiled kernel adds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regularize.arguments import vector
from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.pinocchio_model.robot import Robot


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
        """Look at the arrays, and freeze them."""
        for name in ("force", "moment", "point"):
            try:
                found = vector(name, getattr(self, name), 3)
            except ModelError:
                raise ModelError(
                    f"the {name} of a load consists of three finite numbers; got "
                    f"{getattr(self, name)!r:.60}"
                ) from None
            object.__setattr__(self, name, screw.read_only(found))
        if self.axes not in ("ground", "body"):
            raise ModelError(f"the axes of a load are 'ground' or 'body'; got {self.axes!r:.60}")


@dataclass(frozen=True, eq=False, repr=False)
class BodyLoads:
    """What acts on bodies of a robot.

    Attributes:
        robot: The robot.
        places: Of each load the joint that carries the body, and the body's frame in the joint's.
        loads: The loads.
    """

    robot: Robot
    places: tuple[tuple[int, Array], ...]
    loads: tuple[BodyLoad, ...]

    @classmethod
    def of(cls, robot: Robot, given: Mapping[str, ArrayLike | BodyLoad]) -> BodyLoads:
        """Loads by the names of the bodies.

        Raises:
            ModelError: There is no such body, or a load does not consist of six numbers.
        """
        places, loads = [], []
        for name, load in given.items():
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
            places.append(robot.places[name])
            loads.append(load)
        return cls(robot, tuple(places), tuple(loads))

    def __call__(self, q: Array) -> Array:
        """Joint forces, shape (nv,)."""
        tau: Array = np.zeros(self.robot.nv)
        poses = self.robot.states.poses(q)
        for (joint, place), load in zip(self.places, self.loads, strict=True):
            T = poses[joint] @ place
            force, moment = np.asarray(load.force), np.asarray(load.moment)
            if load.axes == "body":
                force, moment = T[:3, :3] @ force, T[:3, :3] @ moment
            point = T[:3, :3] @ np.asarray(load.point) + T[:3, 3]
            wrench = np.concatenate([force, moment + np.cross(point, force)])
            tau += self.robot.states.between(q, 0, joint).T @ wrench
        return tau

    def numbers(self) -> Array | None:
        """What the kernel adds to each part, as ``loads.c`` reads it, shape (parts, 21).

        Returns:
            None where the kernel does not know the model.
        """
        known = self.robot.machine
        if known is None:
            return None
        machine, part_of = known
        result: Array = np.zeros((len(machine.parts) + 1, 21))
        for (joint, place), load in zip(self.places, self.loads, strict=True):
            part = part_of[joint]
            T = screw.inverse(machine.turned(part)) @ place
            point = T[:3, :3] @ np.asarray(load.point) + T[:3, 3]
            force, moment = np.asarray(load.force), np.asarray(load.moment)
            if load.axes == "body":
                force, moment = T[:3, :3] @ force, T[:3, :3] @ moment
                result[part, :6] += [*force, *(moment + np.cross(point, force))]
            else:
                result[part, 6:12] += [*force, *moment]
                result[part, 12:] += np.outer(point, force).ravel()
        return result
