"""Whether the solutions of a plan close the loops, tried at random inputs.

A plan is made of what holds at a few random inputs and choices of branches. In special dimensions
something may hold there and not on every branch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.assembly_modes.closed_form.branches import Branch
from regularize.assembly_modes.closed_form.evaluation import Evaluation
from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT


def unclosed_branch(
    evaluation: Evaluation,
    branches: Sequence[Branch],
    stored: Array,
    units: Array,
    *,
    reaches: Sequence[float] = (0.3, 1.5),
    samples: int = 8,
    most: int = 64,
) -> Branch | None:
    """A branch on which some solution does not close the loops, or None.

    Args:
        evaluation: The solution.
        branches: All branches.
        stored: Stored coordinates of the inputs, shape (s,).
        units: One radian, or the size of the loops, of each input, shape (s,).
        reaches: Distances of the inputs from the stored ones, in these units.
        samples: Inputs at each distance.
        most: Branches up to which all of them are tried at once, beyond as many at random.
    """
    rng = np.random.default_rng(0)
    reach = np.repeat(reaches, samples)[:, None]
    x = stored + reach * rng.uniform(-1.0, 1.0, size=(len(reach), len(stored))) * units
    every = len(branches) <= most
    tried = [None] if every else [branches[k] for k in rng.choice(len(branches), most, False)]
    for branch in tried:
        found = evaluation.many(x, branch)
        at, wrong = np.nonzero(found.assembled)
        open_ = evaluation.closure.gap(found.q[at, wrong]) > EXACT.singular
        if open_.any():
            return branch or branches[int(wrong[open_][0])]
    return None
