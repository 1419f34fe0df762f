r"""An error-controlled Runge-Kutta method on the manifold of closed loops.

The state is a configuration and a velocity. Within a step the configuration is written as a tangent
step from its beginning, :math:`q = q_n \oplus \theta`, so that rotations are integrated as such;
after each accepted step both are projected back onto the loops, which keeps the order of the method
(Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.4). Coefficients are those of the
8(5,3) pair of Dormand and Prince (Hairer, Nørsett, Wanner, Solving ODEs I).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regularize.dynamics.simulation import dormand_prince as method
from regularize.dynamics.simulation.all_coordinates import CORRECTED, AllCoordinates
from regularize.dynamics.simulation.recording import NOTHING, ROUNDING, Counters, Sample, explained
from regularize.errors import NoInertia, RegularizeError
from regularize.lie.arrays import Array

STAGES = len(method.B)

#: Steps in a row that may find no way past it where motions are prescribed.
PATIENCE = 3
#: Lengths that are tried to pass it, in usual steps.
LENGTHS = (1.5, 1.35, 1.2, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
#: Errors of the rows with which no step ends.
OPEN = 1e-9
#: Beyond these changes of coordinates in one step nothing is a motion.
ASTRAY = 10.0


class StepTooSmall(RegularizeError):
    """The step size has shrunk to nothing.

    Attributes:
        time: Where the integration stopped, in seconds.
    """

    def __init__(self, time: float) -> None:
        self.time = time
        super().__init__(
            f"the step size vanishes at {time:.6g} s: the motion runs into a dead centre, or "
            "forces or the rates of a drive are discontinuous; loosen rtol, or end the simulation "
            "before that time"
        )


@dataclass(eq=False, repr=False)
class Integrator:
    """Integrates a robot's motion.

    Attributes:
        equations: The equations of motion.
        rtol: Relative error per step.
        atol: Absolute error per step, in radians, metres and their rates.
        time: Where it stands, in seconds.
        q: Configuration there, shape (nq,).
        v: Velocity there, shape (nv,).
        work: Work of the joint forces so far, in J.
        max_step: Largest step in seconds.
        conserve: Whether every step ends on the energy balance as well.
        total: Energy less the work where the motion begins, in J.
        counters: What it has cost so far.
    """

    equations: AllCoordinates
    rtol: float
    atol: float
    time: float
    q: Array
    v: Array
    work: float = 0.0
    max_step: float = np.inf
    conserve: bool = False
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self._space = self.equations.robot.tree.space
        self._flat, self._n = self._space.flat, self.equations.robot.nv
        self._slopes: Array = np.zeros((STAGES + 1 + len(method.C_EXTRA), 2 * self._n + 1))
        self._arrive()
        self._compiled = method.CompiledSteps.of(
            self.equations,
            rtol=self.rtol,
            atol=self.atol,
            max_step=self.max_step,
            conserve=self.conserve,
        )
        self._blocked = 0
        self.total = self.equations.robot.energy(self.q, self.v) - self.work
        self._h = self._usual = self._first_step()
        self._interval = (self.time, 0.0, self.q)
        self._values: Array = np.zeros((2, 2 * self._n + 1))
        self._end = (self.time, self.q, self.v, self.work)
        self._dense: Array | None = None
        self._last: method.LastStep | None = None

    @property
    def name(self) -> str:
        """What the equations are called in results."""
        return self.equations.name

    @property
    def explained(self) -> float:
        """Part of the energy that errors explain, which add up where they are not corrected."""
        corrected = self.conserve and not len(self.equations.drives)
        return explained(self.rtol, 0 if corrected else self.counters.steps)

    def ends(self, times: Array) -> Array:
        """The times themselves: the motion is known between steps."""
        return times

    def _slope(self, stage: int, t: float, y: Array, v: Array) -> None:
        """Write the derivative of (tangent step, velocity, work) of a stage."""
        n, slope = self._n, self._slopes[stage]
        q = self._at(y[:n])
        if self.equations.careful:
            q, v = self.equations.project(t, q, v)
        a, power = self.equations.acceleration(t, q, v)
        self.counters.evaluations += 1
        slope[:n] = v if self._flat else self._step_rate(q, v)
        slope[n:-1], slope[-1] = a, power

    def _at(self, step: Array) -> Array:
        return self._space.integrate(self.q, step)

    def _step_rate(self, q: Array, v: Array) -> Array:
        """Rate of the tangent step from the step's beginning at a velocity."""
        step = self._space.difference(self.q, q)
        return np.asarray(np.linalg.solve(self._space.velocity_by_step(step), v))

    def _first_step(self) -> float:
        """The rule of Hairer, Nørsett, Wanner, II.4, without its extra evaluation."""
        slope = self._slopes[0, :-1]
        scale = self.atol + self.rtol * np.concatenate([np.zeros(self._n), np.abs(self.v)])
        size = float(np.sqrt(np.mean((slope / scale) ** 2)))
        return float(min(self.max_step, (1.0 / max(size, 1e-10)) ** (1 / 8), 0.01))

    def _arrive(self) -> None:
        """Look at the rows where a step begins, and evaluate its first stage."""
        if self.equations.look(self.time, self.q, self.v):
            self.counters.crossings.append(self.time)
        self._slope(0, self.time, np.zeros(2 * self._n + 1), self.v)
        self._seen = self.q

    def step(self, until: float, sampled: float = 0.0) -> None:
        """Make one accepted step that does not pass a time.

        Where the kernel makes them, as many as end before another time, and one more.

        Raises:
            StepTooSmall: No step is small enough.
        """
        compiled = self._compiled
        if compiled is not None and not compiled.stuck:
            begin, lengths = (self.time, self.q, self.v, self.work), (self._h, self._usual)
            last = compiled.go(begin, lengths, (until, sampled), self.counters)
            if last is not None:
                self._take(last)
                return
        if self._seen is not self.q:
            self._arrive()
        self._step(until)
        if compiled is not None:
            compiled.stuck, compiled.careful = False, self.equations.careful

    def _take(self, last: method.LastStep) -> None:
        """The last step of the kernel as if it had been made here."""
        self._h, self._usual = last.length, last.usual
        self._interval = (last.began, last.made, last.q_began)
        self._values = last.values.reshape(2, -1)
        self._slopes[:STAGES] = last.slopes.reshape(STAGES, -1)
        self._end = (last.time, last.q, last.v, last.work)
        self.time, self.q = last.began, last.q_began
        self.v, self.work = self._values[0, self._n : -1], float(self._values[0, -1])
        self._dense, self._last = None, last

    def _step(self, until: float) -> None:
        """Make one accepted step here."""
        self._last = None
        left = until - self.time
        # Two equal steps rather than a full one and a tiny rest.
        wanted = left if left <= self._h else min(self._h, max(0.5 * left, 1e-3 * self._h))
        h, leapt, bearable = wanted, False, explained(self.rtol)
        while True:
            if h <= 1e-13 * max(1.0, abs(self.time)) and h < left:
                raise StepTooSmall(self.time)
            y, norm = self._attempt(h)
            ended = self._ended(h, y, bearable) if norm < 1.0 else None
            if ended is not None:
                break
            self.counters.rejected += 1
            h *= max(0.2, 0.9 * norm ** (-1 / 8)) if 1.0 <= norm < np.inf else 0.2
            if h < method.LEAP * self._usual and not leapt:
                leapt = True
                best = self._leap(self._usual, left)
                if best is not None:
                    h, y, norm, ended = best
                    break
                # A driven mechanism that finds no way over is driven against a limit.
                self._blocked += 1
                if self._blocked > PATIENCE and len(self.equations.drives):
                    raise StepTooSmall(self.time)
        self._blocked = self._blocked if leapt else 0
        start = self._start()
        self._usual = max(h, 0.95 * self._usual)
        factor = min(6.0, 0.9 * norm ** (-1 / 8)) if norm > 0 else 6.0
        self._interval, self._values = (self.time, h, self.q), np.array([start, y])
        self._h = min(self.max_step, max(h * factor, self._h if left < self._h else 0.0))
        q, v = ended
        if self.conserve:
            v = self._balanced(q, v, float(y[-1]))
        self.counters.steps += 1
        self._end = (self.time + h, q, v, float(y[-1]))
        self._dense = None

    def _start(self) -> Array:
        return np.concatenate([np.zeros(self._n), self.v, [self.work]])

    def _attempt(self, h: float) -> tuple[Array, float]:
        """End of a step of length h, and its error relative to the tolerance."""
        n, K = self._n, self._slopes
        start = y = self._start()
        with np.errstate(over="ignore", invalid="ignore"):  # a step that goes much too far
            for s in range(1, STAGES):
                y = start + h * (method.A[s, :s] @ K[:s])
                try:
                    self._slope(s, self.time + method.C[s] * h, y, y[n:-1])
                except NoInertia:
                    if np.isfinite(y).all() and np.abs(y[:n]).max() < ASTRAY:
                        raise
                    return y, np.inf  # where numbers are none any more, masses are none either
            y = start + h * (method.B @ K[:STAGES])
            norm = self._error(h, start, y)
        if len(self.equations.drives) and np.isfinite(norm):
            # Integrated like the others, driven coordinates are where they have to be, unless their
            # rates jump.
            away = self.equations.astray(self.time + h, self._at(y[:n]), y[n:-1])
            norm = norm if away <= method.TOLERATED * (self.atol + self.rtol) else np.inf
        return y, norm if np.isfinite(norm) else np.inf

    def _ended(self, h: float, y: Array, bearable: float) -> tuple[Array, Array] | None:
        """Configuration and velocity at the end of a step; None where that is no motion.

        There numbers are none, the loops stay open, or energy comes or goes that no error within
        the tolerance explains: more than a part of the kinetic energy.
        """
        n, robot = self._n, self.equations.robot
        with np.errstate(over="ignore", invalid="ignore"):
            q, v = self.equations.project(self.time + h, self._at(y[:n]), y[n:-1])
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return None
        if robot.rows and np.max(np.abs(robot.residual(q))) > max(OPEN, robot.tolerances.closed):
            return None
        (before, stored), (after, gained) = (
            robot.energies(*at) for at in ((self.q, self.v), (q, v))
        )
        missing = after + gained - before - stored - (float(y[-1]) - self.work)
        rounding = ROUNDING * max(abs(stored), abs(gained), abs(self.total)) + NOTHING
        return (q, v) if abs(missing) <= rounding + bearable * max(before, after) else None

    def _leap(
        self, h: float, left: float
    ) -> tuple[float, Array, float, tuple[Array, Array]] | None:
        """Step over a configuration in which the rows depend on each other.

        The motion is smooth there but the acceleration cannot be computed close by, so steps of
        several lengths are tried, and of those that end on closed loops with the energy that they
        should have, the one whose stages keep clear of it best is taken.
        """
        lengths = [factor * h for factor in LENGTHS if factor * h <= left]
        self.equations.leaping(True)
        tried = [(*self._attempt(length), length) for length in lengths]
        best, bearable = None, min(CORRECTED, method.TOLERATED * self.rtol)
        for y, norm, length in sorted(tried, key=lambda attempt: attempt[1]):
            ended = self._ended(length, y, bearable) if norm < method.TOLERATED else None
            if ended is not None:
                # The stages are those of the step that is taken.
                best = length, self._attempt(length)[0], min(norm, 1.0), ended
                self.counters.leaps.append(self.time)
                break
        self.equations.leaping(False)
        return best

    def _error(self, h: float, start: Array, y: Array) -> float:
        """Error estimate relative to the tolerance."""
        n = self._n
        # The work counts where drives do it: it is then all that knows how hard they turn. So it
        # does where joints dissipate energy, which every step is measured by.
        lossy = self.equations.robot.passive.joints.dissipates
        end = None if len(self.equations.drives) or lossy else -1
        scale = self.atol + self.rtol * np.maximum(np.abs(start), np.abs(y))[:end]
        scale[:n] = self.atol + self.rtol
        K = self._slopes[:STAGES, :end]
        fifth = (method.E5 @ K) / scale
        third = (method.E3 @ K) / scale
        fifth_norm, third_norm = float(fifth @ fifth), float(third @ third)
        if fifth_norm == 0.0 and third_norm == 0.0:
            return 0.0
        if not np.isfinite(fifth_norm + third_norm):
            return np.inf
        denominator = (fifth_norm + 0.01 * third_norm) * len(scale)
        return float(abs(h) * fifth_norm / np.sqrt(denominator))

    def _balanced(self, q: Array, v: Array, work: float) -> Array:
        """The velocity at which the energy balance holds, where little enough is missing."""
        v, missing = self.equations.balanced(
            q, v, self.total + work, min(CORRECTED, method.TOLERATED * self.rtol)
        )
        self.counters.correction += abs(missing)
        return v

    def advance(self) -> None:
        """Go to the end of the step made last."""
        self.time, self.q, self.v, self.work = self._end

    @property
    def end(self) -> float:
        """End of the step made last, in seconds."""
        return self._end[0]

    def sample(self, t: float) -> Sample:
        """The motion within the step made last, by its dense output."""
        start_time, h, q_start = self._interval
        if t == self._end[0]:
            _, q, v, work = self._end
            return Sample(t, q, v, work, self.equations.drive_forces(t, q, v))
        if self._compiled is not None and self._last is not None:
            found = self._compiled.sample(self._last, t, self.counters)
            if found is not None:
                return found
        if self._dense is None:
            if self._seen is not q_start:
                self.equations.look(start_time, q_start, self.v)
            self._dense = self._polynomial(h)
        x = (t - start_time) / h
        y = np.zeros(2 * self._n + 1)
        for i, coefficients in enumerate(self._dense[::-1]):
            y = (y + coefficients) * (x if i % 2 == 0 else 1 - x)
        y = y + self._values[0]
        q = self._space.integrate(q_start, y[: self._n])
        q, v = self.equations.project(t, q, y[self._n : -1])
        if self.conserve:
            v = self._balanced(q, v, float(y[-1]))
        return Sample(t, q, v, float(y[-1]), self.equations.drive_forces(t, q, v))

    def _polynomial(self, h: float) -> Array:
        """Coefficients of the dense output (Hairer, Nørsett, Wanner, II.6)."""
        n, K = self._n, self._slopes
        start, end = self._values
        self._slope(STAGES, self.time + h, end, end[n:-1])
        further = zip(method.A_EXTRA, method.C_EXTRA, strict=True)
        for s, (a, c) in enumerate(further, start=STAGES + 1):
            y = start + h * (a[:s] @ K[:s])
            self._slope(s, self.time + c * h, y, y[n:-1])
        change = end - start
        F = np.zeros((7, 2 * n + 1))
        F[0] = change
        F[1] = h * K[0] - change
        F[2] = 2 * change - h * (K[STAGES] + K[0])
        F[3:] = h * (method.D @ K)
        return F
