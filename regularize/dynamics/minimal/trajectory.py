r"""Simulation in minimal coordinates by any method of ``scipy.integrate.solve_ivp``.

The state holds the independent displacements and velocities only; everything else follows from
closed loops, so nothing drifts. When the dependent coordinates become badly conditioned, another
choice is made and the integration goes on from the same configuration (Paul 2020, step 8). Where
two motions cross, so that no choice is good, the one with continuous velocities is followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from regularize.dynamics.inputs import JointForces
from regularize.dynamics.minimal.dynamics import MinimalDynamics
from regularize.dynamics.minimal.engine import MinimalEngine, Passage
from regularize.dynamics.minimal.pose import Pose
from regularize.dynamics.recording import record, simulation_of
from regularize.errors import ModelError
from regularize.lie.screw import Array, read_only
from regularize.reduction.pivoting import columns_of


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
        passages: Singular configurations on the way.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    closure: Array
    forced: Array
    energy: Array
    partitions: tuple[tuple[float, tuple[str, ...]], ...]
    passages: tuple[Passage, ...]


def simulate(
    dynamics: MinimalDynamics,
    times: Sequence[float] | Array,
    q: Array | None = None,
    v: Mapping[str, float] | Array | None = None,
    torque: JointForces | None = None,
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
        ModelError: A named coordinate is not independent.
        NoInertia: The mechanism can move without moving any mass.
        IntegrationFailed: The integrator gave up.
    """
    times = np.asarray(times, dtype=np.float64)
    tolerances = {"rtol": rtol, "atol": atol}
    engine = started(
        dynamics, float(times[0]), q, v, torque, method, tolerances, degradation, options
    )
    samples = record(engine, times)
    robot = dynamics.robot
    t, work = times, np.zeros(len(times))
    q = np.array([sample.q for sample in samples])
    v = np.array([sample.v for sample in samples])
    checked = simulation_of(robot, t, q, v, work, engine.counters, "minimal coordinates")
    return Trajectory(
        read_only(t),
        read_only(q),
        read_only(v),
        read_only([sample.a for sample in samples]),
        checked.closure,
        read_only([sample.drive_forces for sample in samples]),
        checked.energy,
        tuple(engine.partitions),
        tuple(engine.passages),
    )


def started(
    dynamics: MinimalDynamics,
    time: float,
    q: Array | None,
    v: Mapping[str, float] | Array | None,
    forces: JointForces | None,
    method: Any = "DOP853",
    tolerances: Mapping[str, float] = MappingProxyType({}),
    degradation: float = 10.0,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> MinimalEngine:
    """An engine that stands at the beginning of a motion; arguments as of ``simulate``."""
    start = dynamics.reference if q is None else np.asarray(q)
    pose = dynamics.moved(start, time)
    return MinimalEngine(
        dynamics.repartitioned(pose.q),
        forces,
        _velocities(dynamics, pose, v),
        time,
        method,
        dict(tolerances),
        degradation,
        dict(options),
    )


def _velocities(
    dynamics: MinimalDynamics, pose: Pose, v: Mapping[str, float] | Array | None
) -> Array:
    """Velocities of all coordinates, for other ones may be independent from here on."""
    if v is None:
        return np.zeros(dynamics.robot.nv)
    if isinstance(v, Mapping):
        named, columns = np.zeros(dynamics.robot.nv), columns_of(dynamics.names, v)
        others = [name for name, k in zip(v, columns, strict=True) if k not in dynamics.known]
        if others:
            raise ModelError(
                f"{others[0]!r} is no independent coordinate here; name some of "
                f"{', '.join(dynamics.independent)}, or pass an array"
            )
        named[columns] = list(v.values())
        return np.asarray(pose.transmission @ named[list(dynamics.known)])
    return np.asarray(v, dtype=np.float64)
