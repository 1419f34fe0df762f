r"""Motions between events: joints meet their bounds and leave them, stick and slide.

Between events the motion is smooth, and integrated as every other: joints that rest at a bound or
stick are rows beside those of the loops, dry friction of joints that slide is a constant force. An
event ends a step; impulses stop what would go beyond a bound, without a bounce, and the forces

.. math:: \sigma = G \lambda + C a, \qquad 0 \le \lambda_b \perp \sigma_b \ge 0, \quad
    |\lambda_f| \le \mu, \; \lambda_f \sigma_f \le 0

with the accelerations a without them say which joints go on resting.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.split import Split
from regularize.dynamics.simulation import Solver
from regularize.dynamics.simulation.all_coordinates import AllCoordinates
from regularize.dynamics.simulation.integrator import Integrator, StepTooSmall
from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.recording import Counters, Sample
from regularize.guests.contact.cone_problem import solve_cones
from regularize.guests.contact.stepping import root_of
from regularize.guests.contact.stops import JointStops
from regularize.lie.arrays import Array
from regularize.tolerances import EXACT, ROUNDING

#: Distances that are none, rates against the sense of sliding that end it and that are none, and
#: parts of the largest acceleration that are none.
TOUCHING, SLIDING, RESTING, NEGLECTED = 1e-10, 1e-9, 1e-8, 1e-7
#: Times within a step at which it is looked at, halvings of the time of an event, and events at one
#: time after which there is no motion.
LOOKS, HALVINGS, MOST = 4, 44, 20


@dataclass(frozen=True, eq=False, repr=False)
class StoppedLoads(Loads):
    """Loads with motors within their efforts, and joints that slide against constant friction.

    Attributes:
        stops: Bounds, efforts and friction.
        senses: Those in which joint coordinates slide, zero where they rest, shape (n,).
    """

    stops: JointStops = None  # type: ignore[assignment]
    senses: Array = None  # type: ignore[assignment]

    def working(self, t: float, q: Array, v: Array) -> Array:
        """Joint forces that change the energy, shape (nv,)."""
        joints, rates = self.robot.passive.joints, self.stops.rates(q)
        within = joints.damping * (rates @ v) + joints.friction * self.senses
        return np.asarray(self.stops.applied(self, t, q, v) - rates.T @ within)


class RestingCoordinates(AllCoordinates):
    """Equations of motion of a robot some of whose joint coordinates rest.

    Args:
        loads: What acts on it.
        resting: Which of the mechanism's coordinates rest, shape (k,).
        places: Where, shape (k,).
    """

    compiled = False

    def __init__(self, loads: StoppedLoads, resting: NDArray[np.intp], places: Array) -> None:
        super().__init__(loads.robot, loads)
        self._resting, self._places, self._stops = resting, places, loads.stops

    def _rows(self, q: Array, jacobian: Array) -> Array:
        return np.vstack([jacobian, self._stops.rates(q)[self._resting]])

    def acceleration(self, t: float, q: Array, v: Array) -> tuple[Array, float]:
        """Acceleration, shape (nv,), and the power of joint forces in W."""
        if not len(self._resting) or not np.isfinite(q).all():
            return super().acceleration(t, q, v)
        working, terms = self.loads.working(t, q, v), self.robot.states.terms(q, v)
        rows = self._rows(q, terms.jacobian)
        parts = Split.of(rows, np.linalg.matrix_rank(rows, rtol=EXACT.singular))
        wanted = np.concatenate([-terms.bias, np.zeros(len(self._resting))])
        forces = working + self.loads.springs(q) - terms.needed
        return parts.response(terms.M, forces, wanted), float(working @ v)

    def project(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The nearest configuration with closed loops, and the velocity without what opens them."""
        q, v = super().project(t, q, v)
        if not len(self._resting) or not (np.isfinite(q).all() and np.isfinite(v).all()):
            return q, v
        for _ in range(LOOKS):
            away = self._stops.coordinates(q)[self._resting] - self._places
            errors = np.concatenate([self.robot.residual(q), away])
            rows = self._rows(q, self.robot.jacobian(q))
            if np.abs(errors).max() < ROUNDING:
                break
            change = np.linalg.lstsq(rows, errors, rcond=EXACT.singular)[0]
            q = pin.integrate(self.robot.model, q, -change)
        return q, v - np.linalg.lstsq(rows, rows @ v, rcond=EXACT.singular)[0]


