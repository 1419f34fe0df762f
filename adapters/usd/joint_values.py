"""Reader and writer of limits, dynamics, drives and motors of USD joints, in several schemas."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Sdf, UsdPhysics

from regularize.adapters.usd.prims import EFFORT, get, name_of, numbers, put, unit_of, value_of
from regularize.adapters.usd.stage import Stage, target_of
from regularize.escape import listed, unique
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits
from regularize.mechanism.mechanism import Actuator, ActuatorGains

#: Attributes of each value of a freedom, of which the first that is written counts: name with ? for
#: the axis, and whether angles are in degrees. Measures are powers of the length unit for a slide
#: and for a hinge, and whether the mass unit is a factor.
TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("attributes.json").read_text("utf-8"))
DYNAMICS, VELOCITY, EFFORTS = (TABLES[key] for key in ("dynamics", "velocity", "efforts"))
MEASURES: dict[str, tuple[int, int, bool]] = TABLES["measures"]
UNLIMITED = "mjc:actuatorfrclimited"  # "false": the force of a drive is no limit of its joint
DEGREE = math.pi / 180.0
#: Attributes of joints and bodies that speak of physics; those among them that are read or reported
#: by themselves; and those that are about solvers, contacts and sleep.
PHYSICS = re.compile(r"(physics|physx\w*|newton|mjc|drive|limit|state):")
READ = re.compile(
    r"physics:(local(Pos|Rot)[01]|axis|(lower|upper)Limit|(min|max)Distance|\w*Enabled|mass|density"
    r"|exclude\w+|centerOfMass|diagonalInertia|principalAxes|gearRatio|ratio)"
    r"|limit:\w+:physics:(low|high)|drive:\w+:physics:(type|stiffness|damping|maxForce)"
    r"|physxMimicJoint:.*|newton:(inertia|mimic\w+)|mjc:(coef\d|actuatorfrc\w+(:\w+)?)"
    r"|physxJoint:jointFriction|"
    + "|".join(
        re.escape(word).replace(r"\?", r"\w+")
        for words in (*DYNAMICS.values(), VELOCITY, EFFORTS)
        for word, _ in words
    )
)
SOLVERS = re.compile(
    r"(?i).*(iteration|threshold|depenetration|collision|contact|asleep|tolerance|articulation|cfm)"
)


def report_attributes(prims: list[Any], reading: Stage) -> None:
    """Report attributes of joints and bodies that say something and are not read."""
    unread: dict[str, list[Any]] = {}
    for prim in prims:
        for attribute in prim.GetAuthoredAttributes():
            name, value = str(attribute.GetName()), numbers(attribute.Get())
            said = np.any(value[np.isfinite(value)])
            if said and PHYSICS.match(name) and not (READ.fullmatch(name) or SOLVERS.match(name)):
                unread.setdefault(name, []).append(prim)
    for name, places in unread.items():
        owners = listed([str(name_of(prim)) for prim in places], 3)
        reading.skip(f"attribute `{name}` of {owners} is not read", reading.source(places[0]))


class JointValues:
    """Reads dynamics, rate and force limits and drives of a joint prim; names are as ``rotX``."""

    def __init__(self, prim: Any, names: tuple[str, ...], reading: Stage) -> None:
        self.prim, self.names, self.reading = prim, names, reading

    def apply(self, joint: Joint) -> Joint:
        """Return the joint with its dynamics, and with its limits of rates and forces."""
        dynamics = {key: self._values(key, words) for key, words in DYNAMICS.items()}
        stated = {key: values for key, values in dynamics.items() if values is not None}
        rated = {"velocity": self._values("velocity", VELOCITY), "effort": self._efforts()}
        limits = joint.limits
        if any(values is not None for values in rated.values()):
            bounds = np.full((joint.freedoms, 2), np.inf) * [-1.0, 1.0]
            limits = JointLimits.of(bounds if limits is None else np.asarray(limits), **rated)
        self._report_friction(joint)
        return replace(joint, limits=limits, dynamics=JointDynamics(**stated))

    def add_drives(self, joint: Joint) -> None:
        """Add the motors of the drives on the freedoms of a joint."""
        for freedom, name in enumerate(self.names):
            axis = self._drive_axis(name)
            stem = f"drive:{axis}:physics"
            if f"PhysicsDriveAPI:{axis}" not in self.prim.GetPrimTypeInfo().GetAppliedAPISchemas():
                continue
            stiffness = self._in_si("stiffness", name, f"{stem}:stiffness", True) or 0.0
            damping = self._in_si("damping", name, f"{stem}:damping", True) or 0.0
            force = self._in_si("effort", name, f"{stem}:maxForce", False)
            if self.prim.GetAttribute(f"{stem}:type").Get() == "acceleration":
                self.reading.skip(
                    f"the drive of joint `{joint.name}` has gains per unit of inertia: only its "
                    "kind and its largest force are read",
                    self.reading.source(self.prim),
                    joints=(joint.name,),
                )
                gains = None
            else:
                gains = ActuatorGains(stiffness or damping or None, stiffness, damping)
            several = len(self.names) > 1
            taken = {actuator.name for actuator in self.reading.actuators}
            self.reading.actuators.append(
                Actuator(
                    unique(f"{joint.name}_{name}" if several else joint.name, taken),
                    joint.name,
                    freedom,
                    "position" if stiffness else "velocity" if damping else "motor",
                    force_range=None if force is None else (-force, force),
                    gains=gains,
                    source=self.reading.source(self.prim),
                )
            )

    def _drive_axis(self, name: str) -> str:
        """Return the instance name of a freedom's drive, such as ``angular`` for a plain hinge."""
        type_ = str(self.prim.GetTypeName())
        if type_ == "PhysicsRevoluteJoint":
            return "angular"
        return "linear" if type_ == "PhysicsPrismaticJoint" else name

    def _values(self, key: str, words: Sequence[tuple[str, bool]]) -> Any:
        """Return a quantity for every freedom, shape (n,); None where none is written."""
        default, stated = np.inf if key in ("velocity", "effort") else 0.0, []
        for name in self.names:
            axis = self._drive_axis(name)
            values = (self._in_si(key, name, w.replace("?", axis), d) for w, d in words)
            stated.append(next((value for value in values if value is not None), None))
        if all(value is None for value in stated):
            return None
        return np.array([default if value is None else value for value in stated])

    def _in_si(self, key: str, name: str, attribute: str, degrees: bool) -> float | None:
        """Return the number of an attribute in SI units; None where it is absent or infinite."""
        written = self.prim.GetAttribute(attribute)
        value = get(written) if written and written.HasAuthoredValue() else None
        if value is None or not math.isfinite(float(value)):
            return None
        slides, turns, heavy = MEASURES[key]
        turning = name.startswith("rot")
        scale = self.reading.unit ** (turns if turning else slides)
        scale *= self.reading.kilogram if heavy else 1.0
        if degrees and turning:
            scale *= DEGREE if key == "velocity" else 1.0 / DEGREE
        return float(value) * scale

    def _efforts(self) -> Any:
        """Return the force limits of the freedoms, or else the largest forces of their drives."""
        efforts = self._values("effort", EFFORTS)
        if value_of(self.prim, UNLIMITED, "auto") == "false":
            return None
        drives = [
            self._in_si("effort", name, f"drive:{self._drive_axis(name)}:physics:maxForce", False)
            for name in self.names
        ]
        if efforts is None and any(value is not None for value in drives):
            return np.array([np.inf if value is None else value for value in drives])
        return efforts

    def _report_friction(self, joint: Joint) -> None:
        """Report PhysX's older friction, a coefficient without a unit that is no torque."""
        written = self.prim.GetAttribute("physxJoint:jointFriction")
        if written and written.HasAuthoredValue() and written.Get():
            self.reading.skip(
                f"friction of joint `{joint.name}` is a coefficient without a unit "
                "(physxJoint:jointFriction): not read",
                self.reading.source(self.prim),
                joints=(joint.name,),
            )


