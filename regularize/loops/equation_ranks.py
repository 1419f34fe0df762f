"""Singular values and ranks of the closure equations, around short loops whatever the tree is.

Along the tree of a long row of loops the equations get worse conditioned with every loop, and a
rank is harder to tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.lie.arrays import Array, Coordinates, Indices
from regularize.loops.constraints import in_parts
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.cycles import MANY_LOOPS, Cycle
from regularize.tolerances import UNNOTICED


def cycle_incidence(loops: LoopKinematics, cycles: Sequence[Cycle]) -> Array:
    """Return the signs with which loops pass the coordinates, shape (loops, n)."""
    signs = np.zeros((len(cycles), loops.freedoms))
    for row, cycle in zip(signs, cycles, strict=True):
        for e in cycle.edges:
            row[loops.local(e)] = cycle.direction(loops.graph, e)
    return signs


def normal_incidence(loops: LoopKinematics, signs: Array) -> Array:
    """Combine independent loops (L, n) into normal ones of the same root mean square.

    The singular values of their equations are the same whichever loops were chosen.
    """
    joints = [loops.local(e)[0] for e in loops.edges if loops.local(e)]
    if not 1 < len(signs) <= min(MANY_LOOPS, len(joints)):
        return signs
    _, triangle = np.linalg.qr(signs[:, joints].T)
    if np.min(np.abs(np.diag(triangle))) < UNNOTICED:  # welds alone tell them from each other
        return signs
    size = np.linalg.norm(triangle) / np.sqrt(len(signs))
    return np.asarray(size * np.linalg.solve(triangle.T, signs))


def singular_values(
    loops: LoopKinematics, q: Coordinates, cycles: Sequence[Cycle], *, couplings: bool = True
) -> Array:
    """Return singular values of the scaled closure equations of independent loops, (N, k)."""
    signs = normal_incidence(loops, cycle_incidence(loops, cycles))
    rows = None if couplings else 6 * len(cycles)

    def values(q: Coordinates) -> Array:
        jacobian = loops.jacobian(loops.state(q), signs)[:, :rows] * loops.units
        return np.asarray(np.linalg.svd(jacobian, compute_uv=False))

    return in_parts(values, q)


def equation_ranks(
    loops: LoopKinematics, cycles: Sequence[Cycle], rtol: float, q: Coordinates
) -> Indices:
    """Return the rank of the closure equations of independent loops at each configuration."""
    values = singular_values(loops, q, cycles)
    return np.asarray(np.sum(values > rtol * values[:, :1], axis=1))


def clearest(values: Array, rtol: float) -> tuple[int, int]:
    """Return which of some singular values (N, k) tell the rank most clearly, and the rank.

    It can only drop at special configurations, so the largest one is generic; where its last
    singular value is largest tells it most clearly.
    """
    ranks = np.sum(values > rtol * values[:, :1], axis=1)
    largest = int(np.max(ranks))
    if largest == 0:
        return 0, 0
    last_counted = values[:, largest - 1] / values[:, 0]
    return int(np.argmax(np.where(ranks == largest, last_counted, 0.0))), largest
