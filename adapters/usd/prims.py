"""Prims: their numbers in double precision, joints with limits and forces, shapes with triangles.

The schemas of USD Physics have single precision, and engines read the attribute, which is rounded.
The number that was meant lies in its custom data as ``exact``, and counts as long as it still
rounds to the attribute: whoever edits the attribute is right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pxr import Gf, Sdf, UsdGeom, UsdPhysics, Vt

from regularize.adapters.common.serial import JointKind, KindTable, axis_in_frame, standard
from regularize.adapters.common.write import quaternion
from regularize.adapters.shapes.meshes import load_mesh
from regularize.errors import RegularizeError
from regularize.lie.arrays import Array
from regularize.lie.screw import transform
from regularize.mechanism.body import Geometry
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import joint_screws, perpendiculars
from regularize.mechanism.mechanism import Mechanism

EXACT = "exact"
NAME = "regularize:name"


def put(attribute: Any, value: Any) -> None:
    """Set an attribute of single precision, with the exact value as custom data."""
    attribute.Set(_rounded(value))
    if not np.array_equal(numbers(attribute.Get()), numbers(value)):
        attribute.SetCustomDataByKey(EXACT, value)


def get(attribute: Any) -> Any:
    """The value of an attribute in double precision; None where it has none."""
    value = attribute.Get() if attribute else None
    exact = attribute.GetCustomDataByKey(EXACT) if value is not None else None
    if exact is not None and np.array_equal(numbers(_rounded(exact)), numbers(value)):
        return exact
    return value


def name_of(prim: Any) -> str:
    """Return the name that the writer has stored in a prim, or else the prim's own name."""
    return str(prim.GetCustomDataByKey(NAME) or prim.GetName())


def _rounded(value: Any) -> Any:
    if isinstance(value, Gf.Quatd):
        return Gf.Quatf(value)
    return Gf.Vec3f(value) if isinstance(value, Gf.Vec3d) else float(np.float32(value))


def numbers(value: Any) -> Array:
    """The numbers of a value, shape (n,); none where it is something else."""
    if isinstance(value, Gf.Quatd | Gf.Quatf | Gf.Quath):
        return np.array([value.GetReal(), *value.GetImaginary()], dtype=np.float64)
    try:
        return np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        return np.zeros(0)


def value_of(prim: Any, name: str, default: Any) -> Any:
    """The value of an attribute; the default where there is none."""
    value = get(prim.GetAttribute(name)) if prim.HasAttribute(name) else None
    return default if value is None else value


#: Attributes of MuJoCo's schema for the forces within a joint, SI units and radians.
FORCES = {
    "damping": "mjc:damping",
    "friction": "mjc:frictionloss",
    "armature": "mjc:armature",
    "stiffness": "mjc:stiffness",
}
REST = "mjc:springref"  # radians, as the scene says
EFFORT = ("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max")
#: The same for Newton and PhysX; per degree where they say so.
OTHERS = {
    "damping": (("newton:damping", True),),
    "friction": (("newton:friction", False),),
    "armature": (("newton:armature", False), ("physxJoint:armature", False)),
}
VELOCITY = ("physxJoint:maxJointVelocity", "newton:velocityLimit")
LOCKED = 1.0  # a low above the high end locks a freedom

Side = tuple[Any, Array]
#: Custom data of a mesh prim: the file that its triangles come from.
FILE = "regularize:file"


@dataclass(frozen=True)
class PrimKind(JointKind):
    """A joint kind in USD, and the names of its freedoms where its one axis is Z, or X, Y and Z."""

    freedoms: tuple[str, ...] = ()


GENERIC_PRIM = "PhysicsJoint"  # its limits say which freedoms it locks
KINDS = KindTable(
    PrimKind("fixed", ("PhysicsFixedJoint",)),
    PrimKind("spherical", ("PhysicsSphericalJoint",), freedoms=("rotX", "rotY", "rotZ")),
    PrimKind("revolute", ("PhysicsRevoluteJoint",), 1, freedoms=("rotZ",)),
    PrimKind("prismatic", ("PhysicsPrismaticJoint",), 1, freedoms=("transZ",)),
    PrimKind("cylindrical", (GENERIC_PRIM,), 1, freedoms=("transZ", "rotZ")),
    PrimKind("universal", (GENERIC_PRIM,), 2, freedoms=("rotX", "rotY")),
    PrimKind("planar", (GENERIC_PRIM,), 3, freedoms=("transX", "transY", "rotZ")),
)
#: Kinds that have a type of prim of their own.
OWN_PRIM = {kind: word for kind, word in KINDS.written.items() if word != GENERIC_PRIM}


