"""What holds joints one by one: their bounds, and dry friction."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.loads import Loads
from regularize.lie.arrays import Array
from regularize.mechanism.graph import coordinate_names
from regularize.repair.statics.passive_joints import limits_of


@dataclass(frozen=True, eq=False, repr=False)
class JointStops:
    """Bounds and dry friction of joint coordinates, those of closing joints among them.

    Attributes:
        robot: The robot.
        columns: Which of the mechanism's coordinates each stop is of, shape (stops,).
        signs: 1 for lower bounds and dry friction, -1 for upper bounds, shape (stops,).
        places: Where bounds are, not a number for dry friction, shape (stops,).
        boxes: The least and the largest force of each, shape (stops, 2).
        effort: Largest joint forces by velocities of the model, infinite where not stated, (nv,).
    """

    robot: Robot = field(repr=False)
    columns: NDArray[np.intp]
    signs: Array
    places: Array
    boxes: Array
    effort: Array

    @classmethod
    def of(cls, robot: Robot, limits: bool) -> JointStops:
        """Those of a robot's joints.

        Args:
            robot: The robot.
            limits: Whether bounds count, of positions and of joint forces.
        """
        mechanism, friction = robot.reduction.mechanism, robot.passive.joints.friction
        sides = np.array([limits_of(mechanism, key) for key in ("lower", "upper")])
        counted = np.isfinite(sides) & limits
        for edge in robot.reduction.graph.edges:
            if edge.group:  # rotation vectors, which have no bounds one by one
                counted[:, list(edge.columns)] = False
        side, bounded = np.nonzero(counted)
        rough, effort = np.flatnonzero(friction), np.full(robot.nv, np.inf)
        columns = robot.passive.coordinates.columns
        if limits:
            own = columns >= 0
            effort[own] = limits_of(mechanism, "effort")[columns[own]]
        return cls(
            robot,
            np.concatenate([bounded, rough]),
            np.concatenate([1.0 - 2.0 * side, np.ones(len(rough))]),
            np.concatenate([sides[counted], np.full(len(rough), np.nan)]),
            np.concatenate(
                [np.tile([0.0, np.inf], (len(bounded), 1)), np.outer(friction[rough], [-1.0, 1.0])]
            ),
            effort,
        )

    @cached_property
    def rough(self) -> NDArray[np.bool_]:
        """Which of them are dry friction, shape (stops,)."""
        return np.isnan(self.places)

    @cached_property
    def bounded(self) -> NDArray[np.intp]:
        """Which of the mechanism's coordinates have bounds, shape (bounded,)."""
        return np.unique(self.columns[~self.rough])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bounded coordinates."""
        named = coordinate_names(self.robot.reduction.mechanism)
        return tuple(named[i] for i in self.bounded)

    def limit_forces(self, forces: Array) -> Array:
        """Forces on bounded coordinates from those of all stops (stops,), shape (bounded,)."""
        found = np.zeros(self.robot.reduction.graph.freedoms)
        np.add.at(found, self.columns, np.where(self.rough, 0.0, self.signs * forces))
        return found[self.bounded]

    def applied(self, loads: Loads, t: float, q: Array, v: Array) -> Array:
        """Joint forces from outside, those of motors within their efforts, shape (nv,)."""
        whole, effort = loads.applied(t, q, v), self.effort
        if not np.isfinite(effort).any():
            return whole
        motors = loads.constant + loads.of_functions(t, q, v)
        return np.asarray(whole - motors + np.clip(motors, -effort, effort))

    def rates(self, q: Array) -> Array:
        """Rates of joint coordinates by velocities, of closing joints the needed, (n, nv)."""
        passive = self.robot.passive
        wanted = passive.joints.damping + passive.joints.stiffness
        wanted[self.columns] = 1.0
        return passive.rates(q, wanted)

    def rows(self, rates: Array) -> Array:
        """Rates of the distances from bounds, and of rough coordinates, shape (stops, nv).

        Args:
            rates: Of all joint coordinates by velocities, shape (n, nv).
        """
        return np.asarray(self.signs[:, None] * rates[self.columns])

    def coordinates(self, q: Array, near: Array | None = None) -> Array:
        """The mechanism's coordinates at a configuration (nq,), shape (n,).

        Args:
            q: Configuration, shape (nq,).
            near: Those before: bounded angles of closing joints are counted on from there.
        """
        robot = self.robot
        step = pin.difference(robot.model, pin.neutral(robot.model), q)
        x: Array = robot.states.coordinates(robot.passive.coordinates, q[None], step[None])[0]
        if near is not None and len(self._wrapped):
            turns = np.round((near - x)[self._wrapped] / (2 * np.pi))
            x[self._wrapped] += 2 * np.pi * turns
        return x

    def gaps(self, x: Array) -> Array:
        """Distances of coordinates (n,) from bounds, not a number for friction, shape (stops,)."""
        return np.asarray(self.signs * (x[self.columns] - self.places))

    @cached_property
    def _wrapped(self) -> NDArray[np.intp]:
        """Bounded coordinates that are angles known but for whole turns."""
        graph = self.robot.reduction.graph
        turns = np.zeros(graph.freedoms, dtype=bool)
        for edge in graph.edges:
            turns[list(edge.columns)] = np.any(edge.screws[3:], axis=0)
        closing = np.isin(self.bounded, self.robot.constraints.closing_columns)
        return self.bounded[closing & turns[self.bounded]]
