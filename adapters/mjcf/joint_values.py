"""Limits, springs, damping, friction and rotor inertia of MuJoCo's joints."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from regularize.adapters.mjcf.model import Model
from regularize.lie.screw import Array, log_rotation
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


def one_sided(m: Any) -> list[int]:
    """Numbers of the joints whose motors may pull harder than push, or the other way round."""
    return [
        j
        for j in range(m.njnt)
        if m.jnt_actfrclimited[j]
        and m.jnt_type[j] in Model.SCALAR
        and m.jnt_actfrcrange[j, 0] != -m.jnt_actfrcrange[j, 1]
    ]


def dynamics(m: Any, j: int) -> JointDynamics:
    """Forces within a joint; compiled models do not tell zero from silence.

    What an actuator has of damping and armature acts in the joint as well, by its gear squared.
    """
    kind, start = int(m.jnt_type[j]), int(m.jnt_dofadr[j])
    freedoms = slice(start, start + FREEDOMS[kind])
    values: dict[str, Array] = {
        "damping": m.dof_damping[freedoms] + _of_actuators(m, j, "actuator_damping"),
        "friction": m.dof_frictionloss[freedoms],
        "armature": m.dof_armature[freedoms] + _of_actuators(m, j, "actuator_armature"),
    }
    if m.jnt_stiffness[j] and kind != mujoco.mjtJoint.mjJNT_FREE:
        values["stiffness"] = np.full(FREEDOMS[kind], m.jnt_stiffness[j])
        at = int(m.jnt_qposadr[j])
        values["rest_position"] = m.qpos_spring[at : at + 1]
        if kind == mujoco.mjtJoint.mjJNT_BALL:
            values["rest_position"] = log_rotation(Model.rotation(m.qpos_spring[at : at + 4]))
    return JointDynamics(**{key: value for key, value in values.items() if np.any(value)})


def _of_actuators(m: Any, j: int, name: str) -> float:
    """What the actuators of a joint with one coordinate add to it."""
    values = getattr(m, name, np.zeros(m.nu))
    if m.jnt_type[j] not in Model.SCALAR:
        return 0.0
    mine = (m.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT) & (m.actuator_trnid[:, 0] == j)
    return float(np.sum(np.square(m.actuator_gear[mine, 0]) * values[mine]))


def unread(m: Any) -> dict[str, bool]:
    """What of the joints has no place in the mechanism, in words, and whether it is there."""
    several, free = ~np.isin(m.jnt_type, Model.SCALAR), m.jnt_type == mujoco.mjtJoint.mjJNT_FREE
    growing = ("dof_dampingpoly", "jnt_stiffnesspoly", "actuator_dampingpoly")
    return {
        "springs of free joints": bool(np.any(m.jnt_stiffness[free])),
        "limits of ball joints": bool(np.any(m.jnt_limited[several])),
        "damping and stiffness beyond their linear terms": any(
            np.any(getattr(m, name, 0.0)) for name in growing
        ),
    }
