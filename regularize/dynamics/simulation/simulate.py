"""Simulation of a mechanism with closed loops, without a parameter to tune."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from regularize.adapters.shapes.density import with_usual_density
from regularize.dynamics.pinocchio.constraints import close_loops
from regularize.dynamics.pinocchio.exporting import to_pinocchio
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.tree_states import require_mass
from regularize.dynamics.simulation import FINEST, MuJoCo, Solver
from regularize.dynamics.simulation.equations import AllCoordinates, IndependentCoordinates
from regularize.dynamics.simulation.fixed_coordinates import with_rigid_coordinates_fixed
from regularize.dynamics.simulation.integrator import Integrator, StepTooSmall
from regularize.dynamics.simulation.loads import Actuation, BodyLoad, JointForces, Loads
from regularize.dynamics.simulation.prescribed import Drive, Drives, PrescribedMotion, prescribed
from regularize.dynamics.simulation.recording import Engine, Sample, record, simulation_of
from regularize.dynamics.simulation.simulation import Simulation, recorded_times
from regularize.errors import ModelError, NotClosed, RegularizeError, UnsupportedExport
from regularize.escape import did_you_mean
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.elastic import loads_on_segments, segments
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism
from regularize.reduction.reduce import Reduction, on_branch
from regularize.reduction.reduce import reduce as reduce_mechanism
from regularize.services import guest
from regularize.validation import (
    ARRAY,
    FLAG,
    FUNCTION,
    NUMBER,
    POSITIVE,
    TEXT,
    WHOLE,
    Kind,
    instance,
    named,
    state,
    validate,
    validated,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy import LowLevelCallable
    from typing_extensions import Unpack


class SimulationOptions(TypedDict, total=False):
    """What is seldom asked of a simulation; see ``simulate``."""

    drive: Mapping[str, Drive]
    forces: JointForces | LowLevelCallable | None
    loads: Mapping[str, ArrayLike | BodyLoad]
    slip: float | None
    branch: int | None
    progress: Callable[[float], None] | None
    contacts: Sequence[Any] | None
    limits: bool | None
    h: float | None


#: What a tolerance is multiplied by where it leads to no motion or to a wrong one, and at least.
FINER, FINEST_TRIED = 1e-3, 1e-12
#: What each of them is like.
OPTIONS = {
    "drive": named(NUMBER | TEXT | FUNCTION | instance(tuple)),
    "forces": FUNCTION | instance(tuple),
    "loads": named(ARRAY | instance(BodyLoad)),
    "slip": POSITIVE,
    "branch": WHOLE,
    "progress": FUNCTION,
    "contacts": Kind("a list of one rg.Ground", lambda value: True),
    "limits": FLAG,
    "h": POSITIVE,
}
#: What asks for steps of fixed length.
STEPPED = ("contacts", "limits", "h")


@validated(
    duration=POSITIVE,
    times=ARRAY,
    q=ARRAY,
    v=ARRAY,
    rates=named(NUMBER),
    torques=named(NUMBER | FUNCTION | instance(tuple)),
    rtol=POSITIVE,
    solver=instance(Solver, MuJoCo),
)
def simulate(
    model: Model,
    *,
    duration: float,
    times: Array | None = None,
    q: Array | None = None,
    v: Array | None = None,
    rates: Mapping[str, float] | None = None,
    torques: Mapping[str, Actuation] | None = None,
    rtol: float = 1e-9,
    solver: Solver | MuJoCo | None = None,
    **options: Unpack[SimulationOptions],
) -> Simulation:
    """Let a mechanism move under gravity, joint forces, and what acts within its joints.

    Damping, springs, rotors and dry friction are those of ``Joint.dynamics``; elastic bodies are
    chains of segments, see ``segments``. The step size follows the error, and every step ends on
    the loops' closure; limits of joints are not enforced then, and findings say so. ``contacts``,
    ``limits`` or ``h`` among the options ask for steps of fixed length instead, which know the
    ground, limits of joints, and dry friction that sticks.

    Args:
        model: A mechanism, its reduction or its robot.
        duration: Length of the simulation in seconds.
        times: Times at which the motion is recorded, increasing, in seconds; by default 100 per
            second.
        q: Configuration to begin with, shape (nq,); by default the assembled reference.
        v: Velocity to begin with, shape (nv,); by default rest.
        rates: Joint rates to begin with, by name, in place of ``v``; the other joints follow.
        torques: Force or torque of joints with one freedom by name, constant or over time.
        rtol: Error per step, relative to rates above 1 rad/s or m/s, else absolute.
        solver: ``Solver`` with further choices: coordinates, style, tolerances; or ``MuJoCo``.
        options: ``drive``: prescribed motions of joints with one freedom by name: a value, an
            expression of the time such as ``"0.3*sin(2*pi*t)"``, a function that returns the
            position, or position, rate and acceleration, a compiled one, ``int motion(double t,
            double *motion, void *data)``, which writes these three and returns 0, or a pair of
            times and positions. The mechanism is moved to where they begin. ``drive_forces`` of the
            result are the forces that they need.

            ``forces``: further joint forces by time, configuration and velocity, shape (nv,):
            springs, dampers, controllers. Functions may be compiled ones, which are called without
            Python: ``scipy.LowLevelCallable`` of a function of ctypes, cffi, numba or Cython. Here
            it is ``int forces(double t, const double *q, const double *v, double *tau, void
            *data)``, which adds to ``tau`` and returns 0, or another number to end the simulation;
            among ``torques`` it is ``double torque(double t, void *data)``.

            ``loads``: constant forces and moments on bodies by their names: six numbers at the
            origin of the body's frame in ground axes, force first, or a ``BodyLoad``.

            ``slip``: rate in rad/s and m/s below which dry friction falls off, so that the motion
            stays smooth; by default 1e-3. A joint that would stick creeps at a part of it.

            ``branch``: which of the components that meet at the assembled pose to move on, by its
            place in ``mobility.components`` of the report, the first being 1; a configuration on it
            takes the place of the pose. Only of a mechanism.

            ``progress``: called after every step with the fraction done.

            ``contacts``: a list of one ``Ground``, on which the collision shapes of the model may
            stand; bodies do not touch each other. ``contact_forces`` of the result are its forces.

            ``limits``: whether joints stop at their bounds (without a bounce), and motors have no
            more than their effort. ``limit_forces`` of the result are the forces of the bounds.

            ``h``: length of a step in seconds, 1e-3 where contacts or limits ask for steps. Every
            step is recorded, the initial state first, or those nearest to ``times``. Steps are
            semi-implicit and of first order: half the length halves the error.

    Raises:
        TypeError: There is no such option.
        ModelError: A number makes no sense, or a name or a shape does not fit the model.
        NotClosed: The loops are open.
        NotIndependent: More motions are prescribed than the mechanism has freedoms.
        StepTooSmall: The motion cannot be continued.
    """
    _check(options)
    slip, solver = options.get("slip"), Solver() if solver is None else solver
    if not FINEST <= rtol <= 1:
        raise ModelError(
            f"the relative error per step must lie between {FINEST:.1e} and 1, got rtol = {rtol}"
        )
    recorded = recorded_times(times, duration)
    stepped = any(options.get(name) not in (None, False) for name in STEPPED)
    if stepped:
        _check_stepped(options, solver)
    motions = _motions(options.get("drive") or {}, rates or {}, duration, solver)
    forces = options.get("forces")
    plain = q is None and v is None and forces is None
    applied, assumed = options.get("loads") or {}, tuple[Diagnostic, ...]()
    if isinstance(model, (Reduction, Robot)):
        if options.get("branch") is not None:
            raise ModelError("branch= chooses where a mechanism begins; pass the mechanism itself")
    else:
        named_joints = {*(torques or {}), *(rates or {}), *motions}
        rigid, assumed = with_usual_density(as_mechanism(model))
        applied = loads_on_segments(rigid, applied)
        model = _cut_elsewhere(segments(rigid), options.get("branch"), named_joints)
    robot = _robot(model, solver, plain)
    loads = Loads.of(robot, torques or {}, forces, applied, slip)
    drives = Drives.of(robot, motions)
    q, v = _start(robot, drives, q, v, rates or {})
    if stepped:
        motion = guest("contact.motion").stepped_motion
        return motion(loads, (q, v), duration, times, options)  # type: ignore[no-any-return]
    first: Simulation | RegularizeError | None = None
    while True:
        try:
            engine = _engine(robot, loads, drives, q, v, rtol, solver)
            samples = record(engine, engine.ends(recorded), options.get("progress"))
            motion = simulation_of(robot, samples, engine, drives.names)
            motion = replace(motion, findings=(*assumed, *motion.findings))
            first = motion if first is None else first
            if all(finding.code != "REG315" for finding in motion.findings):
                return motion
        except RegularizeError as error:
            if first is None and not isinstance(error, StepTooSmall):
                raise
            first = error if first is None else first
        if rtol <= FINEST_TRIED or isinstance(solver, MuJoCo):
            break
        # A looser tolerance is refused only where a tight one is, too.
        rtol = max(rtol * FINER, FINEST_TRIED)
    if isinstance(first, RegularizeError):
        raise first
    return first


def _check(options: Mapping[str, Any]) -> None:
    """Refuse unknown options, saying what was meant, and values that make no sense."""
    if isinstance(limits := options.get("limits"), str) and limits == "events":
        raise ModelError(
            "simulate has no limits='events': say limits=True, which stops joints at their bounds "
            "in steps of fixed length; shorter steps (h=) find the time of a stop more exactly"
        )
    for name, value in options.items():
        if name in OPTIONS:
            if value is not None:
                validate("simulate", name, OPTIONS[name], value)
        elif name == "engine" or name in Solver.__annotations__:
            spelling = "style=...) or rg.MuJoCo(" if name == "engine" else f"{name}=..."
            raise TypeError(
                f"simulate() has no argument {name!r}: say solver=rg.Solver({spelling})"
            )
        else:
            meant = did_you_mean(name, OPTIONS)
            raise TypeError(f"simulate() has no argument {name!r}{meant}")


def _check_stepped(options: Mapping[str, Any], solver: Solver | MuJoCo) -> None:
    """Raise ``ModelError`` for options that solvers with steps of fixed length do not have."""
    if isinstance(solver, MuJoCo) or solver.coordinates == "minimal" or solver.style == "legacy":
        reason = (
            "go with all coordinates and exact rows; leave solver= out, or choose only its style"
        )
    elif options.get("drive"):
        reason = (
            "know no prescribed motions; hold the joints by springs or forces=, or leave drive="
        )
    elif options.get("slip") is not None:
        reason = "have dry friction as it is, which sticks; leave slip= out"
    else:
        return
    raise ModelError(f"steps of fixed length (contacts=, limits=, h=) {reason}")


def _motions(
    drive: Mapping[str, Drive], rates: Mapping[str, float], duration: float, solver: Solver | MuJoCo
) -> dict[str, PrescribedMotion]:
    """Check prescribed motions, and return them by the names of their joints."""
    if drive and isinstance(solver, MuJoCo):
        raise ModelError(
            "prescribed motions are simulated in all coordinates or in minimal ones, not by the "
            "engine mujoco; leave one of the two out"
        )
    for name in sorted({*drive} & {*rates}):
        raise ModelError(f"joint {name!r} is driven, so its rate is given already; leave it out")
    return {name: prescribed(name, motion, duration) for name, motion in drive.items()}


def _cut_elsewhere(mechanism: Mechanism, branch: int | None, named_joints: set[str]) -> Mechanism:
    """Mark named joints as actuated, so that loops are cut at other joints if possible."""
    if branch is not None:
        mechanism = on_branch(mechanism, branch)
    for name in named_joints:
        mechanism.joint(name)
    joints = [replace(j, actuated=j.actuated or j.name in named_joints) for j in mechanism.joints]
    return replace(mechanism, joints=tuple(joints))


def _robot(model: Mechanism | Reduction | Robot, solver: Solver | MuJoCo, plain: bool) -> Robot:
    """Return the robot in the solver's style; where ``plain``, anchors may stand in for rows."""
    style = "legacy" if isinstance(solver, MuJoCo) else solver.style
    if isinstance(model, Robot):
        robot = model if model.style == style else to_pinocchio(model.reduction, style)
    else:
        reduction = reduce_mechanism(model) if isinstance(model, Mechanism) else model
        robot = to_pinocchio(with_rigid_coordinates_fixed(reduction), style)
        if plain and style == "rows":
            joints, in_tree = robot.passive.joints, robot.passive.coordinates.rates.any(axis=1)
            needed = (joints.armature != 0.0) | (joints.stiffness != 0.0)
            if np.any(needed, where=~in_tree):  # a closing joint has a rotor or a spring
                with suppress(UnsupportedExport):
                    robot = to_pinocchio(robot.reduction, "anchors")
    if robot.nv == 0:
        raise ModelError("the mechanism has no joint that could move")
    assembly = robot.reduction.assembly
    if not assembly.closed:
        gap = max(assembly.after, key=lambda g: g.translation + g.rotation)
        raise NotClosed(gap.joint, gap.translation, gap.rotation)
    return robot


