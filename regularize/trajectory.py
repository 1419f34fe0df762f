r"""Simulation in minimal coordinates by any method of ``scipy.integrate.solve_ivp``.

The state holds the independent displacements and velocities only; everything else follows from
closed loops, so nothing drifts. When the dependent coordinates become badly conditioned, another
choice is made and the integration goes on from the same configuration (Paul 2020, step 8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from regularize.errors import RegularizeError
from regularize.minimal import ClosureLost, MinimalDynamics, NoInertia, Pose, SingularConfiguration
from regularize.partition import columns_of
from regularize.screw import Array, read_only

#: Joint forces by time, configuration and velocity, shape (nv,).
Torque = Callable[[float, Array, Array], Array]

#: Methods of ``solve_ivp`` that shorten a step at which the loops do not close.
EXPLICIT = ("RK23", "RK45", "DOP853")

#: Displacement of a group joint (radians) at which the reference is moved along.
FAR = 2.0
#: Largest change of a prescribed coordinate in one step, so that the pose stays on its branch.
STRIDE = 0.05


class IntegrationFailed(RegularizeError):
    """The integrator stopped before the end."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A simulated motion.

    Attributes:
        t: Times in seconds, shape (N,).
        q: Configurations of the Pinocchio model, shape (N, nq).
        v: Velocities, shape (N, nv).
        a: Accelerations, shape (N, nv).
        closure: Largest error of all kept rows, lengths scaled, shape (N,).
        forced: Forces that the prescribed motions needed, shape (N, forced).
        energy: Kinetic and potential energy in joules, shape (N,).
        partitions: Times at which independent coordinates were chosen, and their names.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    closure: Array
    forced: Array
    energy: Array
    partitions: tuple[tuple[float, tuple[str, ...]], ...]


class _Segment:
    """Integration with one choice of coordinates; remembers the last pose as a first guess."""

    def __init__(self, dynamics: MinimalDynamics, torque: Torque | None, *, explicit: bool) -> None:
        self.dynamics, self.torque, self.explicit = dynamics, torque, explicit
        self.lost: ClosureLost | NoInertia | None = None
        self.free = [dynamics.known[i] for i in dynamics.free]
        self.driven = [dynamics.known[i] for i in dynamics.driven]
        self.motions = [dynamics.forced[dynamics.names[c]] for c in self.driven]
        self.offset = dynamics.positions(dynamics.reference, self.driven)
        self.pose = dynamics.close(np.zeros(dynamics.robot.model.nv))
        self.guess = dynamics.displacement(self.pose.q)
        self.started = self.pose.condition
        self._origin = self.guess, self.pose

    def rewind(self) -> None:
        """Take the pose at the start as the first guess again."""
        self.guess, self.pose = self._origin

    def state(self, q: Array, v: Array) -> Array:
        return np.concatenate([self.dynamics.displacement(q)[self.free], v[self.free]])

    def resolve(self, t: float, state: Array) -> tuple[Pose, Array, Array]:
        """Pose, velocities of all coordinates and prescribed accelerations."""
        n = len(self.free)
        target = self.guess.copy()
        target[self.free] = state[:n]
        prescribed = np.array([motion(t) for motion in self.motions]).reshape(-1, 3)
        target[self.driven] = prescribed[:, 0] - self.offset
        pose = self._follow(target)
        known = np.zeros(len(self.dynamics.known))
        known[self.dynamics.free], known[self.dynamics.driven] = state[n:], prescribed[:, 1]
        return pose, self.dynamics.velocity(pose, known), prescribed[:, 2]

    def _follow(self, target: Array) -> Pose:
        """Close the loops, in several steps where the way is too far for one."""
        dynamics = self.dynamics
        columns = dynamics.known
        done, step = 0.0, 1.0
        start, before = self.guess.copy(), (self.guess, self.pose)
        while done < 1.0:
            trial = self.guess.copy()
            trial[columns] = start[columns] + min(1.0, done + step) * (target - start)[columns]
            rates = dynamics.rates(self.guess)
            along = self.pose.transmission @ (rates @ (trial - self.guess))[columns]
            dependent = list(dynamics.choice.dependent)
            trial[dependent] += np.linalg.solve(rates, along)[dependent]
            try:
                self.pose = dynamics.close(trial)
            except ClosureLost:
                step *= 0.5
                if step < 1e-3:
                    self.guess, self.pose = before
                    raise
                continue
            done = min(1.0, done + step)
            self.guess = dynamics.displacement(self.pose.q)
        return self.pose

    def rate(self, t: float, state: Array) -> Array:
        try:
            pose, v, prescribed = self.resolve(t, state)
            a, _ = self.dynamics.acceleration(pose, v, self.tau(t, pose.q, v), prescribed)
        except (ClosureLost, NoInertia) as lost:
            if not self.explicit:
                raise
            # An explicit method takes a shorter step when it meets no number.
            self.lost = lost
            return np.full(len(state), np.nan)
        rates = np.linalg.solve(self.dynamics.rates(self.guess), v)
        return np.concatenate([rates[self.free], a[self.free]])

    def tau(self, t: float, q: Array, v: Array) -> Array:
        if self.torque is None:
            return np.zeros(self.dynamics.robot.model.nv)
        return np.asarray(self.torque(t, q, v), dtype=np.float64)


