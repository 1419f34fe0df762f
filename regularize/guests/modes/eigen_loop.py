r"""All closed configurations of a loop of six elementary motions by eigenvalues.

The real eigenvalues of ``pencil`` give the hidden variable. The null space there gives two more: it
is spanned by the monomials of two variables, one vector for each solution that shares the hidden
one (Manocha and Canny 1994, section IV). Where it has several dimensions, multiplication by the two
variables acts on it as two matrices that commute, and their common eigenvectors are the monomials
(Stetter's theorem). Linear equations in cosines and sines give the remaining three variables, and
Newton's method on the closure of the loop the last digits.

A list counts as complete where all of this holds:

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

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.elementary_loop import STRIDE, certified, newton, product
from regularize.guests.modes.grouping import firsts_of, labels_of
from regularize.guests.modes.pencil import (
    AXIS,
    BASIS,
    UNMOVED,
    Arrangement,
    Constants,
    Pencil,
    Variables,
    arrangements,
    assembled,
    carried,
    eigenvalues,
    elementary,
    eliminated,
    turned,
)
from regularize.lie import screw
from regularize.lie.arrays import Array, Indices, Mask
from regularize.tolerances import EXACT, VANISHING

#: Ratio of singular values below which a matrix polynomial counts as singular.
REGULAR = 1e-11
#: Imaginary parts of angles of candidates, and of those that have to be accounted for.
BAND, REAL = 0.1, 1e-4
#: Errors of candidates that cannot be solutions, and distances of solutions from candidates.
FAR = 1e-3
#: Singular values by the largest below which a null space may have one more dimension.
NULL = 1e-4
#: Largest dimension of a null space that is taken apart.
MOST = 6
#: Slides that stand for infinite ones, in sizes of the loop.
REACH = 1e4
#: Angles at which matrices are tried.
_ANGLES = np.linspace(-np.pi, np.pi, 8, endpoint=False)


@dataclass(frozen=True, eq=False)
class LoopConfigurations:
    """All K configurations of N loops."""

    rows: Indices  # loop of each configuration, in increasing order, shape (K,)
    x: Variables
    h: Array  # number of Kantorovich; a proof where it is at most one half, else infinite, (K,)
    complete: Mask  # whether the loop has no further configuration, shape (N,)
    regularity: Array  # of the matrix polynomial; zero where singular at all angles, shape (N,)


class EigenLoop:
    """Solves loops of six letters R or P, with equations arranged to be regular for ``probes``."""

    def __init__(self, kinds: str, probes: Constants, *, attempts: int = 4, seed: int = 0) -> None:
        self.kinds = kinds
        self._offsets = np.random.default_rng(seed).uniform(-np.pi, np.pi, size=3)
        self.choices = _ranked(kinds, probes, self._offsets)[:attempts]

    def solve(self, C: Constants) -> LoopConfigurations:
        """Find all configurations of loops with given constants."""
        N = len(C)
        complete = np.zeros(N, dtype=bool)
        regularity, expected = np.zeros(N), np.zeros(N, dtype=int)
        rows, x = np.zeros(0, dtype=np.intp), np.zeros((0, 6))
        for arrangement in self.choices:
            tried = np.flatnonzero(~complete)
            if not len(tried):
                break
            attempt = self._attempt(arrangement, C[tried])
            expected[tried] = np.bincount(attempt.rows, minlength=len(tried))
            rows = np.concatenate([rows, tried[attempt.rows]])
            x = np.concatenate([x, attempt.x])
            complete[tried] = attempt.complete
            regularity[tried] = np.maximum(regularity[tried], attempt.regularity)
        rows, x, h = distinct(self.kinds, C, rows, x)
        # An earlier arrangement must not have found what the last one has not.
        complete &= np.bincount(rows, minlength=N) == expected
        return LoopConfigurations(rows, x, h, complete, regularity)

    def _attempt(self, arrangement: Arrangement, constants: Constants) -> LoopConfigurations:
        """Find configurations by one arrangement of the equations."""
        kinds, C = arrangement.arranged(self.kinds, constants)
        P = assembled(kinds, eliminated(kinds, C), arrangement, self._offsets)
        rows, angles, regularity = _real_eigenvalues(P)
        candidate, values, nullity = from_null_spaces(P, rows, angles.real)
        origin, x, determined = from_linear_equations(
            kinds, C, rows[candidate], values, arrangement
        )
        candidate = candidate[origin]
        _, gaps = closing_turn(kinds, C[rows[candidate]], x)
        remote = np.max(np.abs(x), axis=1, initial=0.0) > REACH
        # Of a null space that is not taken apart, one candidate says nothing about the others.
        far = remote | (determined & (gaps > FAR) & (nullity[candidate] <= MOST))
        worth = np.flatnonzero(determined & (gaps < STRIDE) & ~remote)
        loop = rows[candidate[worth]]
        x = newton(kinds, C[loop], x[worth])
        error, h = certified(kinds, C[loop], x)
        good = error <= EXACT.closed
        proved = good & np.isfinite(h)
        # Newton's method may have gone to the solution of another eigenvalue.
        angle = P.angle(0, x[:, arrangement.roles[0]]) - angles.real[candidate[worth]]
        here = proved & (np.abs(angle - 2 * np.pi * np.round(angle / (2 * np.pi))) < FAR)
        explained = far.copy()
        explained[worth] |= here
        all_far, all_explained = np.ones((2, len(rows)), dtype=bool)
        np.logical_and.at(all_far, candidate, far)
        np.logical_and.at(all_explained, candidate, explained)
        labels = labels_of(loop, _points(kinds, x), EXACT.same)
        pairs = np.unique(np.stack([candidate[worth], labels])[:, here], axis=1)
        count = np.bincount(pairs[0], minlength=len(rows))
        unreal = (count == 0) & (np.abs(angles.imag) > REAL)
        complete = regularity > REGULAR
        np.logical_and.at(complete, rows, (all_explained & (count >= nullity)) | all_far | unreal)
        np.logical_and.at(complete, loop[good], proved[good])
        back = np.argsort(arrangement.order)
        found = distinct(self.kinds, constants, loop[good], x[good][:, back])
        return LoopConfigurations(*found, complete, regularity)


def _real_eigenvalues(P: Pencil) -> tuple[Indices, NDArray[np.complex128], Array]:
    """Return the eigenvalues near the real axis of N loops: loop and hidden angle of each, (K,).

    Angles are complex still. The third array is the regularity of each loop, (N,); loops that are
    not regular have no eigenvalues here.
    """
    ratios = P.regularity(_ANGLES)
    regularity, origin = ratios.max(axis=1), _ANGLES[ratios.argmax(axis=1)] - np.pi
    regular = np.flatnonzero(regularity > REGULAR)
    moved = np.einsum("nhij,nhk->nkij", P.A[regular], turned(origin[regular]))
    angles = eigenvalues(moved) + origin[regular, None]
    with np.errstate(invalid="ignore"):
        kept = np.abs(angles.imag) < BAND
        kept &= np.abs(P.value(0, angles.real)) < REACH
    return regular[np.nonzero(kept)[0]], angles[kept], regularity


def _ranked(kinds: str, probes: Constants, offsets: Array) -> list[Arrangement]:
    """Return the arrangements that are regular at all probes, the best conditioned first."""
    regular = []
    for _, group in groupby(arrangements(kinds), lambda a: (a.order, a.reversed)):
        first, *others = group
        arranged, C = first.arranged(kinds, probes)
        six = eliminated(arranged, C)
        for arrangement in (first, *others):
            P = assembled(arranged, six, arrangement, offsets)
            ratio = float(P.regularity(_ANGLES[::2]).max(axis=1).min())
            if ratio > REGULAR:
                regular.append((ratio, arrangement))
    return [arrangement for _, arrangement in sorted(regular, key=lambda pair: -pair[0])]


def _points(kinds: str, x: Variables) -> Array:
    """Return points (K, 12) that tell variables from each other, turns up to whole turns."""
    turning = np.array([kind == "R" for kind in kinds])
    points = np.where(turning, np.cos(x), x), np.where(turning, np.sin(x), 0.0)
    return np.concatenate(points, axis=1)


def distinct(
    kinds: str, C: Constants, rows: Indices, x: Variables
) -> tuple[Indices, Variables, Array]:
    """Return every solution once in the order of the loops, turns within half a turn, and its h."""
    first = firsts_of(rows, _points(kinds, x), EXACT.same)
    rows, x = rows[first], x[first]
    turning = np.array([kind == "R" for kind in kinds])
    x = np.where(turning, x - 2 * np.pi * np.round(x / (2 * np.pi)), x)
    return rows, x, certified(kinds, C[rows], x)[1]


def from_null_spaces(P: Pencil, rows: Indices, hidden: Array) -> tuple[Indices, Array, Indices]:
    """Find three variables (K, 3), eigenvalue and null space's dimension of every candidate."""
    _, sizes, V = np.linalg.svd(P.at(hidden, rows))
    V = np.swapaxes(V, 1, 2)
    relative = sizes[:, ::-1] / np.maximum(sizes[:, :1], np.finfo(float).tiny)
    # As many dimensions as there are small singular values, at the widest gap among them.
    floored = np.maximum(relative, 0.1 * np.finfo(float).eps)
    steps = np.log(floored[:, 1 : MOST + 1] / floored[:, :MOST])
    steps[:, 1:][relative[:, 1:MOST] > NULL] = -np.inf
    nullity = np.argmax(steps, axis=1) + 1
    nullity[relative[:, MOST] <= VANISHING] = relative.shape[1]  # more than is looked at
    origins, spaces = [], []
    for k in range(1, MOST + 1):
        these = np.flatnonzero((nullity == k) | (k == 1))
        origins.append(np.repeat(these, k))
        spaces.append(_monomials(V[these][:, :, 12 - k :]))
    candidates, monomials = np.concatenate(origins), np.concatenate(spaces)
    values = [
        P.value(0, hidden[candidates]),
        P.value(1, _doubled(monomials[:, :3], monomials[:, 1:])),
        P.value(2, _doubled(monomials[:, :, :2], monomials[:, :, 1:])),
    ]
    return candidates, np.stack(values, axis=1), nullity


