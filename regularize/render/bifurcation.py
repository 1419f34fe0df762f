"""Where joints go on each of the motions that meet at the assembled pose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array
from regularize.reduction.reduce import Reduction
from regularize.render.animation import DrivenMotion, on_branches


@dataclass(frozen=True, eq=False)
class Trace:
    """What is drawn of one branch.

    Attributes:
        number: Number of the branch, as ``--branch`` takes it.
        name: The same with its mobility, such as ``branch 1: mobility 2``.
        ways: Where joints go from the pose, world frame, metres, shape (frames, 3) each.
    """

    number: int
    name: str
    ways: tuple[Array, ...]


def traces(reduction: Reduction, shortest: float, frames: int = 6) -> Iterator[Trace]:
    """The first branches that meet at the assembled pose, none where there is one motion alone.

    Args:
        reduction: The reduced mechanism.
        shortest: Length of ways that are not drawn, in metres.
        frames: How many of them are looked at each way.
    """
    for number, motions in on_branches(reduction, frames).items():
        name = branch_name(reduction, number)
        ways = [way for motion in motions for way in _ways(reduction, motion, shortest)]
        yield Trace(number, name, tuple(sorted(ways, key=length_of, reverse=True)))


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