def simulate(
    dynamics: MinimalDynamics,
    times: Sequence[float] | Array,
    q: Array | None = None,
    v: Mapping[str, float] | Array | None = None,
    torque: Torque | None = None,
    *,
    method: Any = "DOP853",
    rtol: float = 1e-9,
    atol: float = 1e-11,
    degradation: float = 10.0,
    **options: Any,
) -> Trajectory:
    """Integrate the equations of motion.

    Args:
        dynamics: From ``minimal_dynamics``.
        times: Times at which the motion is reported, increasing, in seconds.
        q: Starting configuration of the Pinocchio model, shape (nq,); by default the reference.
            The dependent and the forced coordinates are corrected.
        v: Starting velocities of independent coordinates by name (zero otherwise), or of all
            coordinates, shape (nv,), of which the independent ones are used.
        torque: Joint forces by time, configuration and velocity; by default none.
        method: Any method of ``scipy.integrate.solve_ivp``.
        rtol: Relative tolerance of the integrator.
        atol: Absolute tolerance of the integrator.
        degradation: New coordinates are chosen when the condition number has grown by this factor.
        options: Further options of ``solve_ivp``.

    Raises:
        ClosureLost: The mechanism was driven against a limit of its motion.
        NoInertia: The mechanism can move without moving any mass.
        IntegrationFailed: The integrator gave up.
    """
    times = np.asarray(times, dtype=np.float64)
    pose = dynamics.moved(dynamics.reference if q is None else np.asarray(q), float(times[0]))
    velocity = _velocities(dynamics, v)
    dynamics = dynamics.repartitioned(pose.q)
    samples: list[tuple[Array, ...]] = []
    partitions = [(float(times[0]), dynamics.independent)]
    t, limit = float(times[0]), degradation
    segment = _Segment(dynamics, torque, explicit=method in EXPLICIT)
    state = segment.state(pose.q, velocity)
    if not segment.free:
        return _trajectory(_driven(segment, times), partitions)
    while True:
        events = _events(segment, limit)
        solution = solve_ivp(
            segment.rate,
            (t, float(times[-1])),
            state,
            method=method,
            t_eval=times[(times >= t) if not samples else (times > t)],
            events=events,
            rtol=rtol,
            atol=atol,
            **options,
        )
        segment.rewind()
        states = np.reshape(solution.y, (len(state), len(solution.t))).T
        samples += [_sample(segment, s, y) for s, y in zip(solution.t, states, strict=True)]
        if solution.status != 1:
            break
        stops = zip(solution.t_events or (), solution.y_events or (), strict=True)
        t, state = next((float(when[0]), y[0]) for when, y in stops if len(when))
        if t >= times[-1]:
            break
        pose, velocity, _ = segment.resolve(t, state)
        better = _better(dynamics, pose)
        improved = better is not None
        # Close to a singularity no choice is good: go on until it is ten times worse again.
        limit = degradation if improved else degradation * pose.condition / segment.started
        dynamics = better or dynamics.at(pose.q)
        if improved:
            partitions.append((t, dynamics.independent))
        started = segment.started
        segment = _Segment(dynamics, torque, explicit=method in EXPLICIT)
        segment.started = segment.started if improved else started
        state = segment.state(pose.q, velocity)
    if solution.status < 0 and segment.lost is not None:
        raise segment.lost
    if solution.status < 0:
        raise IntegrationFailed(
            f"the integration stopped at {t:.6g} s or later: {solution.message}"
        )
    return _trajectory(samples, partitions)