def _monomials(spaces: Array) -> Array:
    """Return the vectors of monomials (K k, 4, 3) that span null spaces (K, 12, k)."""
    K, _, k = spaces.shape
    grid = spaces.reshape(K, 4, 3, k)
    first = np.linalg.pinv(grid[:, :3].reshape(K, 9, k)) @ grid[:, 1:].reshape(K, 9, k)
    second = np.linalg.pinv(grid[:, :, :2].reshape(K, 8, k)) @ grid[:, :, 1:].reshape(K, 8, k)
    # Two solutions that share one variable differ in a combination of both.
    _, mixtures = np.linalg.eig(0.6 * first + 0.8 * second)
    vectors = np.moveaxis((spaces @ mixtures.real).reshape(K, 4, 3, k), 3, 1)
    return np.asarray(vectors.reshape(K * k, 4, 3))


def _doubled(low: Array, high: Array) -> Array:
    """Return angles whose halves have the tangents high by low, by least squares."""
    tangents = np.sum(low * high, axis=(1, 2)), np.sum(low * low, axis=(1, 2))
    return np.asarray(2.0 * np.arctan2(*tangents))


def from_linear_equations(
    kinds: str, C: Constants, rows: Indices, values: Array, arrangement: Arrangement
) -> tuple[Indices, Variables, Mask]:
    """Find six variables in arranged order from three, each one's candidate, and if determined."""
    T = np.broadcast_to(np.eye(4), (len(rows), 4, 4))
    known = np.zeros((len(rows), 6))
    known[:, list(arrangement.roles)] = values
    for i in (2, 3, 4):
        T = T @ elementary(kinds[i], known[:, i]) @ C[rows, i]
    line = (carried(C[rows, 1] @ T) @ AXIS)[..., None]
    goal = carried(screw.inverse(C[rows, 5])) @ AXIS
    # Motion 2: D(C1) D(M2) line = D(M1)^-1 goal in the coordinates that motion 1 leaves.
    before, unmoved = carried(C[rows, 0]), UNMOVED[kinds[0]]
    parts = [(before @ (B @ line))[:, unmoved, 0] for B in BASIS[kinds[1]]]
    origin, second, determined = solve_motion(kinds[1], parts, goal[:, unmoved])
    # Motion 1 follows from the same axis, and motion 6 from the whole.
    line = before[origin] @ carried(elementary(kinds[1], second)) @ line[origin]
    parts = [(B @ line)[..., 0] for B in BASIS[kinds[0]]]
    again, first, certain = solve_motion(kinds[0], parts, goal[origin])
    x = known[origin[again]]
    x[:, 1], x[:, 0] = second[again], first
    x[:, 5], _ = closing_turn(kinds, C[rows[origin[again]]], x)
    return origin[again], x, determined[again] & certain


