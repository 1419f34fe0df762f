"""Shortest solutions of many linear systems at once."""

from __future__ import annotations

import numpy as np

from regularize.lie.screw import Array

#: Smallest over largest pivot of a Gram matrix above which half the digits are no loss: the
#: condition of the system itself is then below a thousand.
REGULAR = 1e-3


def least_norm(matrices: Array, values: Array, singular: float) -> Array:
    """Shortest solutions of many systems of equations, least squares where there is none.

    Well-conditioned systems go through the Cholesky factors of their Gram matrices, which is many
    times quicker than a singular value decomposition; all others through the latter.

    Args:
        matrices: Shape (N, m, n).
        values: Right-hand sides, shape (N, m).
        singular: Singular values below this fraction of the largest are not divided by.

    Returns:
        Solutions, shape (N, n).
    """
    m, n = matrices.shape[1:]
    if 0 < m <= n:
        transposed = np.swapaxes(matrices, 1, 2)
        gram = matrices @ transposed
        try:
            pivots = np.diagonal(np.linalg.cholesky(gram), axis1=1, axis2=2)
        except np.linalg.LinAlgError:
            pivots = np.zeros((1, m))
        if np.all(pivots.min(axis=1) > REGULAR * pivots.max(axis=1)):
            return np.asarray((transposed @ np.linalg.solve(gram, values[..., None]))[..., 0])
    return np.asarray((np.linalg.pinv(matrices, rcond=singular) @ values[..., None])[..., 0])
