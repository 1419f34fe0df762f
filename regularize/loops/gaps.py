"""How far the loops of a mechanism are open, and how exact its closure equations are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import Mask, project
from regularize.tolerances import ROUNDING, RTOL

#: Closed means: no gap above this fraction of the size of the mechanism, no such angle in radians.
#: It is the tolerance of geometric relations, for files do not close any better than they are
#: special.
CLOSED = RTOL


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


def noise_of(loops: LoopKinematics, q: Array) -> float:
    """Noise of the closure equations of some loops, lengths scaled.

    It is the largest of three: rounding of the arithmetic, which grows with the distance of frames
    from where they are measured; a tenth of half the last digit of the file's numbers, where they
    are rounded, for the errors of many joints are seldom all alike; and a tenth of what stays open
    at the assembled pose, where Newton's method ends in noise, for what stays open elsewhere is not
    the same.

    Args:
        loops: The loops, lengths divided by their size.
        q: The assembled configuration, shape (n,).
    """
    frames = np.concatenate([loops.T_parent, loops.T_child])
    farthest = float(np.abs(frames[:, :3, 3]).max()) / loops.length
    rounding = np.finfo(np.float64).eps * farthest
    digits = loops.graph.mechanism.digits
    written = 0.0 if digits is None else 0.05 * 10.0**-digits * max(1.0, farthest)
    left = largest_error(loops, q)
    opening = 0.1 * left if left <= 2 * CLOSED else 0.0
    return max(ROUNDING, rounding, written, opening)
