"""One way through a simulation: steps of an engine, samples on the way, a report at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.simulation import Simulation
from regularize.escape import listed
from regularize.lie.arrays import Array, Configuration, Velocity, read_only
from regularize.mechanism.diagnostic import Diagnostic, Severity
from regularize.mechanism.graph import coordinate_names
from regularize.mechanism.joint import Joint
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.passive_joints import limits_of
from regularize.tolerances import EXACT, UNNOTICED

#: Findings about what the arrays of a Pinocchio model lack, which simulations count by themselves.
COUNTED = ("REG324", "REG325")
#: Change of the energy balance that the tolerance explains, relative to the energy that came and
#: went: in relative tolerances of the integrator, for every step where nothing is corrected, and at
#: most, or in these if they are loose.
JUMP, EVERY, LARGEST, LOOSE = 1e2, 10.0, 1e-3, 10.0
#: Part of the energy that rounding may change, and what it may change where there is none, in J.
ROUNDING, NOTHING = 1e-10, 1e-12


def joint_findings(robot: Robot, coordinates: Array, v: Array) -> tuple[Diagnostic, ...]:
    """Return findings on limits not enforced, friction that is smoothed, and rotors left out."""
    joints = robot.reduction.mechanism.joints
    findings = [*_limits(robot, coordinates, v)]
    rough = [joint for joint in joints if np.any(joint.dynamics.friction)]
    if rough:
        text = f"dry friction of {listed((j.name for j in rough), 8)} is regularised: it falls "
        text += "off at low rates, so that joints creep where they would stick"
        sticks = "ask for steps in which it sticks: h=1e-3, --step 1e-3"
        help = sticks, "ask for a lower rate of slipping (slip=)"
        findings.append(_about(rough, "REG317", "note", text, help))
    cut = [c.edge.joint for c in robot.constraints.closures if c.edge is not None]
    heavy = [joint for joint in cut if np.any(joint.dynamics.armature)]
    if heavy:
        text = f"rotors of {listed((j.name for j in heavy), 8)} are left out, since these joints "
        engine = "use the engine 'anchors', which has all joints in its tree"
        findings.append(_about(heavy, "REG325", "warning", text + "close loops", (engine,)))
    return tuple(findings)


def _about(
    joints: Sequence[Joint], code: str, severity: Severity, text: str, help: tuple[str, ...]
) -> Diagnostic:
    """Return a finding about some joints, where the first one stands."""
    names, source = tuple(joint.name for joint in joints), joints[0].source
    return Diagnostic(code, severity, text, joints=names, source=source, help=help)


def _limits(robot: Robot, coordinates: Array, v: Array) -> list[Diagnostic]:
    """Return findings on joints that leave their limits or their greatest rate."""
    mechanism = robot.reduction.mechanism
    limited = [j for j in mechanism.joints if j.limits is not None]
    if not limited:
        return []
    names, beyond = coordinate_names(mechanism), []
    rates = v @ robot.passive.coordinates.rates.T
    speed = np.max(np.abs(rates), axis=0) - limits_of(mechanism, "velocity")
    over = np.max(coordinates, axis=0) - limits_of(mechanism, "upper")
    under = limits_of(mechanism, "lower") - np.min(coordinates, axis=0)
    # What an integration's error adds to a bound that is met is not worth a word.
    for name, passed, fast in zip(names, np.maximum(over, under), speed, strict=True):
        if passed > UNNOTICED:
            beyond.append(f"`{name}` goes {passed:.3g} beyond its bounds")
        if fast > UNNOTICED:
            beyond.append(f"`{name}` is {fast:.3g} faster than it may")
    text = f"limits of {listed((j.name for j in limited), 8)} are not enforced: "
    text += ", ".join(beyond[:8]) or "the motion keeps to those of positions and rates"
    text += " …" * (len(beyond) > 8)
    steps = "ask for steps that keep them: limits=True, --limits"
    help = steps, "stop or drive these joints by forces, or prescribe their motion"
    return [_about(limited, "REG316", "warning" if beyond else "note", text, help)]


def near_limits(
    reduction: Reduction, time: Array, coordinates: Array, most: int = 500
) -> Iterator[Diagnostic]:
    """Yield findings where the proof of kept rows nearly ends, as at a group's limit (REG228)."""
    chosen = slice(None, None, -(-len(time) // most))
    for cell in reduction.cells:
        parts = reduction.parts_of(cell)
        if not any(part.held or part.parallelograms for part in parts):
            continue
        from regularize.reduction.descent import Descent  # few proofs have limits

        watched = Descent(reduction.graph, reduction.coupled, reduction.q, cell, reduction.cuts)
        joints = (reduction.graph.edges[e].joint.name for e in cell.edges)
        columns = reduction.graph.columns(cell.edges)
        begin = watched.smallest(reduction.q[None, columns])
        along = watched.smallest(coordinates[chosen][:, columns])
        ratios = np.min([now / then for now, then in zip(along, begin, strict=True)], axis=0)
        worst = int(np.argmin(ratios))
        if ratios[worst] < math.sqrt(EXACT.apart):
            text = f"at {time[chosen][worst]:.4g} s the motion is near a pose where the proof of "
            text += "the kept equations ends: their smallest singular value, or that of all "
            text += f"equations, is {ratios[worst]:.2g} of what it is at the assembled pose"
            names, help = tuple(dict.fromkeys(joints)), "see REG227 of the report: regularize check"
            yield Diagnostic("REG228", "warning", text, joints=names, help=(help,))


def passed(crossed: Sequence[float], leapt: Sequence[float]) -> tuple[Diagnostic, ...]:
    """Return findings on times where two motions crossed, or where rounding chose the branch."""
    findings = []
    if crossed:
        crossing = len(crossed) - 1
        later = f" and {crossing} more time{'s' * (crossing > 1)}" if crossing else ""
        text = "the motion goes straight on at a singular configuration, where it may branch off: "
        text += f"at {crossed[0]:.4g} s{later}"
        away = "stay away from it, or add a part that leads the mechanism through"
        findings.append(Diagnostic("REG313", "warning", text, help=(away,)))
    text = "two motions of the mechanism come so near to each other that rounding decided which "
    text += "one was followed: at "
    cross = "if they should cross, write the dimensions with more digits"
    help = cross, "if they should not, change the dimensions until they stay apart"
    findings += [Diagnostic("REG314", "warning", f"{text}{t:.4g} s", help=help) for t in leapt]
    return tuple(findings)


def explained(rtol: float, steps: int = 0) -> float:
    """Return the part of the energy that errors within a tolerance explain, after some steps."""
    return min((JUMP + EVERY * steps) * rtol, max(LARGEST, LOOSE * rtol))


def jumps(
    time: Array, balance: Array, moved: Array, part: float, begin: float | None = None
) -> tuple[Diagnostic, ...]:
    """Return a finding where the balance leaves ``begin`` by more than a ``part`` of what moved."""
    if not np.isfinite(part):
        return ()
    off = np.abs(balance - (balance[0] if begin is None else begin))
    rounding = ROUNDING * float(np.max(np.abs(balance))) + NOTHING
    wrong = ~(off <= rounding + part * np.maximum.accumulate(moved))
    if not wrong.any():
        return ()
    first = int(np.argmax(wrong))
    text = f"the energy balance is off by {off[first]:.2g} J at {time[first]:.6g} s: the motion "
    text += "is wrong from there on, or a little before"
    help = ("ask for a smaller relative error: rtol, --rtol",)
    return (Diagnostic("REG315", "error", text, help=help),)


@dataclass(eq=False)
class Counters:
    """Costs of a simulation: accepted and rejected steps, evaluations of the acceleration."""

    steps: int = 0
    crossings: list[float] = field(default_factory=list)  #: when two motions crossed
    leaps: list[float] = field(default_factory=list)  #: when a singular configuration was passed
    rejected: int = 0
    correction: float = 0.0  #: of the energy balance, without sign, in J
    evaluations: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """A motion at one time; the work is what joint forces and drives have put in so far, in J."""

    time: float
    q: Configuration
    v: Velocity
    work: float
    drive_forces: Array = field(default_factory=lambda: np.zeros(0))


class Engine(Protocol):
    """Equations of motion with a method that integrates them."""

    counters: Counters
    total: float  #: energy less the work where the motion begins, in J

    @property
    def name(self) -> str:
        """Name of the engine in results."""

    @property
    def explained(self) -> float:
        """Part of the energy that its errors explain; infinite where that is not looked at."""

    def ends(self, times: Array) -> Array:
        """Return the times nearest to others at which it knows the motion."""

    @property
    def end(self) -> float:
        """End of the last step, at first the beginning, in seconds."""

    def step(self, until: float, sampled: float) -> None:
        """Make one step that does not pass ``until``, or several to the one past ``sampled``."""

    def sample(self, t: float) -> Sample:
        """Return the motion at a time within the last step."""


def record(
    engine: Engine, times: Array, progress: Callable[[float], None] | None = None
) -> list[Sample]:
    """Return the motion at increasing times; ``progress`` is called with the fraction done."""
    samples: list[Sample] = []
    for t in times.tolist():
        while t > engine.end:
            engine.step(float(times[-1]), t)
            if progress is not None:
                progress(min(1.0, engine.end / float(times[-1])))
        samples.append(engine.sample(t))
    return samples


def simulation_of(
    robot: Robot, samples: Sequence[Sample], engine: Engine, drives: Sequence[str]
) -> Simulation:
    """Return a recorded motion with its checks, all on the full model."""
    time, work = np.array([(sample.time, sample.work) for sample in samples]).T
    q, v = (np.array([getattr(sample, name) for sample in samples]) for name in "qv")
    forces = np.array([sample.drive_forces for sample in samples]).reshape(len(time), len(drives))
    coordinates = robot.states.coordinates(robot.passive.coordinates, q)
    errors = None if robot.kernel is None else robot.kernel.residual(q)
    if errors is None:
        errors = np.array([robot.residual(sample) for sample in q])
    kinetic, gravity = robot.states.energies(q, v)
    stored = gravity + [robot.passive.energy(sample) for sample in q]
    energy = kinetic + stored - work
    moved = kinetic + np.abs(stored - stored[0]) + np.abs(work)
    counters = engine.counters
    return Simulation(
        robot=robot,
        time=read_only(time),
        q=read_only(q),
        v=read_only(v),
        coordinates=read_only(coordinates),
        names=coordinate_names(robot.reduction.mechanism),
        energy=read_only(energy),
        closure=read_only(np.max(np.abs(errors), axis=1, initial=0.0)),
        steps=counters.steps,
        leaps=len(counters.leaps),
        correction=counters.correction,
        rejected=counters.rejected,
        evaluations=counters.evaluations,
        engine=engine.name,
        findings=(
            *(finding for finding in robot.findings if finding.code not in COUNTED),
            *joint_findings(robot, coordinates, v),
            *near_limits(robot.reduction, time, coordinates),
            *passed(counters.crossings, counters.leaps),
            *jumps(time, energy, moved, engine.explained, engine.total),
        ),
        drives=tuple(drives),
        drive_forces=read_only(forces),
    )
