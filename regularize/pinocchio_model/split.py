r"""Velocities that rows see, and velocities that they leave free.

With the mass matrix M, the rows J and their values :math:`\beta`, every constrained motion solves

.. math:: M a = f + J^T \lambda, \qquad J a = \beta.

Where rows depend on each other, the known rank says how many directions count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.massless_motion import require_mass
from regularize.reduction.cuts import independent_rows


class TreeTerms(NamedTuple):
    """What the equations of motion of a tree with rows consist of at a state.

    Attributes:
        M: Mass matrix, shape (nv, nv).
        needed: Joint forces that no acceleration needs, shape (nv,).
        jacobian: Rows on velocities, shape (m, nv).
        bias: Their rate at zero acceleration, shape (m,).
    """

    M: Array
    needed: Array
    jacobian: Array
    bias: Array

    def acceleration(self, tau: Array, wanted: Array | float = 0.0) -> Array:
        """Acceleration under joint forces, no numbers where rows depend on each other, (nv,).

        Args:
            tau: Joint forces, shape (nv,).
            wanted: What the rows' rates are short of zero by, shape (m,).
        """
        J = self.jacobian
        system = np.block([[self.M, J.T], [J, np.zeros((len(J), len(J)))]])
        values = np.concatenate([tau - self.needed, -self.bias - wanted])
        try:
            return np.asarray(np.linalg.solve(system, values)[: len(tau)])
        except np.linalg.LinAlgError:
            return np.full(len(tau), np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Singular vectors of the rows at a configuration, cut at their rank.

    Attributes:
        left: Directions among the rows, shape (m, r).
        values: Singular values, shape (r,).
        right: Velocities that the rows see, shape (nv, r).
        free: Velocities that keep the loops closed, orthonormal, shape (nv, nv - r).
    """

    left: Array
    values: Array
    right: Array
    free: Array

    @classmethod
    def of(cls, jacobian: Array, rank: int) -> Split:
        """The split of a Jacobian of known rank."""
        u, s, vt = np.linalg.svd(jacobian)
        return cls(u[:, :rank], s[:rank], vt[:rank].T, vt[rank:].T)

    def solve(self, values: Array) -> Array:
        """The smallest velocity on which the rows take the given values."""
        return np.asarray(self.right @ ((self.left.T @ values).T / self.values).T)

    def solve_transposed(self, forces: Array) -> Array:
        """The smallest multipliers with the given joint forces, as far as there are any."""
        return np.asarray(self.left @ ((self.right.T @ forces).T / self.values).T)

    def response(self, M: Array, forces: Array, values: Array) -> Array:
        """Accelerations a under forces f at which the rows take given values.

        Args:
            M: Mass matrix of the tree, shape (nv, nv); singular where massless links end it.
            forces: Shape (nv,) or (nv, K).
            values: Shape (m,) or (m, K).

        Raises:
            MasslessMotion: The accelerations are not determined.
        """
        particular, free = self.solve(values), self.free
        rest = free.T @ (forces - M @ particular)
        require_mass(M, free)
        return np.asarray(particular + free @ np.linalg.solve(free.T @ M @ free, rest))


def mass_matrix(model: Any, data: Any, q: Array) -> Array:
    """The full symmetric mass matrix, shape (nv, nv)."""
    if len(model.mimicking_joints):
        # Pinocchio's own is not right where joints follow a mimic joint (4.1.0); rnea is.
        rest, still = np.zeros(model.nv), pin.computeGeneralizedGravity(model, data, q)
        columns = [pin.rnea(model, data, q, rest, unit) - still for unit in np.eye(model.nv)]
        return np.array(columns).T
    upper = np.triu(pin.crba(model, data, q))
    return np.asarray(upper + np.triu(upper, 1).T)


def kept_rows(jacobian: Array, rank: int) -> NDArray[np.intp]:
    """Indices of as many rows as are independent, the clearest ones where some depend on others."""
    if rank == len(jacobian):
        return np.arange(rank)
    return np.asarray(independent_rows(jacobian, rank), dtype=np.intp)


def free_velocities(jacobian: Array) -> tuple[Array, Array]:
    """Velocities that independent rows leave free, orthonormal, and the rows' right inverse.

    Args:
        jacobian: Independent rows, shape (m, nv).

    Returns:
        Shapes (nv, nv - m) and (nv, m).
    """
    m = len(jacobian)
    basis, triangle = np.linalg.qr(jacobian.T, mode="complete")
    return basis[:, m:], np.linalg.solve(triangle[:m], basis[:, :m].T).T


def saddle_inverse(M: Array, free: Array, inverse: Array) -> tuple[Array, Array]:
    r"""The inverse of :math:`((M, J^T), (J, 0))`, as far as it gives accelerations.

    It goes through the velocities that the rows leave free, so that M need not be regular, and
    large masses beside small ones do no harm. Multipliers of forces :math:`J^T \lambda` are
    ``forces @ inverse``.

    Args:
        M: Mass matrix, regular on the velocities that the rows leave free, shape (nv, nv).
        free: From ``free_velocities``.
        inverse: The same.

    Returns:
        What takes forces to accelerations, (nv, nv), and what takes values of the rows, (nv, m).

    Raises:
        MasslessMotion: A velocity that the rows leave free moves no mass.
    """
    H = free.T @ M @ free
    try:
        triangle = np.linalg.cholesky(H)
        doubtful = bool(np.any(np.diag(triangle) ** 2 < 1e-9 * np.diag(H)))
    except np.linalg.LinAlgError:
        doubtful = True
    if doubtful:
        require_mass(M, free)
    factor = np.linalg.solve(triangle, free.T)
    answer = factor.T @ factor
    return answer, inverse - answer @ (M @ inverse)
