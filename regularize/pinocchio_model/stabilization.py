"""Closure errors that decay: what is added to the rows where integration lets loops open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array


@dataclass(frozen=True, eq=False, repr=False)
class Stabilization:
    r"""Baumgarte's terms :math:`2 \zeta \omega J v + \omega^2 r(q)`, which are added to the bias.

    Attributes:
        residual: Errors of the rows, shape (m,).
        frequency: :math:`\omega` in rad/s.
        damping: :math:`\zeta`.
    """

    residual: Array
    frequency: float
    damping: float

    @property
    def rate(self) -> float:
        r"""The factor of the rows' rates, :math:`2 \zeta \omega`."""
        return 2.0 * self.damping * self.frequency

    def of(self, rates: Array) -> Array:
        """The terms at given rates of the rows, shape (m,)."""
        return np.asarray(self.rate * rates + self.frequency**2 * self.residual)

    def by_q(self, rates: Array, jacobian: Array) -> Array:
        """Their derivative on closed loops, from that of the rates, shape (m, nv)."""
        return np.asarray(self.rate * rates + self.frequency**2 * jacobian)
