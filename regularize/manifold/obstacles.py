"""Which loop keeps a mechanism from being closed, and by how much.

Every short loop is tried on its own first; then loops are added one by one, each from where the
ones before it are closed. That names the culprit, and it often finds a way to close what cannot be
closed all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.constraints import View
from regularize.manifold.gaps import CLOSED, Gap, closure_errors, gaps
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask, project
from regularize.manifold.starts import first_closed, perturbed
from regularize.model.cycles import minimum_cycle_basis
from regularize.model.graph import EdgeId, Graph, spanning_tree


@dataclass(frozen=True)
class Obstacle:
    """A loop that cannot be closed.

    Attributes:
        loop: The closing joint of the loop.
        joints: Names of all its joints.
        gap: What stays open at the best configuration found.
        alone: Whether it stays open even when all other loops are left open.
        as_point: Whether it could be closed alone if its closing joint, a weld, held a point only.
    """

    loop: str
    joints: tuple[str, ...]
    gap: Gap
    alone: bool
    as_point: bool = False

    def __str__(self) -> str:
        """One sentence without a full stop."""
        how = "even alone" if self.alone else "together with the loops before it"
        return (
            f"the loop through {self.loop!r} cannot be closed {how}: "
            f"{self.gap.translation * 1e3:.3g} mm and {np.degrees(self.gap.rotation):.3g}° stay "
            "open" + (", but it closes if only a point is held" if self.as_point else "")
        )


class Culprits:
    """Searches the loops of one cell for those that cannot be closed.

    Args:
        graph: The mechanism's graph.
        cell: Edges of the cell.
        length: Size of the cell in metres.
    """

    def __init__(self, graph: Graph, cell: Sequence[EdgeId], length: float) -> None:
        """Find short loops."""
        self.graph, self.length = graph, length
        blocks = [block for block in graph.blocks if set(block) <= set(cell)]
        self.cycles = [
            tuple(cycle.edges) for block in blocks for cycle in minimum_cycle_basis(graph, block)
        ]

    def loops(self, edges: Sequence[EdgeId]) -> LoopKinematics:
        """Kinematics of some edges, the file's own closures as chords."""
        order = sorted(edges, key=lambda e: (self.graph.edges[e].joint.closure, e))
        tree = spanning_tree(self.graph, order)
        return LoopKinematics(self.graph, edges, tree, length=self.length)

    def alone(self, q: Array, free: Mask, rng: np.random.Generator, starts: int) -> list[Obstacle]:
        """Loops that cannot be closed on their own.

        Args:
            q: Coordinates of all joints, shape (n,).
            free: Coordinates that may move, shape (n,).
            rng: Source of the perturbations.
            starts: Starting points tried per loop.
        """
        found = []
        for edges in self.cycles:
            loops = self.loops(edges)
            best, error = self._best(loops, q, free, rng, starts)
            if error > CLOSED:
                found.append(self._obstacle(loops, edges, best, free, alone=True))
        return found

    def grow(
        self, q: Array, free: Mask, rng: np.random.Generator, starts: int
    ) -> tuple[Array, Obstacle | None]:
        """Close the loops one after another, neighbours first.

        Returns:
            Coordinates of all joints, and the first loop that could not be added.
        """
        q = np.array(q)
        waiting = list(self.cycles)
        edges: set[EdgeId] = set()
        while waiting:
            # A loop that shares most joints with what is closed already has the least to choose.
            cycle = max(waiting, key=lambda c: (len(edges & set(c)), -len(c)))
            waiting.remove(cycle)
            edges |= set(cycle)
            loops = self.loops(sorted(edges))
            best, error = self._best(loops, q, free, rng, starts)
            if error > CLOSED:
                return q, self._obstacle(loops, cycle, best, free, alone=False)
            q[loops.columns] = best
        return q, None

    def _best(
        self, loops: LoopKinematics, q: Array, free: Mask, rng: np.random.Generator, starts: int
    ) -> tuple[Array, float]:
        start, movable = q[loops.columns], free[loops.columns]
        trials = perturbed(loops, start, movable, 0.15 * 1.6 ** np.arange(starts), rng)
        trials[0] = start
        found = project(loops, trials, held=~movable, damped=True)
        k = first_closed(found)
        return found.q[k], float(found.error[k])

    def _obstacle(
        self,
        loops: LoopKinematics,
        edges: Sequence[EdgeId],
        q: Array,
        free: Mask,
        *,
        alone: bool,
    ) -> Obstacle:
        open_gaps = gaps(loops, closure_errors(loops, q))
        own = {self.graph.edges[e].joint.name for e in edges}
        # Least squares spreads the error over all loops; the new loop's own chord names it.
        mine = [gap for gap in open_gaps if gap.joint in own] or open_gaps
        worst = max(mine, key=lambda g: g.translation / self.length + g.rotation)
        names = tuple(dict.fromkeys(self.graph.edges[e].joint.name for e in edges))
        return Obstacle(
            worst.joint,
            names,
            worst,
            alone,
            alone and self._closes_as_point(loops, q, free[loops.columns]),
        )

    def _closes_as_point(self, loops: LoopKinematics, q: Array, free: Mask) -> bool:
        """Whether the position of a welded closure can be met on its own."""
        if any(self.graph.edges[chord].freedoms for chord in loops.chords):
            return False
        position = View(loops, rows=slice(0, 3))
        return bool(project(position, q[None], held=~free, damped=True).error[0] <= CLOSED)
