r"""Motion along a path under any forces: collocation in long windows, all times of one at once.

Within a window the acceleration is a Chebyshev series. Its values at the series' points are found
by Newton steps on the equation of motion, rate and place being its integrals, so a window of many
ordinary time steps costs a few evaluations of the tables. Windows are as long as the last
coefficients of the series stay below the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev

from regularize.dynamics.integrator import StepTooSmall
from regularize.dynamics.one_freedom.table import Table
from regularize.lie.screw import Array, read_only

#: Points of a window, Newton steps and the relative size of the last one.
POINTS, STEPS, DONE = 40, 12, 1e-12
#: Coefficients at the end of the series that have to be small, and caution with longer windows.
LAST, SAFETY = 3, 0.9
#: Part of the tolerance that the last coefficients of one window may use up.
SHARE = 0.03
#: Relative step of difference quotients.
DIFFERENCE = 1e-6

#: Generalised force along the path without potential: times, places, rates (K,) each, to (K,).
Drive = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Travel:
    """A motion along the path, sampled.

    Attributes:
        s: Path coordinates, shape (N,).
        rate: Their rates, shape (N,).
        work: Work of the forces without potential so far in J, shape (N,).
        windows: Windows.
        rejected: Windows that were too long.
        evaluations: States at which the equation of motion was evaluated.
    """

    s: Array
    rate: Array
    work: Array
    windows: int
    rejected: int
    evaluations: int


@dataclass(frozen=True, eq=False)
class _Rule:
    """Chebyshev series on [0, 1]: points, coefficients from values, integrals from values."""

    points: Array
    series: Array
    integral: Array
    double: Array


@cache
def _rule() -> _Rule:
    x = 0.5 - 0.5 * np.cos(np.pi * np.arange(POINTS) / (POINTS - 1))
    series = np.linalg.inv(chebyshev.chebvander(2.0 * x - 1.0, POINTS - 1))
    once, twice = (chebyshev.chebint(series, m=m, lbnd=-1.0, scl=0.5, axis=0) for m in (1, 2))
    values = [chebyshev.chebval(2.0 * x - 1.0, c).T for c in (once, twice)]
    return _Rule(*(read_only(a) for a in (x, series, *values)))


@dataclass(frozen=True, eq=False)
class _Window:
    """One solved window: series of the acceleration, and of the power, by the part of its length.

    ``fit`` is how many times its length would do as well; below 1 it is too long.
    """

    start: float
    length: float
    s: float
    rate: float
    work: float
    acceleration: Array
    power: Array
    fit: float

    def sample(self, t: Array) -> Array:
        """Places, rates and work at times in seconds, shape (3, N)."""
        h, part = self.length, (t - self.start) / self.length
        x = 2.0 * part - 1.0
        once, twice = (
            chebyshev.chebval(x, chebyshev.chebint(self.acceleration, m=m, lbnd=-1.0, scl=0.5))
            for m in (1, 2)
        )
        done = chebyshev.chebval(x, chebyshev.chebint(self.power, lbnd=-1.0, scl=0.5))
        s = self.s + h * self.rate * part + h**2 * twice
        return np.array([s, self.rate + h * once, self.work + h * done])


class Windows:
    """Integrates the motion of one mechanism along its path.

    Args:
        motion: Mass and potential.
        drive: Generalised force without potential, or None.
        rtol: Relative error of the rate per window.
        max_step: Longest window in seconds.
    """

    def __init__(
        self, motion: Table, drive: Drive | None, rtol: float, max_step: float = np.inf
    ) -> None:
        """Remember them."""
        self._motion, self._drive, self._rtol, self._max_step = motion, drive, rtol, max_step
        self._evaluations = 0
        self._fastest = 0.0

    def travel(
        self,
        s: float,
        rate: float,
        times: Array,
        progress: Callable[[float], None] | None = None,
    ) -> Travel:
        """The motion at increasing times from a state at time zero.

        Raises:
            StepTooSmall: No window is short enough.
        """
        end, t, work, h = float(times[-1]), 0.0, 0.0, self._first(s, rate)
        parts = [np.repeat([[s], [rate], [0.0]], int(np.sum(times <= 0.0)), axis=1)]
        windows = rejected = 0
        while t < end:
            left = end - t
            h = min(h, self._max_step)
            wanted = left if left <= h else min(h, 0.5 * left) if left < 2.0 * h else h
            if wanted <= 1e-13 * max(1.0, t):
                raise StepTooSmall(t)
            window = self._window(t, s, rate, work, wanted)
            if window is None or not window.fit >= 1.0:
                rejected += 1
                h = wanted * (0.3 if window is None else float(np.clip(window.fit, 0.2, 0.8)))
                continue
            windows += 1
            stop = t + wanted if wanted < left else end
            inside = times[(times > t) & (times <= stop)]
            if len(inside):
                parts.append(window.sample(inside))
            s, rate, work = window.sample(np.array([t + wanted]))[:, 0].tolist()
            self._fastest = max(self._fastest, abs(rate))
            # The last window is shorter than it could be, the others are as long as it seemed wise.
            t, h = stop, max(h if wanted < h else 0.0, wanted * min(2.0, SAFETY * window.fit))
            if progress is not None:
                progress(t / end)
        samples = np.concatenate(parts, axis=1)
        place, speed, done = samples
        return Travel(place, speed, done, windows, rejected, self._evaluations)

    def _first(self, s: float, rate: float) -> float:
        """A window in which the mechanism goes a small part of the path."""
        acceleration = self._residual(np.zeros(1), *(np.array([x]) for x in (s, rate)))[0]
        speed = max(abs(rate), float(np.sqrt(abs(acceleration[0]))))
        self._fastest = abs(rate)
        return 1.0 / speed if speed > 1e-6 else 1e-3

    def _force(self, t: Array, s: Array, rate: Array) -> Array:
        if self._drive is None:
            return np.zeros(len(s))
        return self._drive(t, s, rate)

    def _residual(self, t: Array, s: Array, rate: Array) -> tuple[Array, Array, Array, Array]:
        """Acceleration, its derivatives by place and by rate, and power, shapes (K,)."""
        self._evaluations += len(s)
        (m, _), (dm, dW), (ddm, ddW) = (self._motion(s, k).T for k in range(3))
        Q = self._force(t, s, rate)
        force = Q - 0.5 * dm * rate**2 - dW
        by_place, by_rate = -0.5 * ddm * rate**2 - ddW, -dm * rate
        if self._drive is not None:
            size = DIFFERENCE * (1.0 + float(np.max(np.abs(rate))))
            by_place = by_place + (self._force(t, s + DIFFERENCE, rate) - Q) / DIFFERENCE
            by_rate = by_rate + (self._force(t, s, rate + size) - Q) / size
        return force / m, by_place / m - force * dm / m**2, by_rate / m, Q * rate

    def _window(self, t: float, s: float, rate: float, work: float, h: float) -> _Window | None:
        """The motion over one window, or None where the Newton steps do not converge."""
        rule = _rule()
        times = t + h * rule.points
        start = self._residual(np.array([t]), np.array([s]), np.array([rate]))[0]
        a = np.repeat(start, POINTS)
        once, twice = h * rule.integral, h**2 * rule.double
        before = np.inf
        for _ in range(STEPS):
            velocity = rate + once @ a
            value, by_place, by_rate, power = self._residual(
                times, s + h * rate * rule.points + twice @ a, velocity
            )
            matrix = np.eye(POINTS) - by_place[:, None] * twice - by_rate[:, None] * once
            change = np.linalg.solve(matrix, value - a)
            a = a + change
            size = float(np.max(np.abs(change)))
            largest = float(np.max(np.abs(a)))
            if not np.isfinite(size) or (size > 2.0 * before and size > 1e-6 * largest):
                return None
            if size <= DONE * largest or (size < 1e-9 * largest and size > 0.3 * before):
                break
            before = size
        else:
            return None
        series = rule.series @ a
        fastest = max(self._fastest, float(np.max(np.abs(velocity))), 1e-12)
        fit = _fit(series, SHARE * self._rtol * fastest / h)
        return _Window(t, h, s, rate, work, series, rule.series @ power, fit)


def _fit(series: Array, small: float) -> float:
    """Points of a window over points that its series needs until coefficients are small."""
    sizes = np.maximum.accumulate(np.abs(series[::-1]))[::-1]
    most = len(series) - LAST
    if sizes[most] <= small:
        return most / max(4.0, float(np.argmax(sizes <= small)))
    # Coefficients fall off like a geometric series, which tells how many it would take.
    decay = np.log(sizes[0] / sizes[most]) / np.log(sizes[0] / small)
    return float(min(SAFETY * decay, 0.99)) if np.isfinite(decay) else 0.2
