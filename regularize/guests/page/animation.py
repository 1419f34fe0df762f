"""Motions of a mechanism as sequences of configurations, one per freedom.

Each independent joint is driven in turn while the other independent joints are held: a step along
the tangent, then Newton corrections of all closure equations, as far as the loops allow or until
the mechanism is back where it started.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from regularize.lie.arrays import Array, read_only
from regularize.loops.continuation import Continuation
from regularize.loops.finite import LocalBranch
from regularize.loops.kinematics import LoopKinematics, center_and_length, sized_loops
from regularize.mechanism.graph import coordinate_names
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.report.motion import floating
from regularize.tolerances import Tolerances

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
    """One motion of a mechanism."""

    name: str
    column: int
    slides: bool
    q: Array
    start: int
    cyclic: bool
    branch: int = 0


def motions(reduction: Reduction, most: int = 6) -> tuple[DrivenMotion, ...]:
    """The first few motions of the mechanism: those of the loops, then those of open chains."""
    if not reduction.assembly.closed:
        return ()
    found: list[DrivenMotion] = []
    for drive in drivers(reduction):
        if len(found) >= most:
            break
        motion = drive.run(reduction)
        if motion is not None:
            found.append(motion)
    return tuple(found)


def on_branches(
    reduction: Reduction, frames: int, most: int = 8
) -> dict[int, tuple[DrivenMotion, ...]]:
    """Motions on the first branches that meet at the pose, by their numbers; none where one is."""
    met: dict[int, list[Driver]] = {}
    for drive in drivers(reduction):
        if drive.branch and (drive.branch in met or len(met) < most):
            met.setdefault(drive.branch, []).append(drive)
    found = {}
    for number, drives in met.items():
        run = (drive.run(reduction, frames) for drive in drives[:most])
        found[number] = tuple(motion for motion in run if motion is not None)
    return found


@dataclass(frozen=True, eq=False)
class Driver:
    """A coordinate to drive and those to hold, as positions in the coordinates of ``loops``."""

    loops: LoopKinematics
    driver: int
    held: tuple[int, ...]
    slides: bool
    ends: Array | None = None
    branch: int = 0
    heading: Array | None = None

    @property
    def column(self) -> int:
        """The coordinate's position among all coordinates of the mechanism."""
        return int(self.loops.columns[self.driver])

    @property
    def others(self) -> tuple[int, ...]:
        """Positions of the held ones among all coordinates of the mechanism."""
        return tuple(int(self.loops.columns[i]) for i in self.held)

    def run(self, reduction: Reduction, frames: int = FRAMES) -> DrivenMotion | None:
        """Go both ways from the assembled configuration, or once around."""
        columns = self.loops.columns
        start = reduction.q[columns]
        ahead, cyclic = self._from(start, 1.0, frames)
        behind: list[Array] = []
        if not cyclic:
            behind, cyclic = self._from(start, -1.0, frames)
        if cyclic and behind:
            ahead, behind = behind, []
        if not ahead and not behind:
            return None
        way = np.array([*reversed(behind), start, *ahead])
        whole = np.repeat(reduction.q[None], len(way), axis=0)
        whole[:, columns] = way
        label = f"branch {self.branch}: " if self.branch else ""
        name = label + coordinate_names(reduction.mechanism)[self.column]
        q, first = read_only(whole), len(behind)
        return DrivenMotion(name, self.column, self.slides, q, first, cyclic, self.branch)

    def _from(self, start: Array, sign: float, frames: int) -> tuple[list[Array], bool]:
        """Configurations one way from the assembled pose, along the branch if there are some."""
        if self.ends is None:
            return self._way(start, sign, frames)
        sides = np.sign((self.ends - start)[:, self.driver])
        for end, side in zip(self.ends, sides, strict=True):
            if side == sign:
                way, cyclic = self._way(end, sign, frames)
                return [end, *way], cyclic
        return [], False

    def _way(self, start: Array, sign: float, frames: int) -> tuple[list[Array], bool]:
        """Configurations one way from the start, and whether they lead back to it."""
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
        way: list[Array] = []
        for frame in range(min(frames, max(16, WORK // loops.freedoms))):
            before = q
            q, heading, good = _frame(along, q, heading)
            if not good or abs(q[0, self.driver] - start[self.driver]) > limit:
                break
            # Where loops are shaky, steps lead back to where they began.
            if self._apart(q, before) < 0.1 * SPACING:
                break
            if self.heading is not None:
                heading = loops.difference(before, q) / loops.units
            way.append(q[0])
            if frame > 10 and self._apart(q, start[None]) < 1.5 * SPACING:
                return way, True
        return way, False

    def _apart(self, q: Array, other: Array) -> float:
        """Largest difference of poses between two configurations, lengths scaled."""
        poses = self.loops.state(np.vstack([q, other])).T_world_node
        difference = np.abs(poses[0] - poses[1])
        difference[:, :3, 3] /= self.loops.length
        return float(np.max(difference))


def _frame(along: Continuation, q: Array, heading: Array) -> tuple[Array, Array, bool]:
    """The next frame, its heading and whether there is one; in short steps where the way bends."""
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
    """Everything that can be driven: the loops first."""
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
    held = floating(reduction)
    for edge in reduction.graph.edges:
        if edge.index in inside or edge.index in held:
            continue
        _, length = center_and_length(reduction.loops, reduction.q)
        loops = LoopKinematics(reduction.graph, [edge.index], [edge.index], length=length)
        for k in range(edge.freedoms):
            others = tuple(i for i in range(edge.freedoms) if i != k)
            yield Driver(loops, k, others, not np.any(edge.screws[3:, k]))


def _cell_drives(
    reduction: Reduction, cell: CellMobility, branch: LocalBranch | None = None
) -> Iterator[Driver]:
    """Independent coordinates of a cell, motors first, then single-freedom joints."""
    loops = sized_loops(reduction.graph, reduction.q, cell.edges, reduction.tree)
    weight, slides = np.ones(loops.freedoms), np.zeros(loops.freedoms, dtype=bool)
    for e in cell.edges:
        edge = reduction.graph.edges[e]
        slides[loops.local(e)] = ~np.any(edge.screws[3:] != 0.0, axis=0)
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
    _, _, order = qr(motions * weight, mode="economic", pivoting=True)
    independent = [int(i) for i in order[:count]]
    headings = np.linalg.inv(motions[:, independent]) @ motions
    headings /= np.max(np.abs(headings), axis=1, initial=0.0, keepdims=True)
    for driver in sorted(independent, key=lambda i: (-weight[i], i)):
        others = tuple(i for i in independent if i != driver)
        heading = headings[independent.index(driver)] if count < loops.freedoms - rank else None
        ends = None if branch is None else branch.ends
        yield Driver(loops, driver, others, bool(slides[driver]), ends, heading=heading)


def traces(
    reduction: Reduction, shortest: float, frames: int = 6
) -> Iterator[tuple[int, list[Array]]]:
    """Where joints go on the first branches that meet at the pose, by the branches' numbers."""
    for number, motions in on_branches(reduction, frames).items():
        ways = [way for motion in motions for way in _ways(reduction, motion, shortest)]
        yield number, sorted(ways, key=length_of, reverse=True)


def branch_name(reduction: Reduction, number: int) -> str:
    """Number and mobility of a branch, such as ``branch 1: mobility 2``."""
    rest = number - 1
    outside = reduction.freedoms - sum(cell.freedoms for cell in reduction.cells)
    found: list[int | None] = [outside]
    for cell in reversed(reduction.cells):
        rest, which = divmod(rest, len(cell.components))
        found.append(cell.components[which][0])
    known = [mobility for mobility in found if mobility is not None]
    return f"branch {number}: mobility {sum(known) if len(known) == len(found) else 'not known'}"


def branch_numbers(reduction: Reduction) -> list[int]:
    """Branches that differ from the first in one cell at most, the first included; none if one."""
    met = [cell for cell in reduction.cells if len(cell.branches) > 1]
    return sorted({number for cell in met for number in reduction.branch_numbers(cell)})


def _ways(
    reduction: Reduction, motion: DrivenMotion, shortest: float, most: int = 6
) -> Iterator[Array]:
    """Where joints go, both ways, those that go farthest."""
    poses = reduction.loops.state(motion.q).T_world_node
    for frames in (poses[motion.start :], poses[motion.start :: -1]):
        found: list[Array] = []
        for edge in reduction.graph.edges:
            T = frames[:, reduction.loops.row(edge.parent)]
            found.append(T[:, :3, :3] @ edge.T_parent[:3, 3] + T[:, :3, 3])
        drawn: list[Array] = []
        for way in sorted(found, key=length_of, reverse=True):
            apart = min((float(np.max(np.abs(way - other))) for other in drawn), default=np.inf)
            if length_of(way) > shortest and apart > shortest and len(drawn) < most:
                drawn.append(way)
        yield from drawn


def length_of(way: Array) -> float:
    """Length of a way through points, shape (n, 3)."""
    return float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())
