r"""Periodic motion along a path by quadrature: time as a function of place, turned around.

Where the joint forces have a potential, the energy E gives the speed everywhere, and

.. math:: dt = \sqrt{\frac{m(s)}{2 (E - W(s))}}\, ds .

Between two turning points :math:`s = s_1 + r (1 - \cos\varphi)` makes the integrand a smooth
function of the phase :math:`\varphi`; where the mechanism runs through, s itself plays its part.
Either way it is a Fourier series whose coefficients fall off exponentially, and its integral is
exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.optimize import brentq

from regularize.dynamics.one_freedom.table import ROUND, Table, table_of
from regularize.lie.screw import Array

#: Points of the quadrature at least: below, time goes into calling and not into computing.
FEWEST = 128
#: At most: motion that needs more stays next to a place of balance, and is followed in time.
MOST = 131072

#: Path coordinates and their derivatives by the phase, at phases of shape (N,).
Place = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Orbit:
    """A periodic motion.

    Attributes:
        points: Number of points of the quadrature.
        place: Path coordinate and its derivative by the phase.
        clock: Time as a function of the phase.
        start: Phase at time zero.
    """

    points: int
    place: Place
    clock: Table
    start: float

    @property
    def period(self) -> float:
        """Time of one round, or forth and back, in seconds."""
        return float(self.clock.growth[0])

    def at(self, t: Array) -> tuple[Array, Array]:
        """Path coordinates and their rates at times in seconds, shapes (N,)."""
        elapsed = t + self.clock(np.array([self.start]))[0, 0] if self.start else t
        rounds = np.floor(elapsed / self.period)
        left = elapsed - rounds * self.period
        # A chord of the tabulated times, then Newton.
        known = np.append(self.clock.coefficients[-1, :, 0], self.period)
        phase = np.interp(left, known, np.linspace(0.0, ROUND, len(known)))
        for _ in range(40):
            step = (left - self.clock(phase)[:, 0]) / self.clock(phase, 1)[:, 0]
            phase = np.clip(phase + step, 0.0, ROUND)
            # The next step would be the square of this one.
            if np.max(np.abs(step)) < 1e-7:
                break
        s, by_phase = self.place(phase + ROUND * rounds)
        return s, by_phase / self.clock(phase, 1)[:, 0]


def orbit(
    motion: Table, energy: float, s: float, rate: float, force: float, rtol: float
) -> Orbit | None:
    """The periodic motion through a state, or None where there is none or it is not resolved.

    Args:
        motion: Mass and potential W, which may grow from round to round.
        energy: Kinetic and potential energy in J.
        s: Path coordinate at time zero.
        rate: Its rate.
        force: What the potential pushes with there, along the path.
        rtol: Relative error of times.
    """
    spare = energy - motion.coefficients[-1, :, 1]
    start = 0.0
    if motion.growth[1] == 0.0 and rate != 0.0 and spare.min() > 0.0:
        sense = float(np.sign(rate))

        def place(phase: Array) -> tuple[Array, Array]:
            return s + sense * phase, np.full(len(phase), sense)
    else:
        ends = _turning_points(motion, energy, s, rate, force, spare)
        if ends is None or not ends[0] < ends[1]:
            return None
        first, radius = float(ends[0]), 0.5 * float(ends[1] - ends[0])

        def place(phase: Array) -> tuple[Array, Array]:
            return first + 2.0 * radius * np.sin(0.5 * phase) ** 2, radius * np.sin(phase)

        part = min(max((s - first) / (2.0 * radius), 0.0), 1.0)
        start = 2.0 * math.asin(math.sqrt(part))
        start = start if rate >= 0.0 else ROUND - start
    return _resolved(motion, energy, place, start, rtol)


def _resolved(
    motion: Table, energy: float, place: Place, start: float, rtol: float
) -> Orbit | None:
    """Time along a way, from as many points as it needs, or None where that is too many."""
    count = FEWEST
    while count <= MOST:
        # Between the turning points, where speed is zero and time by place has no limit.
        phase = (np.arange(count, dtype=np.float64) + 0.5) * (ROUND / count)
        s, by_phase = place(phase)
        mass, potential = motion(s).T
        spare = energy - potential
        if not spare.min() > 0.0:
            return None
        terms = np.fft.rfft(np.abs(by_phase) * np.sqrt(0.5 * mass / spare)) / count
        waves = np.arange(len(terms))
        mean = terms[0].real
        if np.max(np.abs(terms[(3 * len(terms)) // 4 :])) < rtol * mean:
            last = int(np.flatnonzero(np.abs(terms) > 5e-3 * rtol * mean)[-1])
            kept = max(last + 2, FEWEST // 16)
            series = np.zeros(kept, dtype=np.complex128)
            known = slice(1, last + 1)
            shift = np.exp(-1j * waves[known] * phase[0])
            series[known] = terms[known] * shift / (1j * waves[known])
            samples = np.fft.irfft(series, n=2 * kept - 2) * (2 * kept - 2)
            clock = table_of((samples - samples[0])[:, None], np.array([ROUND * float(mean)]))
            return Orbit(count, place, clock, start)
        count *= 2
    return None


def _turning_points(
    motion: Table, energy: float, s: float, rate: float, force: float, spare: Array
) -> list[float] | None:
    """Where the energy is used up on either side, or None where it is not."""
    count = len(spare)
    h = ROUND / count
    first = int(np.floor(s / h))
    growth = float(motion.growth[1])
    ends = [s, s]
    # At rest, the state itself is one of the two. Two rounds are enough: a potential that grows
    # from round to round only ends the motion on one side later.
    for side, step in enumerate((-1, 1)):
        if rate == 0.0 and force * step <= 0.0:
            continue
        numbers = first + (step + 1) // 2 + step * np.arange(2 * count)
        if rate == 0.0 and abs(float(numbers[0]) * h - s) < 1e-6 * h:
            # That is where the motion begins; rounding decides what is left of its energy.
            numbers = numbers[1:]
        used_up = spare[numbers % count] - growth * (numbers // count) <= 0.0
        if not used_up.any():
            return None
        last = int(numbers[np.argmax(used_up)])
        ends[side] = _root(motion, energy, last - (step > 0), s, outside=last * h)
    return ends


def _root(motion: Table, energy: float, piece: int, s: float, outside: float) -> float:
    """Where the potential takes a value.

    Args:
        motion: Mass and potential.
        energy: The value.
        piece: Number of the piece of the table.
        s: A place where the potential is below the value.
        outside: The end of the piece where it is not.
    """
    count = motion.coefficients.shape[1]
    h = ROUND / count
    begin = float(piece * h)
    powers = motion.coefficients[:, piece % count, 1].tolist()
    powers[-1] += float(motion.growth[1]) * (piece // count) - energy

    def excess(x: float) -> float:
        return float(reduce(lambda value, power: value * x + power, powers, 0.0))

    end = 0.0 if outside < begin + 0.5 * h else h
    inside = s - begin if 0.0 < s - begin < h else h - end
    if not excess(inside) < 0.0 < excess(end):
        # Rounding hides what energy is left, or how much is missing.
        return begin + (end if excess(inside) < 0.0 else inside)
    return begin + float(brentq(excess, inside, end, xtol=1e-16))
