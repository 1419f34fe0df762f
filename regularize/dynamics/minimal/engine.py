"""Integration in independent coordinates, which are chosen anew whenever they go bad.

Where two motions cross, or come so near to each other that no choice of coordinates tells them
apart, all coordinates are integrated until independent ones can be told again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from regularize.dynamics.all_coordinates import AllCoordinates
from regularize.dynamics.inputs import JointForces
from regularize.dynamics.integrator import Integrator
from regularize.dynamics.loads import Loads
from regularize.dynamics.minimal.dynamics import MinimalDynamics
from regularize.dynamics.minimal.equations import MinimalCoordinates
from regularize.dynamics.minimal.pose import GOOD, Pose
from regularize.dynamics.recording import Counters, Sample
from regularize.errors import (
    ClosureLost,
    ModelError,
    NoInertia,
    RegularizeError,
    SingularConfiguration,
)
from regularize.lie.screw import Array

#: The methods of ``scipy.integrate.solve_ivp`` by name.
METHODS: dict[Any, Any] = {
    "RK23": RK23,
    "RK45": RK45,
    "DOP853": DOP853,
    "Radau": Radau,
    "BDF": BDF,
    "LSODA": LSODA,
}
#: Those that shorten a step at which the loops do not close.
EXPLICIT = ("RK23", "RK45", "DOP853")
#: Part of the usual length below which a step is short: a singularity is ahead.
SHORT = 1e-5
#: Short steps in a row that are borne.
PATIENCE = 30
#: Steps in all coordinates after which independent ones have to be good enough again.
STEPS = 1000

_STOPPED = "the integration stopped at {:.6g} s: {}"


class IntegrationFailed(RegularizeError):
    """The integrator stopped before the end."""


@dataclass(frozen=True)
class Passage:
    """A singular configuration on the way.

    Attributes:
        time: When it had been passed, in seconds.
        decided: Whether the way through it is the only smooth one on which the loops are closed.
            Otherwise another motion comes so near that rounding and the integrator's tolerance
            decided which one it was.
    """

    time: float
    decided: bool


class MinimalEngine:
    """A motion in independent coordinates, step by step.

    Args:
        dynamics: The equations of motion; the reference is where the motion begins.
        forces: Joint forces, if there are any.
        velocity: To begin with, shape (nv,).
        time: When it begins, in seconds.
        method: Any method of ``scipy.integrate.solve_ivp``, by name or as a class.
        tolerances: ``rtol`` and ``atol`` of the method.
        degradation: New coordinates are chosen when the condition number has grown by this factor.
        options: Further options of the method.

    Attributes:
        counters: What it has cost so far.
        partitions: Times at which independent coordinates were chosen, and their names.
        passages: Singular configurations passed.
    """

    def __init__(
        self,
        dynamics: MinimalDynamics,
        forces: JointForces | None,
        velocity: Array,
        time: float,
        method: Any,
        tolerances: dict[str, float],
        degradation: float,
        options: dict[str, Any],
    ) -> None:
        """Stand at the beginning."""
        self._forces, self._tolerances = forces, tolerances
        self._method = METHODS.get(method, method)
        self._explicit, self._options = method in EXPLICIT, options
        self._degradation = degradation
        self._usual, self._short = 0.0, 0
        self._time = time
        self.counters = Counters()
        self.partitions: list[tuple[float, tuple[str, ...]]] = []
        self.passages: list[Passage] = []
        self._choose(dynamics, dynamics.reference, velocity, 0.0)

    def _choose(self, dynamics: MinimalDynamics, q: Array, velocity: Array, work: float) -> None:
        """Go on with other coordinates."""
        self.partitions.append((self._time, dynamics.independent))
        self._begin(dynamics, q, velocity, work)
        self._limit = self._bad = self._degradation * self._pose.condition

    def _begin(self, dynamics: MinimalDynamics, q: Array, velocity: Array, work: float) -> None:
        """Go on with displacements from another reference."""
        self._equations = MinimalCoordinates(dynamics, self._forces, explicit=self._explicit)
        self._state = self._equations.state(q, velocity, work)
        self._pose, self._velocity, _ = self._equations.accept(self._time, self._state)
        self._solver: Any = None
        self._across: Integrator | None = None
        self._failed: RegularizeError | None = None

    @property
    def end(self) -> float:
        """End of the step made last, in seconds."""
        if self._across is not None:
            return self._across.end
        return self._time if self._solver is None else float(self._solver.t)

    def step(self, until: float, sampled: float = 0.0) -> None:
        """Make one step.

        Raises:
            ClosureLost: The mechanism is driven against a limit of its motion.
            NoInertia: The mechanism can move without moving any mass.
            IntegrationFailed: The method gave up.
        """
        self.counters.steps += 1
        if self._across is None:
            failed = self._stepped(until)
            while failed is not None and self._better_chosen(failed):
                failed = self._stepped(until)
            if failed is None:
                return
            self._failed = failed
            dynamics = self._equations.dynamics
            robot = dynamics.robot
            equations = AllCoordinates(robot, Loads(robot, self._equations.forces, dynamics.slip))
            self._across = Integrator(
                equations,
                rtol=self._tolerances["rtol"],
                atol=self._tolerances["atol"],
                time=self._time,
                q=self._pose.q,
                v=self._velocity,
                work=self._equations.work(self._state),
            )
        self._until = until
        try:
            self._across.step(until)
        except (RegularizeError, np.linalg.LinAlgError) as error:
            raise (self._failed or error) from error

    def _stepped(self, until: float) -> RegularizeError | None:
        """Why a step in independent coordinates cannot be made; None where it has been made."""
        try:
            if self._solver is None:
                self._solver = self._method(
                    self._equations.rate,
                    self._time,
                    self._state,
                    until,
                    **self._tolerances,
                    **self._options,
                )
            before = self._solver.nfev
            message = self._solver.step()
            self.counters.evaluations += self._solver.nfev - before
        except (ClosureLost, NoInertia) as lost:
            return lost
        t = float(self._solver.t)
        if self._solver.status == "failed":
            return self._equations.lost or IntegrationFailed(_STOPPED.format(t, message))
        if self._stalls():
            return IntegrationFailed(_STOPPED.format(t, "it makes no headway"))
        self._between: Any = None
        return None

    def _stalls(self) -> bool:
        """Whether steps have become hopelessly short near a singular configuration."""
        length = float(self._solver.t - self._solver.t_old)
        self._usual = max(length, 0.95 * self._usual)
        short = length < SHORT * self._usual and self._pose.condition > GOOD
        self._short = self._short + 1 if short else 0
        return self._short > PATIENCE

    def _better_chosen(self, failed: RegularizeError) -> bool:
        """Whether other coordinates do where these come to their end; raises what they do not."""
        driven = bool(self._equations.driven)
        if driven or self._pose.condition < GOOD or isinstance(failed, NoInertia):
            raise failed
        better = _better(self._equations.dynamics, self._pose)
        if better is None:
            return False
        self._choose(better, self._pose.q, self._velocity, self._equations.work(self._state))
        return True

    def sample(self, t: float) -> Sample:
        """The motion at a time within the step made last."""
        if self._across is not None:
            there = self._across.sample(t)
            q, v, forces = there.q, there.v, self._equations.forces
            dynamics = self._equations.dynamics
            tau = Loads(dynamics.robot, forces, dynamics.slip)(t, q, v)
            a = dynamics.robot.forward_dynamics(q, v, tau)
            return Sample(t, q, v, there.work, np.zeros(0), a)
        state = self._state
        if self._solver is not None and t < self._solver.t:
            if self._between is None:
                self._between = self._solver.dense_output()
            state = self._between(t)
        elif self._solver is not None:
            state = self._solver.y
        if not np.all(np.isfinite(state)):
            # Between its stages the step led to where the loops do not close.
            raise self._equations.lost or IntegrationFailed(_STOPPED.format(t, "no number"))
        return self._equations.sample(t, state)

    def advance(self) -> None:
        """Go to the end of the step made last, and change the coordinates if they are bad there."""
        if self._across is not None:
            self._advance_across(self._across)
            return
        self._time, self._state = float(self._solver.t), self._solver.y
        self._pose, self._velocity, decided = self._equations.accept(self._time, self._state)
        if decided is not None:
            self.passages.append(Passage(self._time, decided))
        if self._pose.bend is None:
            self._change()

    def _advance_across(self, across: Integrator) -> None:
        """Go on in independent coordinates as soon as there are good ones."""
        across.advance()
        beyond = _independent(self._equations.dynamics, across.q)
        if beyond is None and across.time < self._until:
            if across.counters.steps > STEPS and self._failed is not None:
                raise self._failed
            return
        self._time = across.time
        self.passages.append(Passage(self._time, decided=False))
        if beyond is not None:
            self._choose(beyond, beyond.reference, across.v, across.work)

    def _change(self) -> None:
        """Other coordinates or another reference, where these have become bad."""
        dynamics, pose, better = self._equations.dynamics, self._pose, None
        if pose.condition <= self._bad:
            self._limit = self._bad
        elif pose.condition > self._limit:
            better = _better(dynamics, pose)
            if better is None:
                # Close to a singularity no choice is good: wait until it is much worse again.
                self._limit *= self._degradation
        work = self._equations.work(self._state)
        if better is not None:
            self._choose(better, pose.q, self._velocity, work)
        elif self._equations.far:
            self._begin(dynamics.at(pose.q), pose.q, self._velocity, work)


def _better(dynamics: MinimalDynamics, pose: Pose) -> MinimalDynamics | None:
    """Another choice of coordinates that is clearly better conditioned, if there is one."""
    try:
        better = dynamics.released(pose.q)
        return better if better.pose(pose.q).condition < 0.7 * pose.condition else None
    except (SingularConfiguration, ModelError):
        return None


def _independent(dynamics: MinimalDynamics, q: Array) -> MinimalDynamics | None:
    """Independent coordinates at a configuration, where some are good enough."""
    try:
        found = dynamics.released(q)
        return found if found.pose(q).condition <= GOOD else None
    except (SingularConfiguration, ClosureLost, NoInertia):
        return None
