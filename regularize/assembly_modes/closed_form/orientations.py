"""Orientations of spherical joints that follow from the rest of their loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from regularize.assembly_modes.closed_form import operations, vectors
from regularize.assembly_modes.closed_form.equation import vanishes
from regularize.assembly_modes.closed_form.motions import Known
from regularize.assembly_modes.closed_form.vectors import Matrix, Vector
from regularize.assembly_modes.invariance import CENTER
from regularize.assembly_modes.loop_chain import LoopChain

#: Position of a spherical joint in its loop, and the rotation from behind it to in front of it.
Orientation: TypeAlias = tuple[int, Matrix]


def last_rotation(chain: LoopChain, known: Known) -> Orientation | None:
    """That of a spherical joint that is the last unknown rotation of its loop."""
    left = [i for i, item in enumerate(chain.items) if item.kind != "P" and not known.has(item)]
    if len(left) != 1 or chain.items[left[0]].kind != "S":
        return None
    return left[0], np.column_stack([known.axis_around(chain, left[0], k) for k in range(3)])


def rod(chain: LoopChain, known: Known) -> Orientation | None:
    """That of the first of two spherical joints that are left in a loop.

    The body between them does not spin about their line.
    """
    left = [i for i, item in enumerate(chain.items) if not known.has(item)]
    if len(left) != 2 or any(chain.items[i].kind != "S" for i in left):
        return None
    u, w = left
    m, tape = len(chain), known.tape
    v = vectors.position_of(known.seen(chain, CENTER, 2 * w, 2 * u + 1))
    goal = vectors.position_of(known.seen(chain, CENTER, 2 * w + 1, 2 * u + 2 * m))
    length = v @ v
    if vanishes([length], chain.size**2):
        return None
    # The turn from v to the goal about their common normal: two reflections. Where they are
    # opposite to each other, any normal will do.
    middle = vectors.array([*operations.across(tape, v + goal, v - goal)])
    first = v * (tape.scalar(-2.0) / length)
    second = middle * -2.0
    x, y, z = (
        _reflected(_reflected(e, v, first), middle, second)
        for e in vectors.constants(tape, np.eye(3))
    )
    return u, np.column_stack([x, y, z])


def _reflected(x: Vector, normal: Vector, scaled: Vector) -> Vector:
    """X + (normal . x) scaled, where scaled is normal by -2 over its square."""
    return np.asarray(x + scaled * (normal @ x))


#: Ways to find an orientation, by the reason that is given for it; the first come first.
ORIENTATIONS: dict[str, Callable[[LoopChain, Known], Orientation | None]] = {
    "orientation of the rest": last_rotation,
    "direction of the rod, no spin": rod,
}
