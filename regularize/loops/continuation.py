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
from typing import Any

import numpy as np

from regularize.lie.arrays import Coordinates, Indices, Jacobian, Mask, Rates
from regularize.loops.projection import (
    CONTRACTING,
    ConstraintSet,
    Convergence,
    least_norm,
    moved,
    project,
    ranks_of,
)
from regularize.tolerances import EXACT, VANISHING, Tolerances

#: First correction by the length of the step up to which the solution is the one next to it.
ASIDE = CONTRACTING
#: First correction by the length of the step below which a longer step is tried next.
EASY = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Stepped:
    """Configurations after one step of continuation, one entry for each."""

    q: Coordinates  # where a step is not good, what the projection came to
    good: Mask  # whether the step stayed on its component
    easy: Mask  # whether a longer one would do
    shaky: Mask  # whether the independent equations could be solved and the others do not follow


class Continuation:
    """Steps along the solutions of a constraint set; the velocities in ``held`` stay zero."""

    def __init__(
        self, constraints: ConstraintSet, tolerances: Tolerances = EXACT, held: Mask | None = None
    ) -> None:
        self.constraints, self.tolerances = constraints, tolerances
        self.held = np.zeros(len(constraints.units), dtype=bool) if held is None else held

    def tangents(self, q: Coordinates, directions: Rates) -> Rates:
        """Project scaled directions (N, n) onto the velocities allowed at q; largest entry one."""
        rows = self._rows(q)
        result = np.where(self.held, 0.0, directions)
        forbidden = (rows @ result[..., None])[..., 0]
        result -= least_norm(rows, forbidden, self.tolerances.rank, self.held)
        size = np.max(np.abs(result), axis=1, initial=0.0, keepdims=True)
        moving = size > VANISHING  # what is left of a direction in which nothing can move
        return np.where(moving, result / np.where(moving, size, 1.0), 0.0)

    def ranks(self, q: Coordinates) -> Indices:
        """Count the independent equations at configurations (N, nq)."""
        return ranks_of(self._rows(q), self.tolerances.rank, self.held)

    def _rows(self, q: Coordinates) -> Any:
        """Return the scaled derivatives of the equations at q, sparse where they are many."""
        constraints = self.constraints
        return constraints.residual_jacobian(constraints.state(q)) * constraints.units

    def step(self, q: Coordinates, step: Rates, ranks: Indices | None = None) -> Stepped:
        """Step along scaled tangents (N, n), then project by as many equations as ``ranks``."""
        ranks = self.ranks(q) if ranks is None else ranks
        reached = self.corrected(step, moved(self.constraints, q, step), self.held, ranks)
        shaky = reached.shaky
        if shaky.any():
            result = self.departed(q[shaky], step[shaky])
            same = self.ranks(result.q) == ranks[shaky]
            reached.q[shaky], reached.good[shaky] = result.q, result.good & same
            reached.easy[shaky] = result.easy & same
        return reached

    def departed(self, q: Coordinates, step: Rates) -> Stepped:
        """Step away from branch points by all equations; good is where two half steps agree."""
        result = self.corrected(step, moved(self.constraints, q, step), self.held)
        half = self.corrected(0.5 * step, moved(self.constraints, q, 0.5 * step), self.held)
        length = np.max(np.abs(step), axis=1, initial=0.0)[:, None]
        onward = 0.5 * length * self.tangents(half.q, step)
        again = self.corrected(onward, moved(self.constraints, half.q, onward), self.held)
        units = self.constraints.units if q.shape[1] == len(self.held) else 1.0
        apart = np.max(np.abs(result.q - again.q) / units, axis=1, initial=0.0)
        good = result.good & half.good & again.good & (apart <= ASIDE * length[:, 0])
        return Stepped(result.q, good, good & result.easy, result.shaky)

    def driven(self, q: Coordinates, columns: Sequence[int], goal: Coordinates) -> Stepped:
        """Move some coordinates straight to goals (N, columns); the others follow the closure."""
        constraints, units = self.constraints, self.constraints.units
        held = self.held.copy()
        held[list(columns)] = True
        rows = self._rows(q)
        step = np.zeros((len(q), len(units)))
        step[:, columns] = (goal - q[:, columns]) / units[columns]
        rates = (rows @ step[..., None])[..., 0]
        step -= least_norm(rows, rates, self.tolerances.singular, held)
        length = np.max(np.abs(step), axis=1, initial=0.0)
        trial = moved(constraints, q, step / np.maximum(1.0, length)[:, None])
        trial[:, columns] = goal  # exactly, free of rounding
        ranks = ranks_of(rows, self.tolerances.singular, held)
        result = self.corrected(step, trial, held, ranks)
        good = result.good.copy()
        before, after = rows[good][..., ~held], self._rows(result.q[good])[..., ~held]
        good[good] = same_side(before, after, self.tolerances.singular)
        return Stepped(result.q, good, result.easy & good, result.shaky)

    def corrected(
        self, step: Rates, trial: Coordinates, held: Mask, ranks: Indices | None = None
    ) -> Stepped:
        """Project the ends of scaled steps, and refuse those that projection moves too far."""
        length, same = np.max(np.abs(step), axis=1, initial=0.0), self.tolerances.same
        # Steps of more than a radian or a length are never taken.
        nearby = np.where(length <= 1.0, np.maximum(ASIDE * length, same), -1.0)
        result = project(
            self.constraints,
            trial,
            held=held if held.any() else None,
            tolerances=self.tolerances,
            nearby=nearby,
            ranks=ranks,
        )
        limit = CONTRACTING if ranks is None else 0.25  # where Kantorovich's h is one half
        near = (result.first <= nearby) & (result.contraction <= limit)
        easy = result.first <= np.maximum(EASY * length, same)
        noisy = result.outcome == Convergence.NOISE
        return Stepped(result.q, near & result.closed, near & result.closed & easy, near & noisy)


