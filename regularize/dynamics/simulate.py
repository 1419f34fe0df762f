"""Simulation of a mechanism with closed loops, without a parameter to tune."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regularize.dynamics.inputs import Actuation, JointForces, check_numbers, checked_array
from regularize.dynamics.integrator import Counters, Integrator
from regularize.dynamics.simulation import Simulation as Simulation
from regularize.dynamics.simulation import recorded_times
from regularize.errors import ModelError, NotClosed
from regularize.lie.screw import Array, read_only
from regularize.model.graph import coordinate_names
from regularize.model.mechanism import Mechanism
from regularize.pinocchio_model.constraints import close_loops
from regularize.pinocchio_model.robot import Robot, to_pinocchio
from regularize.reduction.reduce import Reduction
from regularize.reduction.reduce import reduce as reduce_mechanism


def simulate(
    model: Mechanism | Reduction | Robot,
    *,
    duration: float,
    torques: Mapping[str, Actuation] | None = None,
    forces: JointForces | None = None,
    q: Array | None = None,
    v: Array | None = None,
    rates: Mapping[str, float] | None = None,
    times: Array | None = None,
    coordinates: str = "all",
    engine: str = "rows",
    rtol: float = 1e-9,
    atol: float | None = None,
    max_step: float = np.inf,
    conserve: bool = True,
    through: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Let a mechanism move under gravity and joint forces.

    The step size follows the error; every step ends on the loops' closure.

    Args:
        model: A mechanism, its reduction or its robot.
        duration: Length of the simulation in seconds.
        torques: Force or torque of joints with one freedom by name, constant or over time.
        forces: Further joint forces: springs, dampers, controllers.
        q: Configuration to begin with, shape (nq,); by default the assembled reference.
        v: Velocity to begin with, shape (nv,); by default rest.
        rates: Joint rates to begin with, by name, in place of ``v``; the other joints follow.
        times: Times at which the motion is recorded, increasing, in seconds; by default 100 per
            second.
        coordinates: What is integrated: ``all`` joint coordinates of the tree; ``minimal``:
            independent ones; ``path``: the one along the path of a mechanism with a single freedom,
            see ``path``. The latter two work without an engine.
        engine: Export style that is integrated: ``rows``, ``anchors``, ``slack`` or ``legacy``; or
            ``mujoco`` for MuJoCo with its soft constraints.
        rtol: Relative error per step; with ``mujoco`` it is not used.
        atol: Absolute error per step; by default ``rtol``.
        max_step: Largest step in seconds; with ``mujoco`` the fixed step, 0.1 ms by default.
        conserve: Whether steps end on the energy balance as well as on the loops' closure:
            velocities are lengthened by what a step's error took from them, work and dissipation
            being part of the balance. What that came to is ``correction`` of the result.
        through: With ``coordinates="path"``, whether the motion goes straight on at singular
            configurations where it may branch; in minimal coordinates it always does.
        progress: Called after every step with the fraction done.

    Raises:
        ModelError: A number makes no sense, or a name or a shape does not fit the model.
        NotClosed: The loops are open.
        SingularPath: The path runs through a singular configuration.
        StepTooSmall: The motion cannot be continued.
    """
    check_numbers(duration, rtol, torques, rates, atol=atol, max_step=max_step)
    if through and coordinates != "path":
        raise ModelError('through=True belongs to coordinates="path"')
    if coordinates != "all":
        return _in_few_coordinates(
            model,
            coordinates,
            engine,
            through,
            duration=duration,
            torques=torques,
            forces=forces,
            q=q,
            v=v,
            rates=rates,
            times=times,
            rtol=rtol,
            progress=progress,
        )
    named = {*(torques or {}), *(rates or {})}
    robot = _robot(model, "legacy" if engine == "mujoco" else engine, named)
    q = robot.q0 if q is None else checked_array(q, robot.model.nq, "q")
    q = close_loops(robot, q) if robot.rows else np.array(q)
    if rates:
        v = robot.admissible_velocity(q, rates)
    v = np.zeros(robot.model.nv) if v is None else checked_array(v, robot.model.nv, "v")
    recorded = recorded_times(times, duration)
    applied = joint_forces(robot, torques or {}, forces)
    if engine == "mujoco":
        from regularize.dynamics.mujoco_ import integrate

        step = 1e-4 if np.isinf(max_step) else max_step
        return _finish(robot, engine, *integrate(robot, q, v, applied, recorded, step, progress))
    integrator = Integrator(
        robot,
        applied,
        rtol,
        rtol if atol is None else atol,
        0.0,
        q,
        v,
        max_step=max_step,
        conserve=conserve,
    )
    samples = [(integrator.q, integrator.v, 0.0)] if recorded[0] == 0.0 else []
    waiting = list(recorded[len(samples) :])
    while waiting:
        integrator.step(duration)
        while waiting and waiting[0] <= integrator.end:
            samples.append(integrator.sample(waiting.pop(0)))
        integrator.advance()
        if progress is not None:
            progress(integrator.time / duration)
    counters = integrator.counters
    return _finish(robot, engine, recorded, samples, counters)


