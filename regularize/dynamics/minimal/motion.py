"""A simulation in minimal coordinates, reported like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from regularize.arguments import state
from regularize.dynamics.body_loads import BodyLoad
from regularize.dynamics.inputs import Actuation, JointForces, joint_forces
from regularize.dynamics.loads import style_with_rotors
from regularize.dynamics.minimal.dynamics import minimal_dynamics
from regularize.dynamics.minimal.findings import jumps, passed
from regularize.dynamics.minimal.trajectory import started
from regularize.dynamics.prescribed import Drives, Prescribed
from regularize.dynamics.recording import record, reported
from regularize.dynamics.simulation import Simulation
from regularize.lie.screw import Array
from regularize.model.mechanism import Mechanism
from regularize.pinocchio_model.robot import Robot
from regularize.reduction.reduce import Reduction
from regularize.reduction.reduce import reduce as reduce_loops

if TYPE_CHECKING:
    from scipy import LowLevelCallable


def simulate_minimal(
    model: Mechanism | Reduction | Robot,
    times: Array,
    *,
    torques: Mapping[str, Actuation] | None,
    forces: JointForces | LowLevelCallable | None,
    loads: Mapping[str, ArrayLike | BodyLoad] | None,
    q: Array | None,
    v: Array | None,
    rates: Mapping[str, float] | None,
    drives: Mapping[str, Prescribed],
    rtol: float,
    slip: float | None,
    progress: Callable[[float], None] | None,
) -> Simulation:
    """Let a mechanism move in independent coordinates, chosen anew whenever they go bad.

    Joints with a rate to begin with are made independent coordinates; for the other arguments see
    ``simulate``.
    """
    plain = q is None and v is None and forces is None
    if isinstance(model, Robot):
        model, plain = model.reduction, False
    reduction = reduce_loops(model) if isinstance(model, Mechanism) else model
    locked, style = tuple(rates or ()), "rows"
    dynamics = minimal_dynamics(reduction, locked, slip=slip)
    if plain and (style := style_with_rotors(dynamics.robot)) != "rows":
        dynamics = minimal_dynamics(reduction, locked, slip=slip, style=style)
    robot = dynamics.robot
    q = None if q is None else np.array(state(robot, "q", q))
    v = None if v is None else np.array(state(robot, "v", v))
    acting = torques or forces is not None or loads
    applied = joint_forces(robot, torques or {}, forces, loads) if acting else None
    given = Drives.of(robot, drives)
    if given:
        start = dynamics.pose(robot.q0 if q is None else q).q
        q = given.begun(robot, start)
        dynamics = minimal_dynamics(reduction, locked, forced=drives, q=q, slip=slip, style=style)
    tolerances = {"rtol": rtol, "atol": 1e-2 * rtol}
    engine = started(dynamics, 0.0, q, rates if rates else v, applied, tolerances=tolerances)
    began = times[0] == 0.0
    samples = record(engine, times if began else np.append(0.0, times), progress)
    findings = passed(engine.passages)
    # Forced coordinates are known ones in increasing order.
    names = [dynamics.names[dynamics.known[i]] for i in dynamics.driven]
    whole = reported(
        robot, samples, engine.counters, "minimal coordinates", drives=names, findings=findings
    )
    kinetic = whole.energy + [sample.work for sample in samples]
    kinetic = kinetic - [robot.energy(sample.q, 0.0 * sample.v) for sample in samples]
    found = (*whole.findings, *jumps(whole.time, whole.energy, kinetic, rtol))
    kept = slice(0 if began else 1, None)
    return replace(
        whole,
        time=whole.time[kept],
        q=whole.q[kept],
        v=whole.v[kept],
        coordinates=whole.coordinates[kept],
        energy=whole.energy[kept],
        closure=whole.closure[kept],
        drive_forces=whole.drive_forces[kept],
        findings=found,
    )
