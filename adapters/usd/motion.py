"""Joints of USD Physics, the generic one with its limits among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import UsdPhysics

from regularize.adapters.common.freedoms import GENERIC, joint_of_freedoms
from regularize.adapters.usd.precise import get
from regularize.lie.screw import Array
from regularize.model.mechanism import JointLimits

#: Freedoms of joints by the type of their prim; ``?`` stands for the letter of its axis.
FREEDOMS: dict[str, tuple[str, ...]] = {
    "PhysicsFixedJoint": (),
    "PhysicsSphericalJoint": GENERIC[3:],
    "PhysicsRevoluteJoint": ("rot?",),
    "PhysicsPrismaticJoint": ("trans?",),
}


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
    limits: JointLimits | None
    names: tuple[str, ...]


def motion(prim: Any, unit: float) -> PrimMotion:
    """Freedoms of a joint prim.

    Args:
        prim: The prim.
        unit: Metres per length unit of the stage.
    """
    type_ = str(prim.GetTypeName())
    if type_ not in FREEDOMS:
        bounds = _generic(prim)
    elif type_ in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
        turning = type_ == "PhysicsRevoluteJoint"
        schema = UsdPhysics.RevoluteJoint(prim) if turning else UsdPhysics.PrismaticJoint(prim)
        letter = str(schema.GetAxisAttr().Get())
        ends = get(schema.GetLowerLimitAttr()), get(schema.GetUpperLimitAttr())
        bounds = {FREEDOMS[type_][0].replace("?", letter): ends}
    else:
        bounds = dict.fromkeys(FREEDOMS[type_], (-math.inf, math.inf))
    names = tuple(bounds)
    kind, screws = joint_of_freedoms(names)
    scales = [unit if name.startswith("trans") else math.pi / 180.0 for name in names]
    scaled = np.array([*bounds.values()]).reshape(-1, 2) * np.array(scales)[:, None]
    bounded = kind not in ("spherical", "fixed", "free") and np.any(np.isfinite(scaled))
    return PrimMotion(kind, screws, JointLimits.of(scaled) if bounded else None, names)


def _generic(prim: Any) -> dict[str, tuple[float, float]]:
    """Bounds of the freedoms of a ``PhysicsJoint``: of those that its limits do not lock.

    Low above high is how the schema locks a freedom; both at zero leaves it nothing either.
    """
    bounds = {}
    for name in GENERIC:
        low, high = -math.inf, math.inf
        if prim.HasAPI(UsdPhysics.LimitAPI, name):
            limit = UsdPhysics.LimitAPI(prim, name)
            low, high = get(limit.GetLowAttr()), get(limit.GetHighAttr())
        if not (low > high or low == high == 0.0):
            bounds[name] = (low, high)
    return bounds
