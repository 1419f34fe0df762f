"""A USD stage while it is being read: its layers, units, gravity and bodies, and what was found."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade

from regularize.adapters.common.draft import WORLD, Draft, Side
from regularize.adapters.common.input_files import check_regular
from regularize.adapters.common.quantities import principal, rotation_quaternion
from regularize.adapters.common.values import FilePlace
from regularize.adapters.usd.prims import FILE, get, numbers, value_of
from regularize.errors import ReadError
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, transform
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.mechanism import Geometry, Inertia

#: Prims that a stage may come to; a few lines of references of references can ask for any number.
MOST = 1_000_000


@dataclass(eq=False)
class Layers:
    """What a stage is composed of; instances count as one prim."""

    path: str  # the file as the user named it
    known: dict[tuple[str, str], int] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)

    def check(self) -> None:
        """Raise ``ReadError`` where a layer is no regular file, or there are too many prims."""
        self.held.append(Sdf.Layer.FindOrOpen(self.path))
        if self.held[0] is None:  # without an error only where there is no such file
            raise ReadError(self.path, "is gone; USD finds no file of this name")
        self._prims(self.held[0], "/")

    def _prims(self, layer: Any, path: Any) -> int:
        """How many prims one comes to, itself and copies of others below it included."""
        key = layer.identifier, str(path)
        if key in self.known:
            return self.known[key]
        self.known[key] = 1  # where it leads back here, which USD says itself
        found = [each.GetPrimAtPath(path) for each in self._stack(layer, set())]
        specs = [spec for spec in found if spec]
        inside = {str(child.path) for spec in specs for child in spec.nameChildren}
        total = 1 + sum(self._prims(layer, each) for each in sorted(inside))
        for spec in specs:
            for variants in spec.variantSets.values() if path != "/" else ():
                ways = [each.primSpec.path for each in variants.variantList]
                total += max((self._prims(layer, each) for each in ways), default=0)
            lists = (spec.referenceList, spec.payloadList) if path != "/" else ()
            for arc in (arc for each in lists for arc in each.GetAddedOrExplicitItems()):
                other = self._opened(layer, arc.assetPath) if arc.assetPath else layer
                if other is not None:
                    total += self._prims(other, arc.primPath or f"/{other.defaultPrim}")
            bases = (spec.inheritPathList, spec.specializesList) if path != "/" else ()
            for base in (base for each in bases for base in each.GetAddedOrExplicitItems()):
                total += self._prims(layer, base)
        if total > MOST:
            raise ReadError(self.path, f"comes to more than {MOST} prims", element=str(path))
        self.known[key] = 1 if path != "/" and any(spec.instanceable for spec in specs) else total
        return self.known[key]

    def _stack(self, layer: Any, seen: set[str]) -> Iterator[Any]:
        """A layer and those below it."""
        if layer is not None and layer.identifier not in seen:
            seen.add(layer.identifier)
            yield layer
            for each in layer.subLayerPaths:
                yield from self._stack(self._opened(layer, each), seen)

    def _opened(self, layer: Any, name: str) -> Any:
        """Another layer; None where USD finds or understands none and says so itself."""
        place = Sdf.ComputeAssetPathRelativeToLayer(layer, name).partition(":SDF_FORMAT_ARGS:")[0]
        if os.path.exists(place):
            check_regular(place)
        try:
            self.held.append(Sdf.Layer.FindOrOpen(place))
        except Tf.ErrorException:
            return None
        return self.held[-1]


EARTH = 9.81
#: Attributes that place something, by the beginnings of their names.
PLACES = (
    "xformOp:",
    "physics:localPos",
    "physics:localRot",
    "physics:centerOfMass",
    "physics:principalAxes",
    "physics:diagonalInertia",
)
_FAULT = re.compile(r":(\d+):\d+: (.*?)(?:' Error in|$)")  # line and message
#: Primitive shapes: their attributes for the size, and the axis that they stand along.
ROUND = ("Cylinder", "Capsule")


@dataclass(eq=False)
class Stage(Draft):
    """A stage while it is being read."""

    places: Places = field(kw_only=True)  # poses of prims
    names: dict[str, str] = field(default_factory=dict)  # name of each body by the path of its prim
    joint_names: dict[str, str] = field(default_factory=dict)
    prims: dict[str, Any] = field(default_factory=dict)  # prim of each body by name
    freedoms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def at(self, prim: Any) -> FilePlace:
        """Where a prim stands."""
        return FilePlace(str(self.path), str(prim.GetPath()))

    def source(self, prim: Any) -> Source:
        """Where a prim stands, for what is made of it."""
        return self.at(prim).source

    def pose(self, body: str) -> Array:
        """World pose of a body in metres."""
        return np.eye(4) if body == WORLD else self.places.pose(self.prims[body])

    def frame(self, prim: Any, index: int) -> Array:
        """The frame of a joint prim on one of its bodies, or on the world, in the world."""
        body = target_of(prim, f"physics:body{index}")
        target = prim.GetStage().GetPrimAtPath(body) if body else None
        position = value_of(prim, f"physics:localPos{index}", (0.0, 0.0, 0.0))
        rotation = value_of(prim, f"physics:localRot{index}", None)
        return self.places.frame(target or None, position, rotation)

    def between(self, first: Side, second: Side) -> Array:
        """The second frame seen from the first one on the stage, shape (4, 4)."""
        (parent, T_parent), (child, T_child) = first, second
        return inverse(self.pose(parent) @ T_parent) @ self.pose(child) @ T_child


def target_of(prim: Any, name: str) -> str | None:
    """Path of the first prim that a relationship names; None where it names none."""
    targets = prim.GetRelationship(name).GetTargets() if prim.HasRelationship(name) else []
    return str(targets[0]) if targets else None


def open_stage(path: str) -> Any:
    """The stage in a file; raises ``ReadError`` with USD's own reason and line."""
    with faults_of(path):
        layers = Layers(path)
        layers.check()
        stage = Usd.Stage.Open(path)
        stage.Reload()  # USD keeps layers that somebody holds, even where their files have changed
        return stage


