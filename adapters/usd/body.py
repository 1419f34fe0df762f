"""Rigid bodies of USD Physics: pose, mass properties and shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade

from regularize.adapters.common.inertia import principal
from regularize.adapters.common.pose import rotation_quaternion
from regularize.adapters.usd.precise import get
from regularize.adapters.usd.prim_shape import FILE
from regularize.errors import ReadError
from regularize.lie.screw import Array, inverse, transform
from regularize.model.mechanism import Geometry, Inertia

#: Primitive shapes: their attributes for the size, and the axis that they stand along.
ROUND = ("Cylinder", "Capsule")


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
        u, _, vt = np.linalg.svd(matrix[:3, :3])
        R = u @ vt  # the rotation nearest to the scaled one
        if np.linalg.det(R) < 0.0:
            R = u @ np.diag([1.0, 1.0, -1.0]) @ vt
        return transform(R, self.unit * matrix[:3, 3])

    def scale(self, prim: Any) -> Array:
        """Lengths of the prim's axes in stage units, shape (3,)."""
        return np.asarray(np.linalg.norm(self.matrix(prim)[:3, :3], axis=0))

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


def _shape(prim: Any, places: Places) -> tuple[str, Array, Array] | None:
    """Kind, size in metres and the turn from the shape's Z axis."""
    kind = str(prim.GetTypeName())
    if kind == "Mesh":
        return "mesh", places.unit * places.scale(prim), np.eye(3)
    if kind not in ("Cube", "Sphere", *ROUND):
        return None
    scale = places.unit * places.scale(prim)
    if kind == "Cube":
        return "box", float(UsdGeom.Cube(prim).GetSizeAttr().Get()) * scale, np.eye(3)
    if kind == "Sphere":
        radius = float(UsdGeom.Sphere(prim).GetRadiusAttr().Get())
        return (
            ("sphere", radius * scale[:1], np.eye(3)) if np.ptp(scale) < 1e-6 * scale[0] else None
        )
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
