"""What holds joints one by one: their bounds, and dry friction."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array
from regularize.mechanism.graph import coordinate_names
from regularize.pinocchio.robot import Robot
from regularize.simulation.loads import Loads
from regularize.statics.passive_joints import limits_of


@dataclass(frozen=True, eq=False, repr=False)
class JointStops:
    """Joint coordinates with bounds and with dry friction, those of closing joints among them.

    Attributes:
        robot: The robot.
        limits: Whether bounds of positions and of joint forces are kept.
        bounded: Which of the mechanism's coordinates have bounds, shape (bounded,).
        named: Names of all coordinates.
        lower: Their lower bounds, shape (bounded,).
        upper: Their upper bounds, shape (bounded,).
        rough: Which coordinates have dry friction, shape (rough,).
        friction: How much, in N m or N, shape (rough,).
        effort: Largest joint forces by velocities of the model, infinite where not stated, (nv,).
    """

    robot: Robot = field(repr=False)
    limits: bool
    bounded: NDArray[np.intp]
    named: tuple[str, ...]
    lower: Array
    upper: Array
    rough: NDArray[np.intp]
    friction: Array
    effort: Array

    @classmethod
    def of(cls, robot: Robot, limits: bool) -> JointStops:
        """Those of a robot's joints.

        Args:
            robot: The robot.
            limits: Whether bounds count, of positions and of joint forces.
        """
        mechanism = robot.reduction.mechanism
        lower, upper = (limits_of(mechanism, key) for key in ("lower", "upper"))
        counted = (np.isfinite(lower) | np.isfinite(upper)) & limits
        for edge in robot.reduction.graph.edges:
            if edge.group:  # rotation vectors, which have no bounds one by one
                counted[list(edge.columns)] = False
        bounded, friction = np.flatnonzero(counted), robot.passive.joints.friction
        columns = robot.passive.coordinates.columns
        effort = np.full(robot.nv, np.inf)
        if limits:
            own = columns >= 0
            effort[own] = limits_of(mechanism, "effort")[columns[own]]
        return cls(
            robot,
            limits,
            bounded,
            coordinate_names(mechanism),
            lower[bounded],
            upper[bounded],
            np.flatnonzero(friction),
            friction[friction != 0.0],
            effort,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bounded coordinates."""
        return tuple(self.named[i] for i in self.bounded)

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
        wanted = passive.joints.damping + passive.joints.stiffness + passive.joints.friction
        wanted[self.bounded] = 1.0
        return passive.rates(q, wanted)

    def coordinates(self, q: Array, near: Array | None = None) -> Array:
        """The mechanism's coordinates at a configuration (nq,), shape (n,).

        Args:
            q: Configuration, shape (nq,).
            near: Those before: bounded angles of closing joints are counted on from there.
        """
        x: Array = self.robot.states.coordinates(self.robot.passive.coordinates, q[None])[0]
        if near is not None and len(self._wrapped):
            turns = np.round((near - x)[self._wrapped] / (2 * np.pi))
            x[self._wrapped] += 2 * np.pi * turns
        return x

    def gaps(self, x: Array) -> Array:
        """Distances of coordinates (n,) from bounds, lower and upper ones, shape (bounded, 2)."""
        at = x[self.bounded]
        return np.column_stack([at - self.lower, self.upper - at])

    @cached_property
    def _wrapped(self) -> NDArray[np.intp]:
        """Bounded coordinates that are angles known but for whole turns."""
        graph = self.robot.reduction.graph
        turns = np.zeros(graph.freedoms, dtype=bool)
        for edge in graph.edges:
            turns[list(edge.columns)] = np.any(edge.screws[3:], axis=0)
        closing = np.isin(self.bounded, self.robot.constraints.closing_columns)
        return self.bounded[closing & turns[self.bounded]]
