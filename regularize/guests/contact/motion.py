"""Motions with contacts, joint limits and dry friction, in steps of fixed length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.recording import record, simulation_of
from regularize.dynamics.simulation.simulation import Simulation, recorded_times
from regularize.errors import ModelError
from regularize.guests.contact import Ground
from regularize.guests.contact.step_constraints import JointStops, Surroundings
from regularize.guests.contact.stepping import SteppedEngine
from regularize.guests.contact.touching import TouchingPoints
from regularize.lie.arrays import Array, Configuration, Mask, Velocity, read_only
from regularize.mechanism.diagnostic import Diagnostic

#: Length of a step in seconds where none is said.
STEP = 1e-3


def stepped_motion(
    loads: Loads,
    start: tuple[Configuration, Velocity],
    duration: float,
    times: Array | None,
    options: Mapping[str, Any],
) -> Simulation:
    """Simulate in steps of fixed length; start with closed loops, duration and times in s.

    Of the options of ``simulate`` it knows ``contacts``, ``limits``, ``h`` and ``progress``.
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
    findings = *_kept(motion.findings, limits), *_unsolved(motion.time, converged)
    if ground is not None:
        findings += (*points.findings, PASSING)
    return replace(
        motion,
        energy=read_only(engine.energies),
        findings=findings,
        h=h,
        contact_forces=read_only(engine.contact_forces),
        contact_points=read_only(engine.contact_points),
        contacts=points.bodies,
        limit_forces=read_only(engine.limit_forces),
        limited=stops.names,
        converged=converged,
    )


def _ground(contacts: Any) -> Ground | None:
    """Return the ground that may be touched; anything else, or several, are refused."""
    if contacts is None:
        return None
    grounds = [*contacts] if isinstance(contacts, Sequence) else [contacts]
    if len(grounds) > 1 or any(not isinstance(ground, Ground) for ground in grounds):
        raise ModelError(
            "contacts is a list of one rg.Ground, the plane z = 0; other planes, terrain and "
            f"contacts between bodies are not known here; got {grounds!r:.80}"
        )
    return grounds[0] if grounds else None


#: Contacts between bodies are left out, and a motion with contacts says so.
PASSING = Diagnostic(
    "REG319",
    "note",
    "the ground holds bodies up, which pass through each other: contacts between bodies are not "
    "computed",
    help=("look at the motion: regularize show", "or bound the joints that let them meet"),
)


def _kept(findings: Sequence[Diagnostic], limits: bool) -> Iterator[Diagnostic]:
    """Drop findings that do not hold for steps, which know dry friction and maybe ``limits``."""
    for finding in findings:
        beyond = finding.message.partition(" are not enforced: ")[2]
        if finding.code == "REG316" and limits:
            if finding.severity == "warning":
                words = f"rates, and bounds of ball joints, are not kept: {beyond}"
                yield replace(finding, message=words, help=finding.help[1:])
        elif finding.code != "REG317":
            yield finding


def _unsolved(time: Array, converged: Mask) -> Iterator[Diagnostic]:
    """Yield a finding where forces of contacts and stops were not found."""
    missed = np.flatnonzero(~converged)
    if len(missed):
        yield Diagnostic(
            "REG340",
            "warning",
            f"forces of contacts and stops were not found to the accuracy wanted at {len(missed)} "
            f"of {len(time)} recorded times, first at {time[missed[0]]:.6g} s",
            help=("take shorter steps: h, --step",),
        )
