r"""Projection onto the manifold of configurations: Newton's method on all of them at once.

A step is the shortest velocity that takes the errors away to first order,

.. math:: \delta q = -J^+ r(q),

with singular values below ``Tolerances.singular`` left out, so that dependent rows and places where
solutions meet do no harm. From far away Levenberg's and Marquardt's steps come first, damped in
proportion to the errors (Fan and Yuan 2005), which converge quadratically whatever the rank. Errors
end where the data end: a projection that arrives at the noise of its equations says so.

Where loops allow velocities that no motion follows, equations are dependent at the start of a step
and nearly so at its end. Divided by their small singular values, rounding becomes a long way:
``retracted`` brings such steps back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array, Coordinates, Indices, Mask, Rates
from regularize.loops.constraints import ConstraintSet
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.least_norm import decomposed, least_norm, ranks_of
from regularize.tolerances import EXACT, NEGLIGIBLE, ROUNDING, Tolerances

#: Part of the old error that a step has to get below to count as an improvement.
IMPROVED = 0.9
#: Ratio of successive corrections up to which Newton's method stays with the nearest solution: a
#: little more than one half, for where loops allow velocities that no motion follows, it takes them
#: back by halves, to the right place.
CONTRACTING = 0.6
#: Steps without improvement that are borne far from a solution, where Newton's method may stray.
PATIENCE = 8


class Convergence(IntEnum):
    """How a projection ended."""

    CLOSED = 0  #: The errors are below ``Tolerances.closed``.
    NOISE = 1  #: No step changes anything any more, and errors are left: the noise of the data.
    OPEN = 2  #: It did not converge, which says nothing about whether there is a solution.


@dataclass(frozen=True, eq=False, repr=False)
class Projected:
    """The best configurations found by a projection, and how it went; one entry for each."""

    q: Coordinates
    error: Array  # largest error
    outcome: NDArray[np.int8]  # values of Convergence
    first: Array  # largest entry of the first correction, scaled
    #: Length of the second correction by that of the first: below one half, Newton's method
    #: converges to the solution next to where it began (Deuflhard, theorem 2.1).
    contraction: Array

    @property
    def closed(self) -> Mask:
        """Whether each fulfils the equations."""
        return np.asarray(self.outcome == Convergence.CLOSED)


def project(
    constraints: ConstraintSet,
    q: Coordinates,
    *,
    held: Mask | None = None,
    damped: bool = False,
    tolerances: Tolerances = EXACT,
    until: float | None = None,
    nearby: Array | None = None,
    ranks: Indices | None = None,
    steps: int = 40,
) -> Projected:
    """Bring configurations onto the manifold, those far away by damped steps at first.

    Args:
        constraints: The equations.
        q: Configurations, shape (N, nq).
        held: Velocities that stay zero.
        damped: Whether the configurations may be far away.
        tolerances: What counts as closed, and which singular values are noise.
        until: Errors at which no further step is made; by default a tenth of what counts as closed
            where numbers are exact.
        nearby: Lengths of the first corrections, scaled, beyond which a projection is given up as
            one to another solution; so are those that do not contract. By default none is.
        ranks: Number of equations that are solved at each, the clearest ones. By default all that
            are independent.
        steps: Largest number of Newton steps: near a double root each only halves the distance.
    """
    q = np.array(q, dtype=np.float64)
    if damped:
        q = approach(constraints, q, held=held, tolerances=tolerances)
    N = len(q)
    # Numbers that are off are no reason to stop where steps still bring something.
    target = 0.1 * min(tolerances.closed, EXACT.closed) if until is None else until
    first, contraction, length = np.zeros((3, N))
    outcome = np.full(N, Convergence.OPEN, dtype=np.int8)
    idle, active = np.zeros(N, dtype=int), np.arange(N)
    for k in range(steps + 1):
        state = constraints.state(q[active])
        residual = constraints.residual(state)
        new = np.abs(residual).max(axis=1, initial=0.0)
        size = np.sqrt(np.einsum("nm,nm->n", residual, residual))
        going = (new > target) & np.isfinite(new)
        if k == 0:
            best = q.copy()
            error, least = np.where(np.isfinite(new), (new, size), np.inf)
        else:
            better = size < least[active]
            idle[active] = np.where(size < IMPROVED * least[active], 0, idle[active] + 1)
            improved = active[better]
            best[improved], error[improved] = q[improved], new[better]
            least[improved] = size[better]
            # Steps that are short and change nothing are rounding, of the numbers or of the model.
            settled = (idle[active] > 1) & (length[active] <= tolerances.same)
            outcome[active[settled]] = Convergence.NOISE
            going &= ~settled & (idle[active] <= PATIENCE)
        if k == steps or not going.any():
            break
        if not going.all():
            active, state, residual = active[going], state[going], residual[going]
        rows = constraints.residual_jacobian(state) * constraints.units
        rank = None if ranks is None else ranks[active]
        step = -least_norm(rows, residual, tolerances.singular, held, rank)
        length[active] = np.abs(step).max(axis=1, initial=0.0)
        if k == 0:
            first[active] = length[active]
        elif k == 1:
            contraction[active] = length[active] / np.maximum(first[active], tolerances.same)
        if nearby is not None and k < 2:
            stays = (first <= nearby)[active] & (contraction <= CONTRACTING)[active]
            active, step = active[stays], step[stays]
            if not len(active):
                break
        # A correction of more than a radian or a length has left the neighbourhood.
        step /= np.maximum(1.0, length[active])[:, None]
        q[active] = moved(constraints, q[active], step)
    outcome[error <= tolerances.closed] = Convergence.CLOSED
    return Projected(best, error, outcome, first, contraction)


def approach(
    constraints: ConstraintSet,
    q: Coordinates,
    *,
    held: Mask | None = None,
    tolerances: Tolerances = EXACT,
    steps: int = 100,
) -> Coordinates:
    """Bring configurations (N, nq) near the manifold by damped steps of least squares."""
    q = np.array(q, dtype=np.float64)
    free = np.ones(len(constraints.units), dtype=bool) if held is None else ~held
    if not free.any():
        return q
    state = constraints.state(q)
    residual = constraints.residual(state)
    square = np.sum(residual**2, axis=1)
    damping = np.full(len(q), 1e-2)
    active = np.flatnonzero(np.isfinite(square) & (square > tolerances.closed))
    if not len(active):
        return q
    jacobian = (constraints.residual_jacobian(state) * constraints.units)[..., free]
    identity = np.eye(int(free.sum()))
    for _ in range(steps):
        # Newton's method takes over where the errors are small against their square root.
        active = active[(square[active] > tolerances.closed) & (damping[active] < 1e10)]
        if not len(active):
            break
        J, r = jacobian[active], residual[active]
        transposed = np.swapaxes(J, 1, 2)
        scale = (damping[active] * np.sqrt(square[active]))[:, None, None] + ROUNDING
        gradient = transposed @ r[..., None]
        step = np.zeros((len(active), len(free)))
        step[:, free] = -np.linalg.solve(transposed @ J + scale * identity, gradient)[..., 0]
        length = np.max(np.abs(step), axis=1, initial=0.0)
        step /= np.maximum(1.0, length)[:, None]
        trial = moved(constraints, q[active], step)
        state = constraints.state(trial)
        new = constraints.residual(state)
        new_square = np.sum(new**2, axis=1)
        better = new_square < square[active]
        damping[active] = np.clip(damping[active] * np.where(better, 0.2, 8.0), NEGLIGIBLE, 1e12)
        good = active[better]
        q[good], residual[good], square[good] = trial[better], new[better], new_square[better]
        if better.any():
            rows = constraints.residual_jacobian(state[better]) * constraints.units
            jacobian[good] = rows[..., free]
    return q


def moved(constraints: ConstraintSet, q: Coordinates, step: Rates) -> Coordinates:
    """Return the configurations after scaled steps (N, n)."""
    return constraints.integrate(q, step * constraints.units)


def retracted(
    loops: LoopKinematics, q: Coordinates, steps: Rates, held: Mask | None = None
) -> tuple[Coordinates, Rates, Mask]:
    """Return closed configurations near the ends of scaled steps (N, n) from a closed one (n,).

    They come with the scaled ways to them, and whether each is closed.
    """
    start = np.repeat(q[None], len(steps), axis=0)
    rows = loops.jacobian(loops.state(q)) * loops.units
    ranks = np.repeat(ranks_of(rows, EXACT.rank, held), len(steps))
    # The equations that say most come first: the others, nearly dependent, lead astray.
    ends = project(loops, moved(loops, start, steps), held=held, ranks=ranks, steps=4).q
    q, error = ends.copy(), np.full(len(ends), np.inf)
    idle, active = np.zeros(len(ends), dtype=int), np.arange(len(ends))
    free = np.ones(len(loops.units), dtype=bool) if held is None else ~held
    for _ in range(100):
        state = loops.state(ends[active])
        residual = loops.residual(state)
        new = np.max(np.abs(residual), axis=1, initial=0.0)
        idle[active] = np.where(new < IMPROVED * error[active], 0, idle[active] + 1)
        better = active[new < error[active]]
        q[better], error[active] = ends[better], np.minimum(new, error[active])
        # Where loops meet in a double root every correction halves the way: go on to rounding.
        going = (new > 0.1 * EXACT.closed) & (idle[active] <= PATIENCE)
        if not going.any():
            break
        active, residual, new = active[going], residual[going], new[going]
        jacobian = (loops.residual_jacobian(state[going]) * loops.units)[..., free]
        u, s, vt = decomposed(jacobian)
        # Damped by this power of the error, double and triple roots still attract.
        along = s / (s**2 + new[:, None] ** 1.5) * np.einsum("nik,ni->nk", u, residual)
        step = np.zeros((len(active), len(free)))
        step[:, free] = -np.einsum("nkj,nk->nj", vt, along)
        step /= np.maximum(1.0, 10.0 * np.max(np.abs(step), axis=1))[:, None]
        ends[active] = moved(loops, ends[active], step)
    return q, loops.difference(start, q) / loops.units, error <= EXACT.closed