def axes_of(joint: Joint) -> tuple[str, tuple[str, ...], Array] | None:
    """Return the prim type of a joint, its freedoms and the turn of its frame; None without any."""
    if joint.kind not in KINDS:
        return None
    kind = KINDS[joint.kind]
    if not kind.axes:  # seen from its child, a ball joint counts backwards
        same = np.array_equal(np.abs(joint.screws), joint_screws(joint.kind))
        return (kind.words[0], kind.freedoms, np.eye(4)) if same else None
    if not standard(joint):
        return None
    first, *others = (axis_in_frame(joint, k) for k in range(kind.axes))
    if kind.axes == 1:
        across, other = perpendiculars(first)
        columns = [across, other, first]
    elif kind.axes == 2:
        if abs(float(first @ others[0])) > np.finfo(float).eps * 4:
            return None
        columns = [first, others[0], np.cross(first, others[0])]
    else:
        columns = [first, *others]
    return kind.words[0], kind.freedoms, transform(np.column_stack(columns))


def add_joint(
    prim: Any,
    first: Side,
    second: Side,
    *,
    closing: bool = False,
    joint: Joint | None = None,
    names: tuple[str, ...] = (),
) -> None:
    """Fill in a joint prim, which is of its type already."""
    schema = UsdPhysics.Joint(prim)
    for index, (path, T) in enumerate((first, second)):
        body = (schema.CreateBody0Rel, schema.CreateBody1Rel)[index]()
        if path is not None:
            body.SetTargets([path])
        place = (schema.CreateLocalPos0Attr, schema.CreateLocalPos1Attr)[index]()
        put(place, Gf.Vec3d(*map(float, T[:3, 3])))
        put((schema.CreateLocalRot0Attr, schema.CreateLocalRot1Attr)[index](), turn(T[:3, :3]))
    if closing:
        schema.CreateExcludeFromArticulationAttr().Set(True)
    if joint is not None:
        _limit(prim, joint, names)
        _force(prim, joint, names)


def _limit(prim: Any, joint: Joint, names: tuple[str, ...]) -> None:
    bounds = np.full((joint.freedoms, 2), np.inf) * [-1, 1]
    if joint.limits is not None:
        bounds = np.asarray(joint.limits)
    bounds = bounds * np.array([[unit_of(name)] for name in names]).reshape(-1, 1)
    kind = str(prim.GetTypeName())
    if kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
        one = UsdPhysics.RevoluteJoint if kind == "PhysicsRevoluteJoint" else None
        schema = (one or UsdPhysics.PrismaticJoint)(prim)
        schema.CreateAxisAttr().Set("Z")
        for create, value in zip(
            (schema.CreateLowerLimitAttr, schema.CreateUpperLimitAttr), bounds[0], strict=True
        ):
            put(create(), float(value))
    elif kind == "PhysicsJoint":
        for name in (f"{what}{axis}" for what in ("trans", "rot") for axis in "XYZ"):
            ends = bounds[names.index(name)] if name in names else (LOCKED, -LOCKED)
            # Newton takes an axis without a limit for a locked one, and infinite ends for free.
            api = UsdPhysics.LimitAPI.Apply(prim, name)
            put(api.CreateLowAttr(), float(ends[0]))
            put(api.CreateHighAttr(), float(ends[1]))


def _force(prim: Any, joint: Joint, names: tuple[str, ...]) -> None:
    """Forces within a joint; of several freedoms only if all have the same."""
    given = {k: float(v[0]) for k, v in joint.dynamics.stated().items() if np.ptp(v) == 0.0}
    scale = unit_of(names[0]) if names else 1.0
    for what, name in FORCES.items():
        if what in given:
            _double(prim, name, given[what])
            for other, per_degree in OTHERS.get(what, ()):
                _float(prim, other, given[what] / (scale if per_degree else 1.0))
    if "stiffness" in given:
        _double(prim, REST, given.get("rest_position", 0.0))
    limits = joint.limits
    if limits is None:
        return
    if limits.effort is not None and np.ptp(limits.effort) == 0.0 and np.isfinite(limits.effort[0]):
        for name, sign in zip(EFFORT, (-1, 1), strict=True):
            _double(prim, name, sign * float(limits.effort[0]))
    if limits.velocity is not None and np.isfinite(limits.velocity[0]):
        for name in VELOCITY:
            _float(prim, name, float(limits.velocity[0]) * scale)


