"""Motion along the path of a mechanism with one freedom, reported like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import LowLevelCallable

from regularize.arguments import vector
from regularize.dynamics.inputs import Actuation, JointForces, forces_of, torque_of
from regularize.dynamics.loads import Loads
from regularize.dynamics.one_freedom.collocation import Collocation, Travel
from regularize.dynamics.one_freedom.functions import PathFunctions
from regularize.dynamics.one_freedom.quadrature import orbit
from regularize.dynamics.recording import Counters, simulation_of
from regularize.dynamics.simulation import Simulation
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.pinocchio_model.exporting import to_pinocchio


class PathMotion:
    """A mechanism on its path under gravity and joint forces.

    Args:
        path: The path.
        torques: Force or torque of joints by name, constant or over time.
        forces: Further joint forces.
        gravity: Acceleration of free fall in m/s², shape (3,); by default the model's.
        slip: Rate below which dry friction falls off; by default 1e-3.

    Raises:
        ModelError: A name or a shape does not fit the model.
    """

    def __init__(
        self,
        path: PathFunctions,
        torques: Mapping[str, Actuation],
        forces: JointForces | LowLevelCallable | None,
        gravity: Array | None,
        slip: float | None = None,
    ) -> None:
        """Tell what has a potential from what changes over time or with the motion."""
        given = {name: torque_of(name, torque) for name, torque in torques.items()}
        self.path, self.robot = path, path.robot
        passive = self.robot.passive.joints
        within = passive.dissipates or passive.stores
        acting = forces_of(forces)
        self._forces = Loads(self.robot, acting, slip) if within else acting
        if gravity is not None:
            if np.shape(gravity) != (3,):
                raise ModelError(f"gravity has shape {np.shape(gravity)}, but it is a vector: (3,)")
            self.robot = to_pinocchio(self.robot.reduction, self.robot.style)
            self.robot.model.gravity.linear = np.asarray(gravity)
        constant = {n: float(t) for n, t in given.items() if not callable(t)}
        self._constant, self._amounts = path.columns(constant), np.array([*constant.values()])
        varying = {n: t for n, t in given.items() if callable(t)}
        self._varying, self._courses = path.columns(varying), [*varying.values()]
        self._known = (np.zeros(0), np.zeros((0, 0)))
        # Mass, and the potential of gravity and of constant joint forces.
        n = path.curve.n
        matrix = np.zeros((n + 4, 2))
        matrix[n, 0] = 1.0
        matrix[n + 1 :, 1] = -self.robot.gravity
        np.subtract.at(matrix[:, 1], self._constant, self._amounts)
        self._motion = path.functions.combined(matrix)

    def state(
        self,
        q: Array | Mapping[str, float] | None,
        v: Array | None,
        rates: Mapping[str, float] | None,
    ) -> tuple[float, float]:
        """Path coordinate and its rate of a state to begin with; see ``Path.simulate``.

        Raises:
            ModelError: The path does not lead through it, or a shape does not fit the model.
        """
        path = self.path
        if q is not None and not isinstance(q, Mapping):
            q = path.robot.coordinates(vector("q", q, path.robot.nq))
        s = 0.0 if q is None else path.locate(q)
        at = np.array([s])
        if rates:
            direction = path.velocity(at)[0, path.columns(rates)]
            wanted = np.array(list(rates.values()), dtype=np.float64)
        elif v is not None:
            direction = path.states.velocities(path.configuration(at), path.velocity(at))[0]
            wanted = vector("v", v, len(direction))
        else:
            return s, 0.0
        size = float(direction @ direction)
        rate = float(direction @ wanted) / size if size > 1e-24 else 0.0
        missed = float(np.max(np.abs(wanted - rate * direction)))
        if missed > path.curve.tolerances.same * max(1.0, float(np.max(np.abs(wanted)))):
            named = ", ".join(f"{n} = {x:g}" for n, x in (rates or {}).items()) or "v"
            raise ModelError(
                f"the mechanism cannot move like that ({named}): its joints move in fixed "
                "proportion, and at a dead centre a joint stands still; name the rate of another "
                "joint"
            )
        return s, rate

    def travel(
        self,
        s: float,
        rate: float,
        times: Array,
        rtol: float,
        max_step: float,
        progress: Callable[[float], None] | None,
    ) -> Travel:
        """The motion from a state at time zero: by quadrature where it is periodic.

        Raises:
            StepTooSmall: It cannot be continued.
        """
        driven = bool(self._courses) or self._forces is not None
        travel = None if driven else self._periodic(s, rate, times, rtol)
        if travel is None:
            drive = self._drive if driven else None
            collocation = Collocation(self._motion, drive, rtol, max_step)
            travel = collocation.travel(s, rate, times, progress)
        if progress is not None:
            progress(1.0)
        return travel

    def _periodic(self, s: float, rate: float, times: Array, rtol: float) -> Travel | None:
        motion, N = self._motion, len(times)
        (mass, potential), (_, slope) = (motion(np.array([s]), k)[0] for k in range(2))
        largest = float(np.max(np.abs(motion.coefficients[-1, :, 1])))
        # A force that is nothing but rounding of the potential keeps the balance.
        if rate == 0.0 and abs(slope) <= 1e-11 * largest:
            return Travel(np.full(N, s), np.zeros(N), np.zeros(N), Counters(evaluations=1))
        energy = 0.5 * float(mass) * rate**2 + float(potential)
        found = orbit(motion, energy, s, rate, -float(slope), 0.1 * rtol)
        if found is None:
            return None
        place, speed = found.at(times)
        return Travel(place, speed, np.zeros(N), Counters(1, evaluations=found.points))

    def _drive(self, t: Array, s: Array, rate: Array) -> Array:
        """Generalised force of what changes over time or with the motion, shape (N,)."""
        path = self.path
        w = path.velocity(s)
        if self._known[0] is not t:
            # Newton steps ask for the same times again and again.
            self._known = t, np.array([[torque(float(x)) for torque in self._courses] for x in t])
        total = np.sum(w[:, self._varying] * self._known[1], axis=1)
        if self._forces is not None:
            q = path.configuration(s)
            along = path.states.velocities(q, w)
            states = zip(t, path.states.configurations(q), rate[:, None] * along, strict=True)
            tau = np.array([self._forces(float(x), a, b) for x, a, b in states])
            total = total + np.sum(tau * along, axis=1)
        return np.asarray(total)

    def simulation(
        self, s: float, times: Array, travel: Travel, findings: tuple[Diagnostic, ...]
    ) -> Simulation:
        """A motion from a path coordinate with its checks, all on the full model."""
        path, robot, loops = self.path, self.robot, self.path.curve.loops
        coordinates = path.configuration(travel.s)
        velocities = travel.rate[:, None] * path.velocity(travel.s)
        q = path.states.configurations(coordinates)
        v = path.states.velocities(coordinates, velocities)
        # Springs have done what they no longer hold; the rest is work that the energy lacks.
        held = robot.passive.joints.energy(path.configuration(np.append(s, travel.s)))
        work = travel.work + (held[1:] - held[0])
        if self._constant:
            moved = coordinates[:, self._constant] - path.configuration(s)[self._constant]
            work = work + moved @ self._amounts
        closure = None
        if len(q) > 10:
            # Few are quicker one by one.
            errors = np.abs(loops.residual(loops.state(coordinates)))
            closure = np.max(errors, axis=1, initial=0.0)
        return simulation_of(
            robot,
            times,
            q,
            v,
            work,
            travel.counters,
            "path",
            coordinates=coordinates,
            closure=closure,
            findings=findings,
        )
