"""How far the loops of a mechanism are open, and how exact its closure equations are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.lie.arrays import Coordinates, Mask, Residual
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import project
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


def closure_errors(loops: LoopKinematics, q: Coordinates) -> Residual:
    """Return the errors of all closure equations and couplings at one configuration."""
    return np.asarray(loops.residual(loops.state(q))[0])


def largest_error(loops: LoopKinematics, q: Coordinates) -> float:
    """Return the largest closure error at one configuration, lengths scaled."""
    return float(np.max(np.abs(closure_errors(loops, q)), initial=0.0))


def chords_fitted(loops: LoopKinematics, q: Coordinates, free: Mask) -> Coordinates:
    """Move the free coordinates of the chords so that only what they forbid counts as a gap."""
    of_chord = np.zeros(loops.freedoms, dtype=bool)
    for chord in loops.chords:
        of_chord[loops.local(chord)] = True
    return np.asarray(project(loops, q[None], held=~(of_chord & free), damped=True).q[0])


def gaps(loops: LoopKinematics, errors: Residual) -> list[Gap]:
    """Return the gap of every loop from the closure errors at one configuration."""
    errors = errors[: 6 * len(loops.chords)].reshape(-1, 6)
    return [
        Gap(
            loops.graph.edges[chord].joint.name,
            float(np.linalg.norm(error[:3])) * loops.length,
            float(np.linalg.norm(error[3:])),
        )
        for chord, error in zip(loops.chords, errors, strict=True)
    ]


def noise_of(loops: LoopKinematics, q: Coordinates) -> float:
    """Return the noise of the closure equations at the assembled pose, lengths scaled."""
    # Rounding grows with the distance of frames from where they are measured.
    frames = np.concatenate([loops.T_parent, loops.T_child])
    farthest = float(np.abs(frames[:, :3, 3]).max()) / loops.length
    rounding = np.finfo(np.float64).eps * farthest
    # A tenth of half the last digit: the errors of many joints are seldom all alike.
    digits = loops.graph.mechanism.digits
    written = 0.0 if digits is None else 0.05 * 10.0**-digits * max(1.0, farthest)
    # A tenth of what Newton's method leaves open here: elsewhere it leaves something else.
    remaining = largest_error(loops, q)
    opening = 0.1 * remaining if remaining <= 2 * CLOSED else 0.0
    return max(ROUNDING, rounding, written, opening)
