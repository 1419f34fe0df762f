"""Equations of many loops as sparse matrices: every loop has a few rows on a few coordinates.

What one loop says is made orthonormal first: a change of its own rows that solutions do not notice,
after which rows of loops of any size are alike. What is left couples the loops, and is solved by
sparse factors of the Gram matrix, in time proportional to the number of loops that are coupled like
a row or a lattice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array, Indices, Mask
from regularize.tolerances import REGULAR


@dataclass(frozen=True, eq=False)
class Blocks:
    """Loops with equally many rows and coordinates."""

    rows: Indices  # of each of G loops among all, (G, r)
    columns: Indices  # coordinates of each among all, (G, k)
    values: Array  # entries at N configurations, (N, G, r, k)


class BlockRows:
    """Sparse matrices (N, m, n) with one pattern of nonzero entries at all N configurations."""

    def __init__(self, shape: tuple[int, int], blocks: Sequence[Blocks]) -> None:
        self.shape, self.blocks = shape, tuple(blocks)

    @property
    def configurations(self) -> int:
        """Number of configurations."""
        return len(self.blocks[0].values) if self.blocks else 0

    def __mul__(self, units: Array) -> BlockRows:
        """Multiply columns by numbers (n,)."""
        return BlockRows(
            self.shape,
            [Blocks(b.rows, b.columns, b.values * units[b.columns][:, None]) for b in self.blocks],
        )

    def __matmul__(self, vectors: Array) -> Array:
        """Return the products (N, m, k) with vectors (N, n, k)."""
        result = np.zeros((len(vectors), self.shape[0], vectors.shape[2]))
        for b in self.blocks:
            result[:, b.rows] = b.values @ vectors[:, b.columns]
        return result

    def __getitem__(self, chosen: NDArray[Any]) -> BlockRows:
        """Return the matrices at some of the configurations."""
        return BlockRows(
            self.shape, [Blocks(b.rows, b.columns, b.values[chosen]) for b in self.blocks]
        )

    def dense(self) -> Array:
        """Return dense matrices (N, m, n)."""
        result = np.zeros((self.configurations, *self.shape))
        for b in self.blocks:
            result[:, b.rows[:, :, None], b.columns[:, None, :]] = b.values
        return result

    def orthonormal(self) -> tuple[BlockRows, list[Array], Mask]:
        """Return rows orthonormal by loop, triangles of the blocks, and where all are clear."""
        blocks, triangles = [], []
        good = np.ones(self.configurations, dtype=bool)
        for b in self.blocks:
            if b.rows.shape[1] > b.columns.shape[1]:
                return self, [], ~good
            Q, R = np.linalg.qr(np.swapaxes(b.values, 2, 3))
            pivots = np.abs(np.diagonal(R, axis1=2, axis2=3))
            sizes = pivots.max(axis=2, initial=0.0)
            good &= np.all(pivots.min(axis=2, initial=np.inf) > REGULAR**2 * sizes, axis=1)
            blocks.append(Blocks(b.rows, b.columns, np.swapaxes(Q, 2, 3)))
            triangles.append(R)
        return BlockRows(self.shape, blocks), triangles, good

    @cached_property
    def _pattern(self) -> tuple[Indices, Indices, Indices]:
        """Entries sorted by rows: places among those of the blocks, columns, and ends of rows."""
        places = [np.broadcast_arrays(b.rows[..., None], b.columns[:, None]) for b in self.blocks]
        rows, columns = (np.concatenate([p[k].ravel() for p in places]) for k in range(2))
        order = np.lexsort((columns, rows))
        ends = np.searchsorted(rows[order], np.arange(self.shape[0] + 1))
        return order, columns[order], ends

    def factors(self, configuration: int) -> GramFactors | None:
        """Factor the Gram matrix of rows; None where these are nearly dependent."""
        if not self.blocks:
            return None
        from scipy.sparse import csr_array  # loaded where there are many loops
        from scipy.sparse.linalg import splu

        order, columns, ends = self._pattern
        values = np.concatenate([b.values[configuration].ravel() for b in self.blocks])[order]
        matrix = csr_array((values, columns, ends), shape=self.shape)
        try:
            lower = splu(
                (matrix @ matrix.T).tocsc(),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:  # exactly singular
            return None
        pivots = lower.U.diagonal()
        if not np.min(pivots) > REGULAR**2 * np.max(pivots):
            return None
        return GramFactors(matrix, lower, float(np.sqrt(np.min(pivots) / np.max(pivots))))

    def independent(self) -> bool:
        """Return whether the rows are clearly independent at all configurations."""
        rows, _, good = self.orthonormal()
        return all(good) and all(rows.factors(i) for i in range(self.configurations))

    def least_norm(self, values: Array) -> tuple[Array, Mask]:
        """Return shortest solutions for right-hand sides (N, m), and which are well conditioned."""
        result = np.zeros((len(values), self.shape[1]))
        rows, triangles, good = self.orthonormal()
        right = np.array(values)
        for b, R in zip(self.blocks, triangles, strict=False):
            given_values = values[:, b.rows][good][..., None]
            solved = np.linalg.solve(np.swapaxes(R[good], 2, 3), given_values)
            right[np.ix_(good, b.rows.ravel())] = solved.reshape(len(given_values), -1)
        for i in np.flatnonzero(good):
            factors = rows.factors(int(i))
            if factors is None:
                good[i] = False
            else:
                result[i] = factors.shortest(right[i])
        return result, good


@dataclass(frozen=True, eq=False)
class GramFactors:
    """Independent rows with the factors of their Gram matrix."""

    matrix: Any  # the rows, sparse, (m, n)
    lower: Any  # SciPy's factors
    clearness: float  # smallest over largest pivot

    def shortest(self, values: Array) -> Array:
        """Return the shortest solutions for right-hand sides (m,) or (m, k)."""
        return np.asarray(self.matrix.T @ self.lower.solve(values))

    def allowed(self, vectors: Array) -> Array:
        """Project vectors (n, k) on the null space of the rows."""
        for _ in range(2):  # once more for the rounding of the first time
            vectors = vectors - self.shortest(self.matrix @ vectors)
        return vectors