def _in_few_coordinates(
    model: Mechanism | Reduction | Robot,
    coordinates: str,
    engine: str,
    through: bool,
    **options: Any,
) -> Simulation:
    """The motion in independent coordinates, or along the path."""
    if engine != "rows":
        raise ModelError(f"the engine {engine!r} integrates all coordinates; leave one of them out")
    if coordinates == "path":
        from regularize.dynamics.one_freedom.building import path

        return path(model, through=through).simulate(**options)
    if coordinates != "minimal":
        raise ModelError(f"unknown coordinates {coordinates!r}; known: all, minimal, path")
    from regularize.dynamics.minimal.motion import simulate_minimal

    return simulate_minimal(model, **options)


def _finish(
    robot: Robot,
    engine: str,
    time: Array,
    samples: Sequence[tuple[Array, Array, float]],
    counters: Counters,
) -> Simulation:
    """The recorded motion with its checks."""
    q, v = np.array([s[0] for s in samples]), np.array([s[1] for s in samples])
    work = np.array([s[2] for s in samples])
    balance = np.array([robot.energy(a, b) for a, b in zip(q, v, strict=True)]) - work
    errors = [np.max(np.abs(robot.residual(sample)), initial=0.0) for sample in q]
    return Simulation(
        robot=robot,
        time=read_only(time),
        q=read_only(q),
        v=read_only(v),
        coordinates=read_only([robot.coordinates(sample) for sample in q]),
        names=coordinate_names(robot.reduction.mechanism),
        energy=read_only(balance),
        closure=read_only(errors),
        steps=counters.steps,
        leaps=counters.leaps,
        correction=counters.correction,
        rejected=counters.rejected,
        evaluations=counters.evaluations,
        engine=engine,
        findings=robot.findings,
    )


def _robot(model: Mechanism | Reduction | Robot, style: str, named: set[str]) -> Robot:
    """The robot; loops of a mechanism are not cut at the named joints if that can be avoided."""
    if isinstance(model, Robot):
        robot = model if model.style == style else to_pinocchio(model.reduction, style)
    else:
        if isinstance(model, Mechanism):
            joints = [replace(j, actuated=True) if j.name in named else j for j in model.joints]
            model = reduce_mechanism(replace(model, joints=tuple(joints)))
        reduction = model
        robot = to_pinocchio(reduction, style)
    if robot.model.nv == 0:
        raise ModelError("the mechanism has no joint that could move")
    assembly = robot.reduction.assembly
    if not assembly.closed:
        gap = max(assembly.after, key=lambda g: g.translation + g.rotation)
        raise NotClosed(gap.joint, gap.translation, gap.rotation)
    return robot


def joint_forces(
    robot: Robot, torques: Mapping[str, Actuation], forces: JointForces | None
) -> JointForces:
    """All joint forces of a simulation as one function of time, configuration and velocity.

    Raises:
        ModelError: A name is unknown or its joint has several freedoms.
        UnsupportedExport: An actuated joint is a cut; choose other cuts.
    """
    constant = np.zeros(robot.model.nv)
    varying: list[tuple[int, Callable[[float], float]]] = []
    for name, torque in torques.items():
        index = robot.velocity_indices([name])
        if len(index) != 1:
            raise ModelError(f"joint {name!r} has {len(index)} freedoms; actuate joints with one")
        if callable(torque):
            varying.append((int(index[0]), torque))
        else:
            constant[index[0]] += torque
    constant.setflags(write=False)
    if not varying and forces is None:
        return lambda t, q, v: constant

    def applied(t: float, q: Array, v: Array) -> Array:
        tau = constant.copy()
        for index, torque in varying:
            tau[index] += torque(t)
        return tau if forces is None else tau + forces(t, q, v)

    return applied
