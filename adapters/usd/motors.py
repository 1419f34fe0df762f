"""Motors on a USD stage: drives of USD Physics, and actuators of MuJoCo's schema.

A drive marks its joint as driven; gears and ranges of controls stand in prims of type
``MjcActuator``, which Newton and MuJoCo read.
"""

from __future__ import annotations

from typing import Any

from pxr import Sdf, UsdPhysics

from regularize.adapters.usd.joint_values import UNLIMITED
from regularize.adapters.usd.precise import name_of, put, value_of
from regularize.adapters.usd.prims import EFFORT, unit_of
from regularize.adapters.usd.stage import Stage, target_of
from regularize.mechanism.mechanism import Actuator, ActuatorGains

TYPE = "MjcActuator"
KIND, FREEDOM = "regularize:kind", "regularize:freedom"
RANGES = {"control_range": "mjc:ctrlRange", "force_range": "mjc:forceRange"}
GAIN, BIAS, GEAR, TARGET = "mjc:gainPrm", "mjc:biasPrm", "mjc:gear", "mjc:target"


def add_motors(writing: Any) -> None:
    """Add the drives of driven joints, and the actuators."""
    mechanism = writing.mechanism
    motors = {actuator.joint: actuator for actuator in mechanism.actuators}
    for joint in mechanism.joints:
        if not joint.actuated:
            continue
        for k in range(joint.freedoms):
            written = writing.coordinates.get((joint.name, k))
            if written is not None:
                axis = writing.axes[written.joint][written.axis]
                effort = None if joint.limits is None else joint.limits.effort
                largest = None if effort is None else float(effort[k])
                _drive(writing.joints[written.joint], axis, motors.get(joint.name), largest)
    for actuator in mechanism.actuators:
        written = writing.coordinates.get((actuator.joint, actuator.freedom))
        if written is not None:
            prim = writing.define(f"{actuator.name}_actuator", TYPE)
            _actuator(prim, actuator, written, writing.joints[written.joint].GetPath())


def _drive(prim: Any, axis: str, actuator: Actuator | None, effort: float | None) -> None:
    simple = str(prim.GetTypeName()) in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint")
    plain = "angular" if axis.startswith("rot") else "linear"
    api = UsdPhysics.DriveAPI.Apply(prim, plain if simple else axis)
    api.CreateTypeAttr().Set("force")
    gains = (None if actuator is None else actuator.gains) or ActuatorGains()
    gear = 1.0 if actuator is None else actuator.gear
    per = unit_of(axis)
    put(api.CreateStiffnessAttr(), (gains.position or 0.0) * gear**2 / per)
    put(api.CreateDampingAttr(), (gains.velocity or 0.0) * gear**2 / per)
    if actuator is not None and actuator.force_range is not None:
        effort = max(abs(value) for value in actuator.force_range) * abs(gear)
        if not prim.HasAttribute(EFFORT[1]):
            # What the motor gives is no limit of the joint.
            prim.CreateAttribute(UNLIMITED, Sdf.ValueTypeNames.Token).Set("false")
    if effort is not None:
        put(api.CreateMaxForceAttr(), float(effort))


def _actuator(prim: Any, actuator: Actuator, written: Any, path: Any) -> None:
    prim.SetCustomDataByKey("regularize:name", actuator.name)
    prim.SetCustomDataByKey(KIND, actuator.kind)
    prim.SetCustomDataByKey(FREEDOM, written.axis)
    prim.CreateRelationship(TARGET).SetTargets([path])
    arrays = {GEAR: [actuator.gear / written.factor]}
    gains = actuator.gains
    if gains is not None:
        if gains.control is not None:
            arrays[GAIN] = [gains.control]
        if gains.position is not None or gains.velocity is not None:
            arrays[BIAS] = [0.0, -(gains.position or 0.0), -(gains.velocity or 0.0)]
    for name, values in arrays.items():
        prim.CreateAttribute(name, Sdf.ValueTypeNames.DoubleArray).Set(values)
    for what, name in RANGES.items():
        bounds = getattr(actuator, what)
        for end, value in zip(("min", "max"), bounds or (), strict=False):
            prim.CreateAttribute(f"{name}:{end}", Sdf.ValueTypeNames.Double).Set(value)


def read_motors(prims: list[Any], reading: Stage) -> None:
    """Add the actuators of prims, which say more than the drives of their joints."""
    found = [motor for motor in (_motor(prim, reading) for prim in prims) if motor is not None]
    told = {(motor.joint, motor.freedom) for motor in found}
    drives = [motor for motor in reading.actuators if (motor.joint, motor.freedom) not in told]
    reading.actuators = [*drives, *found]


def _motor(prim: Any, reading: Stage) -> Actuator | None:
    """The actuator of a prim; one that moves no joint is reported."""
    joint = reading.joint_names.get(target_of(prim, TARGET) or "")
    if joint is None:
        reading.skip(f"actuator `{prim.GetName()}` moves no joint: not read", reading.source(prim))
        return None
    gear = value_of(prim, GEAR, None)
    gain, bias = value_of(prim, GAIN, None), value_of(prim, BIAS, None)
    gains = None
    if gain is not None or bias is not None:
        servo = (-float(bias[1]), -float(bias[2])) if bias is not None else (None, None)
        gains = ActuatorGains(None if gain is None else float(gain[0]), *servo)
    ranges: dict[str, tuple[float, float] | None] = {}
    for what, name in RANGES.items():
        ends = [value_of(prim, f"{name}:{end}", None) for end in ("min", "max")]
        ranges[what] = None if None in ends else (float(ends[0]), float(ends[1]))
    return Actuator(
        name_of(prim),
        joint,
        int(prim.GetCustomDataByKey(FREEDOM) or 0),
        str(prim.GetCustomDataByKey(KIND) or "general"),
        1.0 if not gear else float(gear[0]),
        ranges["control_range"],
        ranges["force_range"],
        gains,
        reading.source(prim),
    )
