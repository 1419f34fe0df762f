"""Functions of one coordinate that couplings follow: polynomials, and splines through tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from regularize.lie.arrays import Array, read_only

#: Highest degree of a polynomial: that of MuJoCo's ``polycoef``.
DEGREE = 4
#: Coefficients of a piece.
TERMS = DEGREE + 1


@dataclass(frozen=True)
class Curve:
    """A function of one number, twice continuously differentiable, in polynomial pieces."""

    breaks: tuple[float, ...]  # where one piece ends and the next one begins, increasing, K
    origins: tuple[float, ...]  # what each piece measures its argument from, K + 1
    pieces: tuple[tuple[float, ...], ...]  # TERMS coefficients of each by rising powers, K + 1

    @classmethod
    def polynomial(cls, coefficients: Sequence[float]) -> Curve:
        """Make a polynomial from its coefficients by rising powers, ``TERMS`` at most."""
        values = [float(c) for c in coefficients]
        piece = (*values, *[0.0] * (TERMS - len(values)))
        return cls((), (0.0,), (piece,))

    @classmethod
    def spline(cls, points: Sequence[Sequence[float]]) -> Curve:
        """Make the natural cubic spline through points (argument, value), straight beyond them."""
        x, y = np.asarray(points, dtype=np.float64).T
        step = np.diff(x)
        slope, bend = np.diff(y) / step, np.zeros(len(x))
        if len(x) > 2:
            # Second derivatives: those at the ends are zero, and slopes are continuous.
            A = np.diag(2.0 * (step[:-1] + step[1:]))
            A += np.diag(step[1:-1], 1) + np.diag(step[1:-1], -1)
            bend[1:-1] = np.linalg.solve(A, 6.0 * np.diff(slope))
        first = slope - step * (2.0 * bend[:-1] + bend[1:]) / 6.0
        last = float(slope[-1] + step[-1] * (bend[-2] + 2.0 * bend[-1]) / 6.0)
        cubics = np.stack([y[:-1], first, bend[:-1] / 2.0, np.diff(bend) / (6.0 * step)], axis=1)
        pieces = [[y[0], first[0], 0.0, 0.0], *cubics.tolist(), [y[-1], last, 0.0, 0.0]]
        return cls(
            tuple(x.tolist()),
            (float(x[0]), *x.tolist()),
            tuple((*(float(c) for c in piece), 0.0) for piece in pieces),
        )

    @cached_property
    def _derivatives(self) -> Array:
        """Return coefficients of the function and its derivatives, (TERMS, K + 1, TERMS)."""
        derivatives = np.zeros((TERMS, len(self.pieces), TERMS))
        derivatives[0] = self.pieces
        for order in range(1, TERMS):
            derivatives[order, :, :-1] = derivatives[order - 1, :, 1:] * np.arange(1, TERMS)
        return read_only(derivatives)

    def __call__(self, x: Array, order: int = 0) -> Array:
        """Evaluate the derivative of an order, by default the function itself, elementwise."""
        x = np.asarray(x, dtype=np.float64)
        which = np.searchsorted(np.array(self.breaks), x, side="right")
        c, d = self._derivatives[order][which], x - np.asarray(self.origins)[which]
        total = c[..., -1]
        for k in range(TERMS - 2, -1, -1):
            total = total * d + c[..., k]
        return np.asarray(total)

    def of(self, x: Any) -> Any:
        """Evaluate a curve of one piece at a number or symbol, by sums and products alone."""
        (piece,), (origin,) = self.pieces, self.origins
        d = x - origin if origin else x
        total = d * piece[-1]
        for coefficient in piece[-2:0:-1]:
            total = (total + coefficient) * d
        return total + piece[0]

    def along(self, scale: float, shift: float, factor: float = 1.0) -> Curve:
        """Return the curve u ↦ factor * f(scale * u + shift) of this one, f; scale is not 0."""
        powers = factor * scale ** np.arange(TERMS)
        pieces = [tuple((powers * piece).tolist()) for piece in self.pieces]
        origins = [(o - shift) / scale for o in self.origins]
        breaks = [(b - shift) / scale for b in self.breaks]
        if scale < 0.0:
            pieces, origins, breaks = pieces[::-1], origins[::-1], breaks[::-1]
        return Curve(tuple(breaks), tuple(origins), tuple(pieces))

    def plus(self, slope: float) -> Curve:
        """Return the function with ``slope`` times its argument added."""
        pieces = [
            (piece[0] + slope * origin, piece[1] + slope, *piece[2:])
            for piece, origin in zip(self.pieces, self.origins, strict=True)
        ]
        return Curve(self.breaks, self.origins, tuple(pieces))

    def about(self, x: float) -> Array:
        """Return the Taylor coefficients (TERMS,) of the curve at an argument, by rising powers."""
        which = int(np.searchsorted(self.breaks, x, side="right"))
        if x == self.origins[which]:
            return np.array(self.pieces[which])
        return np.array([float(self(np.array(x), k)) / math.factorial(k) for k in range(TERMS)])
