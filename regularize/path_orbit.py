r"""Periodic motion along a path by quadrature: time as a function of place, turned around.

Where the joint forces have a potential, the energy E gives the speed everywhere, and

.. math:: dt = \sqrt{\frac{m(s)}{2 (E - W(s))}}\, ds .

Between two turning points :math:`s = s_1 + r (1 - \cos\varphi)` makes the integrand a smooth even
function of :math:`\varphi`; where the mechanism runs through, s itself plays its part. Either way
it is a Fourier series whose coefficients fall off exponentially, and its integral is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.fft import dct

from regularize.path_table import ROUND, Table
from regularize.screw import Array

#: Points of the quadrature, at least and at most.
FEWEST, MOST = 32, 4096
#: Newton steps that turn time around, and that find a turning point.
STEPS = 30


@dataclass(frozen=True, eq=False)
class Orbit:
    """A periodic motion.

    Attributes:
        period: Time of one round, or forth and back, in seconds.
        points: Number of points of the quadrature.
        error: Size of its last coefficients relative to the first.
        place: Path coordinate and its derivative by the phase, at phases of shape (N,).
    """

    period: float
    points: int
    error: float
    place: Callable[[Array], tuple[Array, Array]]
    _cosines: Array
    _sines: Array
    _start: float
    _grid: Array

    def at(self, t: Array) -> tuple[Array, Array]:
        """Path coordinates and their rates at times in seconds, shapes (N,)."""
        mean = self.period / ROUND
        elapsed = t + self._time(np.array([self._start]))[0][0]
        rounds = np.floor(elapsed / self.period)
        left = elapsed - rounds * self.period
        # A chord of the tabulated times, then Newton.
        phase = np.interp(left, self._grid, np.linspace(0.0, ROUND, len(self._grid)))
        for _ in range(STEPS):
            reached, rate = self._time(phase)
            step = (left - reached) / rate
            phase += step
            if np.max(np.abs(step)) < 1e-9:
                break
        reached, rate = self._time(phase)
        phase += (left - reached) / rate
        s, by_phase = self.place(phase + ROUND * rounds)
        return s, by_phase / np.maximum(rate, 1e-12 * mean)

    def _time(self, phase: Array) -> tuple[Array, Array]:
        """Time since phase zero and its derivative, shapes (N,)."""
        mean = self.period / ROUND
        k = np.arange(1, len(self._cosines) + 1)
        angles = np.multiply.outer(phase, k)
        cosine, sine = np.cos(angles), np.sin(angles)
        time = mean * phase + sine @ (self._cosines / k)
        rate = mean + cosine @ self._cosines
        if len(self._sines):
            time += (1.0 - cosine) @ (self._sines / k)
            rate += sine @ self._sines
        return time, rate


def orbit(motion: Table, energy: float, s: float, rate: float, rtol: float) -> Orbit | None:
    """The periodic motion through a state, or None where there is none or it is not resolved.

    Args:
        motion: Mass and potential W, which may grow from round to round.
        energy: Kinetic and potential energy in J.
        s: Path coordinate at time zero.
        rate: Its rate.
        rtol: Relative error of times.
    """
    spare = energy - motion.coefficients[-1, :, 1]
    growth = float(motion.growth[1])
    if growth == 0.0 and rate != 0.0 and spare.min() > 0.0:
        return _rotation(motion, energy, s, rate, rtol)
    ends = _turning_points(motion, energy, s, rate, spare, growth)
    return None if ends is None else _oscillation(motion, energy, s, rate, ends, rtol)


def _turning_points(
    motion: Table, energy: float, s: float, rate: float, spare: Array, growth: float
) -> Array | None:
    """Where the energy is used up on either side, shape (2,), or None where it is not."""
    count = len(spare)
    h = ROUND / count
    first = int(np.floor(s / h))
    # Two rounds either way are enough: a potential that grows only ends one side later.
    numbers = np.arange(first - 2 * count, first + 2 * count + 2)
    values = spare[numbers % count] - growth * (numbers // count)
    used_up = values <= 0.0
    below, above = numbers <= first, numbers > first
    force = -float(motion(np.array([s]), 1)[0, 1])
    if rate == 0.0:
        # At rest, the state itself is one of the two.
        if force > 0.0:
            below &= False
        else:
            above &= False
    lower = numbers[below & used_up]
    upper = numbers[above & used_up]
    ends = np.array([s, s])
    if rate != 0.0 or force <= 0.0:
        if not len(lower):
            return None
        ends[0] = lower[-1] * h
    if rate != 0.0 or force > 0.0:
        if not len(upper):
            return None
        ends[1] = upper[0] * h
    inner = np.clip(np.array([ends[0] + h, ends[1] - h]), min(s, ends[0]), None)
    inner = np.array([min(inner[0], s), max(inner[1], s)])
    moving = np.array([rate != 0.0 or force <= 0.0, rate != 0.0 or force > 0.0])
    ends[moving] = _roots(motion, energy, ends[moving], inner[moving])
    return ends


def _roots(motion: Table, energy: float, outside: Array, inside: Array) -> Array:
    """Where the potential takes the energy's value, by Newton steps kept inside brackets."""
    x = outside.copy()
    for _ in range(STEPS):
        excess = motion(x)[:, 1] - energy
        outside = np.where(excess >= 0.0, x, outside)
        inside = np.where(excess < 0.0, x, inside)
        slope = motion(x, 1)[:, 1]
        step = -excess / np.where(slope == 0.0, 1e-300, slope)
        trial = x + step
        bracketed = (trial - outside) * (trial - inside) <= 0.0
        trial = np.asarray(np.where(bracketed, trial, 0.5 * (outside + inside)), dtype=np.float64)
        done = np.max(np.abs(trial - x)) < 1e-15 * max(1.0, float(np.max(np.abs(x))))
        x = trial
        if done:
            break
    return x