def unit_of(name: str) -> float:
    """Degrees per radian for rotations, 1 for translations."""
    return 180.0 / np.pi if name.startswith("rot") else 1.0


def _double(prim: Any, name: str, value: float) -> None:
    prim.CreateAttribute(name, Sdf.ValueTypeNames.Double).Set(value)


def _float(prim: Any, name: str, value: float) -> None:
    put(prim.CreateAttribute(name, Sdf.ValueTypeNames.Float), value)


def add_shape(body: Any, shape: Geometry, mechanism: Mechanism) -> None:
    """Add a shape below the prim of its body; a mesh that cannot be read is left out."""
    stage, number = body.GetStage(), len(body.GetChildren()) + 1
    path = body.GetPath().AppendChild(f"shape_{number}")
    scale = np.ones(3)
    if shape.kind == "mesh":
        scale = np.broadcast_to(shape.size, 3)
        prim = _mesh(stage, path, shape, mechanism)
        if prim is None:
            return
    elif shape.kind == "box":
        schema, scale = UsdGeom.Cube.Define(stage, path), shape.size
        schema.CreateSizeAttr().Set(1.0)
        prim = schema.GetPrim()
    elif shape.kind in ("sphere", "ellipsoid"):
        schema, ball = UsdGeom.Sphere.Define(stage, path), shape.kind == "sphere"
        scale = scale if ball else shape.size
        schema.CreateRadiusAttr().Set(float(shape.size[0]) if ball else 1.0)
        prim = schema.GetPrim()
    else:
        kind = UsdGeom.Cylinder if shape.kind == "cylinder" else UsdGeom.Capsule
        schema = kind.Define(stage, path)
        schema.CreateRadiusAttr().Set(float(shape.size[0]))
        schema.CreateHeightAttr().Set(float(shape.size[1]))
        schema.CreateAxisAttr().Set("Z")
        prim = schema.GetPrim()
    place = add_place(prim, shape.T_body_geometry)
    place.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*map(float, scale)))
    if shape.collision:
        UsdPhysics.CollisionAPI.Apply(prim)
    if shape.color is not None and prim.IsA(UsdGeom.Gprim):
        red, green, blue, opacity = shape.color
        gprim = UsdGeom.Gprim(prim)
        gprim.CreateDisplayColorAttr().Set([Gf.Vec3f(red, green, blue)])
        if opacity != 1.0:
            gprim.CreateDisplayOpacityAttr().Set([opacity])


def add_place(prim: Any, T: Array) -> Any:
    """Set the pose of a prim on its parent; returns its ``Xformable``."""
    place, precision = UsdGeom.Xformable(prim), UsdGeom.XformOp.PrecisionDouble
    place.ClearXformOpOrder()
    place.AddTranslateOp(precision).Set(Gf.Vec3d(*map(float, T[:3, 3])))
    place.AddOrientOp(precision).Set(turn(T[:3, :3]))
    return place


def turn(R: Array) -> Any:
    """A rotation as a quaternion of USD."""
    x, y, z, w = quaternion(R).tolist()
    return Gf.Quatd(w, x, y, z)


def _mesh(stage: Any, path: Any, shape: Geometry, mechanism: Mechanism) -> Any | None:
    """The prim of a mesh: a reference into another stage, or the triangles of a file."""
    uri = shape.uri or ""
    file, _, inside = uri.partition("#")
    if inside:
        prim = stage.DefinePrim(path, "Mesh")
        prim.GetReferences().AddReference(file, inside)
    else:
        folder = stage.GetRootLayer().realPath or mechanism.path
        try:
            mesh = load_mesh(replace(shape, size=np.ones(3)), folder)
        except RegularizeError:
            return None
        schema = UsdGeom.Mesh.Define(stage, path)
        points = Vt.Vec3fArray.FromNumpy(np.asarray(mesh.vertices, dtype=np.float32))
        schema.CreatePointsAttr().Set(points)
        faces = np.asarray(mesh.faces, dtype=np.int32)
        schema.CreateFaceVertexIndicesAttr().Set(Vt.IntArray.FromNumpy(faces.ravel()))
        counts = np.full(len(faces), 3, dtype=np.int32)
        schema.CreateFaceVertexCountsAttr().Set(Vt.IntArray.FromNumpy(counts))
        schema.CreateSubdivisionSchemeAttr().Set("none")
        prim = schema.GetPrim()
    prim.SetCustomDataByKey(FILE, uri)
    return prim
