r"""Equations of motion under the rows that close the loops, in all coordinates or independent ones.

Of prescribed coordinates d the others, r, follow by :math:`M_{rr} a_r = \tau_r - n_r - M_{rd} a_d +
J_r^T \lambda` and :math:`J_r a_r = -\gamma - J_d a_d`; d need :math:`(M a + n - \tau - J^T
\lambda)_d`. Where independent coordinates become badly conditioned others are chosen (Paul 2020,
step 8); where none are good, two motions come near, and all coordinates are integrated.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from regularize.dynamics.pinocchio.constraints import RobotConstraints
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.solvers import AccelerationFunction
from regularize.dynamics.pinocchio.tree_states import MasslessMotion, Split
from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.minimal_dynamics import GOOD, MinimalDynamics, Pose, dynamics_of
from regularize.dynamics.simulation.prescribed import Drives
from regularize.errors import ClosureLost, NotFinite, SingularConfiguration
from regularize.lie.arrays import Acceleration, Array, Configuration, Velocity
from regularize.loops.projection import project
from regularize.tolerances import EXACT

#: Part of the kinetic energy up to which the energy balance is corrected.
CORRECTED = 1e-4
#: Fraction of the best conditioning met so far below which all states are projected.
DEPENDENT = 0.1
#: Growth of the condition number at which another choice is looked for, and what that choice has
#: to bring it to.
DEGRADATION, BETTER = 10.0, 0.7


class AllCoordinates:
    """Equations of motion of a robot in all coordinates of its tree.

    ``careful`` says that every state has to be projected, ``compiled`` that C may integrate.
    """

    compiled = True

    def __init__(self, robot: Robot, loads: Loads, drives: Drives | None = None) -> None:
        self.robot, self.loads, self.name = robot, loads, robot.style
        self.drives = Drives.of(robot, {}) if drives is None else drives
        held = self.drives.held(robot)
        self._held = held if held.any() else None
        self._driven_columns, self._other_columns = self.drives.velocities, np.flatnonzero(~held)
        self._constraints = self._near = RobotConstraints(robot)
        self._accelerate: AccelerationFunction = robot.forward_dynamics
        self.closed = 0.1 * min(robot.tolerances.closed, EXACT.closed)
        self._best = 0.0
        self._dependent = self._leaping = False
        self.careful = True  # before it has looked

    def prepare(self, q: Array, v: Array) -> bool:
        """Choose the form of the acceleration near a state; returns whether two motions crossed."""
        rank = self.robot.rank
        if rank == 0:
            self.careful = False
            return False
        rows = self.robot.jacobian(q)[:, self._other_columns]
        left, values, _ = np.linalg.svd(rows, full_matrices=False)
        ratio = float(values[rank - 1] / values[0]) if len(values) >= rank else 0.0
        self._accelerate = acceleration_near(self.robot, left)
        # Where rows depend on each other, combinations stand for them in the neighbourhood.
        if rank < len(rows):
            self._near = RobotConstraints(self.robot, combined=left[:, :rank].T)
        self._dependent = ratio < max(DEPENDENT * self._best, self.robot.tolerances.singular)
        self._best = max(self._best, ratio)
        self.careful = self._dependent
        return False

    def set_leaping(self, over: bool) -> None:
        """Switch the careful form of the acceleration on or off, whatever the configuration."""
        self._leaping = over
        self.careful = over or self._dependent

    def project(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the nearest configuration with closed loops, and a velocity that keeps them so."""
        q, v = self.with_drives(t, q, v)
        if self.robot.rows == 0 or not (np.isfinite(q).all() and np.isfinite(v).all()):
            return q, v  # numbers that are none are those of a step that went much too far
        driven = tuple(self._driven_columns.tolist())
        kernel = self.robot.driven_kernel(driven) if self.robot.stepped else None
        if kernel is not None:
            limits = (0.0 if self._leaping else self.closed, self.robot.tolerances.singular)
            closed = kernel.close_motion(q, v, np.array([*limits, len(driven)]))
            if closed is not None:
                return closed[0], closed[1]
        until = 0.0 if self._leaping else None
        constraints = self._constraints if self.careful else self._near
        q = project(
            constraints,
            q[None],
            held=self._held,
            tolerances=self.robot.tolerances,
            until=until,
            steps=4,
        ).q[0]
        rows = constraints.jacobian(q[None])[0]
        opening, others = rows @ v, self._other_columns
        rows = rows if self._held is None else rows[:, others]
        if self.careful:
            change = np.linalg.pinv(rows, rcond=self.robot.tolerances.singular) @ opening
        else:
            change = rows.T @ np.linalg.solve(rows @ rows.T, opening)
        v = np.array(v)
        v[others] -= change
        return q, v

    def with_drives(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return a state with driven coordinates where they have to be."""
        if self._held is not None:
            position, rate, _ = self.drives.at(t)
            q, v = np.array(q), np.array(v)
            q[self.drives.positions], v[self._driven_columns] = position, rate
        return q, v

    def drive_error(self, t: float, q: Array, v: Array) -> float:
        """Return the relative distance of driven coordinates and rates from prescribed ones."""
        wanted = np.concatenate(self.drives.at(t)[:2])
        off = np.concatenate([q[self.drives.positions], v[self._driven_columns]]) - wanted
        return float(np.max(np.abs(off) / np.maximum(1.0, np.abs(wanted)), initial=0.0))

    def acceleration(self, t: float, q: Array, v: Array) -> tuple[Array, float]:
        """Return the acceleration, and the power in W of all but springs."""
        try:
            working = self.loads.working(t, q, v)
            tau = working + self.robot.passive.springs(q)
            if self._held is None:
                return self._accelerate(q, v, tau), float(working @ v)
            a, needed = self._driven(t, q, v, tau)
        except NotFinite:  # a step that went much too far
            return np.full(len(v), np.nan), np.nan
        return a, float(working @ v + needed @ v[self._driven_columns])

    def drive_forces(self, t: float, q: Array, v: Array) -> Array:
        """Return forces and torques of the drives beyond the joint forces, shape (k,)."""
        if self._held is None:
            return np.zeros(0)
        return self._driven(t, q, v, self.loads(t, q, v))[1]

    def _driven(self, t: float, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        """Return the acceleration, and the forces of the drives."""
        robot, others, driven = self.robot, self._other_columns, self._driven_columns
        M, still, jacobian, bias = robot.states.terms(q, v)
        rows = jacobian[:, others]
        if not np.isfinite(rows).all():  # a step that went much too far
            return np.full(len(v), np.nan), np.full(len(driven), np.nan)
        parts = Split.of(rows, robot.rank)
        a = np.zeros(len(v))
        a[driven] = self.drives.at(t)[2]
        force = tau - still - M @ a
        try:
            a[others] = parts.response(
                M[np.ix_(others, others)], force[others], -bias - jacobian @ a
            )
        except MasslessMotion as error:
            velocity = np.zeros(len(v))
            velocity[others] = error.velocity
            with robot.massive_motion():
                raise MasslessMotion(velocity) from error
        needed = M @ a + still - tau
        multipliers = parts.solve_transposed(needed[others])
        return a, np.asarray(needed[driven] - jacobian[:, driven].T @ multipliers)

    def balanced(self, q: Array, v: Array, total: float, most: float) -> tuple[Array, float]:
        """Return the velocity scaled to a total energy in J, and what that adds, where little."""
        kinetic, potential = self.robot.energies(q, v)
        missing = total - kinetic - potential
        small = abs(missing) <= most * kinetic
        if missing == 0.0 or not small or self._held is not None:
            return v, 0.0
        return np.asarray(v * np.sqrt(1.0 + missing / kinetic)), missing


def acceleration_near(robot: Robot, left: Array) -> AccelerationFunction:
    """Return an acceleration function near a configuration, rows combined to independent ones."""
    if robot.rank == robot.rows or robot.style == "legacy" or not robot.massive:
        return robot.forward_dynamics
    combine = left[:, : robot.rank].T

    def accelerate(q: Array, v: Array, tau: Array) -> Array:
        M, needed, jacobian, bias = robot.states.terms(q, v)
        J = combine @ jacobian
        system = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        values = np.concatenate([tau - needed, -combine @ bias])
        try:
            return np.asarray(np.linalg.solve(system, values)[: len(tau)])
        except np.linalg.LinAlgError:  # even these depend on each other
            return np.full(len(tau), np.nan)

    return accelerate


class IndependentCoordinates(AllCoordinates):
    """Equations of motion in independent coordinates, some of which may be named."""

    compiled = False

    def __init__(
        self,
        robot: Robot,
        independent: Iterable[str],
        loads: Loads,
        drives: Drives,
        q: Configuration,
    ) -> None:

        super().__init__(robot, loads, drives)
        self.name = "minimal coordinates"
        forced = dict(zip(drives.names, drives.motions, strict=True))
        self._dynamics = dynamics_of(robot, independent, forced=forced, q=q, slip=loads.slip)
        self._limit = 0.0
        self._pose: Pose | None = None
        self._before: tuple[Array, Array] | None = None
        self._good = False
        # Driven coordinates in the order of the user and in that of the columns.
        self._order = np.argsort(drives.velocities)

    def prepare(self, q: Configuration, v: Velocity) -> bool:
        """Choose the coordinates for the neighbourhood of a configuration."""
        super().prepare(q, v)
        self._dynamics = self._dynamics.at(q)
        condition = self._condition(self._dynamics)
        if condition > self._limit:
            try:
                chosen = self._dynamics.chosen(q, ()) if self._limit else self._dynamics
                reached = self._condition(chosen)
                if reached < BETTER * condition or not self._limit:
                    self._dynamics, condition = chosen, reached
                    self._limit = DEGRADATION * min(reached, GOOD)
            except SingularConfiguration:
                pass  # until there is a choice
        self._good = condition <= GOOD
        self.careful = self._good or self.careful
        return self._crossed(q, v)

    def _condition(self, dynamics: MinimalDynamics) -> float:
        """Return the condition number of the dependent coordinates at the reference."""
        try:
            return dynamics.pose_of(np.zeros(self.robot.nv)).condition
        except ClosureLost:
            return np.inf

    def _crossed(self, q: Configuration, v: Velocity) -> bool:
        """Whether two motions crossed since the last look, and this one went straight on."""
        # There all minors of the rows change their sign at once, and so does the determinant of
        # the products of rows before and behind it (Binet and Cauchy).
        rows, last = self.robot.jacobian(q), self._before
        self._before = rows, v
        if last is None or not 0 < len(rows) == self.robot.rank:
            return False
        return bool(np.linalg.slogdet(last[0] @ rows.T)[0] < 0.0 and last[1] @ v > 0.0)

    def project(self, t: float, q: Configuration, v: Velocity) -> tuple[Configuration, Velocity]:
        """Return the closed configuration with these coordinates, and its velocity."""
        if not self._good or self._leaping or not (np.isfinite(q).all() and np.isfinite(v).all()):
            return super().project(t, q, v)
        q, v = self.with_drives(t, q, v)
        try:
            pose = self._pose = self._dynamics.pose(q)
        except ClosureLost:  # a step that went much too far
            return super().project(t, q, v)
        return pose.q, self._dynamics.velocity(pose, v[self._dynamics.known])

    def acceleration(self, t: float, q: Configuration, v: Velocity) -> tuple[Acceleration, float]:
        """Return the acceleration by equation 20, and the power of joint forces and drives in W."""
        pose, dynamics = self._pose, self._dynamics
        if not self._good or pose is None or pose.q is not q:
            return super().acceleration(t, q, v)
        tau, order = self.loads.applied(t, q, v), self._order
        working = tau + self.robot.passive.dissipative(q, v, self.loads.slip)
        a, needed = dynamics.acceleration(pose, v, tau, self.drives.at(t)[2][order])
        return a, float(working @ v + needed @ v[self.drives.velocities[order]])
