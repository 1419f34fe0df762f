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
    """Motions that the closure equations of some loops nearly allow."""

    joints: tuple[str, ...]
    motions: int
    size: float
    searched: bool
    missed: float = 0.0


def nearly_closed(
    graph: Graph, assembled: Array, edges: tuple[EdgeId, ...], near: float
) -> tuple[LoopKinematics, Array]:
    """Return loops of a cell, and coordinates where they are closed but for what noise takes away.

    Equations that noise alone keeps independent can be solved, but far away: where the loops meet
    there is no pose that anybody meant. The stored one is near it.
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
    """Say whether there can be candidates: some equations are weak wherever the cell moves."""
    elsewhere = cell.generic.singular_values
    if not len(elsewhere):
        return True
    weak = elsewhere[1 : cell.freedoms - _least(cell, proved) + 1] <= _noise(elsewhere, near)
    return bool(weak.any()) or len(elsewhere) <= cell.freedoms - _least(cell, proved)


def _least(cell: CellMobility, proved: bool) -> int:
    """Return the number of motions that candidates have at least."""
    return (cell.finite or 0) + int(proved or not cell.finite)


def _noise(values: Array, near: float) -> float:
    """Return singular values that noise may keep from zero."""
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
    """Find motions that noise may have taken away, those to look for first, many before few.

    Noise makes a gap: singular values that it alone keeps from zero lie well below the others. In a
    long chain small ones follow each other closely and mean nothing. And they stay small wherever
    the loops move to.
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
    """Find motions that loops have if their axes are meant to meet in one point.

    Lengths between axes that nearly meet are as small as what they miss the point by. Where frames
    lie is no part of the mechanism, and yet the only hint of what is small for it.
    """
    found = _weak(loops, q, near, 1, np.zeros(0)) or [Candidate(_names(loops), 1, missed, False)]
    return [replace(candidate, missed=missed) for candidate in found]


def _weak(
    loops: LoopKinematics, q: Array, near: float, least: int, elsewhere: Array
) -> list[Candidate]:
    """Find motions that weak equations forbid, at least so many; they are weak elsewhere too."""
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
    """Say whether each of many loops, and all together, are far from having more motions."""
    from regularize.reduction.many_loops import LoopRanks  # loaded where there are many

    each = LoopRanks(loops, cycles, loops.state(q), EXACT.rank)
    sizes = [own.values / own.values[:, :1] for own in each.own]
    noisy = any(np.any((values > EXACT.closed) & (values <= SHOWN**2 * near)) for values in sizes)
    return not noisy and each.rank is not None
