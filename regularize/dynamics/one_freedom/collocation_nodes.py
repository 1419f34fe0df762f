r"""Points at equal distances on a closed curve, so many that a Fourier series passes through all.

Where points follow each other at equal chords the curve is an analytic function of their number,
and its Fourier series converges exponentially; no length of arc has to be computed. A chord counts
the way and the turning of the tangent alike. All points move at once in Newton steps: across the
curve by the closure errors, along it by the differences between chords.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_banded

from regularize.dynamics.one_freedom.bifurcations import branch_points
from regularize.dynamics.one_freedom.continuation import Round
from regularize.dynamics.one_freedom.curve import (
    SINGULAR,
    Curve,
    Points,
    SingularPath,
)
from regularize.lie.screw import Array

#: Size of the last Fourier coefficients, of those of all coordinates together, that counts as none.
TAIL = 1e-13
#: Newton steps, and the largest one after which nothing but rounding is left.
STEPS, DONE = 15, 1e-8
#: Largest step, relative to the tail, after which the tail tells how many points are needed.
ENOUGH = 0.1
#: Most points.
MOST = 8192


class Unresolved(SingularPath):
    """The points are too few to be spread evenly, or a branch point is all but on the curve."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Points on the curve at equal steps of the path coordinate, which is 2 pi per round.

    Attributes:
        q: Configurations, not wrapped, shape (N, n).
        v: Velocities at unit rate of the path coordinate, shape (N, n).
        turns: Change of every coordinate per round, shape (n,).
        branches: Configurations at which the curve meets others, shape (B, n).
    """

    q: Array
    v: Array
    turns: Array
    branches: Array


def resample(values: Array, count: int) -> Array:
    """Samples of periodic functions (N, k) at ``count`` points by their Fourier series."""
    N = len(values)
    terms = np.fft.rfft(values, axis=0)
    if N % 2 == 0 and count > N:
        terms[-1] *= 0.5
    return np.asarray(np.fft.irfft(terms, n=count, axis=0) * (count / N))


def slope(values: Array, order: int = 1) -> Array:
    """Derivative of periodic functions (N, k), 2 pi per period."""
    N = len(values)
    factors = (1j * np.arange(N // 2 + 1)) ** order
    if N % 2 == 0:
        factors[-1] = 0.0
    terms = np.fft.rfft(values, axis=0) * factors[:, None]
    return np.asarray(np.fft.irfft(terms, n=N, axis=0))


def tail(values: Array) -> float:
    """Size of the last quarter of the Fourier coefficients of periodic functions (N, k)."""
    sizes = np.abs(np.fft.rfft(values, axis=0)) / len(values)
    return float(np.max(sizes[(3 * len(sizes)) // 4 :], initial=0.0))


def nodes_on(curve: Curve, visited: Round, *, through: bool = False) -> Nodes:
    """As many points as the Fourier series of the configurations needs.

    Args:
        curve: The curve.
        visited: Points once around it.
        through: Whether the curve goes straight on at branch points.

    Raises:
        SingularPath: A branch point lies on the curve.
        Unresolved: It comes so near that no series converges, or there are too few points.
    """
    q, tangent, turns = visited.q, visited.tangent, visited.turns
    if len(q) % 2 == 0:
        # Symmetric mechanisms have their singular poses at simple fractions of the round: with an
        # odd number, no point is there.
        q, tangent = (np.delete(array, len(q) // 4, axis=0) for array in (q, tangent))
    slopes = curve.embedded(turns[None])[0] * 0.0
    slopes[: len(curve.plain)] = turns[curve.plain]
    sizes = np.concatenate([curve.units[curve.plain], np.ones(len(slopes) - len(curve.plain))])

    def straightened(q: Array) -> Array:
        """Periodic functions of the configurations."""
        return np.asarray(curve.embedded(q) - np.outer(np.arange(len(q)) / len(q), slopes))

    while True:
        points, left = _equidistant(
            curve, q, tangent, turns, lambda q: tail(straightened(q) / sizes)
        )
        N, straight = len(points.q), straightened(points.q)
        if left < TAIL:
            break
        # Coefficients fall off like a geometric series: that tells how many points are needed.
        count = 2 * int(np.ceil(0.5 * N * _growth(left))) + 1
        if count > MOST:
            raise _near(curve, points)
        part = np.arange(count)[:, None] / count
        q = curve.restored(resample(straight, count) + part * slopes)
        tangent = resample(points.tangent, count)
    branches = branch_points(curve, points, straight, slopes)
    if len(branches) and not through:
        place = curve.place(branches[0])
        raise SingularPath(f"it runs through a singular configuration at {place}")
    v = curve.units * points.tangent
    along, rates = curve.embedded_rates(points.q, v) / sizes, slope(straight) + slopes / (2 * np.pi)
    speed = np.sum(rates / sizes * along, axis=1) / np.sum(along**2, axis=1)
    return Nodes(points.q, speed[:, None] * v, turns, branches)


def _growth(left: float) -> float:
    return float(np.clip(1.2 * np.log(TAIL) / np.log(min(left, 0.1)), 1.2, 4.0))


def _equidistant(
    curve: Curve, q: Array, tangent: Array, turns: Array, size_of_tail: Callable[[Array], float]
) -> tuple[Points, float]:
    """Points moved onto the curve and along it until all chords are equal, and their tail.

    Where it shows that there are too few points, they need not be spread any better.
    """
    points = curve.points(q, tangent)
    for _ in range(STEPS):
        if not points.clearance.min() > SINGULAR:
            break
        following = np.roll(points.q, -1, axis=0)
        following[-1] = points.q[0] + turns
        ahead = np.roll(points.tangent, -1, axis=0)
        chords, turning = curve.differences(points.q, following), ahead - points.tangent
        length = np.sqrt(np.sum(chords**2 + turning**2, axis=1))
        # The curve's own speed, so that the series' derivative becomes that by length of arc.
        speed = np.linalg.norm(chords, axis=1) * len(q) / (2.0 * np.pi)
        bend = slope(points.tangent) / (0.5 * (speed + np.roll(speed, 1)))[:, None]
        by_end = np.sum(chords * ahead + turning * np.roll(bend, -1, axis=0), axis=1) / length
        by_start = np.sum(chords * points.tangent + turning * bend, axis=1) / length
        if not (by_end.min() > 0.1 and by_start.min() > 0.1):
            # Too few points for the derivative of the series: the way alone decides.
            bend = np.zeros_like(bend)
            by_end = np.sum(chords * ahead, axis=1) / length
            by_start = np.sum(chords * points.tangent, axis=1) / length
        shift = _shifts(length, by_start, by_end)
        limit = 0.5 * float(length.mean())
        shift = np.clip(shift, -limit, limit)[:, None]
        step = points.correction + shift * points.tangent + 0.5 * shift**2 * bend
        points = curve.points(curve.moved(points.q, step), points.tangent)
        left, size = size_of_tail(points.q), float(np.max(np.abs(step)))
        if size < DONE or size < ENOUGH * left:
            return points, left
    raise _near(curve, points)


def _near(curve: Curve, points: Points) -> Unresolved:
    place = curve.place(points.q[int(np.argmin(points.clearance))])
    return Unresolved(f"it comes close to a singular configuration at {place}")


def _shifts(length: Array, by_start: Array, by_end: Array) -> Array:
    """Shifts (N,) along the curve that make all chords equal while the first point stays."""
    N = len(length)
    # Row k: by_end[k] shift[k + 1] - by_start[k] shift[k] - common = -length[k].
    bands = np.array([by_end, np.append(-by_start[1:], 0.0)])
    parts = solve_banded((1, 0), bands, np.column_stack([-length, np.ones(N)]))
    common = -parts[-1, 0] / parts[-1, 1]
    return np.concatenate([[0.0], (parts[:, 0] + common * parts[:, 1])[:-1]])
