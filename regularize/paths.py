r"""The path of a mechanism with one freedom: computed once, it turns motion into one equation.

Whatever its joints, the mechanism moves along one closed curve of configurations q(s). With the
velocity at unit rate :math:`w = dq/ds`, the mass :math:`m(s) = w^T M w` and the potential V(s) its
motion under joint forces :math:`\tau` obeys

.. math:: m \ddot s + \tfrac12 m' \dot s^2 + V' = w^T \tau,

without constraints, and without singularities at dead centres of single joints. All functions are
tabulated to almost the accuracy of the numbers; ``Path.error`` states what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from regularize.analysis import Reduction
from regularize.analysis import reduce as reduce_loops
from regularize.diagnostic import Diagnostic
from regularize.errors import ModelError, NotClosed
from regularize.idle_held import held
from regularize.mechanism import Mechanism
from regularize.minimal import NoInertia
from regularize.path_curve import Curve
from regularize.path_nodes import Nodes, nodes_on, resample, tail
from regularize.path_states import States
from regularize.path_table import ROUND, Table, table_of
from regularize.path_walk import walk_round
from regularize.pinocchio_ import Robot, to_pinocchio
from regularize.screw import Array, read_only
from regularize.simulation import Simulation
from regularize.topology import coordinate_names

#: Relative size of the last Fourier coefficients of mass and potential that counts as none.
TAIL = 1e-13
#: Most samples.
MOST = 16384
#: Points at which the tables are compared with the mechanism itself.
CHECKS = 61
#: Distance from the path, lengths scaled, at which a configuration still lies on it.
ON_PATH = 1e-6


@dataclass(frozen=True, eq=False)
class Path:
    """All motions that a mechanism with one freedom can make, as functions of one coordinate.

    The path coordinate s is zero at the reference configuration and grows by 2 pi per round.

    Attributes:
        robot: The mechanism in Pinocchio.
        curve: Its configurations.
        names: Name of every joint coordinate.
        turns: Change of every joint coordinate per round, shape (n,).
        error: Largest error of the tables at points that they were not made from: distance from
            the curve and direction, lengths scaled, and relative error of the mass.
        samples: Number of configurations that the tables were made from.
        findings: What should be known about the model.
        states: Translates joint coordinates to the robot's.
        functions: What decides the motion: joint coordinates, twice the kinetic energy at unit
            rate, mass times centre of mass in kg m, shape (n + 4).
    """

    robot: Robot
    curve: Curve
    names: tuple[str, ...]
    turns: Array
    error: float
    samples: int
    findings: tuple[Diagnostic, ...]
    states: States = field(repr=False)
    functions: Table = field(repr=False)
    _shape: Table = field(repr=False)
    _rates: Table = field(repr=False)

    def configuration(self, s: Array | float) -> Array:
        """Joint coordinates, those of the cuts included, shape (..., n)."""
        s = np.asarray(s, dtype=np.float64)
        flat = s.reshape(-1)
        return self.curve.restored(self._shape(flat)).reshape(*s.shape, self.curve.n)

    def velocity(self, s: Array | float) -> Array:
        """Joint velocities at unit rate of the path coordinate, shape (..., n)."""
        s = np.asarray(s, dtype=np.float64)
        return self._rates(s.reshape(-1)).reshape(*s.shape, self.curve.n)

    def mass(self, s: Array | float) -> Array:
        """Twice the kinetic energy at unit rate of the path coordinate, shape (...)."""
        s = np.asarray(s, dtype=np.float64)
        return self.functions(s.reshape(-1))[:, self.curve.n].reshape(s.shape)

    def potential(self, s: Array | float, gravity: Array | None = None) -> Array:
        """Gravitational energy in J, shape (...); ``gravity`` in m/s², by default the model's."""
        s = np.asarray(s, dtype=np.float64)
        g = self.robot.model.gravity.linear if gravity is None else np.asarray(gravity)
        moments = self.functions(s.reshape(-1))[:, self.curve.n + 1 :]
        return np.asarray(-(moments @ g).reshape(s.shape))

    def simulate(
        self,
        duration: float,
        *,
        torques: Mapping[str, float | Callable[[float], float]] | None = None,
        forces: Callable[[float, Array, Array], Array] | None = None,
        q: Array | Mapping[str, float] | None = None,
        v: Array | None = None,
        rates: Mapping[str, float] | None = None,
        gravity: Array | None = None,
        times: Array | None = None,
        rtol: float = 1e-9,
        max_step: float = np.inf,
        progress: Callable[[float], None] | None = None,
    ) -> Simulation:
        """Let the mechanism move.

        Where gravity and constant joint forces are all there is and the motion is periodic, time
        follows from an exact quadrature; otherwise the equation of motion is solved in windows.

        Args:
            duration: Length of the simulation in seconds.
            torques: Force or torque of joints by name, those of the cuts included, constant or
                over time.
            forces: Further joint forces by time, configuration and velocity of ``robot``: springs,
                dampers, controllers; shape (nv,).
            q: Configuration of ``robot`` to begin with, shape (nq,), or some joint coordinates by
                name; by default the reference.
            v: Velocity of ``robot`` to begin with, shape (nv,); by default rest.
            rates: Joint rates to begin with, by name, in place of ``v``.
            gravity: Acceleration of free fall in m/s², shape (3,); by default the model's.
            times: Times at which the motion is recorded, increasing, in seconds; by default 100 per
                second.
            rtol: Relative error of times, or of the rate per window.
            max_step: Longest window in seconds, for forces that come and go in between.
            progress: Called now and then with the fraction done.

        Raises:
            ModelError: The duration is not positive, a name or a shape does not fit the model, or
                the path does not lead through the state to begin with.
            StepTooSmall: The motion cannot be continued.
        """
        from regularize.path_motion import simulate_path

        return simulate_path(
            self,
            duration=duration,
            torques=torques,
            forces=forces,
            q=q,
            v=v,
            rates=rates,
            gravity=gravity,
            times=times,
            rtol=rtol,
            max_step=max_step,
            progress=progress,
        )

    def locate(self, coordinates: Mapping[str, float] | Array) -> float:
        """Path coordinate of a configuration.

        Args:
            coordinates: All joint coordinates, shape (n,), or some of them by name; of several
                places that fit, the one nearest to the reference along the path.

        Raises:
            ModelError: The path does not lead there.
        """
        columns: list[int] | None = None
        if isinstance(coordinates, Mapping):
            columns = self.columns(coordinates)
            wanted = np.zeros((1, self.curve.n))
            wanted[0, columns] = list(coordinates.values())
        else:
            wanted = np.asarray(coordinates, dtype=np.float64).reshape(1, -1)
            if wanted.shape[1] != self.curve.n:
                raise ModelError(f"a configuration has {self.curve.n} coordinates: {self.names}")

        def gap(s: Array) -> Array:
            there = self.configuration(s)
            left = self.curve.differences(there, np.repeat(wanted, len(s), axis=0))
            left = self.curve.wrapped(left)
            return left if columns is None else left[:, columns]

        s = np.linspace(-0.5, 0.5, 4 * self.samples + 1) * ROUND
        distance = np.linalg.norm(gap(s), axis=1)
        low = distance <= np.minimum(
            np.append(distance[1:], np.inf), np.append(np.inf, distance[:-1])
        )
        s = s[low]
        for _ in range(20):
            left, rate = gap(s), self.velocity(s) / self.curve.units
            rate = rate if columns is None else rate[:, columns]
            size = np.maximum(np.sum(rate**2, axis=1), 1e-30)
            step = np.sum(left * rate, axis=1) / size
            s = s + np.clip(step, -0.1, 0.1)
        fits = s[np.linalg.norm(gap(s), axis=1) < ON_PATH]
        if not len(fits):
            raise ModelError(
                f"the path does not lead to this configuration; it comes no nearer than "
                f"{float(np.min(distance)):.3g} (radians, and lengths in units of "
                f"{self.curve.loops.length:.3g} m)"
            )
        return float(fits[np.argmin(np.abs(fits))])

    def columns(self, names: Mapping[str, object]) -> list[int]:
        """Positions of joint coordinates by name.

        Raises:
            ModelError: A name is unknown, or its joint has several freedoms.
        """
        found = []
        for name in names:
            if name not in self.names:
                joint = self.robot.reduction.mechanism.joint(name)
                raise ModelError(
                    f"joint {name!r} has {joint.freedoms} freedoms; name one that has a single one"
                )
            column = self.names.index(name)
            if column not in self.curve.plain:
                raise ModelError(f"joint {name.partition('[')[0]!r} has no coordinates one by one")
            found.append(column)
        return found


