"""Joint prims of a USD stage as joints and couplings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from pxr import UsdPhysics

from regularize.adapters.common.distance import distance_joint
from regularize.adapters.common.joint_position import joint_position
from regularize.adapters.common.names import unique
from regularize.adapters.usd.motion import motion
from regularize.adapters.usd.stage import WORLD, Stage
from regularize.lie.screw import Array, inverse
from regularize.model.mechanism import Coupling, Joint

MIMICS = ("PhysxMimicJointAPI", "NewtonMimicAPI")


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


def join(prim: Any, reading: Stage) -> None:
    """Add the joint or the coupling that a joint prim describes."""
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


def couple(prim: Any, reading: Stage) -> None:
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
