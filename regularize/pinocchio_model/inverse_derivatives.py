r"""Derivatives of the forces of actuators with respect to q, v and the acceleration.

The equation of ``actuation`` that gives them is that of a constrained motion, with the actuators'
costs in the place of masses, so it is differentiated in the same way. Where actuators leave
something locked, velocities that they do not see turn with the loops, and unmet forces with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array, read_only
from regularize.pinocchio_model.actuation import Actuation
from regularize.pinocchio_model.derivatives import balance_derivatives
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.solvers import ConstrainedTree
from regularize.pinocchio_model.split import free_velocities, kept_rows, saddle_inverse
from regularize.pinocchio_model.world_rows import WorldRows


@dataclass(frozen=True, eq=False)
class InverseDynamicsDerivatives:
    """The actuator forces for an acceleration, and their derivatives.

    Attributes:
        tau: Actuator forces and torques, shape (k,).
        dtau_dq: By tangent steps of the configuration, as of ``pinocchio.integrate``, (k, nv).
        dtau_dv: By the velocity, shape (k, nv).
        dtau_da: By the acceleration, shape (k, nv).
    """

    tau: Array
    dtau_dq: Array
    dtau_dv: Array
    dtau_da: Array

    def __iter__(self) -> Iterator[Array]:
        """The three derivatives, so that they can be unpacked."""
        return iter((self.dtau_dq, self.dtau_dv, self.dtau_da))


class MotionForces:
    """What a motion needs of a tree with its rows, by Pinocchio.

    Args:
        tree: The tree; none of its joints is a composite one.
        rows: Its rows.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        a: Acceleration, shape (nv,).

    Attributes:
        needed: Joint forces of the tree, shape (nv,).
        jacobian: Rows on velocities, shape (m, nv).
    """

    def __init__(
        self, tree: ConstrainedTree, rows: WorldRows, q: Array, v: Array, a: Array
    ) -> None:
        """Find forces and rows."""
        self.tree, self._rows, self._state = tree, rows, (q, v, a)
        pin.computeJointJacobiansTimeVariation(tree.model, tree.data, q, v)
        self.jacobian = rows.at(tree.data, v).jacobian()
        self.needed = np.array(pin.rnea(tree.model, tree.data, q, v, a))

    def forces_by_motion(self, multipliers: Array) -> Array:
        """How forces, less those of held multipliers, change with q, v and a, (nv, 3 nv)."""
        model, data, (q, v, a) = self.tree.model, self.tree.data, self._state
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        moving = self._rows.at(data, v)
        by_state = balance_derivatives(self.tree, moving, q, v, a, multipliers)[: model.nv]
        upper = np.triu(data.M)
        return np.concatenate([by_state, upper + np.triu(upper, 1).T], axis=1)

    def rows_by_configuration(self, velocity: Array) -> Array:
        """How the rows' values at a fixed velocity change with the configuration, (m, nv)."""
        return row_changes(self.tree, self._rows, self._state[0], velocity)


class CompiledMotionForces(MotionForces):
    """The same by the compiled kernel, whatever the joints.

    Args:
        tree: The tree.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        a: Acceleration, shape (nv,).
    """

    def __init__(self, tree: ConstrainedTree, q: Array, v: Array, a: Array) -> None:
        """Find forces and rows."""
        self.tree, self._state = tree, (q, v, a)
        self.needed, self._mass, self.jacobian = tree.kernel.inverse_terms(q, v, a)

    def forces_by_motion(self, multipliers: Array) -> Array:
        """How forces, less those of held multipliers, change with q, v and a, (nv, 3 nv)."""
        found = self.tree.kernel.force_changes(*self._state, multipliers)
        return np.concatenate([found.reshape(len(self._mass), -1), self._mass], axis=1)

    def rows_by_configuration(self, velocity: Array) -> Array:
        """How the rows' values at a fixed velocity change with the configuration, (m, nv)."""
        return np.asarray(self.tree.kernel.row_changes(self._state[0], velocity))


def inverse_dynamics_derivatives(
    motion: MotionForces, actuation: Actuation
) -> InverseDynamicsDerivatives:
    """Derivatives of actuator forces; see ``Robot.inverse_dynamics_derivatives``."""
    index, needed, nv = actuation.index, motion.needed, len(motion.needed)
    kept = kept_rows(motion.jacobian, motion.tree.rank)
    free, inverse = free_velocities(motion.jacobian[kept])
    split = actuation.split(free)
    locked = split.locked
    cost = locked @ locked.T
    cost[index, index] += 1.0 / actuation.weights
    answer, taken = saddle_inverse(cost, free, inverse)
    z, multipliers = answer @ needed, np.zeros(len(motion.jacobian))
    multipliers[kept] = (needed - cost @ z) @ inverse
    unmet = locked @ (locked.T @ needed)
    forces = motion.forces_by_motion(multipliers)
    # Velocities z and unmet forces stay on the loops while the loops move.
    forces -= locked @ (locked.T @ forces)
    if locked.shape[1]:
        turned = inverse @ motion.rows_by_configuration(unmet)[kept]
        forces[:, :nv] += turned - split.motions() @ turned[index]
    change = answer[index] @ forces
    change[:, :nv] -= taken[index] @ motion.rows_by_configuration(z - unmet)[kept]
    return _of_actuators(actuation, z, np.split(change, 3, axis=1))


def fully_actuated(
    tree: ConstrainedTree, q: Array, v: Array, a: Array, actuation: Actuation
) -> InverseDynamicsDerivatives | None:
    """The same in one go where the kernel finds that no motion is left with all actuators locked.

    Returns:
        None where one is left, or there is no kernel.
    """
    nv, index = tree.nv, actuation.index
    if tree.kernel is None or len(index) < nv - tree.rank:
        return None
    cost = np.zeros(nv)
    cost[index] = 1.0 / actuation.weights
    found = tree.kernel.actuated_derivatives(q, v, a, cost)
    if found is None:
        return None
    z, by_q, by_v, by_force, M = found
    changes = [by_q[index], by_v[index], by_force[index] @ M]
    return _of_actuators(actuation, z, changes)


def _of_actuators(
    actuation: Actuation, z: Array, changes: Sequence[Array]
) -> InverseDynamicsDerivatives:
    """Forces of the actuators from z, and their derivatives from those of its actuated entries."""
    cost = actuation.weights
    parts = [read_only(change / cost[:, None]) for change in changes]
    return InverseDynamicsDerivatives(read_only(z[actuation.index] / cost), *parts)


def row_changes(tree: ConstrainedTree, rows: WorldRows, q: Array, velocity: Array) -> Array:
    """How the rows' values at a fixed velocity change with the configuration, shape (m, nv)."""
    model, data = tree.model, tree.data
    pin.computeRNEADerivatives(model, data, q, velocity, np.zeros(model.nv))
    return rows.at(data, velocity).velocity_by_q(data.dAdv)
