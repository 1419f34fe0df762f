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

from regularize.contact.cone_problem import solve_cones
from regularize.contact.hindrances import JointStops, Key
from regularize.contact.stepping import root_of
from regularize.lie.screw import Array
from regularize.pinocchio.library import pin
from regularize.pinocchio.split import Split
from regularize.simulation.all_coordinates import AllCoordinates
from regularize.simulation.integrator import Integrator, StepTooSmall
from regularize.simulation.loads import Loads
from regularize.simulation.recording import Counters, Sample
from regularize.simulation.solver import Solver
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
        resting: Which of the mechanism's coordinates rest, and where.
    """

    compiled = False

    def __init__(self, loads: StoppedLoads, resting: dict[int, float]) -> None:
        super().__init__(loads.robot, loads)
        self._resting, self._places = list(resting), np.array(list(resting.values()))
        self._stops = loads.stops

    def _rows(self, q: Array, jacobian: Array) -> Array:
        return np.vstack([jacobian, self._stops.rates(q)[self._resting]])

    def acceleration(self, t: float, q: Array, v: Array) -> tuple[Array, float]:
        """Acceleration, shape (nv,), and the power of joint forces in W."""
        if not self._resting or not np.isfinite(q).all():
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
        if not self._resting or not (np.isfinite(q).all() and np.isfinite(v).all()):
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
        self._loads = StoppedLoads(**values, stops=stops, senses=np.zeros(len(stops.named)))
        self.robot, self.stops, self._rtol, self._solver = loads.robot, stops, rtol, solver
        self.counters = Counters()
        self.limit_forces: list[Array] = []
        self._rests: list[Key] = []
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
        forces = np.zeros(len(self.stops.bounded))
        for (kind, k, side), force in zip(
            self._rests, self._held(found, self._rests)[0], strict=True
        ):
            if kind == "bound":
                forces[k] += -force if side else force
        self.limit_forces.append(forces)
        return found

    def _begin(self, at: Sample) -> None:
        """Go on from a state that is not that of the motion before it."""
        stops, loads = self.stops, self._loads
        x, rates = stops.coordinates(at.q), stops.rates(at.q)
        before = float(self.robot.energy(at.q, at.v))
        near: list[Key] = [
            ("bound", int(k), int(s)) for k, s in np.argwhere(stops.gaps(x) <= TOUCHING)
        ]
        v = self._stopped(at.q, at.v, near)
        rate = rates @ v
        keys = [key for key in near if abs(rate[stops.bounded[key[1]]]) <= RESTING]
        still = np.abs(rate[stops.rough]) <= RESTING
        keys += [("rough", int(k), 0) for k in np.flatnonzero(still)]
        senses = np.zeros(len(x))
        senses[stops.rough] = np.where(still, 0.0, np.sign(rate[stops.rough]))
        self._loads = loads = replace(loads, senses=senses)
        forces, left, scale = self._held(replace(at, v=v), keys)
        self._rests = []
        resting: dict[int, float] = {}
        for key, force, acceleration in zip(keys, forces, left, strict=True):
            kind, k, side = key
            i = int((stops.bounded if kind == "bound" else stops.rough)[k])
            if abs(acceleration) <= NEGLECTED * scale and (kind == "rough" or force > 0.0):
                self._rests.append(key)
                bound = (stops.upper if side else stops.lower)[k] if kind == "bound" else x[i]
                resting.setdefault(i, float(bound))
            elif kind == "rough":
                senses[i] = np.sign(acceleration)
        equations = RestingCoordinates(loads, resting)
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

    def _rows(self, q: Array, keys: list[Key]) -> Array:
        """Rates by velocities, of upper bounds with the other sign, shape (k, nv)."""
        stops, rates, rows = self.stops, self.stops.rates(q), [np.zeros((0, self.robot.nv))]
        for kind, k, side in keys:
            i = (stops.bounded if kind == "bound" else stops.rough)[k]
            rows.append((-1.0 if side else 1.0) * rates[i][None])
        return np.vstack(rows)

    def _stopped(self, q: Array, v: Array, keys: list[Key]) -> Array:
        """The velocity after impacts on bounds, shape (nv,)."""
        rows = self._rows(q, keys)
        if not len(rows) or np.all(rows @ v >= -RESTING):
            return v
        root = root_of(self.robot, self.robot.states.terms(q, v).M, self.robot.jacobian(q))
        half = root @ rows.T
        boxes = np.tile([0.0, np.inf], (len(rows), 1))
        impulses = self._solve(half.T @ half, rows @ v, boxes)
        return np.asarray(v + root.T @ (half @ impulses))

    def _held(self, at: Sample, keys: list[Key]) -> tuple[Array, Array, float]:
        """Forces on resting coordinates, accelerations that are left, and a scale of these."""
        if not keys:
            return np.zeros(0), np.zeros(0), 1.0
        robot, rows = self.robot, self._rows(at.q, keys)
        free = rows @ robot.forward_dynamics(at.q, at.v, self._loads(at.time, at.q, at.v))
        if np.abs(free).max() <= NEGLECTED:
            return np.zeros(len(keys)), free, 1.0
        half = root_of(robot, robot.states.terms(at.q, at.v).M, robot.jacobian(at.q)) @ rows.T
        rough = self.stops.friction
        boxes = [(0.0, np.inf) if kind == "bound" else (-rough[k], rough[k]) for kind, k, _ in keys]
        forces = self._solve(half.T @ half, free, np.array(boxes))
        left = free + half.T @ (half @ forces)
        return forces, left, max(1.0, float(np.abs(free).max()))

    def _solve(self, delassus: Array, free: Array, boxes: Array) -> Array:
        found, sound = solve_cones(delassus, free, np.zeros(0), boxes)
        if not sound:
            raise StepTooSmall(self._inner.time if self.counters.steps else 0.0)
        return found

    def _goes_on(self, at: Sample) -> bool:
        """Whether no joint is beyond a bound, slides back, or leaves where it rests."""
        stops, senses = self.stops, self._loads.senses
        gaps = stops.gaps(stops.coordinates(at.q))
        for kind, k, side in self._rests:
            if kind == "bound":
                gaps[k, side] = 0.0
        if np.any(gaps < -TOUCHING) or np.any(senses * (stops.rates(at.q) @ at.v) < -SLIDING):
            return False
        _, left, scale = self._held(at, self._rests)
        return bool(np.all(np.abs(left) <= NEGLECTED * scale))
