"""How far the kept rows are from depending on each other, here and where it is least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from regularize.lie.screw import Array, read_only
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.cycles import MANY_LOOPS
from regularize.model.graph import Graph
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.groups import with_rows
from regularize.reduction.mobility import CellMobility
from regularize.reduction.part import Part
from regularize.reduction.setting import Setting

if TYPE_CHECKING:
    from regularize.reduction.descent import Lowest


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
    setting: Setting, parts: Sequence[Part], mobility: CellMobility, *, thorough: bool = False
) -> Lowest | None:
    """The lowest place of descents from where walks ended, in a cell that moves.

    Args:
        setting: The assembled mechanism and the options.
        parts: The parts of the cell.
        mobility: Of the cell.
        thorough: Whether to look longer; that is done too where a first look comes near.

    Returns:
        The place, in coordinates of the mechanism; None where nothing was removed or nothing moves,
        and for very many loops, whose matrices are too large.
    """
    removed = any(part.kept < part.constraints or part.held for part in parts)
    loops = sum(len(part.cuts) for part in parts)
    if not removed or mobility.finite == 0 or not mobility.generic.rank or loops > MANY_LOOPS:
        return None
    from regularize.reduction.descent import THOROUGH, Descent, Effort  # where rows were removed

    down = Descent.of(
        setting.graph,
        with_rows(setting, parts).graph,
        setting.assembly.q,
        mobility,
        [cut for part in parts for cut in part.cuts],
        [loop for part in parts for loop in part.parallelograms],
    )
    # Large matrices are decomposed at fewer places.
    stride = -(-len(mobility.configurations) * loops // 200)
    starts = mobility.configurations[::-stride]
    place = down.lowest(starts, THOROUGH if thorough else Effort())
    if not thorough and place is not None and place.missing:
        place = down.lowest(starts, THOROUGH)
    if place is None:
        return None
    q = np.array(setting.assembly.q)
    q[setting.graph.columns(mobility.edges)] = place.q
    return replace(place, q=read_only(q))
