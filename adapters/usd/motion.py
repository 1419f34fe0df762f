"""Joints of USD Physics, the generic one with its limits among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import UsdPhysics

from regularize.adapters.common.freedoms import GENERIC, joint_of_freedoms
from regularize.adapters.usd.precise import get, value_of
from regularize.adapters.usd.prim_joint import EFFORT, FORCES, OTHERS, REST, VELOCITY
from regularize.lie.screw import Array
from regularize.model.mechanism import JointDynamics, JointLimits

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
        limits: Bounds of positions, rates and forces, or None.
        dynamics: Forces within the joint.
        names: Name of each freedom, as in ``rotX``.
    """

    kind: str
    screws: Array
    limits: JointLimits | None
    dynamics: JointDynamics
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
    if kind in ("spherical", "free"):
        scaled[:] = [-np.inf, np.inf]
    limits = _limits(prim, scaled, scales) if names else None
    return PrimMotion(kind, screws, limits, _dynamics(prim, scales), names)


def _limits(prim: Any, bounds: Array, scales: list[float]) -> JointLimits | None:
    """Bounds of positions, and of rates and forces where the prim has such attributes."""
    rates = [value_of(prim, name, None) for name in VELOCITY]
    velocity = next((value for value in rates if value is not None), None)
    effort = value_of(prim, EFFORT[1], None)
    if velocity is None and effort is None and not np.any(np.isfinite(bounds)):
        return None
    return JointLimits(
        bounds[:, 0],
        bounds[:, 1],
        None if velocity is None else float(velocity) * np.array(scales),
        None if effort is None else np.full(len(scales), float(effort)),
    )


def _dynamics(prim: Any, scales: list[float]) -> JointDynamics:
    """Forces within a joint by MuJoCo's attributes, else by those of Newton and PhysX."""
    if not scales:
        return JointDynamics()
    given: dict[str, Array] = {}
    for what, name in FORCES.items():
        value = value_of(prim, name, None)
        if value is not None:
            given[what] = np.full(len(scales), float(value))
        for other, per_degree in OTHERS.get(what, ()):
            value = value_of(prim, other, None)
            if what not in given and value is not None:
                given[what] = float(value) / np.array(scales if per_degree else [1.0])
    rest = value_of(prim, REST, None)
    if rest is not None and "stiffness" in given:
        given["rest_position"] = float(rest) * np.array(scales)
    return JointDynamics(**given)


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
