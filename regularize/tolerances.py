r"""What counts as closed, the same, singular or dependent: decided once, from how exact a model is.

Where solutions meet, noise :math:`\epsilon` of the closure equations (``context.noise_of``) moves
them by :math:`\sqrt\epsilon`, and singular values there are no more certain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Instead of zero where something is divided by: far below all numbers that mean something.
TINY = 1e-300
#: Bounds of this magnitude bound nothing: formats that need a number write the largest there is.
UNBOUNDED = 1e300
#: Rounding errors of the closure equations of a few dozen joints, lengths scaled; steps and numbers
#: of order one that are less are none.
ROUNDING = 1e-14
#: What sums and products leave of numbers that cancel, relative to these; what is off by less than
#: this in words is said to be exact, since every processor rounds in its own way.
NEGLIGIBLE = 1e-12
#: Singular values, directions and extents that decompositions and a dozen products leave of none,
#: relative to the largest.
VANISHING = 1e-9
#: What six decimals of a file cannot tell apart, and no user would call a difference.
UNNOTICED = 1e-6
#: Axes closer to each other than this part of what carries them are meant to meet.
COINCIDENT = 4e-4
#: Tolerance of ranks and of geometric relations, unless another is asked for.
RTOL = 1e-5
#: Directions are called parallel up to this angle in radians.
PARALLEL = 1e-4
#: What cannot be seen, as a fraction of what is drawn.
UNSEEN = 1e-3
#: Closure errors that count as none, in units of the noise: Newton's last step is not exact.
MARGIN = 100.0
#: Smallest over largest pivot above which a quick decomposition loses no more than half the
#: digits: the condition of the system itself is then below about a thousand.
REGULAR = 1e-3


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of one analysis; lengths are scaled by the size of the mechanism."""

    closed: float  # largest closure error of a configuration that fulfils the equations
    same: float  # distance of configurations below which they are one and the same
    singular: float  # fraction of the largest singular value below which others are noise
    rank: float  # fraction of the largest below which they are no part of the rank of steps
    rtol: float = RTOL  # tolerance of ranks and of geometric relations that was asked for

    @property
    def apart(self) -> float:
        """Distance of configurations above which they differ, even where four solutions meet."""
        return math.sqrt(self.same)

    @property
    def alike(self) -> float:
        """Twists and wrenches that differ by less are called by one name, or are none."""
        return 10.0 * self.rank

    @property
    def meant(self) -> float:
        """Largest miss of relations that are meant: errors of several numbers add up."""
        return max(self.rtol, 10.0 * self.closed)

    @classmethod
    def of(cls, rtol: float = RTOL, noise: float = ROUNDING) -> Tolerances:
        """Return the tolerances for a model whose closure equations have some noise."""
        exact, closed = MARGIN * ROUNDING, MARGIN * max(noise, ROUNDING)
        same = max(math.sqrt(exact), closed)
        return cls(closed, same, max(math.sqrt(ROUNDING), closed), max(rtol, same), rtol)


#: Of geometry that is written exactly, and the default tolerance of ranks.
EXACT = Tolerances.of()
