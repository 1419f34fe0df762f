r"""Rows of a closure as forces through a point and couples, for the step alone.

The rows of a closing hinge, ball or weld, and of many reductions, span forces through a point of
the closing joint and couples. As such they take less to compute: the entry of a force is a
component of an axis times an arm, and a couple does without arms. With the covectors C = T N of the
rows as they are given and as the step has them, accelerations are the same, and

.. math:: \mu = T^{-T} \nu, \quad w_N = T^{-1} w

are the multipliers of the given rows, and what is wanted of the step's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from regularize.kernel.machine import Loop, Machine
from regularize.lie.screw import Array, inverse
from regularize.lie.subalgebra import span


def point_sections(
    machine: Machine, kept: Collection[int], *, rounding: float = 1e-13
) -> dict[str, Any]:
    """Sections of the rows of the step.

    Args:
        machine: The machine.
        kept: Loops whose rows stay as they are.
        rounding: Part of a covector that is none.
    """
    forces: list[int] = []
    rows, changes = [np.zeros((0, 3))], [np.zeros((0, 6))]
    for index, loop in enumerate(machine.loops):
        turned = (inverse(machine.turned(loop.first)) @ loop.first_frame)[:3, :3]
        found = None if index in kept else split(loop, turned, rounding)
        count = len(loop.covectors)
        axes, change = np.zeros((count, 3)), np.zeros((count, 6))
        if found is not None:
            axes, change[:, :count] = found[1:]
        forces.append(-1 if found is None else found[0])
        rows.append(axes)
        changes.append(change)
    return {
        "forces": forces,
        "point_row": np.concatenate(rows),
        "change": np.concatenate(changes),
    }


def flat_point_sections(
    covectors: Sequence[Array], arms: Array, kept: Collection[int], rounding: float
) -> dict[str, Any]:
    """The same where everything moves in a plane: of loops that two forces through a point close.

    Args:
        covectors: Of each loop, force and moment about a point, shape (m, 3).
        arms: From there to the closing joint, shape (L, 2).
        kept: Loops whose rows stay as they are.
        rounding: Part of a covector that is none.
    """
    forces, sizes, changes = [], [], [np.zeros((0, 6))]
    for index, (C, (x, y)) in enumerate(zip(covectors, arms, strict=True)):
        size, change = float(np.max(np.abs(C[:, :2]), initial=0.0)), np.zeros((len(C), 6))
        moments = C[:, 2] - x * C[:, 1] + y * C[:, 0]
        through = np.max(np.abs(moments), initial=0.0) <= rounding * np.max(np.abs(C), initial=0.0)
        pair = index not in kept and len(C) == len(_span(C[:, :2])) == 2 and through
        if pair:
            change[:, :2] = size * np.linalg.inv(C[:, :2])
        forces.append(2 if pair else -1)
        sizes += [size] * len(C)
        changes.append(change)
    return {
        "forces": forces,
        "point_row": np.repeat(sizes, 3),
        "change": np.concatenate(changes),
    }


def split(loop: Loop, turned: Array, rounding: float) -> tuple[int, Array, Array] | None:
    r"""Number of forces, the axes of forces and couples, shape (m, 3), and :math:`T^{-1}`.

    Args:
        loop: The loop.
        turned: Axes of the closing joint's frame in the first part as the kernel has it.
        rounding: Part of a covector that is none.

    Returns:
        None where the rows are no forces through the origin of the closing joint's frame and
        couples. The axes are those of the first part; of three forces they are its own, all of one
        size.
    """
    frame = inverse(loop.first_frame) @ loop.row_frame
    C = loop.covectors.reshape(-1, 2, 3) @ frame[:3, :3].T
    force, couple = C[:, 0], C[:, 1] + np.cross(frame[:3, 3], C[:, 0])
    size = max((float(np.linalg.norm(x)) for x in force), default=0.0) or 1.0
    couples, forces = _span(_null(force) @ couple), _span(_null(couple) @ force)
    p = len(forces)
    if p + len(couples) != len(C) or not len(C):
        return None
    axes = np.concatenate([size * (turned if p == 3 else forces), couples])
    N = np.zeros((len(C), 6))
    N[:p, :3], N[p:, 3:] = axes[:p], axes[p:]
    T = np.hstack([force, couple]) @ np.linalg.pinv(N)
    wrong = np.hstack([force, couple]) - T @ N
    if np.max(np.abs(wrong)) > rounding * np.max(np.abs(C)):
        return None
    return p, axes @ turned.T, np.linalg.inv(T)


def _span(rows: Array) -> Array:
    """Orthonormal basis of what rows of order one span, shape (r, 3)."""
    return span(rows.T).T if len(rows) else rows


def _null(rows: Array) -> Array:
    """Orthonormal basis of the combinations of rows that are zero, shape (m - r, m)."""
    u, _, _ = np.linalg.svd(rows)
    return np.asarray(u[:, len(_span(rows)) :].T)
