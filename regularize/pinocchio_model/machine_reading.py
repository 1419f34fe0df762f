"""Trees with their rows as the kernel computes with them, and trees read from Pinocchio models."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.kernel.machine import Loop, Machine, MovingPart
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.body import Inertia
from regularize.pinocchio_model.closure_rows import ClosureRows
from regularize.pinocchio_model.joint_reading import AXIAL, axis_of, mimic_of, series_of
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.rows import ConstraintRows
from regularize.pinocchio_model.spanning_tree import SpanningTree

#: Kinds of parts by Pinocchio's names.
GROUPS = {"Spherical": "ball", "FreeFlyer": "free", "Planar": "plane"}


def machine_of(
    tree: SpanningTree, rows: ConstraintRows, rank: int, massive: bool
) -> tuple[Machine, list[int]] | None:
    """The machine, and the part that carries the body of each joint of the model.

    Args:
        tree: The tree.
        rows: Its rows.
        rank: Number of independent rows.
        massive: Whether the mass matrix of the tree is regular.

    Returns:
        None where a joint or a row has a form that the kernel does not know.
    """
    loops = [_loop(closure, tree.part_of) for closure in rows.closures]
    if not tree.known or any(loop is None for loop in loops):
        return None
    machine = Machine(
        nq=tree.nq,
        nv=tree.nv,
        parts=tree.weighed(),
        loops=[loop for loop in loops if loop is not None],
        couplings=rows.coupling,
        targets=rows.targets,
        armature=tree.armature,
        gravity=tree.gravity,
        rank=rank,
        massive=massive,
    )
    return machine, tree.part_of


def tree_of(model: Any) -> SpanningTree:
    """The tree of a Pinocchio model as it stands; its frames stay with the model."""
    armature = {"armature": np.array(model.armature)}
    tree = SpanningTree(model.name, np.array(model.gravity.linear), values=armature)
    tree.model = model
    for j in range(1, model.njoints):
        parent = int(model.parents[j])
        parts = _parts(model, j, tree.part_of[parent], len(tree.parts))
        if parts is None:
            tree.known, parts = False, []
        places = (
            (int(model.idx_qs[j]), int(model.nqs[j])),
            (int(model.idx_vs[j]), int(model.nvs[j])),
        )
        tree.append(parent, parts, model.names[j], *places)
        mass = model.inertias[j]
        inertia = Inertia(mass.mass, np.array(mass.lever), np.array(mass.inertia))
        tree.bodies.append((j, inertia, np.eye(4)))
    return tree


def _parts(model: Any, j: int, parent: int, count: int) -> list[MovingPart] | None:
    """The parts of a joint of the model, without what they carry."""
    placement = np.asarray(model.jointPlacements[j].homogeneous)
    if j in set(model.mimicking_joints):
        follower = _following(model, j, parent, placement)
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
        massless = np.zeros((6, 6))
        result.append(MovingPart(before, kind, place, axis, pitch, coordinate, rate, massless))
    return result


def _following(model: Any, j: int, parent: int, placement: Array) -> MovingPart | None:
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
        np.zeros((6, 6)),
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
