"""What a manifold of configurations is given by: equations, how velocities change them, units.

Two back ends fulfil the protocol: the loops' kinematics of this package (all closure equations, or
the kept rows of a reduction), vectorised over configurations, and the rows of a Pinocchio model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array


class ConstraintSet(Protocol):
    """Equations whose solutions are the configurations of a mechanism.

    Configurations q have the shape (N, nq). Velocities have the shape (N, n) and are divided by
    ``units`` wherever they are called scaled.
    """

    @property
    def units(self) -> Array:
        """One unit of every velocity: 1 for angles, a length in metres for slides, shape (n,)."""

    def state(self, q: Array) -> Any:
        """What residual and Jacobian share at configurations; ``state[chosen]`` is a part of it."""

    def residual(self, state: Any) -> Array:
        """Errors, zero on the manifold, shape (N, m)."""

    def residual_jacobian(self, state: Any) -> Array:
        """Derivatives of the errors by velocities, shape (N, m, n)."""

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configurations after a unit of time at constant velocities, shape (N, nq)."""


@dataclass(frozen=True, eq=False)
class View:
    """A constraint set seen differently: some of its equations, or errors measured from others.

    Attributes:
        whole: The constraint set.
        rows: The equations that count.
        target: Errors that are aimed at instead of zero, shape (m,) of the whole, or a number.
    """

    whole: ConstraintSet
    rows: slice | NDArray[np.intp] = field(default_factory=lambda: slice(None))
    target: Array | float = 0.0

    @property
    def units(self) -> Array:
        """Units of the whole."""
        return self.whole.units

    @property
    def state(self) -> Callable[[Array], Any]:
        """State of the whole."""
        return self.whole.state

    @property
    def integrate(self) -> Callable[[Array, Array], Array]:
        """Integration of the whole."""
        return self.whole.integrate

    def residual(self, state: Any) -> Array:
        """Errors of the rows that count."""
        return np.asarray((self.whole.residual(state) - self.target)[:, self.rows])

    def residual_jacobian(self, state: Any) -> Array:
        """Their derivatives."""
        return self.whole.residual_jacobian(state)[:, self.rows]


#: Configurations that are looked at together, so that what belongs to them stays in the processor's
#: cache, and the matrices of large mechanisms within memory.
CHUNK = 4096

Result = TypeVar("Result", Array, NDArray[np.bool_])


def in_parts(function: Callable[[Array], Result], q: Array) -> Result:
    """A function of configurations (K, n), whose results (K, ...) are put together.

    Those of large mechanisms are fewer at a time.
    """
    size = min(CHUNK, max(1, 16 * CHUNK // max(1, q.shape[1])))
    parts = [function(q[k : k + size]) for k in range(0, max(1, len(q)), size)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
