r"""Gears and racks of PhysX on a USD stage, as couplings of the joints that they name.

With :math:`\theta` the rotation of a body of the gear joint about the X axis of the joint's frame
on it, :math:`x` the travel of the second body along that axis, and :math:`r` the ratio, PhysX
keeps :math:`r\,\theta_0 + \theta_1` constant for gears, and :math:`\theta_0 - r\,x` for a rack,
where :math:`r` is in degrees per unit of length and has the sign with which the rack rolls off.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from regularize.adapters.usd.precise import value_of
from regularize.adapters.usd.stage import Stage, target_of
from regularize.lie.screw import Array
from regularize.model.mechanism import Joint

GEAR, RACK = "PhysxPhysicsGearJoint", "PhysxPhysicsRackAndPinionJoint"
#: Attribute of the ratio, and relationships to the two joints.
NAMES = {
    GEAR: ("physics:gearRatio", "physics:hinge0", "physics:hinge1"),
    RACK: ("physics:ratio", "physics:hinge", "physics:prismatic"),
}


def mesh(prim: Any, reading: Stage) -> None:
    """Add the coupling of a gear or rack prim; say so if a joint of another type is not read."""
    kind, name = str(prim.GetTypeName()), str(prim.GetName())
    source = reading.source(prim)
    if kind not in NAMES:
        reading.unread(f"joint `{name}` of type {kind} is not read", source)
        return
    ratio_name, *joint_names = NAMES[kind]
    ratio = float(value_of(prim, ratio_name, 1.0))
    joints = [_joint(prim, relation, reading) for relation in joint_names]
    bodies = [target_of(prim, f"physics:body{k}") for k in (0, 1)]
    frames = [reading.frame(prim, k) for k in (0, 1)]
    signs = [
        None
        if joint is None
        else _sign(joint, reading.names.get(body or ""), frame[:3, 0], reading)
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
        slope = math.radians(ratio) / reading.places.unit * _rolling(*frames)
        terms = ((first.name, 0, float(one)), (second.name, 0, -slope * two))
    reading.couple(name, "gear" if kind == GEAR else "rack", terms, reading.value(terms), source)


def _joint(prim: Any, name: str, reading: Stage) -> Joint | None:
    """The joint that a relationship names, if it is one of one freedom."""
    joint = reading.joints.get(reading.joint_names.get(target_of(prim, name) or "", ""))
    return joint if joint is not None and joint.freedoms == 1 else None


def _sign(joint: Joint, body: str | None, axis: Array, reading: Stage) -> int | None:
    """How a joint's coordinate counts for the motion of a body along or about an axis."""
    if body not in (joint.parent, joint.child):
        return None
    R = (reading.pose(joint.parent) @ joint.T_parent_joint)[:3, :3]
    screw = joint.screws[:, 0]
    own = R @ (screw[3:] if np.any(screw[3:]) else screw[:3])
    along = float(own @ axis)
    if abs(abs(along) - 1.0) > 1e-4:
        return None
    return round(along) * (1 if body == joint.child else -1)


def _rolling(T_pinion: Array, T_rack: Array) -> float:
    """Sign with which a rack moves along its axis as the pinion turns, by where it lies."""
    delta = T_rack[:3, 3] - T_pinion[:3, 3]
    speed = float(np.cross(T_pinion[:3, 0], delta) @ T_rack[:3, 0])
    return math.copysign(1.0, speed) if abs(speed) > 1e-3 * float(np.linalg.norm(delta)) else 1.0
