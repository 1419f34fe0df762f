"""The search for a configuration in which the loops of one coupled component are closed.

Where all of them cannot be closed together, each is tried on its own first; then loops are added
one by one, each from where the ones before it are closed. That names the culprit, and it often
finds a way to close what cannot be closed all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from regularize import services
from regularize.lie.arrays import Array
from regularize.loops.constraints import View
from regularize.loops.continuation import Continuation, drive
from regularize.loops.gaps import (
    CLOSED,
    Gap,
    chords_fitted,
    closure_errors,
    gaps,
    largest_error,
)
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import Mask, Projected, moved, project
from regularize.mechanism.cycles import minimum_cycle_basis
from regularize.mechanism.graph import EdgeId, Graph, coordinate_names, spanning_tree

#: Joints that move further than so many square roots of the gap close the loops at another pose.
FAR = 10.0


def perturbed(
    loops: LoopKinematics, q: Array, movable: Mask, scales: ArrayLike, rng: np.random.Generator
) -> Array:
    """A configuration (n,) moved at random, once for every scale, shape (k, n).

    Scales are standard deviations in radians and in sizes of the mechanism.
    """
    scales = np.asarray(scales, dtype=np.float64)
    steps = rng.normal(size=(len(scales), loops.freedoms)) * scales[:, None] * movable
    return moved(loops, np.repeat(q[None], len(scales), axis=0), steps)


def first_closed(found: Projected) -> int:
    """Index of the first configuration that is closed, else of the one with the least error."""
    closed = found.error <= CLOSED
    return int(np.argmax(closed) if closed.any() else np.argmin(found.error))


class Search:
    """The search for a closed configuration of one cell.

    Args:
        loops: Kinematics of the cell.
        stored: Stored coordinates of all joints, shape (n,).
        q: The same with the fixed ones at the values asked for.
        start: Where the search begins: those of the cell, the chords fitted, shape (m,).
        free: Coordinates that may move, shape (n,).
        rng: Source of the perturbations.
        starts: Number of starting points before continuation is tried.
    """

    def __init__(
        self,
        loops: LoopKinematics,
        stored: Array,
        q: Array,
        start: Array,
        free: Mask,
        rng: np.random.Generator,
        starts: int,
    ) -> None:
        """Keep what is searched."""
        self.start = start
        self.loops, self.rng, self.starts = loops, rng, starts
        self.stored, self.q, self.all_free = stored, q, free
        self.free = free[loops.columns]
        self.tried, self.elsewhere = 1, False
        self.grown: Array | None = None
        self.obstacles: list[Obstacle] = []
        self.reached: dict[str, float] = {}

    def run(self) -> Array:
        """The best configuration found, shape (n,)."""
        best, best_error = self.start, largest_error(self.loops, self.start)
        if not self.free.any():
            if best_error > CLOSED:
                self._blame()
            return best
        self.tried = 0
        # Where solutions meet, errors move them by their square root: further off is another pose.
        # Couplings without a loop have one solution, by their functions, however far it is.
        near = FAR * np.sqrt(best_error) if self.loops.chords else np.inf
        for starts in self._attempts():
            found = project(self.loops, np.atleast_2d(starts), held=~self.free, damped=True)
            ways = self.loops.difference(np.repeat(self.start[None], len(found.q), axis=0), found.q)
            far = np.max(np.abs(ways) / self.loops.units, axis=1, initial=0.0) > near
            self.elsewhere |= bool(np.any(far & (found.error <= CLOSED)))
            found = replace(found, error=np.where(far, np.inf, found.error))
            k = first_closed(found)
            self.tried += k + 1
            if found.error[k] < best_error:
                best, best_error = found.q[k], float(found.error[k])
            if best_error <= CLOSED:
                self.obstacles, self.reached, self.elsewhere = [], {}, False
                break
        return best

    def _attempts(self) -> Iterator[Array]:
        """Configurations to project, one (n,) or several (k, n), the cheapest first."""
        loops, start, free = self.loops, self.start, self.free
        yield start
        if not free.all():
            candidates = services.service("assembly candidates")
            ways = candidates and candidates(loops, start, ~free)
            yield from () if ways is None else ways
            yield self._continued()
            if ways is not None and not len(ways):
                self._blame()
                return  # every configuration is known, and there is none
        # Zeros are where models are singular: they alone are moved at first (thesis 5.6, step 3).
        yield self._perturbed(free & (start == 0.0), [0.1])
        half = self.starts // 2
        yield self._perturbed(free, 0.1 * 2.0 ** np.arange(1, half))
        self._blame()
        if any(obstacle.alone for obstacle in self.obstacles):
            return  # no configuration of the whole can close what is open on its own
        if self.grown is not None:
            yield self.grown[loops.columns]
        yield self._perturbed(free, 0.1 * 1.6 ** np.arange(half, self.starts))
        open_error = loops.residual(loops.state(start))[0]
        q = start[None]
        for fraction in np.linspace(0.95, 0.0, 20):
            nearer = View(loops, target=fraction * open_error)
            q = project(nearer, q, held=~free, damped=True).q
        yield q

    def _perturbed(self, movable: Mask, scales: ArrayLike) -> Array:
        """The start moved at random, once for every scale, shape (k, n)."""
        return perturbed(self.loops, self.start, movable, scales, self.rng)

    def _blame(self) -> None:
        """Name the loops that cannot be closed; keep what closing them one by one arrives at."""
        culprits = Culprits(self.loops.graph, self.loops.edges, self.loops.length)
        self.grown = None
        self.obstacles = culprits.alone(self.q, self.all_free, self.rng, self.starts)
        if not self.obstacles and len(culprits.cycles) > 1:
            self.grown, obstacle = culprits.grow(self.q, self.all_free, self.rng, self.starts)
            self.obstacles = [] if obstacle is None else [obstacle]

    def _continued(self) -> Array:
        """Move the fixed coordinates from where the loops close to where they have to be.

        Where the loops cannot follow, what was reached is kept.
        """
        loops, held = self.loops, np.flatnonzero(~self.free)
        stored = chords_fitted(loops, self.stored[loops.columns], self.free)
        start = project(loops, stored[None], damped=True).q
        if largest_error(loops, start[0]) > CLOSED:
            return self.start
        target = self.q[loops.columns]
        arrived = drive(Continuation(loops), start, held.tolist(), target[None, held])
        q: Array = arrived.q[0]
        if not arrived.reached[0]:
            names = coordinate_names(loops.graph.mechanism)
            self.reached = {names[int(loops.columns[i])]: float(q[i]) for i in held}
            q[~self.free] = target[~self.free]
        return q


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
