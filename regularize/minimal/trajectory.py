r"""Simulation in minimal coordinates by any method of ``scipy.integrate.solve_ivp``.

The state holds the independent displacements and velocities only; everything else follows from
closed loops, so nothing drifts. When the dependent coordinates become badly conditioned, another
choice is made and the integration goes on from the same configuration (Paul 2020, step 8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from regularize.errors import RegularizeError
from regularize.minimal.dynamics import MinimalDynamics
from regularize.minimal.kinematics import Pose, SingularConfiguration
from regularize.minimal.pivoting import columns_of
from regularize.minimal.segment import Segment, Torque
from regularize.screw import Array, read_only

#: The methods of ``scipy.integrate.solve_ivp`` by name.
METHODS: dict[Any, Any] = {
    "RK23": RK23,
    "RK45": RK45,
    "DOP853": DOP853,
    "Radau": Radau,
    "BDF": BDF,
    "LSODA": LSODA,
}
#: Those that shorten a step at which the loops do not close.
EXPLICIT = ("RK23", "RK45", "DOP853")

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
        method: Any method of ``scipy.integrate.solve_ivp``, by name or as a class.
        rtol: Relative tolerance of the integrator.
        atol: Absolute tolerance of the integrator.
        degradation: New coordinates are chosen when the condition number has grown by this factor.
        options: Further options of the method, such as ``max_step``.

    Raises:
        ClosureLost: The mechanism was driven against a limit of its motion.
        NoInertia: The mechanism can move without moving any mass.
        IntegrationFailed: The integrator gave up.
    """
    times = np.asarray(times, dtype=np.float64)
    t, end = float(times[0]), float(times[-1])
    pose = dynamics.moved(dynamics.reference if q is None else np.asarray(q), t)
    velocity = _velocities(dynamics, v)
    dynamics = dynamics.repartitioned(pose.q)
    explicit = method in EXPLICIT
    segment = Segment(dynamics, torque, explicit=explicit)
    state = segment.state(pose.q, velocity)
    partitions = [(t, dynamics.independent)]
    if not segment.free:
        return _trajectory(_driven(segment, times), partitions)
    samples = [segment.sample(t, state)]
    limit, started = degradation, segment.pose.condition
    while t < end:
        solver = METHODS.get(method, method)(
            segment.rate, t, state, end, rtol=rtol, atol=atol, **options
        )
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                raise segment.lost or IntegrationFailed(
                    f"the integration stopped at {solver.t:.6g} s: {message}"
                )
            samples += _within(segment, solver, times)
            pose, velocity, _ = segment.resolve(solver.t, solver.y)
            degraded = pose.condition > limit * started
            if degraded or segment.far:
                break
        t = float(solver.t)
        if t >= end:
            break
        better = _better(dynamics, pose) if degraded else None
        if better is not None:
            partitions.append((t, better.independent))
        dynamics = better or dynamics.at(pose.q)
        segment = Segment(dynamics, torque, explicit=explicit)
        state = segment.state(pose.q, velocity)
        if better is not None:
            limit, started = degradation, segment.pose.condition
        elif degraded:
            # Close to a singularity no choice is good: go on until it is that much worse again.
            limit *= degradation
    return _trajectory(samples, partitions)


def _within(segment: Segment, solver: Any, times: Array) -> list[tuple[Array, ...]]:
    """Samples at the times that the last step passed."""
    passed = times[(times > solver.t_old) & (times <= solver.t)]
    if not len(passed):
        return []
    state = solver.dense_output()
    return [segment.sample(float(t), state(t) if t < solver.t else solver.y) for t in passed]


def _trajectory(
    samples: Sequence[tuple[Array, ...]], partitions: Sequence[tuple[float, tuple[str, ...]]]
) -> Trajectory:
    t, q, v, a, closure, forced, energy = (
        read_only(np.array(column)) for column in zip(*samples, strict=True)
    )
    return Trajectory(t, q, v, a, closure, forced, energy, tuple(partitions))


def _driven(segment: Segment, times: Array) -> list[tuple[Array, ...]]:
    """The motion where every freedom is prescribed: nothing is left to integrate."""
    nothing = np.zeros(0)
    samples = [segment.sample(times[0], nothing)]
    for before, after in pairwise(times):
        change = max(abs(motion(after)[0] - motion(before)[0]) for motion in segment.motions)
        for t in np.linspace(before, after, 2 + int(change / STRIDE))[1:]:
            segment.resolve(float(t), nothing)
        samples.append(segment.sample(after, nothing))
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
