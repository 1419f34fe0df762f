"""USD Physics stages, through ``usd-core``.

The poses on the stage are the reference pose; joint coordinates are those that lead from one of a
joint's frames to the other. The ground is the world; bodies that nothing joins to it move freely.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Tf, Usd, UsdGeom, UsdPhysics

from regularize.adapters._distance import distance_joint
from regularize.adapters._ground import free_joint, parts
from regularize.adapters._joint_position import joint_position
from regularize.adapters._names import listed, unique
from regularize.adapters._usd_body import Places, inertia_of, shapes_of
from regularize.adapters._usd_joint import motion
from regularize.diagnostic import Diagnostic, Severity, Source
from regularize.errors import ReadError
from regularize.mechanism import Body, Coupling, Joint, Mechanism
from regularize.screw import Array, inverse

WORLD = "world"
EARTH = 9.81
_FAULT = re.compile(r":(\d+):\d+: (.*?)(?:' Error in|$)")  # line and message
MIMICS = ("PhysxMimicJointAPI", "NewtonMimicAPI")


@dataclass(eq=False)
class Stage:
    """A stage while it is being read.

    Attributes:
        path: The file as the user named it.
        places: Poses of prims.
        names: Name of each body by the path of its prim.
        joint_names: Name of each joint by the path of its prim.
        prims: Prim of each body by name.
        joints: Joints so far, by name.
        freedoms: Names of each joint's freedoms, as in ``rotX``.
        couplings: Couplings so far.
        findings: What was noticed.
    """

    path: str
    places: Places
    names: dict[str, str] = field(default_factory=dict)
    joint_names: dict[str, str] = field(default_factory=dict)
    prims: dict[str, Any] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    freedoms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    couplings: list[Coupling] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)

    def source(self, prim: Any) -> Source:
        """Where a prim stands."""
        return Source(self.path, element=str(prim.GetPath()))

    def error(self, prim: Any, reason: str) -> ReadError:
        """The error to raise about a prim."""
        return ReadError(self.path, reason, element=str(prim.GetPath()))

    def note(
        self, code: str, severity: Severity, message: str, prim: Any = None, *help: str
    ) -> None:
        """Add a finding."""
        source = Source(self.path) if prim is None else self.source(prim)
        self.findings.append(Diagnostic(code, severity, message, source=source, help=help))

    def pose(self, body: str) -> Array:
        """World pose of a body in metres."""
        return np.eye(4) if body == WORLD else self.places.pose(self.prims[body])


def read(path: str) -> Mechanism:
    """Read a USD stage with physics.

    Args:
        path: The file (``.usd``, ``.usda``, ``.usdc`` or ``.usdz``).

    Raises:
        ReadError: The file is not USD, or has no rigid bodies.
    """
    stage = _open(path)
    unit, kilogram = _units(stage)
    reading = Stage(path, Places(unit))
    prims = [*stage.Traverse()]
    rigid = [prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    if not rigid:
        raise ReadError(
            path, "has no rigid body (PhysicsRigidBodyAPI); export the stage with physics"
        )
    _report_units(stage, reading)
    short = [prim.GetName() for prim in rigid]
    for prim in rigid:
        name = prim.GetName()
        if short.count(name) > 1:
            name = str(prim.GetPath()).lstrip("/")
        reading.names[str(prim.GetPath())] = unique(name, {WORLD, *reading.prims})
        reading.prims[reading.names[str(prim.GetPath())]] = prim
    joints = [prim for prim in prims if prim.IsA(UsdPhysics.Joint)]
    for prim in joints:
        _join(prim, reading)
    for prim in joints:
        _couple(prim, reading)
    bodies = _bodies(reading, kilogram)
    _hold(reading)
    _float(reading, bodies)
    return Mechanism(
        name=stage.GetDefaultPrim().GetName() if stage.GetDefaultPrim() else Path(path).stem,
        bodies=tuple(bodies),
        joints=tuple(reading.joints.values()),
        couplings=tuple(reading.couplings),
        ground=WORLD,
        gravity=_gravity(stage, prims, unit),
        findings=tuple(reading.findings),
        path=path,
        format="usd",
    )


def _open(path: str) -> Any:
    try:
        return Usd.Stage.Open(path)
    except Tf.ErrorException as error:
        reason = " ".join(str(error).split())
        fault = _FAULT.search(reason)
        if fault is None:
            raise ReadError(path, f"USD cannot open it: {reason[:200]}") from error
        found = re.sub(r"pxrInternal\S*::", "", fault[2])
        raise ReadError(path, f"USD cannot read it: {found}", line=int(fault[1])) from error


def _units(stage: Any) -> tuple[float, float]:
    return (
        float(UsdGeom.GetStageMetersPerUnit(stage)),
        float(UsdPhysics.GetStageKilogramsPerUnit(stage)),
    )


def _report_units(stage: Any, reading: Stage) -> None:
    unit, kilogram = _units(stage)
    if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        reading.note(
            "REG012",
            "warning",
            "the stage does not say what its length unit is: read as centimetres, USD's default",
            None,
            "write metersPerUnit into the stage",
        )
    elif not math.isclose(unit, 1.0) or not math.isclose(kilogram, 1.0):
        reading.note(
            "REG012",
            "note",
            f"units of {unit:g} m and {kilogram:g} kg converted to metres and kilograms",
        )
    if str(UsdGeom.GetStageUpAxis(stage)) == "Y":
        reading.note("REG012", "note", "up is Y on this stage: gravity points along -Y")


def _gravity(stage: Any, prims: list[Any], unit: float) -> Array:
    down: Array = -np.eye(3)["XYZ".index(str(UsdGeom.GetStageUpAxis(stage)))]
    scenes = [prim for prim in prims if prim.IsA(UsdPhysics.Scene)]
    if not scenes:
        return down * EARTH
    scene = UsdPhysics.Scene(scenes[0])
    direction = np.array(scene.GetGravityDirectionAttr().Get(), dtype=np.float64)
    magnitude = float(scene.GetGravityMagnitudeAttr().Get())
    size = EARTH if not math.isfinite(magnitude) or magnitude < 0.0 else magnitude * unit
    length = float(np.linalg.norm(direction))
    toward: Array = down if length == 0.0 else direction / length
    return toward * size


def _side(prim: Any, index: int, reading: Stage) -> tuple[str, Array, bool]:
    """Body, world pose of the joint's frame on it, and whether the file names a target."""
    joint = UsdPhysics.Joint(prim)
    targets = (joint.GetBody0Rel(), joint.GetBody1Rel())[index].GetTargets()
    position = (joint.GetLocalPos0Attr(), joint.GetLocalPos1Attr())[index].Get()
    rotation = (joint.GetLocalRot0Attr(), joint.GetLocalRot1Attr())[index].Get()
    if not targets:
        return WORLD, reading.places.frame(None, position, rotation), False
    target = prim.GetStage().GetPrimAtPath(targets[0])
    if not target:
        raise reading.error(prim, f"body{index} names {targets[0]}, which does not exist")
    frame = reading.places.frame(target, position, rotation)
    carrier = target
    while carrier and str(carrier.GetPath()) not in reading.names:
        carrier = carrier.GetParent()
    return (reading.names[str(carrier.GetPath())] if carrier else WORLD), frame, True


