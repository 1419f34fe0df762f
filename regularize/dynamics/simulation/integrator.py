r"""Error-controlled steps on the manifold of closed loops, by SciPy's DOP853 and by the kernel.

Steps are tangent steps, :math:`q = q_n \oplus \theta`, projected back onto the loops at their end,
which keeps the order (Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.4).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from regularize.dynamics.simulation.dormand_prince import (
    E3,
    E5,
    LEAP,
    TOLERATED,
    CompiledSteps,
    LastStep,
)
from regularize.dynamics.simulation.equations import CORRECTED, AllCoordinates
from regularize.dynamics.simulation.recording import NOTHING, ROUNDING, Counters, Sample, explained
from regularize.errors import NoInertia, RegularizeError
from regularize.lie.arrays import Array, Configuration, Velocity
from regularize.tolerances import TINY

#: Steps in a row that may find no way past a singular configuration where motions are prescribed.
PATIENCE = 3
#: Lengths that are tried to pass it, in usual steps.
LENGTHS = (1.5, 1.35, 1.2, 1.1, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
#: Errors of the rows with which no step ends.
OPEN = 1e-9
#: Beyond these changes of coordinates in one step nothing is a motion.
ASTRAY = 10.0
#: Largest growth of steps, as of the kernel's.
GROWTH = 6.0
#: Evaluations of one attempt at a step, and of the slope where it begins.
STAGES, FIRST = 12, 1


class StepTooSmall(RegularizeError):
    """The step size has shrunk to nothing at ``time``, in seconds."""

    def __init__(self, time: float) -> None:
        self.time = time
        super().__init__(
            f"the step size vanishes at {time:.6g} s: the motion runs into a dead centre, or "
            "forces or the rates of a drive are discontinuous; loosen rtol, or end the simulation "
            "before that time"
        )


class _Rejected(Exception):
    """The only attempt at a step that was allowed has failed."""


def _error(solver: Any) -> float:
    """Return the error of a solver's step in tolerances (Hairer, Nørsett, Wanner, II.10)."""
    scale = solver.atol + solver.rtol * np.maximum(np.abs(solver.y_old), np.abs(solver.y))
    fifth, third = (np.linalg.norm(E @ solver.K[: len(E)] / scale) for E in (E5, E3))
    norm = max(np.hypot(fifth, 0.1 * third), TINY) * np.sqrt(len(scale))
    return float(solver.step_size * fifth**2 / norm)


