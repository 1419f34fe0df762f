r"""Points at equal distances on a closed curve, so many that a Fourier series passes through all.

Where points follow each other at equal chords the curve is an analytic function of their number,
and its Fourier series converges exponentially; no length of arc has to be computed. A chord counts
the way and the turning of the tangent alike. All points move at once in Newton steps: across the
curve by the closure errors, along it by the differences between chords.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_banded

from regularize.dynamics.one_freedom.continuation import Round
from regularize.dynamics.one_freedom.curve import Curve, Points, SingularPath
from regularize.dynamics.one_freedom.table import ROUND, Table, slope, table_of, tail
from regularize.lie.screw import Array
from regularize.manifold.tolerances import ROUNDING

#: Size of the last Fourier coefficients, of those of all functions together, that counts as none:
#: rounding of a few hundred samples.
TAIL = 10 * ROUNDING
#: Most points; a curve that needs more all but has a corner, next to another one.
MOST = 8192


class Unresolved(SingularPath):
    """The points are too few to be spread evenly, or another curve is all but on this one."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Points on the curve at equal steps of the path coordinate, which is 2 pi per round.

    Attributes:
        points: They.
        shape: Embedded configurations as functions of the path coordinate.
        rates: Velocities at its unit rate.
        turns: Change of every coordinate per round, shape (n,).
    """

    points: Points
    shape: Table
    rates: Table
    turns: Array


def nodes_on(curve: Curve, visited: Round) -> Nodes:
    """As many points as the Fourier series of the configurations needs.

    Raises:
        Unresolved: No series converges.
    """
    q, tangent = visited.spread()
    turns, plain = visited.turns, len(curve.plain)
    k = curve.embedded(q[:1]).shape[1]
    growth, sizes = np.zeros(k), np.ones(k)
    growth[:plain], sizes[:plain] = turns[curve.plain], curve.units[curve.plain]
    while True:
        points, straight = _equidistant(curve, q, tangent, turns, growth, sizes)
        left, shape = tail(straight / sizes), table_of(straight, growth)
        if left < TAIL:
            break
        # Coefficients fall off like a geometric series: that tells how many points are needed.
        more = float(np.clip(1.2 * np.log(TAIL) / np.log(min(left, 0.1)), 1.2, 4.0))
        count = 2 * int(np.ceil(0.5 * len(q) * more)) + 1
        if count > MOST:
            raise _near(curve, points)
        part = np.arange(count) / count
        tangent = points.tangent[(part * len(q)).astype(int)]
        q = curve.restored(shape(ROUND * part))
    v = curve.units * points.tangent
    along = curve.embedded_rates(points.q, v) / sizes
    speed = np.sum((slope(straight) + growth / ROUND) / sizes * along, axis=1)
    v *= (speed / np.sum(along**2, axis=1))[:, None]
    return Nodes(points, shape, table_of(v, np.zeros(curve.n)), turns)


def _equidistant(
    curve: Curve, q: Array, tangent: Array, turns: Array, growth: Array, sizes: Array
) -> tuple[Points, Array]:
    """Points moved onto the curve and along it until all chords are equal; embedded less growth.

    Where it shows that there are too few points, they need not be spread any better.
    """
    N = len(q)
    points = curve.points(q, tangent)
    for _ in range(15):
        if not points.clearance.min() > curve.tolerances.singular:
            break
        following = np.roll(points.q, -1, axis=0)
        following[-1] = points.q[0] + turns
        ahead = np.roll(points.tangent, -1, axis=0)
        chords, turning = curve.differences(points.q, following), ahead - points.tangent
        length = np.sqrt(np.sum(chords**2 + turning**2, axis=1))
        # The curve's own speed, so that the series' derivative becomes that by length of arc.
        speed = np.linalg.norm(chords, axis=1) * N / ROUND
        bend = slope(points.tangent) / (0.5 * (speed + np.roll(speed, 1)))[:, None]
        by_end = np.sum(chords * ahead + turning * np.roll(bend, -1, axis=0), axis=1) / length
        by_start = np.sum(chords * points.tangent + turning * bend, axis=1) / length
        if not (by_end.min() > 0.1 and by_start.min() > 0.1):
            # Too few points for the derivative of the series: the way alone decides.
            bend = np.zeros_like(bend)
            by_end = np.sum(chords * ahead, axis=1) / length
            by_start = np.sum(chords * points.tangent, axis=1) / length
        limit = 0.5 * float(length.mean())
        shift = np.clip(_shifts(length, by_start, by_end), -limit, limit)[:, None]
        step = points.correction + shift * points.tangent + 0.5 * shift**2 * bend
        points = curve.points(curve.moved(points.q, step), points.tangent)
        straight = curve.embedded(points.q) - np.outer(np.arange(N) / N, growth)
        size = float(np.max(np.abs(step)))
        # The next step would be rounding, or too short to change what the tail tells.
        if size < 1e-8 or size < 0.1 * tail(straight / sizes):
            return points, straight
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
