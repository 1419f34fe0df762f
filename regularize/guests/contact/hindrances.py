"""What may touch or stop at a configuration: rows on velocities, and what velocities they want."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.robot import Robot
from regularize.guests.contact import Ground
from regularize.guests.contact.stops import JointStops
from regularize.guests.contact.touching import TouchingPoints
from regularize.lie.arrays import Array
from regularize.lie.screw import cross_matrix

#: What overlaps is parted with the speed of free fall in so many steps at most.
PARTING = 4.0
#: And joints beyond their bounds return at this rate at most, in rad/s or m/s.
RETURNING = 1.0
#: Part of its size by which a shape may be off the ground with points that count.
NEAR = 0.02
#: Impacts slower than free fall in so many steps do not bounce.
SOFTLY = 3.0


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Ground and stops of a robot.

    Attributes:
        stops: Bounds and dry friction of its joints.
        ground: What it stands on.
        points: What may touch the ground.
        h: Length of a step in s.
    """

    stops: JointStops
    ground: Ground
    points: TouchingPoints
    h: float

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.stops.robot

    @cached_property
    def fall(self) -> float:
        """What free fall adds to speeds in one step, in m/s."""
        return self.h * (float(np.linalg.norm(self.robot.reduction.mechanism.gravity)) or 1.0)

    @cached_property
    def friction(self) -> Array:
        """Coefficient of friction of every point, shape (points,)."""
        return np.minimum(self.points.friction, self.ground.friction)

    @cached_property
    def data(self) -> Any:
        """Pinocchio's data of the robot's model."""
        return self.robot.model.createData()


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows on velocities.

    Attributes:
        matrix: Three rows for every contact, world axes, then one for every stop, shape (m, nv).
        wanted: Velocities that they have at least, shape (m,).
        contacts: Which points touch, shape (c,).
        places: Where, shape (c, 3).
        stops: Which bounds and dry friction follow, shape (m - 3 c,).
    """

    matrix: Array
    wanted: Array
    contacts: NDArray[np.intp]
    places: Array
    stops: NDArray[np.intp]


class Hindrances:
    """What may touch or stop at a state.

    Args:
        around: Ground and stops.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        stops: Rows of the stops, shape (stops, nv).
        gaps: Distances from bounds, shape (stops,).
    """

    def __init__(self, around: Surroundings, q: Array, v: Array, stops: Array, gaps: Array) -> None:
        self._around, self._q, self._v, self._stops, self._gaps = around, q, v, stops, gaps
        self._frames = self._frames_at(q)
        self._reach = np.zeros(len(self._frames))

    def _frames_at(self, q: Array) -> Array:
        """Frames of the shapes at a configuration, shape (shapes, 4, 4)."""
        points = self._around.points
        poses = self._around.robot.states.poses(q) if points.shapes else np.zeros((1, 4, 4))
        return points.frames(poses)

    def met(self, velocity: Array) -> NDArray[np.bool_]:
        """What a velocity (nv,) leads to within a step: which shapes touch, which joints stop."""
        around, h = self._around, self._around.h
        shapes, least = around.points.shapes, around.fall * h
        touching = np.zeros(len(shapes), dtype=bool)
        frames = self._frames_at(pin.integrate(around.robot.model, self._q, h * velocity))
        for k in np.flatnonzero(frames[:, 2, 3] - around.points.extents < least).tolist():
            shape = shapes[k][2]
            low = shape.lowest(frames[k])
            touching[k] = low < least
            if touching[k] and not self._reach[k]:
                now = shape.lowest(self._frames[k])
                near = 2.0 * max(0.0, now - low) + PARTING * least + NEAR * shape.extent
                self._reach[k] = max(near, now + near)
        # Dry friction has no distance: it is always met.
        return np.concatenate([touching, ~(self._gaps + h * self._stops @ velocity >= 0.0)])

    def rows(self, met: NDArray[np.bool_]) -> Rows:
        """The rows of some shapes and stops."""
        around, model, points = self._around, self._around.robot.model, self._around.points
        shapes, nv = met[: len(points.shapes)], len(self._v)
        stops = np.flatnonzero(met[len(shapes) :])
        contacts, places = [np.zeros(0, dtype=np.intp)], [np.zeros((0, 3))]
        rates = [np.zeros((0, 3, nv))]
        if shapes.any():
            pin.computeJointJacobians(model, around.data, self._q)
        for k in np.flatnonzero(shapes).tolist():
            joint, _, shape = points.shapes[k]
            numbers, near = shape.near(self._frames[k], float(self._reach[k]))
            twist = pin.getJointJacobian(model, around.data, joint, pin.ReferenceFrame.WORLD)
            contacts.append(points.first[k] + numbers)
            places.append(near)
            rates.append(twist[:3] - cross_matrix(near) @ twist[3:])
        touched, of_points = np.concatenate(places), np.concatenate(rates)
        back = np.minimum(-self._gaps[stops] / around.h, RETURNING)
        return Rows(
            np.concatenate([of_points.reshape(-1, nv), self._stops[stops]]),
            np.concatenate(
                [
                    self._rising(touched[:, 2], of_points[:, 2] @ self._v).ravel(),
                    np.where(around.stops.rough[stops], 0.0, back),
                ]
            ),
            np.concatenate(contacts),
            touched,
            stops,
        )

    def _rising(self, heights: Array, speeds: Array) -> Array:
        """The least velocities of points in a step, which ends above the ground, shape (c, 3)."""
        around, wanted = self._around, np.zeros((len(heights), 3))
        wanted[:, 2] = np.minimum(-heights / around.h, PARTING * around.fall)
        if bounce := around.ground.restitution:
            hard = (speeds < -SOFTLY * around.fall) & (heights + around.h * speeds < 0.0)
            wanted[hard, 2] = -bounce * speeds[hard]
        return wanted
