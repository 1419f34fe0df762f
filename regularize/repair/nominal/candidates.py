"""Motions that noise may have taken away, and the evidence for them in singular values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.loops.projection import project
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId, Graph
from regularize.reduction.mobility import CellMobility, normal_incidence
from regularize.tolerances import EXACT

#: What noise shows of itself, in units of the moves that undo it: in singular values over the
#: largest, and in angles between axes that are meant to be parallel.
SHOWN = 4.0


@dataclass(frozen=True)
class Candidate:
    """Motions that the closure equations of some loops nearly allow.

    Attributes:
        joints: Names of the joints of the loops.
        motions: How many.
        size: The largest of their singular values over the largest of all.
        searched: Whether a mechanism that has them was looked for nearby.
        missed: By which part of the distances of their frames from it the axes miss the point in
            which they may be meant to meet; 0 where the equations are weak by themselves.
    """

    joints: tuple[str, ...]
    motions: int
    size: float
    searched: bool
    missed: float = 0.0


def nearly_closed(
    graph: Graph, assembled: Array, edges: tuple[EdgeId, ...], near: float
) -> tuple[LoopKinematics, Array]:
    """Loops of a cell, and coordinates (n,) where they are closed but for what noise takes away.

    Equations that noise alone keeps independent can be solved, but far away: where the loops meet
    there is no pose that anybody meant. The stored one is near it.

    Args:
        graph: The mechanism.
        assembled: Coordinates of all joints at the assembled pose, shape (n,).
        edges: Edges of the cell.
        near: Closure errors of that size may be left.
    """
    columns = list(graph.columns(edges))
    assembled, stored = assembled[columns], graph.position[columns]
    loops = sized_loops(graph, assembled, edges)
    if np.max(np.abs(stored - assembled) / loops.units, initial=0.0) > EXACT.same:
        rough = replace(EXACT, singular=SHOWN * near)
        found = project(loops, stored[None], tolerances=rough)
        if found.error[0] <= SHOWN * near:
            return sized_loops(graph, found.q[0], edges), found.q[0]
    return loops, np.asarray(assembled)


def possible(cell: CellMobility, near: float, *, proved: bool) -> bool:
    """Whether there can be candidates: somewhere equations are weak that are wherever it moves.

    Args:
        cell: The cell's mobility as written.
        near: Largest change of a joint's place or axis that is looked for.
        proved: Whether what is known of the motions that they have is beyond doubt.
    """
    elsewhere = cell.generic.singular_values
    if not len(elsewhere):
        return True
    weak = elsewhere[1 : cell.freedoms - _least(cell, proved) + 1] <= _noise(elsewhere, near)
    return bool(weak.any()) or len(elsewhere) <= cell.freedoms - _least(cell, proved)


def _least(cell: CellMobility, proved: bool) -> int:
    """Number of motions that candidates have at least."""
    return (cell.finite or 0) + int(proved or not cell.finite)


def _noise(values: Array, near: float) -> float:
    """Singular values that noise may keep from zero."""
    return float(SHOWN**2 * near * values[0])


def candidates(
    loops: LoopKinematics,
    q: Array,
    cell: CellMobility,
    near: float,
    *,
    proved: bool,
    cycles: Sequence[Cycle],
) -> list[Candidate]:
    """Motions that noise may have taken away, those that can be looked for first, many before few.

    Noise makes a gap: singular values that it alone keeps from zero lie well below the others. In
    a long chain small ones follow each other closely and mean nothing. And they stay small
    wherever the loops move to.

    Args:
        loops: The loops.
        q: Where they are nearly closed, shape (n,).
        cell: Their mobility as written.
        near: Largest change of a joint's place or axis that is looked for.
        proved: Whether what is known of the motions that they have is beyond doubt; if not, as many
            may be found again.
        cycles: Short independent loops of the cell.
    """
    least = _least(cell, proved)
    if loops.freedoms == least:
        return []
    elsewhere = cell.generic.singular_values
    if not len(elsewhere) and _clear(loops, q, cycles, near):
        return []
    return _weak(loops, q, near, least, elsewhere)


def meeting_candidates(
    loops: LoopKinematics, q: Array, near: float, missed: float
) -> list[Candidate]:
    """Motions that loops have if their axes are meant to meet in one point.

    Lengths between axes that nearly meet are as small as what they miss the point by. Where frames
    lie is no part of the mechanism, and yet the only hint of what is small for it.

    Args:
        loops: The loops, with frames where the file has them.
        q: Where they are nearly closed, shape (n,).
        near: Largest change of a joint's place or axis that is looked for.
        missed: By which part of the distances of their frames from it axes miss the point.
    """
    found = _weak(loops, q, near, 1, np.zeros(0)) or [Candidate(_names(loops), 1, missed, False)]
    return [replace(candidate, missed=missed) for candidate in found]


def _weak(
    loops: LoopKinematics, q: Array, near: float, least: int, elsewhere: Array
) -> list[Candidate]:
    """Motions that weak equations forbid, at least so many; they have to be weak elsewhere too."""
    n = loops.freedoms
    signs = normal_incidence(loops, loops.incidence)
    rows = loops.jacobian(loops.state(q), signs)[0] * loops.units
    s = np.linalg.svd(rows, compute_uv=False)[:n]
    found = [
        Candidate(_names(loops), n - i, float(s[i] / s[0]), bool(s[i] <= SHOWN * near * s[0]))
        for i in range(1, min(len(s), n - least + 1))
        if EXACT.closed * s[0] < s[i] <= s[i - 1] / SHOWN
        and s[i] <= _noise(s, near)
        and (i >= len(elsewhere) or elsewhere[i] <= _noise(elsewhere, near))
    ]
    return sorted(found, key=lambda candidate: not candidate.searched)


def _names(loops: LoopKinematics) -> tuple[str, ...]:
    return tuple(dict.fromkeys(loops.graph.edges[e].joint.name for e in loops.edges))


def _clear(loops: LoopKinematics, q: Array, cycles: Sequence[Cycle], near: float) -> bool:
    """Whether each of many loops, and all together, are far from having more motions.

    Measured by its own size no loop has a singular value that noise may keep from zero, and the
    loops are clearly independent of each other.
    """
    from regularize.reduction.many_loops import LoopRanks  # loaded where there are many

    each = LoopRanks(loops, cycles, loops.state(q), EXACT.rank)
    sizes = [own.values / own.values[:, :1] for own in each.by_size]
    noisy = any(np.any((values > EXACT.closed) & (values <= SHOWN**2 * near)) for values in sizes)
    return not noisy and each.rank is not None
