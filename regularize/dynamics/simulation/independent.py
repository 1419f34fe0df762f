"""Motions of which independent coordinates are integrated, and all others follow (Paul 2020).

The dependent coordinates are those that close the loops, so nothing drifts. Where they become badly
conditioned another choice is made (step 8); where no choice is good, two motions cross or come near
to each other, and all coordinates are integrated until one is.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.all_coordinates import AllCoordinates
from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.minimal_dynamics import MinimalDynamics, dynamics_of
from regularize.dynamics.simulation.partitioned import GOOD, Pose
from regularize.dynamics.simulation.prescribed import Drives
from regularize.errors import ClosureLost, SingularConfiguration
from regularize.lie.arrays import Array

#: Growth of the condition number at which another choice is looked for, and what it has to come to
#: by that choice.
DEGRADATION, BETTER = 10.0, 0.7


def independent_coordinates(
    robot: Robot, independent: Iterable[str], loads: Loads, drives: Drives, q: Array
) -> IndependentCoordinates:
    """Equations of motion in independent coordinates, some of which may be named.

    Raises:
        NotIndependent: The coordinates asked for depend on each other.
        SingularConfiguration: More coordinates could move at the start than elsewhere.
    """
    forced = dict(zip(drives.names, drives.motions, strict=True))
    dynamics = dynamics_of(robot, independent, forced=forced, q=q, slip=loads.slip)
    return IndependentCoordinates(dynamics, loads, drives)


class IndependentCoordinates(AllCoordinates):
    """Equations of motion in independent coordinates.

    Args:
        dynamics: The choice of coordinates to begin with.
        loads: Joint forces and torques.
        drives: Coordinates that follow prescribed motions, the forced ones of ``dynamics``.
    """

    compiled = False

    def __init__(self, dynamics: MinimalDynamics, loads: Loads, drives: Drives) -> None:
        super().__init__(dynamics.robot, loads, drives)
        self.name = "minimal coordinates"
        self._dynamics, self._limit = dynamics, 0.0
        self._pose: Pose | None = None
        self._before: tuple[Array, Array] | None = None
        self._good = False
        # Driven coordinates in the order of the user and in that of the columns.
        self._order = np.argsort(drives.velocities)

    def look(self, t: float, q: Array, v: Array) -> bool:
        """Choose the coordinates for the neighbourhood of a configuration."""
        super().look(t, q, v)
        self._dynamics = self._dynamics.at(q)
        condition = self._condition(self._dynamics)
        if condition > self._limit:
            try:
                chosen = self._dynamics.released(q) if self._limit else self._dynamics
                found = self._condition(chosen)
                if found < BETTER * condition or not self._limit:
                    self._dynamics, condition = chosen, found
                    self._limit = DEGRADATION * min(found, GOOD)
            except SingularConfiguration:
                pass  # until there is a choice
        self._good = condition <= GOOD
        self.careful = self._good or self.careful
        return self._crossed(q, v)

    def _condition(self, dynamics: MinimalDynamics) -> float:
        """Condition number of the dependent coordinates at the reference."""
        try:
            return dynamics.pose_of(np.zeros(self.robot.nv)).condition
        except ClosureLost:
            return np.inf

    def _crossed(self, q: Array, v: Array) -> bool:
        """Whether two motions crossed since the last look, and this one went straight on.

        There all minors of the rows change their sign at once, and so does the determinant of the
        products of rows before and behind it (Binet and Cauchy).
        """
        rows, last = self.robot.jacobian(q), self._before
        self._before = rows, v
        if last is None or not 0 < len(rows) == self.robot.rank:
            return False
        return bool(np.linalg.slogdet(last[0] @ rows.T)[0] < 0.0 and last[1] @ v > 0.0)

    def project(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The closed configuration with these independent coordinates, and its velocity."""
        if not self._good or self._leaping or not (np.isfinite(q).all() and np.isfinite(v).all()):
            return super().project(t, q, v)
        q, v = self.with_drives(t, q, v)
        try:
            pose = self._pose = self._dynamics.pose(q)
        except ClosureLost:  # a step that went much too far
            return super().project(t, q, v)
        return pose.q, self._dynamics.velocity(pose, v[self._dynamics.known])

    def acceleration(self, t: float, q: Array, v: Array) -> tuple[Array, float]:
        """Acceleration by equation 20, shape (nv,), and the power of joint forces and drives."""
        pose, dynamics = self._pose, self._dynamics
        if not self._good or pose is None or pose.q is not q:
            return super().acceleration(t, q, v)
        working, order = self.loads.working(t, q, v), self._order
        tau = working - dynamics.dissipative(pose, v)
        a, needed = dynamics.acceleration(pose, v, tau, self.drives.at(t)[2][order])
        return a, float(working @ v + needed @ v[self.drives.velocities[order]])
