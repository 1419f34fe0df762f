"""Machines that move in one plane: tables of vectors with three numbers, see ``plane.c``.

A twist is a velocity in the plane and a rate about its normal. All frames have the plane's axes
while every motion is zero, so that only the parts' own motions turn them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from regularize.kernel.machine import Loop, Machine, closing_of, frame_about
from regularize.kernel.point_rows import flat_point_sections
from regularize.kernel.posing import freedoms
from regularize.lie.screw import Array


def plane_sections(
    machine: Machine, kept: Collection[int] = (), *, rounding: float = 1e-13
) -> dict[str, Any] | None:
    """Sections of a machine whose parts turn about parallel axes or slide across them.

    What its rows say of other motions does not matter: there are none.

    Args:
        machine: The machine.
        kept: Loops whose rows stay as they are.
        rounding: Largest component of a unit twist out of the plane that is none.

    Returns:
        None where it moves otherwise, or does not turn.
    """
    poses, turns = [np.eye(4)], []
    for part in machine.parts:
        poses.append(poses[part.parent] @ part.placement)
        turns += [poses[-1][:3, :3] @ x for x in freedoms(part)[3:].T if x.any()]
    if not turns:
        return None
    axes = frame_about(turns[0])[:3, :3]
    columns, inertias, points = [np.zeros((0, 3))], [np.zeros(4)], np.array(poses)[:, :3, 3]
    for part, T in zip(machine.parts, poses[1:], strict=True):
        R = axes.T @ T[:3, :3]
        twists = np.concatenate([R @ freedoms(part)[:3], R @ freedoms(part)[3:]])
        if np.max(np.abs(twists[2:5])) > rounding:
            return None
        columns.append(twists[[0, 1, 5]].T)
        moment = part.inertia[3:, :3]  # the mass times the cross matrix of the centre
        first = R @ (moment[2, 1], moment[0, 2], moment[1, 0])
        second = R[2] @ part.inertia[3:, 3:] @ R[2]
        inertias.append(np.array([part.inertia[0, 0], *first[:2], second]))
    arms = [points[b] - points[part.parent] for b, part in enumerate(machine.parts, start=1)]
    turned = [axes.T @ (poses[x.first] @ x.row_frame)[:3, :3] for x in machine.loops]
    arms_of_rows = [(poses[x.first][:3, :3] @ x.row_frame[:3, 3]) for x in machine.loops]
    covectors = [
        np.concatenate([x.covectors[:, :3] @ R[:2].T, x.covectors[:, 3:] @ R[2:].T], axis=1)
        for x, R in zip(machine.loops, turned, strict=True)
    ]
    hinged = all(_is_flat_hinge(x, poses, axes[:, 2], rounding) for x in machine.loops)
    ends = [
        [poses[part][:3, :3] @ T[:3, 3] for part, T in both]
        for both in (
            [(x.first, x.first_frame) for x in machine.loops],
            [(x.second, x.second_frame) for x in machine.loops],
        )
    ]
    hinges = np.array(ends[0]).reshape(-1, 3) @ axes[:, :2]
    points_of_rows = np.array(arms_of_rows).reshape(-1, 3) @ axes[:, :2]
    return {
        **flat_point_sections(covectors, hinges - points_of_rows, kept, rounding),
        "flat": [True, hinged],
        "flat_first": hinges,
        "flat_second": np.array(ends[1]).reshape(-1, 3) @ axes[:, :2],
        "flat_placement": np.array([np.zeros(3), *arms]) @ axes[:, :2],
        "flat_axis": np.concatenate(columns),
        "flat_inertia": np.array(inertias),
        "flat_gravity": machine.gravity @ axes[:, :2],
        "flat_point": points_of_rows,
        "flat_covector": np.concatenate([np.zeros((0, 3)), *covectors]),
    }


def _is_flat_hinge(loop: Loop, poses: Sequence[Array], normal: Array, rounding: float) -> bool:
    """Whether a loop closes by a hinge across the plane, and its rows say nothing of leaving it."""
    if closing_of(loop) != "hinge":
        return False
    axis = loop.screws[3:, 0] / np.linalg.norm(loop.screws[3:, 0])
    ends = (loop.first, loop.first_frame), (loop.second, loop.second_frame)
    turned = [np.cross(poses[part][:3, :3] @ T[:3, :3] @ axis, normal) for part, T in ends]
    R = (poses[loop.first] @ loop.row_frame)[:3, :3]
    along = loop.covectors[:, :3] @ R.T @ normal
    across = np.cross(loop.covectors[:, 3:] @ R.T, normal)
    return bool(max(np.max(np.abs(x), initial=0.0) for x in (*turned, along, across)) <= rounding)
