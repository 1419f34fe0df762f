"""A simulated motion: arrays, figures, files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regularize.errors import MissingExtra, ModelError, UnsupportedExport
from regularize.escape import did_you_mean
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.named_columns import (
    NamedColumns,
    ShortRepr,
    coordinate_columns,
    table_html,
)
from regularize.output_files import write_file, write_made
from regularize.validation import NAMES, PATH, numbers, validated

if TYPE_CHECKING:
    from regularize.dynamics.pinocchio.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(ShortRepr, NamedColumns):
    """A simulated motion.

    Attributes:
        robot: The model that was integrated.
        time: Times in seconds, shape (N,).
        q: Configurations, shape (N, nq).
        v: Velocities, shape (N, nv).
        coordinates: The mechanism's joint coordinates, those of the cuts included, shape (N, n).
        names: Name of each of these coordinates.
        energy: Kinetic and gravitational energy and that of joint springs, less the work of joint
            forces, drives, damping and friction, in J, shape (N,).
        closure: Largest closure error of any loop, lengths scaled, shape (N,).
        steps: Accepted steps.
        leaps: Steps among them that pass a singular configuration beyond the tolerance.
        correction: Sum of what was corrected in the energy balance of steps and samples, in J,
            without sign.
        rejected: Rejected steps.
        evaluations: Evaluations of the acceleration.
        engine: What integrated it.
        findings: What could not be carried over, and what should be known of the motion.
        drives: Names of the joints whose motion is prescribed.
        drive_forces: Forces in N and torques in N m that the drives need beyond the joint forces,
            shape (N, drives).

    Of steps of fixed length, which know contacts, limits and dry friction: ``energy`` less the work
    of joint forces and loads alone, which never grows: damping, friction, impacts and the length of
    steps take from it.

    Attributes:
        h: Length of a step in s; 0 where steps follow the error.
        contacts: Name of the body of every point that may touch the ground.
        contact_forces: Forces there on the robot, in N and world axes, means over the step that
            ends at each time, zero at the beginning, shape (N, contacts, 3).
        contact_points: Where they act, in m, not a number where nothing was near, (N, contacts, 3).
        limited: Names of the joint coordinates whose bounds are kept.
        limit_forces: Forces of the bounds on them in N m or N, positive at lower bounds, negative
            at upper ones, shape (N, limited).
        converged: Whether all forces since the time before were found, shape (N,).
    """

    robot: Robot
    time: Array
    q: Array
    v: Array
    coordinates: Array
    names: tuple[str, ...]
    energy: Array
    closure: Array
    steps: int
    leaps: int
    correction: float
    rejected: int
    evaluations: int
    engine: str
    findings: tuple[Diagnostic, ...]
    drives: tuple[str, ...]
    drive_forces: Array
    h: float = 0.0
    contacts: tuple[str, ...] = ()
    contact_forces: Array = field(default_factory=lambda: np.zeros((0, 0, 3)))
    contact_points: Array = field(default_factory=lambda: np.zeros((0, 0, 3)))
    limited: tuple[str, ...] = ()
    limit_forces: Array = field(default_factory=lambda: np.zeros((0, 0)))
    converged: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @property
    def energy_drift(self) -> float:
        """Largest change of the energy balance in J."""
        return float(np.max(np.abs(self.energy - self.energy[0])))

    @property
    def closure_drift(self) -> float:
        """Largest closure error, lengths scaled."""
        return float(np.max(self.closure, initial=0.0))

    def columns(self) -> dict[str, Array]:
        """Time in s, every joint coordinate, energy in J, closure, forces; (N,) each.

        Forces are those of drives, of bounds, and of the ground on each body, upwards.
        """
        forces = {f"force {name}": self.drive_forces[:, i] for i, name in enumerate(self.drives)}
        forces |= {f"limit {name}": self.limit_forces[:, i] for i, name in enumerate(self.limited)}
        for body in dict.fromkeys(self.contacts):
            of_body = [column == body for column in self.contacts]
            forces[f"ground on {body}"] = self.contact_forces[:, of_body, 2].sum(axis=1)
        motion = {"time": self.time, **coordinate_columns(self.names, self.coordinates)}
        return {**motion, "energy": self.energy, "closure": self.closure, **forces}

    @property
    def axes(self) -> Sequence[str]:
        """The only axis is time, whose values are its coordinate in xarray."""
        return ("time",)

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        return table_html(f"Simulation of {self.robot.tree.name}", self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Figures of the run, as plain numbers."""
        return {
            "engine": self.engine,
            "duration_s": float(self.time[-1] - self.time[0]),
            "steps": self.steps,
            "rejected": self.rejected,
            "leaps": self.leaps,
            "energy_correction_J": self.correction,
            "evaluations": self.evaluations,
            "energy_drift_J": self.energy_drift,
            "closure_drift": self.closure_drift,
            **({"step_s": self.h, "all_converged": bool(self.converged.all())} if self.h else {}),
        }

    @validated(path=PATH)
    def save(self, path: str | Path) -> Path:
        """Write the motion as ``.csv`` or ``.npz`` (all arrays).

        A table has the coordinates, the energy, the closure error and the forces of the drives.

        Raises:
            UnsupportedExport: The file name ends otherwise.
        """
        path = motion_file(path)
        if path.suffix == ".npz":
            arrays = (
                *("time", "q", "v", "coordinates", "names", "energy", "closure", "drives"),
                *("drive_forces", "contacts", "contact_forces", "contact_points"),
                *("limited", "limit_forces", "converged"),
            )
            values: dict[str, Any] = {name: np.array(getattr(self, name)) for name in arrays}
            write_made(path, lambda stream: np.savez(stream, **values))
        else:
            columns = [self.time, *self.coordinates.T, self.energy, self.closure]
            columns += [*self.drive_forces.T]
            forces = [f"drive force {name}" for name in self.drives]
            header = ["time_s", *self.names, "energy_J", "closure", *forces]
            first = ",".join(f'"{name}"' if "," in name else name for name in header)
            rows = (",".join(f"{x:.17g}" for x in row) for row in np.column_stack(columns))
            write_file(path, "\n".join([first, *rows, ""]))
        return path

    @validated(path=PATH, joints=NAMES)
    def plot(self, path: str | Path, joints: Sequence[str] | None = None) -> Path:
        """Draw joint coordinates, energy drift and closure error over time, ``.svg`` or ``.png``.

        Args:
            path: File to write.
            joints: Names of coordinates to draw; by default the first eight.

        Raises:
            UnsupportedExport: The file name ends otherwise.
            MissingExtra: Matplotlib is not installed.
        """
        path = plot_file(path)
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtra("a plot", "matplotlib", "viz") from error
        chosen = list(self.names[:8]) if joints is None else list(joints)
        unknown = [name for name in chosen if name not in self.names]
        if unknown:
            raise ModelError(
                f"there is no coordinate {unknown[0]!r}{did_you_mean(unknown[0], self.names)}"
            )
        figure = Figure(figsize=(8, 7), layout="constrained")
        FigureCanvasAgg(figure)
        top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(3, 1, 1))
        for name in chosen:
            top.plot(self.time, self.coordinates[:, self.names.index(name)], label=name)
        top.set_ylabel("coordinates [rad, m]")
        if chosen:
            top.legend(loc="upper right", fontsize="small")
        middle.plot(self.time, self.energy - self.energy[0])
        middle.set_ylabel("energy drift [J]")
        bottom.plot(self.time, self.closure)
        bottom.set_ylabel("closure error")
        bottom.set_xlabel("time [s]")
        write_made(path, lambda stream: figure.savefig(stream, format=path.suffix[1:]))
        return path


def motion_file(path: str | Path) -> Path:
    """A file to which a motion can be written."""
    return _file(path, "motions", (".csv", ".npz"))


def plot_file(path: str | Path) -> Path:
    """A file to which a plot can be written."""
    return _file(path, "plots", (".svg", ".png"))


def _file(path: str | Path, kind: str, suffixes: tuple[str, str]) -> Path:
    """Return the path of a file to write; raise for an unknown suffix."""
    path = Path(path)
    if path.suffix not in suffixes:
        raise UnsupportedExport(f"{path}: {kind} are written as {' or '.join(suffixes)}")
    return path


def recorded_times(times: Array | None, duration: float) -> Array:
    """Times at which a motion is recorded, by default 100 per second."""
    if times is None:
        return np.linspace(0.0, duration, max(2, round(100 * duration) + 1))
    times = numbers(times).reshape(-1)
    whole = len(times) > 0 and times[0] >= 0 and times[-1] <= duration
    if not (whole and np.all(np.diff(times) > 0)):
        raise ModelError("times must increase from 0 or later up to the duration at most")
    return times
