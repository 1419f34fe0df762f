"""A simulation in minimal coordinates, reported like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pinocchio as pin

from regularize.dynamics.inputs import check_numbers, checked_array
from regularize.dynamics.minimal.dynamics import minimal_dynamics
from regularize.dynamics.minimal.findings import jumps, passed
from regularize.dynamics.minimal.trajectory import simulate as integrate
from regularize.dynamics.simulation import Simulation, recorded_times
from regularize.errors import ModelError
from regularize.lie.screw import Array, read_only
from regularize.model.graph import coordinate_names
from regularize.model.mechanism import Mechanism
from regularize.pinocchio_model.robot import Robot
from regularize.reduction.reduce import Reduction
from regularize.reduction.reduce import reduce as reduce_loops


def simulate_minimal(
    model: Mechanism | Reduction | Robot,
    *,
    duration: float,
    torques: Mapping[str, float | Callable[[float], float]] | None = None,
    forces: Callable[[float, Array, Array], Array] | None = None,
    q: Array | None = None,
    v: Array | None = None,
    rates: Mapping[str, float] | None = None,
    times: Array | None = None,
    rtol: float = 1e-9,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Let a mechanism move in independent coordinates, chosen anew whenever they go bad.

    Args:
        model: A mechanism, its reduction or its robot.
        duration: Length of the simulation in seconds.
        torques: Constant force or torque of joints with one freedom, by name.
        forces: Not supported: the energy balance could not be drawn up.
        q: Configuration to begin with, shape (nq,); by default the assembled reference.
        v: Velocity to begin with, shape (nv,); by default rest.
        rates: Joint rates to begin with, by name; they are made independent coordinates.
        times: Times at which the motion is recorded, in seconds; by default 100 per second.
        rtol: Relative error per step.
        progress: Called now and then with the fraction done.

    Raises:
        ModelError: A number makes no sense, a name or a shape does not fit the model, or joint
            forces change over time.
        NotClosed: The loops are open.
    """
    check_numbers(duration, rtol, torques, rates)
    constant = {name: float(t) for name, t in (torques or {}).items() if not callable(t)}
    if forces is not None or len(constant) < len(torques or {}):
        raise ModelError(
            "in minimal coordinates only constant joint forces are simulated; use "
            'coordinates="all" or "path", or integrate minimal_dynamics yourself'
        )
    if isinstance(model, Robot):
        model = model.reduction
    reduction = reduce_loops(model) if isinstance(model, Mechanism) else model
    dynamics = minimal_dynamics(reduction, tuple(rates or ()))
    robot = dynamics.robot
    q = None if q is None else checked_array(q, robot.model.nq, "q")
    v = None if v is None else checked_array(v, robot.model.nv, "v")
    applied = {robot.velocity_index(name): value for name, value in constant.items()}
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

    recorded = recorded_times(times, duration)
    began = recorded[0] == 0.0
    motion = integrate(
        dynamics,
        recorded if began else np.append(0.0, recorded),
        q,
        rates if rates else v,
        torque,
        rtol=rtol,
        atol=1e-2 * rtol,
    )
    coordinates = np.array([robot.coordinates(q) for q in motion.q])
    work = np.zeros(len(coordinates))
    names = coordinate_names(reduction.mechanism)
    for name, value in constant.items():
        column = coordinates[:, names.index(name)]
        work += value * (column - column[0])
    kept = slice(0 if began else 1, None)
    balance = motion.energy - work
    data = robot.model.createData()
    kinetic = np.array(
        [
            pin.computeKineticEnergy(robot.model, data, q, v)
            for q, v in zip(motion.q, motion.v, strict=True)
        ]
    )
    return Simulation(
        robot=robot,
        time=read_only(recorded),
        q=read_only(motion.q[kept]),
        v=read_only(motion.v[kept]),
        coordinates=read_only(coordinates[kept]),
        names=names,
        energy=read_only(balance[kept]),
        closure=read_only(motion.closure[kept]),
        steps=len(motion.t) - 1,
        leaps=0,
        correction=0.0,
        rejected=0,
        evaluations=counter,
        engine="minimal coordinates",
        findings=(
            *robot.findings,
            *passed(motion.passages),
            *jumps(motion.t, balance, kinetic, rtol),
        ),
    )
