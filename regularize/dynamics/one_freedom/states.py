"""Configurations and velocities of all joints, as the Pinocchio model writes them."""

from __future__ import annotations

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.pinocchio_model.robot import Robot


class States:
    """Translates joint coordinates, those of the cuts included, to a robot's.

    Args:
        robot: A robot of the style ``rows`` or ``anchors``.
    """

    def __init__(self, robot: Robot) -> None:
        """Find where every plain coordinate goes."""
        self.robot = robot
        self._entries: list[int] = []
        self._columns: list[int] = []
        self._groups = []
        for joint in robot.joints:
            start = int(robot.tree.idx_vs[joint.index])
            for edge in joint.edges:
                columns = list(edge.columns)
                if edge.group and edge.freedoms:
                    self._groups.append((edge, start, joint.reversed))
                else:
                    self._columns += columns[::-1] if joint.reversed else columns
                    self._entries += range(start, start + edge.freedoms)
                start += edge.freedoms

    def configurations(self, q: Array) -> Array:
        """Configurations of the model, shape (N, nq), from joint coordinates (N, n)."""
        if self._groups:
            return np.array([self.robot.configuration(sample) for sample in q])
        result = np.zeros((len(q), self.robot.nq))
        result[:, self._entries] = q[:, self._columns]
        return result

    def velocities(self, q: Array, v: Array) -> Array:
        """Velocities of the model, shape (N, nv), from joint velocities at coordinates (N, n)."""
        result = np.zeros((len(q), self.robot.nv))
        result[:, self._entries] = v[:, self._columns]
        for edge, start, reverse in self._groups:
            columns = list(edge.columns)
            twist = v[:, columns] @ edge.screws.T
            if reverse:
                # The inverse motion, seen from what was the parent.
                pose = screw.exp(q[:, columns] @ edge.screws.T)
                twist = -(screw.adjoint(pose) @ twist[..., None])[..., 0]
            result[:, start : start + edge.freedoms] = twist @ edge.screws
        return result

    def inertia(self, q: Array, v: Array) -> Array:
        """Twice the kinetic energy, and mass times centre of mass, shape (N, 4)."""
        a, b, states = self.configurations(q), self.velocities(q, v), self.robot.states
        return np.column_stack([2.0 * states.energies(a, b)[0], states.moments(a)])
