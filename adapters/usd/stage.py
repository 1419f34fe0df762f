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
from regularize.adapters.common.input_files import check_regular, replacement
from regularize.adapters.common.quantities import principal, rotation_quaternion
from regularize.adapters.common.values import FilePlace
from regularize.adapters.usd.prims import FILE, get, numbers, value_of
from regularize.errors import ReadError
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, transform
from regularize.mechanism.body import Geometry, Inertia
from regularize.mechanism.diagnostic import Source

#: Prims that a stage may come to; a few lines of references of references can ask for any number.
MOST = 1_000_000


@dataclass(eq=False)
class Layers:
    """Layers of a stage and the number of prims in them; instances count as one prim."""

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
        """Count a prim, those below it, and the copies that its references bring."""
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
#: Turns from Z to X, Y and Z.
TURNS = (
    np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    np.eye(3),
)


@dataclass(eq=False)
class Stage(Draft):
    """A stage while it is being read; poses are in metres and without scale."""

    stage: Any = field(kw_only=True)  # the ``pxr.Usd.Stage``
    names: dict[str, str] = field(default_factory=dict)  # name of each body by the path of its prim
    joint_names: dict[str, str] = field(default_factory=dict)
    prims: dict[str, Any] = field(default_factory=dict)  # prim of each body by name
    freedoms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Ask for metres per unit of length and kilograms per unit of mass."""
        self.unit = float(UsdGeom.GetStageMetersPerUnit(self.stage))
        self.kilogram = float(UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        self._cache = UsdGeom.XformCache(Usd.TimeCode.Default())

    def at(self, prim: Any) -> FilePlace:
        """Return file and path of a prim, for messages."""
        return FilePlace(str(self.path), str(prim.GetPath()))

    def source(self, prim: Any) -> Source:
        """Return file and line of a prim as the source of a body or joint."""
        return self.at(prim).source

    def report_units(self) -> None:
        """Note units that were converted or assumed."""
        if not UsdGeom.StageHasAuthoredMetersPerUnit(self.stage):
            self.warn(
                "REG012",
                "the stage does not say what its length unit is: read as centimetres, USD's "
                "default",
                None,
                "write metersPerUnit into the stage",
            )
        elif not math.isclose(self.unit, 1.0) or not math.isclose(self.kilogram, 1.0):
            self.note(
                "REG012",
                f"units of {self.unit:g} m and {self.kilogram:g} kg converted to metres and "
                "kilograms",
            )
        if str(UsdGeom.GetStageUpAxis(self.stage)) == "Y":
            self.note("REG012", "up is Y on this stage: gravity points along -Y")

    def gravity(self, prims: Iterable[Any]) -> Array:
        """Acceleration of free fall in m/s², shape (3,)."""
        down: Array = -np.eye(3)["XYZ".index(str(UsdGeom.GetStageUpAxis(self.stage)))]
        scenes = [UsdPhysics.Scene(prim) for prim in prims if prim.IsA(UsdPhysics.Scene)]
        if not scenes:
            return down * EARTH
        direction = np.array(get(scenes[0].GetGravityDirectionAttr()), dtype=np.float64)
        magnitude = float(get(scenes[0].GetGravityMagnitudeAttr()))
        usual = not math.isfinite(magnitude) or magnitude < 0.0
        length = float(np.linalg.norm(direction))
        toward: Array = down if length == 0.0 else direction / length
        return toward * (EARTH if usual else magnitude * self.unit)

    # -- places

    def pose(self, body: str) -> Array:
        """World pose of a body."""
        return np.eye(4) if body == WORLD else self.pose_of(self.prims[body])

    def between(self, first: Side, second: Side) -> Array:
        """The second frame seen from the first one on the stage, shape (4, 4)."""
        (parent, T_parent), (child, T_child) = first, second
        return inverse(self.pose(parent) @ T_parent) @ self.pose(child) @ T_child

    def frame(self, prim: Any, index: int) -> Array:
        """The frame of a joint prim on one of its bodies, or on the world, in the world."""
        body = target_of(prim, f"physics:body{index}")
        carrier = self.stage.GetPrimAtPath(body) if body else None
        position = value_of(prim, f"physics:localPos{index}", (0.0, 0.0, 0.0))
        rotation = value_of(prim, f"physics:localRot{index}", None)
        point = np.array(position, dtype=np.float64)
        turn = np.eye(3) if rotation is None else quaternion(rotation)
        if not carrier:
            return transform(turn, self.unit * point)
        matrix = self._matrix(carrier)
        place = self.unit * (matrix[:3, :3] @ point + matrix[:3, 3])
        return transform(self.pose_of(carrier)[:3, :3] @ turn, place)

    def pose_of(self, prim: Any) -> Array:
        """Frame of a prim in the world, shape (4, 4)."""
        matrix = self._matrix(prim)
        if not np.all(np.isfinite(matrix)):
            path = self.stage.GetRootLayer().realPath
            where = str(prim.GetPath())
            raise ReadError(path, "its place is not finite; correct its transform", element=where)
        u, _, vt = np.linalg.svd(matrix[:3, :3] * self._signs(prim))
        # The rotation nearest to the scaled one.
        return transform(u @ vt, self.unit * matrix[:3, 3])

    def scale(self, prim: Any) -> Array:
        """Lengths of the axes in stage units, negative where they are mirrored, shape (3,)."""
        return np.asarray(np.linalg.norm(self._matrix(prim)[:3, :3], axis=0)) * self._signs(prim)

    def _matrix(self, prim: Any) -> Array:
        """Local to world with scale, for columns, lengths in stage units, shape (4, 4)."""
        return np.array(self._cache.GetLocalToWorldTransform(prim)).T

    def _signs(self, prim: Any) -> Array:
        """Return the signs of the three axes: -1 where the scale mirrors them."""
        if np.linalg.det(self._matrix(prim)[:3, :3]) >= 0.0:
            return np.ones(3)
        for op in UsdGeom.Xformable(prim).GetOrderedXformOps():
            if op.GetOpType() == UsdGeom.XformOp.TypeScale:
                signs = np.sign(np.array(op.Get(), dtype=np.float64))
                if np.prod(signs) < 0.0:
                    return np.asarray(signs)
        return np.array([-1.0, 1.0, 1.0])

    # -- what bodies have

    def inertia_of(self, prim: Any) -> Inertia | None:
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
        matrix = principal(R, self.kilogram * self.unit**2 * diagonal)
        return Inertia(self.kilogram * mass, self.unit * self.scale(prim) * center, matrix)

    def shapes_of(self, prim: Any) -> tuple[Geometry, ...]:
        """Shapes of a body; those below another rigid body belong to that one."""
        T_body = inverse(self.pose_of(prim))
        shapes, pending = [], [prim]
        while pending:
            each = pending.pop(0)
            children = each.GetChildren()
            pending += [child for child in children if str(child.GetPath()) not in self.names]
            shape = self._shape(each)
            if shape is None:
                continue
            kind, size, turn = shape
            mesh = str(each.GetCustomDataByKey(FILE) or each.GetPath())
            touched = bool(each.HasAPI(UsdPhysics.CollisionAPI))
            shapes.append(
                Geometry(
                    kind,
                    size,
                    T_body @ self.pose_of(each) @ transform(turn),
                    mesh if kind == "mesh" else None,
                    _color(each),
                    collision=touched,
                    density=_density(each, prim, self.kilogram / self.unit**3) if touched else None,
                    friction=_friction(each) if touched else None,
                )
            )
        return tuple(shapes)

    def _shape(self, prim: Any) -> tuple[str, Array, Array] | None:
        """Return kind, size in metres and rotation from Z to the axis; None for other prims."""
        kind = str(prim.GetTypeName())
        if kind == "Mesh":
            return "mesh", self.unit * self.scale(prim), np.eye(3)
        if kind not in ("Cube", "Sphere", "Cylinder", "Capsule"):
            return None
        scale = self.unit * np.abs(self.scale(prim))
        if kind == "Cube":
            return "box", float(UsdGeom.Cube(prim).GetSizeAttr().Get()) * scale, np.eye(3)
        if kind == "Sphere":
            radius = float(UsdGeom.Sphere(prim).GetRadiusAttr().Get())
            ball = np.ptp(scale) < 1e-6 * scale[0]
            return "sphere" if ball else "ellipsoid", radius * scale[: 1 if ball else 3], np.eye(3)
        schema = UsdGeom.Cylinder(prim) if kind == "Cylinder" else UsdGeom.Capsule(prim)
        along = "XYZ".index(str(schema.GetAxisAttr().Get()))
        one, other = np.delete(scale, along)
        if not math.isclose(one, other, rel_tol=1e-6):
            return None
        radius = float(schema.GetRadiusAttr().Get()) * one
        length = float(schema.GetHeightAttr().Get()) * scale[along]
        return kind.lower(), np.array([radius, length]), TURNS[along]


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
        if (text := replacement(path)) is not None:
            _place_anew(stage, text.decode("latin-1"))
        return stage


def _place_anew(stage: Any, text: str) -> None:
    """Give attributes that place something, on the open stage alone, the values of another text."""
    layer, over = Sdf.Layer.CreateAnonymous(".usda"), stage.GetSessionLayer()
    layer.ImportFromString(text)

    def place(path: Any) -> None:
        spec = layer.GetAttributeAtPath(path)
        if spec is not None and spec.name.startswith(PLACES) and spec.default is not None:
            prim = Sdf.CreatePrimInLayer(over, path.GetPrimPath())
            Sdf.AttributeSpec(prim, spec.name, spec.typeName).default = spec.default

    layer.Traverse("/", place)


@contextmanager
def faults_of(path: str) -> Iterator[None]:
    """Turn errors of USD, which looks at values only when asked for them, into ``ReadError``."""
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
    """Raise ``ReadError`` for attributes with unusable values, such as NaN."""
    for prim in prims:
        for attribute in prim.GetAuthoredAttributes():
            name, value = str(attribute.GetName()), attribute.Get()
            where = str(attribute.GetPath())
            if type(value).__name__ == "UnregisteredValue":
                kind = attribute.GetTypeName()
                raise ReadError(path, f"its value is none of the type {kind}", element=where)
            if name.startswith(PLACES) and not np.all(np.isfinite(numbers(value))):
                raise ReadError(path, "its value is not finite; correct it", element=where)


def quaternion(value: Any) -> Array:
    """Rotation matrix of a USD quaternion; the identity for the zero quaternion."""
    w, (x, y, z) = float(value.GetReal()), (float(c) for c in value.GetImaginary())
    if w == x == y == z == 0.0:
        return np.eye(3)
    return rotation_quaternion(x, y, z, w)


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
    material = UsdShade.MaterialBindingAPI(shape).ComputeBoundMaterial("physics")[0]
    if not material or not material.GetPrim().HasAPI(UsdPhysics.MaterialAPI):
        return None
    attribute = UsdPhysics.MaterialAPI(material.GetPrim()).GetDynamicFrictionAttr()
    return float(attribute.Get()) if attribute.HasAuthoredValue() else None
