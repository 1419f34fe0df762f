"""Motions with contacts, joint limits and dry friction, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.contact.ground import Ground
from regularize.contact.hindrances import JointStops, Surroundings
from regularize.contact.stepping import SteppedState, Stepper
from regularize.contact.touching import TouchingPoints
from regularize.errors import ModelError
from regularize.lie.screw import Array, read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import coordinate_names
from regularize.pinocchio.robot import Robot
from regularize.simulation.loads import Loads
from regularize.simulation.recording import COUNTED, joint_findings, near_limits
from regularize.simulation.simulation import Simulation, recorded_times

#: Length of a step in seconds where none is said.
STEP = 1e-3


def stepped_motion(
    loads: Loads,
    start: tuple[Array, Array],
    duration: float,
    times: Array | None,
    options: Mapping[str, Any],
) -> Simulation:
    """A robot's motion in steps of fixed length.

    Args:
        loads: What acts on it.
        start: Configuration with closed loops and velocity, shapes (nq,) and (nv,).
        duration: In s.
        times: Times that are recorded, at the steps' ends nearest to them; all by default.
        options: ``contacts``, ``limits``, ``h``; ``progress`` gets the fraction done.

    Raises:
        ModelError: An option makes no sense, or nothing can touch the ground.
    """
    robot, progress = loads.robot, options.get("progress")
    h = float(options.get("h") or STEP)
    ground = _ground(options.get("contacts"))
    stops = JointStops.of(robot, bool(options.get("limits")))
    points = None if ground is None else TouchingPoints.of(robot)
    fall = h * (float(np.linalg.norm(robot.reduction.mechanism.gravity)) or 1.0)
    around = Surroundings(robot, stops, ground or Ground(), points, fall, h)
    count = max(1, round(duration / h))
    wanted = np.arange(count + 1)
    if times is not None:
        wanted = np.unique(np.rint(recorded_times(times, duration) / h).astype(int))
    stepper, wanted = Stepper(loads, around), np.minimum(wanted, count)
    states = list(_recorded(stepper, start, set(wanted.tolist()), int(wanted[-1]), progress))
    return _motion(robot, around, states, int(wanted[-1]))


def _ground(contacts: Any) -> Ground | None:
    """The ground among what may be touched.

    Raises:
        ModelError: There is something else, or several.
    """
    if contacts is None:
        return None
    found = [*contacts] if isinstance(contacts, Sequence) else [contacts]
    if len(found) > 1 or any(not isinstance(each, Ground) for each in found):
        raise ModelError(
            "contacts is a list of one rg.Ground, the plane z = 0; other planes, terrain and "
            f"contacts between bodies are not known here; got {found!r:.80}"
        )
    return found[0] if found else None


def _recorded(
    stepper: Stepper,
    start: tuple[Array, Array],
    wanted: set[int],
    last: int,
    progress: Callable[[float], None] | None,
) -> Iterator[SteppedState]:
    """States at the ends of some steps; each says whether all since the one before are found."""
    state, found = stepper.first(*start), True
    if 0 in wanted:
        yield state
    for number in range(1, last + 1):
        # Times are no sums of steps, which rounding would move.
        state = replace(stepper.step(state), time=number * stepper.around.h)
        found = found and state.converged
        if number in wanted:
            yield replace(state, converged=found)
            found = True
        if progress is not None:
            progress(number / last)


def _motion(
    robot: Robot, around: Surroundings, states: Sequence[SteppedState], steps: int
) -> Simulation:
    """The recorded states as one value, with what is to be said of them."""
    time, work = np.array([(state.time, state.work) for state in states]).T
    q, v = (np.array([getattr(state, name) for state in states]) for name in "qv")
    coordinates = robot.states.coordinates(robot.passive.coordinates, q)
    errors = np.array([robot.residual(each) for each in q]).reshape(len(q), -1)
    energy = np.array([state.energy for state in states])
    points, stops = around.points, around.stops
    converged = np.array([state.converged for state in states])
    return Simulation(
        robot=robot,
        time=read_only(time),
        q=read_only(q),
        v=read_only(v),
        coordinates=read_only(coordinates),
        names=coordinate_names(robot.reduction.mechanism),
        energy=read_only(energy - work),
        closure=read_only(np.max(np.abs(errors), axis=1, initial=0.0)),
        steps=steps,
        leaps=0,
        correction=states[-1].taken,
        rejected=0,
        evaluations=steps,
        engine="stepping",
        findings=(
            *(finding for finding in robot.findings if finding.code not in COUNTED),
            *(() if points is None else points.findings),
            *said(robot, around, coordinates, v),
            *near_limits(robot.reduction, time, coordinates),
            *_unsolved(time, converged),
        ),
        drives=(),
        drive_forces=read_only(np.zeros((len(time), 0))),
        h=around.h,
        contact_forces=read_only([state.contact_forces for state in states]),
        contact_points=read_only([state.contact_points for state in states]),
        contacts=() if points is None else points.bodies,
        limit_forces=read_only([state.limit_forces for state in states]),
        limited=stops.names,
        converged=converged,
    )


def said(robot: Robot, around: Surroundings, coordinates: Array, v: Array) -> Iterator[Diagnostic]:
    """What should be known of the motion: what it leaves out, and limits that it does not keep."""
    for finding in joint_findings(robot, coordinates, v):
        beyond = finding.message.partition(" are not enforced: ")[2]
        if finding.code == "REG316" and around.stops.limits:
            if finding.severity == "warning":
                words = f"rates, and bounds of ball joints, are not kept: {beyond}"
                yield replace(finding, message=words, help=finding.help[1:])
        elif finding.code != "REG317":  # dry friction is as it is here
            yield finding
    if around.points is not None:
        yield Diagnostic(
            "REG319",
            "note",
            "the ground holds bodies up, which pass through each other: contacts between bodies "
            "are not computed",
            help=("look at the motion: regularize show", "or bound the joints that let them meet"),
        )


def _unsolved(time: Array, converged: NDArray[np.bool_]) -> Iterator[Diagnostic]:
    """A finding where forces of contacts and stops were not found."""
    missed = np.flatnonzero(~converged)
    if len(missed):
        yield Diagnostic(
            "REG340",
            "warning",
            f"forces of contacts and stops were not found to the accuracy wanted at {len(missed)} "
            f"of {len(time)} recorded times, first at {time[missed[0]]:.6g} s",
            help=("take shorter steps: h, --step",),
        )
