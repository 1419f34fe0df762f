"""Reading of a USD stage: its layers, units, gravity, poses, mass properties and shapes."""

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
from regularize.adapters.common.quantities import inertia_matrix, principal, rotation_quaternion
from regularize.adapters.common.values import FilePlace
from regularize.adapters.usd.prims import FILE, get, numbers, value_of
from regularize.errors import ReadError
from regularize.escape import as_utf8
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, transform
from regularize.mechanism.body import Geometry, Inertia
from regularize.mechanism.diagnostic import Source

#: Largest number of prims of a stage; a few lines of nested references can make any number.
MOST = 1_000_000


@dataclass(eq=False)
class Layers:
    """Counts the prims of a stage before it is opened; an instance counts as one prim."""

    path: str  # the file as the user named it
    known: dict[tuple[str, str], int] = field(default_factory=dict)  # prims below a layer's path
    held: list[Any] = field(default_factory=list)  # layers, which USD closes when nobody holds them

    def check(self) -> None:
        """Raise ``ReadError`` where a layer is no regular file, or there are too many prims."""
        self.held.append(Sdf.Layer.FindOrOpen(as_utf8(self.path)))
        if self.held[0] is None:  # without an error only where there is no such file
            raise ReadError(self.path, "is gone; USD finds no file of this name")
        self._prims(self.held[0], "/")

    def _prims(self, layer: Any, path: Any) -> int:
        """Count a prim, those below it, and the copies that its references bring."""
        key = layer.identifier, str(path)
        if key in self.known:
            return self.known[key]
        self.known[key] = 1  # for circular references, which USD itself reports
        specs = [s for s in (x.GetPrimAtPath(path) for x in self._stack(layer, set())) if s]
        inside = {str(child.path) for spec in specs for child in spec.nameChildren}
        total = 1 + sum(self._prims(layer, child) for child in sorted(inside))
        for spec in specs:
            for variants in spec.variantSets.values() if path != "/" else ():
                paths = [variant.primSpec.path for variant in variants.variantList]
                total += max((self._prims(layer, each) for each in paths), default=0)
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
        """Yield a layer and its sublayers."""
        if layer is not None and layer.identifier not in seen:
            seen.add(layer.identifier)
            yield layer
            for each in layer.subLayerPaths:
                yield from self._stack(self._opened(layer, each), seen)

    def _opened(self, layer: Any, name: str) -> Any:
        """Return the layer that another one names; None where USD cannot open it."""
        place = Sdf.ComputeAssetPathRelativeToLayer(layer, name).partition(":SDF_FORMAT_ARGS:")[0]
        if os.path.exists(place):
            check_regular(place)
        try:
            self.held.append(Sdf.Layer.FindOrOpen(as_utf8(place)))
        except Tf.ErrorException:
            return None
        return self.held[-1]


EARTH = 9.81
#: Beginnings of the names of attributes that have to be finite.
PLACES = (
    "xformOp:",
    "physics:localPos",
    "physics:localRot",
    "physics:centerOfMass",
    "physics:principalAxes",
    "physics:diagonalInertia",
)
TURNED = ("xformOp:orient", "physics:localRot")
_FAULT = re.compile(r":(\d+):\d+: (.*?)(?:' Error in|$)")  # line and message in an error of USD
#: Rotations that take Z to X, to Y and to Z.
TURNS = (
    np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    np.eye(3),
)


