"""Where a simulated motion comes near the end of what is proved of its kept rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT
from regularize.model.diagnostic import Diagnostic
from regularize.reduction.reduce import Reduction


def near_limits(
    reduction: Reduction, time: Array, coordinates: Array, most: int = 500
) -> Iterator[Diagnostic]:
    """Findings where rows that rest on groups or parallelograms come near their limits (REG228).

    The smallest singular values of the kept rows and of all equations are compared with those at
    the assembled pose.

    Args:
        reduction: Of the mechanism.
        time: In seconds, shape (N,).
        coordinates: Of all joints, shape (N, n).
        most: Number of samples that are looked at.
    """
    chosen = slice(None, None, -(-len(time) // most))
    for cell in reduction.cells:
        parts = [part for part in reduction.parts if part.edges[0] in cell.edges]
        if not any(part.held or part.parallelograms for part in parts):
            continue
        from regularize.reduction.descent import Descent  # few proofs have limits

        watched = Descent.of(reduction.graph, reduction.coupled, reduction.q, cell, reduction.cuts)
        joints = (reduction.graph.edges[e].joint.name for e in cell.edges)
        columns = reduction.graph.columns(cell.edges)
        begin = watched.smallest(reduction.q[None, columns])
        along = watched.smallest(coordinates[chosen][:, columns])
        left = np.min([now / then for now, then in zip(along, begin, strict=True)], axis=0)
        worst = int(np.argmin(left))
        if left[worst] < math.sqrt(EXACT.apart):
            yield Diagnostic(
                "REG228",
                "warning",
                f"at {time[chosen][worst]:.4g} s the motion is near a pose where the proof of the "
                f"kept equations ends: their smallest singular value, or that of all equations, is "
                f"{left[worst]:.2g} of what it is at the assembled pose",
                joints=tuple(dict.fromkeys(joints)),
                help=("see REG227 of the report: regularize check",),
            )
