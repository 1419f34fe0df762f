r"""Subspaces and subalgebras of se(3), in a frame whose lengths are of order one.

A subspace is an orthonormal basis, shape (6, d). What the functions here call equal is equal to
``rtol``; since the bases are orthonormal and lengths are scaled by the caller, ``rtol`` is an angle
in radians and a displacement relative to the size of the mechanism.

se(3) has subalgebras of dimension 0, 1, 2, 3, 4 and 6, and none of dimension 5. Ranks are told by
singular values, with the gap that tells them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Indices, Space, read_only
from regularize.tolerances import RTOL

ZERO = read_only(np.zeros((6, 0)))
FULL = read_only(np.eye(6))


def span(columns: Array, rtol: float = RTOL) -> Space:
    """Return an orthonormal basis of the span of columns of order one."""
    if columns.shape[1] == 0:
        return ZERO
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    # Columns that are all small span nothing.
    return np.asarray(u[:, s > rtol * max(1.0, s[0])])


def complement(basis: Space) -> Space:
    """Return an orthonormal basis of the orthogonal complement of a subspace."""
    if basis.shape[1] == 0:
        return FULL
    u, _, _ = np.linalg.svd(basis, full_matrices=True)
    return np.asarray(u[:, basis.shape[1] :])


def residual(basis: Space, columns: Array) -> Array:
    """Return the parts of columns (6, k) that are normal to a subspace."""
    return np.asarray(columns - basis @ (basis.T @ columns))


def contains(basis: Space, columns: Array, rtol: float = RTOL) -> bool:
    """Return whether every column of order one lies in the subspace."""
    return bool(np.all(np.linalg.norm(residual(basis, columns), axis=0) <= rtol))


def sum_(a: Space, b: Space, rtol: float = RTOL) -> Space:
    """Return an orthonormal basis of the sum of two subspaces."""
    if a.shape[1] == 6 or b.shape[1] == 6:
        return FULL
    return span(np.hstack([a, b]), rtol)


def intersection(a: Space, b: Space, rtol: float = RTOL) -> Space:
    """Return a basis of the intersection: directions of a without a residual outside b."""
    if a.shape[1] == 6:
        return b
    if b.shape[1] == 6:
        return a
    if a.shape[1] == 0 or b.shape[1] == 0:
        return ZERO
    _, s, vt = np.linalg.svd(residual(b, a), full_matrices=True)
    singular = np.zeros(a.shape[1])
    singular[: len(s)] = s[: a.shape[1]]
    return span(a @ vt[singular <= rtol].T, rtol)


def _enlarge(basis: Space, candidates: Array, rtol: float) -> Space:
    """Return the basis with those directions of candidate columns added that it lacks."""
    new = residual(basis, candidates)
    # No singular value is larger than the root of all squares.
    if np.linalg.norm(new) <= rtol:
        return basis
    u, s, _ = np.linalg.svd(new, full_matrices=False)
    return np.hstack([basis, u[:, s > rtol]])


@cache
def _pairs(count: int) -> tuple[Indices, Indices]:
    """Return the index pairs i < j < count."""
    return np.triu_indices(count, 1)


def lie_closure(columns: Array, rtol: float = RTOL) -> Space:
    r"""Return the smallest subalgebra that contains the columns (Müller 2014, eq. 25).

    Brackets of all pairs are added until the dimension stops growing, which it never does at five:
    let the unit covector :math:`n = (f, m)` vanish on five dimensions and the unit vector x be
    normal to f and m. Then :math:`a = (0, x)` and :math:`b = (f \times x, m \times x)` are two
    of their unit vectors, and :math:`n \cdot [a, b] = |b|^2 = 1`.
    """
    return _closure(np.ascontiguousarray(columns, dtype=np.float64).tobytes(), rtol)


@lru_cache(maxsize=4096)  # one analysis asks for those of each loop again and again
def _closure(data: bytes, rtol: float) -> Array:
    basis = span(np.frombuffer(data).reshape(6, -1), rtol)
    while 1 < basis.shape[1] < 6:
        i, j = _pairs(basis.shape[1])
        larger = _enlarge(basis, screw.bracket(basis.T[i], basis.T[j]).T, rtol)
        if larger.shape[1] == basis.shape[1]:
            break
        basis = larger
    return FULL if basis.shape[1] == 6 else read_only(basis)


def saturation(space: Space, freedoms: Space, rtol: float = RTOL) -> Space:
    """Return the smallest superspace of ``space`` that is invariant under the freedoms' adjoint."""
    basis = space
    while freedoms.shape[1] and 0 < basis.shape[1] < 6:
        brackets = screw.ad(freedoms.T) @ basis
        larger = _enlarge(basis, np.hstack([*brackets]), rtol)
        if larger.shape[1] == basis.shape[1]:
            break
        basis = larger
    return basis


@dataclass(frozen=True, eq=False)
class Rank:
    """A rank and the evidence for it."""

    rank: int
    singular_values: Array  # largest first; none where the ranks of many loops add up
    gap: float  # ratio of the last singular value counted to the first one not counted, or inf
    lowest: int  # rank with a tolerance a hundred times larger
    highest: int  # rank with a tolerance a hundred times smaller


def decide_rank(singular_values: Array, rtol: float) -> Rank:
    """Decide a rank by a relative tolerance, with the gap and the spread over tolerances."""
    s = np.asarray(singular_values, dtype=np.float64)
    largest = s.max(initial=0.0)
    least = largest * np.array([[rtol], [100 * rtol], [rtol / 100]])
    rank, lowest, highest = np.count_nonzero(s > least, axis=1).tolist()
    dropped = float(s[rank]) if rank < len(s) else 0.0
    gap = float(s[rank - 1]) / dropped if rank and dropped > 0.0 else float("inf")
    return Rank(rank, read_only(s), gap, lowest, highest)
