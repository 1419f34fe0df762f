"""Walks on the rows that a reduction keeps: where they lead, every loop has to be closed."""

from __future__ import annotations

import numpy as np

import regularize as rg
from regularize.loops.continuation import Continuation, random_walks
from regularize.reduction.cuts import ReducedLoops


def kept_rows(reduction: rg.Reduction) -> ReducedLoops:
    """The equations of the rows that are kept."""
    return ReducedLoops(reduction.loops, reduction.cuts)


def walked(reduction: rg.Reduction, walkers: int, steps: int, seed: int) -> np.ndarray:
    """Configurations of random walks on these rows alone, shape (walkers * steps, n)."""
    along, rng = Continuation(kept_rows(reduction)), np.random.default_rng(seed)
    visited = random_walks(along, reduction.q, walkers=walkers, steps=steps, rng=rng)
    return visited.reshape(-1, reduction.loops.freedoms)
