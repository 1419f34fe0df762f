"""The certificate of a cell: what its kept rows allow keeps all its loops closed.

One walk serves two purposes. It follows the kept rows alone, so that every configuration at which
all loops are found closed is evidence for the reduction; and the configurations are generic, so
that the rank of all equations can be taken there. Where many configurations are wanted and the
loops have a closed form, most of them come from that: there all loops are closed, and the
velocities that the kept rows allow are compared with those that all equations allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from regularize import services
from regularize.lie.arrays import Array, Coordinates
from regularize.loops.constraints import CHUNK
from regularize.loops.continuation import Continuation, random_walks
from regularize.loops.kept_rows import ReducedLoops, ShortLoops
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.least_norm import least_norm
from regularize.mechanism.cycles import MANY_LOOPS
from regularize.mechanism.graph import EdgeId
from regularize.reduction.context import Context
from regularize.reduction.cuts import Cut

if TYPE_CHECKING:
    from regularize.loops.constraints import ConstraintSet
    from regularize.reduction.descent import Descents, Lowest

#: The kept rows of few or of many loops.
KeptEquations: TypeAlias = ReducedLoops | ShortLoops

#: Steps of each walker.
STEPS = 2
#: Configurations of a certificate by default, and those that are always walked to.
CONFIGURATIONS = 50
#: Configurations for which a closed form is looked for, per square of the number of loops: below,
#: the walk is over sooner.
MANY = 400


@dataclass(frozen=True)
class Certificate:
    """Outcome of following the kept rows alone."""

    configurations: int  # number of configurations that were checked
    worst: float  # largest closure error met, of configurations or velocities, lengths scaled
    holds: bool  # whether every closure equation stayed fulfilled
    #: How many of the configurations come from the closed form of the loops. At those the
    #: velocities that the kept rows allow were checked; the others were walked to.
    solved: int = 0
    distinct: int = 0  # how many of the configurations are different ones
    #: Largest way of a joint, in metres, and largest turn of a body, in radians, from the assembled
    #: pose to any of them.
    travelled: tuple[float, float] = (0.0, 0.0)
    #: From where the walks ended, to places where kept rows let go what all hold.
    descents: tuple[Descents, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def nearest(self) -> Lowest | None:
        """The place nearest to one where kept rows let go what all equations hold.

        None where there is nothing to look for, since nothing was removed or nothing moves, or
        there are too many loops.
        """
        places = [place for down in self.descents if (place := down.lowest) is not None]
        return min(places, key=lambda place: place.ratio, default=None)

    @classmethod
    def of_all(cls, cells: Sequence[Certificate], mobile: Sequence[Certificate]) -> Certificate:
        """Summarise those of all coupled components; only mobile ones count for ``distinct``."""
        if len(cells) == 1:
            return cells[0]
        return cls(
            min((c.configurations for c in cells), default=0),
            max((c.worst for c in cells), default=0.0),
            all(c.holds for c in cells),
            max((c.solved for c in cells), default=0),
            min((c.distinct for c in mobile), default=0),
            (
                max((c.travelled[0] for c in cells), default=0.0),
                max((c.travelled[1] for c in cells), default=0.0),
            ),
            tuple(descents for c in cells for descents in c.descents),
        )


class Certifier:
    """Checks kept rows of a coupled component at so many configurations."""

    def __init__(self, context: Context, edges: Sequence[EdgeId], configurations: int) -> None:
        self.context, self.edges, self.configurations = context, edges, configurations
        self._solutions: Coordinates | None = None

    def rows(self, cuts: Iterable[Cut]) -> KeptEquations:
        """Return the kept rows of the coupled component with some cuts."""
        loops, ordered = self.context.loops(self.edges, cuts)
        many = len(loops.chords) > MANY_LOOPS
        return ShortLoops(loops, ordered) if many else ReducedLoops(loops, ordered)

    def __call__(self, rows: KeptEquations) -> tuple[Coordinates, Certificate]:
        """Walk along the kept rows: configurations (steps, walkers, n), and what was found."""
        loops, rng = rows.loops, self.context.rng()
        many = self.configurations >= MANY * max(1, len(loops.chords)) ** 2
        sampler = services.service("spread configurations") if many else None
        count = self.configurations if sampler is None else CONFIGURATIONS
        visited = self._walked(rows, count, rng)
        largest, solved = self._largest(loops, visited), np.zeros((0, loops.freedoms))
        if sampler is not None and self._small(largest[0]):
            solved = self._solved(loops, visited, sampler)
            largest = np.maximum(largest, self._largest(loops, solved))
            largest[0] = max(largest[0], self._velocity_error(rows, solved, rng))
            missing = self.configurations - len(solved) - len(_flat(visited))
            if missing > 0:
                more = self._walked(rows, missing, rng)
                visited = np.concatenate([visited, more], axis=1)
                largest = np.maximum(largest, self._largest(loops, more))
        worst, way, turn = map(float, largest)
        certificate = Certificate(0, worst, self._small(worst), len(solved))
        if self.configurations > 0:
            checked = np.concatenate([_flat(visited), solved])
            certificate = replace(
                certificate,
                configurations=len(checked),
                distinct=self._distinct(loops, checked),
                travelled=(way, turn),
            )
        return visited, certificate

    def _distinct(self, loops: LoopKinematics, q: Coordinates) -> int:
        """Count the different configurations."""
        start, tolerances = self.context.assembly.q[loops.columns], self.context.tolerances
        steps = (q - start) / loops.units
        steps[np.max(np.abs(steps), axis=1, initial=0.0) <= tolerances.apart] = 0.0
        # Zeros of either sign are the same.
        return len({row.tobytes() for row in np.round(steps / tolerances.same) + 0.0})

    def _largest(self, loops: LoopKinematics, visited: Coordinates) -> Array:
        """Return the largest closure error, way of a joint and turn of a body, shape (3,)."""
        home = loops.state(self.context.assembly.q[loops.columns])
        largest = np.zeros(3)
        for q in _chunks(_flat(visited)):
            state = loops.state(q)
            ways = loops.displacements(home, state).max(axis=0)
            error = np.abs(loops.residual(state)).max(initial=0.0)
            largest = np.maximum(largest, [error, *ways])
        return largest

    def _small(self, worst: float) -> bool:
        # Up to this multiple of the tolerance it is the file's rounding.
        return worst <= 20.0 * self.context.rtol

    def _walked(self, rows: KeptEquations, count: int, rng: np.random.Generator) -> Coordinates:
        """Walk to so many configurations at least."""
        # Even without a certificate the rank needs a few generic configurations.
        walkers = max(4, -(-count // STEPS))
        start = self.context.assembly.q[rows.loops.columns]
        # Sparse rows are asked for no more than what steps of a walk need.
        continuation = Continuation(cast("ConstraintSet", rows), self.context.tolerances)
        sizes = [min(CHUNK, walkers - first) for first in range(0, walkers, CHUNK)]
        parts = [random_walks(continuation, start, walkers=n, steps=STEPS, rng=rng) for n in sizes]
        return np.concatenate(parts, axis=1)

    def _solved(
        self, loops: LoopKinematics, visited: Coordinates, sampler: Callable[..., Coordinates]
    ) -> Coordinates:
        """Return configurations of the closed form: the same ones whatever rows are kept."""
        if self._solutions is None:
            starts = np.concatenate([self.context.assembly.q[None, loops.columns], visited[-1, :4]])
            count = self.configurations - len(_flat(visited))
            rng, rtol = self.context.rng(), self.context.rtol
            self._solutions = sampler(loops, starts, count, rtol, rng)
        return self._solutions

    def _velocity_error(
        self, rows: KeptEquations, solutions: Coordinates, rng: np.random.Generator
    ) -> float:
        """Return the largest rate of a closure error at random velocities that kept rows allow."""
        constraints, loops, worst = cast("ConstraintSet", rows), rows.loops, 0.0
        for q in _chunks(solutions):
            kept = constraints.residual_jacobian(constraints.state(q)) * loops.units
            velocities = rng.normal(size=q.shape)
            forbidden = (kept @ velocities[..., None])[..., 0]
            velocities -= least_norm(kept, forbidden, self.context.tolerances.singular)
            rates = (loops.jacobian(loops.state(q)) * loops.units) @ velocities[..., None]
            worst = max(worst, float(np.max(np.abs(rates))))
        return worst


def _flat(visited: Coordinates) -> Coordinates:
    """Return the configurations of walks in one row; there may be no coordinates."""
    return visited.reshape(int(np.prod(visited.shape[:-1])), visited.shape[-1])


def _chunks(q: Coordinates) -> list[Coordinates]:
    """Split configurations into groups whose states fit into memory."""
    size = min(CHUNK, max(1, 16 * CHUNK // max(1, q.shape[1])))
    return [q[first : first + size] for first in range(0, len(q), size)]
