"""One way through a simulation: steps of an engine, samples on the way, a report at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from regularize.dynamics.joint_findings import COUNTED, joint_findings
from regularize.dynamics.proof_limits import near_limits
from regularize.dynamics.simulation import Simulation
from regularize.lie.screw import Array, read_only
from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import coordinate_names
from regularize.pinocchio_model.robot import Robot


@dataclass(eq=False)
class Counters:
    """What a simulation has cost.

    Attributes:
        steps: Accepted steps.
        leaps: Steps among them that pass a singular configuration beyond the tolerance.
        rejected: Rejected steps.
        correction: Sum of what was corrected in the energy balance, without sign, in J.
        evaluations: Evaluations of the acceleration.
    """

    steps: int = 0
    leaps: int = 0
    rejected: int = 0
    correction: float = 0.0
    evaluations: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """A motion at one time.

    Attributes:
        time: In seconds.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        work: What joint forces and drives have put in so far, in J.
        drive_forces: Forces and torques of the drives beyond the joint forces, shape (k,).
        a: Acceleration, where it is known already, shape (nv,).
    """

    time: float
    q: Array
    v: Array
    work: float
    drive_forces: Array = field(default_factory=lambda: np.zeros(0))
    a: Array = field(default_factory=lambda: np.zeros(0))


class Engine(Protocol):
    """Equations of motion with a method that integrates them."""

    counters: Counters

    @property
    def end(self) -> float:
        """End of the step made last, at first the beginning, in seconds."""

    def step(self, until: float, sampled: float) -> None:
        """Make one step that does not pass a time, or several up to the one that passes another."""

    def sample(self, t: float) -> Sample:
        """The motion at a time within the step made last."""

    def advance(self) -> None:
        """Go to the end of the step made last."""


def record(
    engine: Engine, times: Array, progress: Callable[[float], None] | None = None
) -> list[Sample]:
    """The motion at increasing times.

    Args:
        engine: Where the motion begins.
        times: In seconds, none before the beginning.
        progress: Called after every step with the fraction done.
    """
    samples = [engine.sample(float(t)) for t in times if t <= engine.end]
    waiting, last = list(times[len(samples) :]), float(times[-1])
    while waiting:
        engine.step(last, float(waiting[0]))
        while waiting and waiting[0] <= engine.end:
            samples.append(engine.sample(float(waiting.pop(0))))
        engine.advance()
        if progress is not None:
            progress(min(1.0, engine.end / last))
    return samples


def reported(
    robot: Robot,
    samples: Sequence[Sample],
    counters: Counters,
    engine: str,
    *,
    drives: Sequence[str] = (),
    findings: Sequence[Diagnostic] = (),
) -> Simulation:
    """A recorded motion with its checks, all on the full model."""
    return simulation_of(
        robot,
        np.array([sample.time for sample in samples]),
        np.array([sample.q for sample in samples]),
        np.array([sample.v for sample in samples]),
        np.array([sample.work for sample in samples]),
        counters,
        engine,
        drives=drives,
        drive_forces=np.array([sample.drive_forces for sample in samples]).reshape(
            len(samples), len(drives)
        ),
        findings=findings,
    )


def simulation_of(
    robot: Robot,
    time: Array,
    q: Array,
    v: Array,
    work: Array,
    counters: Counters,
    engine: str,
    *,
    coordinates: Array | None = None,
    closure: Array | None = None,
    drives: Sequence[str] = (),
    drive_forces: Array | None = None,
    findings: Sequence[Diagnostic] = (),
) -> Simulation:
    """A motion with its checks.

    Args:
        robot: The model.
        time: Shape (N,).
        q: Configurations, shape (N, nq).
        v: Velocities, shape (N, nv).
        work: Of joint forces and drives, shape (N,).
        counters: What it has cost.
        engine: What integrated it.
        coordinates: The mechanism's coordinates, where they are known, shape (N, n).
        closure: Closure errors, where they are known, shape (N,).
        drives: Names of the driven joints.
        drive_forces: Their forces and torques, shape (N, k).
        findings: What should be known besides those of the robot.
    """
    if coordinates is None:
        coordinates = robot.states.coordinates(robot.passive.coordinates, q)
    if closure is None:
        errors = None if robot.kernel is None else robot.kernel.residual(q)
        if errors is None:
            errors = np.array([robot.residual(sample) for sample in q])
        closure = np.max(np.abs(errors), axis=1, initial=0.0)
    kinetic, gravity = robot.states.energies(q, v)
    energy = kinetic + gravity + [robot.passive.energy(sample) for sample in q]
    return Simulation(
        robot=robot,
        time=read_only(time),
        q=read_only(q),
        v=read_only(v),
        coordinates=read_only(coordinates),
        names=coordinate_names(robot.reduction.mechanism),
        energy=read_only(energy - work),
        closure=read_only(closure),
        steps=counters.steps,
        leaps=counters.leaps,
        correction=counters.correction,
        rejected=counters.rejected,
        evaluations=counters.evaluations,
        engine=engine,
        findings=(
            *(finding for finding in robot.findings if finding.code not in COUNTED),
            *joint_findings(robot, coordinates, v),
            *near_limits(robot.reduction, time, coordinates),
            *findings,
        ),
        drives=tuple(drives),
        drive_forces=read_only(np.zeros((len(time), 0)) if drive_forces is None else drive_forces),
    )