@contextmanager
def faults_of(path: str) -> Iterator[None]:
    """What USD stumbles over, as faults of the file; it looks at most values only when asked."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ReadError(path, f"holds text that is not UTF-8 ({error.object!r:.40})") from error
    except Tf.ErrorException as error:
        reason = " ".join(str(error).split())
        fault = _FAULT.search(reason)
        found = re.sub(r"pxrInternal\S*::", "", reason if fault is None else fault[2])
        line = None if fault is None else int(fault[1])
        raise ReadError(path, f"USD cannot read it: {found[:200]}", line=line) from error


def check_values(prims: Iterable[Any], path: str) -> None:
    """Refuse attributes whose values are of no use to anybody."""
    for prim in prims:
        for attribute in prim.GetAuthoredAttributes():
            name, value = str(attribute.GetName()), attribute.Get()
            where = str(attribute.GetPath())
            if type(value).__name__ == "UnregisteredValue":
                kind = attribute.GetTypeName()
                raise ReadError(path, f"its value is none of the type {kind}", element=where)
            if name.startswith(PLACES) and not np.all(np.isfinite(numbers(value))):
                raise ReadError(path, "its value is not finite; correct it", element=where)


def units(stage: Any) -> tuple[float, float]:
    """Metres per unit of length and kilograms per unit of mass."""
    return (
        float(UsdGeom.GetStageMetersPerUnit(stage)),
        float(UsdPhysics.GetStageKilogramsPerUnit(stage)),
    )


def report_units(stage: Any, reading: Stage) -> None:
    """Note units that were converted or assumed."""
    unit, kilogram = units(stage)
    if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        reading.warn(
            "REG012",
            "the stage does not say what its length unit is: read as centimetres, USD's default",
            None,
            "write metersPerUnit into the stage",
        )
    elif not math.isclose(unit, 1.0) or not math.isclose(kilogram, 1.0):
        reading.note(
            "REG012", f"units of {unit:g} m and {kilogram:g} kg converted to metres and kilograms"
        )
    if str(UsdGeom.GetStageUpAxis(stage)) == "Y":
        reading.note("REG012", "up is Y on this stage: gravity points along -Y")


def gravity(stage: Any, prims: list[Any], unit: float) -> Array:
    """Acceleration of free fall in m/s², shape (3,)."""
    down: Array = -np.eye(3)["XYZ".index(str(UsdGeom.GetStageUpAxis(stage)))]
    scenes = [prim for prim in prims if prim.IsA(UsdPhysics.Scene)]
    if not scenes:
        return down * EARTH
    scene = UsdPhysics.Scene(scenes[0])
    direction = np.array(get(scene.GetGravityDirectionAttr()), dtype=np.float64)
    magnitude = float(get(scene.GetGravityMagnitudeAttr()))
    size = EARTH if not math.isfinite(magnitude) or magnitude < 0.0 else magnitude * unit
    length = float(np.linalg.norm(direction))
    toward: Array = down if length == 0.0 else direction / length
    return toward * size


class Places:
    """Poses of the prims of a stage, in metres and without scale."""

    def __init__(self, unit: float) -> None:
        """Take the length unit of the stage in metres."""
        self.unit = unit
        self._cache = UsdGeom.XformCache(Usd.TimeCode.Default())

    def matrix(self, prim: Any) -> Array:
        """Local to world with scale, for columns, lengths in stage units, shape (4, 4)."""
        return np.array(self._cache.GetLocalToWorldTransform(prim)).T

    def pose(self, prim: Any) -> Array:
        """Frame of a prim in the world in metres, shape (4, 4)."""
        matrix = self.matrix(prim)
        if not np.all(np.isfinite(matrix)):
            path = prim.GetStage().GetRootLayer().realPath
            where = str(prim.GetPath())
            raise ReadError(path, "its place is not finite; correct its transform", element=where)
        u, _, vt = np.linalg.svd(matrix[:3, :3] * self._signs(prim))
        # The rotation nearest to the scaled one.
        return transform(u @ vt, self.unit * matrix[:3, 3])

    def scale(self, prim: Any) -> Array:
        """Lengths of the axes in stage units, negative where they are mirrored, shape (3,)."""
        return np.asarray(np.linalg.norm(self.matrix(prim)[:3, :3], axis=0)) * self._signs(prim)

    def _signs(self, prim: Any) -> Array:
        """Axes that are mirrored, those that the prim's own scale mirrors where it does."""
        if np.linalg.det(self.matrix(prim)[:3, :3]) >= 0.0:
            return np.ones(3)
        for op in UsdGeom.Xformable(prim).GetOrderedXformOps():
            if op.GetOpType() == UsdGeom.XformOp.TypeScale:
                signs = np.sign(np.array(op.Get(), dtype=np.float64))
                if np.prod(signs) < 0.0:
                    return np.asarray(signs)
        return np.array([-1.0, 1.0, 1.0])

    def frame(self, prim: Any | None, position: Any, rotation: Any) -> Array:
        """A frame given in a prim, or in the world where there is none; world, metres."""
        point = np.array(position, dtype=np.float64)
        turn = np.eye(3) if rotation is None else quaternion(rotation)
        if prim is None:
            return transform(turn, self.unit * point)
        matrix = self.matrix(prim)
        place = self.unit * (matrix[:3, :3] @ point + matrix[:3, 3])
        return transform(self.pose(prim)[:3, :3] @ turn, place)


