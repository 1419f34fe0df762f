"""Shortest solutions of many linear systems at once."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from regularize.lie.arrays import Array, Indices, Mask
from regularize.tolerances import REGULAR, TINY

if TYPE_CHECKING:
    from regularize.loops.block_rows import BlockRows


def least_norm(
    matrices: Array | BlockRows,
    values: Array,
    singular: float,
    held: Mask | None = None,
    ranks: Indices | None = None,
) -> Array:
    """Return the shortest solutions (N, n) of equations (N, m, n), least squares where none is.

    Right-hand sides are (N, m), or (N, m, k) for k solutions each. Singular values below the
    fraction ``singular`` of the largest, or beyond the number ``ranks``, are not divided by;
    unknowns that are held stay zero. Well-conditioned systems are solved without decomposition.
    """
    if not isinstance(matrices, np.ndarray):
        rank = matrices.shape[0]
        if values.ndim == 2 and not (held is not None and held.any()):
            solutions, good = matrices.least_norm(values)
            good = np.asarray(good if ranks is None else good & (ranks >= rank))
            if not good.all():
                few = None if ranks is None else ranks[~good]
                dense = matrices[~good].dense()
                solutions[~good] = least_norm(dense, values[~good], singular, ranks=few)
            return solutions
        matrices = matrices.dense()
    if held is not None and held.any():
        part = least_norm(matrices[..., ~held], values, singular, ranks=ranks)
        whole = np.zeros((len(part), len(held), *part.shape[2:]))
        whole[:, ~held] = part
        return whole
    N, m, n = matrices.shape
    columns = values[..., None] if values.ndim == 2 else values
    result = np.zeros((N, n, columns.shape[2]))
    if N and m and n:
        quick = np.zeros(N, dtype=bool)
        # Which equations are the clearest only singular values tell.
        if ranks is None or np.any(ranks >= min(m, n)):
            solve = _square if m == n else _wide if m < n else _tall
            with suppress(np.linalg.LinAlgError):
                quick = solve(matrices, columns, result)
        others = ~quick if ranks is None else ~quick | (ranks < min(m, n))
        if others.any():
            u, s, vt = decomposed(matrices[others])
            counted = s > singular * s[:, :1]
            if ranks is not None:
                counted &= np.arange(min(m, n)) < ranks[others, None]
            inverse = np.where(counted, 1.0 / np.where(counted, s, 1.0), 0.0)
            along = inverse[..., None] * (np.swapaxes(u, 1, 2) @ columns[others])
            result[others] = np.swapaxes(vt, 1, 2) @ along
    return result[..., 0] if values.ndim == 2 else result


def ranks_of(matrices: Array | BlockRows, singular: float, held: Mask | None = None) -> Indices:
    """Count singular values above the fraction ``singular`` of the largest, held columns out."""
    if not isinstance(matrices, np.ndarray):
        if not (held is not None and held.any()) and matrices.independent():
            return np.full(matrices.configurations, matrices.shape[0])
        matrices = matrices.dense()
    if held is not None and held.any():
        matrices = matrices[..., ~held]
    N, m, n = matrices.shape
    ranks = np.full(N, min(m, n))
    if N and m and n:
        regular = np.zeros(N, dtype=bool)
        if m < n:
            gram = matrices @ np.swapaxes(matrices, 1, 2)
            with suppress(np.linalg.LinAlgError):
                regular = _regular(np.asarray(np.linalg.cholesky(gram)))
        others = ~regular
        if others.any():
            s = np.linalg.svd(matrices[others], compute_uv=False)
            ranks[others] = np.sum(s > singular * s[:, :1], axis=1)
    return ranks


def decomposed(matrices: Array) -> tuple[Array, Array, Array]:
    """Return the thin singular value decompositions of matrices (N, m, n)."""
    try:
        u, s, vt = np.linalg.svd(matrices, full_matrices=False)
    except np.linalg.LinAlgError:
        from scipy.linalg import svd  # needed hardly ever

        # LAPACK's quick method fails on a few matrices with clusters of values, its other does not.
        parts = [svd(matrix, full_matrices=False, lapack_driver="gesvd") for matrix in matrices]
        u, s, vt = (np.array(part) for part in zip(*parts, strict=True))
    return u, s, vt


def clearest_columns(matrix: Array, count: int) -> Indices:
    """Return columns that are well independent, the clearest first, by QR with pivoting."""
    # SciPy has it, and takes longer to load than most mechanisms to analyse.
    remaining = np.array(matrix, dtype=float)
    order = np.zeros(min(count, remaining.shape[1]), dtype=np.intp)
    for k in range(len(order)):
        sizes = np.sum(remaining * remaining, axis=0)
        sizes[order[:k]] = -1.0
        order[k] = sizes.argmax()
        unit = remaining[:, order[k]] / max(math.sqrt(max(sizes[order[k]], 0.0)), TINY)
        remaining -= np.outer(unit, unit @ remaining)
    return order


def _square(matrices: Array, values: Array, result: Array) -> Mask:
    """Write solutions of as many equations as unknowns, and say which are good."""
    inverse = np.linalg.inv(matrices)
    result[:] = inverse @ values
    sizes = np.linalg.norm(matrices, axis=(1, 2)) * np.linalg.norm(inverse, axis=(1, 2))
    return np.asarray(REGULAR * sizes < matrices.shape[1])


def _tall(matrices: Array, values: Array, result: Array) -> Mask:
    """Write solutions of more equations than unknowns, and say which are good."""
    Q, R = np.linalg.qr(matrices)
    good = _regular(R)
    result[good] = np.linalg.solve(R[good], np.swapaxes(Q[good], 1, 2) @ values[good])
    return good


def _wide(matrices: Array, values: Array, result: Array) -> Mask:
    """Write solutions of fewer equations than unknowns, and say which are good."""
    transposed = np.swapaxes(matrices, 1, 2)
    gram = matrices @ transposed
    good = _regular(np.asarray(np.linalg.cholesky(gram)))
    if good.any():
        result[good] = transposed[good] @ np.linalg.solve(gram[good], values[good])
    return good


def _regular(factors: Array) -> Mask:
    """Whether no pivot of triangular factors is far smaller than the others."""
    pivots = np.abs(np.diagonal(factors, axis1=1, axis2=2))
    return np.asarray(pivots.min(axis=1) > REGULAR * pivots.max(axis=1))
