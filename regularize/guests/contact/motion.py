r"""Motions with contacts, joint limits and dry friction, in steps of fixed length.

A step is semi-implicit: with Z the velocities that keep the loops closed, forces f at its beginning
(damping and springs of joints at its end) and rows C of what may touch or stop,

.. math:: Z^T M (v' - v) = Z^T (h f + C^T \lambda), \quad v' = Z y, \qquad q' = q + h v'.

The loops are eliminated exactly: the cone problem for the impulses has the Delassus matrix
:math:`G = C Z (Z^T M Z)^{-1} Z^T C^T` of the reduced dynamics (Moreau; Stewart and Trinkle;
Anitescu). Impulses of contacts, three for each, lie in the friction cone and do no work but against
sliding; those of stops lie between bounds, and their velocities push only where a bound is met:

.. math:: \sigma = G \lambda + g, \qquad K \ni \lambda \perp \sigma + \Gamma(\sigma) \in K^*,

with the velocities g that there would be without impulses, and De Saxcé's correction
:math:`\Gamma`, without which bodies that slide would rise. Pinocchio's solvers find them
(Carpentier, Le Lidec and Montaut 2024: ADMM; projected Gauss-Seidel after it).

Distances count: bodies come to rest on the ground, joints at their bounds, at the end of a step.
Then q' moves onto the closed loops, and v' loses what would open them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.constraints import close_loops
from regularize.dynamics.pinocchio.tree_states import Split, require_mass
from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.recording import Counters, Sample, record, simulation_of
from regularize.dynamics.simulation.simulation import Simulation, recorded_times
from regularize.errors import ClosureLost, ModelError, RegularizeError
from regularize.guests.contact import Ground
from regularize.guests.contact.step_constraints import (
    JointStops,
    StepConstraints,
    Surroundings,
    TouchingPoints,
)
from regularize.lie.arrays import Array, Configuration, Coordinates, Velocity, read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.tolerances import EXACT, ROUNDING

#: Length of a step in seconds where none is said.
STEP = 1e-3


def stepped_motion(
    loads: Loads,
    start: tuple[Configuration, Velocity],
    duration: float,
    times: Array | None,
    options: Mapping[str, Any],
) -> Simulation:
    """Simulate from closed loops in steps of fixed length; duration and times in s."""
    robot, h = loads.robot, float(options.get("h") or STEP)
    ground, limits = _ground(options.get("contacts")), bool(options.get("limits"))
    points = TouchingPoints() if ground is None else TouchingPoints.of(robot)
    stops = JointStops.of(robot, limits)
    engine = SteppedEngine(loads, Surroundings(stops, ground or Ground(), points, h), start)
    requested: Array = h * np.arange(float(max(1, round(duration / h)) + 1))
    if times is not None:
        requested = recorded_times(times, duration)
    samples = record(engine, engine.ends(requested), options.get("progress"))
    motion = simulation_of(robot, samples, engine, ())
    energy, forces, places, limit_forces, converged = map(np.array, zip(*engine.log, strict=True))
    findings = (*_kept(motion.findings, limits),)
    missed = np.flatnonzero(~converged)
    if len(missed):
        words = (
            f"forces of contacts and stops were not found to the accuracy wanted at {len(missed)} "
            f"of {len(motion.time)} recorded times, first at {motion.time[missed[0]]:.6g} s"
        )
        shorter = ("take shorter steps: h, --step",)
        findings += (Diagnostic("REG340", "warning", words, help=shorter),)
    if ground is not None:
        findings += (*points.findings, PASSING)
    return replace(
        motion,
        energy=read_only(energy),
        findings=findings,
        h=h,
        contact_forces=read_only(forces),
        contact_points=read_only(places),
        contacts=points.bodies,
        limit_forces=read_only(limit_forces),
        limited=stops.names,
        converged=converged,
    )


def _ground(contacts: Any) -> Ground | None:
    """Return the ground that may be touched; anything else, or several, are refused."""
    if contacts is None:
        return None
    grounds = [*contacts] if isinstance(contacts, Sequence) else [contacts]
    if len(grounds) > 1 or any(not isinstance(ground, Ground) for ground in grounds):
        raise ModelError(
            "contacts is a list of one rg.Ground, the plane z = 0; other planes, terrain and "
            f"contacts between bodies are not known here; got {grounds!r:.80}"
        )
    return grounds[0] if grounds else None


#: Contacts between bodies are left out, and a motion with contacts says so.
PASSING = Diagnostic(
    "REG319",
    "note",
    "the ground holds bodies up, which pass through each other: contacts between bodies are not "
    "computed",
    help=("look at the motion: regularize show", "or bound the joints that let them meet"),
)


def _kept(findings: Sequence[Diagnostic], limits: bool) -> Iterator[Diagnostic]:
    """Yield the findings that hold for steps, which obey dry friction and maybe ``limits``."""
    for finding in findings:
        beyond = finding.message.partition(" are not enforced: ")[2]
        if finding.code == "REG316" and limits:
            if finding.severity == "warning":
                words = f"rates, and bounds of ball joints, are not kept: {beyond}"
                yield replace(finding, message=words, help=finding.help[1:])
        elif finding.code != "REG317":
            yield finding


#: Rounds in which rows are taken in that turn out to be needed, and Newton steps onto bounds.
ROUNDS, NEWTON = 5, 8


class SteppedEngine:
    """Integrates a robot's motion in fixed steps; ``NoInertia`` where a motion moves no mass."""

    name, explained = "stepping", np.inf

    def __init__(
        self, loads: Loads, around: Surroundings, begin: tuple[Configuration, Velocity]
    ) -> None:
        self.robot, self.loads, self.around = loads.robot, loads, around
        self.counters = Counters()
        self._q, self._v = begin
        with self.robot.massive_motion():
            terms = self.robot.states.terms(*begin)
            require_mass(terms.M, Split.of(terms.jacobian, self.robot.rank).free)
        self._x = around.stops.coordinates(self._q)
        self.total = self._energy = float(self.robot.energy(*begin))
        self._work, self._solved = 0.0, True
        self._impulses = np.zeros((len(around.friction), 3)), np.zeros(len(around.stops.columns))
        self._places = np.full((len(around.friction), 3), np.nan)
        #: Of each sample: energy less the work of joint forces and loads in J; forces on points in
        #: world axes, shape (points, 3), and where they are, NaN for points that were far off;
        #: forces of the bounds; and whether all impulses since the sample before were found.
        self.log: list[tuple[float, Array, Array, Array, bool]] = []

    @property
    def end(self) -> float:
        """End of the last step, in seconds."""
        return self.counters.steps * self.around.h

    def ends(self, times: Array) -> Array:
        """Return the ends of the steps nearest to times."""
        return np.unique(np.rint(times / self.around.h)) * self.around.h

    def advance(self) -> None:
        """Do nothing, since samples are taken at the ends of steps."""

    def sample(self, t: float) -> Sample:
        """Record forces and energy, and return the motion at the end of the step made last."""
        on_points, on_stops = (impulses / self.around.h for impulses in self._impulses)
        on_bounds = self.around.stops.limit_forces(on_stops)
        energy = self._energy - self._work
        self.log.append((energy, on_points, self._places, on_bounds, self._solved))
        self._solved = True
        return Sample(t, self._q, self._v, self._work)

    def step(self, until: float, sampled: float = 0.0) -> None:
        """Make one step; raise ``ClosureLost`` where loops open or numbers leave all bounds."""
        q, v, x, h, robot, time = self._q, self._v, self._x, self.around.h, self.robot, self.end
        stops, model = self.around.stops, robot.model
        outside, rates = stops.applied(self.loads, time, q, v), stops.rates(q)
        terms, joints = robot.states.terms(q, v), robot.passive.joints
        within = rates.T * (h * joints.damping + h**2 * joints.stiffness)
        # R.T @ R maps impulses to velocities of the closed robot, R of shape (f, nv).
        free = Split.of(terms.jacobian, robot.rank).free
        M = free.T @ (terms.M + within @ rates) @ free
        root = np.linalg.solve(np.linalg.cholesky(M), free.T)
        forces = outside - terms.needed
        if joints.stores:
            forces = forces + rates.T @ joints.springs(x)
        unhindered = root.T @ (root @ (terms.M @ v + h * forces))
        gaps = stops.gaps(x)
        constraints = StepConstraints(self.around, q, v, stops.rows(rates), gaps)
        velocity = self._constrained(constraints, unhindered, root)
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
        self._v, self._energy, lost = self._not_growing(after, ahead, self._energy + work)
        self.counters.correction += lost
        self.counters.steps += 1
        self.counters.evaluations += 1

    def _constrained(
        self, constraints: StepConstraints, unhindered: Velocity, root: Array
    ) -> Velocity:
        """Return the velocity after the impulses of contacts and joint stops."""
        around, velocity, solved = self.around, unhindered, True
        last, self._places = self._impulses, np.full_like(self._places, np.nan)
        self._impulses = np.zeros_like(last[0]), np.zeros_like(last[1])
        chosen = np.zeros(len(around.points.shapes) + len(around.stops.columns), dtype=bool)
        for _ in range(ROUNDS):
            met = constraints.met(velocity)
            if not np.any(met & ~chosen):
                break
            chosen |= met
            rows = constraints.rows(chosen)
            half = root @ rows.matrix.T
            impulses, solved = solve_cones(
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
        self._solved = self._solved and solved
        return np.asarray(velocity)

    def _within_bounds(
        self, q: Configuration, gaps: Array, x: Coordinates
    ) -> tuple[Configuration, Coordinates]:
        """Move q back by Newton steps within the bounds that held before the step."""
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

    def _not_growing(
        self, q: Configuration, v: Velocity, most: float
    ) -> tuple[Velocity, float, float]:
        """Slow down to an energy bound; return velocity, energy and loss in J."""
        kinetic, stored = (float(x) for x in self.robot.states.energies(q, v))
        if self.robot.passive.joints.stores:
            stored += float(self.robot.passive.joints.energy(self._x))
        allowed = max(0.0, most - stored)
        if kinetic <= allowed:
            return v, kinetic + stored, 0.0
        return v * np.sqrt(allowed / kinetic), allowed + stored, kinetic - allowed


#: Errors of velocities and impulses, in parts of the largest velocity without impulses, that are
#: aimed at and accepted.
WANTED, BORNE = 1e-11, 1e-7
#: Name of a solver, how its penalty adapts, and how many iterations it may take.
ConeSolver: TypeAlias = tuple[str, str, int]
#: Each is tried where those before it do not converge, as where friction jams.
SOLVERS: tuple[ConeSolver, ...] = (
    ("ADMM", "LINEAR", 1000),
    ("ADMM", "SPECTRAL", 3000),
    ("PGS", "", 5000),
)
#: ADMM's proximal term as small and its step as long as it bears: with the usual ones (1e-6, 0.5)
#: it takes thousands of iterations where several points of a foot share what holds it.
PROXIMAL, LONGEST = 1e-12, 1.0


def solve_cones(
    delassus: Array, free: Array, frictions: Array, boxes: Array, guess: Array
) -> tuple[Array, bool]:
    """Return the impulses of c contacts, three each, then of s stops, and whether they were found.

    ``free`` are the velocities without impulses, (3c + s,), ``frictions`` the coefficients, (c,),
    ``boxes`` the bounds of the stops' impulses, (s, 2), ``guess`` the impulses to begin with.
    """
    count = 3 * len(frictions)
    # Units of impulses in which every contact and every box moves a mass of one.
    masses = np.diag(delassus).copy()
    masses[:count] = np.repeat(masses[:count].reshape(-1, 3).sum(axis=1) / 3.0, 3)
    scales = 1.0 / np.sqrt(np.where(masses > 0.0, masses, 1.0))
    speed = float(np.abs(scales * free).max())
    if speed == 0.0:
        return np.zeros(len(free)), True
    units = scales * speed  # of impulses, so that the largest velocity is one
    sets = _cones_and_boxes(frictions, boxes / units[count:, None])
    problem = scales[:, None] * delassus * scales, scales * free / speed, *sets
    best, least, begin = np.zeros(len(free)), np.inf, guess / units
    for solver in SOLVERS:
        impulses, error = _solved(solver, problem, begin)
        if error < least:
            best, least, begin = impulses, error, impulses
        if least <= BORNE:
            break
    return units * best, least <= BORNE


def _cones_and_boxes(frictions: Array, boxes: Array) -> tuple[Any, Any]:
    """Return constraint models whose sets are the cones and the boxes, and their data."""
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for friction in frictions.tolist():
        models.append(_cone(friction))
    # As boxes that are open above, stops would have errors that are infinite or nothing.
    bounds = int(np.isinf(boxes[:, 1]).sum())
    if bounds:
        models.append(_lower_bounds(bounds))
    if len(boxes) > bounds:
        sides = [np.ascontiguousarray(side) for side in boxes[bounds:].T]
        box = pin.JointFrictionConstraintModel(*_hinges(len(boxes) - bounds), *sides)
        box.setTimeStep(1.0)  # bounds are those of impulses already
        models.append(pin.ConstraintModel(box))
    for model in models:
        datas.append(model.createData())
    return models, datas


@lru_cache(maxsize=64)
def _cone(friction: float) -> Any:
    """Make a contact model, which tells Pinocchio's solvers the cone."""
    contact = pin.PointContactConstraintModel(_hinges(1)[0], 1)
    contact.setFriction(friction)
    return pin.ConstraintModel(contact)


@lru_cache(maxsize=64)
def _lower_bounds(count: int) -> Any:
    """Make a constraint model of lower joint bounds, which only push."""
    sides = np.zeros(count), np.full(count, np.inf)
    return pin.ConstraintModel(pin.JointLimitConstraintModel(*_hinges(count), *sides))


@lru_cache(maxsize=64)
def _hinges(count: int) -> tuple[Any, Any]:
    """Make a model of some hinges and their indices; it only gives constraint models their size."""
    model = pin.Model()
    for k in range(count):
        model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), f"{k}")
    return model, pin.StdVec_Index([*range(1, count + 1)])


def _solved(
    solver: ConeSolver, problem: tuple[Array, Array, Any, Any], guess: Array
) -> tuple[Array, float]:
    """Return the impulses that one of the solvers finds, and their error."""
    name, rule, most = solver
    delassus, free, models, datas = problem
    settings = getattr(pin, f"{name}SolverSettings")()
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = WANTED
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    settings.max_iterations, settings.solve_ncp = most, True
    if rule:
        settings.admm_update_rule = getattr(pin.ADMMUpdateRule, rule)
        settings.mu_prox, settings.tau = PROXIMAL, LONGEST
    result = getattr(pin, f"{name}SolverResult")()
    result.setConstraintImpulseGuess(guess)
    run = getattr(pin, f"{name}ConstraintSolver")(len(free))
    run.solve(pin.DelassusOperatorDense(delassus), free, models, datas, settings, result)
    impulses = np.array(result.retrieveConstraintImpulses())
    worst = max(result.primal_feasibility, result.dual_feasibility, abs(result.complementarity))
    if not np.isfinite(impulses).all():
        return np.zeros(len(free)), np.inf
    return impulses, float(worst)
