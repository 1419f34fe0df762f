r"""Derivatives of constrained forward dynamics with respect to q, v and tau.

Differentiating :math:`M a + n = \tau + J^T \lambda` and :math:`J a + \gamma = 0` gives one linear
system for all three. Its right-hand sides are Pinocchio's derivatives of the inverse dynamics of
the tree, less those of the rows' forces with the multipliers held, and those of the rows' rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.solvers import ConstrainedTree
from regularize.pinocchio_model.split import (
    free_velocities,
    kept_rows,
    mass_matrix,
    saddle_inverse,
)
from regularize.pinocchio_model.stabilization import Stabilization
from regularize.pinocchio_model.world_rows import MovingRows, WorldRows


@dataclass(frozen=True, eq=False)
class AccelerationDerivatives:
    """The acceleration and its derivatives.

    Attributes:
        a: Acceleration, shape (nv,).
        ddq_dq: By tangent steps of the configuration, as of ``pinocchio.integrate``, (nv, nv).
        ddq_dv: By the velocity, shape (nv, nv).
        ddq_dtau: By the joint forces, shape (nv, nv).
    """

    a: Array
    ddq_dq: Array
    ddq_dv: Array
    ddq_dtau: Array

    @classmethod
    def of(cls, parts: Iterable[Array]) -> AccelerationDerivatives:
        """From arrays of its own, which become read-only."""
        whole = cls(*parts)
        for part in (whole.a, *whole):
            part.setflags(write=False)
        return whole

    def __iter__(self) -> Iterator[Array]:
        """The three derivatives, so that they can be unpacked."""
        return iter((self.ddq_dq, self.ddq_dv, self.ddq_dtau))


def dynamics_derivatives(
    tree: ConstrainedTree,
    rows: WorldRows,
    q: Array,
    v: Array,
    tau: Array,
    stabilization: Stabilization | None = None,
) -> AccelerationDerivatives:
    """Derivatives of the acceleration under joint forces; see ``Robot.dynamics_derivatives``.

    Pinocchio's analytical derivatives are right only where no joint is a composite one.
    """
    model, data = tree.model, tree.data
    nv = model.nv
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    moving = rows.at(data, v)
    jacobian, bias = moving.jacobian(), moving.bias()
    if stabilization is not None:
        bias += stabilization.of(jacobian @ v)
    force = tau - pin.nonLinearEffects(model, data, q, v)
    kept = kept_rows(jacobian, tree.rank)
    M = mass_matrix(model, data, q)
    free, inverse = free_velocities(jacobian[kept])
    answer, taken = saddle_inverse(M, free, inverse)
    a = answer @ force - taken @ bias[kept]
    multipliers = np.zeros(len(jacobian))
    multipliers[kept] = (M @ a - force) @ inverse
    by_state = balance_derivatives(tree, moving, q, v, a, multipliers)
    if stabilization is not None:
        by_state[nv:, :nv] += stabilization.by_q(moving.velocity_by_q(data.dAdv), jacobian)
        by_state[nv:, nv:] += stabilization.rate * jacobian
    by_state = -answer @ by_state[:nv] - taken @ by_state[nv + kept]
    return AccelerationDerivatives.of((a, by_state[:, :nv], by_state[:, nv:], answer))


def balance_derivatives(
    tree: ConstrainedTree, moving: MovingRows, q: Array, v: Array, a: Array, multipliers: Array
) -> Array:
    r"""Derivatives of :math:`(M a + n - J^T \lambda, J a + \gamma)` by q and v, (nv + m, 2 nv).

    Args:
        tree: The tree without composite joints.
        moving: Its rows at the state.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        a: Acceleration, shape (nv,).
        multipliers: They are held, shape (m,).
    """
    nv, m = tree.nv, len(moving.covectors)
    forces_dq, forces_dv, _ = pin.computeRNEADerivatives(tree.model, tree.data, q, v, a)
    result = np.zeros((nv + len(multipliers), 2 * nv))
    result[:nv, :nv] = forces_dq - moving.forces_by_q(multipliers)
    result[:nv, nv:] = forces_dv
    result[nv : nv + m] = moving.acceleration_by_state(tree.data, a)
    return result
