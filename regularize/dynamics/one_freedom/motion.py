"""Simulation along the path of a mechanism with one freedom, reported like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pinocchio as pin

from regularize.dynamics.inputs import check_numbers
from regularize.dynamics.one_freedom.collocation import Collocation, Drive, Travel
from regularize.dynamics.one_freedom.path import Path
from regularize.dynamics.one_freedom.quadrature import orbit
from regularize.dynamics.one_freedom.table import Table
from regularize.dynamics.simulate import Actuation, JointForces
from regularize.dynamics.simulation import Simulation, recorded_times
from regularize.errors import ModelError
from regularize.lie.screw import Array, read_only
from regularize.pinocchio_model.robot import Robot, to_pinocchio

#: Accuracy of a state that has to lie on the path, relative.
FITS = 1e-6
#: Number of samples whose closure is computed more quickly one by one.
FEW = 8
#: Force along the path, relative to the potential, that is nothing but rounding.
BALANCED = 1e-11


def simulate_path(
    path: Path,
    *,
    duration: float,
    torques: Mapping[str, Actuation] | None = None,
    forces: JointForces | None = None,
    q: Array | Mapping[str, float] | None = None,
    v: Array | None = None,
    rates: Mapping[str, float] | None = None,
    gravity: Array | None = None,
    times: Array | None = None,
    rtol: float = 1e-9,
    max_step: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Let a mechanism move along its path; see ``Path.simulate``."""
    check_numbers(duration, rtol, torques, rates, max_step=max_step)
    times = recorded_times(times, duration)
    robot = path.robot if gravity is None else _under(path.robot, np.asarray(gravity))
    s = _place(path, q)
    rate = _rate(path, s, v, rates)
    constant = {n: float(t) for n, t in (torques or {}).items() if not callable(t)}
    varying = {n: t for n, t in (torques or {}).items() if callable(t)}
    motion = _potential(path, np.array(robot.model.gravity.linear), constant)
    travel = None
    if not varying and forces is None:
        travel = _periodic(motion, s, rate, times, rtol)
    if travel is None:
        drive = _drive(path, robot, varying, forces)
        travel = Collocation(motion, drive, rtol, max_step).travel(s, rate, times, progress)
    if progress is not None:
        progress(1.0)
    return _reported(path, robot, constant, s, times, travel)


def _under(robot: Robot, gravity: Array) -> Robot:
    """The same robot under other gravity."""
    if gravity.shape != (3,):
        raise ModelError(f"gravity has shape {gravity.shape}, but it is a vector: (3,)")
    other = to_pinocchio(robot.reduction)
    other.model.gravity.linear = gravity
    return other


def _place(path: Path, q: Array | Mapping[str, float] | None) -> float:
    if q is None:
        return 0.0
    if isinstance(q, Mapping):
        return path.locate(q)
    values = np.asarray(q, dtype=np.float64)
    if values.shape != (path.robot.model.nq,):
        raise ModelError(
            f"q has shape {values.shape}, but the model needs ({path.robot.model.nq},)"
        )
    return path.locate(path.robot.coordinates(values))


def _rate(path: Path, s: float, v: Array | None, rates: Mapping[str, float] | None) -> float:
    """Rate of the path coordinate that fits joint rates, or velocities of the model."""
    at = np.array([s])
    if rates:
        direction = path.velocity(at)[0, path.columns(rates)]
        wanted = np.array(list(rates.values()), dtype=np.float64)
    elif v is not None:
        direction = path.states.velocities(path.configuration(at), path.velocity(at))[0]
        wanted = np.asarray(v, dtype=np.float64)
        if wanted.shape != direction.shape:
            raise ModelError(f"v has shape {wanted.shape}, but the model needs {direction.shape}")
    else:
        return 0.0
    size = float(direction @ direction)
    rate = float(direction @ wanted) / size if size > 1e-24 else 0.0
    if np.max(np.abs(wanted - rate * direction)) > FITS * max(1.0, float(np.max(np.abs(wanted)))):
        named = ", ".join(f"{n} = {x:g}" for n, x in (rates or {}).items()) or "v"
        raise ModelError(
            f"the mechanism cannot move like that ({named}): its joints move in fixed proportion, "
            "and at a dead centre a joint stands still; name the rate of another joint"
        )
    return rate


