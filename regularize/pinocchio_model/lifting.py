r"""Derivatives of a model that lacks coordinates, through one that has them all.

Mimic joints have no coordinates of their own in Pinocchio, nor has a universal joint that closes a
loop. A second tree of the same mechanism has a coordinate for each freedom, and rows that say the
same. The velocities :math:`v = S \, \bar v` are common to both, and those of its own, a basis E of
the null space of S, follow from its rows :math:`\bar J \bar v = 0`:

.. math::

    \bar v = P_1 v, \qquad P_2 = E \, (\bar J E)^+, \qquad
    P_1 = S^T - P_2 \bar J S^T.

Along the loops then

.. math::

    \delta \bar q = P_1 \, \delta q, \qquad
    \delta \bar v = P_1 \, \delta v - P_2 \, \partial_{\bar q}(\bar J \bar v) \, \delta \bar q,
    \qquad
    \delta \bar a = P_1 \, \delta a - P_2 \, \delta(\bar J \bar a + \bar\gamma).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array, read_only
from regularize.pinocchio_model.actuation import Actuation
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.derivatives import AccelerationDerivatives, dynamics_derivatives
from regularize.pinocchio_model.inverse_derivatives import (
    InverseDynamicsDerivatives,
    MotionForces,
    inverse_dynamics_derivatives,
    row_changes,
)
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.solvers import ConstrainedTree
from regularize.pinocchio_model.stabilization import Stabilization
from regularize.pinocchio_model.world_rows import WorldRows


@dataclass(frozen=True, eq=False)
class Lift:
    """A state of a model, and the same one in a tree with all coordinates.

    Attributes:
        tree: The tree.
        rows: Its rows.
        common: Velocities of the model by those of the tree, S, shape (nv, N).
        q: Configuration of the tree.
        v: Its velocity, shape (N,).
        along: The tree's velocities by those of the model, P_1, shape (N, nv).
        across: Its velocities by values of its rows, P_2, shape (N, m).
    """

    tree: ConstrainedTree
    rows: WorldRows
    common: Array
    q: Array
    v: Array
    along: Array
    across: Array

    @classmethod
    def of(
        cls,
        tree: ConstrainedTree,
        rows: WorldRows,
        maps: tuple[ModelCoordinates, ModelCoordinates],
        coordinates: Array,
        v: Array,
    ) -> Lift:
        """The lift of a state of the model.

        Args:
            tree: The tree.
            rows: Its rows.
            maps: How the model and the tree write the mechanism's coordinates.
            coordinates: Those of the state, shape (n,).
            v: Velocity of the model, shape (nv,).

        Raises:
            UnsupportedExport: The model has planar joints, whose rates are not its velocities.
        """
        if maps[0].curved:
            raise UnsupportedExport(
                "derivatives of a model with planar joints and mimic joints, or with planar joints "
                "and a universal joint that closes a loop, are not known; use hinges and slides"
            )
        common, q = maps[0].velocities @ maps[1].rates, maps[1].configuration(coordinates)
        jacobian = tree.constraints.jacobian(tree.data, q)
        own = np.linalg.svd(common)[2][len(v) :].T
        loops, couplings = np.split(jacobian @ own, [len(rows.fixed)])
        # Couplings are what the model does whatever its loops do, so they come first.
        coupled = np.linalg.pinv(couplings, rcond=1e-9)
        rest = np.eye(own.shape[1]) - coupled @ couplings
        closed = np.linalg.pinv(loops @ rest, rcond=1e-9)
        across = own @ np.hstack([closed, coupled - closed @ loops @ coupled])
        along = common.T - across @ jacobian @ common.T
        return cls(tree, rows, common, q, along @ v, along, across)

    def velocity_by_q(self) -> Array:
        """How the tree's velocity follows the model's configuration, shape (N, nv)."""
        changes = row_changes(self.tree, self.rows, self.q, self.v)
        return np.asarray(-self.across @ changes @ self.along)

    def acceleration(self, a: Array) -> Array:
        """The tree's acceleration, from the model's, shape (N,)."""
        bias = self.tree.constraints.bias(self.tree.data, self.q, self.v)
        return np.asarray(self.along @ a - self.across @ bias)

    def acceleration_by_state(self, a: Array, velocity_by_q: Array) -> tuple[Array, Array]:
        """How the tree's acceleration follows the model's state, each shape (N, nv).

        Args:
            a: Acceleration of the tree, shape (N,).
            velocity_by_q: From ``velocity_by_q``.
        """
        tree, N = self.tree, len(self.v)
        pin.computeRNEADerivatives(tree.model, tree.data, self.q, self.v, a)
        moving = self.rows.at(tree.data, self.v)
        changes = np.zeros((len(tree.constraints), 2 * N))
        changes[: len(moving.covectors)] = moving.acceleration_by_state(tree.data, a)
        by_q, by_v = -self.across @ changes[:, :N], -self.across @ changes[:, N:]
        return by_q @ self.along + by_v @ velocity_by_q, by_v @ self.along


def lifted_derivatives(
    lift: Lift, tau: Array, terms: Stabilization | None
) -> AccelerationDerivatives:
    """Derivatives of the model's acceleration under its joint forces, shape (nv,)."""
    S = lift.common
    found = dynamics_derivatives(lift.tree, lift.rows, lift.q, lift.v, S.T @ tau, terms)
    by_q = found.ddq_dq @ lift.along + found.ddq_dv @ lift.velocity_by_q()
    return AccelerationDerivatives(
        read_only(S @ found.a),
        read_only(S @ by_q),
        read_only(S @ found.ddq_dv @ lift.along),
        read_only(S @ found.ddq_dtau @ S.T),
    )


def lifted_inverse_derivatives(
    lift: Lift, a: Array, actuation: Actuation
) -> InverseDynamicsDerivatives:
    """Derivatives of the actuator forces for an acceleration of the model, shape (nv,).

    Args:
        lift: The state.
        a: Acceleration of the model, shape (nv,).
        actuation: The actuators, by their indices in the tree.
    """
    whole = lift.acceleration(a)
    motion = MotionForces(lift.tree, lift.rows, lift.q, lift.v, whole)
    found = inverse_dynamics_derivatives(motion, actuation)
    velocity_by_q = lift.velocity_by_q()
    by_q, by_v = lift.acceleration_by_state(whole, velocity_by_q)
    return InverseDynamicsDerivatives(
        found.tau,
        read_only(
            found.dtau_dq @ lift.along + found.dtau_dv @ velocity_by_q + found.dtau_da @ by_q
        ),
        read_only(found.dtau_dv @ lift.along + found.dtau_da @ by_v),
        read_only(found.dtau_da @ lift.along),
    )
