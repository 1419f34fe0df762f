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

from regularize.contact.cone_problem import solve_cones
from regularize.contact.hindrances import Hindrances, Key, Surroundings
from regularize.errors import ClosureLost, RegularizeError
from regularize.lie.screw import Array
from regularize.pinocchio.constraints import close_loops
from regularize.pinocchio.library import pin
from regularize.pinocchio.robot import Robot
from regularize.pinocchio.split import Split, require_mass
from regularize.simulation.loads import Loads
from regularize.simulation.recording import Counters, Sample
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
        self._impulses: dict[Key, Array] = {}
        self._places = np.zeros((0, 3))
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
        around = self.around
        forces = np.zeros((len(around.friction), 3))
        places, limits = np.full(forces.shape, np.nan), np.zeros(len(around.stops.bounded))
        points = [key[1] for key in self._impulses if key[0] == "point"]
        places[points] = self._places
        for (kind, k, side), impulse in self._impulses.items():
            if kind == "point":
                forces[k] = impulse / around.h
            elif kind == "bound":
                limits[k] += float(-impulse[0] if side else impulse[0]) / around.h
        self.energies.append(self._energy - self._work)
        self.contact_forces.append(forces)
        self.contact_points.append(places)
        self.limit_forces.append(limits)
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
        velocity = self._held(Hindrances(self.around, q, v, rates, gaps), unhindered, root)
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

        Args:
            hindrances: What may touch or stop.
            unhindered: Velocity without impulses, shape (nv,).
            root: Its square takes joint impulses to velocities, shape (f, nv).
        """
        keys: set[Key] = set()
        velocity, before, found = unhindered, self._impulses, True
        self._impulses, self._places = {}, np.zeros((0, 3))
        for _ in range(ROUNDS):
            met = hindrances.met(velocity) - keys
            if not met:
                break
            keys |= met
            rows = hindrances.rows(keys)
            half = root @ rows.matrix.T
            values, found = solve_cones(
                half.T @ half,
                rows.matrix @ unhindered - rows.wanted,
                self.around.friction[rows.contacts],
                rows.boxes,
                rows.joined(self._impulses or before),
            )
            velocity = unhindered + root.T @ (half @ values)
            self._impulses, self._places = rows.split(values), rows.places
        self._found = self._found and found
        return np.asarray(velocity)

    def _within_bounds(self, q: Array, gaps: Array, x: Array) -> tuple[Array, Array]:
        """A configuration near q that is within the bounds that held before, on closed loops.

        Args:
            q: Configuration after the step, shape (nq,).
            gaps: Distances from bounds before it, shape (bounded, 2).
            x: Coordinates before it, shape (n,).

        Returns:
            It, and its coordinates, shape (n,).
        """
        robot, stops = self.robot, self.around.stops
        now, watched = stops.coordinates(q, x), gaps > -EXACT.closed
        for _ in range(NEWTON):
            far = stops.gaps(now)
            beyond = np.argwhere(watched & (far < -ROUNDING))
            if not len(beyond):
                break
            errors, rows, rates = robot.residual(q), robot.jacobian(q), stops.rates(q)
            signs = np.where(beyond[:, 1] == 1, -1.0, 1.0)
            rows = np.vstack([rows, signs[:, None] * rates[stops.bounded[beyond[:, 0]]]])
            errors = np.concatenate([errors, far[beyond[:, 0], beyond[:, 1]]])
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
