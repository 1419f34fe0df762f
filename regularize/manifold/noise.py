"""How exact a model is: the errors of its closure equations that cannot be told from zero."""

from __future__ import annotations

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.gaps import CLOSED, largest_error
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.tolerances import EXACT, ROUNDING


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
    edges = [loops.graph.edges[e] for e in loops.edges]
    frames = np.array([T for edge in edges for T in (edge.T_parent, edge.T_child)])
    farthest = float(np.abs(frames[:, :3, 3]).max()) / loops.length
    rounding = np.finfo(np.float64).eps * farthest
    digits = loops.graph.mechanism.digits
    written = 0.0 if digits is None else 0.05 * 10.0**-digits * max(1.0, farthest)
    left = largest_error(loops, q)
    opening = 0.1 * left if EXACT.closed < left <= 2 * CLOSED else 0.0
    return max(ROUNDING, rounding, written, opening)