def path(model: Mechanism | Reduction | Robot) -> Path:
    """The path of a mechanism with one freedom, from its assembled configuration all around.

    Args:
        model: A mechanism, its reduction or its robot. Bodies that can spin idly between two
            spherical joints are held, which is named in ``findings``.

    Raises:
        ModelError: The mechanism has another number of freedoms.
        NotClosed: The loops are open.
        SingularPath: The curve of configurations runs through a singular one, or never comes back.
        NoInertia: The mechanism can move without moving any mass.
    """
    reduction, robot = _reduced(model)
    findings: tuple[Diagnostic, ...] = ()
    if reduction.mobility > 1:
        mechanism, findings = held(reduction)
        if findings:
            reduction = reduce_loops(mechanism, rtol=reduction.rtol, seed=reduction.seed)
            robot = None
    if reduction.mobility != 1:
        raise ModelError(
            f"the mechanism has {reduction.mobility} freedoms, and only one with a single freedom "
            'moves along a path; simulate it in other coordinates: coordinates="minimal" or "all"'
        )
    assembly = reduction.assembly
    if not assembly.closed:
        worst = max(assembly.after, key=lambda gap: gap.translation + gap.rotation)
        raise NotClosed(worst.joint, worst.translation, worst.rotation)
    robot = robot or to_pinocchio(reduction)
    curve, states = Curve(reduction), States(robot)
    nodes = nodes_on(curve, walk_round(curve, np.array(reduction.q)))
    shape, rates, functions, samples = _tables(curve, states, nodes)
    result = Path(
        robot,
        curve,
        coordinate_names(reduction.mechanism),
        read_only(nodes.turns),
        0.0,
        samples,
        findings,
        states,
        functions,
        shape,
        rates,
    )
    object.__setattr__(result, "error", _error(result))
    return result


