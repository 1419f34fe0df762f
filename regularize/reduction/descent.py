r"""Places where kept rows are nearly dependent, found by going downhill.

A machine's configurations are closed; on them the smallest singular value of the kept rows is
followed downhill, relative to that of all closure equations of the same rank. Where it comes near
zero while all equations keep their rank, the kept rows let something go that the machine holds.
Random walks seldom meet such surfaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.continuation import Continuation
from regularize.manifold.extent import sized_loops
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.tolerances import Tolerances
from regularize.model.graph import EdgeId, Graph
from regularize.reduction.cuts import Cut, ReducedLoops


@dataclass(frozen=True, eq=False)
class Lowest:
    """The place that a descent came to.

    Attributes:
        q: Coordinates of the cell, shape (n,).
        ratio: Smallest singular value of the kept rows over that of all equations.
        smallest: The latter, over its value where the descent began.
    """

    q: Array
    ratio: float
    smallest: float


class Descent:
    """Follows the smallest singular value of the kept rows of a cell downhill.

    Args:
        loops: Kinematics of the cell, chords at the cuts, with the rows that hold bodies.
        cuts: The cuts, in the order of the chords.
        plain: The same kinematics without these rows.
        rank: Rank of all closure equations.
        tolerances: What counts as closed.
    """

    def __init__(
        self,
        loops: LoopKinematics,
        cuts: Sequence[Cut],
        plain: LoopKinematics,
        rank: int,
        tolerances: Tolerances,
    ) -> None:
        """Remember the equations."""
        self.rows, self.plain, self.rank = ReducedLoops(loops, cuts), plain, rank
        # Steps keep all equations: they are the machine's own motions.
        self.machine = Continuation(plain, tolerances)

    @classmethod
    def of(
        cls,
        graph: Graph,
        coupled: Graph,
        q: Array,
        edges: Sequence[EdgeId],
        cuts: Iterable[Cut],
        rank: int,
        rtol: float,
    ) -> Descent:
        """The descent over a cell.

        Args:
            graph: The mechanism's graph.
            coupled: The same with rows that hold bodies in groups among its couplings.
            q: Assembled coordinates of the mechanism, shape (n,).
            edges: Edges of the cell.
            cuts: Cuts of the mechanism.
            rank: Rank of all closure equations of the cell.
            rtol: Tolerance of ranks.
        """
        cut = {c.edge.index: c for c in cuts}
        tree = [e for e in edges if e not in cut]
        loops, plain = (sized_loops(g, q, edges, tree) for g in (coupled, graph))
        return cls(loops, [cut[c] for c in loops.chords], plain, rank, Tolerances.of(rtol))

    def smallest(self, q: Array) -> tuple[Array, Array]:
        """Smallest singular values of the kept rows and of all equations, shape (N,) each."""
        units = self.plain.units
        lost = np.isnan(q.sum(axis=1))
        state = self.plain.state(np.where(lost[:, None], 0.0, q))
        kept = self.rows.residual_jacobian(state) * units
        every = self.plain.jacobian(state) * units
        values = [np.linalg.svd(J, compute_uv=False)[:, self.rank - 1] for J in (kept, every)]
        return np.where(lost, np.nan, values[0]), np.where(lost, np.nan, values[1])

    def ratio(self, q: Array) -> Array:
        """Quotient of the two, shape (N,)."""
        kept, every = self.smallest(q)
        return np.asarray(kept / np.where(every > 0.0, every, np.nan))

    def from_start(self, q: Array, steps: int = 40, largest: float = 0.15) -> Lowest:
        """Where a descent from a closed configuration ends.

        Args:
            q: Coordinates, shape (n,).
            steps: Largest number of steps.
            largest: Largest step, in radians and parts of the size.
        """
        apart = self.machine.tolerances.apart
        begin = float(self.smallest(q[None])[1][0])
        value, size = float(self.ratio(q[None])[0]), largest
        for _ in range(steps):
            free = self._tangents(q)
            ahead = self._closed(np.repeat(q[None], free.shape[1], axis=0), apart * free.T)
            slope = (np.log(self.ratio(ahead)) - np.log(value)) / apart
            if not np.all(np.isfinite(slope)) or np.linalg.norm(slope) * size < apart:
                break
            way = -(free @ slope) / np.linalg.norm(slope)
            sizes = size * 0.5 ** np.arange(6)
            tried = self._closed(np.repeat(q[None], 6, axis=0), sizes[:, None] * way)
            values = self.ratio(tried)
            best = int(np.nanargmin(np.where(np.isfinite(values), values, np.inf)))
            if not values[best] < value:
                break
            q, value = tried[best], float(values[best])
            size = min(2.0 * sizes[best], largest)
        return Lowest(q, value, float(self.smallest(q[None])[1][0]) / max(begin, 1e-300))

    def _tangents(self, q: Array) -> Array:
        """Orthonormal velocities in units that keep all loops closed, shape (n, mobility)."""
        every = self.plain.jacobian(self.plain.state(q[None]))[0] * self.plain.units
        return np.asarray(np.linalg.svd(every)[2][self.rank :].T)

    def _closed(self, q: Array, steps: Array) -> Array:
        """Configurations after steps in units, closed again; NaN where that fails."""
        reached = self.machine.step(q, steps, np.full(len(q), self.rank))
        return np.where(reached.good[:, None], reached.q, np.nan)
