"""Motions with contacts, joint limits and dry friction, in steps of fixed length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.recording import record, simulation_of
from regularize.dynamics.simulation.simulation import Simulation, recorded_times
from regularize.errors import ModelError
from regularize.guests.contact import Ground
from regularize.guests.contact.hindrances import Surroundings
from regularize.guests.contact.stepping import SteppedEngine
from regularize.guests.contact.stops import JointStops
from regularize.guests.contact.touching import TouchingPoints
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.diagnostic import Diagnostic

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
    robot, h = loads.robot, float(options.get("h") or STEP)
    ground, limits = _ground(options.get("contacts")), bool(options.get("limits"))
    points = TouchingPoints() if ground is None else TouchingPoints.of(robot)
    stops = JointStops.of(robot, limits)
    engine = SteppedEngine(loads, Surroundings(stops, ground or Ground(), points, h), start)
    wanted: Array = h * np.arange(float(max(1, round(duration / h)) + 1))
    if times is not None:
        wanted = recorded_times(times, duration)
    samples = record(engine, engine.ends(wanted), options.get("progress"))
    motion = simulation_of(robot, samples, engine, ())
    converged = np.array(engine.converged)
    said = *_kept(motion.findings, limits), *_unsolved(motion.time, converged)
    if ground is not None:
        said += (*points.findings, PASSING)
    return replace(
        motion,
        energy=read_only(engine.energies),
        findings=said,
        h=h,
        contact_forces=read_only(engine.contact_forces),
        contact_points=read_only(engine.contact_points),
        contacts=points.bodies,
        limit_forces=read_only(engine.limit_forces),
        limited=stops.names,
        converged=converged,
    )


def _ground(contacts: Any) -> Ground | None:
    """The ground among what may be touched; anything else, or several, are refused."""
    if contacts is None:
        return None
    found = [*contacts] if isinstance(contacts, Sequence) else [contacts]
    if len(found) > 1 or any(not isinstance(each, Ground) for each in found):
        raise ModelError(
            "contacts is a list of one rg.Ground, the plane z = 0; other planes, terrain and "
            f"contacts between bodies are not known here; got {found!r:.80}"
        )
    return found[0] if found else None


#: What contacts leave out.
PASSING = Diagnostic(
    "REG319",
    "note",
    "the ground holds bodies up, which pass through each other: contacts between bodies are not "
    "computed",
    help=("look at the motion: regularize show", "or bound the joints that let them meet"),
)


def _kept(findings: Sequence[Diagnostic], limits: bool) -> Iterator[Diagnostic]:
    """Findings of a motion whose dry friction is as it is, and limits too if they are kept."""
    for finding in findings:
        beyond = finding.message.partition(" are not enforced: ")[2]
        if finding.code == "REG316" and limits:
            if finding.severity == "warning":
                words = f"rates, and bounds of ball joints, are not kept: {beyond}"
                yield replace(finding, message=words, help=finding.help[1:])
        elif finding.code != "REG317":
            yield finding


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