def quaternion(value: Any) -> Array:
    """Rotation matrix of a USD quaternion; the identity for the zero quaternion."""
    w, (x, y, z) = float(value.GetReal()), (float(c) for c in value.GetImaginary())
    if w == x == y == z == 0.0:
        return np.eye(3)
    return rotation_quaternion(x, y, z, w)


def inertia_of(prim: Any, places: Places, kilogram: float) -> Inertia | None:
    """Mass properties, where the prim gives mass, centre of mass and inertia itself."""
    if not prim.HasAPI(UsdPhysics.MassAPI):
        return None
    api = UsdPhysics.MassAPI(prim)
    mass = float(get(api.GetMassAttr()) or 0.0)
    center = np.array(get(api.GetCenterOfMassAttr()), dtype=np.float64)
    diagonal = np.array(get(api.GetDiagonalInertiaAttr()), dtype=np.float64)
    if mass <= 0.0 or not np.all(np.isfinite(center)) or not np.any(diagonal):
        return None
    R = quaternion(get(api.GetPrincipalAxesAttr()))
    matrix = principal(R, kilogram * places.unit**2 * diagonal)
    return Inertia(kilogram * mass, places.unit * places.scale(prim) * center, matrix)


def shapes_of(prim: Any, places: Places, owners: set[str], kilogram: float) -> tuple[Geometry, ...]:
    """Shapes of a body; those below another rigid body belong to that one."""
    T_body = inverse(places.pose(prim))
    shapes, pending = [], [prim]
    while pending:
        each = pending.pop(0)
        pending += [child for child in each.GetChildren() if str(child.GetPath()) not in owners]
        shape = _shape(each, places)
        if shape is None:
            continue
        kind, size, turn = shape
        shapes.append(
            Geometry(
                kind,
                size,
                T_body @ places.pose(each) @ transform(turn),
                str(each.GetCustomDataByKey(FILE) or each.GetPath()) if kind == "mesh" else None,
                _color(each),
                collision=bool(each.HasAPI(UsdPhysics.CollisionAPI)),
                density=_density(each, prim, kilogram / places.unit**3),
                friction=_friction(each),
            )
        )
    return tuple(shapes)


