"""Joints of USD Physics, the generic one with its limits among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import UsdPhysics

from regularize.adapters.common.freedoms import GENERIC, axis_of_letter, joint_of_freedoms
from regularize.lie.screw import Array
from regularize.model.joint import joint_screws


@dataclass(frozen=True, eq=False)
class PrimMotion:
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


def motion(prim: Any, unit: float) -> PrimMotion:
    """Freedoms of a joint prim.

    Args:
        prim: The prim.
        unit: Metres per length unit of the stage.
    """
    kind = str(prim.GetTypeName())
    if kind == "PhysicsFixedJoint":
        return PrimMotion("fixed", joint_screws("fixed"), None, ())
    if kind == "PhysicsSphericalJoint":
        return PrimMotion("spherical", joint_screws("spherical"), None, ("rotX", "rotY", "rotZ"))
    if kind == "PhysicsRevoluteJoint":
        schema = UsdPhysics.RevoluteJoint(prim)
        letter = str(schema.GetAxisAttr().Get())
        bounds = _bounds(schema, math.pi / 180.0)
        return PrimMotion(
            "revolute", joint_screws("revolute", axis_of_letter(letter)), bounds, (f"rot{letter}",)
        )
    if kind == "PhysicsPrismaticJoint":
        schema = UsdPhysics.PrismaticJoint(prim)
        letter = str(schema.GetAxisAttr().Get())
        bounds = _bounds(schema, unit)
        screws = joint_screws("prismatic", axis_of_letter(letter))
        return PrimMotion("prismatic", screws, bounds, (f"trans{letter}",))
    return _generic(prim, unit)


def _bounds(schema: Any, unit: float) -> Array | None:
    low = schema.GetLowerLimitAttr().Get()
    high = schema.GetUpperLimitAttr().Get()
    if not math.isfinite(low) and not math.isfinite(high):
        return None
    return np.array([[low * unit, high * unit]])


def _generic(prim: Any, unit: float) -> PrimMotion:
    """Freedoms of a ``PhysicsJoint``: those whose limits do not lock them.

    Low above high is how the schema locks a freedom; both at zero leaves it nothing either.
    """
    free, bounds = [], []
    for name in GENERIC:
        low, high = -math.inf, math.inf
        if prim.HasAPI(UsdPhysics.LimitAPI, name):
            limit = UsdPhysics.LimitAPI(prim, name)
            low, high = limit.GetLowAttr().Get(), limit.GetHighAttr().Get()
        if low > high or low == high == 0.0:
            continue
        free.append(name)
        scale = unit if name.startswith("trans") else math.pi / 180.0
        bounds.append([low * scale, high * scale])
    kind, screws = joint_of_freedoms(free)
    limits = np.array(bounds).reshape(-1, 2)
    bounded = kind not in ("spherical", "fixed", "free") and np.any(np.isfinite(limits))
    return PrimMotion(kind, screws, limits if bounded else None, tuple(free))
