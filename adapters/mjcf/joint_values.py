"""Limits, springs, damping, friction and rotor inertia of MuJoCo's joints."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from regularize.adapters.mjcf.model import Model
from regularize.escape import unique
from regularize.lie.arrays import Array
from regularize.lie.screw import log_rotation
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.mechanism import Actuator, ActuatorGains, JointDynamics, JointLimits

#: Freedoms of each type of joint.
FREEDOMS = {
    int(mujoco.mjtJoint.mjJNT_FREE): 6,
    int(mujoco.mjtJoint.mjJNT_BALL): 3,
    int(mujoco.mjtJoint.mjJNT_SLIDE): 1,
    int(mujoco.mjtJoint.mjJNT_HINGE): 1,
}
#: Elements of the actuators that act on joints.
TAGS = ("motor", "position", "velocity", "intvelocity", "general", "damper", "cylinder", "muscle")
DIRECT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


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
    acting = ("stiffness", "damping", "frictionloss", "armature", "limited", "actfrclimited")
    tied = np.isin(m.tendon_adr, np.flatnonzero(m.wrap_type == mujoco.mjtWrap.mjWRAP_JOINT))
    return {
        "springs of free joints": bool(np.any(m.jnt_stiffness[free])),
        "springs, damping, friction, armature and limits of fixed tendons": any(
            np.any(getattr(m, f"tendon_{name}", np.zeros(m.ntendon))[tied]) for name in acting
        ),
        "limits of ball joints": bool(np.any(m.jnt_limited[several])),
        "damping and stiffness beyond their linear terms": any(
            np.any(getattr(m, name, 0.0)) for name in growing
        ),
    }


def actuated(m: Any) -> set[int]:
    """Numbers of the joints that an actuator moves, directly or by a fixed tendon."""
    return {joint for i in range(m.nu) for joint, _, _ in _moved(m, i)}


def read_actuators(model: Model) -> None:
    """Add the actuators that act on joints, directly or by a fixed tendon."""
    m = model.m
    stated = {m.actuator(i).name for i in range(m.nu)}
    for i in range(m.nu):
        moved, own, motor = _moved(m, i), m.actuator(i).name, ""
        for k, (joint, freedom, gear) in enumerate(moved):
            taken = {a.name for a in model.actuators} | (stated - ({own} if k == 0 else set()))
            name = unique(own or f"{model.joint_names[joint]}_actuator", taken)
            motor = name if k == 0 else motor
            model.actuators.append(
                Actuator(
                    name,
                    model.joint_names[joint],
                    freedom,
                    _kind(m, i),
                    gear,
                    _range(m.actuator_ctrllimited[i], m.actuator_ctrlrange[i]),
                    _range(m.actuator_forcelimited[i], m.actuator_forcerange[i]),
                    _gains(m, i),
                    _source(model, m.actuator(i).name),
                    motor if len(moved) > 1 else None,
                )
            )


def with_states(m: Any) -> list[str]:
    """Names of the actuators whose force follows their control by a differential equation."""
    filtered = np.flatnonzero(m.actuator_dyntype != mujoco.mjtDyn.mjDYN_NONE)
    return [m.actuator(int(i)).name or f"actuator[{i + 1}]" for i in filtered if _moved(m, int(i))]


def not_of_joints(m: Any) -> list[str]:
    """Names of the actuators that act on no joint: on sites, bodies or spatial tendons."""
    return [m.actuator(i).name or f"actuator[{i + 1}]" for i in range(m.nu) if not _moved(m, i)]


def _source(model: Model, name: str) -> Source | None:
    """Where the element of an actuator stands, if it has a name."""
    texts = model.compiled.texts
    return next((texts[tag, name].source for tag in TAGS if (tag, name) in texts), None)


def _moved(m: Any, i: int) -> list[tuple[int, int, float]]:
    """Number of the joint, freedom and gear of each coordinate that an actuator acts on."""
    target, gear = int(m.actuator_trnid[i, 0]), m.actuator_gear[i]
    if int(m.actuator_trntype[i]) in DIRECT:
        if m.jnt_type[target] in Model.SCALAR:
            return [(target, 0, float(gear[0]))]
        return [(target, k, float(g)) for k, g in enumerate(gear) if g]
    if m.actuator_trntype[i] != mujoco.mjtTrn.mjTRN_TENDON:
        return []
    start = int(m.tendon_adr[target])
    wraps = range(start, start + int(m.tendon_num[target]))
    return [
        (int(m.wrap_objid[w]), 0, float(gear[0] * m.wrap_prm[w]))
        for w in wraps
        if m.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT
    ]


def _kind(m: Any, i: int) -> str:
    gain, bias = m.actuator_gainprm[i], m.actuator_biasprm[i]
    if m.actuator_gaintype[i] != mujoco.mjtGain.mjGAIN_FIXED:
        return "general"
    if m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE:
        return "motor"
    if m.actuator_biastype[i] != mujoco.mjtBias.mjBIAS_AFFINE or bias[0]:
        return "general"
    if gain[0] and gain[0] == -bias[1]:
        return "position"
    return "velocity" if gain[0] and gain[0] == -bias[2] and not bias[1] else "general"


def _range(limited: Any, bounds: Any) -> tuple[float, float] | None:
    return (float(bounds[0]), float(bounds[1])) if limited else None


def _gains(m: Any, i: int) -> ActuatorGains | None:
    if m.actuator_gaintype[i] != mujoco.mjtGain.mjGAIN_FIXED:
        return None
    control = float(m.actuator_gainprm[i, 0])
    if m.actuator_biastype[i] != mujoco.mjtBias.mjBIAS_AFFINE:
        return ActuatorGains(control)
    position, velocity = (0.0 - float(value) for value in m.actuator_biasprm[i, 1:3])
    return ActuatorGains(control, position, velocity)