def _reduced(model: Mechanism | Reduction | Robot) -> tuple[Reduction, Robot | None]:
    if isinstance(model, Robot):
        return model.reduction, model if model.style == "rows" else None
    return (reduce_loops(model) if isinstance(model, Mechanism) else model), None


def _tables(curve: Curve, states: States, nodes: Nodes) -> tuple[Table, Table, Table, int]:
    """Configurations, their rates, what decides the motion, and how many samples it took."""
    N = len(nodes.q)
    plain = len(curve.plain)
    embedded = curve.embedded(nodes.q)
    growth = np.zeros(embedded.shape[1])
    growth[:plain] = nodes.turns[curve.plain]
    straight = embedded - np.outer(np.arange(N) / N, growth)
    count = N
    while True:
        sampled, v = straight, nodes.v
        if count > N:
            sampled, v = resample(straight, count), resample(nodes.v, count)
        q = curve.restored(sampled + np.outer(np.arange(count) / count, growth))
        inertia = states.inertia(q, v)
        scale = np.append(inertia[:, 0].max(), np.repeat(np.max(np.abs(inertia[:, 1:])), 3))
        if not inertia[:, 0].min() > 1e-10 * scale[0]:
            raise NoInertia(
                "the mechanism can move, or pass a dead centre, without moving any mass; give all "
                "bodies mass properties"
            )
        if tail(inertia / np.maximum(scale, 1e-300)) < TAIL or 2 * count > MOST:
            break
        count *= 2
    # Group joints have no coordinates that could do work one by one.
    single = np.zeros((count, curve.n))
    single[:, curve.plain] = sampled[:, :plain]
    turns = np.zeros(curve.n + 4)
    turns[: curve.n] = nodes.turns
    return (
        table_of(straight, growth),
        table_of(nodes.v, np.zeros(curve.n)),
        table_of(np.hstack([single, inertia]), turns),
        count,
    )


def _error(path: Path) -> float:
    """Largest error at points between the samples."""
    curve = path.curve
    # Steps of the golden section: never near the samples all at once.
    s = ROUND * np.modf(np.arange(1, CHECKS + 1) * 0.6180339887498949)[0]
    q, v = path.configuration(s), path.velocity(s)
    points = curve.points(q, v)
    scaled = v / curve.units
    speed = np.linalg.norm(scaled, axis=1, keepdims=True)
    exact = path.states.inertia(q, speed * points.tangent * curve.units)[:, 0]
    return float(
        max(
            np.max(np.abs(points.correction)),
            np.max(np.abs(scaled / speed - points.tangent)),
            np.max(np.abs(path.mass(s) / exact - 1.0)),
        )
    )