def _color(prim: Any) -> tuple[float, float, float, float] | None:
    gprim = UsdGeom.Gprim(prim)
    color = gprim.GetDisplayColorAttr().Get() if gprim else None
    if color is None or not len(color):
        return None
    opacity = gprim.GetDisplayOpacityAttr().Get() or [1.0]
    red, green, blue = (float(value) for value in color[0])
    return red, green, blue, float(opacity[0])


def _density(shape: Any, body: Any, unit: float) -> float | None:
    """Density of a collider in kg/m³: its own, its body's, or its material's; None without any."""
    if not shape.HasAPI(UsdPhysics.CollisionAPI):
        return None
    material = UsdShade.MaterialBindingAPI(shape).ComputeBoundMaterial("physics")[0]
    stated = [
        (api(prim).GetDensityAttr().Get() or 0.0)
        for prim, api in (
            (shape, UsdPhysics.MassAPI),
            (body, UsdPhysics.MassAPI),
            (material.GetPrim() if material else None, UsdPhysics.MaterialAPI),
        )
        if prim is not None and prim.HasAPI(api)
    ]
    return next((unit * float(value) for value in stated if value > 0.0), None)


def _friction(shape: Any) -> float | None:
    """Coefficient of dynamic friction of a collider's material; None without any."""
    if not shape.HasAPI(UsdPhysics.CollisionAPI):
        return None
    material = UsdShade.MaterialBindingAPI(shape).ComputeBoundMaterial("physics")[0]
    if not material or not material.GetPrim().HasAPI(UsdPhysics.MaterialAPI):
        return None
    attribute = UsdPhysics.MaterialAPI(material.GetPrim()).GetDynamicFrictionAttr()
    return float(attribute.Get()) if attribute.HasAuthoredValue() else None


def _shape(prim: Any, places: Places) -> tuple[str, Array, Array] | None:
    """Kind, size in metres and the turn from the shape's Z axis."""
    kind = str(prim.GetTypeName())
    if kind == "Mesh":
        return "mesh", places.unit * places.scale(prim), np.eye(3)
    if kind not in ("Cube", "Sphere", *ROUND):
        return None
    scale = places.unit * np.abs(places.scale(prim))
    if kind == "Cube":
        return "box", float(UsdGeom.Cube(prim).GetSizeAttr().Get()) * scale, np.eye(3)
    if kind == "Sphere":
        radius = float(UsdGeom.Sphere(prim).GetRadiusAttr().Get())
        ball = np.ptp(scale) < 1e-6 * scale[0]
        return "sphere" if ball else "ellipsoid", radius * scale[: 1 if ball else 3], np.eye(3)
    schema = UsdGeom.Cylinder(prim) if kind == "Cylinder" else UsdGeom.Capsule(prim)
    letter = str(schema.GetAxisAttr().Get())
    along = "XYZ".index(letter)
    across = [i for i in range(3) if i != along]
    if not math.isclose(scale[across[0]], scale[across[1]], rel_tol=1e-6):
        return None
    radius = float(schema.GetRadiusAttr().Get()) * scale[across[0]]
    length = float(schema.GetHeightAttr().Get()) * scale[along]
    turns = {"X": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], "Y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]]}
    turn = np.array(turns[letter], dtype=np.float64) if letter in turns else np.eye(3)
    return kind.lower(), np.array([radius, length]), turn
