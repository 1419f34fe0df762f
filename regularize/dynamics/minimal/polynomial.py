r"""Lagrange's polynomial in barycentric form.

After Berrut and Trefethen, SIAM Review 46 (2004), eq. 3.2 and 4.2:

.. math::
    p(s) = \sum_k \frac{w_k}{s - s_k} f_k \Big/ \sum_k \frac{w_k}{s - s_k}, \qquad
    w_k = \prod_{j \ne k} \frac{1}{s_k - s_j}
"""

from __future__ import annotations

import numpy as np

from regularize.lie.screw import Array


class Polynomial:
    """The polynomial of least degree through given values.

    Args:
        s: Where they are given, shape (K,).
        values: Shape (K, n).
    """

    def __init__(self, s: Array, values: Array) -> None:
        """Compute the weights, of distances scaled to the capacity of an interval."""
        self._s, self._values = s, values
        differences = (s[:, None] - s[None]) * (4.0 / np.ptp(s))
        np.fill_diagonal(differences, 1.0)
        self._weights = 1.0 / np.prod(differences, axis=1)

    def __call__(self, s: float) -> Array:
        """Values at s, shape (n,)."""
        gaps = s - self._s
        given = np.flatnonzero(gaps == 0.0)
        if len(given):
            return np.array(self._values[given[0]])
        shares = self._weights / gaps
        return np.asarray(shares @ self._values / np.sum(shares))