def _join(prim: Any, reading: Stage) -> None:
    schema = UsdPhysics.Joint(prim)
    name = unique(prim.GetName(), reading.joints)
    if not schema.GetJointEnabledAttr().Get():
        reading.note("REG013", "note", f"joint `{name}` is disabled: not read", prim)
        return
    (parent, T_parent, _), (child, T_child, _) = (_side(prim, i, reading) for i in (0, 1))
    if parent == child:
        reading.note(
            "REG013", "warning", f"joint `{name}` joins `{parent}` to itself: not read", prim
        )
        return
    T_parent = inverse(reading.pose(parent)) @ T_parent
    T_child = inverse(reading.pose(child)) @ T_child
    closure = bool(schema.GetExcludeFromArticulationAttr().Get())
    if str(prim.GetTypeName()) == "PhysicsDistanceJoint":
        rod = _rod(prim, name, parent, child, T_parent, T_child, reading)
        if rod is not None:
            reading.joints[name] = replace(rod, closure=closure)
        return
    moves = motion(prim, reading.places.unit)
    joint = Joint(
        name,
        parent,
        child,
        moves.kind,
        moves.screws,
        T_parent,
        T_child,
        actuated=any(
            api.startswith("PhysicsDriveAPI")
            for api in prim.GetPrimTypeInfo().GetAppliedAPISchemas()
        ),
        closure=closure,
        limits=moves.limits,
        source=reading.source(prim),
    )
    T = inverse(reading.pose(parent) @ T_parent) @ reading.pose(child) @ T_child
    reading.joints[name] = replace(joint, position=joint_position(joint, T))
    reading.joint_names[str(prim.GetPath())] = name
    reading.freedoms[name] = moves.names


