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
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.pinocchio_model.rows import ClosureRows


class WorldRows:
    """What the rows of closures are made of, whatever the configuration.

    Args:
        model: A Pinocchio model without joints whose axes depend on their own coordinates.
        closures: Its closures.
        coupling: Constant rows on velocities, shape (C, nv).
    """

    def __init__(self, model: Any, closures: Sequence[ClosureRows], coupling: Array) -> None:
        """Note which velocities move which body, and the covectors on the first bodies."""
        nv, sizes = model.nv, [len(c.covectors) for c in closures]
        self.model = model
        moves, self.below = np.zeros((model.njoints, nv)), np.zeros((nv, nv))
        for j in range(1, model.njoints):
            mine = slice(model.idx_vs[j], model.idx_vs[j] + model.nvs[j])
            moves[j] = moves[model.parents[j]]
            moves[j, mine] = 1.0
            self.below[mine] = moves[j]
        self.first = moves[[c.first for c in closures]].reshape(-1, nv)
        self.second = moves[[c.second for c in closures]].reshape(-1, nv)
        self.between = self.second - self.first
        self.coupling, self.zero = coupling, np.zeros((len(coupling), nv))
        self.owner = np.repeat(np.arange(len(closures)), sizes)
        self.mask = self.between[self.owner]
        self.of_closure = (self.owner == np.arange(len(closures))[:, None]).astype(np.float64)
        # Covectors on the first body, which carries them along; on the ground they stand still.
        self.carried: list[tuple[slice, int, Array]] = []
        self.fixed, start = np.zeros((len(self.owner), 6)), 0
        for closure, size in zip(closures, sizes, strict=True):
            mine = slice(start, start := start + size)
            to_row = closure.anchor.joint1_placement.toActionMatrixInverse()
            self.fixed[mine] = closure.covectors @ to_row
            if closure.first:
                self.carried.append((mine, closure.first, self.fixed[mine]))

    def at(self, data: Any, v: Array) -> MovingRows:
        """The rows at a state.

        Args:
            data: Data after ``pinocchio.computeJointJacobiansTimeVariation`` at that state.
            v: Velocity, shape (nv,).
        """
        covectors = self.fixed.copy()
        for mine, first, on_body in self.carried:
            covectors[mine] = on_body @ data.oMi[first].toActionMatrixInverse()
        # Pinocchio gives vectors where there is one velocity.
        J, dJ = data.J.reshape(6, -1), data.dJ.reshape(6, -1)
        first, second = (self.first * v) @ J.T, (self.second * v) @ J.T
        return MovingRows(self, covectors, J, dJ, v, first, second)


@dataclass(frozen=True, eq=False)
class MovingRows:
    """Rows at a state, and their derivatives.

    Attributes:
        rows: What they are made of.
        covectors: Covectors in the world, shape (m, 6).
        J: Joint Jacobian in the world, shape (6, nv).
        dJ: Its rate, shape (6, nv).
        v: Velocity, shape (nv,).
        first: Twists of the first bodies in the world, shape (closures, 6).
        second: Twists of the second bodies, shape (closures, 6).
    """

    rows: WorldRows
    covectors: Array
    J: Array
    dJ: Array
    v: Array
    first: Array
    second: Array

    @cached_property
    def _ad_first(self) -> Array:
        return _ad(self.first)

    @cached_property
    def _ad_second(self) -> Array:
        return _ad(self.second)

    def jacobian(self) -> Array:
        """Rows on velocities, shape (m + C, nv)."""
        return np.concatenate([(self.covectors @ self.J) * self.rows.mask, self.rows.coupling])

    def bias(self) -> Array:
        """Rate of the rows at zero acceleration, shape (m + C,)."""
        turned = (self._ad_first @ self.second[..., None])[..., 0]
        rates = (self.rows.between * self.v) @ self.dJ.T - turned
        drift = (self.covectors * rates[self.rows.owner]).sum(axis=1)
        return np.concatenate([drift, self.rows.zero[:, 0]])

    def velocity_by_q(self, dAdv: Array) -> Array:
        """How the rows' values at the velocity change with the configuration, (m + C, nv).

        Args:
            dAdv: As ``pinocchio.computeRNEADerivatives`` leaves it in its data, shape (6, nv).
        """
        carried = self._acted(self._ad_second)
        columns = self.covectors @ (dAdv.reshape(6, -1) - self.dJ) - carried @ self.J
        return np.concatenate([columns * self.rows.mask, self.rows.zero])

    def acceleration_by_state(self, data: Any, a: Array) -> tuple[Array, Array]:
        """How the rows' rates change with configuration and velocity, each (m + C, nv).

        Args:
            data: Data after ``pinocchio.computeRNEADerivatives`` at that state.
            a: Acceleration, shape (nv,).
        """
        rows, dAdv, dAdq = self.rows, data.dAdv.reshape(6, -1), data.dAdq.reshape(6, -1)
        accelerations = (rows.second * a) @ self.J.T + (rows.second * self.v) @ self.dJ.T
        one, two = self._ad_first, self._ad_second
        both = self._acted(one + two)
        rest = self._acted(one @ two - _ad(accelerations)) @ self.J
        dq = self.covectors @ dAdq - both @ (dAdv - self.dJ) + rest
        dv = self.covectors @ dAdv - both @ self.J
        return (
            np.concatenate([dq * rows.mask, rows.zero]),
            np.concatenate([dv * rows.mask, rows.zero]),
        )

    def forces_by_q(self, multipliers: Array) -> Array:
        """How the joint forces of given multipliers change with the configuration, (nv, nv)."""
        rows, J = self.rows, self.J
        nv = J.shape[1]
        if not len(self.covectors):
            return np.zeros((nv, nv))
        wrenches = rows.of_closure @ (self.covectors * multipliers[: len(self.covectors), None])
        # On the columns of a body's own joints, which turn with the joints before it.
        turned = (_OF_SECOND @ J).reshape(6, 6, nv)
        result = (turned * (wrenches.T @ rows.between)[:, None, :]).sum(axis=0).T @ J * rows.below
        if rows.carried:
            # The wrenches move with the first bodies.
            forms = (wrenches @ _FORMS).reshape(-1, 6, 6).transpose(0, 2, 1)
            moved = (forms @ J) * rows.first[:, None, :]
            result -= (rows.between[:, None, :] * J).reshape(-1, nv).T @ moved.reshape(-1, nv)
        return np.asarray(result)

    def _acted(self, maps: Array) -> Array:
        """Covectors behind the maps of their closures, shape (m, 6)."""
        return np.asarray((self.covectors[:, None, :] @ maps[self.rows.owner])[:, 0])


#: The bracket of se(3): (x × y)_a = BRACKET[a, b, c] x_b y_c.
_BRACKET = np.stack([screw.ad(e) for e in np.eye(6)], axis=1)
#: As a map from x to the matrix (a, c), from y to the matrix (a, b), and from a covector to (b, c).
_OF_FIRST = np.ascontiguousarray(_BRACKET.transpose(1, 0, 2).reshape(6, 36))
_OF_SECOND = np.ascontiguousarray(_BRACKET.reshape(36, 6))
_FORMS = np.ascontiguousarray(_BRACKET.reshape(6, 36))


def _ad(twists: Array) -> Array:
    """Matrices of the bracket with each twist, shape (N, 6, 6)."""
    return np.asarray((twists @ _OF_FIRST).reshape(-1, 6, 6))
