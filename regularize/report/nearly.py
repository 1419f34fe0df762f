"""Loops that would be special if an axis were moved by very little.

A four-bar whose axes are parallel to half a milliradian locks up although it looks planar. For
every short loop the closest smaller motion algebra is looked for: first the one that all joints but
one generate, then the one that all joints generate with a coarse tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.directions import SLIGHT
from regularize.lie.motion_type import MotionType, motion_type
from regularize.lie.screw import Array
from regularize.model.cycles import Cycle
from regularize.model.graph import Graph
from regularize.reduction.reduce import Part


@dataclass(frozen=True, eq=False)
class NearlySpecial:
    """A loop that is nearly special.

    Attributes:
        cycle: The loop.
        family: The motion algebra that it nearly has, in scaled coordinates of its part.
        joint: Name of the joint that is furthest off.
        angle: Radians by which its axis would have to be turned.
        distance: Metres by which it would have to be moved.
    """

    cycle: Cycle
    family: MotionType
    joint: str
    angle: float
    distance: float


def nearly_special(
    graph: Graph, part: Part, *, near: float = SLIGHT, rtol: float = subalgebra.RTOL
) -> list[NearlySpecial]:
    """Loops of a part whose motion algebra would be smaller within the coarse tolerance.

    Args:
        graph: The mechanism's graph.
        part: The part.
        near: Coarse tolerance; radians, and distances relative to the part's size.
        rtol: Tolerance at which geometry counts as special already.
    """
    found = []
    for cycle in part.cycles:
        screws = [part.screws[e] for e in cycle.edges]
        own = subalgebra.lie_closure(np.hstack(screws), rtol).shape[1]
        candidates = _families(screws, own, near, rtol)
        if not candidates:
            continue
        family = min(candidates, key=lambda f: f.shape[1])
        offsets = [_offset(s, family) for s in screws]
        k = int(np.argmax([angle + distance for angle, distance in offsets]))
        found.append(
            NearlySpecial(
                cycle,
                motion_type(family, near),
                graph.edges[cycle.edges[k]].joint.name,
                offsets[k][0],
                offsets[k][1] * part.length,
            )
        )
    return found


def _families(screws: Sequence[Array], own: int, near: float, rtol: float) -> list[Array]:
    """Smaller algebras that hold every screw of the loop up to the coarse tolerance.

    Those that all joints but one generate exactly come first: they name the one that is off.
    """
    sets = [np.hstack([s for j, s in enumerate(screws) if j != k]) for k in range(len(screws))]
    algebras = [subalgebra.lie_closure(columns, rtol) for columns in sets]
    algebras.append(subalgebra.lie_closure(np.hstack(list(screws)), near))
    return [a for a in algebras if 0 < a.shape[1] < own and _worst(screws, a) <= near]


def _worst(screws: Sequence[Array], family: Array) -> float:
    return max(sum(_offset(s, family)) for s in screws)


def _offset(screws: Array, family: Array) -> tuple[float, float]:
    """Angle and relative distance by which a joint lies outside an algebra."""
    outside = subalgebra.residual(family, screws)
    turn = np.linalg.norm(outside[3:], axis=0)
    shift = np.linalg.norm(outside[:3], axis=0)
    rotates = np.linalg.norm(screws[3:], axis=0) > 0.0
    # For a translation the linear part is a direction, so what is outside is an angle.
    angle = float(np.max(np.where(rotates, turn, shift), initial=0.0))
    distance = float(np.max(np.where(rotates, shift, 0.0), initial=0.0))
    return angle, distance


def in_world(family: MotionType, center: Array, length: float) -> MotionType:
    """A motion type from the scaled coordinates of a part to metres in the world frame."""
    return MotionType(
        family.name,
        family.dimension,
        family.direction,
        None if family.point is None else center + length * family.point,
        None if family.pitch is None else length * family.pitch,
    )
