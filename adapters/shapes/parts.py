"""Parts that were drawn in Python, with build123d or CadQuery: their masses, and their joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.adapters.shapes.solids import CadShape, scaled
from regularize.errors import ModelError
from regularize.lie.arrays import Transform
from regularize.lie.screw import inverse
from regularize.mechanism.body import Inertia

MILLIMETRE = 1e-3  # what both libraries draw in
#: How far apart the two ends of a mate may be, metres: beyond it one part stands elsewhere.
APART = 1e-6
#: Kinds by build123d's classes; of a pair the one that is not rigid says what it is.
KINDS = {
    "RigidJoint": "fixed",
    "RevoluteJoint": "revolute",
    "LinearJoint": "prismatic",
    "CylindricalJoint": "cylindrical",
    "BallJoint": "spherical",
}


def inertia_of(name: str, part: Any, density: float, unit: float = MILLIMETRE) -> Inertia:
    """Mass properties of a part where it stands, in SI units along the world's axes.

    A part is a shape of build123d or CadQuery, a CadQuery ``Workplane`` or ``Assembly``, or
    OpenCASCADE's own ``TopoDS_Shape``; ``unit`` is metres for each unit of length in it.
    """
    if hasattr(part, "toCompound"):
        part = part.toCompound()
    shapes = [*part.vals()] if hasattr(part, "vals") else [part]
    raw = [getattr(shape, "wrapped", shape) for shape in shapes]
    if not raw or not all(hasattr(shape, "ShapeType") for shape in raw):
        raise ModelError(
            f"part {name!r}: a {type(part).__name__} is no shape of build123d or CadQuery"
        )
    if not (np.isfinite(density) and density > 0.0):
        raise ModelError(f"part {name!r}: {density!r} is no density in kg/m³")
    inertia = CadShape(tuple(raw), (float(density),) * len(raw)).inertia(None)
    if inertia is None:
        raise ModelError(f"part {name!r} has no solid, and so no mass")
    return scaled(inertia, np.full(3, unit / MILLIMETRE))


def mate_of(name: str, first: Any, second: Any, unit: float = MILLIMETRE) -> tuple[str, Transform]:
    """Kind of the joint between two joints of build123d parts, and its frame in the world.

    Its axis is Z. They have to go together, and to stand in one place.
    """
    kinds = [KINDS.get(type(each).__name__) for each in (first, second)]
    if None in kinds:
        raise ModelError(f"mate {name!r} takes two joints of build123d parts, one of each part")
    free = [kind for kind in kinds if kind not in (None, "fixed")]
    if len({*free}) > 1:
        raise ModelError(f"mate {name!r}: {free[0]} and {free[1]} do not go together")
    kind = free[0] if free else "fixed"
    place, other = _pose(first, unit), _pose(second, unit)
    if kind != kinds[0]:
        place, other = other, place
    gap = (inverse(place) @ other)[:3, 3]
    if kind in ("prismatic", "cylindrical"):
        gap = gap[:2]
    if np.linalg.norm(gap) > APART:
        raise ModelError(
            f"mate {name!r}: its two ends are {1e3 * np.linalg.norm(gap):.3g} mm apart; move one "
            "of the parts (connect_to), or correct the place of a joint"
        )
    return str(kind), place


def _pose(joint: Any, unit: float) -> Transform:
    """Where a joint stands in the world, its axis along Z."""
    move, T = joint.location.wrapped.Transformation(), np.eye(4)
    T[:3] = [[move.Value(i, j) for j in (1, 2, 3, 4)] for i in (1, 2, 3)]
    T[:3, 3] *= unit
    return T
