"""Loops that cannot be closed, and whether they contradict themselves or do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.lie import subalgebra
from regularize.model.diagnostic import Diagnostic
from regularize.reduction.reduce import Reduction
from regularize.report.loop_report import LoopReport, closure_error
from regularize.report.words import gap_words, listed, names


def open_loops(reduction: Reduction, loops: Sequence[LoopReport]) -> Iterator[Diagnostic]:
    """One error for every loop that keeps the mechanism open."""
    assembly, worst = reduction.assembly, reduction.assembly.worst_after
    culprits = [(obstacle.loop, obstacle.joints, obstacle.gap) for obstacle in assembly.obstacles]
    if not culprits:
        culprits = [
            (gap.joint, (gap.joint,), gap)
            for gap in assembly.after
            if gap.translation > 0.1 * worst[0] or gap.rotation > 0.1 * worst[1]
        ]
    for closing, joints, gap in culprits:
        same = [loop for loop in loops if set(joints) == set(loop.joints)]
        loop = same[0] if same else None
        conflicting = loop is not None and _contradicts(reduction, loop)
        left = gap_words(gap.translation, gap.rotation)
        if loop is not None and conflicting:
            message = (
                f"loop `{loop.name}` cannot be closed: its redundant equations contradict each "
                f"other at joint `{loop.closing}`; {left} stay open"
            )
            ways = [
                f"correct the frames of joint `{loop.closing}`, or relax it: {_errors(loop)}",
                "or let joint frames move as little as closes it: --absorb-gaps",
            ]
        else:
            message = (
                f"the loop through joint `{closing}` cannot be closed: no configuration was found "
                f"in which less than {left} stay open"
            )
            ways = [f"check the frames of joint `{closing}` and the lengths of {names(joints)}"]
        yield Diagnostic(
            "REG205" if conflicting else "REG101",
            "error",
            message,
            loop=None if loop is None else loop.name,
            joints=joints,
            source=reduction.mechanism.joint(closing).source,
            help=tuple(ways),
        )


def _errors(loop: LoopReport) -> str:
    """The directions in which a loop stays open, worst first."""
    worst = sorted(loop.kept, key=lambda equation: -equation.residual)
    largest = worst[0].residual if worst else 0.0
    return listed([e.label for e in worst if e.residual > 0.05 * largest])


def _contradicts(reduction: Reduction, loop: LoopReport) -> bool:
    """Whether what stays open lies where the other joints of the loop can never move."""
    part, cut = loop.part, loop.cut
    others = [part.screws[e] for e in cut.cycle.edges if e != cut.edge.index]
    algebra = subalgebra.lie_closure(np.hstack(others), reduction.rtol)
    if algebra.shape[1] == 6:
        return reduction.redundant > 0
    error = closure_error(reduction, cut, part.center)
    error[:3] /= part.length
    outside = subalgebra.residual(algebra, error[:, None])
    return bool(np.linalg.norm(outside) > 0.5 * np.linalg.norm(error))
