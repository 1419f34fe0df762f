"""USD Physics stages, through ``usd-core``.

The poses on the stage are the reference pose; joint coordinates are those that lead from one of a
joint's frames to the other. The ground is the world; bodies that nothing joins to it move freely.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from pxr import UsdPhysics

from regularize.adapters.common.ground import free_joint, parts
from regularize.adapters.common.names import listed, unique
from regularize.adapters.usd.body import Places, inertia_of, shapes_of
from regularize.adapters.usd.gears import mesh
from regularize.adapters.usd.joint import couple, join
from regularize.adapters.usd.stage import (
    WORLD,
    Stage,
    gravity,
    open_stage,
    report_units,
    units,
)
from regularize.errors import ReadError
from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import Body, Joint, Mechanism


def read(path: str) -> Mechanism:
    """Read a USD stage with physics.

    Args:
        path: The file (``.usd``, ``.usda``, ``.usdc`` or ``.usdz``).

    Raises:
        ReadError: The file is not USD, or has no rigid bodies.
    """
    stage = open_stage(path)
    unit, kilogram = units(stage)
    reading = Stage(path, Places(unit))
    prims = [*stage.Traverse()]
    rigid = [prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    if not rigid:
        raise ReadError(
            path, "has no rigid body (PhysicsRigidBodyAPI); export the stage with physics"
        )
    report_units(stage, reading)
    short = [prim.GetName() for prim in rigid]
    for prim in rigid:
        name = prim.GetName()
        if short.count(name) > 1:
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
    bodies = _bodies(reading, kilogram)
    _hold(reading)
    _float(reading, bodies)
    return Mechanism(
        name=stage.GetDefaultPrim().GetName() if stage.GetDefaultPrim() else Path(path).stem,
        bodies=tuple(bodies),
        joints=tuple(reading.joints.values()),
        couplings=tuple(reading.couplings),
        ground=WORLD,
        gravity=gravity(stage, prims, unit),
        findings=tuple(reading.findings),
        path=path,
        format="usd",
    )


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
