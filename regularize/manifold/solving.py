"""Closing loops from one starting point: Gauss-Newton, and nonlinear least squares.

The thesis (Paul 2020, section 5.2) closes open models by nonlinear least squares, because Newton's
method needs a regular matrix that is not known before the loops are closed. Here the Jacobian is
exact, and coordinates that are held do not take part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares as minimise

from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics

#: Closed means: no gap above this fraction of the size of the mechanism, no such angle in radians.
CLOSED = 1e-5
EXACT = 1e-13

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Gap:
    """How far a loop is open.

    Attributes:
        joint: The closing joint of the loop.
        translation: Metres.
        rotation: Radians.
    """

    joint: str
    translation: float
    rotation: float


def largest_error(loops: LoopKinematics, q: Array) -> float:
    """Largest closure error, lengths scaled."""
    return float(np.max(np.abs(loops.residual(loops.state(q))), initial=0.0))


def gaps(loops: LoopKinematics, q: Array) -> list[Gap]:
    """Gap of every loop at a configuration of shape (n,)."""
    errors = loops.residual(loops.state(q))[0, : 6 * len(loops.chords)].reshape(-1, 6)
    return [
        Gap(
            loops.graph.edges[chord].joint.name,
            float(np.linalg.norm(error[:3])) * loops.length,
            float(np.linalg.norm(error[3:])),
        )
        for chord, error in zip(loops.chords, errors, strict=True)
    ]


def newton(loops: LoopKinematics, q: Array, free: Mask | None = None, steps: int = 12) -> Array:
    """Gauss-Newton steps with pseudo-inverses on some coordinates, shape (n,) as ``q``.

    A step that does not lower the error is halved; the best configuration found is returned.
    """
    free = np.ones(loops.freedoms, dtype=bool) if free is None else free
    q = np.array(q)
    if not free.any():
        return q
    state = loops.state(q)
    residual = loops.residual(state)[0]
    error = float(residual @ residual)
    for _ in range(steps):
        if np.max(np.abs(residual), initial=0.0) <= EXACT:
            break
        jacobian = loops.residual_jacobian(state)[0][:, free]
        step = np.zeros(loops.freedoms)
        step[free] = -np.linalg.lstsq(jacobian, residual, rcond=1e-7)[0]
        for _ in range(8):
            trial = loops.integrate(q[None], step[None])[0]
            trial_state = loops.state(trial)
            trial_residual = loops.residual(trial_state)[0]
            if trial_residual @ trial_residual < error:
                break
            step *= 0.5
        else:
            break
        q, state, residual = trial, trial_state, trial_residual
        error = float(residual @ residual)
    return q


def least_squares(
    loops: LoopKinematics,
    start: Array,
    free: Mask,
    target: Array | float = 0.0,
    rows: slice = slice(None),
) -> Array:
    """Minimise the closure errors (eq. 23) over velocities integrated from ``start``.

    Args:
        loops: The loops to close.
        start: Starting coordinates, shape (n,).
        free: Coordinates that may move, shape (n,).
        target: Errors to aim at instead of zero, shape (6 L + C,).
        rows: Errors that count; by default all.
    """
    if not free.any():
        return start

    def velocity(x: Array) -> Array:
        result = np.zeros(loops.freedoms)
        result[free] = x
        return result

    def configuration(x: Array) -> Array:
        return np.asarray(loops.integrate(start[None], velocity(x)[None])[0])

    def residual(x: Array) -> Array:
        return np.asarray((loops.residual(loops.state(configuration(x)))[0] - target)[rows])

    def jacobian(x: Array) -> Array:
        by_velocity = loops.residual_jacobian(loops.state(configuration(x)))[0][rows]
        return np.asarray((by_velocity @ loops.integration_jacobian(velocity(x)))[:, free])

    solution = minimise(
        residual,
        np.zeros(int(free.sum())),
        jacobian,
        ftol=1e-15,
        xtol=1e-15,
        gtol=1e-15,
        max_nfev=200,
    )
    return configuration(solution.x)


def solve(loops: LoopKinematics, start: Array, free: Mask) -> Array:
    """Least squares and then Newton's last digits, shape (n,)."""
    return newton(loops, least_squares(loops, start, free), free)


def perturbed(
    loops: LoopKinematics, q: Array, free: Mask, scale: float, rng: np.random.Generator
) -> Array:
    """The configuration moved at random: ``scale`` in radians and in sizes of the mechanism."""
    step = rng.normal(scale=scale, size=loops.freedoms) * free * loops.units
    return np.asarray(loops.integrate(q[None], step[None])[0])