def _trajectory(
    samples: Sequence[tuple[Array, ...]], partitions: Sequence[tuple[float, tuple[str, ...]]]
) -> Trajectory:
    t, q, v, a, closure, forced, energy = (
        read_only(np.array(column)) for column in zip(*samples, strict=True)
    )
    return Trajectory(t, q, v, a, closure, forced, energy, tuple(partitions))


def _driven(segment: _Segment, times: Array) -> list[tuple[Array, ...]]:
    """The motion where every freedom is prescribed: nothing is left to integrate."""
    nothing = np.zeros(0)
    samples = [_sample(segment, times[0], nothing)]
    for before, after in pairwise(times):
        change = max(abs(motion(after)[0] - motion(before)[0]) for motion in segment.motions)
        for t in np.linspace(before, after, 2 + int(change / STRIDE))[1:]:
            segment.resolve(float(t), nothing)
        samples.append(_sample(segment, after, nothing))
    return samples


def _better(dynamics: MinimalDynamics, pose: Pose) -> MinimalDynamics | None:
    """Another choice of coordinates that is clearly better conditioned, if there is one."""
    try:
        better = dynamics.released(pose.q)
    except SingularConfiguration:
        return None
    return better if better.pose(pose.q).condition < 0.7 * pose.condition else None


def _velocities(dynamics: MinimalDynamics, v: Mapping[str, float] | Array | None) -> Array:
    if v is None:
        return np.zeros(dynamics.robot.model.nv)
    if isinstance(v, Mapping):
        result = np.zeros(dynamics.robot.model.nv)
        result[columns_of(dynamics.names, v)] = list(v.values())
        return result
    return np.asarray(v, dtype=np.float64)


def _events(segment: _Segment, limit: float) -> list[Any]:
    """Stop where the condition has degraded, or where a rotation is far from its reference."""

    def degraded(t: float, state: Array) -> float:
        pose, _, _ = segment.resolve(t, state)
        return float(np.log(limit * segment.started / pose.condition))

    def far(t: float, state: Array) -> float:
        segment.resolve(t, state)
        return FAR - float(np.max(np.abs(segment.guess)))

    events: list[Any] = [degraded]
    if segment.dynamics.robot.model.nq != segment.dynamics.robot.model.nv:
        events.append(far)
    for event in events:
        event.terminal, event.direction = True, -1.0
    return events


def _sample(segment: _Segment, t: float, state: Array) -> tuple[Array, ...]:
    dynamics = segment.dynamics
    model = dynamics.robot.model
    pose, v, prescribed = segment.resolve(float(t), state)
    a, forced = dynamics.acceleration(pose, v, segment.tau(float(t), pose.q, v), prescribed)
    data = model.createData()
    energy = pin.computeKineticEnergy(model, data, pose.q, v)
    energy += pin.computePotentialEnergy(model, data, pose.q)
    closure = np.max(np.abs(dynamics.robot.residual(pose.q)), initial=0.0)
    return (
        np.asarray(t),
        pose.q,
        v,
        a,
        np.asarray(closure),
        forced,
        np.asarray(energy),
    )
