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

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array, Coordinates, Indices, Jacobian, Mask, Rates, Residual
from regularize.loops.kinematics import LoopKinematics
from regularize.tolerances import EXACT, NEGLIGIBLE, REGULAR, ROUNDING, TINY, Tolerances

#: Configurations that are looked at together, so that what belongs to them stays in the processor's
#: cache, and the matrices of large mechanisms within memory.
CHUNK = 4096


class ConstraintSet(Protocol):
    """Equations whose solutions are configurations q (N, nq); velocities (N, n) scaled by units."""

    @property
    def units(self) -> Array:
        """One unit of every velocity: 1 for angles, a length in metres for slides, shape (n,)."""

    def state(self, q: Coordinates) -> Any:
        """What residual and Jacobian share at configurations; ``state[chosen]`` is a part of it."""

    def residual(self, state: Any) -> Residual:
        """Errors, zero on the manifold."""

    def residual_jacobian(self, state: Any) -> Jacobian:
        """Derivatives of the errors by velocities."""

    def integrate(self, q: Coordinates, velocity: Rates) -> Coordinates:
        """Configurations after a unit of time at constant velocities."""


@dataclass(frozen=True, eq=False)
class View:
    """Chosen equations of a constraint set, with errors measured from target values."""

    whole: ConstraintSet
    rows: slice | Indices = field(default_factory=lambda: slice(None))
    target: Residual | float = 0.0

    @property
    def units(self) -> Array:
        """Units of the whole constraint set."""
        return self.whole.units

    @property
    def state(self) -> Callable[[Coordinates], Any]:
        """State of the whole constraint set."""
        return self.whole.state

    @property
    def integrate(self) -> Callable[[Coordinates, Rates], Coordinates]:
        """Integration by the whole constraint set."""
        return self.whole.integrate

    def residual(self, state: Any) -> Residual:
        """Return the errors of the chosen rows."""
        return np.asarray((self.whole.residual(state) - self.target)[:, self.rows])

    def residual_jacobian(self, state: Any) -> Jacobian:
        """Return the derivatives of the chosen rows."""
        return self.whole.residual_jacobian(state)[:, self.rows]


Result = TypeVar("Result", Array, Mask)


