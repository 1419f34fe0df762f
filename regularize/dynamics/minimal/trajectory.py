r"""Simulation in minimal coordinates by any method of ``scipy.integrate.solve_ivp``.

The state holds the independent displacements and velocities only; everything else follows from
closed loops, so nothing drifts. When the dependent coordinates become badly conditioned, another
choice is made and the integration goes on from the same configuration (Paul 2020, step 8). Where
two motions cross, so that no choice is good, the one with continuous velocities is followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from regularize.dynamics.minimal.dynamics import MinimalDynamics
from regularize.dynamics.minimal.integration import Integration
from regularize.dynamics.minimal.passage import Passage
from regularize.dynamics.minimal.pivoting import columns_of
from regularize.dynamics.minimal.segment import Row, Segment, Torque
from regularize.lie.screw import Array, read_only

#: Largest change of a prescribed coordinate in one step, in radians and sizes of the mechanism, so
#: that the pose stays on its branch.
STRIDE = 0.05


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
    start = dynamics.reference if q is None else np.asarray(q)
    pose = dynamics.moved(start, float(times[0]))
    velocity = _velocities(dynamics, v)
    dynamics = dynamics.repartitioned(pose.q)
    if not dynamics.free:
        return _driven(Segment(dynamics, torque, explicit=False), times)
    integration = Integration(
        dynamics,
        torque,
        velocity,
        times,
        method,
        {"rtol": rtol, "atol": atol},
        degradation,
        options,
    )
    integration.run()
    return _trajectory(integration.samples, integration.partitions, integration.passages)


def _trajectory(
    samples: Sequence[Row],
    partitions: Sequence[tuple[float, tuple[str, ...]]],
    passages: Sequence[Passage],
) -> Trajectory:
    t, q, v, a, closure, forced, energy = (
        read_only(np.array(column)) for column in zip(*samples, strict=True)
    )
    return Trajectory(t, q, v, a, closure, forced, energy, tuple(partitions), tuple(passages))


def _driven(segment: Segment, times: Array) -> Trajectory:
    """The motion where every freedom is prescribed: nothing is left to integrate."""
    nothing = np.zeros(0)
    samples, passages = [segment.sample(times[0], nothing)], []
    units = segment.dynamics.units[segment.driven]
    for before, after in pairwise(times):
        change = np.array([motion(after)[0] - motion(before)[0] for motion in segment.motions])
        steps = 2 + int(np.max(np.abs(change) / units, initial=0.0) / STRIDE)
        for t in np.linspace(before, after, steps)[1:]:
            decided = segment.accept(float(t), nothing)[2]
            if decided is not None:
                passages.append(Passage(float(t), decided))
        samples.append(segment.sample(after, nothing))
    return _trajectory(samples, [(float(times[0]), ())], passages)


def _velocities(dynamics: MinimalDynamics, v: Mapping[str, float] | Array | None) -> Array:
    if v is None:
        return np.zeros(dynamics.robot.model.nv)
    if isinstance(v, Mapping):
        result = np.zeros(dynamics.robot.model.nv)
        result[columns_of(dynamics.names, v)] = list(v.values())
        return result
    return np.asarray(v, dtype=np.float64)
