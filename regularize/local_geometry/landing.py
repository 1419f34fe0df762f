"""Landing: from steps along infinitesimal motions back onto the loops.

Where loops allow velocities that no motion follows, equations are dependent at the start of a step
and nearly so at its end. Divided by their small singular values, rounding becomes a long way.
"""

from __future__ import annotations

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.least_norm import decomposed, ranks_of
from regularize.manifold.projection import IMPROVED, PATIENCE, Mask, moved, project
from regularize.manifold.tolerances import EXACT


def landed(
    loops: LoopKinematics, q: Array, steps: Array, held: Mask | None = None
) -> tuple[Array, Array, Mask]:
    """Configurations near the ends of steps from one that is closed.

    Args:
        loops: Kinematics of the loops.
        q: The closed configuration, shape (n,).
        steps: Scaled steps, shape (N, n).
        held: Velocities that stay zero, shape (n,).

    Returns:
        Configurations, the scaled ways to them, both of shape (N, n), and which are closed.
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
