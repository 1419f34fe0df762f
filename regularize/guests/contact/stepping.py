r"""Time stepping with impacts: loops, stops, dry friction and contacts at every step.

A step is semi-implicit: with Z the velocities that keep the loops closed, forces f at its beginning
(damping and springs of joints at its end) and rows C of what may touch or stop,

.. math:: Z^T M (v' - v) = Z^T (h f + C^T \lambda), \quad v' = Z y, \qquad q' = q + h v'.

The loops are eliminated exactly: the cone problem for the impulses has the Delassus matrix
:math:`C Z (Z^T M Z)^{-1} Z^T C^T` of the reduced dynamics (Moreau; Stewart and Trinkle; Anitescu).
Distances count: bodies come to rest on the ground, joints at their bounds, at the end of a step.
Then q' moves onto the closed loops, and v' loses what would open them.
"""

from __future__ import annotations

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.constraints import close_loops
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.split import Split, require_mass
from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.recording import Counters, Sample
from regularize.errors import ClosureLost, RegularizeError
from regularize.guests.contact.cone_problem import solve_cones
from regularize.guests.contact.hindrances import Hindrances, Surroundings
from regularize.lie.arrays import Array
from regularize.tolerances import EXACT, ROUNDING

#: Rounds in which rows are taken in that turn out to be needed, and Newton steps onto bounds.
ROUNDS, NEWTON = 5, 8


