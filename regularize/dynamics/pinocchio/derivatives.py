r"""Derivatives of constrained dynamics, forward and inverse, with respect to the state.

Differentiating :math:`M a + n = \tau + J^T \lambda` and :math:`J a + \gamma = 0` gives one linear
system for all derivatives of the acceleration. The equation of ``forces`` that gives the forces
of actuators is that of a constrained motion, with the actuators' costs in the place of masses, so
it is differentiated in the same way. Where actuators leave something locked, velocities that they
do not see turn with the loops, and unmet forces with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.dynamics.pinocchio.dense import DenseState
from regularize.dynamics.pinocchio.forces import Actuation
from regularize.dynamics.pinocchio.split import Split, Stabilization
from regularize.dynamics.pinocchio.tree_states import TreeStates
from regularize.lie.arrays import Acceleration, Array, Configuration, Torque, Velocity, read_only


@dataclass(frozen=True, eq=False)
class AccelerationDerivatives:
    """The acceleration and its derivatives, shape (nv, nv) each.

    Those by q are by tangent steps of the configuration, as of ``pinocchio.integrate``.
    """

    a: Acceleration
    ddq_dq: Array
    ddq_dv: Array
    ddq_dtau: Array

    @classmethod
    def of(cls, parts: Iterable[Array]) -> AccelerationDerivatives:
        """Make the arrays read-only."""
        whole = cls(*parts)
        for part in (whole.a, *whole):
            part.setflags(write=False)
        return whole

    def __iter__(self) -> Iterator[Array]:
        """The three derivatives, so that they can be unpacked."""
        return iter((self.ddq_dq, self.ddq_dv, self.ddq_dtau))


@dataclass(frozen=True, eq=False)
class InverseDynamicsDerivatives:
    """The actuator forces for an acceleration, shape (k,), and their derivatives, (k, nv) each.

    Those by q are by tangent steps of the configuration, as of ``pinocchio.integrate``.
    """

    tau: Array
    dtau_dq: Array
    dtau_dv: Array
    dtau_da: Array

    def __iter__(self) -> Iterator[Array]:
        """The three derivatives, so that they can be unpacked."""
        return iter((self.dtau_dq, self.dtau_dv, self.dtau_da))


def acceleration_derivatives(
    at: DenseState, rank: int, v: Array, tau: Array, terms: Stabilization | None = None
) -> AccelerationDerivatives:
    """Return the acceleration under joint forces and its derivatives, by dense algebra."""
    M, jacobian, bias, nv = at.mass_matrix, at.jacobian, at.bias, len(v)
    if terms is not None:
        bias = bias + terms.of(jacobian @ v)
    force, parts = tau - at.needed, Split.of(jacobian, rank)
    answer, taken = parts.inverse(M)
    a = answer @ force - taken @ bias
    forces, rates = at.changes(a, parts.solve_transposed(M @ a - force))
    if terms is not None:
        rates[:, :nv] += terms.by_q(at.values_by_q(), jacobian)
        rates[:, nv:] += terms.rate * jacobian
    by_state = -answer @ forces - taken @ rates
    return AccelerationDerivatives.of((a, by_state[:, :nv], by_state[:, nv:], answer))


def compiled_acceleration(
    kernel: Any, state: tuple[Configuration, Velocity, Torque], terms: Stabilization | None
) -> AccelerationDerivatives | None:
    """Return the acceleration and its derivatives by the compiled step, where it can."""
    if terms is None:
        parts = kernel.dynamics_derivatives(*state)
    else:
        factors = np.array([terms.rate, terms.frequency**2])
        parts = kernel.stabilized_derivatives(*state, terms.residual, factors)
    return None if parts is None else AccelerationDerivatives.of(parts)


class DenseMotionForces:
    """Forces that a motion needs of a tree with its rows, by dense algebra."""

    def __init__(self, states: TreeStates, q: Configuration, v: Velocity, a: Acceleration) -> None:
        self._states, self._q, self._a, at = states, q, a, states.dense(q, v)
        self._at, self.jacobian, self.needed = at, at.jacobian, at.needed + at.mass_matrix @ a

    def forces_by_motion(self, multipliers: Array) -> Array:
        """Return derivatives of forces less those of held multipliers by q, v, a, (nv, 3 nv)."""
        forces, _ = self._at.changes(self._a, multipliers)
        return np.hstack([forces, self._at.mass_matrix])

    def rows_by_configuration(self, velocity: Velocity) -> Array:
        """Return derivatives of the rows' values at a fixed velocity by q, shape (m, nv)."""
        return self._states.dense(self._q, velocity).values_by_q()


class CompiledMotionForces:
    """Forces that a motion needs of a tree with its rows, by the compiled step."""

    def __init__(self, kernel: Any, *state: Array) -> None:
        self._kernel, self._state = kernel, state
        self.needed, self._mass, self.jacobian = kernel.inverse_terms(*state)

    def forces_by_motion(self, multipliers: Array) -> Array:
        """Return derivatives of forces less those of held multipliers by q, v, a, (nv, 3 nv)."""
        forces = self._kernel.force_changes(*self._state, multipliers)
        return np.concatenate([forces.reshape(len(self._mass), -1), self._mass], axis=1)

    def rows_by_configuration(self, velocity: Velocity) -> Array:
        """Return derivatives of the rows' values at a fixed velocity by q, shape (m, nv)."""
        return np.asarray(self._kernel.row_changes(self._state[0], velocity))


def actuator_derivatives(
    motion: DenseMotionForces | CompiledMotionForces, rank: int, actuation: Actuation
) -> InverseDynamicsDerivatives:
    """Return actuator forces and their derivatives."""
    index, needed, nv = actuation.index, motion.needed, len(motion.needed)
    parts = Split.of(motion.jacobian, rank)
    split = actuation.split(parts.free)
    locked = split.locked
    cost = locked @ locked.T
    cost[index, index] += 1.0 / actuation.weights
    answer, taken = parts.inverse(cost)
    z = answer @ needed
    multipliers = parts.solve_transposed(needed - cost @ z)
    unmet = locked @ (locked.T @ needed)
    forces = motion.forces_by_motion(multipliers)
    # Velocities z and unmet forces stay on the loops while the loops move.
    forces -= locked @ (locked.T @ forces)
    if locked.shape[1]:
        turned = parts.solve(motion.rows_by_configuration(unmet))
        forces[:, :nv] += turned - split.motions() @ turned[index]
    change = answer[index] @ forces
    change[:, :nv] -= taken[index] @ motion.rows_by_configuration(z - unmet)
    return _of_actuators(actuation, z, np.split(change, 3, axis=1))


def fully_actuated(
    kernel: Any, state: Sequence[Array], actuation: Actuation, nv: int, rank: int
) -> InverseDynamicsDerivatives | None:
    """Return them in one go by the compiled step; None where locked actuators leave a motion."""
    index = actuation.index
    if len(index) < nv - rank:
        return None
    cost = np.zeros(nv)
    cost[index] = 1.0 / actuation.weights
    parts = kernel.actuated_derivatives(*state, cost)
    if parts is None:
        return None
    z, by_q, by_v, by_force, M = parts
    changes = [by_q[index], by_v[index], by_force[index] @ M]
    return _of_actuators(actuation, z, changes)


def _of_actuators(
    actuation: Actuation, z: Array, changes: Sequence[Array]
) -> InverseDynamicsDerivatives:
    """Return forces of the actuators from z, and derivatives from those of its actuated entries."""
    cost = actuation.weights
    parts = [read_only(change / cost[:, None]) for change in changes]
    return InverseDynamicsDerivatives(read_only(z[actuation.index] / cost), *parts)
