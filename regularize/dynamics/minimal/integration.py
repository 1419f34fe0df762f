"""Integration in independent coordinates, which are chosen anew whenever they go bad."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from regularize.dynamics.minimal.dynamics import MinimalDynamics, NoInertia
from regularize.dynamics.minimal.kinematics import ClosureLost, SingularConfiguration
from regularize.dynamics.minimal.passage import GOOD, Passage, through
from regularize.dynamics.minimal.pose import Pose
from regularize.dynamics.minimal.segment import Row, Segment, Torque
from regularize.errors import ModelError, RegularizeError
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
#: Part of the usual length below which a step is short, and how many of them in a row are borne.
SHORT, PATIENCE = 1e-5, 30

_STOPPED = "the integration stopped at {:.6g} s: {}"


class IntegrationFailed(RegularizeError):
    """The integrator stopped before the end."""


class Integration:
    """A motion from its beginning to as far as it has been integrated.

    Args:
        dynamics: The equations of motion; the reference is where the motion begins.
        torque: Joint forces, or None.
        velocity: To begin with, shape (nv,).
        times: Times at which the motion is reported, in seconds.
        method: Any method of ``scipy.integrate.solve_ivp``, by name or as a class.
        tolerances: ``rtol`` and ``atol`` of the method.
        degradation: New coordinates are chosen when the condition number has grown by this factor.
        options: Further options of the method.

    Attributes:
        samples: The motion at the times passed so far.
        partitions: Times at which independent coordinates were chosen, and their names.
        passages: Singular configurations passed.
    """

    def __init__(
        self,
        dynamics: MinimalDynamics,
        torque: Torque | None,
        velocity: Array,
        times: Array,
        method: Any,
        tolerances: dict[str, float],
        degradation: float,
        options: dict[str, Any],
    ) -> None:
        """Stand at the first of the times."""
        self._torque, self._times, self._tolerances = torque, times, tolerances
        self._method = METHODS.get(method, method)
        self._explicit, self._options = method in EXPLICIT, options
        self._degradation = degradation
        self._usual, self._short = 0.0, 0
        self._time = float(times[0])
        self.partitions = [(self._time, dynamics.independent)]
        self.passages: list[Passage] = []
        self._begin(dynamics, dynamics.reference, velocity)
        self._judge_by(self._pose)
        self.samples: list[Row] = [self.segment.sample(self._time, self._state)]

    def _begin(self, dynamics: MinimalDynamics, q: Array, velocity: Array) -> None:
        """Go on with other coordinates, or with displacements from another reference."""
        self.segment = Segment(dynamics, self._torque, explicit=self._explicit)
        self._state = self.segment.state(q, velocity)
        self._pose, self._velocity, _ = self.segment.accept(self._time, self._state)

    def _judge_by(self, pose: Pose) -> None:
        """Note how well conditioned the coordinates are where they were chosen."""
        self._limit = self._bad = self._degradation * pose.condition

    def run(self) -> None:
        """Integrate up to the last of the times."""
        end = float(self._times[-1])
        while self._time < end:
            solver = self._method(
                self.segment.rate, self._time, self._state, end, **self._tolerances, **self._options
            )
            self._integrate(solver)

    def _integrate(self, solver: Any) -> None:
        """Make steps until the coordinates have to be changed."""
        while solver.status == "running":
            failed = self._failure(solver)
            if failed is not None:
                self._through(failed)
                return
            if self._stalls(solver):
                self._through(IntegrationFailed(_STOPPED.format(solver.t, "it makes no headway")))
                return
            self.samples += self._within(solver)
            self._time = float(solver.t)
            self._pose, self._velocity, decided = self.segment.accept(solver.t, solver.y)
            if decided is not None:
                self.passages.append(Passage(self._time, decided))
            if self._pose.bend is None and self._changed():
                return

    def _failure(self, solver: Any) -> RegularizeError | None:
        """Why the next step cannot be made; None where it has been made."""
        try:
            message = solver.step()
        except (ClosureLost, NoInertia) as lost:
            return lost
        if solver.status != "failed":
            return None
        return self.segment.lost or IntegrationFailed(_STOPPED.format(solver.t, message))

    def _stalls(self, solver: Any) -> bool:
        """Whether steps have become hopelessly short near a singular configuration."""
        length = float(solver.t - solver.t_old)
        self._usual = max(length, 0.95 * self._usual)
        short = length < SHORT * self._usual and self._pose.condition > GOOD
        self._short = self._short + 1 if short else 0
        return self._short > PATIENCE

    def _within(self, solver: Any) -> list[Row]:
        """Samples at the times that the last step passed."""
        times = self._times
        passed = times[(times > solver.t_old) & (times <= solver.t)]
        if not len(passed):
            return []
        between = solver.dense_output()
        samples = []
        for t in passed:
            state = between(t) if t < solver.t else solver.y
            if not np.all(np.isfinite(state)):
                # Between its stages the step led to where the loops do not close.
                raise self.segment.lost or IntegrationFailed(_STOPPED.format(t, "no number"))
            samples.append(self.segment.sample(float(t), state))
        return samples

    def _changed(self) -> bool:
        """Whether other coordinates or another reference were chosen after a step."""
        dynamics, pose, better = self.segment.dynamics, self._pose, None
        if pose.condition <= self._bad:
            self._limit = self._bad
        elif pose.condition > self._limit:
            better = _better(dynamics, pose)
            if better is None:
                # Close to a singularity no choice is good: wait until it is much worse again.
                self._limit *= self._degradation
        if better is None and not self.segment.far:
            return False
        self._begin(better or dynamics.at(pose.q), pose.q, self._velocity)
        if better is not None:
            self.partitions.append((self._time, better.independent))
            self._judge_by(self._pose)
        return True

    def _through(self, failed: RegularizeError) -> None:
        """Go on where the coordinates come to their end; raises what has failed elsewhere."""
        if self.segment.driven or self._pose.condition < GOOD or isinstance(failed, NoInertia):
            raise failed
        better = _better(self.segment.dynamics, self._pose)
        if better is not None:
            self.partitions.append((self._time, better.independent))
            self._begin(better, self._pose.q, self._velocity)
            self._judge_by(self._pose)
            return
        start = (self._time, self._pose.q, self._velocity)
        way = through(self.segment, start, self._times, **self._tolerances)
        if way is None:
            raise failed
        self.samples += way.samples
        self._time = way.time
        self.passages.append(Passage(way.time, decided=False))
        self.partitions.append((way.time, way.dynamics.independent))
        if way.time < self._times[-1]:
            self._begin(way.dynamics, way.dynamics.reference, way.v)
            self._judge_by(self._pose)


def _better(dynamics: MinimalDynamics, pose: Pose) -> MinimalDynamics | None:
    """Another choice of coordinates that is clearly better conditioned, if there is one."""
    try:
        better = dynamics.released(pose.q)
        return better if better.pose(pose.q).condition < 0.7 * pose.condition else None
    except (SingularConfiguration, ModelError):
        return None
