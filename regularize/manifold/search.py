"""The search for a configuration in which the loops of one cell are closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie.screw import Array
from regularize.manifold.constraints import View
from regularize.manifold.continuation import Continuation
from regularize.manifold.driving import drive
from regularize.manifold.gaps import CLOSED, Candidates, chords_fitted, largest_error
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask, project
from regularize.manifold.starts import first_closed, perturbed
from regularize.model.graph import coordinate_names

if TYPE_CHECKING:
    from regularize.manifold.obstacles import Obstacle


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
        candidates: Where the closed configurations can be had without a search.
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
        candidates: Candidates | None = None,
    ) -> None:
        """Keep what is searched."""
        self.candidates, self.start = candidates, start
        self.loops, self.rng, self.starts = loops, rng, starts
        self.stored, self.q, self.all_free = stored, q, free
        self.free = free[loops.columns]
        self.tried = 1
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
        for starts in self._attempts():
            found = project(self.loops, np.atleast_2d(starts), held=~self.free, damped=True)
            k = first_closed(found)
            self.tried += k + 1
            if found.error[k] < best_error:
                best, best_error = found.q[k], float(found.error[k])
            if best_error <= CLOSED:
                self.obstacles, self.reached = [], {}
                break
        return best

    def _attempts(self) -> Iterator[Array]:
        """Configurations to project, one (n,) or several (k, n), the cheapest first."""
        loops, start, free = self.loops, self.start, self.free
        yield start
        if not free.all():
            ways = self.candidates and self.candidates(loops, start, ~free)
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
        from regularize.manifold.obstacles import Culprits  # needed where nothing closes

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