@dataclass(eq=False)
class Stage(Draft):
    """The mechanism under construction while a stage is read; poses are in metres, unscaled."""

    stage: Any = field(kw_only=True)  # the ``pxr.Usd.Stage``
    names: dict[str, str] = field(default_factory=dict)  # name of each body by the path of its prim
    joint_names: dict[str, str] = field(default_factory=dict)
    prims: dict[str, Any] = field(default_factory=dict)  # prim of each body by name
    freedoms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up metres per unit of length and kilograms per unit of mass."""
        self.unit = float(UsdGeom.GetStageMetersPerUnit(self.stage))
        self.kilogram = float(UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        for name, size in (("metersPerUnit", self.unit), ("kilogramsPerUnit", self.kilogram)):
            if not 0.0 < size < math.inf:
                raise ReadError(str(self.path), f"{name} is {size:g}; write a positive number")
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
        if not value_of(scenes[0].GetPrim(), "newton:gravityEnabled", True):
            return np.zeros(3)
        usual = not math.isfinite(magnitude) or magnitude < 0.0
        length = float(np.linalg.norm(direction))
        toward: Array = down if length == 0.0 else direction / length
        return toward * (EARTH if usual else magnitude * self.unit)

    # -- places

    def pose(self, body: str) -> Array:
        """Return the world pose of a body, shape (4, 4)."""
        return np.eye(4) if body == WORLD else self.pose_of(self.prims[body])

    def between(self, first: Side, second: Side) -> Array:
        """Return the second frame relative to the first one at the poses on the stage (4, 4)."""
        (parent, T_parent), (child, T_child) = first, second
        return inverse(self.pose(parent) @ T_parent) @ self.pose(child) @ T_child

    def frame(self, prim: Any, index: int) -> Array:
        """Return the world pose (4, 4) of a joint's frame on its body 0 or 1."""
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
        """Return the world pose of a prim without its scale, shape (4, 4)."""
        matrix = self._matrix(prim)
        if not np.all(np.isfinite(matrix)):
            path = self.stage.GetRootLayer().realPath
            where = str(prim.GetPath())
            raise ReadError(path, "its place is not finite; correct its transform", element=where)
        u, _, vt = np.linalg.svd(matrix[:3, :3] * self._signs(prim))
        # The rotation nearest to the scaled one.
        return transform(u @ vt, self.unit * matrix[:3, 3])

    def scale(self, prim: Any) -> Array:
        """Return the scale of the three axes of a prim, negative where mirrored, shape (3,)."""
        return np.asarray(np.linalg.norm(self._matrix(prim)[:3, :3], axis=0)) * self._signs(prim)

    def _matrix(self, prim: Any) -> Array:
        """Return the matrix (4, 4) from a prim to the world, with scale, in stage units."""
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

    # -- bodies

    def inertia_of(self, prim: Any) -> Inertia | None:
        """Return mass properties; None unless the prim states mass, centre and inertia."""
        if not prim.HasAPI(UsdPhysics.MassAPI):
            return None
        api = UsdPhysics.MassAPI(prim)
        mass = float(get(api.GetMassAttr()) or 0.0)
        center = np.array(get(api.GetCenterOfMassAttr()), dtype=np.float64)
        diagonal = np.array(get(api.GetDiagonalInertiaAttr()), dtype=np.float64)
        tensor = numbers(value_of(prim, "newton:inertia", ()))  # goes before the diagonal
        if mass <= 0.0 or not np.all(np.isfinite(center)) or not (any(diagonal) or any(tensor)):
            return None
        matrix = principal(quaternion(get(api.GetPrincipalAxesAttr())), diagonal)
        if len(tensor) == 6:
            matrix = inertia_matrix(*tensor)
        matrix = self.kilogram * self.unit**2 * matrix
        return Inertia(self.kilogram * mass, self.unit * self.scale(prim) * center, matrix)

    def shapes_of(self, prim: Any) -> tuple[Geometry, ...]:
        """Return the shapes below a body's prim, but not those below another rigid body."""
        T_body = inverse(self.pose_of(prim))
        shapes, pending = [], [prim]
        while pending:
            part = pending.pop(0)
            children = part.GetChildren()
            pending += [child for child in children if str(child.GetPath()) not in self.names]
            shape = self._shape(part)
            if shape is None:
                continue
            kind, size, turn = shape
            mesh = str(part.GetCustomDataByKey(FILE) or part.GetPath()) if kind == "mesh" else None
            T, collides = self.pose_of(part), bool(part.HasAPI(UsdPhysics.CollisionAPI))
            unit = self.kilogram / self.unit**3
            density = _density(part, prim, unit) if collides else None
            stated = T_body @ T @ transform(turn), mesh, _color(part), collides, density
            friction = _friction(part) if collides else None
            shapes.append(Geometry(kind, size, *stated, friction=friction))
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
    """Return the path of the first prim that a relationship names; None without one."""
    targets = prim.GetRelationship(name).GetTargets() if prim.HasRelationship(name) else []
    return str(targets[0]) if targets else None