def in_parts(function: Callable[[Coordinates], Result], q: Coordinates) -> Result:
    """Evaluate a function of configurations (K, n) a chunk at a time, and join the results."""
    # Configurations of large mechanisms are fewer at a time.
    size = min(CHUNK, max(1, 16 * CHUNK // max(1, q.shape[1])))
    parts = [function(q[k : k + size]) for k in range(0, max(1, len(q)), size)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


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
    held: Mask | None = None,  # velocities that stay zero
    damped: bool = False,  # whether the configurations may be far away
    tolerances: Tolerances = EXACT,
    until: float | None = None,  # errors at which no further step is made
    nearby: Array | None = None,  # first corrections beyond which another solution is meant
    ranks: Indices | None = None,  # how many equations are solved, the clearest; else all
    steps: int = 40,  # near a double root each only halves the distance
) -> Projected:
    """Bring configurations (N, nq) onto the manifold, those far away by damped steps at first."""
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
    for _ in range(100):
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
    """Project scaled steps (N, n) from one place; return ends, ways, and which are closed."""
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


if TYPE_CHECKING:
    from regularize.loops.block_rows import BlockRows


def least_norm(
    matrices: Array | BlockRows,
    values: Array,
    singular: float,
    held: Mask | None = None,
    ranks: Indices | None = None,
) -> Array:
    """Return the shortest solutions (N, n) of equations (N, m, n), least squares where none is."""
    # Singular values below the fraction ``singular`` of the largest, or beyond the number
    # ``ranks``, are not divided by. Right-hand sides may be (N, m, k), for k solutions each.
    if not isinstance(matrices, np.ndarray):
        rank = matrices.shape[0]
        if values.ndim == 2 and not (held is not None and held.any()):
            solutions, good = matrices.least_norm(values)
            good = np.asarray(good if ranks is None else good & (ranks >= rank))
            if not good.all():
                few = None if ranks is None else ranks[~good]
                dense = matrices[~good].dense()
                solutions[~good] = least_norm(dense, values[~good], singular, ranks=few)
            return solutions
        matrices = matrices.dense()
    if held is not None and held.any():
        part = least_norm(matrices[..., ~held], values, singular, ranks=ranks)
        whole = np.zeros((len(part), len(held), *part.shape[2:]))
        whole[:, ~held] = part
        return whole
    N, m, n = matrices.shape
    columns = values[..., None] if values.ndim == 2 else values
    result = np.zeros((N, n, columns.shape[2]))
    if N and m and n:
        quick = np.zeros(N, dtype=bool)
        # Which equations are the clearest only singular values tell.
        if ranks is None or np.any(ranks >= min(m, n)):
            solve = _square if m == n else _wide if m < n else _tall
            with suppress(np.linalg.LinAlgError):
                quick = solve(matrices, columns, result)
        others = ~quick if ranks is None else ~quick | (ranks < min(m, n))
        if others.any():
            u, s, vt = decomposed(matrices[others])
            counted = s > singular * s[:, :1]
            if ranks is not None:
                counted &= np.arange(min(m, n)) < ranks[others, None]
            inverse = np.where(counted, 1.0 / np.where(counted, s, 1.0), 0.0)
            along = inverse[..., None] * (np.swapaxes(u, 1, 2) @ columns[others])
            result[others] = np.swapaxes(vt, 1, 2) @ along
    return result[..., 0] if values.ndim == 2 else result


def ranks_of(matrices: Array | BlockRows, singular: float, held: Mask | None = None) -> Indices:
    """Count singular values above the fraction ``singular`` of the largest; no held columns."""
    if not isinstance(matrices, np.ndarray):
        if not (held is not None and held.any()) and matrices.independent():
            return np.full(matrices.configurations, matrices.shape[0])
        matrices = matrices.dense()
    if held is not None and held.any():
        matrices = matrices[..., ~held]
    N, m, n = matrices.shape
    ranks = np.full(N, min(m, n))
    if N and m and n:
        regular = np.zeros(N, dtype=bool)
        if m < n:
            gram = matrices @ np.swapaxes(matrices, 1, 2)
            with suppress(np.linalg.LinAlgError):
                regular = _regular(np.asarray(np.linalg.cholesky(gram)))
        others = ~regular
        if others.any():
            s = np.linalg.svd(matrices[others], compute_uv=False)
            ranks[others] = np.sum(s > singular * s[:, :1], axis=1)
    return ranks


def decomposed(matrices: Array) -> tuple[Array, Array, Array]:
    """Return the thin singular value decompositions of matrices (N, m, n)."""
    try:
        u, s, vt = np.linalg.svd(matrices, full_matrices=False)
    except np.linalg.LinAlgError:
        from scipy.linalg import svd  # needed hardly ever

        # LAPACK's quick method fails on a few matrices with clusters of values, its other does not.
        parts = [svd(matrix, full_matrices=False, lapack_driver="gesvd") for matrix in matrices]
        u, s, vt = (np.array(part) for part in zip(*parts, strict=True))
    return u, s, vt


def clearest_columns(matrix: Array, count: int) -> Indices:
    """Return columns that are well independent, the clearest first, by QR with pivoting."""
    # SciPy has it, and takes longer to load than most mechanisms to analyse.
    remaining = np.array(matrix, dtype=float)
    order = np.zeros(min(count, remaining.shape[1]), dtype=np.intp)
    for k in range(len(order)):
        sizes = np.sum(remaining * remaining, axis=0)
        sizes[order[:k]] = -1.0
        order[k] = sizes.argmax()
        unit = remaining[:, order[k]] / max(math.sqrt(max(sizes[order[k]], 0.0)), TINY)
        remaining -= np.outer(unit, unit @ remaining)
    return order


def _square(matrices: Array, values: Array, result: Array) -> Mask:
    """Write solutions of as many equations as unknowns, and say which are good."""
    inverse = np.linalg.inv(matrices)
    result[:] = inverse @ values
    sizes = np.linalg.norm(matrices, axis=(1, 2)) * np.linalg.norm(inverse, axis=(1, 2))
    return np.asarray(REGULAR * sizes < matrices.shape[1])


def _tall(matrices: Array, values: Array, result: Array) -> Mask:
    """Write solutions of more equations than unknowns, and say which are good."""
    Q, R = np.linalg.qr(matrices)
    good = _regular(R)
    result[good] = np.linalg.solve(R[good], np.swapaxes(Q[good], 1, 2) @ values[good])
    return good


def _wide(matrices: Array, values: Array, result: Array) -> Mask:
    """Write solutions of fewer equations than unknowns, and say which are good."""
    transposed = np.swapaxes(matrices, 1, 2)
    gram = matrices @ transposed
    good = _regular(np.asarray(np.linalg.cholesky(gram)))
    if good.any():
        result[good] = transposed[good] @ np.linalg.solve(gram[good], values[good])
    return good


def _regular(factors: Array) -> Mask:
    """Whether no pivot of triangular factors is far smaller than the others."""
    pivots = np.abs(np.diagonal(factors, axis1=1, axis2=2))
    return np.asarray(pivots.min(axis=1) > REGULAR * pivots.max(axis=1))
