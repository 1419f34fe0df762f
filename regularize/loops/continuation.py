r"""Continuation: following the manifold of configurations, many walkers at once.

Every way of moving along the manifold is made of one step: along the tangent, then a projection. A
step is taken only if it cannot have left its component. Let :math:`r` be the rank where it begins:
the :math:`r` clearest equations are solved at its end, where Newton's method starts from an error
:math:`\eta`. With their inverse bounded by :math:`\beta` and their second derivative by
:math:`\kappa`, :math:`h = \beta \kappa \eta < 1/2` makes the solution the only one nearby, for
this step and all shorter ones (Newton and Kantorovich); and if the other equations hold at the end
of a step in no particular direction, they hold all along the solutions of the :math:`r`, for they
are analytic. The product is measured, not bounded: the corrections shrink by
:math:`\Theta \le h / 2` (Deuflhard, Newton Methods for Nonlinear Problems, sections 2.1 and 5.1).

Where loops allow velocities that no motion follows, the other equations do not hold at the end, and
corrections by all of them only shrink by halves. Such a step counts if two halves of it lead to the
same end, and the rank there is what it was.

Where a motion is driven by some coordinates, the others stay determined by them (``same_side``). A
step that does not count is halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array
from regularize.loops.least_norm import least_norm, ranks_of
from regularize.loops.projection import CONTRACTING, Convergence, Mask, moved, project
from regularize.tolerances import EXACT, VANISHING, Tolerances

if TYPE_CHECKING:
    from regularize.loops.constraints import ConstraintSet

#: First correction by the length of the step up to which the solution is the one next to it.
ASIDE = CONTRACTING
#: First correction by the length of the step below which a longer step is tried next.
EASY = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Stepped:
    """Configurations after one step of continuation.

    Attributes:
        q: Those reached; where a step is not good, what the projection came to, shape (N, nq).
        good: Whether the step stayed on its component, shape (N,).
        easy: Whether a longer one would do, shape (N,).
        shaky: Whether the independent equations could be solved and the others do not follow.
    """

    q: Array
    good: Mask
    easy: Mask
    shaky: Mask


class Continuation:
    """Steps along the solutions of a constraint set.

    Args:
        constraints: The equations.
        tolerances: What counts as closed, and which singular values are noise.
        held: Velocities that stay zero, shape (n,).
    """

    def __init__(
        self,
        constraints: ConstraintSet,
        tolerances: Tolerances = EXACT,
        held: Mask | None = None,
    ) -> None:
        """Keep the equations."""
        self.constraints, self.tolerances = constraints, tolerances
        self.held = np.zeros(len(constraints.units), dtype=bool) if held is None else held

    def tangents(self, q: Array, directions: Array) -> Array:
        """Directions projected on the velocities that are allowed, largest entry one, (N, n).

        Args:
            q: Configurations on the manifold, shape (N, nq).
            directions: Scaled velocities, shape (N, n).
        """
        constraints = self.constraints
        rows = constraints.residual_jacobian(constraints.state(q)) * constraints.units
        result = np.where(self.held, 0.0, directions)
        forbidden = (rows @ result[..., None])[..., 0]
        result -= least_norm(rows, forbidden, self.tolerances.rank, self.held)
        size = np.max(np.abs(result), axis=1, initial=0.0, keepdims=True)
        moving = size > VANISHING  # what is left of a direction in which nothing can move
        return np.where(moving, result / np.where(moving, size, 1.0), 0.0)

    def ranks(self, q: Array) -> NDArray[np.intp]:
        """Number of independent equations at configurations, shape (N,)."""
        constraints = self.constraints
        rows = constraints.residual_jacobian(constraints.state(q)) * constraints.units
        return ranks_of(rows, self.tolerances.rank, self.held)

    def step(self, q: Array, step: Array, ranks: NDArray[np.intp] | None = None) -> Stepped:
        """Go along scaled tangents (N, n), then back onto the manifold.

        Args:
            q: Configurations on the manifold, shape (N, nq).
            step: Scaled steps along the tangents, shape (N, n).
            ranks: Number of independent equations at each, shape (N,); found where not given.
        """
        ranks = self.ranks(q) if ranks is None else ranks
        reached = self.corrected(step, moved(self.constraints, q, step), self.held, ranks)
        shaky = reached.shaky
        if shaky.any():
            found = self.departed(q[shaky], step[shaky])
            same = self.ranks(found.q) == ranks[shaky]
            reached.q[shaky], reached.good[shaky] = found.q, found.good & same
            reached.easy[shaky] = found.easy & same
        return reached

    def departed(self, q: Array, step: Array) -> Stepped:
        """Go along scaled tangents (N, n), then back by all equations, whatever their rank.

        That is how to leave a configuration where motions branch. A step is good if two halves of
        it lead to the same end.
        """
        found = self.corrected(step, moved(self.constraints, q, step), self.held)
        half = self.corrected(0.5 * step, moved(self.constraints, q, 0.5 * step), self.held)
        length = np.max(np.abs(step), axis=1, initial=0.0)[:, None]
        rest = 0.5 * length * self.tangents(half.q, step)
        again = self.corrected(rest, moved(self.constraints, half.q, rest), self.held)
        units = self.constraints.units if q.shape[1] == len(self.held) else 1.0
        apart = np.max(np.abs(found.q - again.q) / units, axis=1, initial=0.0)
        good = found.good & half.good & again.good & (apart <= ASIDE * length[:, 0])
        return Stepped(found.q, good, good & found.easy, found.shaky)

    def driven(self, q: Array, columns: Sequence[int], goal: Array) -> Stepped:
        """Move some coordinates straight to a goal; the others follow from the equations.

        Args:
            q: Configurations on the manifold; they have one number per velocity, shape (N, n).
            columns: The coordinates that are driven.
            goal: Their values, shape (N, columns).
        """
        constraints, units = self.constraints, self.constraints.units
        held = self.held.copy()
        held[list(columns)] = True
        rows = constraints.residual_jacobian(constraints.state(q)) * units
        step = np.zeros((len(q), len(units)))
        step[:, columns] = (goal - q[:, columns]) / units[columns]
        given = (rows @ step[..., None])[..., 0]
        step -= least_norm(rows, given, self.tolerances.singular, held)
        length = np.max(np.abs(step), axis=1, initial=0.0)
        trial = moved(constraints, q, step / np.maximum(1.0, length)[:, None])
        trial[:, columns] = goal  # exactly, free of rounding
        ranks = ranks_of(rows, self.tolerances.singular, held)
        found = self.corrected(step, trial, held, ranks)
        good = found.good.copy()
        before, state = rows[good][..., ~held], constraints.state(found.q[good])
        after = (constraints.residual_jacobian(state) * units)[..., ~held]
        good[good] = same_side(before, after, self.tolerances.singular)
        return Stepped(found.q, good, found.easy & good, found.shaky)

    def corrected(
        self, step: Array, trial: Array, held: Mask, ranks: NDArray[np.intp] | None = None
    ) -> Stepped:
        """Project the ends of steps, and see whether they are where the steps lead.

        Args:
            step: Scaled steps along the tangent, shape (N, n).
            trial: Configurations at their ends, shape (N, nq).
            held: Velocities that stay zero in the correction, shape (n,).
            ranks: Number of equations that are solved, shape (N,); by default all of them.
        """
        length, same = np.max(np.abs(step), axis=1, initial=0.0), self.tolerances.same
        # Steps of more than a radian or a length are never taken.
        nearby = np.where(length <= 1.0, np.maximum(ASIDE * length, same), -1.0)
        found = project(
            self.constraints,
            trial,
            held=held if held.any() else None,
            tolerances=self.tolerances,
            nearby=nearby,
            ranks=ranks,
        )
        limit = CONTRACTING if ranks is None else 0.25  # where Kantorovich's h is one half
        near = (found.first <= nearby) & (found.contraction <= limit)
        easy = found.first <= np.maximum(EASY * length, same)
        left = found.outcome == Convergence.NOISE
        return Stepped(found.q, near & found.closed, near & found.closed & easy, near & left)


def same_side(before: Array, after: Array, singular: float) -> NDArray[np.bool_]:
    """Whether no singular configuration lies between configurations near each other, shape (N,).

    The determinant of the equations by the dependent coordinates keeps its sign. Where these are
    not determined in the first place, it says nothing, and the answer is yes.

    Args:
        before: Derivatives of the equations by the dependent coordinates, shape (N, m, d). More
            rows than coordinates are combined into as many, the same ones on both sides.
        after: The same at the other configurations.
        singular: Pivots below this fraction of the largest are none.
    """
    m, d = before.shape[1:]
    if m < d or d == 0:
        return np.ones(len(before), dtype=bool)
    combination, triangle = np.linalg.qr(before)
    pivots = np.diagonal(triangle, axis1=1, axis2=2)
    sizes = np.abs(pivots)
    determined = sizes.min(axis=1) > singular * sizes.max(axis=1)
    sign = np.linalg.slogdet(np.swapaxes(combination, 1, 2) @ after)[0]
    return np.asarray(~determined | (sign * np.prod(np.sign(pivots), axis=1) > 0.0))


def random_walks(
    continuation: Continuation,
    start: Array,
    *,
    walkers: int,
    steps: int,
    rng: np.random.Generator,
    stride: float = 0.4,
    shortest: float = 1e-2,
) -> Array:
    """Random walks from one configuration, or from several by the same random numbers.

    Args:
        continuation: What is walked along.
        start: The configuration that all walkers leave, shape (nq,), or K of them, (K, nq).
        walkers: Number of walkers from each.
        steps: Steps of each.
        rng: Source of the random directions.
        stride: Largest change of a coordinate per step, in radians or lengths; a tenth more or
            less from walker to walker.
        shortest: Length at which a walker gives a step up, in the same units.

    Returns:
        Configurations after each step, shape (steps, K walkers, nq). A walker that cannot step
        stays.
    """
    starts = np.atleast_2d(start)
    q = np.repeat(starts, walkers, axis=0)
    home, alike = np.repeat(np.arange(len(starts)), walkers), (len(starts), 1)
    shape = (walkers, len(continuation.constraints.units))
    # With one freedom there are two directions, and equal strides would lead to the same places.
    longest = np.tile(stride * rng.uniform(0.9, 1.1, size=(walkers, 1)), alike)
    strides = longest.copy()
    heading = np.tile(rng.normal(size=shape), alike)
    ranks = np.repeat(continuation.ranks(starts), walkers)
    visited = np.zeros((steps, *q.shape))
    for k in range(steps):
        # Keeping most of the old heading carries a walker further than a random walk would.
        heading += 0.5 * np.tile(rng.normal(size=shape), alike)
        heading = continuation.tangents(q, heading)
        waiting = np.flatnonzero(heading.any(axis=1))
        first = np.searchsorted(home[waiting], home[waiting])
        few = waiting[np.arange(len(waiting)) - first < (3 if k == 0 else 0)]
        short = continuation.step(q[few], 0.1 * stride * heading[few], ranks[few])
        # Where no motion keeps the rank, those of higher rank may meet.
        stuck = np.isin(home[waiting], home[few]) & ~np.isin(home[waiting], home[few[short.good]])
        for departing in (False, True):
            again = waiting[stuck == departing]
            while len(again):
                at, step = q[again], strides[again] * heading[again]
                if departing:
                    reached = continuation.departed(at, step)
                else:
                    reached = continuation.step(at, step, ranks[again])
                found, good = again[reached.good], reached.good
                q[found] = reached.q[good]
                ranks[found] = continuation.ranks(q[found]) if departing else ranks[found]
                longer = found[reached.easy[good]]
                strides[longer] = np.minimum(2.0 * strides[longer], longest[longer])
                again = again[~good]
                strides[again] *= 0.5
                again = again[strides[again, 0] >= shortest]
        np.maximum(strides, shortest, out=strides)
        visited[k] = q
    return visited


@dataclass(frozen=True, eq=False)
class Arrived:
    """Configurations at the end of straight ways of some coordinates.

    Attributes:
        q: The last configurations on the ways, shape (N, n).
        reached: Whether the way was followed to its end, shape (N,).
    """

    q: Array
    reached: Mask


def drive(
    continuation: Continuation,
    q: Array,
    columns: Sequence[int],
    target: Array,
    *,
    stride: float = 0.25,
    shortest: float = 1e-7,
) -> Arrived:
    """Move some coordinates along straight lines to given values, as far as the loops follow.

    Args:
        continuation: What is followed.
        q: Configurations on the manifold, shape (N, n).
        columns: The coordinates that are driven.
        target: Their values at the end, shape (N, columns).
        stride: Largest change of a driven coordinate per step, in radians or lengths.
        shortest: Steps shorter than this, in the same units, end a way: it has come to a
            singularity, or to where the loops cannot be closed any more.
    """
    q, columns = np.array(q, dtype=np.float64), list(columns)
    units = continuation.constraints.units[columns]
    origin = q[:, columns]
    size = np.max(np.abs(target - origin) / units, axis=1, initial=0.0)
    step = np.minimum(1.0, stride / np.maximum(size, stride))
    least = np.minimum(1.0, shortest / np.maximum(size, shortest))
    done, active = np.zeros(len(q)), np.arange(len(q))
    while len(active):
        fraction = np.minimum(1.0, done[active] + step[active])
        goal = origin[active] + fraction[:, None] * (target - origin)[active]
        goal[fraction == 1.0] = target[active[fraction == 1.0]]
        reached = continuation.driven(q[active], columns, goal)
        good = reached.good
        q[active[good]], done[active[good]] = reached.q[good], fraction[good]
        step[active] *= np.where(good, np.where(reached.easy, 2.0, 1.0), 0.5)
        active = active[(done[active] < 1.0) & (step[active] >= least[active])]
    return Arrived(q, done >= 1.0)