def solve_motion(kind: str, parts: Sequence[Array], goal: Array) -> tuple[Indices, Array, Mask]:
    """Solve ``parts[0] + parts[1] f1 + parts[2] f2 = goal``, with one or two solutions a system."""
    U, sizes, V = np.linalg.svd(np.stack(parts[1:], axis=-1), full_matrices=False)
    right = (np.swapaxes(U, 1, 2) @ (goal - parts[0])[..., None])[..., 0]
    determined = sizes[:, 0] > VANISHING
    one = determined & (sizes[:, 1] <= EXACT.same * sizes[:, 0])
    along = right / np.maximum(sizes, VANISHING)
    f = np.einsum("kj,kji->ki", along, V)
    unique = np.arctan2(f[:, 1], f[:, 0]) if kind == "R" else f[:, 0]
    along, V = along[one, 0], V[one]
    if kind == "R":
        across = np.sqrt(np.maximum(0.0, 1.0 - along**2))
        middle = np.arctan2(V[:, 0, 1], V[:, 0, 0])
        half = np.arctan2(across, along)
        both = np.stack([middle + half, middle - half], axis=1)
    else:
        # a s + b s² = c by the stable formula.
        a, b = V[:, 0, 0], V[:, 0, 1]
        larger = -0.5 * (a + np.copysign(np.sqrt(np.maximum(0.0, a * a + 4 * b * along)), a))
        with np.errstate(divide="ignore", invalid="ignore"):
            both = np.stack([larger / b, -along / larger], axis=1)
        both = np.where(np.isfinite(both), np.clip(both, -REACH, REACH), 0.0)
    origin = np.concatenate([np.flatnonzero(~one), np.repeat(np.flatnonzero(one), 2)])
    return origin, np.concatenate([unique[~one], both.ravel()]), determined[origin]


def closing_turn(kinds: str, C: Constants, x: Variables) -> tuple[Array, Array]:
    """Return the turn of motion 6 that closes the loop best, and the scaled error that is left."""
    x = x.copy()
    x[:, 5] = 0.0
    T, _, _ = product(kinds, C, x)
    M = C[:, 5] @ T @ screw.inverse(C[:, 5])  # what motion 6 has to undo, at its place
    angle = -np.arctan2(M[:, 1, 0] - M[:, 0, 1], M[:, 0, 0] + M[:, 1, 1])
    error = elementary("R", angle) @ M - np.eye(4)
    slides = np.abs(x[:, [kind == "P" for kind in kinds]])
    error[:, :3, 3] /= np.maximum(1.0, slides.max(axis=1, initial=0.0))[:, None]
    left = np.max(np.abs(error), axis=(1, 2))
    return angle, np.where(np.isfinite(left), left, np.inf)
