"""USD Physics stages, through ``usd-core``.

The poses on the stage are the reference pose; joint coordinates are those that lead from one of a
joint's frames to the other. The ground is the world; bodies that nothing joins to it move freely.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pxr import Sdf, Usd, UsdPhysics

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.validation import with_external_files
from regularize.adapters.objects import ObjectDocument
from regularize.adapters.usd.joint import couple, join, mesh
from regularize.adapters.usd.joint_values import TYPE, read_motors
from regularize.adapters.usd.prims import name_of
from regularize.adapters.usd.stage import (
    Places,
    Stage,
    check_values,
    faults_of,
    gravity,
    inertia_of,
    open_stage,
    report_units,
    shapes_of,
    units,
)
from regularize.errors import ReadError
from regularize.escape import listed, unique
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.mechanism import Body, Mechanism


def read(path: str) -> Mechanism:
    """Read a USD stage with physics."""
    with faults_of(path):
        stage = open_stage(path)
        layers = [layer.realPath for layer in stage.GetUsedLayers()]
        return with_external_files(_read(path, stage), layers)


def _read(path: str, stage: Any) -> Mechanism:
    unit, kilogram = units(stage)
    top = stage.GetDefaultPrim()
    name = top.GetName() if top else Path(path).stem
    reading = Stage(path, name, places=Places(unit))
    prims = [*stage.Traverse()]
    check_values(prims, path)
    rigid = [prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    if not rigid:
        raise ReadError(
            path, "has no rigid body (PhysicsRigidBodyAPI); export the stage with physics"
        )
    report_units(stage, reading)
    short = [name_of(prim) for prim in rigid]
    for prim in rigid:
        name = name_of(prim)
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
    read_motors([prim for prim in prims if str(prim.GetTypeName()) == TYPE], reading)
    _add_bodies(reading, kilogram)
    _hold(reading)
    reading.ground_parts(reading.pose, usual=True)
    return reading.mechanism("usd", gravity(stage, prims, unit))


def _add_bodies(reading: Stage, kilogram: float) -> None:
    owners = set(reading.names)
    reading.bodies[WORLD] = Body(WORLD, source=Source(str(reading.path)))
    silent = []
    for name, prim in reading.prims.items():
        inertia = inertia_of(prim, reading.places, kilogram)
        if inertia is None:
            silent.append(name)
        shapes = shapes_of(prim, reading.places, owners, kilogram)
        reading.bodies[name] = Body(name, inertia, shapes, reading.source(prim))
    if silent:
        reading.note(
            "REG014",
            f"no complete mass properties: {listed(silent)}",
            reading.source(reading.prims[silent[0]]),
            "write mass, centerOfMass and diagonalInertia, or give a density",
        )


def _hold(reading: Stage) -> None:
    """Fix what an animation moves, or what is no dynamic body, to the world."""
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
    """A stage, with what it is composed of in one layer."""

    format = "usd"

    def __init__(self, stage: Any) -> None:
        self._stage = stage
        layer = stage.GetRootLayer()
        self.label = layer.realPath or f"<stage {layer.GetDisplayName() or layer.identifier}>"

    def write(self, folder: Path) -> Path:
        """One layer of text; references to other files become absolute."""
        path = folder / "stage.usda"
        self._stage.Flatten().Export(str(path))
        return path

    def parse(self, path: Path) -> Any:
        """A stage on an anonymous layer."""
        layer = Sdf.Layer.CreateAnonymous(path.name)
        layer.ImportFromString(path.read_text(encoding="utf-8"))
        return Usd.Stage.Open(layer)

    def source(self, source: Source | None) -> Source | None:
        """The path of the prim."""
        return source and Source(self.label, None, source.element)
