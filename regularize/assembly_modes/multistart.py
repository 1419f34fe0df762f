"""Configurations of any loops by iteration from many random starts at once.

Levenberg and Marquardt's method (Moré 1978, with one damping per start) on the closure errors of
all loops, then Newton's method for the last digits. New starts are made until several rounds in a
row have found nothing new. The list that comes out is never known to be complete.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.grouping import firsts_of
from regularize.assembly_modes.loop_system import CLOSED, SAME, LoopSystem
from regularize.lie.screw import Array


def searched(
    system: LoopSystem,
    q: Array,
    known: tuple[NDArray[np.intp], Array],
    *,
    starts: int,
    rounds: int,
    patience: int = 3,
    seed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
    """Look for configurations of N samples from random starts.

    Args:
        system: The equations.
        q: Coordinates with the known ones entered, shape (N, n).
        known: Samples (K,) and coordinates (K, n) of configurations that are known already.
        starts: Starts of each sample in a round.
        rounds: Largest number of rounds.
        patience: Rounds without anything new after which the search ends.
        seed: Seed of the starts.
        advance: Called after every round.

    Returns:
        Samples and coordinates of all configurations, and the number of starts of each sample.
    """
    rng = np.random.default_rng(seed)
    rows, found = known
    poses = system.poses(found)
    used = np.zeros(len(q), dtype=np.intp)
    quiet = np.zeros(len(q), dtype=np.intp)
    for _ in range(rounds):
        open_ = np.flatnonzero(quiet < patience)
        if not len(open_):
            break
        before = np.bincount(rows, minlength=len(q))
        batch = np.repeat(open_, starts)
        ended = system.polished(system.damped(system.random(q[batch], rng)))
        closed = system.error(ended) <= CLOSED
        rows = np.concatenate([rows, batch[closed]])
        found = np.concatenate([found, ended[closed]])
        poses = np.concatenate([poses, system.poses(ended[closed])])
        kept = firsts_of(rows, poses, SAME)
        rows, found, poses = rows[kept], found[kept], poses[kept]
        advance()
        used[open_] += starts
        fresh = np.bincount(rows, minlength=len(q)) > before
        quiet[open_] = np.where(fresh[open_], 0, quiet[open_] + 1)
    return rows, found, used
