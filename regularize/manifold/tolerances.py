r"""What counts as closed, the same, singular or dependent: decided once, from how exact a model is.

Let :math:`\epsilon` be the noise of the closure equations, lengths scaled (``noise``): rounding of
the arithmetic for exact geometry, and what the numbers of a file are off by where this is more.
Where two solutions meet, an error :math:`\epsilon` of the equations moves them by
:math:`\sqrt\epsilon`, and a singular value there is no more certain than that. Rounding is asked to
be no more than that anywhere; of numbers that are off, singular values are as uncertain as they.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from regularize.errors import ModelError
from regularize.lie.subalgebra import RTOL

#: Rounding errors of the closure equations of a few dozen joints, lengths scaled.
ROUNDING = 1e-14
#: Closure errors that count as none, in units of the noise: Newton's last step is not exact.
MARGIN = 100.0
#: Smallest over largest pivot above which a quick decomposition loses no more than half the
#: digits: the condition of the system itself is then below about a thousand.
REGULAR = 1e-3


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of one analysis; lengths are scaled by the size of the mechanism.

    Attributes:
        closed: Largest closure error of a configuration that fulfils the equations.
        same: Distance of configurations below which they are one and the same.
        singular: Singular values below this fraction of the largest are noise, not divided by.
        rank: Singular values below this fraction of the largest are no part of a rank that steps
            are made with.
        rtol: The tolerance of ranks and of geometric relations that was asked for.
    """

    closed: float
    same: float
    singular: float
    rank: float
    rtol: float = RTOL

    @property
    def apart(self) -> float:
        """Distance of configurations above which they are different ones wherever solutions meet.

        Where four meet, errors move them by their fourth root.
        """
        return math.sqrt(self.same)

    @classmethod
    def of(cls, rtol: float = RTOL, noise: float = ROUNDING) -> Tolerances:
        """Tolerances for a model.

        Args:
            rtol: Tolerance of ranks and of geometric relations that the user asks for.
            noise: Errors of the closure equations that cannot be told from zero.

        Raises:
            ModelError: ``rtol`` is no positive number below 1.
        """
        relative("rtol", rtol)
        exact, closed = MARGIN * ROUNDING, MARGIN * max(noise, ROUNDING)
        same = max(math.sqrt(exact), closed)
        return cls(closed, same, max(math.sqrt(ROUNDING), closed), max(rtol, same), rtol)


def relative(name: str, value: float) -> None:
    """Raise a ``ModelError`` if a tolerance is no positive number below 1."""
    if not (isinstance(value, (int, float, np.number)) and 0.0 < value < math.inf):
        raise ModelError(f"{name} has to be a positive number, not {value}")
    if value >= 1.0:
        raise ModelError(f"{name} has to be below 1, not {value}")


#: Of geometry that is written exactly, and the default tolerance of ranks.
EXACT = Tolerances.of()
