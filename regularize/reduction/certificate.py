"""The certificate of a cell: what its kept rows allow keeps all its loops closed.

One walk serves two purposes. It follows the kept rows alone, so that every configuration at which
all loops are found closed is evidence for the reduction; and the configurations are generic, so
that the rank of all equations can be taken there. Where many configurations are wanted and the
loops have a closed form, most of them come from that: there all loops are closed, and the
velocities that the kept rows allow are compared with those that all equations allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from regularize import services
from regularize.lie.arrays import Array
from regularize.loops.constraints import CHUNK, in_parts
from regularize.loops.continuation import Continuation, random_walks
from regularize.loops.kinematics import LoopKinematics, State
from regularize.loops.least_norm import least_norm
from regularize.mechanism.cycles import MANY_LOOPS
from regularize.mechanism.graph import EdgeId
from regularize.reduction.context import Context
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.tolerances import Tolerances

if TYPE_CHECKING:
    from regularize.loops.block_rows import BlockRows
    from regularize.loops.constraints import ConstraintSet
    from regularize.reduction.conditioning import Descents
    from regularize.reduction.descent import Lowest
    from regularize.reduction.mobility import Trail
    from regularize.reduction.short_loops import ShortLoops

Rows: TypeAlias = "ReducedLoops | ShortLoops"

#: Steps of each walker.
STEPS = 2
#: Configurations of a certificate by default, and those that are always walked to.
CONFIGURATIONS = 50
#: Configurations for which a closed form is looked for, per square of the number of loops: below,
#: the walk is over sooner.
MANY = 400


@dataclass(frozen=True)
class Certificate:
    """Outcome of following the kept rows alone.

    Attributes:
        configurations: Number of configurations that were checked.
        worst: Largest closure error met, of configurations or velocities, lengths scaled.
        holds: Whether every closure equation stayed fulfilled.
        solved: How many of the configurations come from the closed form of the loops. At those the
            velocities that the kept rows allow were checked; the others were walked to.
        distinct: How many of the configurations are different ones.
        travelled: Largest way of a joint, in metres, and largest turn of a body, in radians, from
            the assembled pose to any of them.
        descents: From where the walks ended, to places where kept rows let go what all hold.
    """

    configurations: int
    worst: float
    holds: bool
    solved: int = 0
    distinct: int = 0
    travelled: tuple[float, float] = (0.0, 0.0)
    descents: tuple[Descents, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def nearest(self) -> Lowest | None:
        """The place nearest to one where kept rows let go what all equations hold.

        None where there is nothing to look for, since nothing was removed or nothing moves, or
        there are too many loops.
        """
        from regularize.reduction.conditioning import lowest_place  # where it is asked for

        return lowest_place(self.descents)

    @classmethod
    def of_all(cls, found: Sequence[Certificate], counted: Sequence[Certificate]) -> Certificate:
        """What holds of a mechanism whose coupled components were followed one by one.

        Args:
            found: Outcome of every coupled component.
            counted: Those whose different configurations count.
        """
        if len(found) == 1:
            return found[0]
        return cls(
            min((c.configurations for c in found), default=0),
            max((c.worst for c in found), default=0.0),
            all(c.holds for c in found),
            max((c.solved for c in found), default=0),
            min((c.distinct for c in counted), default=0),
            (
                max((c.travelled[0] for c in found), default=0.0),
                max((c.travelled[1] for c in found), default=0.0),
            ),
            tuple(descents for c in found for descents in c.descents),
        )


class Certifier:
    """Checks the kept rows of a coupled component.

    Args:
        context: The assembled mechanism and the options.
        edges: Edges of the coupled component.
        configurations: Number of configurations to check.
    """

    def __init__(self, context: Context, edges: Sequence[EdgeId], configurations: int) -> None:
        """Remember the coupled component."""
        self.context, self.edges, self.configurations = context, edges, configurations
        self._found: Array | None = None

    def rows(self, cuts: Iterable[Cut]) -> Rows:
        """Kept rows of the coupled component with some cuts."""
        loops, ordered = self.context.loops(self.edges, cuts)
        if len(loops.chords) <= MANY_LOOPS:
            return ReducedLoops(loops, ordered)
        from regularize.reduction.short_loops import ShortLoops  # loaded where there are many

        return ShortLoops(loops, ordered)

    def __call__(self, rows: Rows, trail: Trail | None = None) -> tuple[Array, Certificate]:
        """Configurations of walkers on the kept rows, shape (steps, walkers, n), and the outcome.

        Args:
            rows: Kept rows of the coupled component.
            trail: Of as many walkers as are needed, where it is known.
        """
        loops = rows.loops
        many = self.configurations >= MANY * max(1, len(loops.chords)) ** 2
        sampler = services.service("spread configurations") if many else None
        many = sampler is not None
        rng = self.context.rng()
        count = CONFIGURATIONS if many else self.configurations
        if trail is None:
            visited = self._walked(loops, rows, count, rng)
            worst, farthest = self._seen(loops, visited)
        else:
            visited, worst, farthest = trail.visited, trail.worst, trail.farthest
        found = np.zeros((0, loops.freedoms))
        if sampler is not None and self._small(worst):
            found = self._solved(loops, visited, sampler)
            _, way = self._seen(loops, found)
            farthest = np.maximum(farthest, way)
            for start in range(0, len(found), CHUNK):
                part = found[start : start + CHUNK]
                worst = max(worst, _velocity_error(rows, part, self.context.tolerances, rng))
            missing = self.configurations - len(found) - _count(visited)
            if missing > 0:
                more = self._walked(loops, rows, missing, rng)
                visited = np.concatenate([visited, more], axis=1)
                error, way = self._seen(loops, more)
                worst, farthest = max(worst, error), np.maximum(farthest, way)
        checked = _count(visited) + len(found) if self.configurations > 0 else 0
        everywhere = np.concatenate([visited.reshape(_count(visited), loops.freedoms), found])
        distinct = self._distinct(loops, everywhere) if checked else 0
        travelled = (float(farthest[0]), float(farthest[1])) if checked else (0.0, 0.0)
        holds = self._small(worst)
        return visited, Certificate(checked, worst, holds, len(found), distinct, travelled)

    def _distinct(self, loops: LoopKinematics, q: Array) -> int:
        """Number of different configurations."""
        start, tolerances = self.context.assembly.q[loops.columns], self.context.tolerances
        steps = (q - start) / loops.units
        steps[np.max(np.abs(steps), axis=1, initial=0.0) <= tolerances.apart] = 0.0
        # Zeros of either sign are the same.
        return len({row.tobytes() for row in np.round(steps / tolerances.same) + 0.0})

    def _seen(self, loops: LoopKinematics, visited: Array) -> tuple[float, Array]:
        """Largest closure error, and the ways of joints and turns of bodies, shape (2,)."""
        home = loops.state(self.context.assembly.q[loops.columns])

        def each(q: Array) -> Array:
            state = loops.state(q)
            return np.column_stack([_errors(loops, state), loops.displacements(home, state)])

        most = in_parts(each, visited.reshape(_count(visited), loops.freedoms)).max(
            axis=0, initial=0.0
        )
        return float(most[0]), most[1:]

    def _small(self, worst: float) -> bool:
        # Up to this multiple of the tolerance it is the file's rounding.
        return worst <= 20.0 * self.context.rtol

    def _walked(
        self, loops: LoopKinematics, rows: Rows, count: int, rng: np.random.Generator
    ) -> Array:
        walkers = walkers_for(count)
        start = self.context.assembly.q[loops.columns]
        # Sparse rows are asked for no more than what steps of a walk need.
        continuation = Continuation(cast("ConstraintSet", rows), self.context.tolerances)
        sizes = [min(CHUNK, walkers - first) for first in range(0, walkers, CHUNK)]
        parts = [random_walks(continuation, start, walkers=n, steps=STEPS, rng=rng) for n in sizes]
        return np.concatenate(parts, axis=1)

    def _solved(
        self, loops: LoopKinematics, visited: Array, sampler: Callable[..., Array]
    ) -> Array:
        """Configurations of the closed form: the same ones whatever rows are kept."""
        if self._found is None:
            starts = np.concatenate([self.context.assembly.q[None, loops.columns], visited[-1, :4]])
            count = self.configurations - _count(visited)
            rng, rtol = self.context.rng(), self.context.rtol
            self._found = sampler(loops, starts, count, rtol, rng)
        return self._found


def walkers_for(count: int) -> int:
    """Number of walkers that visit so many configurations."""
    # Even without a certificate the rank needs a few generic configurations.
    return max(4, -(-count // STEPS))


def _count(visited: Array) -> int:
    """Number of configurations; there may be no coordinates."""
    return int(np.prod(visited.shape[:-1]))


def _errors(loops: LoopKinematics, state: State) -> Array:
    """Largest error of all closure equations at N configurations, shape (N,)."""
    return np.asarray(np.abs(loops.residual(state)).max(axis=1, initial=0.0))


def _velocity_error(
    rows: Rows, q: Array, tolerances: Tolerances, rng: np.random.Generator
) -> float:
    """Largest closure error, or its rate at random velocities that the kept rows allow."""
    loops = rows.loops
    state = loops.state(q)
    kept: Array | BlockRows
    if isinstance(rows, ReducedLoops):
        kept = rows.residual_jacobian(state) * loops.units
    else:
        kept = rows.residual_jacobian(rows.state(q)) * loops.units
    velocities = rng.normal(size=q.shape)
    velocities -= least_norm(kept, (kept @ velocities[..., None])[..., 0], tolerances.singular)
    rates = (loops.jacobian(state) * loops.units) @ velocities[..., None]
    errors = loops.residual(state)
    return max(float(np.max(np.abs(errors))), float(np.max(np.abs(rates))))
