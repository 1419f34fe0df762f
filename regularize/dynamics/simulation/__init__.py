"""How a motion is integrated: values that ``simulate`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.errors import ModelError

#: Smallest relative error that numbers of double precision can keep.
FINEST = 100 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Solver:
    """Integration by steps whose size follows the error, each of which ends on closed loops.

    Attributes:
        coordinates: What is integrated: ``all`` joint coordinates of the tree; or ``minimal``:
            independent ones, from which the others follow (see ``minimal_dynamics``).
        independent: Coordinates that are to be independent to begin with; others take the place of
            those that go bad.
        style: Export style that is integrated: ``rows``, ``anchors``, ``slack`` or ``legacy``.
            Where a joint that closes a loop has a rotor or a spring and nothing else is said,
            ``anchors`` stand in for ``rows``.
        atol: Absolute error per step; by default ``rtol`` of ``simulate``, or a hundredth of it
            under dry friction.
        max_step: Largest step in seconds.
        conserve: Whether steps end on the energy balance as well as on the loops' closure:
            velocities are lengthened by what a step's error took from them, work and dissipation
            being part of the balance. What that came to is ``correction`` of the result. Not with
            prescribed motions.

    Raises:
        ModelError: A number or a name makes no sense.
    """

    coordinates: str = "all"
    independent: Sequence[str] = ()
    style: str = "rows"
    atol: float | None = None
    max_step: float = np.inf
    conserve: bool = True

    def __post_init__(self) -> None:
        if self.coordinates not in ("all", "minimal"):
            raise ModelError(f"unknown coordinates {self.coordinates!r}; known: all, minimal")
        if self.coordinates == "minimal" and self.style == "legacy":
            raise ModelError("the style 'legacy' is integrated in all coordinates only")
        if self.atol is not None and not self.atol > 0:
            raise ModelError(
                f"the absolute error per step must be a positive number, got {self.atol}"
            )
        if not self.max_step > 0:
            raise ModelError(f"the largest step must be a positive number, got {self.max_step}")


@dataclass(frozen=True)
class MuJoCo:
    """MuJoCo with its soft constraints, for comparison.

    Attributes:
        step: Length of every step in seconds.

    Raises:
        ModelError: The step is not positive.
    """

    step: float = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.step < np.inf:
            raise ModelError(f"the step must be a positive number of seconds, got {self.step}")
