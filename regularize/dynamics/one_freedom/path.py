"""The path of a mechanism with one freedom: computed once, it makes any simulation quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import LowLevelCallable

from regularize.arguments import checked_but_states
from regularize.dynamics.inputs import Actuation, JointForces, check_numbers
from regularize.dynamics.one_freedom.functions import PathFunctions
from regularize.dynamics.one_freedom.motion import PathMotion
from regularize.dynamics.simulation import Simulation, recorded_times
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.model.short_repr import ShortRepr


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Path(ShortRepr, PathFunctions):
    """All motions that a mechanism with one freedom can make, as functions of one coordinate.

    The path coordinate s is zero at the reference configuration and grows by 2 pi per round.

    Attributes:
        turns: Change of every joint coordinate per round, shape (n,).
        error: Largest error of the tables at points that they were not made from: distance from
            the curve and direction, lengths scaled, and relative error of the mass.
        samples: Number of configurations that the tables were made from.
        findings: What should be known about the model.
    """

    turns: Array
    error: float
    samples: int
    findings: tuple[Diagnostic, ...]

    @checked_but_states
    def simulate(
        self,
        duration: float,
        *,
        torques: Mapping[str, Actuation] | None = None,
        forces: JointForces | LowLevelCallable | None = None,
        q: Array | Mapping[str, float] | None = None,
        v: Array | None = None,
        rates: Mapping[str, float] | None = None,
        gravity: Array | None = None,
        times: Array | None = None,
        rtol: float = 1e-9,
        max_step: float = np.inf,
        slip: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Simulation:
        """Let the mechanism move.

        Where gravity and constant joint forces are all there is and the motion is periodic, time
        follows from an exact quadrature; otherwise the equation of motion is solved in windows.

        Args:
            duration: Length of the simulation in seconds.
            torques: Force or torque of joints by name, those of the cuts included, constant or
                over time.
            forces: Further joint forces by time, configuration and velocity of ``robot``: springs,
                dampers, controllers; shape (nv,).
            q: Configuration of ``robot`` to begin with, shape (nq,), or some joint coordinates by
                name; by default the reference.
            v: Velocity of ``robot`` to begin with, shape (nv,); by default rest.
            rates: Joint rates to begin with, by name, in place of ``v``.
            gravity: Acceleration of free fall in m/s², shape (3,); by default the model's.
            times: Times at which the motion is recorded, increasing, in seconds; by default 100 per
                second.
            rtol: Relative error of times, or of the rate per window.
            max_step: Longest window in seconds, for forces that come and go in between.
            slip: Rate in rad/s and m/s below which dry friction falls off; by default 1e-3.
            progress: Called now and then with the fraction done.

        Raises:
            ModelError: A number makes no sense, a name or a shape does not fit the model, or the
                path does not lead through the state to begin with.
            StepTooSmall: The motion cannot be continued.
        """
        check_numbers(duration, rtol, torques, rates, max_step=max_step, slip=slip)
        times = recorded_times(times, duration)
        motion = PathMotion(self, torques or {}, forces, gravity, slip)
        s, rate = motion.state(q, v, rates)
        travel = motion.travel(s, rate, times, rtol, max_step, progress)
        return motion.simulation(s, times, travel, self.findings)