def open_stage(path: str) -> Any:
    """Open the stage in a file; raises ``ReadError`` with USD's reason and line."""
    with faults_of(path):
        layers = Layers(path)
        layers.check()
        stage = Usd.Stage.Open(as_utf8(path))
        stage.Reload()  # USD may still hold layers of files that have changed since
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
    """Turn errors of USD within this context into ``ReadError``."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ReadError(path, f"holds text that is not UTF-8 ({error.object!r:.40})") from error
    except Tf.ErrorException as error:
        reason = " ".join(str(error).split())
        fault = _FAULT.search(reason)
        message = re.sub(r"pxrInternal\S*::", "", reason if fault is None else fault[2])
        line = None if fault is None else int(fault[1])
        raise ReadError(path, f"USD cannot read it: {message[:200]}", line=line) from error


def check_values(prims: Iterable[Any], path: str) -> None:
    """Raise ``ReadError`` for attributes of a wrong type or with numbers that are not finite."""
    for prim in prims:
        for attribute in prim.GetAuthoredAttributes():
            name, value = str(attribute.GetName()), attribute.Get()
            where = str(attribute.GetPath())
            if type(value).__name__ == "UnregisteredValue":
                kind = attribute.GetTypeName()
                raise ReadError(path, f"its value is none of the type {kind}", element=where)
            if name.startswith(PLACES) and not np.all(np.isfinite(numbers(value))):
                raise ReadError(path, "its value is not finite; correct it", element=where)
            if name in ("axis", "physics:axis") and str(value) not in {*"XYZ"}:
                raise ReadError(path, f"`{value}` is no axis; write X, Y or Z", element=where)
            if name.startswith(TURNED) and not np.any(numbers(value)):
                raise ReadError(
                    path, "its quaternion is zero, and no turn; correct it", element=where
                )


def quaternion(value: Any) -> Array:
    """Return the rotation matrix of a USD quaternion; the identity for zero."""
    w, (x, y, z) = float(value.GetReal()), (float(c) for c in value.GetImaginary())
    if w == x == y == z == 0.0:
        return np.eye(3)
    return rotation_quaternion(x, y, z, w)


def _color(prim: Any) -> tuple[float, float, float, float] | None:
    """Return the displayed colour of a shape as red, green, blue and opacity; None without."""
    gprim = UsdGeom.Gprim(prim)
    color = gprim.GetDisplayColorAttr().Get() if gprim else None
    if color is None or not len(color):
        return None
    opacity = gprim.GetDisplayOpacityAttr().Get() or [1.0]
    red, green, blue = (float(value) for value in color[0])
    return red, green, blue, float(opacity[0])


def _density(shape: Any, body: Any, unit: float) -> float | None:
    """Return the density of a collider, its body or its material in kg/m³; None without any."""
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
    """Return the dynamic friction coefficient of a collider's material; None without one."""
    material = UsdShade.MaterialBindingAPI(shape).ComputeBoundMaterial("physics")[0]
    if not material or not material.GetPrim().HasAPI(UsdPhysics.MaterialAPI):
        return None
    attribute = UsdPhysics.MaterialAPI(material.GetPrim()).GetDynamicFrictionAttr()
    return float(attribute.Get()) if attribute.HasAuthoredValue() else None
