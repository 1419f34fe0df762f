r"""Forces within the joints: damping, springs with rest positions, dry friction; and limits.

With the joint coordinates x, those of the cuts included, the joint forces are

.. math:: \tau = -d\,\dot x - \mu \tanh(\dot x / \epsilon) - k\,(x - x_0).

Dry friction is regularised: below the rate :math:`\epsilon` it falls off, so that a joint that
would stick creeps instead. Springs of ball joints and free ones have the energy
:math:`s^T k s / 2` of the twist s from rest; the force is its slope along the twist of the child.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Rates
from regularize.mechanism.graph import ColumnId, Edge, Graph
from regularize.mechanism.joint import joint_position, motion
from regularize.mechanism.mechanism import Mechanism


def dynamics_of(mechanism: Mechanism, key: str) -> Coordinates:
    """Return one value of ``Joint.dynamics`` for every coordinate, zero where not stated."""
    parts = [np.zeros(0)]
    for joint in mechanism.joints:
        values = getattr(joint.dynamics, key)
        parts.append(np.zeros(joint.freedoms) if values is None else values)
    return np.concatenate(parts)


def limits_of(mechanism: Mechanism, key: str, unstated: float | None = None) -> Coordinates:
    """Return one limit for every coordinate; by default infinite, ``unstated`` beside limits."""
    none = -np.inf if key == "lower" else np.inf
    left_out = none if unstated is None or key not in ("lower", "upper") else unstated
    parts = [np.zeros(0)]
    for joint in mechanism.joints:
        values = none if joint.limits is None else getattr(joint.limits, key)
        parts.append(np.full(joint.freedoms, left_out if values is None else values))
    return np.concatenate(parts)


def ranges_of(mechanism: Mechanism) -> Array:
    """Return lower and upper limits of all coordinates, infinite where none is, shape (n, 2)."""
    return np.stack([limits_of(mechanism, key) for key in ("lower", "upper")], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class PassiveJoints:
    """Springs, dampers and friction within joints, by joint coordinate."""

    graph: Graph = field(repr=False)
    damping: Coordinates
    #: Dry friction.
    friction: Coordinates
    #: Of springs, and where these have no force.
    stiffness: Coordinates
    rest_position: Coordinates
    #: Inertia of rotors.
    armature: Coordinates
    #: Rate in rad/s and m/s below which dry friction falls off.
    slip: float = 1e-3

    @classmethod
    def of(cls, graph: Graph) -> PassiveJoints:
        """Collect springs, dampers and friction within the joints of a graph."""
        keys = ("damping", "friction", "stiffness", "rest_position", "armature")
        values: dict[str, Any] = {key: dynamics_of(graph.mechanism, key) for key in keys}
        return cls(graph, **values)

    @cached_property
    def dissipates(self) -> bool:
        """Whether a joint has damping or friction."""
        return bool(np.any(self.damping) or np.any(self.friction))

    @cached_property
    def stores(self) -> bool:
        """Whether a joint has a spring."""
        return bool(np.any(self.stiffness))

    def dissipative(self, rates: Rates, slip: float | None = None) -> Array:
        """Return forces of damping and friction at joint rates, of balls in the moving frame."""
        slid = np.tanh(rates / (slip or self.slip))
        return np.asarray(-self.damping * rates - self.friction * slid)

    def springs(self, x: Coordinates) -> Array:
        """Return forces of springs: minus the slope of their energy, of balls along twists."""
        stretch = self.stretch(x)
        force = -self.stiffness * stretch
        for edge, columns in self._sprung:
            twist, along = stretch[..., columns] @ edge.screws.T, force[..., columns]
            wrench = screw.wrench_of_twist_forces(twist, along @ edge.screws.T)
            force[..., columns] = wrench @ edge.screws
        return np.asarray(force)

    def energy(self, x: Coordinates) -> Array:
        """Return the energy in the springs, in J, shape (...,)."""
        return np.asarray(0.5 * self.stretch(x) ** 2 @ self.stiffness)

    def stretch(self, x: Coordinates) -> Coordinates:
        """Return joint coordinates from where springs have no force."""
        stretch = np.array(x - self.rest_position)
        for edge, columns in self._sprung:
            if self.rest_position[columns].any():
                # Rotations do not subtract: take the one from the rest position to here.
                back = screw.inverse(motion(edge, self.rest_position[columns]))
                for index in np.ndindex(x.shape[:-1]):
                    turned = back @ motion(edge, x[index][columns])
                    stretch[index][columns] = joint_position(edge, turned)
        return stretch

    @cached_property
    def _sprung(self) -> list[tuple[Edge, list[ColumnId]]]:
        """Yield balls and other groups with springs, and their coordinates."""
        groups = [(edge, list(edge.columns)) for edge in self.graph.edges if edge.group]
        return [(edge, columns) for edge, columns in groups if self.stiffness[columns].any()]
