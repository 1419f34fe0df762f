r"""Velocities that rows see, and velocities that they leave free.

With the mass matrix M, the rows J and their values :math:`\beta`, every constrained motion solves

.. math:: M a = f + J^T \lambda, \qquad J a = \beta.

Where rows depend on each other, the known rank says how many directions count. Motions that move
no mass leave accelerations undetermined: they are found, and named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from regularize.dynamics.pinocchio.coordinates import ModelCoordinates
from regularize.lie.arrays import Acceleration, Array, Jacobian, MassMatrix, Residual, Torque
from regularize.mechanism.mechanism import no_inertia
from regularize.reduction.reduce import Reduction
from regularize.tolerances import UNNOTICED


class MasslessMotion(np.linalg.LinAlgError):
    """The mechanism can move without moving any mass, for one at ``velocity``."""

    def __init__(self, velocity: Array) -> None:
        self.velocity = velocity
        super().__init__("a free motion moves no mass")


def require_mass(M: Array, free: Array) -> None:
    """Raise ``MasslessMotion`` where a free velocity moves no mass; see ``massless_velocity``."""
    idle = massless_velocity(M, free)
    if idle is not None:
        raise MasslessMotion(idle)


def massless_velocity(M: Array, free: Array) -> Array | None:
    """Return a velocity among the free ones, shape (nv, k), that moves no mass, None without any.

    The mass that a velocity moves is compared with the sum of what its entries would move one by
    one, so that neither units nor light bodies beside heavy ones matter.
    """
    scale = np.sqrt(np.einsum("ik,i,ik->k", free, np.diag(M), free))
    if not np.all(scale > 0.0):
        return np.asarray(free[:, int(np.argmin(scale))])
    # In units in which every velocity of the basis alone moves a mass of one.
    basis = free / scale
    values, vectors = np.linalg.eigh(basis.T @ M @ basis)
    # Below this, masses have cancelled to rounding.
    return np.asarray(basis @ vectors[:, 0]) if len(values) and values[0] <= 1e-13 else None


@contextmanager
def naming(reduction: Reduction, coordinates: ModelCoordinates) -> Iterator[None]:
    """Name joints and bodies where a motion moves no mass: ``NoInertia`` for ``MasslessMotion``."""
    try:
        yield
    except MasslessMotion as error:
        moved = _moved(reduction, coordinates, np.abs(error.velocity))
        raise no_inertia(reduction.mechanism, moved) from error


def _moved(reduction: Reduction, coordinates: ModelCoordinates, rates: Array) -> list[str]:
    """Return the names of joints with coordinates of their own that a velocity moves."""
    cut = {cut.edge.joint.name for cut in reduction.cuts}
    names = []
    for joint in reduction.mechanism.joints:
        freedoms = range(0 if joint.name in cut else joint.freedoms)
        moves = [rates[coordinates.velocity_index(joint.name, k)] for k in freedoms]
        if moves and max(moves) > UNNOTICED * np.max(rates):
            names.append(joint.name)
    return names


class TreeTerms(NamedTuple):
    """Terms of the equations of motion of a tree with rows at a state."""

    M: MassMatrix
    needed: Torque  #: without acceleration
    jacobian: Jacobian
    bias: Array  #: rates of the rows at zero acceleration

    def acceleration(self, tau: Torque) -> Acceleration:
        """Return the acceleration, no numbers where rows depend on each other."""
        J = self.jacobian
        system = np.block([[self.M, J.T], [J, np.zeros((len(J), len(J)))]])
        values = np.concatenate([tau - self.needed, -self.bias])
        try:
            return np.asarray(np.linalg.solve(system, values)[: len(tau)])
        except np.linalg.LinAlgError:
            return np.full(len(tau), np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Singular vectors of the rows at a configuration, cut at their rank r."""

    left: Array  #: directions among the rows, shape (m, r)
    values: Array  #: singular values, shape (r,)
    right: Array  #: velocities that the rows see, shape (nv, r)
    free: Array  #: orthonormal velocities that keep the loops closed, shape (nv, nv - r)

    @classmethod
    def of(cls, jacobian: Array, rank: int) -> Split:
        """Split a Jacobian of known rank."""
        u, s, vt = np.linalg.svd(jacobian)
        return cls(u[:, :rank], s[:rank], vt[:rank].T, vt[rank:].T)

    def solve(self, values: Array) -> Array:
        """Return the smallest velocity at which the rows have the given values."""
        with np.errstate(divide="ignore", invalid="ignore"):  # not a number where it is singular
            return np.asarray(self.right @ ((self.left.T @ values).T / self.values).T)

    def solve_transposed(self, forces: Array) -> Array:
        """Return the smallest multipliers that make joint forces, as far as there are any."""
        return np.asarray(self.left @ ((self.right.T @ forces).T / self.values).T)

    def response(self, M: Array, forces: Array, values: Array) -> Array:
        """Return accelerations under forces at which the rows have the given values.

        M is singular where massless links end the tree.
        """
        particular, free = self.solve(values), self.free
        rest = free.T @ (forces - M @ particular)
        require_mass(M, free)
        return np.asarray(particular + free @ np.linalg.solve(free.T @ M @ free, rest))

    @property
    def pseudoinverse(self) -> Array:
        """Pseudoinverse of the rows, shape (nv, m)."""
        return np.asarray((self.right / self.values) @ self.left.T)

    def inverse(self, M: Array) -> tuple[Array, Array]:
        r"""Return the inverse of :math:`((M, J^T), (J, 0))`, as far as it gives accelerations.

        The parts take forces, shape (nv, nv), and values of the rows, shape (nv, m), to them. They
        go through the free velocities, so that M need not be regular, and large masses beside small
        ones do no harm.
        """
        free, taken = self.free, self.pseudoinverse
        require_mass(M, free)
        factor = np.linalg.solve(np.linalg.cholesky(free.T @ M @ free), free.T)
        answer = factor.T @ factor
        return answer, taken - answer @ (M @ taken)


@dataclass(frozen=True, eq=False, repr=False)
class Stabilization:
    r"""Baumgarte's terms :math:`2 \zeta \omega J v + \omega^2 r(q)`, added to the bias."""

    residual: Residual
    frequency: float
    damping: float

    @property
    def rate(self) -> float:
        r"""The factor of the rows' rates, :math:`2 \zeta \omega`."""
        return 2.0 * self.damping * self.frequency

    def of(self, rates: Array) -> Array:
        """Return the terms at given rates of the rows, shape (m,)."""
        return np.asarray(self.rate * rates + self.frequency**2 * self.residual)

    def by_q(self, rates: Array, jacobian: Array) -> Array:
        """Return their derivative on closed loops, from that of the rates, shape (m, nv)."""
        return np.asarray(self.rate * rates + self.frequency**2 * jacobian)
