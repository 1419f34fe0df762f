"""A simulation in minimal coordinates, reported like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from regularize.analysis import reduce
from regularize.errors import ModelError
from regularize.mechanism import Mechanism
from regularize.minimal import minimal_dynamics
from regularize.screw import Array, read_only
from regularize.simulation import Simulation
from regularize.topology import coordinate_names
from regularize.trajectory import simulate as integrate


def simulate_minimal(
    mechanism: Mechanism,
    *,
    duration: float,
    torques: Mapping[str, float] | None = None,
    rates: Mapping[str, float] | None = None,
    rtol: float = 1e-9,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Let a mechanism move in independent coordinates, chosen anew whenever they go bad.

    Args:
        mechanism: The mechanism.
        duration: Length of the simulation in seconds.
        torques: Constant force or torque of joints with one freedom, by name.
        rates: Joint rates to begin with, by name; they are made independent coordinates.
        rtol: Relative error per step.
        progress: Called now and then with the fraction done.

    Raises:
        ModelError: The duration is not positive, or a name does not fit the model.
        NotClosed: The loops are open.
    """
    if not (np.isfinite(duration) and duration > 0):
        raise ModelError(f"the duration must be a positive number of seconds, got {duration}")
    dynamics = minimal_dynamics(reduce(mechanism), tuple(rates or ()))
    robot = dynamics.robot
    applied = {robot.velocity_index(name): value for name, value in (torques or {}).items()}
    counter = 0

    def torque(t: float, q: Array, v: Array) -> Array:
        nonlocal counter
        counter += 1
        if progress is not None:
            progress(t / duration)
        tau = np.zeros(robot.model.nv)
        for index, value in applied.items():
            tau[index] = value
        return tau

    times = np.linspace(0.0, duration, max(2, round(100 * duration) + 1))
    motion = integrate(dynamics, times, v=rates, torque=torque, rtol=rtol, atol=1e-2 * rtol)
    coordinates = np.array([robot.coordinates(q) for q in motion.q])
    work = np.zeros(len(times))
    names = coordinate_names(mechanism)
    for name, value in (torques or {}).items():
        column = coordinates[:, names.index(name)]
        work += value * (column - column[0])
    return Simulation(
        robot=robot,
        time=read_only(motion.t),
        q=read_only(motion.q),
        v=read_only(motion.v),
        coordinates=read_only(coordinates),
        names=names,
        energy=read_only(motion.energy - work),
        closure=read_only(motion.closure),
        steps=len(times) - 1,
        leaps=0,
        correction=0.0,
        rejected=0,
        evaluations=counter,
        engine="minimal coordinates",
        findings=robot.findings,
    )
