"""A tree with its rows, read from its Pinocchio model as the kernel computes with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.kernel.machine import Loop, Machine, MovingPart
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.pinocchio_model.closure_rows import ClosureRows
from regularize.pinocchio_model.joint_reading import AXIAL, axis_of, mimic_of, series_of
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.rows import ConstraintRows

#: Kinds of parts by Pinocchio's names.
GROUPS = {"Spherical": "ball", "FreeFlyer": "free", "Planar": "plane"}


def machine_of(
    model: Any, rows: ConstraintRows, rank: int, massive: bool
) -> tuple[Machine, list[int]] | None:
    """The machine, and the part that carries the body of each joint of the model.

    Args:
        model: The Pinocchio model.
        rows: Its rows.
        rank: Number of independent rows.
        massive: Whether the mass matrix of the tree is regular.

    Returns:
        None where a joint or a row has a form that the kernel does not know.
    """
    found = tree_of(model)
    if found is None:
        return None
    parts, part_of = found
    loops = [_loop(closure, part_of) for closure in rows.closures]
    if any(loop is None for loop in loops):
        return None
    machine = Machine(
        nq=model.nq,
        nv=model.nv,
        parts=parts,
        loops=[loop for loop in loops if loop is not None],
        couplings=rows.coupling,
        targets=rows.targets,
        armature=np.array(model.armature),
        gravity=np.array(model.gravity.linear),
        rank=rank,
        massive=massive,
    )
    return machine, part_of


def tree_of(model: Any) -> tuple[list[MovingPart], list[int]] | None:
    """The parts of a Pinocchio model, and the one that carries the body of each joint.

    Returns:
        None where a joint has a form that the kernel does not know.
    """
    parts: list[MovingPart] = []
    part_of = [0]
    for j in range(1, model.njoints):
        added = _parts(model, j, part_of[model.parents[j]], len(parts))
        if added is None:
            return None
        parts += added
        part_of.append(len(parts))
    return parts, part_of


def _parts(model: Any, j: int, parent: int, count: int) -> list[MovingPart] | None:
    """The parts of a joint of the model; the last one carries its body."""
    placement = np.asarray(model.jointPlacements[j].homogeneous)
    inertia = np.asarray(model.inertias[j].matrix())
    if j in set(model.mimicking_joints):
        follower = _following(model, j, parent, placement, inertia)
        return None if follower is None else [follower]
    moves: list[tuple[str, Array, Array, float, int, int]] = []
    for part in series_of(model.joints[j]):
        short, inner = part.short, part.model
        axial = AXIAL.fullmatch(short)
        if axial is not None:
            own = inner.extract() if hasattr(inner, "extract") else inner
            axis = axis_of(part, axial[1], pin.neutral(model))
            kind = "slide" if short[0] == "P" else "circle" if inner.nq == 2 else "turn"
            pitch = float(own.pitch) if short[0] == "H" else 0.0
            moves.append((kind, part.placement, axis, pitch, part.idx_q, part.idx_v))
        elif short == "Translation":
            for k, axis in enumerate(np.eye(3)):
                T = part.placement if k == 0 else np.eye(4)
                moves.append(("slide", T, axis, 0.0, part.idx_q + k, part.idx_v + k))
        elif short in GROUPS:
            none = np.zeros(3)
            moves.append((GROUPS[short], part.placement, none, 0.0, part.idx_q, part.idx_v))
        else:
            return None
    result: list[MovingPart] = []
    for k, (kind, T, axis, pitch, coordinate, rate) in enumerate(moves):
        before = parent if k == 0 else count + k
        place = placement @ T if k == 0 else T
        mass = inertia if k + 1 == len(moves) else np.zeros((6, 6))
        result.append(MovingPart(before, kind, place, axis, pitch, coordinate, rate, mass))
    return result


def _following(
    model: Any, j: int, parent: int, placement: Array, inertia: Array
) -> MovingPart | None:
    """The part of a mimic joint."""
    mimic = mimic_of(model, j)
    primary = mimic.primary
    if mimic.screw is None:
        return None
    axis, _, pitch = screw.axis_of(mimic.screw)
    circle = model.nqs[primary] == 2
    if circle and pitch != 0.0:
        return None
    kind = "slide" if pitch is None else "circle" if circle else "turn"
    return MovingPart(
        parent,
        kind,
        placement,
        axis,
        pitch or 0.0,
        int(model.idx_qs[primary]),
        int(model.idx_vs[primary]),
        inertia,
        mimic.scaling,
        mimic.offset,
        True,
    )


def _loop(closure: ClosureRows, part_of: list[int]) -> Loop | None:
    """A closure of the model; None where its rows turn with the closing joint."""
    if type(closure) is not ClosureRows:
        return None
    edge, closing = closure.edge, "nothing"
    if edge is not None and edge.group:
        closing = "free" if edge.freedoms == 6 else "ball"
    elif edge is not None and edge.freedoms == 1:
        closing = "screw"
    elif edge is not None and edge.freedoms:
        closing = "several"
    return Loop(
        first=part_of[closure.first],
        second=part_of[closure.second],
        row_frame=closure.row_frame,
        first_frame=closure.first_frame,
        second_frame=closure.second_frame,
        closing=closing,
        screws=np.zeros((6, 0)) if edge is None else edge.screws,
        sign=closure.sign,
        covectors=closure.covectors,
    )
