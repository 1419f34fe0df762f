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
from dataclasses import dataclass

import numpy as np

from regularize.assembly_modes.frame_motion import body_jacobian
from regularize.lie.screw import Array
from regularize.manifold.batches import CHUNK
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.tolerances import EXACT


@dataclass(frozen=True, eq=False)
class Distances:
    """The smallest normalised singular value of each kind: 0 where the configuration is singular.

    Attributes:
        inverse: Of the body at rest, NaN without a body, shape (N,).
        forward: Of the motors locked, NaN without motors, shape (N,).
        constraint: Of all joints free, shape (N,).
    """

    inverse: Array
    forward: Array
    constraint: Array


def distances(
    loops: LoopKinematics,
    q: Array,
    motors: Sequence[int],
    body: str | None,
    generic: Array,
) -> Distances:
    """How far configurations are from singular ones.

    Args:
        loops: Kinematics of all joints.
        q: Closed configurations, shape (N, n).
        motors: Columns of the motors.
        body: The body whose pose is the output, if there is one.
        generic: Configurations that show which ranks are usual, shape (K, n).
    """
    K = len(generic)
    every = np.concatenate([generic, q])
    parts = [_sizes(loops, every[k : k + CHUNK], motors, body) for k in range(0, len(every), CHUNK)]
    resting, driven, free = (np.concatenate(each) for each in zip(*parts, strict=True))
    locked = np.delete(_rows(loops, generic, body), motors, axis=-1)
    passive = locked.shape[-1] - _rank(_svd(locked))
    nothing = np.full(len(q), np.nan)
    return Distances(
        nothing if body is None else _nth(resting[K:], loops.freedoms - passive),
        nothing if not motors else _nth(driven[K:], loops.freedoms - len(motors) - passive),
        _nth(free[K:], _rank(free[:K])),
    )


def _sizes(
    loops: LoopKinematics, q: Array, motors: Sequence[int], body: str | None
) -> tuple[Array, Array, Array]:
    """Singular values with the body at rest, with the motors at rest, with neither, (N, k) each."""
    J = _rows(loops, q, None)
    free = _svd(J)
    resting = driven = free
    if body is not None:
        resting = _svd(_rows(loops, q, body))
    if motors:
        driven = _svd(np.delete(J, motors, axis=-1))
    return resting, driven, free


def _svd(rows: Array) -> Array:
    return np.asarray(np.linalg.svd(rows, compute_uv=False), dtype=np.float64)


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
