r"""All closed configurations of a loop of six elementary motions by eigenvalues.

The real eigenvalues of ``pencil`` give the hidden variable, the null space there gives two more
(several where solutions share the hidden one), linear equations the remaining three, and Newton's
method on the closure of the loop the last digits. A list counts as complete where all of this
holds:

* the matrix polynomial is regular, that is, its determinant is not zero at all angles (numerical:
  the ratio of the extreme singular values at the best of some angles, which is returned);
* every solution found is proved to exist and to be alone in its neighbourhood (Newton-Kantorovich);
* every eigenvalue near the real axis belongs to as many solutions as its null space has
  dimensions, or to candidates that are far from closing the loop. Slides of more than ten
  thousand sizes of the loop are left out: eigenvalues without a solution lie at infinite slides;
* no other arrangement of the equations has found more.

The first is a theorem of algebra up to rounding, the second a theorem of analysis up to rounding;
the others compare floating-point numbers with generous tolerances. Where one fails, the next
arrangements of the equations are tried. Two solutions that are about to meet are found, but
neither are they proved nor is the list then called complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.grouping import firsts_of, labels_of
from regularize.guests.modes.six_motions.candidates import (
    MOST,
    REACH,
    completed,
    gap,
    remaining,
)
from regularize.guests.modes.six_motions.elementary_loop import STRIDE, Closed, certified, newton
from regularize.guests.modes.six_motions.pencil import (
    Arrangement,
    Pencil,
    arrangements,
    assembled,
    eigenvalues,
    eliminated,
    turned,
)
from regularize.lie.arrays import Array
from regularize.tolerances import EXACT

#: Ratio of singular values below which a matrix polynomial counts as singular.
REGULAR = 1e-11
#: Imaginary parts of angles of candidates, and of those that have to be accounted for.
BAND, REAL = 0.1, 1e-4
#: Errors of candidates that cannot be solutions, and distances of solutions from candidates.
FAR = 1e-3
#: Angles at which matrices are tried.
_ANGLES = np.linspace(-np.pi, np.pi, 8, endpoint=False)


@dataclass(frozen=True, eq=False)
class LoopConfigurations:
    """Configurations of N loops."""

    rows: NDArray[np.intp]
    closed: Closed
    complete: NDArray[np.bool_]
    regularity: Array


class EigenLoop:
    """Solver of loops of one kind."""

    def __init__(self, kinds: str, probes: Array, *, attempts: int = 4, seed: int = 0) -> None:
        self.kinds = kinds
        self._offsets = np.random.default_rng(seed).uniform(-np.pi, np.pi, size=3)
        self.choices = _ranked(kinds, probes, self._offsets)[:attempts]

    def solve(self, C: Array) -> LoopConfigurations:
        """All configurations of loops with the given constants, shape (N, 6, 4, 4)."""
        N = len(C)
        complete = np.zeros(N, dtype=bool)
        regularity, expected = np.zeros(N), np.zeros(N, dtype=int)
        rows, x = np.zeros(0, dtype=np.intp), np.zeros((0, 6))
        for arrangement, _ in self.choices:
            tried = np.flatnonzero(~complete)
            if not len(tried):
                break
            attempt = self._attempt(arrangement, C[tried])
            expected[tried] = np.bincount(attempt.rows, minlength=len(tried))
            rows = np.concatenate([rows, tried[attempt.rows]])
            x = np.concatenate([x, attempt.closed.x])
            complete[tried] = attempt.complete
            regularity[tried] = np.maximum(regularity[tried], attempt.regularity)
        rows, closed = distinct(self.kinds, C, rows, x)
        # An earlier arrangement must not have found what the last one has not.
        complete &= np.bincount(rows, minlength=N) == expected
        return LoopConfigurations(rows, closed, complete, regularity)

    def _attempt(self, arrangement: Arrangement, constants: Array) -> LoopConfigurations:
        """Configurations by one arrangement of the equations."""
        kinds, C = arrangement.arranged(self.kinds, constants)
        P = assembled(kinds, eliminated(kinds, C), arrangement, self._offsets)
        rows, angles, regularity = _eigenvalues(P)
        candidate, values, nullity = completed(P, rows, angles.real)
        own, x, determined = remaining(kinds, C, rows[candidate], values, arrangement)
        candidate = candidate[own]
        _, gaps = gap(kinds, C[rows[candidate]], x)
        remote = np.max(np.abs(x), axis=1, initial=0.0) > REACH
        # Of a null space that is not taken apart, one candidate says nothing about the others.
        far = remote | (determined & (gaps > FAR) & (nullity[candidate] <= MOST))
        worth = np.flatnonzero(determined & (gaps < STRIDE) & ~remote)
        which = rows[candidate[worth]]
        closed = certified(kinds, C[which], newton(kinds, C[which], x[worth]))
        good = closed.error <= EXACT.closed
        proved = good & np.isfinite(closed.h)
        # Newton's method may have gone to the solution of another eigenvalue.
        angle = P.angle(0, closed.x[:, arrangement.roles[0]]) - angles.real[candidate[worth]]
        here = proved & (np.abs(angle - 2 * np.pi * np.round(angle / (2 * np.pi))) < FAR)
        known = far.copy()
        known[worth] |= here
        all_far, all_known = np.ones((2, len(rows)), dtype=bool)
        np.logical_and.at(all_far, candidate, far)
        np.logical_and.at(all_known, candidate, known)
        labels = labels_of(which, _points(kinds, closed.x), EXACT.same)
        pairs = np.unique(np.stack([candidate[worth], labels])[:, here], axis=1)
        count = np.bincount(pairs[0], minlength=len(rows))
        unreal = (count == 0) & (np.abs(angles.imag) > REAL)
        complete = regularity > REGULAR
        np.logical_and.at(complete, rows, (all_known & (count >= nullity)) | all_far | unreal)
        np.logical_and.at(complete, which[good], proved[good])
        back = np.argsort(arrangement.order)
        found = distinct(self.kinds, constants, which[good], closed.x[good][:, back])
        return LoopConfigurations(*found, complete, regularity)


def _eigenvalues(P: Pencil) -> tuple[NDArray[np.intp], NDArray[np.complex128], Array]:
    """Eigenvalues near the real axis and not at infinite slides."""
    ratios = P.regularity(_ANGLES)
    regularity, origin = ratios.max(axis=1), _ANGLES[ratios.argmax(axis=1)] - np.pi
    regular = np.flatnonzero(regularity > REGULAR)
    moved = np.einsum("nhij,nhk->nkij", P.A[regular], turned(origin[regular]))
    angles = eigenvalues(moved) + origin[regular, None]
    with np.errstate(invalid="ignore"):
        kept = np.abs(angles.imag) < BAND
        kept &= np.abs(P.value(0, angles.real)) < REACH
    return regular[np.nonzero(kept)[0]], angles[kept], regularity


def _ranked(kinds: str, probes: Array, offsets: Array) -> list[tuple[Arrangement, float]]:
    """Arrangements that are regular at all probes with their regularity, the best first."""
    found = []
    for _, group in groupby(arrangements(kinds), lambda a: (a.order, a.reversed)):
        first, *others = group
        arranged, C = first.arranged(kinds, probes)
        six = eliminated(arranged, C)
        for arrangement in (first, *others):
            P = assembled(arranged, six, arrangement, offsets)
            ratio = float(P.regularity(_ANGLES[::2]).max(axis=1).min())
            if ratio > REGULAR:
                found.append((arrangement, ratio))
    return sorted(found, key=lambda pair: -pair[1])


def _points(kinds: str, x: Array) -> Array:
    """Points that tell variables from each other, those of turns up to whole turns, (K, 12)."""
    turning = np.array([kind == "R" for kind in kinds])
    points = np.where(turning, np.cos(x), x), np.where(turning, np.sin(x), 0.0)
    return np.concatenate(points, axis=1)


def distinct(
    kinds: str, C: Array, rows: NDArray[np.intp], x: Array
) -> tuple[NDArray[np.intp], Closed]:
    """Every solution once, angles within half a turn of zero, in the order of the loops."""
    first = firsts_of(rows, _points(kinds, x), EXACT.same)
    rows, x = rows[first], x[first]
    turning = np.array([kind == "R" for kind in kinds])
    x = np.where(turning, x - 2 * np.pi * np.round(x / (2 * np.pi)), x)
    return rows, certified(kinds, C[rows], x)
