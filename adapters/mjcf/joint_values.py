"""Limits, springs, damping, friction and rotor inertia of MuJoCo's joints."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from regularize.adapters.mjcf.model import Model
from regularize.lie.screw import Array
from regularize.model.mechanism import JointDynamics, JointLimits

#: Freedoms of each type of joint.
FREEDOMS = {
    int(mujoco.mjtJoint.mjJNT_FREE): 6,
    int(mujoco.mjtJoint.mjJNT_BALL): 3,
    int(mujoco.mjtJoint.mjJNT_SLIDE): 1,
    int(mujoco.mjtJoint.mjJNT_HINGE): 1,
}


def limits(m: Any, j: int) -> JointLimits | None:
    """Bounds of a joint with one coordinate; the bound of a ball joint's angle is none of them."""
    if m.jnt_type[j] not in Model.SCALAR:
        return None
    forced = bool(m.jnt_actfrclimited[j])
    if not m.jnt_limited[j] and not forced:
        return None
    bounds = m.jnt_range[j] if m.jnt_limited[j] else [-np.inf, np.inf]
    effort = float(np.max(np.abs(m.jnt_actfrcrange[j]))) if forced else None
    return JointLimits.of(bounds, effort=effort)


def dynamics(m: Any, j: int) -> JointDynamics:
    """Forces within a joint; compiled models do not tell zero from silence."""
    start = int(m.jnt_dofadr[j])
    freedoms = slice(start, start + FREEDOMS[int(m.jnt_type[j])])
    values: dict[str, Array] = {
        "damping": m.dof_damping[freedoms],
        "friction": m.dof_frictionloss[freedoms],
        "armature": m.dof_armature[freedoms],
    }
    if m.jnt_stiffness[j] and m.jnt_type[j] in Model.SCALAR:
        at = int(m.jnt_qposadr[j])
        values |= {
            "stiffness": m.jnt_stiffness[j : j + 1],
            "rest_position": m.qpos_spring[at : at + 1],
        }
    return JointDynamics(**{key: value for key, value in values.items() if np.any(value)})


def unread(m: Any) -> dict[str, bool]:
    """What of the joints has no place in the mechanism, in words, and whether it is there."""
    scalar = np.isin(m.jnt_type, Model.SCALAR)
    return {
        "springs of ball and free joints": bool(np.any(m.jnt_stiffness[~scalar])),
        "limits of ball joints": bool(np.any(m.jnt_limited[~scalar])),
    }