class SteppedEngine:
    """Leads a robot's motion in steps of fixed length.

    Args:
        loads: What acts on it.
        around: Ground and stops, and the length of a step.
        begin: Configuration with closed loops and velocity, shapes (nq,) and (nv,).

    Attributes:
        energies: Energy less the work of joint forces and loads at the samples so far, in J.
        contact_forces: In world axes, shape (points, 3) each.
        contact_points: Where, not a number for points that were far off, shape (points, 3) each.
        limit_forces: Forces of the bounds, shape (bounded,) each.
        converged: Whether all impulses since the sample before were found.

    Raises:
        NoInertia: A motion moves no mass.
    """

    name, explained = "stepping", np.inf

    def __init__(self, loads: Loads, around: Surroundings, begin: tuple[Array, Array]) -> None:
        self.robot, self.loads, self.around = around.robot, loads, around
        self.counters = Counters()
        self._q, self._v = begin
        with self.robot.massive_motion():
            terms = self.robot.states.terms(*begin)
            require_mass(terms.M, Split.of(terms.jacobian, self.robot.rank).free)
        self._x = around.stops.coordinates(self._q)
        self.total = self._energy = float(self.robot.energy(*begin))
        self._work, self._found = 0.0, True
        self._impulses = np.zeros((len(around.friction), 3)), np.zeros(len(around.stops.columns))
        self._places = np.full((len(around.friction), 3), np.nan)
        self.energies: list[float] = []
        self.contact_forces: list[Array] = []
        self.contact_points: list[Array] = []
        self.limit_forces: list[Array] = []
        self.converged: list[bool] = []

    @property
    def end(self) -> float:
        """End of the step made last, in seconds: no sum of steps, which rounding would move."""
        return self.counters.steps * self.around.h

    def ends(self, times: Array) -> Array:
        """Ends of the steps nearest to times."""
        return np.unique(np.rint(times / self.around.h)) * self.around.h

    def advance(self) -> None:
        """Samples are those of the end of a step already."""

    def sample(self, t: float) -> Sample:
        """The motion at the end of the step made last, and the forces in it."""
        on_points, on_stops = (impulses / self.around.h for impulses in self._impulses)
        self.energies.append(self._energy - self._work)
        self.contact_forces.append(on_points)
        self.contact_points.append(self._places)
        self.limit_forces.append(self.around.stops.limit_forces(on_stops))
        self.converged.append(self._found)
        self._found = True
        return Sample(t, self._q, self._v, self._work)

    def step(self, until: float, sampled: float = 0.0) -> None:
        """Make one step.

        Raises:
            ClosureLost: It leads nowhere: the loops open, or numbers leave all bounds.
        """
        q, v, x, h, robot, time = self._q, self._v, self._x, self.around.h, self.robot, self.end
        stops, model = self.around.stops, robot.model
        outside, rates = stops.applied(self.loads, time, q, v), stops.rates(q)
        terms, joints = robot.states.terms(q, v), robot.passive.joints
        within = rates.T * (h * joints.damping + h**2 * joints.stiffness)
        root = root_of(robot, terms.M + within @ rates, terms.jacobian)
        forces = outside - terms.needed
        if joints.stores:
            forces = forces + rates.T @ joints.springs(x)
        unhindered = root.T @ (root @ (terms.M @ v + h * forces))
        gaps = stops.gaps(x)
        hindrances = Hindrances(self.around, q, v, stops.rows(rates), gaps)
        velocity = self._held(hindrances, unhindered, root)
        try:
            if not np.isfinite(velocity).all():
                raise RegularizeError("numbers leave all bounds")
            after = pin.integrate(model, q, h * velocity)
            after = close_loops(robot, after) if robot.rows else after
            after, self._x = self._within_bounds(after, gaps, x)
        except RegularizeError as error:
            raise ClosureLost(
                f"at {time:.6g} s a step of {h:g} s leads nowhere ({error}): take shorter "
                "steps (h=), or forces that a step can follow"
            ) from error
        ahead = robot.project_velocity(after, velocity) if robot.rows else velocity
        work = float(outside @ pin.difference(model, q, after)) if outside.any() else 0.0
        self._q, self._work = after, self._work + work
        self._v, self._energy, taken = self._not_growing(after, ahead, self._energy + work)
        self.counters.correction += taken
        self.counters.steps += 1
        self.counters.evaluations += 1

    def _held(self, hindrances: Hindrances, unhindered: Array, root: Array) -> Array:
        """The velocity (nv,) with the impulses that keep a robot from where it may not go.

        The square of the root, (f, nv), takes joint impulses to velocities.
        """
        around, velocity, found = self.around, unhindered, True
        last, self._places = self._impulses, np.full_like(self._places, np.nan)
        self._impulses = np.zeros_like(last[0]), np.zeros_like(last[1])
        chosen = np.zeros(len(around.points.shapes) + len(around.stops.columns), dtype=bool)
        for _ in range(ROUNDS):
            met = hindrances.met(velocity)
            if not np.any(met & ~chosen):
                break
            chosen |= met
            rows = hindrances.rows(chosen)
            half = root @ rows.matrix.T
            impulses, found = solve_cones(
                half.T @ half,
                rows.matrix @ unhindered - rows.wanted,
                around.friction[rows.contacts],
                around.h * around.stops.boxes[rows.stops],
                np.concatenate([last[0][rows.contacts].ravel(), last[1][rows.stops]]),
            )
            velocity = unhindered + root.T @ (half @ impulses)
            last = self._impulses = np.zeros_like(last[0]), np.zeros_like(last[1])
            count = 3 * len(rows.contacts)
            last[0][rows.contacts] = impulses[:count].reshape(-1, 3)
            last[1][rows.stops] = impulses[count:]
            self._places[rows.contacts] = rows.places
        self._found = self._found and found
        return np.asarray(velocity)

    def _within_bounds(self, q: Array, gaps: Array, x: Array) -> tuple[Array, Array]:
        """A configuration near q within the bounds that held before, loops closed; its coordinates.

        Distances from bounds (stops,) and coordinates (n,) are those before the step.
        """
        robot, stops = self.robot, self.around.stops
        now, watched = stops.coordinates(q, x), gaps > -EXACT.closed
        for _ in range(NEWTON):
            far = stops.gaps(now)
            beyond = watched & (far < -ROUNDING)
            if not beyond.any():
                break
            rows = np.vstack([robot.jacobian(q), stops.rows(stops.rates(q))[beyond]])
            errors = np.concatenate([robot.residual(q), far[beyond]])
            change = np.linalg.lstsq(rows, errors, rcond=EXACT.singular)[0]
            q = pin.integrate(robot.model, q, -change)
            q = close_loops(robot, q) if robot.rows else q
            now = stops.coordinates(q, x)
        return q, now

    def _not_growing(self, q: Array, v: Array, most: float) -> tuple[Array, float, float]:
        """A velocity with no more energy than there may be, that energy, and what it lost, in J."""
        kinetic, stored = (float(x) for x in self.robot.states.energies(q, v))
        if self.robot.passive.joints.stores:
            stored += float(self.robot.passive.joints.energy(self._x))
        allowed = max(0.0, most - stored)
        if kinetic <= allowed:
            return v, kinetic + stored, 0.0
        return v * np.sqrt(allowed / kinetic), allowed + stored, kinetic - allowed


def root_of(robot: Robot, M: Array, jacobian: Array) -> Array:
    """What takes impulses to velocities that keep the loops closed, by its square, (f, nv)."""
    free = Split.of(jacobian, robot.rank).free
    return np.linalg.solve(np.linalg.cholesky(free.T @ M @ free), free.T)
