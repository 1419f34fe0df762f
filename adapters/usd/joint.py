"""Joint prims of a USD stage as joints and couplings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from pxr import UsdPhysics

from regularize.adapters.common.distance import distance_joint
from regularize.adapters.common.draft import WORLD, Side, joint_between
from regularize.adapters.usd.joint_values import JointValues
from regularize.adapters.usd.motion import motion
from regularize.adapters.usd.precise import name_of, value_of
from regularize.adapters.usd.stage import Stage, target_of
from regularize.lie.screw import inverse
from regularize.model.joint_motion import joint_position

MIMICS = ("PhysxMimicJointAPI", "NewtonMimicAPI")


def _side(prim: Any, index: int, reading: Stage) -> Side:
    """Body, and the joint's frame on it; the world where the file names no target."""
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
    moves = motion(prim, reading.places.unit)
    schemas = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    joint = joint_between(
        name,
        moves.kind,
        first,
        second,
        moves.screws,
        actuated=any(schema.startswith("PhysicsDriveAPI") for schema in schemas),
        closure=closure,
        limits=moves.limits,
        source=source,
    )
    position = joint_position(joint, reading.between(first, second))
    values = JointValues(prim, moves.names, reading)
    reading.joints[name] = values.apply(replace(joint, position=position))
    values.add_drives(joint)
    reading.joint_names[str(prim.GetPath())] = name
    reading.freedoms[name] = moves.names


def _length(prim: Any, name: str, reading: Stage) -> float | None:
    """The distance that a distance joint keeps, metres; None for one that only bounds it."""
    schema = UsdPhysics.DistanceJoint(prim)
    low, high = schema.GetMinDistanceAttr().Get(), schema.GetMaxDistanceAttr().Get()
    if low < 0.0 or low != high:
        reading.unread(
            f"distance joint `{name}` bounds the distance from {low:g} to {high:g} and keeps no "
            "equation: not read",
            reading.source(prim),
        )
        return None
    return float(low) * reading.places.unit


def couple(prim: Any, reading: Stage) -> None:
    r"""Add PhysX mimics: :math:`q + g\,q_{reference} + c = 0`, angles in degrees."""
    name = reading.joint_names.get(str(prim.GetPath()))
    for api in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
        schema, _, axis = api.partition(":")
        if schema not in MIMICS or name is None:
            continue
        if schema != MIMICS[0]:
            reading.warn("REG302", f"{schema} of joint `{name}` is not read", reading.source(prim))
            continue
        stem = f"physxMimicJoint:{axis}"
        targets = prim.GetRelationship(f"{stem}:referenceJoint").GetTargets()
        leader = reading.joint_names.get(str(targets[0])) if targets else None
        if leader is None:
            raise reading.at(prim).error(f"{stem}:referenceJoint names no joint of the stage")
        named = prim.GetAttribute(f"{stem}:referenceJointAxis").Get()
        follower_index = _index(reading.freedoms[name], axis)
        leader_index = _index(reading.freedoms[leader], str(named) if named else None)
        gear = float(value_of(prim, f"{stem}:gearing", 0.0))
        offset = float(value_of(prim, f"{stem}:offset", 0.0))
        rotary = reading.freedoms[name][follower_index].startswith("rot")
        scale = math.pi / 180.0 if rotary else reading.places.unit
        terms = ((name, follower_index, 1.0), (leader, leader_index, gear))
        reading.couple(name, "mimic", terms, -offset * scale, reading.source(prim))


def _index(freedoms: tuple[str, ...], axis: str | None) -> int:
    return freedoms.index(axis) if axis in freedoms else 0