def _rod(
    prim: Any, name: str, parent: str, child: str, T_parent: Array, T_child: Array, reading: Stage
) -> Joint | None:
    """A distance joint, if it keeps one distance; None for one that only bounds it."""
    schema = UsdPhysics.DistanceJoint(prim)
    low, high = schema.GetMinDistanceAttr().Get(), schema.GetMaxDistanceAttr().Get()
    if low < 0.0 or low != high:
        reading.note(
            "REG013",
            "warning",
            f"distance joint `{name}` bounds the distance from {low:g} to {high:g} and keeps no "
            "equation: not read",
            prim,
        )
        return None
    place = inverse(reading.pose(parent)) @ reading.pose(child) @ T_child
    return distance_joint(
        name,
        parent,
        child,
        T_parent[:3, 3],
        T_child[:3, 3],
        place[:3, 3],
        float(low) * reading.places.unit,
        reading.source(prim),
    )


def _couple(prim: Any, reading: Stage) -> None:
    r"""Add PhysX mimics: :math:`q + g\,q_{reference} + c = 0`, angles in degrees."""
    name = reading.joint_names.get(str(prim.GetPath()))
    for api in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
        schema, _, axis = api.partition(":")
        if schema not in MIMICS or name is None:
            continue
        if schema != MIMICS[0]:
            reading.note("REG302", "warning", f"{schema} of joint `{name}` is not read", prim)
            continue
        stem = f"physxMimicJoint:{axis}"
        targets = prim.GetRelationship(f"{stem}:referenceJoint").GetTargets()
        leader = reading.joint_names.get(str(targets[0])) if targets else None
        if leader is None:
            raise reading.error(prim, f"{stem}:referenceJoint names no joint of the stage")
        named = prim.GetAttribute(f"{stem}:referenceJointAxis").Get()
        follower_index = _index(reading.freedoms[name], axis)
        leader_index = _index(reading.freedoms[leader], str(named) if named else None)
        gear = float(prim.GetAttribute(f"{stem}:gearing").Get() or 0.0)
        offset = float(prim.GetAttribute(f"{stem}:offset").Get() or 0.0)
        rotary = reading.freedoms[name][follower_index].startswith("rot")
        scale = math.pi / 180.0 if rotary else reading.places.unit
        reading.couplings.append(
            Coupling(
                name,
                "mimic",
                ((name, follower_index, 1.0), (leader, leader_index, gear)),
                -offset * scale,
                reading.source(prim),
            )
        )


def _index(freedoms: tuple[str, ...], axis: str | None) -> int:
    return freedoms.index(axis) if axis in freedoms else 0


def _bodies(reading: Stage, kilogram: float) -> list[Body]:
    owners = set(reading.names)
    bodies = [Body(WORLD, source=Source(reading.path))]
    silent = []
    for name, prim in reading.prims.items():
        inertia = inertia_of(prim, reading.places, kilogram)
        if inertia is None:
            silent.append(name)
        shapes = shapes_of(prim, reading.places, owners)
        bodies.append(Body(name, inertia, shapes, reading.source(prim)))
    if silent:
        reading.note(
            "REG014",
            "note",
            f"no complete mass properties: {listed(silent)}",
            reading.prims[silent[0]],
            "write mass, centerOfMass and diagonalInertia, or give a density",
        )
    return bodies


def _hold(reading: Stage) -> None:
    """Fix what an animation moves, or what is no dynamic body, to the world."""
    for name, prim in reading.prims.items():
        api = UsdPhysics.RigidBodyAPI(prim)
        if api.GetRigidBodyEnabledAttr().Get() and not api.GetKinematicEnabledAttr().Get():
            continue
        joint = unique(f"{name}_fixed", reading.joints)
        reading.joints[joint] = Joint(
            joint,
            WORLD,
            name,
            "fixed",
            np.zeros((6, 0)),
            reading.pose(name),
            source=reading.source(prim),
        )
        reading.note(
            "REG013",
            "note",
            f"`{name}` is no dynamic body (kinematic, or disabled): read as fixed to the world",
            prim,
        )


def _float(reading: Stage, bodies: list[Body]) -> None:
    children = {joint.child for joint in reading.joints.values() if not joint.closure}
    for part in parts(bodies, reading.joints.values()):
        if any(body.name == WORLD for body in part):
            continue
        base = next((body for body in part if body.name not in children), part[0])
        name = unique(f"floating_base_{base.name}", reading.joints)
        joint = free_joint(name, WORLD, base)
        reading.joints[name] = replace(joint, T_parent_joint=reading.pose(base.name))
        reading.findings.append(
            Diagnostic(
                "REG103",
                "note",
                f"nothing joins `{base.name}` to the world: it moves freely, by the 6-freedom "
                f"base joint `{name}`",
                joints=(name,),
                source=base.source,
                help=("add a fixed joint to the world if it stands still",),
            )
        )
