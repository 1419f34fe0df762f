"""How far the kept rows are from depending on each other, here and where it is least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regularize.lie.screw import Array, read_only
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph import Graph
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.descent import Descent, Lowest
from regularize.reduction.mobility import CellMobility


def condition(graph: Graph, cells: Sequence[CellMobility], cuts: Sequence[Cut], q: Array) -> Array:
    """Condition number of the kept rows, shape (N,).

    Args:
        graph: The graph with all rows on joints among its couplings.
        cells: Its cells.
        cuts: Its cuts.
        q: Coordinates of the mechanism, shape (N, n).
    """
    worst = np.ones(len(q))
    known = {cut.edge.index: cut for cut in cuts}
    for cell in cells:
        loops = LoopKinematics(graph, cell.edges, [e for e in cell.edges if e not in known])
        rows = ReducedLoops(loops, [known[chord] for chord in loops.chords])
        jacobian = rows.residual_jacobian(loops.state(q[:, loops.columns])) * loops.units
        if jacobian.shape[1]:
            s = np.linalg.svd(jacobian, compute_uv=False)
            smallest = s[:, -1] if jacobian.shape[1] <= jacobian.shape[2] else 0.0 * s[:, 0]
            with np.errstate(divide="ignore"):
                worst = np.maximum(worst, s[:, 0] / smallest)
    return worst


def weakest(
    graph: Graph,
    coupled: Graph,
    q: Array,
    cells: Sequence[CellMobility],
    cuts: Sequence[Cut],
    rtol: float,
) -> Lowest | None:
    """The lowest place of descents from where walks ended, in every cell that moves.

    Args:
        graph: The mechanism's graph.
        coupled: The same with rows that hold bodies in groups among its couplings.
        q: Assembled coordinates, shape (n,).
        cells: Its cells.
        cuts: Its cuts.
        rtol: Tolerance of ranks.
    """
    found = []
    for cell in cells:
        down = Descent.of(graph, coupled, q, cell.edges, cuts, cell.generic.rank, rtol)
        for start in cell.configurations[-2:] if cell.finite and cell.generic.rank else ():
            place = down.from_start(start)
            whole = np.array(q)
            whole[graph.columns(cell.edges)] = place.q
            found.append(replace(place, q=read_only(whole)))
    return min(found, key=lambda place: place.ratio, default=None)
