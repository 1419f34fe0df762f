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

from dataclasses import dataclass, field

import numpy as np

from regularize.contact.cone_problem import ConeSolver
from regularize.contact.hindrances import Hindrances, Key, Rows, Surroundings
from regularize.errors import ClosureLost, RegularizeError
from regularize.lie.screw import Array
from regularize.pinocchio import pin
from regularize.pinocchio.constraints import close_loops
from regularize.pinocchio.robot import Robot
from regularize.pinocchio.split import Split, require_mass
from regularize.simulation.loads import Loads
from regularize.tolerances import EXACT, ROUNDING

#: Rounds in which rows are taken in that turn out to be needed, and Newton steps onto bounds.
ROUNDS, NEWTON = 5, 8


@dataclass(frozen=True, eq=False)
class SteppedState:
    """A state, and the forces of the step that led to it.

    Attributes:
        time: In seconds.
        q: Configuration with closed loops, shape (nq,).
        v: Velocity that keeps them closed, shape (nv,).
        energy: Kinetic energy, and that of gravity and springs, in J.
        work: What joint forces and loads have put in so far, in J.
        taken: What was taken from the energy so that it does not grow by itself, so far, in J.
        contact_forces: In world axes, shape (points, 3).
        contact_points: Where, not a number for points that were far off, shape (points, 3).
        limit_forces: Shape (bounded,).
        converged: Whether the impulses were found.
    """

    time: float
    q: Array
    v: Array
    energy: float
    work: float
    taken: float
    contact_forces: Array
    contact_points: Array
    limit_forces: Array
    converged: bool = True


@dataclass(frozen=True, eq=False)
class Impulses:
    """What holds a robot in a step.

    Attributes:
        rows: What it acts on.
        values: Shape (m,).
        velocity: That after the step, shape (nv,).
        found: Whether they solve the cone problem.
    """

    rows: Rows
    values: Array
    velocity: Array
    found: bool


@dataclass(eq=False)
class Stepper:
    """A robot that is stepped.

    Attributes:
        loads: What acts on it.
        around: Ground and stops, and the length of a step.
    """

    loads: Loads
    around: Surroundings
    _solver: ConeSolver = field(default_factory=ConeSolver)
    _last: dict[Key, Array] = field(default_factory=dict)
    _x: Array = field(default_factory=lambda: np.zeros(0))  # coordinates where the last step ended

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.around.robot

    def first(self, q: Array, v: Array) -> SteppedState:
        """The state to begin with; raises ``NoInertia`` where a motion moves no mass."""
        with self.robot.massive_motion():
            terms = self.robot.states.terms(q, v)
            require_mass(terms.M, Split.of(terms.jacobian, self.robot.rank).free)
        self._x = self.around.stops.coordinates(q)
        energy = float(self.robot.energy(q, v))
        return SteppedState(0.0, q, v, energy, 0.0, 0.0, *self._forces(None))

    def step(self, state: SteppedState) -> SteppedState:
        """The state after a step.

        Raises:
            ClosureLost: There is none: the loops open, or numbers leave all bounds.
        """
        q, v, h, robot = state.q, state.v, self.around.h, self.robot
        stops, model = self.around.stops, robot.model
        outside, rates, x = stops.applied(self.loads, state.time, q, v), stops.rates(q), self._x
        terms, joints = robot.states.terms(q, v), robot.passive.joints
        within = rates.T * (h * joints.damping + h**2 * joints.stiffness)
        root = root_of(robot, terms.M + within @ rates, terms.jacobian)
        forces = outside - terms.needed
        if joints.stores:
            forces = forces + rates.T @ joints.springs(x)
        unhindered = root.T @ (root @ (terms.M @ v + h * forces))
        gaps = stops.gaps(x)
        held = self._held(Hindrances(self.around, q, v, rates, gaps), unhindered, root)
        try:
            if not np.isfinite(held.velocity).all():
                raise RegularizeError("numbers leave all bounds")
            after = pin.integrate(model, q, h * held.velocity)
            after = close_loops(robot, after) if robot.rows else after
            after, self._x = self._within_bounds(after, gaps, x)
        except RegularizeError as error:
            raise ClosureLost(
                f"at {state.time:.6g} s a step of {h:g} s leads nowhere ({error}): take shorter "
                "steps (h=), or forces that a step can follow"
            ) from error
        ahead = robot.project_velocity(after, held.velocity) if robot.rows else held.velocity
        work = float(outside @ pin.difference(model, q, after)) if outside.any() else 0.0
        ahead, energy, taken = self._not_growing(after, ahead, state.energy + work)
        spent = energy, state.work + work, state.taken + taken
        return SteppedState(state.time + h, after, ahead, *spent, *self._forces(held), held.found)

    def _held(self, hindrances: Hindrances, unhindered: Array, root: Array) -> Impulses:
        """The impulses that keep a robot from where it may not go.

        Args:
            hindrances: What may touch or stop.
            unhindered: Velocity without impulses, shape (nv,).
            root: Its square takes joint impulses to velocities, shape (f, nv).
        """
        keys: set[Key] = set()
        held = Impulses(hindrances.rows(keys), np.zeros(0), unhindered, True)
        for _ in range(ROUNDS):
            met = hindrances.met(held.velocity) - keys
            if not met:
                break
            keys |= met
            rows = hindrances.rows(keys)
            half = root @ rows.matrix.T
            values, found = self._solver.solve(
                half.T @ half,
                rows.matrix @ unhindered - rows.wanted,
                self.around.friction[rows.contacts],
                rows.boxes,
                self._guess(rows),
            )
            held = Impulses(rows, values, unhindered + root.T @ (half @ values), found)
        self._last = dict(zip(_keys(held.rows), _blocks(held), strict=True))
        return held

    def _guess(self, rows: Rows) -> Array:
        """Impulses of the step before, where they were there."""
        sizes = [3] * len(rows.contacts) + [1] * len(rows.stops)
        known = zip(_keys(rows), sizes, strict=True)
        return np.concatenate(
            [np.zeros(0), *(self._last.get(key, np.zeros(size)) for key, size in known)]
        )

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

    def _forces(self, held: Impulses | None) -> tuple[Array, Array, Array]:
        """Forces of contacts, where they act, and forces of bounds."""
        around, count = self.around, len(self.around.friction)
        forces, places = np.zeros((count, 3)), np.full((count, 3), np.nan)
        limits = np.zeros(len(around.stops.bounded))
        if held is None:
            return forces, places, limits
        touching, h = held.rows.contacts, around.h
        split = 3 * len(touching)
        forces[touching] = held.values[:split].reshape(-1, 3) / h
        places[touching] = held.rows.places
        for (kind, k, side), value in zip(held.rows.stops, held.values[split:], strict=True):
            if kind == "bound":
                limits[k] += (-1.0 if side else 1.0) * value / h
        return forces, places, limits


def root_of(robot: Robot, M: Array, jacobian: Array) -> Array:
    """What takes impulses to velocities that keep the loops closed, by its square, (f, nv)."""
    free = Split.of(jacobian, robot.rank).free
    return np.linalg.solve(np.linalg.cholesky(free.T @ M @ free), free.T)


def _keys(rows: Rows) -> list[Key]:
    """What the blocks of rows are, contacts by their points."""
    return [*(("point", int(i), 0) for i in rows.contacts), *rows.stops]


def _blocks(held: Impulses) -> list[Array]:
    """Impulses of contacts and of stops."""
    split = 3 * len(held.rows.contacts)
    return [*held.values[:split].reshape(-1, 3), *held.values[split:, None]]
