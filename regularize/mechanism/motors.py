"""What motors can do at their joints: limits that stand at actuators, by their gears."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.lie.arrays import Array
from regularize.mechanism.joint import Joint, JointLimits
from regularize.mechanism.mechanism import Actuator, Mechanism


def effort_of(mechanism: Mechanism, joint: Joint) -> Array:
    """Return the largest motor forces in both directions at a joint's freedoms, or infinity."""
    actuators = [a for a in mechanism.actuators if a.joint == joint.name]
    found = np.full(joint.freedoms, np.inf)
    if joint.limits is not None and joint.limits.effort is not None:
        found = np.array(joint.limits.effort)
    for k in range(joint.freedoms):
        if own := [abs(a.gear) * _force(a) for a in actuators if a.freedom == k]:
            found[k] = min(found[k], sum(own))
    return found


def _force(actuator: Actuator) -> float:
    """Return the largest force of a motor before its gear in both directions."""
    bounds, gains = [np.inf], actuator.gains
    if actuator.force_range is not None:
        low, high = actuator.force_range
        bounds.append(max(0.0, min(-low, high)))
    servo = gains is not None and (gains.position or gains.velocity)
    if actuator.control_range is not None and not servo and actuator.kind == "motor":
        low, high = actuator.control_range
        control = 1.0 if gains is None or gains.control is None else abs(gains.control)
        bounds.append(max(0.0, control * min(-low, high)))
    return float(min(bounds))


def with_efforts(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with limits of its motors at its joints, for formats without others."""
    joints = []
    for joint in mechanism.joints:
        effort = effort_of(mechanism, joint)
        if np.isfinite(effort).any():
            limits = joint.limits or JointLimits(None, None, effort=effort)
            joint = replace(joint, limits=replace(limits, effort=effort))
        joints.append(joint)
    return replace(mechanism, joints=tuple(joints))
