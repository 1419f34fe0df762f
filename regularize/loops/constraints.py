"""What a manifold of configurations is given by: equations, how velocities change them, units.

Closure equations and the kept rows of a reduction are such sets, vectorised over configurations,
and so are the rows of a Pinocchio model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from regularize.lie.arrays import Array, Coordinates, Indices, Jacobian, Mask, Rates, Residual

#: Configurations that are looked at together, so that what belongs to them stays in the processor's
#: cache, and the matrices of large mechanisms within memory.
CHUNK = 4096


class ConstraintSet(Protocol):
    """Equations whose solutions are configurations q (N, nq); velocities (N, n) scaled by units."""

    @property
    def units(self) -> Array:
        """One unit of every velocity: 1 for angles, a length in metres for slides, shape (n,)."""

    def state(self, q: Coordinates) -> Any:
        """What residual and Jacobian share at configurations; ``state[chosen]`` is a part of it."""

    def residual(self, state: Any) -> Residual:
        """Errors, zero on the manifold."""

    def residual_jacobian(self, state: Any) -> Jacobian:
        """Derivatives of the errors by velocities."""

    def integrate(self, q: Coordinates, velocity: Rates) -> Coordinates:
        """Configurations after a unit of time at constant velocities."""


@dataclass(frozen=True, eq=False)
class View:
    """Some equations of a constraint set, or its errors measured from target values."""

    whole: ConstraintSet
    rows: slice | Indices = field(default_factory=lambda: slice(None))
    target: Residual | float = 0.0

    @property
    def units(self) -> Array:
        """Units of the whole."""
        return self.whole.units

    @property
    def state(self) -> Callable[[Coordinates], Any]:
        """State of the whole."""
        return self.whole.state

    @property
    def integrate(self) -> Callable[[Coordinates, Rates], Coordinates]:
        """Integration of the whole."""
        return self.whole.integrate

    def residual(self, state: Any) -> Residual:
        """Return the errors of the chosen rows."""
        return np.asarray((self.whole.residual(state) - self.target)[:, self.rows])

    def residual_jacobian(self, state: Any) -> Jacobian:
        """Return the derivatives of the chosen rows."""
        return self.whole.residual_jacobian(state)[:, self.rows]


Result = TypeVar("Result", Array, Mask)


def in_parts(function: Callable[[Coordinates], Result], q: Coordinates) -> Result:
    """Evaluate a function of configurations (K, n) a chunk at a time, and join the results."""
    # Configurations of large mechanisms are fewer at a time.
    size = min(CHUNK, max(1, 16 * CHUNK // max(1, q.shape[1])))
    parts = [function(q[k : k + size]) for k in range(0, max(1, len(q)), size)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
