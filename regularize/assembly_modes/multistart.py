"""Configurations of any loops by iteration from many random starts at once.

Levenberg and Marquardt's method (Moré 1978, with one damping per start) on the closure errors of
all loops, then Newton's method for the last digits. New starts are made until several rounds in a
row have found nothing new. The list that comes out is never known to be complete.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.grouping import firsts_of
from regularize.assembly_modes.loop_system import LoopSystem
from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT


@dataclass(frozen=True)
class Multistart:
    """How long is searched.

    Attributes:
        starts: Starts of each sample in a round.
        rounds: Largest number of rounds.
        seed: Seed of the starts.
        advance: Called after every round.
        patience: Rounds without anything new after which the search ends.
    """

    starts: int = 64
    rounds: int = 30
    seed: int = 0
    advance: Callable[[], None] = lambda: None
    patience: int = 3


def searched(
    system: LoopSystem, q: Array, known: tuple[NDArray[np.intp], Array], search: Multistart
) -> tuple[NDArray[np.intp], Array, NDArray[np.intp]]:
    """Look for configurations of N samples from random starts.

    Args:
        system: The equations.
        q: Coordinates with the known ones entered, shape (N, n).
        known: Samples (K,) and coordinates (K, n) of configurations that are known already.
        search: How long.

    Returns:
        Samples and coordinates of all configurations, and the number of starts of each sample.
    """
    rng = np.random.default_rng(search.seed)
    rows, found = known
    poses = system.poses(found)
    used = np.zeros(len(q), dtype=np.intp)
    quiet = np.zeros(len(q), dtype=np.intp)
    for _ in range(search.rounds):
        open_ = np.flatnonzero(quiet < search.patience)
        if not len(open_):
            break
        before = np.bincount(rows, minlength=len(q))
        batch = np.repeat(open_, search.starts)
        ended, closed = system.projected(system.random(q[batch], rng), damped=True)
        rows = np.concatenate([rows, batch[closed]])
        found = np.concatenate([found, ended[closed]])
        poses = np.concatenate([poses, system.poses(ended[closed])])
        kept = firsts_of(rows, poses, EXACT.same)
        rows, found, poses = rows[kept], found[kept], poses[kept]
        search.advance()
        used[open_] += search.starts
        fresh = np.bincount(rows, minlength=len(q)) > before
        quiet[open_] = np.where(fresh[open_], 0, quiet[open_] + 1)
    return rows, found, used