class EventEngine:
    """Integrates a robot's motion from event to event.

    Args:
        loads: What acts on it.
        stops: Bounds, efforts and friction of its joints.
        begin: Configuration with closed loops and velocity, shapes (nq,) and (nv,).
        rtol: Relative error per step.
        solver: Further choices.

    Attributes:
        limit_forces: Forces of the bounds at the samples so far, shape (bounded,) each.
    """

    name = "events"

    def __init__(
        self,
        loads: Loads,
        stops: JointStops,
        begin: tuple[Array, Array],
        rtol: float,
        solver: Solver,
    ) -> None:
        values = {f.name: getattr(loads, f.name) for f in fields(Loads)}
        self._loads = StoppedLoads(
            **values, stops=stops, senses=np.zeros(loads.robot.reduction.graph.freedoms)
        )
        self.robot, self.stops, self._rtol, self._solver = loads.robot, stops, rtol, solver
        self.counters = Counters()
        self.limit_forces: list[Array] = []
        self._rests = np.zeros(0, dtype=np.intp)
        self._events, self._event = 0, None
        self.total = self.robot.energy(*begin)
        self._begin(Sample(0.0, *begin, 0.0))

    @property
    def explained(self) -> float:
        """Part of the energy that errors explain."""
        return self._inner.explained

    def ends(self, times: Array) -> Array:
        """The times themselves."""
        return times

    @property
    def end(self) -> float:
        """End of the step made last, or the event before, in seconds."""
        return self._inner.end if self._event is None else self._event

    def step(self, until: float, sampled: float = 0.0) -> None:
        """Make one step, and find the first event in it."""
        begun = self._inner.time
        self._inner.step(until)
        self._event, good = None, begun
        for t in np.linspace(begun, self._inner.end, LOOKS + 1)[1:].tolist():
            if self._goes_on(self._inner.sample(t)):
                good = t
                continue
            for _ in range(HALVINGS):
                middle = 0.5 * (good + t)
                if self._goes_on(self._inner.sample(middle)):
                    good = middle
                else:
                    t = middle
            self._event = t
            self._events = self._events + 1 if t - begun <= ROUNDING * max(1.0, t) else 0
            if self._events > MOST:
                raise StepTooSmall(t)
            return

    def advance(self) -> None:
        """Go to the end of the step made last, and beyond an event."""
        if self._event is None:
            self._inner.advance()
        else:
            self._begin(self._inner.sample(self._event))

    def sample(self, t: float) -> Sample:
        """The motion at a time within the step made last."""
        found = self._inner.sample(t)
        forces = np.zeros(len(self.stops.columns))
        forces[self._rests] = self._held(found, self._rests)[0]
        self.limit_forces.append(self.stops.limit_forces(forces))
        return found

    def _begin(self, at: Sample) -> None:
        """Go on from a state that is not that of the motion before it."""
        stops, loads = self.stops, self._loads
        x, rates = stops.coordinates(at.q), stops.rates(at.q)
        before = float(self.robot.energy(at.q, at.v))
        gaps, rough = stops.gaps(x), stops.rough
        v = self._stopped(at.q, at.v, gaps <= TOUCHING)
        rate = (rates @ v)[stops.columns]
        still = np.abs(rate) <= RESTING
        senses, sliding = np.zeros(len(x)), rough & ~still
        senses[stops.columns[sliding]] = np.sign(rate[sliding])
        self._loads = loads = replace(loads, senses=senses)
        held = np.flatnonzero(still & (rough | (gaps <= TOUCHING)))
        _, left, scale = self._held(replace(at, v=v), held)
        resting = np.abs(left) <= NEGLECTED * scale  # at bounds also where nothing presses
        going = rough[held] & ~resting
        senses[stops.columns[held[going]]] = np.sign(left[going])
        self._rests = held[resting]
        # Bounds come first: where they are is told, where friction holds is found.
        columns, first = np.unique(stops.columns[self._rests], return_index=True)
        at_bounds, found = stops.places[self._rests[first]], x[columns]
        places = np.where(np.isnan(at_bounds), found, at_bounds)
        equations = RestingCoordinates(loads, columns, places)
        q, v = equations.project(at.time, at.q, v)
        work = at.work + float(self.robot.energy(q, v)) - before
        atol = self._rtol if self._solver.atol is None else self._solver.atol
        self._inner = Integrator(
            equations,
            self._rtol,
            atol,
            at.time,
            q,
            v,
            work=work,
            max_step=self._solver.max_step,
            conserve=self._solver.conserve,
            counters=self.counters,
        )
        self._event = None

    def _stopped(self, q: Array, v: Array, met: NDArray[np.bool_]) -> Array:
        """The velocity after impacts on bounds, shape (nv,)."""
        rates = self.stops.rows(self.stops.rates(q)) @ v
        if np.all(rates[met] >= -RESTING):
            return v
        return v + self._solved(q, v, np.flatnonzero(met), rates[met])[1]

    def _held(self, at: Sample, held: NDArray[np.intp]) -> tuple[Array, Array, float]:
        """Forces of stops that rest, accelerations that are left, and a scale of these."""
        if not len(held):
            return np.zeros(0), np.zeros(0), 1.0
        rows = self.stops.rows(self.stops.rates(at.q))[held]
        free = rows @ self.robot.forward_dynamics(at.q, at.v, self._loads(at.time, at.q, at.v))
        scale = float(np.abs(free).max())
        if scale <= NEGLECTED:
            return np.zeros(len(held)), free, 1.0
        forces, change = self._solved(at.q, at.v, held, free)
        return forces, free + rows @ change, max(1.0, scale)

    def _solved(
        self, q: Array, v: Array, stops: NDArray[np.intp], free: Array
    ) -> tuple[Array, Array]:
        """What stops give where their rows move as said without, and what that does, (nv,).

        Raises:
            StepTooSmall: It is not found.
        """
        root = root_of(self.robot, self.robot.states.terms(q, v).M, self.robot.jacobian(q))
        half = root @ self.stops.rows(self.stops.rates(q))[stops].T
        found, sound = solve_cones(half.T @ half, free, np.zeros(0), self.stops.boxes[stops])
        if not sound:
            raise StepTooSmall(self._inner.time if self.counters.steps else 0.0)
        return found, root.T @ (half @ found)

    def _goes_on(self, at: Sample) -> bool:
        """Whether no joint is beyond a bound, slides back, or leaves where it rests."""
        stops, senses = self.stops, self._loads.senses
        gaps = stops.gaps(stops.coordinates(at.q))
        gaps[self._rests] = 0.0
        if np.any(gaps < -TOUCHING) or np.any(senses * (stops.rates(at.q) @ at.v) < -SLIDING):
            return False
        _, left, scale = self._held(at, self._rests)
        return bool(np.all(np.abs(left) <= NEGLECTED * scale))
