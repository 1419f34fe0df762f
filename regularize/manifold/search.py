"""The search for a configuration in which the loops of one cell are closed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regularize.assembly_modes.closed_form.closed_branch import closed_solution
from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.obstacles import Culprits, Obstacle
from regularize.manifold.phase_unwrapping import Turns
from regularize.manifold.solving import (
    CLOSED,
    EXACT,
    Mask,
    largest_error,
    least_squares,
    newton,
    perturbed,
    solve,
)
from regularize.model.graph import coordinate_names

#: Steps of the continuation in the fixed coordinates, and how often a step is halved.
STEPS, HALVINGS = 20, 12
#: Ways to assemble up to which all of them are tried.
WAYS = 64


class Search:
    """The search for a closed configuration of one cell.

    Args:
        loops: Kinematics of the cell.
        stored: Stored coordinates of all joints, shape (n,).
        q: The same with the fixed ones at the values asked for.
        free: Coordinates that may move, shape (n,).
        rng: Source of the perturbations.
        starts: Number of starting points before continuation is tried.
    """

    def __init__(
        self,
        loops: LoopKinematics,
        stored: Array,
        q: Array,
        free: Mask,
        rng: np.random.Generator,
        starts: int,
    ) -> None:
        """Fit the chords to the start."""
        self.loops, self.rng, self.starts = loops, rng, starts
        self.stored, self.q, self.all_free = stored, q, free
        self.free = free[loops.columns]
        self.start = self._fit_chords(q[loops.columns])
        self.tried = 1
        self.grown: Array | None = None
        self.obstacles: list[Obstacle] = []
        self.reached: dict[str, float] = {}

    def run(self) -> Array:
        """The best configuration found, shape (n,)."""
        best, best_error = self.start, largest_error(self.loops, self.start)
        if best_error <= EXACT or not self.free.any():
            if best_error > CLOSED:
                self._blame()
            return best
        self.tried = 0
        for q in self._attempts():
            self.tried += 1
            q = newton(self.loops, q, self.free)
            error = largest_error(self.loops, q)
            if error < best_error:
                best, best_error = q, error
            if best_error <= CLOSED:
                self.obstacles, self.reached = [], {}
                break
        return best

    def _attempts(self) -> Iterator[Array]:
        """Configurations to correct, the cheapest first."""
        loops, start, free = self.loops, self.start, self.free
        if largest_error(loops, start) < 1e-2:
            yield start
        yield least_squares(loops, start, free)
        if not free.all():
            ways = self._all_ways()
            yield from () if ways is None else ways
            yield self._continued()
            if ways is not None and not len(ways):
                self._blame()
                return  # the closed form knows every configuration, and there is none
        # Zeros are where models are singular: they alone are moved at first (thesis 5.6, step 3).
        yield least_squares(
            loops, perturbed(loops, start, free & (start == 0.0), 0.1, self.rng), free
        )
        for k in range(1, self.starts // 2):
            yield least_squares(loops, perturbed(loops, start, free, 0.1 * 2.0**k, self.rng), free)
        self._blame()
        if any(obstacle.alone for obstacle in self.obstacles):
            return  # no configuration of the whole can close what is open on its own
        if self.grown is not None:
            yield least_squares(loops, self.grown[loops.columns], free)
        for k in range(self.starts // 2, self.starts):
            yield least_squares(loops, perturbed(loops, start, free, 0.1 * 1.6**k, self.rng), free)
        open_error = loops.residual(loops.state(start))[0]
        q = start
        for fraction in np.linspace(0.95, 0.0, 20):
            q = least_squares(loops, q, free, target=fraction * open_error)
        yield q

    def _all_ways(self) -> Array | None:
        """All configurations with the fixed values, the nearest to the start first, (k, n).

        Angles are compared up to whole turns, lengths divided by the size of the mechanism. None
        where the fixed values do not determine them in closed form.
        """
        loops = self.loops
        if loops.freedoms != loops.graph.freedoms:
            return None
        held = np.flatnonzero(~self.free)
        solution = closed_solution(loops, held.tolist())
        if solution is None or len(solution.branches) > WAYS:
            return None
        found = solution.solve(self.q[loops.columns][held])
        start = self.q.copy()
        start[loops.columns] = self.start
        # A whole turn of one joint is not the same where another one is coupled with it.
        coupled = [column for row in loops.graph.couplings for column in row.columns]
        turns = Turns(loops.graph, [*solution.columns, *coupled])
        ways = turns.near(found.q[found.assembled], start)[:, loops.columns]
        distances = np.linalg.norm((ways - self.start) / loops.units, axis=1)
        return np.asarray(ways[np.argsort(distances)])

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

        The step is halved where the loops cannot follow. What was reached is kept.
        """
        loops = self.loops
        everything = np.ones(loops.freedoms, dtype=bool)
        q = solve(loops, self._fit_chords(self.stored[loops.columns]), everything)
        if largest_error(loops, q) > CLOSED:
            return self.start
        origin, target = q.copy(), self.q[loops.columns]
        done, step = 0.0, 1.0 / STEPS
        while done < 1.0 and step > 1.0 / STEPS / 2**HALVINGS:
            trial = q.copy()
            fraction = min(1.0, done + step)
            trial[~self.free] = (origin + fraction * (target - origin))[~self.free]
            trial = newton(loops, trial, self.free)
            if largest_error(loops, trial) <= CLOSED:
                q, done, step = trial, fraction, min(2 * step, 1.0 / STEPS)
            else:
                step *= 0.5
        if done < 1.0:
            names = coordinate_names(loops.graph.mechanism)
            self.reached = {
                names[int(loops.columns[i])]: float(q[i]) for i in np.flatnonzero(~self.free)
            }
            q[~self.free] = target[~self.free]
        return q

    def _fit_chords(self, q: Array) -> Array:
        """Best coordinates of the chords, so that only what they forbid counts as a gap."""
        own = np.zeros(self.loops.freedoms, dtype=bool)
        for chord in self.loops.chords:
            own[self.loops.local(chord)] = True
        return newton(self.loops, q, own & self.free, steps=20)