def _oscillation(
    motion: Table, energy: float, s: float, rate: float, ends: Array, rtol: float
) -> Orbit | None:
    radius = 0.5 * float(ends[1] - ends[0])
    if not radius > 0.0:
        return None
    count = FEWEST
    while True:
        phase = (np.arange(count) + 0.5) * (np.pi / count)
        values = motion(ends[0] + 2.0 * radius * np.sin(0.5 * phase) ** 2)
        spare = energy - values[:, 1]
        if not spare.min() > 0.0:
            return None
        terms = dct(radius * np.sin(phase) * np.sqrt(0.5 * values[:, 0] / spare)) / count
        error = float(np.max(np.abs(terms[(3 * count) // 4 :]))) / float(terms[0])
        if error < rtol:
            break
        count *= 2
        if count > MOST:
            return None

    def place(phase: Array) -> tuple[Array, Array]:
        half = np.sin(0.5 * phase)
        return ends[0] + 2.0 * radius * half**2, radius * np.sin(phase)

    part = np.sqrt(np.clip((s - ends[0]) / (2.0 * radius), 0.0, 1.0))
    start = 2.0 * float(np.arcsin(part))
    start = start if rate >= 0.0 else ROUND - start
    return _orbit(0.5 * float(terms[0]), terms[1:], np.zeros(0), start, place, count, error, rtol)


def _rotation(motion: Table, energy: float, s: float, rate: float, rtol: float) -> Orbit | None:
    sense = float(np.sign(rate))
    count = 2 * FEWEST
    while True:
        values = motion(s + sense * np.arange(count) * (ROUND / count))
        spare = energy - values[:, 1]
        if not spare.min() > 0.0:
            return None
        terms = np.fft.rfft(np.sqrt(0.5 * values[:, 0] / spare)) / count
        error = float(np.max(np.abs(terms[(3 * len(terms)) // 4 :])) / terms[0].real)
        if error < rtol:
            break
        count *= 2
        if count > MOST:
            return None

    def place(phase: Array) -> tuple[Array, Array]:
        return s + sense * phase, np.full(len(phase), sense)

    cosines, sines = 2.0 * terms.real[1:], -2.0 * terms.imag[1:]
    return _orbit(float(terms[0].real), cosines, sines, 0.0, place, count, error, rtol)


def _orbit(
    mean: float,
    cosines: Array,
    sines: Array,
    start: float,
    place: Callable[[Array], tuple[Array, Array]],
    count: int,
    error: float,
    rtol: float,
) -> Orbit:
    """Leave out the terms that are too small to matter, and tabulate times for first guesses."""
    size = np.abs(cosines) + (np.abs(sines) if len(sines) else 0.0)
    large = np.flatnonzero(size > 1e-2 * rtol * mean)
    last = int(large[-1]) + 1 if len(large) else 0
    result = Orbit(
        ROUND * mean,
        count,
        error,
        place,
        cosines[:last],
        sines[:last],
        start,
        np.zeros(0),
    )
    grid = result._time(np.linspace(0.0, ROUND, 2 * last + 3))[0]
    object.__setattr__(result, "_grid", grid)
    return result
