"""Redundant directions at closing joints, one for each state of self-stress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from regularize.lie.directions import Direction
from regularize.lie.screw import Array, cross_matrix
from regularize.reduction.cuts import independent_rows, outside
from regularize.report.loop_report import LoopReport
from regularize.statics.joint_errors import StressedJoints

#: A direction, what the states do on it, and the same with lengths scaled.
_Option: TypeAlias = "tuple[LoopReport, Direction, Array, Array]"


def covector_in_metres(direction: Direction, length: float) -> Array:
    """A direction as the gap in metres, or radians, by displacements in metres and radians."""
    covector = direction.covector / np.append(np.full(3, length), np.ones(3))
    part = slice(3, 6) if direction.kind == "angular" else slice(0, 3)
    return np.asarray(covector / np.linalg.norm(covector[part]))


def closing_directions(
    loops: Sequence[LoopReport], stressed: StressedJoints
) -> tuple[list[tuple[LoopReport, Direction]], StressedJoints]:
    """As many directions as there are states, and states that do work on one of them each.

    Directions that the reduction removed come first; closing the others leaves a gap in these.

    Args:
        loops: All loops of the mechanism.
        stressed: States of self-stress of a cell.
    """
    proved: list[_Option] = []
    others: list[_Option] = []
    for loop in loops:
        wrench = stressed.chords.get(loop.cut.edge.index)
        if wrench is None:
            continue
        length = loop.part.length
        scale = np.append(np.ones(3), np.full(3, 1.0 / length))[:, None]
        own = [equation.direction for equation in (*loop.removed, *loop.kept)]
        basis = np.array([covector_in_metres(each, length) for each in own]).reshape(-1, 6).T
        arm = np.vstack([np.zeros((3, 3)), cross_matrix(loop.point)])
        at_point = wrench - arm @ wrench[:3]
        parts = np.linalg.lstsq(scale * basis, scale * at_point, rcond=None)[0]
        for k, (each, part) in enumerate(zip(own, parts, strict=True)):
            size = 1.0 / length if each.kind == "angular" else 1.0
            (proved if k < len(loop.removed) else others).append((loop, each, part, size * part))
    rows = np.array([option[3] for option in (*proved, *others)])
    count = min(len(proved), stressed.states)
    chosen = [*independent_rows(rows[: len(proved)], count)] if count else []
    if count < stressed.states:
        rest = outside(rows[chosen], rows[len(proved) :])
        more = independent_rows(rest, stressed.states - count)
        chosen += [len(proved) + k for k in more]
    options = [(*proved, *others)[k] for k in chosen]
    inverse = np.linalg.inv(np.array([option[2] for option in options]))
    return [option[:2] for option in options], stressed.mixed(inverse)
