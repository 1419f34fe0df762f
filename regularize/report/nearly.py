"""Loops that would be special if an axis were moved by very little.

A four-bar whose axes are parallel to half a milliradian locks up although it looks planar. For
every short loop the closest smaller motion algebra is looked for: first the one that all joints but
one generate, then the one that all joints generate with a coarse tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import GeneratedAlgebra, MotionType
from regularize.mechanism.cycles import MANY_LOOPS, Cycle
from regularize.mechanism.graph import Graph
from regularize.reduction.block import Block
from regularize.tolerances import EXACT, RTOL
from regularize.words import SLIGHT


@dataclass(frozen=True, eq=False)
class NearlySpecial:
    """A loop near a smaller motion algebra, and the joint that is off, in radians and metres."""

    cycle: Cycle
    family: MotionType
    joint: str
    angle: float
    distance: float


def nearly_special(
    graph: Graph, part: Block, *, near: float = SLIGHT, rtol: float = RTOL
) -> list[NearlySpecial]:
    """Return loops of a part whose motion algebra is smaller within the tolerance ``near``."""
    found = []
    regular: set[tuple[bytes, tuple[int, ...]]] = set()
    for cycle in part.cycles:
        columns = np.hstack([part.screws[e] for e in cycle.edges])
        counts = tuple(part.screws[e].shape[1] for e in cycle.edges)
        center, length = np.zeros(3), 1.0
        if len(part.cycles) > MANY_LOOPS:
            # Beside many others a loop is small: what is near is told by its own size.
            center, length = _center_and_size(columns)
            columns = _rescaled(columns, center, length)
        key = ((np.round(columns, 9) + 0.0).tobytes(), counts)
        if key in regular:
            continue
        screws = np.split(columns, np.cumsum(counts[:-1]), axis=1)
        own = GeneratedAlgebra(columns, rtol).dimension
        candidates = _families(screws, own, near, rtol)
        if not candidates:
            regular.add(key)
            continue
        family = min(candidates, key=lambda f: f.dimension)
        named = family.named(near)
        # Axes that meet are off by how far they pass the point, wherever the loop is seen from.
        point = np.zeros(3) if named.point is None else named.point
        basis = np.linalg.qr(_rescaled(family.basis, point, 1.0))[0]
        offsets = [_distance_outside(_rescaled(s, point, 1.0), basis) for s in screws]
        k = int(np.argmax([angle + distance for angle, distance in offsets]))
        found.append(
            NearlySpecial(
                cycle,
                in_world(named, center, length),
                graph.edges[cycle.edges[k]].joint.name,
                offsets[k][0],
                offsets[k][1] * length * part.length,
            )
        )
    return found


def _center_and_size(screws: Array) -> tuple[Array, float]:
    """Return centre and size of a loop from points on its screw axes (6, k)."""
    v, w = screws[:3].T, screws[3:].T
    square = np.sum(w * w, axis=1)
    turns = square > EXACT.closed**2 * np.sum(v * v, axis=1)
    if not turns.any():
        return np.zeros(3), 1.0
    points = screw.cross(w, v)[turns] / square[turns, None]
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return center, float(np.max(np.linalg.norm(points - center, axis=1))) or 1.0


def _rescaled(screws: Array, center: Array, length: float) -> Array:
    """Move screws (6, k) to another centre and divide lengths by another size."""
    linear = screws[:3] + screw.cross(screws[3:].T, center).T
    turns = screws[3:].any(axis=0)
    return np.vstack([np.where(turns, linear / length, linear), screws[3:]])


def _families(
    screws: Sequence[Array], own: int, near: float, rtol: float
) -> list[GeneratedAlgebra]:
    """Return smaller algebras that hold every screw of the loop within the tolerance ``near``."""
    every, joints = np.hstack(screws), np.arange(len(screws))
    owner = np.repeat(joints, [each.shape[1] for each in screws])
    stays = np.vstack([joints[:, None] != owner, np.full(len(owner), True)])
    rtols = np.append(np.full(len(screws), rtol), near)
    # What screws generate is no smaller than what they span.
    values = np.linalg.svd(every * stays[:, None], compute_uv=False)
    spanned = np.sum(values > rtols[:, None] * np.maximum(values[:, :1], 1.0), axis=1)
    algebras = [
        GeneratedAlgebra(every[:, stays[k]], rtols[k]) for k in np.flatnonzero(spanned < own)
    ]
    smaller = [a for a in algebras if 0 < a.dimension < own]
    return [a for a in smaller if max(sum(_distance_outside(s, a.basis)) for s in screws) <= near]


def _distance_outside(screws: Array, family: Array) -> tuple[float, float]:
    """Return the angle and relative distance by which a joint lies outside an algebra."""
    outside = subalgebra.residual(family, screws)
    turn = np.linalg.norm(outside[3:], axis=0)
    shift = np.linalg.norm(outside[:3], axis=0)
    rotates = np.linalg.norm(screws[3:], axis=0) > 0.0
    # For a translation the linear part is a direction, so what is outside is an angle.
    angle = float(np.max(np.where(rotates, turn, shift), initial=0.0))
    distance = float(np.max(np.where(rotates, shift, 0.0), initial=0.0))
    return angle, distance


def in_world(family: MotionType, center: Array, length: float) -> MotionType:
    """Convert a motion type from scaled coordinates of a part to metres in the world frame."""
    return MotionType(
        family.name,
        family.dimension,
        family.direction,
        None if family.point is None else center + length * family.point,
        None if family.pitch is None else length * family.pitch,
    )
