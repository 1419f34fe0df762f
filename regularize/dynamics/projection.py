"""Back to the loops' closure and to the energy balance, after a step of an integration."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from regularize.lie.screw import Array
from regularize.pinocchio_model.robot import Robot

#: Closure error, lengths scaled, down to which configurations are projected.
PROJECTED = 1e-13
#: Singular values of the rows below this fraction of the largest do not count in projections.
SINGULAR = 1e-7
#: Part of the kinetic energy up to which the energy balance is corrected.
CORRECTED = 1e-4


class Projection:
    """Projects states on closed loops.

    Args:
        robot: The robot.

    Attributes:
        dependent: Whether the rows all but depend on each other where the motion is.
        always: Whether configurations are projected that look closed already.
    """

    def __init__(self, robot: Robot) -> None:
        """Begin with independent rows."""
        self.robot = robot
        self.dependent = self.always = False

    @property
    def careful(self) -> bool:
        """Whether every state needs to be projected, with singular values left out."""
        return self.dependent or self.always

    def project(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The nearest configuration with closed loops, and the velocity without what opens them."""
        robot = self.robot
        if robot.rows == 0:
            return q, v
        for _ in range(4):
            error = robot.residual(q)
            if np.max(np.abs(error)) <= PROJECTED and not self.always:
                break
            q = pin.integrate(robot.model, q, -self._smallest(robot.jacobian(q), error))
        jacobian = robot.jacobian(q)
        return q, v - self._smallest(jacobian, jacobian @ v)

    def _smallest(self, jacobian: Array, values: Array) -> Array:
        """The smallest velocity on which the rows take the given values."""
        if self.robot.rank == len(jacobian) and not self.careful:
            return np.asarray(jacobian.T @ np.linalg.solve(jacobian @ jacobian.T, values))
        return np.asarray(np.linalg.pinv(jacobian, rcond=SINGULAR) @ values)

    def rows_at(self, q: Array) -> tuple[Array, float]:
        """The rows at a configuration.

        Returns:
            Their left singular vectors, shape (m, m), and the smallest singular value that counts,
            relative to the largest.
        """
        rank = self.robot.rank
        if rank == 0:
            return np.zeros((0, 0)), 1.0
        left, values, _ = np.linalg.svd(self.robot.jacobian(q), full_matrices=False)
        return left, float(values[rank - 1] / values[0])


def balanced(robot: Robot, q: Array, v: Array, total: float) -> tuple[Array, float]:
    """The velocity, lengthened or shortened so that the energy has a given value.

    Next to standstill, where that would take more than an integration's error, it is left alone.

    Returns:
        The velocity, shape (nv,), and the energy in J that had to be added.
    """
    model, data = robot.model, robot.data
    kinetic = float(pin.computeKineticEnergy(model, data, q, v))
    missing = total - kinetic - float(pin.computePotentialEnergy(model, data, q))
    if missing == 0.0 or not abs(missing) <= CORRECTED * kinetic:
        return v, 0.0
    return np.asarray(v * np.sqrt(1.0 + missing / kinetic)), missing
