"""Motions of a mechanism as sequences of configurations, one per freedom.

Each independent joint is driven in turn while the other independent joints are held: a step along
the tangent, then Newton corrections of all closure equations, as far as the loops allow or until
the mechanism is back where it started.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.input_files import check_regular
from regularize.dynamics.simulation.simulation import Simulation, motion_file
from regularize.errors import ModelError, ReadError
from regularize.lie.arrays import Array, read_only
from regularize.loops.continuation import Continuation
from regularize.loops.finite import LocalBranch
from regularize.loops.kinematics import LoopKinematics, center_and_length, sized_loops
from regularize.loops.projection import clearest_columns
from regularize.mechanism.graph import coordinate_names
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.report.motion import floating
from regularize.tolerances import UNSEEN, Tolerances

#: Frames in each direction: enough for a crank to turn once while another joint goes faster.
FRAMES = 144
#: Frames times coordinates at most: long chains are slow to follow.
WORK = 1500
#: Largest change of a coordinate between frames, radians or lengths of its cell.
SPACING = 0.1
#: Range of a sliding driver in each direction, in lengths of its cell: it stays in the picture.
SLIDE = 0.6


@dataclass(frozen=True, eq=False)
class DrivenMotion:
    """Configurations (frames, n) of a driven motion; ``start`` is the assembled one."""

    name: str
    column: int
    slides: bool
    q: Array
    start: int
    cyclic: bool
    branch: int = 0


def motions(reduction: Reduction, most: int = 6) -> tuple[DrivenMotion, ...]:
    """Return the first few motions: those of the loops, then those of open chains."""
    if not reduction.assembly.closed:
        return ()
    runs = (drive.run(reduction) for drive in drivers(reduction))
    return tuple(islice((motion for motion in runs if motion is not None), most))


@dataclass(frozen=True, eq=False)
class Driver:
    """A coordinate to drive and those held fixed, by their positions in ``loops``."""

    loops: LoopKinematics
    driver: int
    held: tuple[int, ...]
    slides: bool
    ends: Array | None = None
    branch: int = 0
    heading: Array | None = None

    @property
    def column(self) -> int:
        """Return the position of the driven coordinate among all of the mechanism."""
        return int(self.loops.columns[self.driver])

    def run(self, reduction: Reduction, frames: int = FRAMES) -> DrivenMotion | None:
        """Follow the motion both ways from the assembled configuration, or once around."""
        columns = self.loops.columns
        start = reduction.q[columns]
        ahead, cyclic = self._one_side(start, 1.0, frames)
        behind: list[Array] = []
        if not cyclic:
            behind, cyclic = self._one_side(start, -1.0, frames)
        if cyclic and behind:
            ahead, behind = behind, []
        if not ahead and not behind:
            return None
        path = np.array([*reversed(behind), start, *ahead])
        full = np.repeat(reduction.q[None], len(path), axis=0)
        full[:, columns] = path
        label = f"branch {self.branch}: " if self.branch else ""
        name = label + coordinate_names(reduction.mechanism)[self.column]
        q, first = read_only(full), len(behind)
        return DrivenMotion(name, self.column, self.slides, q, first, cyclic, self.branch)

    def _one_side(self, start: Array, sign: float, frames: int) -> tuple[list[Array], bool]:
        """Return configurations on one side of the assembled pose, on the driver's branch."""
        if self.ends is None:
            return self._follow(start, sign, frames)
        sides = np.sign((self.ends - start)[:, self.driver])
        for end, side in zip(self.ends, sides, strict=True):
            if side == sign:
                path, cyclic = self._follow(end, sign, frames)
                return [end, *path], cyclic
        return [], False

    def _follow(self, start: Array, sign: float, frames: int) -> tuple[list[Array], bool]:
        """Follow a motion one way; return its configurations, and whether it closes up."""
        loops = self.loops
        held = np.zeros(loops.freedoms, dtype=bool)
        held[list(self.held)] = True
        # Loops close no better on the way than where they were assembled.
        noise = float(np.max(np.abs(loops.residual(loops.state(start))), initial=0.0))
        along = Continuation(loops, Tolerances.of(noise=noise), held)
        q, heading = start[None], np.zeros((1, loops.freedoms))
        heading[0, self.driver] = sign
        if self.heading is not None:
            heading[0] = sign * self.heading
        limit = SLIDE * loops.length if self.slides else np.inf
        path: list[Array] = []
        for frame in range(min(frames, max(16, WORK // loops.freedoms))):
            before = q
            q, heading, good = _frame(along, q, heading)
            if not good or abs(q[0, self.driver] - start[self.driver]) > limit:
                break
            # Where loops are shaky, steps lead back to where they began.
            if self._difference(q, before) < 0.1 * SPACING:
                break
            if self.heading is not None:
                heading = loops.difference(before, q) / loops.units
            path.append(q[0])
            if frame > 10 and self._difference(q, start[None]) < 1.5 * SPACING:
                return path, True
        return path, False

    def _difference(self, q: Array, other: Array) -> float:
        """Return the largest difference between the poses of two configurations, lengths scaled."""
        poses = self.loops.state(np.vstack([q, other])).T_world_node
        difference = np.abs(poses[0] - poses[1])
        difference[:, :3, 3] /= self.loops.length
        return float(np.max(difference))


def _frame(along: Continuation, q: Array, heading: Array) -> tuple[Array, Array, bool]:
    """Return the next frame, its heading, and whether it was reached; short steps in bends."""
    left = step = SPACING
    while left > 0.0:
        heading = along.tangents(q, heading)
        stepped = along.step(q, step * heading)
        if stepped.good[0] and heading.any():
            q, left = stepped.q, left - step
            step = min(step, left)
        elif step < 0.1 * SPACING:
            return q, heading, False
        else:
            step *= 0.5
    return q, heading, True


def drivers(reduction: Reduction) -> Iterator[Driver]:
    """Yield all coordinates that can be driven, those of loops first."""
    inside: set[int] = set()
    for cell in reduction.cells:
        inside |= set(cell.edges)
        if cell.branches:
            several = len(cell.branches) > 1
            for number, branch in zip(reduction.branch_numbers(cell), cell.branches, strict=False):
                drives = _cell_drives(reduction, cell, branch)
                yield from (replace(drive, branch=number if several else 0) for drive in drives)
        elif cell.finite != 0:
            yield from _cell_drives(reduction, cell)
    floating_edges = floating(reduction)
    for edge in reduction.graph.edges:
        if edge.index in inside or edge.index in floating_edges:
            continue
        _, length = center_and_length(reduction.loops, reduction.q)
        loops = LoopKinematics(reduction.graph, [edge.index], [edge.index], length=length)
        for k in range(edge.freedoms):
            held_columns = tuple(i for i in range(edge.freedoms) if i != k)
            yield Driver(loops, k, held_columns, not np.any(edge.screws[3:, k]))


def _cell_drives(
    reduction: Reduction, cell: CellMobility, branch: LocalBranch | None = None
) -> Iterator[Driver]:
    """Yield drivers for the independent coordinates of a cell, motors first."""
    loops = sized_loops(reduction.graph, reduction.q, cell.edges, reduction.tree)
    weight, slides = np.ones(loops.freedoms), ~reduction.graph.turning[loops.columns]
    for e in cell.edges:
        edge = reduction.graph.edges[e]
        if edge.freedoms == 1:
            weight[loops.local(e)] = 3.0
        if edge.joint.actuated:
            weight[loops.local(e)] = 100.0
        elif reduction.graph.ground in (edge.parent, edge.child):
            weight[loops.local(e)] *= 3.0
    local, rank = cell.local, cell.generic.rank
    if branch is not None:
        local, rank = branch.local, branch.rank
    if local.mobility is not None and local.mobility < loops.freedoms - rank:
        motions = local.followed.T
    else:
        generic = cell.configurations[-1] if branch is None else branch.local.q
        jacobian = loops.jacobian(loops.state(generic))[0] * loops.units
        motions = np.linalg.svd(jacobian, full_matrices=True)[2][rank:]
    count = len(motions)
    independent = [int(i) for i in clearest_columns(motions * weight, count)]
    headings = np.linalg.inv(motions[:, independent]) @ motions
    headings /= np.max(np.abs(headings), axis=1, initial=0.0, keepdims=True)
    for driver in sorted(independent, key=lambda i: (-weight[i], i)):
        held = tuple(i for i in independent if i != driver)
        heading = headings[independent.index(driver)] if count < loops.freedoms - rank else None
        ends = None if branch is None else branch.ends
        yield Driver(loops, driver, held, bool(slides[driver]), ends, heading=heading)


def traces(reduction: Reduction, shortest: float) -> Iterator[tuple[int, list[Array]]]:
    """Yield the first branches at the pose, each with the curves of its joints."""
    met, most = dict[int, list[Driver]](), 8
    for drive in drivers(reduction):
        if drive.branch and (drive.branch in met or len(met) < most):
            met.setdefault(drive.branch, []).append(drive)
    for number, drives in met.items():
        motions = (drive.run(reduction, 6) for drive in drives[:most])
        ways = [
            way
            for motion in motions
            if motion is not None
            for way in _joint_curves(reduction, motion, shortest)
        ]
        yield number, sorted(ways, key=length_of, reverse=True)


def branch_name(reduction: Reduction, number: int) -> str:
    """Return the number and mobility of a branch, such as ``branch 1: mobility 2``."""
    rest = number - 1
    outside = reduction.freedoms - sum(cell.freedoms for cell in reduction.cells)
    all_cells: list[int | None] = [outside]
    for cell in reversed(reduction.cells):
        rest, component = divmod(rest, len(cell.components))
        all_cells.append(cell.components[component][0])
    known = [mobility for mobility in all_cells if mobility is not None]
    mobility = sum(known) if len(known) == len(all_cells) else "not known"
    return f"branch {number}: mobility {mobility}"


def branch_numbers(reduction: Reduction) -> list[int]:
    """Return the numbers of branches that differ from the first in one cell at most."""
    met = [cell for cell in reduction.cells if len(cell.branches) > 1]
    return sorted({number for cell in met for number in reduction.branch_numbers(cell)})


def _joint_curves(reduction: Reduction, motion: DrivenMotion, shortest: float) -> Iterator[Array]:
    """Yield the longest curves that joints follow during a motion, ahead and back."""
    poses = reduction.loops.state(motion.q).T_world_node
    for frames in (poses[motion.start :], poses[motion.start :: -1]):
        curves: list[Array] = []
        for edge in reduction.graph.edges:
            T = frames[:, reduction.loops.row(edge.parent)]
            curves.append(T[:, :3, :3] @ edge.T_parent[:3, 3] + T[:, :3, 3])
        drawn: list[Array] = []
        for curve in sorted(curves, key=length_of, reverse=True):
            apart = min((float(np.max(np.abs(curve - other))) for other in drawn), default=np.inf)
            if length_of(curve) > shortest and apart > shortest and len(drawn) < 6:
                drawn.append(curve)
        yield from drawn


def length_of(way: Array) -> float:
    """Return the length of a curve through points, shape (n, 3)."""
    return float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())


@dataclass(frozen=True, eq=False)
class PlayedMotion:
    """A simulated motion to be played on a page: samples of time, coordinates, forces."""

    time: Array
    coordinates: Array
    energy: Array
    closure: Array
    forces: Array = field(default_factory=lambda: np.zeros((0, 0, 6)))

    @classmethod
    def of(cls, motion: Simulation) -> PlayedMotion:
        """Take the motion from a simulation."""
        forces = _forces(motion.contact_points, motion.contact_forces)
        return cls(motion.time, motion.coordinates, motion.energy, motion.closure, forces)

    def pushes(self, t: float) -> Array:
        """Return points and scaled forces of the ground at a time, shape (k, 6)."""
        if not self.forces.size:
            return np.zeros((0, 6))
        sizes = np.linalg.norm(self.forces[..., 3:], axis=-1)
        largest = sizes.max(axis=1)
        usual = float(np.median(largest[largest > 0.0])) if largest.any() else 1.0
        k = int(np.argmin(np.abs(self.time - t)))
        touching = sizes[k] > UNSEEN * usual
        found, shrunk = self.forces[k, touching], np.maximum(usual, 0.5 * sizes[k, touching])
        found[:, 3:] /= shrunk[:, None]
        return np.asarray(found)

    @classmethod
    def read(cls, path: str | Path, mechanism: Mechanism) -> PlayedMotion:
        """Read the motion from a file that ``Simulation.save`` has written."""
        path = motion_file(path)
        check_regular(str(path))
        try:
            columns, values, forces = _read_npz(path) if path.suffix == ".npz" else _read_csv(path)
        except (OSError, ValueError, KeyError, StopIteration, csv.Error) as error:
            raise ReadError(str(path), f"holds no motion that was simulated ({error})") from error
        names = coordinate_names(mechanism)
        missing = [n for n in ("time_s", *names, "energy_J", "closure") if n not in columns]
        if missing or not len(values):
            raise ModelError(
                f"{path}: there is no column `{missing[0] if missing else 'time_s'}`; it takes a "
                f"motion of this mechanism, as `regularize simulate MODEL -o {path.name}` writes it"
            )
        picked = {name: values[:, columns.index(name)] for name in columns}
        coordinates = np.array([picked[name] for name in names]).reshape(len(names), -1).T
        return cls(picked["time_s"], coordinates, picked["energy_J"], picked["closure"], forces)

    def as_dict(self, most: int = 600) -> dict[str, Any]:
        """Return the motion as plain values, at a limited number of samples."""
        picked = np.unique(np.linspace(0, len(self.time) - 1, most).astype(int))
        return {
            "time": np.round(self.time[picked], 5).tolist(),
            "coordinates": np.round(self.coordinates[picked], 7).tolist(),
            "energy": [float(f"{x:.6g}") for x in self.energy[picked]],
            "closure": [float(f"{x:.3g}") for x in self.closure[picked]],
            "forces": [np.round(self.pushes(t), 4).tolist() for t in self.time[picked]],
        }


def _forces(points: Array, forces: Array) -> Array:
    """Join contact points and forces, shape (samples, contacts, 6)."""
    return np.concatenate([np.nan_to_num(points), forces], axis=-1)


def _read_npz(path: Path) -> tuple[list[str], Array, Array]:
    """Read names, values and contact forces from an ``.npz`` file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            names = ["time_s", *map(str, file["names"]), "energy_J", "closure"]
            parts = (file["time"], *file["coordinates"].T, file["energy"], file["closure"])
            held = (file["contact_points"], file["contact_forces"]) if "contacts" in file else None
            forces = np.zeros((0, 0, 6)) if held is None else _forces(*held)
            return names, np.column_stack(parts), forces
    except (ValueError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError("no archive of arrays of numbers") from error


def _read_csv(path: Path) -> tuple[list[str], Array, Array]:
    """Read names and values from a CSV file, which has no contact forces."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows)
        values = np.array([[float(x) for x in row] for row in rows if row], dtype=np.float64)
        return names, values, np.zeros((0, 0, 6))
