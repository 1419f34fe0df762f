"""Simulation of a mechanism with closed loops, without a parameter to tune."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from regularize.arguments import state
from regularize.dynamics.all_coordinates import AllCoordinates
from regularize.dynamics.body_loads import BodyLoad
from regularize.dynamics.inputs import (
    Actuation,
    JointForces,
    check_numbers,
    joint_forces,
)
from regularize.dynamics.integrator import Integrator
from regularize.dynamics.loads import Loads, style_with_rotors
from regularize.dynamics.prescribed import Drive, Drives, prescribed
from regularize.dynamics.recording import record, reported
from regularize.dynamics.simulation import Simulation, recorded_times
from regularize.errors import ModelError, NotClosed
from regularize.lie.screw import Array
from regularize.model.mechanism import Mechanism
from regularize.pinocchio_model.constraints import close_loops
from regularize.pinocchio_model.exporting import to_pinocchio
from regularize.pinocchio_model.massless_motion import require_mass
from regularize.pinocchio_model.robot import Robot, mass_matrix
from regularize.reduction.reduce import Reduction, on_branch
from regularize.reduction.reduce import reduce as reduce_mechanism
from regularize.reduction.steadied import steadied

if TYPE_CHECKING:
    from scipy import LowLevelCallable

#: Step in seconds of engines whose step is fixed.
FIXED_STEP = 1e-4


def simulate(
    model: Mechanism | Reduction | Robot,
    *,
    duration: float,
    torques: Mapping[str, Actuation] | None = None,
    forces: JointForces | LowLevelCallable | None = None,
    loads: Mapping[str, ArrayLike | BodyLoad] | None = None,
    q: Array | None = None,
    v: Array | None = None,
    rates: Mapping[str, float] | None = None,
    drive: Mapping[str, Drive] | None = None,
    times: Array | None = None,
    coordinates: str = "all",
    engine: str = "rows",
    rtol: float = 1e-9,
    atol: float | None = None,
    max_step: float = np.inf,
    conserve: bool = True,
    through: bool = False,
    slip: float | None = None,
    branch: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Let a mechanism move under gravity, joint forces, and what acts within its joints.

    Damping, springs, rotors and dry friction are those of ``Joint.dynamics``; limits of joints are
    not enforced, and findings say so.

    The step size follows the error; every step ends on the loops' closure.

    Args:
        model: A mechanism, its reduction or its robot.
        duration: Length of the simulation in seconds.
        torques: Force or torque of joints with one freedom by name, constant or over time.
        forces: Further joint forces by time, configuration and velocity, shape (nv,): springs,
            dampers, controllers. Functions may be compiled ones, which are called without Python:
            ``scipy.LowLevelCallable`` of a function of ctypes, cffi, numba or Cython. Here it is
            ``int forces(double t, const double *q, const double *v, double *tau, void *data)``,
            which adds to ``tau`` and returns 0, or another number to end the simulation; among
            ``torques`` it is ``double torque(double t, void *data)``.
        loads: Constant forces and moments on bodies by their names: six numbers at the origin of
            the body's frame in ground axes, force first, or a ``BodyLoad``. Not with
            ``coordinates="path"``.
        q: Configuration to begin with, shape (nq,); by default the assembled reference.
        v: Velocity to begin with, shape (nv,); by default rest.
        rates: Joint rates to begin with, by name, in place of ``v``; the other joints follow.
        drive: Prescribed motions of joints with one freedom by name: a value, an expression of the
            time such as ``"0.3*sin(2*pi*t)"``, a function that returns the position, or position,
            rate and acceleration, a compiled one, ``int motion(double t, double *motion, void
            *data)``, which writes these three and returns 0, or a pair of times and positions. The
            mechanism is moved to where they begin. ``drive_forces`` of the result are the forces
            that they need.
        times: Times at which the motion is recorded, increasing, in seconds; by default 100 per
            second.
        coordinates: What is integrated: ``all`` joint coordinates of the tree; ``minimal``:
            independent ones; ``path``: the one along the path of a mechanism with a single freedom,
            see ``path``. The latter two work without an engine.
        engine: Export style that is integrated: ``rows``, ``anchors``, ``slack`` or ``legacy``; or
            ``mujoco`` for MuJoCo with its soft constraints. Where a joint that closes a loop has a
            rotor or a spring and nothing else is said, ``anchors`` stand in for ``rows``.
        rtol: Relative error per step; with ``mujoco`` it is not used.
        atol: Absolute error per step; by default ``rtol``, or a hundredth of it under dry friction.
        max_step: Largest step in seconds; with ``mujoco`` the fixed step, 0.1 ms by default.
        conserve: Whether steps end on the energy balance as well as on the loops' closure:
            velocities are lengthened by what a step's error took from them, work and dissipation
            being part of the balance. What that came to is ``correction`` of the result. Not with
            ``drive``.
        through: With ``coordinates="path"``, whether the motion goes straight on at singular
            configurations where it may branch; in minimal coordinates it always does.
        slip: Rate in rad/s and m/s below which dry friction falls off, so that the motion stays
            smooth; by default 1e-3. A joint that would stick creeps at a part of it.
        branch: Which of the components that meet at the assembled pose to move on, by its place in
            ``mobility.components`` of the report, the first being 1; a configuration on it takes
            the place of the pose. Only of a mechanism.
        progress: Called after every step with the fraction done.

    Raises:
        ModelError: A number makes no sense, or a name or a shape does not fit the model.
        NotClosed: The loops are open.
        NotIndependent: More motions are prescribed than the mechanism has freedoms.
        SingularPath: The path runs through a singular configuration.
        StepTooSmall: The motion cannot be continued.
    """
    check_numbers(duration, rtol, torques, rates, atol=atol, max_step=max_step, slip=slip)
    if branch is not None:
        if not isinstance(model, Mechanism):
            raise ModelError("branch= chooses where a mechanism begins; pass the mechanism itself")
        model = on_branch(model, branch)
    if coordinates not in ("all", "minimal", "path"):
        raise ModelError(f"unknown coordinates {coordinates!r}; known: all, minimal, path")
    if through and coordinates != "path":
        raise ModelError('through=True belongs to coordinates="path"')
    if coordinates != "all" and engine != "rows":
        raise ModelError(f"the engine {engine!r} integrates all coordinates; leave one of them out")
    if drive and (coordinates == "path" or engine == "mujoco"):
        raise ModelError(
            "prescribed motions are simulated in all coordinates or in minimal ones, not "
            + ("along a path" if coordinates == "path" else "by the engine mujoco")
            + "; leave one of the two out"
        )
    motions = {name: prescribed(name, motion, duration) for name, motion in (drive or {}).items()}
    both = sorted({*motions} & {*(rates or {})})
    if both:
        raise ModelError(f"joint {both[0]!r} is driven, so its rate is given already; leave it out")
    if coordinates == "path":
        if loads:
            raise ModelError(
                "loads on bodies are simulated in all coordinates or in minimal ones, not along "
                "a path; leave one of the two out"
            )
        from regularize.dynamics.one_freedom.building import path  # loads all closed forms

        return path(model, through=through).simulate(
            duration,
            torques=torques,
            forces=forces,
            q=q,
            v=v,
            rates=rates,
            times=times,
            rtol=rtol,
            slip=slip,
            progress=progress,
        )
    recorded = recorded_times(times, duration)
    if coordinates == "minimal":
        from regularize.dynamics.minimal.motion import simulate_minimal  # and all assembly modes

        return simulate_minimal(
            _cut_elsewhere(model, {*motions}),
            recorded,
            torques=torques,
            forces=forces,
            loads=loads,
            q=q,
            v=v,
            rates=rates,
            drives=motions,
            rtol=rtol,
            slip=slip,
            progress=progress,
        )
    named = {*(torques or {}), *(rates or {}), *motions}
    robot = _robot(_cut_elsewhere(model, named), "legacy" if engine == "mujoco" else engine)
    plain = q is None and v is None and forces is None
    if engine == "rows" and plain and not isinstance(model, Robot):
        engine = style_with_rotors(robot)
        robot = robot if engine == "rows" else to_pinocchio(robot.reduction, engine)
    q = robot.q0 if q is None else state(robot, "q", q)
    q = close_loops(robot, q) if robot.rows else np.array(q)
    applied = joint_forces(robot, torques or {}, forces, loads)
    drives = Drives.of(robot, motions)
    if drives:
        q = drives.begun(robot, q)
        given = dict(zip(drives.names, drives.at(0.0)[1].tolist(), strict=True))
        rates = {**(rates or {}), **given} if v is None else rates
    if rates:
        v = robot.admissible_velocity(q, rates)
    v = np.zeros(robot.nv) if v is None else np.array(state(robot, "v", v))
    if engine == "mujoco":
        from regularize.dynamics.mujoco_ import MujocoEngine

        with robot.massive_motion():
            require_mass(mass_matrix(robot.model, robot.data, q), robot.split(q).free)
        step = FIXED_STEP if np.isinf(max_step) else max_step
        soft = MujocoEngine(robot, Loads(robot, applied, slip), q, v, step)
        return reported(robot, record(soft, soft.times(recorded), progress), soft.counters, engine)
    equations = AllCoordinates(robot, Loads(robot, applied, slip), drives)
    if drives:
        q, v = equations.project(0.0, q, v)
    if atol is None:
        # Where dry friction turns over, small rates count.
        atol = 1e-2 * rtol if np.any(robot.passive.joints.friction) else rtol
    integrator = Integrator(equations, rtol, atol, 0.0, q, v, max_step=max_step, conserve=conserve)
    samples = record(integrator, recorded, progress)
    return reported(robot, samples, integrator.counters, engine, drives=drives.names)


def _cut_elsewhere(
    model: Mechanism | Reduction | Robot, named: set[str]
) -> Mechanism | Reduction | Robot:
    """A mechanism whose loops are not cut at the named joints if that can be avoided."""
    if not isinstance(model, Mechanism):
        return model
    for name in named:
        model.joint(name)
    joints = [replace(j, actuated=True) if j.name in named else j for j in model.joints]
    return replace(model, joints=tuple(joints))


def _robot(model: Mechanism | Reduction | Robot, style: str) -> Robot:
    """The robot in a style, with closed loops."""
    if isinstance(model, Robot):
        robot = model if model.style == style else to_pinocchio(model.reduction, style)
    else:
        reduction = reduce_mechanism(model) if isinstance(model, Mechanism) else model
        robot = to_pinocchio(steadied(reduction), style)
    if robot.nv == 0:
        raise ModelError("the mechanism has no joint that could move")
    assembly = robot.reduction.assembly
    if not assembly.closed:
        gap = max(assembly.after, key=lambda g: g.translation + g.rotation)
        raise NotClosed(gap.joint, gap.translation, gap.rotation)
    return robot
