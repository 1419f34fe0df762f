"""Walking along the configurations of closed loops: a tangent step, then a Newton correction.

All walkers go at once. What they walk on is anything with a residual and its Jacobian: all closure
equations of the loops, or only the reduced ones.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics, State

#: Closure errors that count as zero on a walk (lengths are scaled). At a double root the smallest
#: singular values are about the square root of the error, so this has to be far below rtol squared.
TOLERANCE = 1e-12
#: Numbers of equations above which decompositions dominate the cost.
LARGE = 60


class Constraints(Protocol):
    """Equations whose zeros are walked along."""

    def residual(self, state: State) -> Array:
        """Errors, shape (N, m)."""

    def residual_jacobian(self, state: State) -> Array:
        """Derivatives by velocities, shape (N, m, n)."""


def correct(
    loops: LoopKinematics,
    constraints: Constraints,
    q: Array,
    *,
    steps: int = 40,
    rcond: float = 1e-8,
    tolerance: float = TOLERANCE,
) -> tuple[Array, NDArray[np.bool_]]:
    """Newton corrections of all configurations at once.

    Near a double root a step only halves the distance, hence the number of steps.

    Args:
        loops: Kinematics that integrates velocities.
        constraints: The equations to fulfil.
        q: Configurations, shape (N, n).
        steps: Largest number of steps.
        rcond: Singular values below this fraction of the largest are not divided by.
        tolerance: Largest error that counts as zero.

    Returns:
        The corrected configurations and whether each fulfils the equations.
    """
    q = np.array(q)
    error = np.full(len(q), np.inf)
    active = np.arange(len(q))
    for k in range(steps + 1):
        state = loops.state(q[active])
        residual = constraints.residual(state)
        new_error = np.max(np.abs(residual), axis=1, initial=0.0)
        # Configurations that get no better after the first steps will not get there.
        hopeless = ~np.isfinite(new_error) | ((k > 8) & (new_error > 0.9 * error[active]))
        error[active] = new_error
        going = (new_error > 0.1 * tolerance) & ~hopeless
        if k == steps or not going.any():
            break
        jacobian = constraints.residual_jacobian(state)[going] * loops.units
        step = -least_norm(jacobian, residual[going], rcond)
        # A correction of more than a radian or a length has left the neighbourhood.
        step /= np.maximum(1.0, np.max(np.abs(step), axis=1, initial=0.0))[:, None]
        active = active[going]
        q[active] = loops.integrate(q[active], step * loops.units)
    return q, error <= tolerance


def least_norm(matrices: Array, values: Array, rcond: float) -> Array:
    """Shortest solutions of many systems of equations, least squares where there is none.

    Large well-conditioned systems go through the Cholesky factors of their Gram matrices, which is
    many times quicker than a singular value decomposition; all others through the latter.

    Args:
        matrices: Shape (N, m, n).
        values: Right-hand sides, shape (N, m).
        rcond: Singular values below this fraction of the largest are not divided by.

    Returns:
        Solutions, shape (N, n).
    """
    m, n = matrices.shape[1:]
    if LARGE < m <= n:
        transposed = np.swapaxes(matrices, 1, 2)
        try:
            factors = np.linalg.cholesky(matrices @ transposed)
        except np.linalg.LinAlgError:
            factors = np.zeros((0, 0, 0))
        diagonal = np.diagonal(factors, axis1=1, axis2=2)
        if len(factors) and np.all(diagonal.min(axis=1) > 1e-3 * diagonal.max(axis=1)):
            solved = [cho_solve((L, True), b) for L, b in zip(factors, values, strict=True)]
            return np.asarray((transposed @ np.array(solved)[..., None])[..., 0])
    return np.asarray((np.linalg.pinv(matrices, rcond=rcond) @ values[..., None])[..., 0])


def tangents(
    loops: LoopKinematics, constraints: Constraints, q: Array, directions: Array, rtol: float
) -> Array:
    """Directions projected on the velocities that the constraints allow, largest entry one."""
    jacobian = constraints.residual_jacobian(loops.state(q)) * loops.units
    forbidden = (jacobian @ directions[..., None])[..., 0]
    directions = directions - least_norm(jacobian, forbidden, rtol)
    size = np.max(np.abs(directions), axis=1, initial=0.0, keepdims=True)
    moving = size > 1e-9
    return np.asarray(np.where(moving, directions / np.where(moving, size, 1.0), 0.0))


def walk(
    loops: LoopKinematics,
    constraints: Constraints,
    start: Array,
    *,
    walkers: int,
    steps: int,
    rng: np.random.Generator,
    rtol: float,
    stride: float = 0.4,
    tolerance: float = TOLERANCE,
    rcond: float = 1e-8,
) -> Array:
    """Random walks from one configuration.

    Args:
        loops: Kinematics of the edges walked on.
        constraints: What holds along the walk.
        start: The configuration that all walkers leave, shape (n,).
        walkers: Number of walkers.
        steps: Steps of each.
        rng: Source of the random directions.
        rtol: Relative tolerance of the rank that separates allowed from forbidden velocities.
        stride: Largest change of a coordinate per step, in radians or lengths.
        tolerance: Largest error of a configuration that is accepted.
        rcond: Singular values below this fraction of the largest are not corrected along.

    Returns:
        Configurations after each step, shape (steps, walkers, n). A walker that cannot step stays.
    """
    q = np.repeat(start[None], walkers, axis=0)
    strides = np.full((walkers, 1), stride)
    heading = rng.normal(size=q.shape)
    visited = np.zeros((steps, *q.shape))
    for k in range(steps):
        # Keeping most of the old heading carries a walker further than a random walk would.
        heading = tangents(loops, constraints, q, heading + 0.5 * rng.normal(size=q.shape), rtol)
        stepped = loops.integrate(q, strides * heading * loops.units)
        trial, closed = correct(loops, constraints, stepped, rcond=rcond, tolerance=tolerance)
        q = np.where(closed[:, None], trial, q)
        strides = np.where(closed[:, None], strides, 0.5 * strides)
        heading = np.where(closed[:, None], heading, rng.normal(size=q.shape))
        visited[k] = q
    return visited
