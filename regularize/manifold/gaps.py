"""How far the loops of a mechanism are open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from regularize.lie.screw import Array
from regularize.lie.subalgebra import RTOL
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask, project

#: Closed means: no gap above this fraction of the size of the mechanism, no such angle in radians.
#: It is the tolerance of geometric relations, for files do not close any better than they are
#: special.
CLOSED = RTOL
#: All closed configurations of some loops with some coordinates held, shape (k, n), the nearest to
#: a start (n,) first; None where they are not known.
Candidates: TypeAlias = Callable[[LoopKinematics, Array, Mask], Array | None]


@dataclass(frozen=True)
class Gap:
    """How far a loop is open.

    Attributes:
        joint: The closing joint of the loop.
        translation: Metres.
        rotation: Radians.
    """

    joint: str
    translation: float
    rotation: float


def closure_errors(loops: LoopKinematics, q: Array) -> Array:
    """Errors of all closure equations and couplings at a configuration (n,), shape (6 L + C,)."""
    return np.asarray(loops.residual(loops.state(q))[0])


def largest_error(loops: LoopKinematics, q: Array) -> float:
    """Largest closure error, lengths scaled."""
    return float(np.max(np.abs(closure_errors(loops, q)), initial=0.0))


def chords_fitted(loops: LoopKinematics, q: Array, free: Mask) -> Array:
    """Best coordinates of the chords, so that only what they forbid counts as a gap, shape (n,).

    Args:
        loops: The loops.
        q: A configuration, shape (n,).
        free: Coordinates that may move, shape (n,).
    """
    own = np.zeros(loops.freedoms, dtype=bool)
    for chord in loops.chords:
        own[loops.local(chord)] = True
    return np.asarray(project(loops, q[None], held=~(own & free), damped=True).q[0])


def gaps(loops: LoopKinematics, errors: Array) -> list[Gap]:
    """Gap of every loop from the closure errors at a configuration, shape (6 L + C,)."""
    errors = errors[: 6 * len(loops.chords)].reshape(-1, 6)
    return [
        Gap(
            loops.graph.edges[chord].joint.name,
            float(np.linalg.norm(error[:3])) * loops.length,
            float(np.linalg.norm(error[3:])),
        )
        for chord, error in zip(loops.chords, errors, strict=True)
    ]