def same_side(before: Jacobian, after: Jacobian, singular: float) -> Mask:
    """Return whether determinants of (N, m, d) keep their sign, or were not determined before."""
    m, d = before.shape[1:]
    if m < d or d == 0:
        return np.ones(len(before), dtype=bool)
    # More rows than coordinates are combined into as many, the same ones on both sides.
    combination, triangle = np.linalg.qr(before)
    pivots = np.diagonal(triangle, axis1=1, axis2=2)
    sizes = np.abs(pivots)
    determined = sizes.min(axis=1) > singular * sizes.max(axis=1)
    sign = np.linalg.slogdet(np.swapaxes(combination, 1, 2) @ after)[0]
    return np.asarray(~determined | (sign * np.prod(np.sign(pivots), axis=1) > 0.0))


def random_walks(
    continuation: Continuation,
    start: Coordinates,
    *,
    walkers: int,
    steps: int,
    rng: np.random.Generator,
    stride: float = 0.4,  # largest change of a coordinate, radians or lengths
    shortest: float = 1e-2,
) -> Coordinates:
    """Return configurations after each step of random walks from one, (steps, walkers, nq)."""
    q = np.repeat(start[None], walkers, axis=0)
    shape = (walkers, len(continuation.constraints.units))
    # With one freedom there are two directions, and equal strides would lead to the same places.
    longest = stride * rng.uniform(0.9, 1.1, size=(walkers, 1))
    strides = longest.copy()
    heading = rng.normal(size=shape)
    ranks = np.repeat(continuation.ranks(start[None]), walkers)
    visited = np.zeros((steps, *q.shape))
    for k in range(steps):
        # Keeping most of the old heading carries a walker further than a random walk would.
        heading += 0.5 * rng.normal(size=shape)
        heading = continuation.tangents(q, heading)
        again = np.flatnonzero(heading.any(axis=1))
        departing = False
        if k == 0:
            # Where no motion keeps the rank, those of higher rank may meet.
            few = again[:3]
            short = continuation.step(q[few], 0.1 * stride * heading[few], ranks[few])
            departing = not short.good.any()
        while len(again):
            way = q[again], strides[again] * heading[again]
            departed = continuation.departed
            reached = departed(*way) if departing else continuation.step(*way, ranks[again])
            stepped, good = again[reached.good], reached.good
            q[stepped] = reached.q[good]
            ranks[stepped] = continuation.ranks(q[stepped]) if departing else ranks[stepped]
            longer = stepped[reached.easy[good]]
            strides[longer] = np.minimum(2.0 * strides[longer], longest[longer])
            again = again[~good]
            strides[again] *= 0.5
            again = again[strides[again, 0] >= shortest]
        np.maximum(strides, shortest, out=strides)
        visited[k] = q
    return visited


@dataclass(frozen=True, eq=False)
class Arrived:
    """The last configurations on the way to some targets, and which targets were reached."""

    q: Coordinates
    reached: Mask


def drive(
    continuation: Continuation,
    q: Coordinates,
    columns: Sequence[int],
    target: Coordinates,
    *,
    stride: float = 0.25,
    shortest: float = 1e-7,  # steps that get shorter meet a singularity, or loops that open
) -> Arrived:
    """Move coordinates of configurations (N, n) straight to targets, as far as the loops follow."""
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
