r"""Motion along a path under any forces: collocation in long intervals, all times of one at once.

Within an interval the acceleration is a Chebyshev series. Its values at the series' points are
found by Newton steps on the equation of motion, rate and place being its integrals, so an interval
of many ordinary time steps costs a few evaluations of the tables. Intervals are as long as the last
coefficients of the series stay below the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev

from regularize.dynamics.integrator import StepTooSmall
from regularize.dynamics.one_freedom.table import Table
from regularize.dynamics.recording import Counters
from regularize.lie.screw import Array, read_only

#: Points of an interval: with fewer the evaluations are too few to be worth the overhead of
#: calling them, with more the linear equations of a Newton step cost more than the tables.
POINTS = 40
#: Part of the tolerance that the last coefficients of one interval may use up: errors of all
#: intervals add up.
SHARE = 0.03

#: Generalised force along the path without potential: times, places, rates (K,) each, to (K,).
Drive = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Travel:
    """A motion along the path, sampled.

    Attributes:
        s: Path coordinates, shape (N,).
        rate: Their rates, shape (N,).
        work: Work of the forces without potential so far in J, shape (N,).
        counters: What it has cost; steps are intervals.
    """

    s: Array
    rate: Array
    work: Array
    counters: Counters


@cache
def _rule() -> tuple[Array, Array, Array, Array]:
    """Points on [0, 1], and what makes of values there: coefficients, integral, double integral."""
    x = 0.5 - 0.5 * np.cos(np.pi * np.arange(POINTS) / (POINTS - 1))
    series = np.linalg.inv(chebyshev.chebvander(2.0 * x - 1.0, POINTS - 1))
    once, twice = (chebyshev.chebint(series, m=m, lbnd=-1.0, scl=0.5, axis=0) for m in (1, 2))
    values = [chebyshev.chebval(2.0 * x - 1.0, c).T for c in (once, twice)]
    return read_only(x), read_only(series), read_only(values[0]), read_only(values[1])


class Collocation:
    """Integrates the motion of one mechanism along its path.

    Args:
        motion: Mass and potential.
        drive: Generalised force without potential, or None.
        rtol: Relative error of the rate per interval.
        max_step: Longest interval in seconds.
    """

    def __init__(
        self, motion: Table, drive: Drive | None, rtol: float, max_step: float = np.inf
    ) -> None:
        """Remember them."""
        self._motion, self._drive, self._rtol, self._max_step = motion, drive, rtol, max_step
        self._counters, self._fastest = Counters(), 0.0

    def travel(
        self,
        s: float,
        rate: float,
        times: Array,
        progress: Callable[[float], None] | None = None,
    ) -> Travel:
        """The motion at increasing times from a state at time zero.

        Raises:
            StepTooSmall: No interval is short enough.
        """
        end, t, h = float(times[-1]), 0.0, self._first(s, rate)
        state = np.array([s, rate, 0.0])
        parts = [np.repeat(state[:, None], int(np.sum(times <= 0.0)), axis=1)]
        while t < end:
            left = end - t
            h = min(h, self._max_step)
            wanted = left if left <= h else min(h, 0.5 * left)
            if wanted <= 1e-13 * max(1.0, t):
                raise StepTooSmall(t)
            acceleration, power, fit = self._interval(t, state, wanted)
            if not fit >= 1.0:
                self._counters.rejected += 1
                h = wanted * float(np.clip(fit, 0.2, 0.8))
                continue
            self._counters.steps += 1
            stop = t + wanted if wanted < left else end
            inside = times[(times > t) & (times <= stop)]
            s, rate, work = state.tolist()
            speed = Chebyshev(acceleration, (t, t + wanted)).integ(k=rate, lbnd=t)
            done = Chebyshev(power, (t, t + wanted)).integ(k=work, lbnd=t)
            at = np.append(inside, stop)
            found = np.array([speed.integ(k=s, lbnd=t)(at), speed(at), done(at)])
            parts.append(found[:, :-1])
            state = found[:, -1]
            self._fastest = max(self._fastest, abs(float(state[1])))
            # The last ones are shorter than they could be, the others as long as seemed wise.
            t, h = stop, max(h if wanted < h else 0.0, wanted * min(2.0, 0.9 * fit))
            if progress is not None:
                progress(t / end)
        s_all, rates, works = np.concatenate(parts, axis=1)
        return Travel(s_all, rates, works, self._counters)

    def _first(self, s: float, rate: float) -> float:
        """An interval in which the mechanism goes a small part of the path."""
        acceleration = self._equation(np.zeros(1), np.array([s]), np.array([rate]))[0]
        speed = max(abs(rate), float(np.sqrt(abs(acceleration[0]))))
        self._fastest = abs(rate)
        return 1.0 / speed if speed > 1e-6 else 1e-3

    def _force(self, t: Array, s: Array, rate: Array) -> Array:
        return np.zeros(len(s)) if self._drive is None else self._drive(t, s, rate)

    def _equation(self, t: Array, s: Array, rate: Array) -> tuple[Array, Array, Array, Array]:
        """Acceleration, its derivatives by place and by rate, and power, shapes (K,)."""
        self._counters.evaluations += len(s)
        (m, _), (dm, dW), (ddm, ddW) = (self._motion(s, k).T for k in range(3))
        Q = self._force(t, s, rate)
        force = Q - 0.5 * dm * rate**2 - dW
        by_place, by_rate = -0.5 * ddm * rate**2 - ddW, -dm * rate
        if self._drive is not None:
            # Difference quotients: Newton steps need no more than half of the digits.
            by_place = by_place + (self._force(t, s + 1e-6, rate) - Q) / 1e-6
            size = 1e-6 * (1.0 + float(np.max(np.abs(rate))))
            by_rate = by_rate + (self._force(t, s, rate + size) - Q) / size
        return force / m, by_place / m - force * dm / m**2, by_rate / m, Q * rate

    def _interval(self, t: float, state: Array, h: float) -> tuple[Array, Array, float]:
        """Series of acceleration and power, and how many times the length would do as well.

        Below one it is too long, also where the Newton steps do not converge.
        """
        x, series, integral, twice = _rule()
        s, rate, _ = state.tolist()
        times = t + h * x
        a = np.repeat(self._equation(np.array([t]), state[:1], state[1:2])[0], POINTS)
        by_first, by_second = h * integral, h**2 * twice
        before = np.inf
        for _ in range(12):
            velocity = rate + by_first @ a
            value, by_place, by_rate, power = self._equation(
                times, s + h * rate * x + by_second @ a, velocity
            )
            matrix = np.eye(POINTS) - by_place[:, None] * by_second - by_rate[:, None] * by_first
            change = np.linalg.solve(matrix, value - a)
            a = a + change
            largest = float(np.max(np.abs(a)))
            size = float(np.max(np.abs(change))) / max(largest, 1e-300)
            if not np.isfinite(size) or (size > 2.0 * before and size > 1e-6):
                return x, x, 0.3
            if size <= 1e-12 or (size < 1e-9 and size > 0.3 * before):
                break
            before = size
        else:
            return x, x, 0.3
        fastest = max(self._fastest, float(np.max(np.abs(velocity))), 1e-12)
        acceleration = series @ a
        fit = _fit(acceleration, SHARE * self._rtol * fastest / h)
        return acceleration, series @ power, fit


def _fit(series: Array, small: float) -> float:
    """Points of an interval over points that its series needs until coefficients are small."""
    sizes = np.maximum.accumulate(np.abs(series[::-1]))[::-1]
    most = len(series) - 3  # a single small coefficient may be chance
    if sizes[most] <= small:
        return most / max(4.0, float(np.argmax(sizes <= small)))
    # Coefficients fall off like a geometric series, which tells how many it would take.
    decay = np.log(sizes[0] / sizes[most]) / np.log(sizes[0] / small)
    return float(min(0.9 * decay, 0.99)) if np.isfinite(decay) else 0.2
