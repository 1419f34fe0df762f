"""Where a tree's bodies are, how they move and what energy they have, by the compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from regularize.kernel.machine import Machine
from regularize.kernel.posing import carried_by, columns_of, rates_to_columns
from regularize.lie import screw
from regularize.lie.screw import Array


class Bodies:
    """The bodies of a tree, one behind each of its joints.

    Args:
        machine: The tree.
        part_of: The part that carries each body, the ground first.
        kernel: The compiled kernel on the machine's tables.

    Attributes:
        kernel: The same.
    """

    def __init__(self, machine: Machine, part_of: Sequence[int], kernel: Any) -> None:
        """Note in which frames the kernel has the parts."""
        self._machine, self.kernel = machine, kernel
        self._part_of, self._parts = list(part_of), 1 + len(machine.parts)

    @cached_property
    def _own_frames(self) -> Array:
        """The parts' own frames in those that the kernel has, shape (parts, 4, 4)."""
        return screw.inverse(np.array([self._machine.turned(b) for b in range(self._parts)]))

    @cached_property
    def _masses(self) -> Array:
        """Mass, first and second moments of each part as the kernel has them, (parts, 10)."""
        inertia = self._machine.sections()[1]["inertia"]
        return np.asarray(inertia, dtype=np.float64).reshape(-1, 10)

    def _kernel_poses(self, q: Array) -> Array:
        """Poses of the parts as the kernel has them, shape (..., parts, 4, 4)."""
        found = self.kernel.part_poses(q)
        found = found.reshape(*found.shape[:-1], self._parts, 12)
        poses = np.zeros((*found.shape[:-1], 4, 4))
        poses[..., :3, :3] = found[..., :9].reshape(*found.shape[:-1], 3, 3)
        poses[..., :3, 3], poses[..., 3, 3] = found[..., 9:], 1.0
        return poses

    def poses(self, q: Array) -> Array:
        """Poses of the bodies, the ground first, at configurations (..., nq), (..., B, 4, 4)."""
        poses = self._kernel_poses(q)[..., self._part_of, :, :]
        return np.asarray(poses @ self._own_frames[self._part_of])

    def between(self, q: Array, first: int, second: int) -> Array:
        """Twist of a body against another by velocities, about the ground's origin, (6, nv).

        Args:
            q: Configuration, shape (nq,).
            first: The other body.
            second: The body.
        """
        machine, parts = self._machine, self._machine.parts
        columns = columns_of(parts, [*(self._kernel_poses(q) @ self._own_frames)])
        carried = carried_by(parts)
        moved = carried[self._part_of[second]] - carried[self._part_of[first]]
        return np.asarray((columns.T * moved) @ rates_to_columns(parts, machine.nv))

    def energies(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Kinetic energy, and the potential energy of gravity, in J, each of shape (...).

        Args:
            q: Configurations, shape (..., nq).
            v: Velocities, shape (..., nv).
        """
        poses, still = self._kernel_poses(q), np.zeros(np.shape(v)[-1])
        R, place = poses[..., :3, :3], poses[..., :3, 3]
        twists = self.kernel.part_motions(q, v, still)[0].reshape(*place.shape[:-1], 6)
        speed, turn = ((twists[..., k : k + 3, None] * R).sum(axis=-2) for k in (0, 3))
        mass, first = self._masses[:, 0], self._masses[:, 1:4]
        second = self._masses[:, [[4, 5, 6], [5, 7, 8], [6, 8, 9]]]
        kinetic = (
            0.5 * mass * (speed * speed).sum(axis=-1)
            + (speed * screw.cross(turn, first)).sum(axis=-1)
            + 0.5 * (turn * (second @ turn[..., None])[..., 0]).sum(axis=-1)
        ).sum(axis=-1) + 0.5 * (self._machine.armature * v * v).sum(axis=-1)
        moments = _moments(poses, self._masses)
        return kinetic, -(moments @ self._machine.gravity)

    def moments(self, q: Array) -> Array:
        """Mass times centre of mass at configurations (..., nq), shape (..., 3)."""
        return _moments(self._kernel_poses(q), self._masses)


def _moments(poses: Array, masses: Array) -> Array:
    """Mass times centre of mass of bodies at poses (..., B, 4, 4), shape (..., 3)."""
    about_origin = (poses[..., :3, :3] @ masses[:, 1:4, None])[..., 0]
    return np.asarray((masses[:, :1] * poses[..., :3, 3] + about_origin).sum(axis=-2))