def _potential(path: Path, gravity: Array, constant: Mapping[str, float]) -> Table:
    """Mass, and the potential of gravity and of constant joint forces."""
    columns = path.columns(constant)
    matrix = np.zeros((path.functions.coefficients.shape[2], 2))
    n = path.curve.n
    matrix[n, 0] = 1.0
    matrix[n + 1 :, 1] = -gravity
    for column, value in zip(columns, constant.values(), strict=True):
        matrix[column, 1] -= value
    return path.functions.combined(matrix)


def _periodic(motion: Table, s: float, rate: float, times: Array, rtol: float) -> Travel | None:
    """The motion by quadrature, or None where it is not periodic."""
    (mass, potential), (_, slope) = (motion(np.array([s]), k)[0] for k in range(2))
    largest = float(np.max(np.abs(motion.coefficients[-1, :, 1])))
    N = len(times)
    if rate == 0.0 and abs(slope) <= BALANCED * largest:
        return Travel(np.full(N, s), np.zeros(N), np.zeros(N), 0, 0, 1)
    energy = 0.5 * float(mass) * rate**2 + float(potential)
    found = orbit(motion, energy, s, rate, -float(slope), 0.1 * rtol)
    if found is None:
        return None
    place, speed = found.at(times)
    return Travel(place, speed, np.zeros(N), 1, 0, found.points)


def _drive(
    path: Path,
    robot: Robot,
    varying: Mapping[str, Callable[[float], float]],
    forces: JointForces | None,
) -> Drive | None:
    """Generalised force of what changes over time or with the motion."""
    if not varying and forces is None:
        return None
    columns = path.columns(varying)
    # Newton steps ask for the same times again and again.
    known: list[tuple[Array, Array]] = []

    def applied(t: Array) -> Array:
        if not known or known[0][0] is not t:
            values = [[torque(float(x)) for torque in varying.values()] for x in t]
            known[:] = [(t, np.array(values))]
        return known[0][1]

    def drive(t: Array, s: Array, rate: Array) -> Array:
        w = path.velocity(s)
        total = np.zeros(len(s))
        if columns:
            total += np.sum(w[:, columns] * applied(t), axis=1)
        if forces is not None:
            q = path.configuration(s)
            along = path.states.velocities(q, w)
            states = zip(t, path.states.configurations(q), rate[:, None] * along, strict=True)
            tau = np.array([forces(float(x), a, b) for x, a, b in states])
            total += np.sum(tau * along, axis=1)
        return total

    return drive


def _reported(
    path: Path, robot: Robot, constant: Mapping[str, float], s: float, times: Array, travel: Travel
) -> Simulation:
    """The motion with its checks, all on the full model."""
    loops, states = path.curve.loops, path.states
    coordinates = path.configuration(travel.s)
    velocities = travel.rate[:, None] * path.velocity(travel.s)
    q, v = states.configurations(coordinates), states.velocities(coordinates, velocities)
    work = travel.work
    if constant:
        columns = path.columns(constant)
        moved = coordinates[:, columns] - path.configuration(s)[columns]
        work = work + moved @ np.array(list(constant.values()))
    model, data = robot.model, robot.data
    energy = [
        pin.computeKineticEnergy(model, data, a, b) + pin.computePotentialEnergy(model, data, a)
        for a, b in zip(q, v, strict=True)
    ]
    if len(q) <= FEW:
        closure = np.array([np.max(np.abs(robot.residual(a)), initial=0.0) for a in q])
    else:
        closure = np.max(np.abs(loops.residual(loops.state(coordinates))), axis=1, initial=0.0)
    return Simulation(
        robot=robot,
        time=read_only(times),
        q=read_only(q),
        v=read_only(v),
        coordinates=read_only(coordinates),
        names=path.names,
        energy=read_only(np.array(energy) - work),
        closure=read_only(closure),
        steps=travel.steps,
        leaps=0,
        correction=0.0,
        rejected=travel.rejected,
        evaluations=travel.evaluations,
        engine="path",
        findings=(*robot.findings, *path.findings),
    )