TYPE = "MjcActuator"
#: Numbers of gains and of gears that Newton asks for.
GAINS, GEARS = 10, 6
KIND, FREEDOM = "regularize:kind", "regularize:freedom"
RANGES = {"control_range": "mjc:ctrlRange", "force_range": "mjc:forceRange"}
GAIN, BIAS, GEAR, TARGET = "mjc:gainPrm", "mjc:biasPrm", "mjc:gear", "mjc:target"


def add_motors(writing: Any) -> None:
    """Write the drives of driven joints, and a prim for each actuator."""
    mechanism = writing.mechanism
    motors: dict[str, list[Actuator]] = {}
    for actuator in mechanism.actuators:
        motors.setdefault(actuator.joint, []).append(actuator)
    for joint in mechanism.joints:
        if not joint.actuated:
            continue
        for k in range(joint.freedoms):
            written = writing.coordinates.get((joint.name, k))
            if written is not None:
                axis = writing.axes[written.joint][written.axis]
                effort = None if joint.limits is None else joint.limits.effort
                largest = None if effort is None else float(effort[k])
                _drive(writing.joints[written.joint], axis, motors.get(joint.name, []), largest)
    for actuator in mechanism.actuators:
        written = writing.coordinates.get((actuator.joint, actuator.freedom))
        if written is not None:
            # The drive of the joint is the servo: said twice, it would act twice.
            gains = actuator.gains
            servo = gains is not None and (gains.position or gains.velocity)
            prim = writing.define(f"{actuator.name}_actuator", "" if servo else TYPE)
            _actuator(prim, actuator, written, writing.joints[written.joint].GetPath())


