"""Joints that are told by the freedoms they leave, axis by axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.joint import joint_screws

AXES = "XYZ"
#: Sine of an angle below which a direction lies along an axis.
PARALLEL = 1e-9
#: Names of all freedoms, translations first.
GENERIC = tuple(f"trans{a}" for a in AXES) + tuple(f"rot{a}" for a in AXES)


def joint_of_freedoms(free: Sequence[str]) -> tuple[str, Array]:
    """Kind and screws of the joint that leaves some of the freedoms ``GENERIC``, in that order."""
    kind = _kind(free)
    if kind in ("spherical", "fixed", "free"):
        return kind, joint_screws(kind)
    columns = []
    for name in free:
        axis = np.eye(3)[AXES.index(name[-1])]
        columns.append(screw.prismatic(axis) if name.startswith("trans") else screw.revolute(axis))
    return kind, np.column_stack(columns)


def _kind(free: Sequence[str]) -> str:
    moves = [name[-1] for name in free if name.startswith("trans")]
    turns = [name[-1] for name in free if name.startswith("rot")]
    if len(turns) == 3 and len(moves) in (0, 3):
        return "free" if moves else "spherical"
    if moves == turns and len(moves) == 1:
        return "cylindrical"
    if len(moves) == 2 and len(turns) == 1 and turns[0] not in moves:
        return "planar"
    named = {(0, 0): "fixed", (1, 0): "prismatic", (0, 1): "revolute", (0, 2): "universal"}
    return named.get((len(moves), len(turns)), "composite")


def axis_letter(direction: Array) -> str | None:
    """Letter of the axis that a direction is parallel to; None where it is to none."""
    leading = int(np.argmax(np.abs(direction)))
    rest = float(np.linalg.norm(np.delete(direction, leading)))
    return AXES[leading] if rest < PARALLEL else None
