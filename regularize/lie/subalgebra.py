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
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.tolerances import RTOL

ZERO = read_only(np.zeros((6, 0)))
FULL = read_only(np.eye(6))


def span(columns: Array, rtol: float = RTOL) -> Array:
    """Orthonormal basis of the span of columns of order one, shape (6, d)."""
    if columns.shape[1] == 0:
        return ZERO
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(u[:, s > rtol * max(1.0, s[0])])


def complement(basis: Array) -> Array:
    """Orthonormal basis of the orthogonal complement, shape (6, 6 - d)."""
    if basis.shape[1] == 0:
        return FULL
    u, _, _ = np.linalg.svd(basis, full_matrices=True)
    return np.asarray(u[:, basis.shape[1] :])


def residual(basis: Array, columns: Array) -> Array:
    """Parts of the columns that lie outside the subspace, shape (6, k)."""
    return np.asarray(columns - basis @ (basis.T @ columns))


def contains(basis: Array, columns: Array, rtol: float = RTOL) -> bool:
    """Whether every column of order one lies in the subspace."""
    return bool(np.all(np.linalg.norm(residual(basis, columns), axis=0) <= rtol))


def sum_(a: Array, b: Array, rtol: float = RTOL) -> Array:
    """Basis of the sum of two subspaces."""
    if a.shape[1] == 6 or b.shape[1] == 6:
        return FULL
    return span(np.hstack([a, b]), rtol)


def intersection(a: Array, b: Array, rtol: float = RTOL) -> Array:
    """Basis of the intersection: directions of a that leave no residual outside b."""
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


def _enlarge(basis: Array, candidates: Array, rtol: float) -> Array:
    """The basis together with the directions of the candidates that are new."""
    new = residual(basis, candidates)
    # No singular value is larger than the root of all squares.
    if np.linalg.norm(new) <= rtol:
        return basis
    u, s, _ = np.linalg.svd(new, full_matrices=False)
    return np.hstack([basis, u[:, s > rtol]])


@cache
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of all pairs of so many things."""
    return np.triu_indices(count, 1)


def lie_closure(columns: Array, rtol: float = RTOL) -> Array:
    r"""The smallest subalgebra that contains the columns (Müller 2014, eq. 25), shape (6, d)."""
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


def saturation(space: Array, freedoms: Array, rtol: float = RTOL) -> Array:
    r"""The smallest superspace of ``space`` that is invariant under the adjoint of the freedoms."""
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
    singular_values: Array
    gap: float
    lowest: int
    highest: int


def decide_rank(singular_values: Array, rtol: float) -> Rank:
    """Rank by a relative tolerance, with the gap and the spread over tolerances as evidence."""
    s = np.asarray(singular_values, dtype=np.float64)
    largest = s.max(initial=0.0)
    least = largest * np.array([[rtol], [100 * rtol], [rtol / 100]])
    rank, lowest, highest = np.count_nonzero(s > least, axis=1).tolist()
    dropped = float(s[rank]) if rank < len(s) else 0.0
    gap = float(s[rank - 1]) / dropped if rank and dropped > 0.0 else float("inf")
    return Rank(rank, read_only(s), gap, lowest, highest)