def _start(
    robot: Robot, drives: Drives, q: Array | None, v: Array | None, rates: Mapping[str, float]
) -> tuple[Array, Array]:
    """Return the configuration and the velocity to begin with, on closed loops."""
    q = robot.q0 if q is None else state(robot, "q", q)
    q = close_loops(robot, q) if robot.rows else np.array(q)
    if drives:
        q = drives.begun(robot, q)
        driven_rates = dict(zip(drives.names, drives.at(0.0)[1].tolist(), strict=True))
        rates = {**rates, **driven_rates} if v is None else rates
    if rates:
        v = robot.admissible_velocity(q, rates)
    return q, np.zeros(robot.nv) if v is None else np.array(state(robot, "v", v))


def _engine(
    robot: Robot,
    loads: Loads,
    drives: Drives,
    q: Array,
    v: Array,
    rtol: float,
    solver: Solver | MuJoCo,
) -> Engine:
    """Make the engine that integrates the motion from a state, as the solver asks for."""
    if isinstance(solver, MuJoCo):
        from regularize.dynamics.simulation.mujoco_ import MujocoEngine

        with robot.massive_motion():
            require_mass(robot.states.terms(q, v).M, robot.split(q).free)
        return MujocoEngine(robot, loads, q, v, solver.step)
    if solver.coordinates == "minimal":
        equations: AllCoordinates = IndependentCoordinates(
            robot, solver.independent, loads, drives, q
        )
    else:
        equations = AllCoordinates(robot, loads, drives)
    if drives:
        q, v = equations.project(0.0, q, v)
    atol = solver.atol
    if atol is None:
        # Where dry friction turns over, small rates count.
        atol = 1e-2 * rtol if np.any(robot.passive.joints.friction) else rtol
    start, most = Sample(0.0, q, v, 0.0), solver.max_step
    return Integrator(
        equations, start, rtol=rtol, atol=atol, max_step=most, conserve=solver.conserve
    )
