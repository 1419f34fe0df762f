"""Motions that noise may have taken away, and the evidence for them in singular values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import project
from regularize.manifold.tolerances import EXACT
from regularize.model.cycles import Cycle
from regularize.model.graph import EdgeId
from regularize.reduction.many_loops import LoopRanks
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction

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
        meeting: Whether it is not the equations that are weak: the axes may be meant to meet in one
            point, which they miss by ``size`` of the distances of their frames from it.
    """

    joints: tuple[str, ...]
    motions: int
    size: float
    searched: bool
    meeting: bool = False


def nearly_closed(
    reduction: Reduction, edges: tuple[EdgeId, ...], near: float
) -> tuple[LoopKinematics, Array]:
    """Loops of a cell, and coordinates (n,) where they are closed but for what noise takes away.

    Equations that noise alone keeps independent can be solved, but far away: where the loops meet
    there is no pose that anybody meant. The stored one is near it.
    """
    columns = list(reduction.graph.columns(edges))
    assembled, stored = reduction.q[columns], reduction.graph.position[columns]
    loops = sized_loops(reduction.graph, assembled, edges)
    if np.max(np.abs(stored - assembled) / loops.units, initial=0.0) > EXACT.same:
        rough = replace(EXACT, singular=SHOWN * near)
        found = project(loops, stored[None], tolerances=rough)
        if found.error[0] <= SHOWN * near:
            return sized_loops(reduction.graph, found.q[0], edges), found.q[0]
    return loops, np.asarray(assembled)


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
    n, least = loops.freedoms, (cell.finite or 0) + int(proved or not cell.finite)
    if n == least:
        return []
    elsewhere = cell.generic.singular_values
    if not len(elsewhere) and _clear(loops, q, cycles, near):
        return []
    rows = loops.residual_jacobian(loops.state(q)) * loops.units
    s = np.linalg.svd(rows[0], compute_uv=False)[:n]
    names = tuple(dict.fromkeys(loops.graph.edges[e].joint.name for e in loops.edges))
    found = [
        Candidate(names, n - i, float(s[i] / s[0]), bool(s[i] <= SHOWN * near * s[0]))
        for i in range(1, min(len(s), n - least + 1))
        if EXACT.closed * s[0] < s[i] <= s[i - 1] / SHOWN
        and s[i] <= SHOWN**2 * near * s[0]
        and (i >= len(elsewhere) or elsewhere[i] <= SHOWN**2 * near * elsewhere[0])
    ]
    if not found and not cell.finite and loops.graph.missed:
        found.append(Candidate(names, 1, loops.graph.missed, False, meeting=True))
    return sorted(found, key=lambda candidate: not candidate.searched)


def _clear(loops: LoopKinematics, q: Array, cycles: Sequence[Cycle], near: float) -> bool:
    """Whether each of many loops, and all together, are far from having more motions.

    Measured by its own size no loop has a singular value that noise may keep from zero, and the
    loops are clearly independent of each other.
    """
    each = LoopRanks(loops, cycles, q, EXACT.rank)
    sizes = [own.values / own.values[:, :1] for own in each.own]
    noisy = any(np.any((values > EXACT.closed) & (values <= SHOWN**2 * near)) for values in sizes)
    return not noisy and each.rank is not None
