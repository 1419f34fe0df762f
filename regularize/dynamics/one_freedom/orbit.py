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
from numpy.typing import NDArray
from scipy.fft import dct

from regularize.dynamics.one_freedom.table import ROUND, Table, table_of
from regularize.lie.screw import Array

#: Points of the quadrature, at least and at most.
FEWEST, MOST = 32, 65536
#: Newton steps that turn time around, and that find a turning point.
STEPS = 40


@dataclass(frozen=True, eq=False)
class Orbit:
    """A periodic motion.

    Attributes:
        points: Number of points of the quadrature.
        error: Size of its last coefficients relative to the first.
        place: Path coordinate and its derivative by the phase, at phases of shape (N,).
    """

    points: int
    error: float
    place: Callable[[Array], tuple[Array, Array]]
    _clock: Table
    _start: float

    @property
    def period(self) -> float:
        """Time of one round, or forth and back, in seconds."""
        return float(self._clock.growth[0])

    def at(self, t: Array) -> tuple[Array, Array]:
        """Path coordinates and their rates at times in seconds, shapes (N,)."""
        clock = self._clock
        elapsed = t + clock(np.array([self._start]))[0, 0] if self._start else t
        rounds = np.floor(elapsed / self.period)
        left = elapsed - rounds * self.period
        # A chord of the tabulated times, then Newton.
        known = np.append(clock.coefficients[-1, :, 0], self.period)
        phase = np.interp(left, known, np.append(clock.ends, ROUND))
        for _ in range(STEPS):
            step = (left - clock(phase)[:, 0]) / clock(phase, 1)[:, 0]
            phase = np.clip(phase + step, 0.0, ROUND)
            # The next step would be the square of this one.
            if np.max(np.abs(step)) < 1e-7:
                break
        s, by_phase = self.place(phase + ROUND * rounds)
        return s, by_phase / clock(phase, 1)[:, 0]


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
    growth = float(motion.growth[1])
    if growth == 0.0 and rate != 0.0 and spare.min() > 0.0:
        return _rotation(motion, energy, s, rate, rtol)
    ends = _turning_points(motion, energy, s, rate, force, spare)
    return None if ends is None else _oscillation(motion, energy, s, rate, ends, rtol)


def _turning_points(
    motion: Table, energy: float, s: float, rate: float, force: float, spare: Array
) -> Array | None:
    """Where the energy is used up on either side, shape (2,), or None where it is not."""
    count = len(spare)
    h = ROUND / count
    first = int(np.floor(s / h))
    growth = float(motion.growth[1])
    ends = np.array([s, s])
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
        ends[side] = _root(motion, energy, last, -step, s)
    return ends


def _root(motion: Table, energy: float, end: int, inwards: int, s: float) -> float:
    """Where the potential takes the energy's value, on the piece inside an end beyond that.

    Args:
        motion: Mass and potential.
        energy: The value.
        end: Number of the piece's end at which the potential is above it.
        inwards: 1 where the piece lies above that end, -1 where below.
        s: A place where the potential is below it.
    """
    count = motion.coefficients.shape[1]
    h = ROUND / count
    piece = end if inwards > 0 else end - 1
    powers = motion.coefficients[:, piece % count, 1].tolist()
    powers[-1] += float(motion.growth[1]) * (piece // count) - energy
    outside = 0.0 if inwards > 0 else h
    inside = h - outside
    if 0.0 < s - piece * h < h:
        inside = s - piece * h
    x = outside
    for _ in range(STEPS):
        excess = slope = 0.0
        for power in powers:
            slope = slope * x + excess
            excess = excess * x + power
        if excess >= 0.0:
            outside = x
        else:
            inside = x
        trial = x - excess / slope if slope != 0.0 else inside
        if (trial - outside) * (trial - inside) > 0.0:
            trial = 0.5 * (outside + inside)
        if abs(trial - x) <= 1e-16 * ROUND:
            break
        x = trial
    return float(piece * h + x)


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
    clock = _clock(0.5 * float(terms[0]), terms[1:].astype(np.complex128), rtol)
    return Orbit(count, error, place, clock, start)


def _rotation(motion: Table, energy: float, s: float, rate: float, rtol: float) -> Orbit | None:
    sense = float(np.sign(rate))
    count = 2 * FEWEST
    while True:
        values = motion(s + sense * np.linspace(0.0, ROUND, count, endpoint=False))
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

    clock = _clock(float(terms[0].real), 2.0 * terms[1:], rtol)
    return Orbit(count, error, place, clock, 0.0)


def _clock(mean: float, terms: NDArray[np.complex128], rtol: float) -> Table:
    """Time as a function of the phase, from the series of its derivative.

    Args:
        mean: Mean of the derivative.
        terms: Complex amplitudes of the waves 1, 2, ..., shape (K,).
        rtol: Waves that are small against that are left out.
    """
    large = np.flatnonzero(np.abs(terms) > 1e-2 * rtol * mean)
    last = int(large[-1]) + 1 if len(large) else 0
    count = 2 * max(last + 1, FEWEST // 4)
    waves = np.zeros(count // 2 + 1, dtype=np.complex128)
    waves[1 : last + 1] = terms[:last] / (1j * np.arange(1, last + 1)) * (0.5 * count)
    samples = np.fft.irfft(waves, n=count)
    return table_of((samples - samples[0])[:, None], np.array([ROUND * mean]))
