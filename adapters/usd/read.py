r"""Reader of USD stages with physics, through ``usd-core``.

The poses on the stage are the reference pose; joint coordinates are those that lead from one of a
joint's frames to the other. The ground is the world; bodies without a joint to it move freely.

With :math:`\theta` the rotation of a body of the gear joint about the X axis of the joint's frame
on it, :math:`x` the travel of the second body along that axis, and :math:`r` the ratio, PhysX
keeps :math:`r\,\theta_0 + \theta_1` constant for gears, and :math:`\theta_0 - r\,x` for a rack,
where :math:`r` is in degrees per unit of length and has the sign with which the rack rolls off.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdPhysics

from regularize.adapters.common.draft import WORLD, Side, joint_between
from regularize.adapters.common.pairs import distance_joint
from regularize.adapters.common.serial import GENERIC, joint_of_freedoms
from regularize.adapters.common.validation import with_external_files
from regularize.adapters.objects import ObjectDocument
from regularize.adapters.usd.joint_values import (
    JointValues,
    is_motor,
    read_motors,
    report_attributes,
)
from regularize.adapters.usd.prims import GENERIC_PRIM, KINDS, get, name_of, value_of
from regularize.adapters.usd.stage import Stage, check_values, faults_of, open_stage, target_of
from regularize.errors import ReadError
from regularize.escape import listed, unique
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse
from regularize.mechanism.body import Body
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.graph import DisjointSets
from regularize.mechanism.joint import Joint, JointLimits, joint_position
from regularize.mechanism.mechanism import Mechanism


def read(path: str) -> Mechanism:
    """Read a USD stage with physics."""
    with faults_of(path):
        stage = open_stage(path)
        layers = [layer.realPath for layer in stage.GetUsedLayers()]
        return with_external_files(_read(path, stage), layers)


def _read(path: str, stage: Any) -> Mechanism:
    """Return the mechanism of an open stage."""
    top = stage.GetDefaultPrim()
    name = top.GetName() if top else Path(path).stem
    reading = Stage(path, name, stage=stage)
    prims = [*stage.Traverse()]
    check_values(prims, path)
    rigid = [prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    if not rigid:
        raise ReadError(
            path, "has no rigid body (PhysicsRigidBodyAPI); export the stage with physics"
        )
    reading.report_units()
    body_names = [name_of(prim) for prim in rigid]
    for prim, name in zip(rigid, body_names, strict=True):
        if body_names.count(name) > 1:
            name = str(prim.GetPath()).lstrip("/")
        reading.names[str(prim.GetPath())] = unique(name, {WORLD, *reading.prims})
        reading.prims[reading.names[str(prim.GetPath())]] = prim
    joints = [prim for prim in prims if prim.IsA(UsdPhysics.Joint)]
    for prim in joints:
        join(prim, reading)
    for prim in joints:
        couple(prim, reading)
    for prim in prims:
        if str(prim.GetTypeName()).endswith("Joint") and prim not in joints:
            mesh(prim, reading)
    for prim in prims:
        if str(prim.GetTypeName()) in UNREAD:
            words = f"{prim.GetTypeName()} `{prim.GetName()}` acts on joints and is not read"
            reading.skip(words, reading.source(prim))
    read_motors(list(filter(is_motor, prims)), reading)
    _add_bodies(reading)
    _hold(reading)
    report_attributes([*joints, *rigid], reading)
    reading.ground_parts(reading.pose, usual=True)
    if any(prim.HasAPI(UsdPhysics.ArticulationRootAPI) for prim in prims):
        _report_closed_articulation(reading)
    return reading.mechanism("usd", reading.gravity(prims))


def _report_closed_articulation(reading: Stage) -> None:
    """Name joints that close loops and are not excluded from the articulation (REG010)."""
    trees = DisjointSets(reading.bodies)
    for joint in (joint for joint in reading.joints.values() if not joint.closure):
        if trees[joint.parent] == trees[joint.child]:
            reading.warn(
                "REG010",
                f"`{joint.name}` closes a loop of the articulation, which PhysX and Newton refuse",
                joint.source,
                "exclude it there: `bool physics:excludeFromArticulation = true`",
                joints=(joint.name,),
            )
        trees.union(joint.parent, joint.child)


def _add_bodies(reading: Stage) -> None:
    """Add the ground and the rigid bodies with mass properties and shapes."""
    reading.bodies[WORLD] = Body(WORLD, source=Source(str(reading.path)))
    massless = []
    for name, prim in reading.prims.items():
        inertia = reading.inertia_of(prim)
        if inertia is None:
            massless.append(name)
        shapes = reading.shapes_of(prim)
        reading.bodies[name] = Body(name, inertia, shapes, reading.source(prim))
    if massless:
        reading.note(
            "REG014",
            f"no complete mass properties: {listed(massless)}",
            reading.source(reading.prims[massless[0]]),
            "write mass, centerOfMass and diagonalInertia, or give a density",
        )


def _hold(reading: Stage) -> None:
    """Fix bodies to the world that are animated, kinematic or not dynamic."""
    for name, prim in reading.prims.items():
        api = UsdPhysics.RigidBodyAPI(prim)
        if api.GetRigidBodyEnabledAttr().Get() and not api.GetKinematicEnabledAttr().Get():
            continue
        reading.hold(f"{name}_fixed", name, reading.pose(name), reading.source(prim))
        reading.skip(
            f"`{name}` is no dynamic body (kinematic, or disabled): read as fixed to the world",
            reading.source(prim),
        )


def read_stage(stage: Any, **options: Any) -> Mechanism:
    """Read a ``pxr.Usd.Stage`` as it is composed; findings name its prims."""
    return StageDocument(stage).read(**options)


class StageDocument(ObjectDocument):
    """An open stage, whose layers are flattened into one."""

    format = "usd"

    def __init__(self, stage: Any) -> None:
        self._stage = stage
        layer = stage.GetRootLayer()
        self.label = layer.realPath or f"<stage {layer.GetDisplayName() or layer.identifier}>"

    def write(self, folder: Path) -> Path:
        """Write the stage as one text layer, references to other files made absolute."""
        path = folder / "stage.usda"
        self._stage.Flatten().Export(str(path))
        return path

    def parse(self, path: Path) -> Any:
        """Open a text file as a stage, on a layer that is not tied to the file."""
        layer = Sdf.Layer.CreateAnonymous(path.name)
        layer.ImportFromString(path.read_text(encoding="utf-8"))
        return Usd.Stage.Open(layer)

    def source(self, source: Source | None) -> Source | None:
        """Return the source with the path of the prim and no line."""
        return source and Source(self.label, None, source.element)


#: Types of prims that act on joints and are not read.
UNREAD = ("NewtonActuator", "MjcTendon")
PHYSX, NEWTON = "PhysxMimicJointAPI", "NewtonMimicAPI"
GEAR, RACK = "PhysxPhysicsGearJoint", "PhysxPhysicsRackAndPinionJoint"
#: Attribute of the ratio of a gear or rack, and relationships to its two joints.
RELATIONS = {
    GEAR: ("physics:gearRatio", "physics:hinge0", "physics:hinge1"),
    RACK: ("physics:ratio", "physics:hinge", "physics:prismatic"),
}


def _side(prim: Any, index: int, reading: Stage) -> Side:
    """Return the body on one side of a joint (the world without one), and the frame on it."""
    target = target_of(prim, f"physics:body{index}")
    carrier = prim.GetStage().GetPrimAtPath(target) if target else None
    if target and not carrier:
        raise reading.at(prim).error(f"body{index} names {target}, which does not exist")
    while carrier and str(carrier.GetPath()) not in reading.names:
        carrier = carrier.GetParent()
    body = reading.names[str(carrier.GetPath())] if carrier else WORLD
    return body, inverse(reading.pose(body)) @ reading.frame(prim, index)


def join(prim: Any, reading: Stage) -> None:
    """Add the joint or the coupling that a joint prim describes."""
    schema = UsdPhysics.Joint(prim)
    name, source = reading.joint_name(name_of(prim)), reading.source(prim)
    if not schema.GetJointEnabledAttr().Get():
        reading.skip(f"joint `{name}` is disabled: not read", source)
        return
    first, second = (_side(prim, i, reading) for i in (0, 1))
    if first[0] == second[0]:
        message = f"joint `{name}` joins `{first[0]}` to itself: not read"
        reading.unread(message, source)
        return
    closure = bool(schema.GetExcludeFromArticulationAttr().Get())
    if str(prim.GetTypeName()) == "PhysicsDistanceJoint":
        length = _length(prim, name, reading)
        if length is not None:
            T = inverse(reading.pose(first[0])) @ reading.pose(second[0])
            rod = distance_joint(name, first, second, T, length, source, closure=closure)
            reading.joints[name] = rod
        return
    kind, screws, limits, freedoms = motion(prim, reading.unit)
    schemas = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    joint = joint_between(
        name,
        kind,
        first,
        second,
        screws,
        actuated=any(schema.startswith("PhysicsDriveAPI") for schema in schemas),
        closure=closure,
        limits=limits,
        source=source,
    )
    position = joint_position(joint, reading.between(first, second))
    values = JointValues(prim, freedoms, reading)
    reading.joints[name] = values.apply(replace(joint, position=position))
    values.add_drives(joint)
    reading.joint_names[str(prim.GetPath())] = name
    reading.freedoms[name] = freedoms


def _length(prim: Any, name: str, reading: Stage) -> float | None:
    """Return the distance in metres that a distance joint keeps; None if it only bounds it."""
    schema = UsdPhysics.DistanceJoint(prim)
    low, high = schema.GetMinDistanceAttr().Get(), schema.GetMaxDistanceAttr().Get()
    if low < 0.0 or low != high:
        reading.warn(
            "REG013",
            f"distance joint `{name}` bounds the distance from {low:g} to {high:g} and keeps no "
            "equation: not read",
            reading.source(prim),
        )
        return None
    return float(low) * reading.unit


def couple(prim: Any, reading: Stage) -> None:
    """Add the coupling by which a joint follows another, in the schema of Newton or of PhysX."""
    name = reading.joint_names.get(str(prim.GetPath()))
    applied = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    if name is None or (NEWTON in applied and not value_of(prim, "newton:mimicEnabled", True)):
        return
    if NEWTON in applied:
        _follow_in_newton(prim, name, reading)
        return
    for api in applied:
        schema, _, axis = api.partition(":")
        if schema == PHYSX:
            _follow_in_physx(prim, name, axis, reading)


def _follow_in_newton(prim: Any, name: str, reading: Stage) -> None:
    """Add ``q = coef0 + coef1 q_leader``, with higher coefficients of a MuJoCo equality."""
    leader, scale = _leader(prim, "newton:mimicJoint", reading), _unit(name, 0, reading)
    offset, factor = (  # in degrees for hinges
        float(value_of(prim, f"newton:mimicCoef{k}", default))
        for k, default in ((0, 0.0), (1, 1.0))
    )
    higher = [float(value_of(prim, f"mjc:coef{k}", 0.0)) for k in (2, 3, 4)]
    curve = (offset * scale, factor, *higher) if any(higher) else ()
    terms = ((name, 0, 1.0), (leader, 0, -1.0 if curve else -factor))
    kept = 0.0 if curve else offset * scale
    reading.couple(name, "mimic", terms, kept, reading.source(prim), curve)


def _follow_in_physx(prim: Any, name: str, axis: str, reading: Stage) -> None:
    r"""Add :math:`q + g\,q_{reference} + c = 0`, angles in degrees."""
    stem = f"physxMimicJoint:{axis}"
    leader = _leader(prim, f"{stem}:referenceJoint", reading)
    named = prim.GetAttribute(f"{stem}:referenceJointAxis").Get()
    follower_index = _index(reading.freedoms[name], axis)
    leader_index = _index(reading.freedoms[leader], str(named) if named else None)
    gear = float(value_of(prim, f"{stem}:gearing", 0.0))
    offset = float(value_of(prim, f"{stem}:offset", 0.0)) * _unit(name, follower_index, reading)
    terms = ((name, follower_index, 1.0), (leader, leader_index, gear))
    reading.couple(name, "mimic", terms, -offset, reading.source(prim))


def _leader(prim: Any, relation: str, reading: Stage) -> str:
    """Return the name of the joint that another one follows."""
    targets = prim.GetRelationship(relation).GetTargets()
    leader = reading.joint_names.get(str(targets[0])) if targets else None
    if leader is None:
        raise reading.at(prim).error(f"{relation} names no joint of the stage")
    return leader


def _unit(name: str, index: int, reading: Stage) -> float:
    """Return radians per degree, or metres per unit of length, for a freedom of a joint."""
    rotary = reading.freedoms[name][index].startswith("rot")
    return math.pi / 180.0 if rotary else reading.unit


def _index(freedoms: tuple[str, ...], axis: str | None) -> int:
    """Return the number of the freedom along an axis, or 0 where the axis is not named."""
    return freedoms.index(axis) if axis in freedoms else 0


def motion(prim: Any, unit: float) -> tuple[str, Array, JointLimits | None, tuple[str, ...]]:
    """Return kind, screws, limits and names of freedoms of a joint prim; ``unit`` is in metres."""
    type_ = str(prim.GetTypeName())
    plain = KINDS.get(KINDS.read.get(type_, "")) if type_ != GENERIC_PRIM else None
    if plain is None:
        bounds = _generic(prim)
    elif plain.axes:
        turning = plain.kind == "revolute"
        schema = UsdPhysics.RevoluteJoint(prim) if turning else UsdPhysics.PrismaticJoint(prim)
        letter = str(schema.GetAxisAttr().Get())
        ends = get(schema.GetLowerLimitAttr()), get(schema.GetUpperLimitAttr())
        bounds = {plain.freedoms[0].replace("Z", letter): ends}
    else:
        bounds = dict.fromkeys(plain.freedoms, (-math.inf, math.inf))
    names = tuple(bounds)
    kind, screws = joint_of_freedoms(names)
    scales = [unit if name.startswith("trans") else math.pi / 180.0 for name in names]
    scaled = np.array([*bounds.values()]).reshape(-1, 2) * np.array(scales)[:, None]
    bounded = kind not in ("spherical", "fixed", "free") and np.any(np.isfinite(scaled))
    return kind, screws, JointLimits.of(scaled) if bounded else None, names


def _generic(prim: Any) -> dict[str, tuple[float, float]]:
    """Return the bounds of those freedoms of a ``PhysicsJoint`` that its limits do not lock."""
    bounds = {}
    for name in GENERIC:
        low, high = -math.inf, math.inf
        if prim.HasAPI(UsdPhysics.LimitAPI, name):
            limit = UsdPhysics.LimitAPI(prim, name)
            low, high = get(limit.GetLowAttr()), get(limit.GetHighAttr())
        if not (low > high or low == high == 0.0):
            bounds[name] = (low, high)
    return bounds


def mesh(prim: Any, reading: Stage) -> None:
    """Add the coupling of a gear or rack prim; report a prim of another type as not read."""
    kind, name = str(prim.GetTypeName()), str(prim.GetName())
    source = reading.source(prim)
    if kind not in RELATIONS:
        reading.unread(f"joint `{name}` of type {kind} is not read", source)
        return
    ratio_name, *joint_names = RELATIONS[kind]
    ratio = float(value_of(prim, ratio_name, 1.0))
    named = (reading.joint_names.get(target_of(prim, name) or "", "") for name in joint_names)
    joints = [reading.joints.get(joint) for joint in named]
    bodies = [reading.names.get(target_of(prim, f"physics:body{k}") or "") for k in (0, 1)]
    frames = [reading.frame(prim, k) for k in (0, 1)]
    signs = [
        _sign(joint, body, frame[:3, 0], reading)
        for joint, body, frame in zip(joints, bodies, frames, strict=True)
    ]
    (first, second), (one, two) = joints, signs
    if first is None or second is None or one is None or two is None:
        reading.unread(
            f"gear or rack `{name}` is not read: it does not couple two joints of one freedom by "
            "the bodies that they move, so the mobility may be counted one too high",
            source,
            f"name the joints by {joint_names[0]} and {joint_names[1]}",
        )
        return
    if kind == GEAR:
        terms = ((first.name, 0, ratio * one), (second.name, 0, float(two)))
    else:
        slope = math.radians(ratio) / reading.unit * _rolling(*frames)
        terms = ((first.name, 0, float(one)), (second.name, 0, -slope * two))
    reading.couple(name, "gear" if kind == GEAR else "rack", terms, reading.value(terms), source)


def _sign(joint: Joint | None, body: str | None, axis: Array, reading: Stage) -> int | None:
    """Return the sign with which a coordinate moves a body along or about an axis; None if not."""
    if joint is None or joint.freedoms != 1 or body not in (joint.parent, joint.child):
        return None
    R = (reading.pose(joint.parent) @ joint.T_parent_joint)[:3, :3]
    screw = joint.screws[:, 0]
    direction = R @ (screw[3:] if np.any(screw[3:]) else screw[:3])
    along = float(direction @ axis)
    if abs(abs(along) - 1.0) > 1e-4:
        return None
    return round(along) * (1 if body == joint.child else -1)


def _rolling(T_pinion: Array, T_rack: Array) -> float:
    """Return the sign with which a rack moves along its axis as its pinion turns."""
    delta = T_rack[:3, 3] - T_pinion[:3, 3]
    speed = float(np.cross(T_pinion[:3, 0], delta) @ T_rack[:3, 0])
    return math.copysign(1.0, speed) if abs(speed) > 1e-3 * float(np.linalg.norm(delta)) else 1.0