def is_motor(prim: Any) -> bool:
    """Say whether a prim is an actuator, or what a drive does not say of one."""
    return str(prim.GetTypeName()) == TYPE or prim.GetCustomDataByKey(KIND) is not None


def _drive(prim: Any, axis: str, actuators: list[Actuator], effort: float | None) -> None:
    """Write the drive of a freedom with the gains and the largest force of its actuators."""
    simple = str(prim.GetTypeName()) in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint")
    plain = "angular" if axis.startswith("rot") else "linear"
    api = UsdPhysics.DriveAPI.Apply(prim, plain if simple else axis)
    api.CreateTypeAttr().Set("force")
    servos = [(each.gains or ActuatorGains(), each.gear**2) for each in actuators]
    per = unit_of(axis)
    put(api.CreateStiffnessAttr(), sum((g.position or 0.0) * gear for g, gear in servos) / per)
    put(api.CreateDampingAttr(), sum((g.velocity or 0.0) * gear for g, gear in servos) / per)
    if actuators and all(each.force_range is not None for each in actuators):
        effort = sum(np.abs(each.force_range or ()).max() * abs(each.gear) for each in actuators)
        if not prim.HasAttribute(EFFORT[1]):
            # The force of the motor is no limit of the joint.
            prim.CreateAttribute(UNLIMITED, Sdf.ValueTypeNames.Token).Set("false")
    if effort is not None:
        put(api.CreateMaxForceAttr(), float(effort))


def _actuator(prim: Any, actuator: Actuator, written: Any, path: Any) -> None:
    """Write an actuator of the joint at ``path`` with its gear, gains and ranges."""
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
        values = values + [0.0] * ((GEARS if name == GEAR else GAINS) - len(values))
        prim.CreateAttribute(name, Sdf.ValueTypeNames.DoubleArray).Set(values)
    for field, name in RANGES.items():
        bounds = getattr(actuator, field)
        for end, value in zip(("min", "max"), bounds or (), strict=False):
            prim.CreateAttribute(f"{name}:{end}", Sdf.ValueTypeNames.Double).Set(value)


def read_motors(prims: list[Any], reading: Stage) -> None:
    """Add the actuators of prims, which replace the drives of the same freedoms."""
    motors = [motor for motor in (_motor(prim, reading) for prim in prims) if motor is not None]
    driven = {(motor.joint, motor.freedom) for motor in motors}
    drives = [drive for drive in reading.actuators if (drive.joint, drive.freedom) not in driven]
    reading.actuators = [*drives, *motors]


def _motor(prim: Any, reading: Stage) -> Actuator | None:
    """Return the actuator of a prim; report one without a joint, and return None."""
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
    ranges: dict[str, Any] = {}
    for field, name in RANGES.items():
        ends = [value_of(prim, f"{name}:{end}", None) for end in ("min", "max")]
        ranges[field] = None if None in ends else (float(ends[0]), float(ends[1]))
    kind = str(prim.GetCustomDataByKey(KIND) or "general")
    acts = int(prim.GetCustomDataByKey(FREEDOM) or 0), kind, float(gear[0]) if gear else 1.0
    source = reading.source(prim)
    return Actuator(name_of(prim), joint, *acts, gains=gains, source=source, **ranges)