class Integrator:
    """Integrates a robot's motion; ``conserve`` lets every step end on the energy balance too."""

    def __init__(
        self,
        equations: AllCoordinates,
        start: Sample,
        *,
        rtol: float,
        atol: float,
        max_step: float = np.inf,
        conserve: bool = False,
    ) -> None:
        self.equations, self.rtol, self.conserve = equations, rtol, conserve
        self.name, self.counters, self._max_step = equations.name, Counters(), max_step
        self._space, self._n = equations.robot.tree.space, equations.robot.nv
        # The work counts where drives do it, as nothing else knows how hard they turn, and where
        # joints dissipate energy, by which every step is judged.
        counts = len(equations.drives) or equations.robot.passive.joints.dissipates
        errors = [atol + rtol] * self._n, [atol] * self._n, [atol if counts else np.inf]
        self._atol = np.concatenate(errors)
        self._begin = self._end = start
        self.total = equations.robot.energy(start.q, start.v) - start.work
        self._prepare(start)
        self._kernel = CompiledSteps.of(
            equations, rtol=rtol, atol=atol, max_step=max_step, conserve=conserve
        )
        self._blocked, self._budget = 0, np.inf
        self._length = self._usual = self._first_length()
        #: What has made the last step, and its dense output once that was needed.
        self._last: Any = None
        self._dense: Any = None

    @property
    def explained(self) -> float:
        """Relative energy error that tolerances explain; grows by steps without correction."""
        corrected = self.conserve and not len(self.equations.drives)
        return explained(self.rtol, 0 if corrected else self.counters.steps)

    @property
    def end(self) -> float:
        """End of the last step in seconds."""
        return self._end.time

    def ends(self, times: Array) -> Array:
        """Return the given times unchanged, since the motion is interpolated between steps."""
        return times

    def _prepare(self, begin: Sample) -> None:
        """Choose the form of the equations that suits the state in which a step begins."""
        if self.equations.prepare(begin.q, begin.v):
            self.counters.crossings.append(begin.time)
        self._seen = begin.q

    def _rates(self, begin: Sample, t: float, y: Array) -> Array:
        """Return the derivative of y: tangent step from the beginning, velocity, work."""
        if self.counters.evaluations >= self._budget:
            raise _Rejected
        self.counters.evaluations += 1
        n, space, equations = self._n, self._space, self.equations
        q, v = space.integrate(begin.q, y[:n]), y[n:-1]
        try:
            if equations.careful:
                q, v = equations.project(t, q, v)
            a, power = equations.acceleration(t, q, v)
        except NoInertia:
            if np.isfinite(y).all() and np.abs(y[:n]).max() < ASTRAY:
                raise
            # Where a step goes much too far numbers are none any more, and masses neither.
            return np.full(len(y), np.nan)
        rate = v
        if not space.flat:
            turning = space.velocity_by_step(space.difference(begin.q, q))
            rate = np.asarray(np.linalg.solve(turning, v), dtype=np.float64)
        return np.concatenate([rate, a, [power]])

    def _first_length(self) -> float:
        """Return the length of the first step by the rule of Hairer, Nørsett, Wanner, II.4."""
        n, start = self._n, self._begin
        slope = self._rates(start, start.time, self._state(start))[:-1]
        scale = self._atol[n] + self.rtol * np.concatenate([np.zeros(n), np.abs(start.v)])
        size = float(np.sqrt(np.mean((slope / scale) ** 2)))
        return float(min(self._max_step, (1.0 / max(size, 1e-10)) ** (1 / 8), 0.01))

    def _state(self, begin: Sample) -> Array:
        return np.concatenate([np.zeros(self._n), begin.v, [begin.work]])

    def step(self, until: float, sampled: float = 0.0) -> None:
        """Make one accepted step up to ``until``; compiled ones go on past ``sampled``."""
        begin = self._begin = self._end
        self._dense, kernel = None, self._kernel
        if kernel is not None and not kernel.stuck:
            last = kernel.go(begin, (self._length, self._usual), (until, sampled), self.counters)
            if last is not None:
                self._length, self._usual, self._last = last.length, last.usual, last
                self._begin, self._end = last.begin, last.end
                return
        if self._seen is not begin.q:
            self._prepare(begin)
        self._step(until)
        if kernel is not None:
            kernel.stuck, kernel.careful = False, self.equations.careful

    def _step(self, until: float) -> None:
        """Make one accepted step by SciPy."""
        begin, left = self._begin, until - self._begin.time
        # Two equal steps rather than a full one and a tiny rest.
        wanted = min(self._length, max(0.5 * left, 1e-3 * self._length))
        length = wanted = left if left <= self._length else wanted
        leapt, passed = False, None
        while True:
            solver = self._attempt(length, until)
            made = solver.t - begin.time
            end = self._ended(solver, explained(self.rtol)) if made > 0.0 else None
            self.counters.rejected += end is None
            length = 0.2 * made if end is None else made
            if length < min(LEAP * self._usual, 0.999 * wanted) and not leapt:
                leapt, passed = True, self._leap(left)
                if passed is not None:
                    solver, end = passed
                    break
                # A driven mechanism that finds no way over is driven against a limit.
                self._blocked += 1
                if self._blocked > PATIENCE and len(self.equations.drives):
                    raise StepTooSmall(begin.time)
            if end is not None:
                break
            if length <= 1e-13 * max(1.0, abs(begin.time)) and length < left:
                raise StepTooSmall(begin.time)
        made = solver.t - begin.time
        # After an attempt that failed SciPy proposes no growth, and keeps clear of what it met.
        growth = min(solver.h_abs / made, GROWTH) if passed is None else 0.9
        self._blocked = self._blocked if leapt else 0
        self._usual = max(made, 0.95 * self._usual)
        self._length = max(made * growth, self._length if left < self._length else 0.0)
        self._length = min(self._max_step, self._length)
        v = self._balanced(end.q, end.v, end.work) if self.conserve else end.v
        self.counters.steps += 1
        self._end, self._last = Sample(end.time, end.q, v, end.work), solver

    def _solver(self, length: float, until: float, slack: float = 1.0) -> Any:
        """Return SciPy's solver at the beginning of the step; ``slack`` multiplies tolerances."""
        from scipy.integrate import DOP853  # slow to load, and the kernel does without

        begin, atol = self._begin, slack * self._atol
        return DOP853(
            partial(self._rates, begin),
            begin.time,
            self._state(begin),
            until,
            first_step=min(length, until - begin.time),
            rtol=slack * self.rtol,
            atol=atol,  # type: ignore[arg-type]  # SciPy takes one for each component, too
        )

    def _attempt(self, length: float, until: float, slack: float = 1.0) -> Any:
        """Return the solver after a step of this length, or of a shorter one within tolerances."""
        with np.errstate(all="ignore"):  # a step that goes much too far
            solver = self._solver(length, until, slack)
            solver.step()
        self.counters.rejected += max(0, (solver.nfev - FIRST) // STAGES - 1)
        return solver

    def _ended(self, solver: Any, bearable: float) -> Sample | None:
        """Return the state at the end of a step; None if loops, drives or energy are off."""
        n, t, y, begin = self._n, solver.t, solver.y, self._begin
        equations, robot = self.equations, self.equations.robot
        with np.errstate(all="ignore"):
            q, v = self._space.integrate(begin.q, y[:n]), y[n:-1]
            # Driven coordinates, integrated like the others, are where they have to be, unless
            # their rates jump.
            if len(equations.drives) and not (
                equations.drive_error(t, q, v) <= TOLERATED * (self._atol[n] + self.rtol)
            ):
                return None
            q, v = equations.project(t, q, v)
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return None
        if robot.rows and np.max(np.abs(robot.residual(q))) > max(OPEN, robot.tolerances.closed):
            return None
        (before, stored), (after, gained) = robot.energies(begin.q, begin.v), robot.energies(q, v)
        missing = after + gained - before - stored - (float(y[-1]) - begin.work)
        rounding = ROUNDING * max(abs(stored), abs(gained), abs(self.total)) + NOTHING
        moves = abs(missing) <= rounding + bearable * max(before, after)
        return Sample(t, q, v, float(y[-1])) if moves else None

    def _leap(self, left: float) -> tuple[Any, Sample] | None:
        """Step across a configuration in which the rows depend on each other.

        Accelerations fail close by, so several lengths are tried, and of those that end on closed
        loops with the right energy the one with the smallest error is taken.
        """
        begin, solvers = self._begin, []
        self.equations.set_leaping(True)
        for length in (factor * self._usual for factor in LENGTHS):
            self._budget = self.counters.evaluations + FIRST + STAGES
            try:
                if length <= left:
                    solvers.append(self._attempt(length, begin.time + length, TOLERATED))
            except _Rejected:
                continue
        self._budget = np.inf
        bearable = min(CORRECTED, TOLERATED * self.rtol)
        solvers.sort(key=_error)
        ends = ((solver, self._ended(solver, bearable)) for solver in solvers)
        passed = next(((solver, end) for solver, end in ends if end is not None), None)
        if passed is not None and TOLERATED * _error(passed[0]) > 1.0:
            self.counters.leaps.append(begin.time)
        self.equations.set_leaping(False)
        return passed

    def _balanced(self, q: Configuration, v: Velocity, work: float) -> Velocity:
        """Return the velocity corrected so that the energy balance holds, if little is missing."""
        most = min(CORRECTED, TOLERATED * self.rtol)
        v, missing = self.equations.balanced(q, v, self.total + work, most)
        self.counters.correction += abs(missing)
        return v

    def sample(self, t: float) -> Sample:
        """Return the motion within the last step, by its dense output."""
        end = self._end
        if t == end.time:
            forces = self.equations.drive_forces(t, end.q, end.v)
            return Sample(t, end.q, end.v, end.work, forces)
        if self._kernel is not None and isinstance(self._last, LastStep):
            sample = self._kernel.sample(self._last, t, self.counters)
            if sample is not None:
                return sample
            self._prepare(self._begin)
            self._last = self._solver(self._last.made, end.time)
        while self._last.t < t:  # where SciPy goes over a step of the kernel
            self._last.step()
            self._dense = None
        if self._dense is None:
            self._dense = self._last.dense_output()
        y = self._dense(t)
        q = self._space.integrate(self._begin.q, y[: self._n])
        q, v = self.equations.project(t, q, y[self._n : -1])
        if self.conserve:
            v = self._balanced(q, v, float(y[-1]))
        return Sample(t, q, v, float(y[-1]), self.equations.drive_forces(t, q, v))
