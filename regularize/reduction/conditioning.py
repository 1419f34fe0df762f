"""How far the kept rows are from depending on each other, here and where it is least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from regularize.lie.arrays import Array, read_only
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.cycles import MANY_LOOPS
from regularize.mechanism.graph import Graph
from regularize.reduction.block import Block
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.mobility import CellMobility

if TYPE_CHECKING:
    from regularize.reduction.descent import Descent, Look, Lowest


def condition(graph: Graph, cells: Sequence[CellMobility], cuts: Sequence[Cut], q: Array) -> Array:
    """Condition number of the kept rows, shape (N,).

    Args:
        graph: The graph with all rows on joints among its couplings.
        cells: Its coupled components.
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


@dataclass(frozen=True, eq=False)
class Descents:
    """Descents from where walks ended in a coupled component, made when they are asked for.

    Attributes:
        graph: The mechanism's graph.
        q: Its assembled coordinates, shape (n,).
        parts: The reduced blocks of the coupled component.
        mobility: Of the coupled component.
    """

    graph: Graph
    q: Array
    parts: tuple[Block, ...]
    mobility: CellMobility

    @property
    def needless(self) -> bool:
        """Whether a theorem says what they would: every loop was reduced at once.

        The kept rows and freedoms of a cut are a basis of the space of all twists that its loop can
        have: whatever the loop holds, these rows hold.
        """
        return all(len(part.cycles) == 1 and not part.held for part in self.parts) and not any(
            cut.thinned.size or cut.numerical.size for cut in self._cuts
        )

    @property
    def numerical(self) -> bool:
        """Whether rows were removed on numerical evidence."""
        return any(cut.numerical.size for cut in self._cuts)

    @property
    def _cuts(self) -> list[Cut]:
        return [cut for part in self.parts for cut in part.cuts]

    def begun(self) -> tuple[Descent, Array] | None:
        """The descent and where it begins, shape (N, n).

        None where nothing was removed or nothing moves, and for very many loops, whose matrices are
        too large.
        """
        mobility, loops = self.mobility, len(self._cuts)
        removed = any(part.kept < part.constraints or part.held for part in self.parts)
        if not removed or mobility.finite == 0 or not mobility.generic.rank or loops > MANY_LOOPS:
            return None
        from regularize.reduction.descent import Descent  # where it is asked for

        down = Descent.of(
            self.graph,
            self.graph.coupled_by([row for part in self.parts for row in part.rows]),
            self.q,
            mobility,
            self._cuts,
            [loop for part in self.parts for loop in part.parallelograms],
        )
        # Large matrices are decomposed at fewer places.
        stride = -(-len(mobility.configurations) * loops // 200)
        return down, mobility.configurations[::-stride]

    @property
    def lowest(self) -> Lowest | None:
        """The lowest place that they come to, in coordinates of the mechanism; see ``own``."""
        if self.own is None:
            return None
        q = np.array(self.q)
        q[self.graph.columns(self.mobility.edges)] = self.own.q
        return replace(self.own, q=read_only(q))

    @cached_property
    def own(self) -> Lowest | None:
        """The lowest place that they come to, in coordinates of the component.

        They are longer where a first look comes near, or nothing is proved. None where there is
        nothing to look for.
        """
        begun = self.begun()
        return None if begun is None else self.followed(*begun)

    def followed(self, down: Descent, starts: Array, seen: Look | None = None) -> Lowest | None:
        """The lowest place that a descent comes to from some configurations (N, n), once seen."""
        from regularize.reduction.descent import THOROUGH, Effort  # where it is asked for

        place = down.lowest(starts, THOROUGH if self.numerical else Effort(), seen=seen)
        if not self.numerical and place is not None and place.missing:
            place = down.lowest(starts, THOROUGH)
        return place


def lowest_place(every: Sequence[Descents]) -> Lowest | None:
    """The lowest place of all coupled components, if any has one; first looks abreast."""
    new = [each for each in every if "own" not in vars(each)]
    if len(new) > 1:
        from regularize.reduction.descent import looks  # where it is asked for

        begun = [(each, *found) for each in new if (found := each.begun()) is not None]
        seen = looks([down for _, down, _ in begun], [starts for _, _, starts in begun])
        for (each, down, starts), look in zip(begun, seen, strict=True):
            vars(each)["own"] = each.followed(down, starts, look)
    ratios = [(each.own.ratio, i) for i, each in enumerate(every) if each.own is not None]
    return every[min(ratios)[1]].lowest if ratios else None
