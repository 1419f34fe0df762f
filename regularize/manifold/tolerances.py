r"""What counts as closed, the same, singular or dependent: decided once, from how exact a model is.

Let :math:`\epsilon` be the noise of the closure equations, lengths scaled: rounding of the
arithmetic for exact geometry, the last digits of a file where these are coarser. Where two
solutions meet, an error :math:`\epsilon` of the equations moves them by
:math:`\sqrt\epsilon`, and a singular value there is no more certain than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from regularize.lie.subalgebra import RTOL

#: Rounding errors of the closure equations of a few dozen joints, lengths scaled.
ROUNDING = 1e-14
#: Closure errors that count as none, in units of the noise: Newton's last step is not exact.
MARGIN = 100.0


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of one analysis; lengths are scaled by the size of the mechanism.

    Attributes:
        closed: Largest closure error of a configuration that fulfils the equations.
        same: Distance of configurations below which they are one and the same.
        singular: Singular values below this fraction of the largest are noise, not divided by.
        rank: Singular values below this fraction of the largest do not count for a rank.
    """

    closed: float
    same: float
    singular: float
    rank: float

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
        """
        closed = MARGIN * max(noise, ROUNDING)
        same = math.sqrt(closed)
        return cls(closed, same, math.sqrt(max(noise, ROUNDING)), max(rtol, same))


#: Of geometry that is written exactly, and the default tolerance of ranks.
EXACT = Tolerances.of()
