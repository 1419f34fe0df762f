r"""How far configurations are from singular ones, by normalised singular values.

The velocities :math:`\dot q` of all joints fulfil :math:`J \dot q = 0`, lengths scaled by the size
of the mechanism. Three kinds of singularity are told apart (Gosselin and Angeles 1990; Zlatanov,
Bonev and Gosselin 2002); each is where a matrix loses the rank that it has elsewhere:

- *inverse*: something besides links that spin can move with the body at rest: :math:`J` with the
  rows of the body's twist;
- *forward*: something can move with the motors locked: :math:`J` without their columns;
- *constraint*: the mechanism gains a freedom: :math:`J` itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.guests.modes.frame_motion import body_jacobian
from regularize.lie.arrays import Array
from regularize.loops.constraints import in_parts
from regularize.loops.kinematics import LoopKinematics
from regularize.tolerances import EXACT


def distances(
    loops: LoopKinematics, q: Array, motors: Sequence[int], body: str | None, generic: Array
) -> dict[str, Array]:
    """The smallest normalised singular value of each kind, 0 where it is singular, shape (N,)."""
    K, n = len(generic), loops.freedoms

    def sizes(q: Array) -> Array:
        """Singular values with nothing locked, the motors locked, the body at rest, (N, 3 n)."""
        J = _rows(loops, q, None)
        kinds = [J, np.delete(J, motors, axis=-1) if motors else J[:, :0]]
        kinds.append(J[:, :0] if body is None else _rows(loops, q, body))
        result = np.zeros((len(q), 3, n))
        for k, rows in enumerate(kinds):
            found = np.linalg.svd(rows, compute_uv=False)
            result[:, k, : found.shape[1]] = found
        return result.reshape(len(q), 3 * n)

    every = in_parts(sizes, np.concatenate([generic, q])).reshape(-1, 3, n)
    locked = np.delete(_rows(loops, generic, body), motors, axis=-1)
    passive = locked.shape[-1] - _rank(np.asarray(np.linalg.svd(locked, compute_uv=False), float))
    free, driven, resting = np.moveaxis(every[K:], 1, 0)
    nothing = np.full(len(q), np.nan)
    return {
        "inverse": nothing if body is None else _nth(resting, n - passive),
        "forward": nothing if not motors else _nth(driven, n - len(motors) - passive),
        "constraint": _nth(free, _rank(every[:K, 0])),
    }


def _rows(loops: LoopKinematics, q: Array, body: str | None) -> Array:
    """Closure equations of velocities, then the body's twist, lengths scaled, shape (N, m, n)."""
    state = loops.state(q)
    J = loops.jacobian(state)
    if body is not None:
        own = body_jacobian(loops.graph, loops, state, body)
        J = np.concatenate([J, own], axis=1)
    return J * loops.units


def _rank(sizes: Array) -> int:
    """The largest rank among configurations."""
    return int(np.max(np.sum(sizes > EXACT.same * sizes[:, :1], axis=1), initial=0))


def _nth(sizes: Array, count: int) -> Array:
    """The singular value that is the last one where the rank is as usual, by the largest."""
    if count < 1:
        return np.ones(len(sizes))
    if count > sizes.shape[1]:
        return np.zeros(len(sizes))
    return np.asarray(sizes[:, count - 1] / sizes[:, 0])
