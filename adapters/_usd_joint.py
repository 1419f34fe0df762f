"""Joints of USD Physics, the generic one with its limits among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import UsdPhysics

from regularize import screw
from regularize.mechanism import joint_screws
from regularize.screw import Array

AXES = "XYZ"
GENERIC = tuple(f"trans{a}" for a in AXES) + tuple(f"rot{a}" for a in AXES)


@dataclass(frozen=True, eq=False)
class Motion:
    """What a joint lets move.

    Attributes:
        kind: Kind of the joint.
        screws: Its freedoms in the joint frame, shape (6, f).
        limits: Bounds in radians and metres, or None.
        names: Name of each freedom, as in ``rotX``.
    """

    kind: str
    screws: Array
    limits: Array | None
    names: tuple[str, ...]


def motion(prim: Any, unit: float) -> Motion:
    """Freedoms of a joint prim.

    Args:
        prim: The prim.
        unit: Metres per length unit of the stage.
    """
    kind = str(prim.GetTypeName())
    if kind == "PhysicsFixedJoint":
        return Motion("fixed", joint_screws("fixed"), None, ())
    if kind == "PhysicsSphericalJoint":
        return Motion("spherical", joint_screws("spherical"), None, ("rotX", "rotY", "rotZ"))
    if kind == "PhysicsRevoluteJoint":
        schema = UsdPhysics.RevoluteJoint(prim)
        letter = str(schema.GetAxisAttr().Get())
        bounds = _bounds(schema, math.pi / 180.0)
        return Motion(
            "revolute", joint_screws("revolute", _axis(letter)), bounds, (f"rot{letter}",)
        )
    if kind == "PhysicsPrismaticJoint":
        schema = UsdPhysics.PrismaticJoint(prim)
        letter = str(schema.GetAxisAttr().Get())
        bounds = _bounds(schema, unit)
        screws = joint_screws("prismatic", _axis(letter))
        return Motion("prismatic", screws, bounds, (f"trans{letter}",))
    return _generic(prim, unit)


def _axis(letter: str) -> Array:
    return np.eye(3)[AXES.index(letter)]


def _bounds(schema: Any, unit: float) -> Array | None:
    low = schema.GetLowerLimitAttr().Get()
    high = schema.GetUpperLimitAttr().Get()
    if not math.isfinite(low) and not math.isfinite(high):
        return None
    return np.array([[low * unit, high * unit]])


def _generic(prim: Any, unit: float) -> Motion:
    """Freedoms of a ``PhysicsJoint``: those whose limits do not lock them (low above high)."""
    free, bounds = [], []
    for name in GENERIC:
        low, high = -math.inf, math.inf
        if prim.HasAPI(UsdPhysics.LimitAPI, name):
            limit = UsdPhysics.LimitAPI(prim, name)
            low, high = limit.GetLowAttr().Get(), limit.GetHighAttr().Get()
        if low > high:
            continue
        free.append(name)
        scale = unit if name.startswith("trans") else math.pi / 180.0
        bounds.append([low * scale, high * scale])
    kind = _named(free)
    if kind in ("spherical", "fixed", "free"):
        return Motion(kind, joint_screws(kind), None, tuple(free))
    columns = [
        screw.prismatic(_axis(name[-1]))
        if name.startswith("trans")
        else screw.revolute(_axis(name[-1]))
        for name in free
    ]
    limits = np.array(bounds)
    return Motion(
        kind,
        np.column_stack(columns),
        limits if np.any(np.isfinite(limits)) else None,
        tuple(free),
    )


def _named(free: list[str]) -> str:
    """Kind of the joint with these freedoms, translations first."""
    moves = [name[-1] for name in free if name.startswith("trans")]
    turns = [name[-1] for name in free if name.startswith("rot")]
    if len(turns) == 3 and len(moves) in (0, 3):
        return "free" if moves else "spherical"
    named = {
        (0, 0): "fixed",
        (1, 0): "prismatic",
        (0, 1): "revolute",
        (0, 2): "universal",
    }
    if moves == turns and len(moves) == 1:
        return "cylindrical"
    if len(moves) == 2 and len(turns) == 1 and turns[0] not in moves:
        return "planar"
    return named.get((len(moves), len(turns)), "composite")
