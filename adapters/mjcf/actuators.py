"""Actuators of MuJoCo that move joints."""

from __future__ import annotations

from typing import Any

import mujoco

from regularize.adapters.common.names import unique
from regularize.adapters.mjcf.model import Model
from regularize.model.diagnostic import Source
from regularize.model.mechanism import Actuator, ActuatorGains

#: Elements of the actuators that act on joints.
TAGS = ("motor", "position", "velocity", "intvelocity", "general", "damper", "cylinder", "muscle")
DIRECT = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


def actuated(m: Any) -> set[int]:
    """Numbers of the joints that an actuator moves, directly or by a fixed tendon."""
    return {joint for i in range(m.nu) for joint, _, _ in _moved(m, i)}


def read_actuators(model: Model) -> None:
    """Add the actuators that act on joints, directly or by a fixed tendon."""
    m = model.m
    for i in range(m.nu):
        for joint, freedom, gear in _moved(m, i):
            name = m.actuator(i).name or f"{model.joint_names[joint]}_actuator"
            model.actuators.append(
                Actuator(
                    unique(name, {a.name for a in model.actuators}),
                    model.joint_names[joint],
                    freedom,
                    _kind(m, i),
                    gear,
                    _range(m.actuator_ctrllimited[i], m.actuator_ctrlrange[i]),
                    _range(m.actuator_forcelimited[i], m.actuator_forcerange[i]),
                    _gains(m, i),
                    _source(model, m.actuator(i).name),
                )
            )


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
