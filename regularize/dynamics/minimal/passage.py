"""Through singular configurations that leave the motion open, in all joint coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.dynamics.integrator import Integrator
from regularize.dynamics.minimal.dynamics import MinimalDynamics, NoInertia
from regularize.dynamics.minimal.kinematics import ClosureLost, SingularConfiguration
from regularize.dynamics.minimal.segment import Row, Segment, row
from regularize.errors import RegularizeError
from regularize.lie.screw import Array

#: Condition number at which independent coordinates are good enough again.
GOOD = 50.0
#: Steps in which they have to become so.
STEPS = 1000


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


@dataclass(frozen=True, eq=False)
class Through:
    """What was reached beyond a singular configuration.

    Attributes:
        time: When, in seconds.
        dynamics: With coordinates that are independent there.
        v: Velocities of all coordinates, shape (nv,).
        samples: The motion at the times that were passed.
    """

    time: float
    dynamics: MinimalDynamics
    v: Array
    samples: list[Row]


def through(
    segment: Segment, start: tuple[float, Array, Array], times: Array, **tolerances: Any
) -> Through | None:
    """Integrates all joint coordinates until independent ones can be told again.

    Args:
        segment: Where the integration in independent coordinates stopped.
        start: Time, configuration and velocities there.
        times: Times at which the motion is reported, in seconds.
        tolerances: ``rtol`` and ``atol`` of the integrator.

    Returns:
        None where there is no way through.
    """
    t, q, v = start
    dynamics, robot = segment.dynamics, segment.dynamics.robot
    samples: list[Row] = []
    nothing = np.zeros(0)
    try:
        integrator = Integrator(robot, segment.tau, time=t, q=q, v=v, **tolerances)
        for _ in range(STEPS):
            integrator.step(float(times[-1]))
            for passed in times[(times > integrator.time) & (times <= integrator.end)]:
                q, v, _ = integrator.sample(float(passed))
                a = robot.forward_dynamics(q, v, segment.tau(float(passed), q, v))
                samples.append(row(robot, passed, q, v, a, nothing))
            integrator.advance()
            beyond = _independent(dynamics, integrator.q)
            if beyond is not None or integrator.time >= times[-1]:
                return Through(integrator.time, beyond or dynamics, integrator.v, samples)
    except (RegularizeError, np.linalg.LinAlgError):
        return None
    return None


def _independent(dynamics: MinimalDynamics, q: Array) -> MinimalDynamics | None:
    """Independent coordinates at a configuration, where some are good enough."""
    try:
        found = dynamics.released(q)
        return found if found.pose(q).condition <= GOOD else None
    except (SingularConfiguration, ClosureLost, NoInertia):
        return None
