r"""Constraint rows as covectors in the world on the columns of the joint Jacobian.

With :math:`J_k` the column of velocity k in the world and :math:`s_1, s_2` the velocities that move
the two bodies of a closure, the row of a covector :math:`\Omega` that moves with the first body is

.. math:: r_k = (s_2 - s_1)_k \; \Omega \cdot J_k,

so that all rows are one product and one mask, and so are their derivatives. With the bodies' twists
:math:`V_1, V_2` and acceleration :math:`A_2`, the twist :math:`V_p` and acceleration :math:`A_p` of
the body before joint k, and :math:`\times` the bracket of se(3), they are

.. math::

    \partial_q (J v)_k &= (s_2 - s_1)_k \, \Omega \cdot (V_p - V_2) \times J_k \\
    \partial_v \gamma_k &= (s_2 - s_1)_k \, \Omega \cdot (\dot J_k + (V_p - V_1 - V_2) \times J_k)
    \\
    \partial_q (J a + \gamma)_k &= (s_2 - s_1)_k \, \Omega \cdot (A_p \times J_k
        + (V_p - V_1 - V_2) \times (V_p \times J_k) - A_2 \times J_k
        + V_1 \times (V_2 \times J_k)).

They follow from :math:`\delta_k V = (V_p - V) \times J_k` for the twist of any body behind joint k
and from the Jacobi identity. Pinocchio computes the columns :math:`J_k`, :math:`\dot J_k`,
:math:`V_p \times J_k` and :math:`A_p \times J_k + V_p \times (V_p \times J_k)` for its derivatives
of inverse dynamics (Carpentier and Mansard, Analytical derivatives of rigid body dynamics
algorithms, RSS 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.pinocchio_model.closure_rows import ClosureRows
from regularize.pinocchio_model.spanning_tree import SpanningTree


class WorldRows:
    """What the rows of closures are made of, whatever the configuration.

    Args:
        tree: A tree without joints whose axes depend on their own coordinates.
        closures: Its closures.
        coupling: Constant rows on velocities, shape (C, nv).
    """

    def __init__(
        self, tree: SpanningTree, closures: Sequence[ClosureRows], coupling: Array
    ) -> None:
        """Note which velocities move which body, and the covectors on the first bodies."""
        nv, sizes = tree.nv, [len(c.covectors) for c in closures]
        self.nv, self.coupling = nv, coupling
        moves, self.below = np.zeros((tree.njoints, nv)), np.zeros((nv, nv))
        for j in range(1, tree.njoints):
            mine = slice(tree.idx_vs[j], tree.idx_vs[j] + tree.nvs[j])
            moves[j] = moves[tree.parents[j]]
            moves[j, mine] = 1.0
            self.below[mine] = moves[j]
        owner = np.repeat(np.arange(len(closures)), sizes)
        self.of_closure = (owner == np.arange(len(closures))[:, None]).astype(np.float64)
        self.first_moves = moves[[c.first for c in closures]].reshape(-1, 1, nv)
        # For each row, the velocities that move its first and its second body.
        first = self.first_moves[owner, 0]
        self.second = moves[[c.second for c in closures]].reshape(-1, nv)[owner]
        self.between = self.second - first
        self.moves = np.concatenate([first, self.second, self.between])
        self.between_closures = np.zeros((len(closures), 1, nv))
        for c, k in enumerate(owner):
            self.between_closures[k, 0] = self.between[c]
        self.both_between = np.hstack([self.between, self.between])
        # Covectors on the first body, which carries them along; on the ground they stand still.
        self.carried: list[tuple[slice, int, Array]] = []
        self.fixed, start = np.zeros((len(owner), 6)), 0
        for closure, size in zip(closures, sizes, strict=True):
            mine = slice(start, start := start + size)
            to_row = screw.adjoint(screw.inverse(closure.row_frame))
            self.fixed[mine] = closure.covectors @ to_row
            if closure.first:
                self.carried.append((mine, closure.first, self.fixed[mine]))

    def at(self, data: Any, v: Array) -> MovingRows:
        """The rows at a state.

        Args:
            data: Data after ``pinocchio.computeJointJacobiansTimeVariation`` at that state. The
                rows are those of the state as long as the data are.
            v: Velocity, shape (nv,).
        """
        covectors, poses = self.fixed.copy(), data.oMi
        for mine, first, on_body in self.carried:
            covectors[mine] = on_body @ poses[first].toActionMatrixInverse()
        # Pinocchio gives vectors where there is one velocity.
        J, dJ = data.J.reshape(6, -1), data.dJ.reshape(6, -1)
        return MovingRows(self, covectors, J, dJ, v)


class MovingRows:
    """Rows at a state, and their derivatives.

    Args:
        rows: What they are made of.
        covectors: Covectors in the world, shape (m, 6).
        J: Joint Jacobian in the world, shape (6, nv).
        dJ: Its rate, shape (6, nv).
        v: Velocity, shape (nv,).
    """

    def __init__(self, rows: WorldRows, covectors: Array, J: Array, dJ: Array, v: Array) -> None:
        """Find the twists of the bodies of each row in the world."""
        self.rows, self.covectors, self.J, self.dJ, self.v = rows, covectors, J, dJ, v
        m = len(covectors)
        sums = rows.moves @ np.concatenate([J * v, dJ * v]).T
        twists = sums[: 2 * m, :6]
        self._second, self._drift = twists[m:], sums[2 * m :, 6:]
        self._ad_first, self._ad_second = _ad(twists).reshape(2, m, 6, 6)

    def jacobian(self) -> Array:
        """Rows on velocities, shape (m + C, nv)."""
        return self._with_couplings((self.covectors @ self.J) * self.rows.between)

    def bias(self) -> Array:
        """Rate of the rows at zero acceleration, shape (m + C,)."""
        rates = self._drift - (self._ad_first @ self._second[..., None])[..., 0]
        drift = (self.covectors * rates).sum(axis=1)
        return np.concatenate([drift, np.zeros(len(self.rows.coupling))])

    def _with_couplings(self, rows: Array, factor: float = 1.0) -> Array:
        if not len(self.rows.coupling):
            return rows
        return np.concatenate([rows, factor * self.rows.coupling])

    def velocity_by_q(self, dAdv: Array) -> Array:
        """How the rows' values at the velocity change with the configuration, (m + C, nv).

        Args:
            dAdv: As ``pinocchio.computeRNEADerivatives`` leaves it in its data, shape (6, nv).
        """
        carried = _acted(self.covectors, self._ad_second)
        columns = self.covectors @ (dAdv.reshape(6, -1) - self.dJ) - carried @ self.J
        return self._with_couplings(columns * self.rows.between, 0.0)

    def acceleration_by_state(self, data: Any, a: Array) -> Array:
        """How the rows' rates change with configuration and velocity, shape (m, 2 nv).

        Those of couplings do not change.

        Args:
            data: Data after ``pinocchio.computeRNEADerivatives`` at that state.
            a: Acceleration, shape (nv,).
        """
        rows, nv = self.rows, self.rows.nv
        accelerations = rows.second @ (self.J * a + self.dJ * self.v).T
        one, two = self._ad_first, self._ad_second
        columns, dAdv = np.zeros((18, 2 * nv)), data.dAdv.reshape(6, -1)
        columns[:6, :nv], columns[:6, nv:] = data.dAdq.reshape(6, -1), dAdv
        columns[6:12, :nv], columns[6:12, nv:] = self.dJ - dAdv, -self.J
        columns[12:, :nv] = self.J
        covectors = np.empty((len(self.covectors), 18))
        covectors[:, :6] = self.covectors
        maps = np.concatenate([one + two, one @ two - _ad(accelerations)], axis=2)
        covectors[:, 6:] = _acted(self.covectors, maps)
        return np.asarray((covectors @ columns) * rows.both_between)

    def forces_by_q(self, multipliers: Array) -> Array:
        """How the joint forces of given multipliers change with the configuration, (nv, nv)."""
        rows, J = self.rows, self.J
        weighted = self.covectors * multipliers[: len(self.covectors), None]
        # On the columns of a body's own joints, which turn with the joints before it.
        turned = (_OF_SECOND @ J).reshape(6, 6, rows.nv)
        result = (turned * (weighted.T @ rows.between)[:, None, :]).sum(axis=0).T @ J * rows.below
        if rows.carried:
            # The wrenches move with the first bodies.
            forms = (rows.of_closure @ weighted @ _FORMS).reshape(-1, 6, 6).transpose(0, 2, 1)
            moved = ((forms @ J) * rows.first_moves).reshape(-1, rows.nv)
            result -= (rows.between_closures * J).reshape(-1, rows.nv).T @ moved
        return np.asarray(result)


#: The bracket of se(3): (x × y)_a = BRACKET[a, b, c] x_b y_c.
_BRACKET = np.stack([screw.ad(e) for e in np.eye(6)], axis=1)
#: As a map from x to the matrix (a, c), from y to the matrix (a, b), and from a covector to (b, c).
_OF_FIRST = np.ascontiguousarray(_BRACKET.transpose(1, 0, 2).reshape(6, 36))
_OF_SECOND = np.ascontiguousarray(_BRACKET.reshape(36, 6))
_FORMS = np.ascontiguousarray(_BRACKET.reshape(6, 36))


def _acted(covectors: Array, maps: Array) -> Array:
    """Each covector behind its map, shape (m, 6)."""
    return np.asarray((covectors[:, None, :] @ maps)[:, 0])


def _ad(twists: Array) -> Array:
    """Matrices of the bracket with each twist, shape (N, 6, 6)."""
    return np.asarray((twists @ _OF_FIRST).reshape(-1, 6, 6))
