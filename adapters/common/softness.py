r"""Softness of loops in engines whose constraints are springs: kept when redundant rows go.

Redundant rows are springs side by side: where one of two connects goes, the loop is half as stiff.
With the impedance d and the inertia A that a row sees, its regularization is
:math:`R = A (1 - d) / d`; n equal rows have :math:`R / n` together, as one row has with
:math:`d' = n d / (1 + (n - 1) d)`. What that comes to is measured: both models move in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regularize.adapters.common.edits import Patch, WantedKind
from regularize.adapters.common.patching import GapOf
from regularize.escape import listed
from regularize.mechanism.diagnostic import Diagnostic

#: How many rows one stands for, and factors of its time constant, that are tried in this order.
TRIED = tuple((2.0, x) for x in (1.0, 0.84, 0.71, 0.59, 0.5, 0.42, 0.35)) + tuple(
    (share, x) for share in (4.0, 16.0) for x in (0.71, 0.5, 0.35)
)
#: The largest impedance that MuJoCo takes, and the shortest time constant in steps.
HARDEST, SHORTEST = 0.9999, 2.0
#: Gaps that differ by less than this factor are the same.
SAME = 1.02
#: What MuJoCo takes where nothing is said, and the longest usual step in seconds.
SOLREF, SOLIMP, STEP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0), 0.002


@dataclass(frozen=True)
class Stiffening:
    """Softness of the equations that stay in a loop when redundant ones are taken out."""

    share: float  # how many rows one stands for
    factor: float  # of the time constant besides
    everywhere: bool = False  # whether loops that have not changed get it too

    def stiffer(
        self,
        solref: Sequence[float] = SOLREF,
        solimp: Sequence[float] = SOLIMP,
        timestep: float = STEP,
    ) -> tuple[list[float], list[float]]:
        """Return ``solref`` and ``solimp`` of a row that had others."""
        lowest, highest, *rest = (float(x) for x in solimp)
        first, second = (float(x) for x in solref)
        lower, upper = self._impedance(lowest), self._impedance(highest)
        if first > 0.0:
            # Damping goes by the product of impedance and time constant.
            wanted = first * self.factor * highest / upper
            first = min(first, max(wanted, SHORTEST * timestep))
        else:  # stiffness and damping as they are
            first, second = first / self.factor**2, second / self.factor
        numbers = [first, second], [lower, upper, *rest]
        return tuple([float(f"{x:.6g}") for x in part] for part in numbers)  # type: ignore[return-value]

    def _impedance(self, d: float) -> float:
        """Return the impedance of one row in place of equal ones."""
        n = self.share
        return min(n * d / (1.0 + (n - 1.0) * d), max(d, HARDEST))


def least_open(
    patched: Callable[[Stiffening | None], Patch],
    wanted: Sequence[WantedKind],
    gap_of: GapOf,
    before: float,
    everywhere: bool = False,
) -> Patch:
    """Return the patch after which loops open no wider than before, or as little as they can."""
    plain = best = patched(None)
    stiffest = Stiffening(1.0, 1.0)
    bare = least = gap_of(plain.edits)
    if bare is None or least is None or bare <= SAME * before:
        return plain
    tried = [Stiffening(*pair, all) for all in (False, *[True] * everywhere) for pair in TRIED]
    while tried and least > before:
        stiffening = tried.pop(0)
        patch = patched(stiffening)
        gap = gap_of(patch.edits)
        if gap is not None and gap < least:
            best, least, stiffest = patch, gap, stiffening
        if stiffening.factor == 1.0 and (gap is None or gap * SAME > bare):
            tried = [other for other in tried if other.everywhere > stiffening.everywhere]
    if least * SAME >= bare:
        return plain
    closures = [each.joint.name for each in wanted if each.joint.closure]
    closures = [] if stiffest.everywhere else closures
    whose = listed(closures) if closures else "all connects and welds"
    message = (
        f"fewer equations are softer: `solref` and `solimp` of {whose} are changed so that loops "
        f"open {'no wider than' if least <= before else 'nearly as little as'} before, by "
        f"{1e3 * least:.3g} mm at most in 2 s of MuJoCo from the pose of the file "
        f"({1e3 * before:.3g} before, {1e3 * bare:.3g} with the rows alone)"
    )
    joints = tuple(closures or [each.joint.name for each in wanted])
    help, source = ("leave the softness alone: --as-is",), wanted[0].joint.source
    best.findings.append(Diagnostic("REG341", "note", message, None, joints, source, help))
    return best
