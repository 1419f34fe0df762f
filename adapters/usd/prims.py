"""Writing and reading of prims: numbers in double precision, joints, shapes with triangles."""

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
    """Return the value of an attribute in double precision; None without one."""
    value = attribute.Get() if attribute else None
    # It counts while it rounds to the attribute, so that an edited one is read as edited.
    exact = attribute.GetCustomDataByKey(EXACT) if value is not None else None
    if exact is not None and np.array_equal(numbers(_rounded(exact)), numbers(value)):
        return exact
    return value


def name_of(prim: Any) -> str:
    """Return the model's name that is stored in a prim, or else the name of the prim."""
    return str(prim.GetCustomDataByKey(NAME) or prim.GetName())


def _rounded(value: Any) -> Any:
    """Return a quaternion, a vector or a number in single precision."""
    if isinstance(value, Gf.Quatd):
        return Gf.Quatf(value)
    return Gf.Vec3f(value) if isinstance(value, Gf.Vec3d) else float(np.float32(value))


def numbers(value: Any) -> Array:
    """Return the numbers in a value of USD, shape (n,); empty for other values."""
    if isinstance(value, Gf.Quatd | Gf.Quatf | Gf.Quath):
        return np.array([value.GetReal(), *value.GetImaginary()], dtype=np.float64)
    try:
        return np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        return np.zeros(0)


def value_of(prim: Any, name: str, default: Any) -> Any:
    """Return the value of an attribute, or the default where the prim has none."""
    value = get(prim.GetAttribute(name)) if prim.HasAttribute(name) else None
    return default if value is None else value


#: Attributes of MuJoCo's schema for the forces within a joint, SI units and radians.
FORCES = {
    "damping": "mjc:damping",
    "friction": "mjc:frictionloss",
    "armature": "mjc:armature",
    "stiffness": "mjc:stiffness",
}
REST = "mjc:springref"  # radians: ``mjc:compiler:angle`` of the scene
EFFORT = ("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max")
#: Attributes of these forces in the schemas of Newton and PhysX, and whether they are per degree.
OTHERS = {
    "damping": (("newton:damping", True),),
    "friction": (("newton:friction", False),),
    "armature": (("newton:armature", False), ("physxJoint:armature", False)),
}
VELOCITY = ("physxJoint:maxJointVelocity", "newton:velocityLimit")
LOCKED = 1.0  # a lower limit of 1 above an upper one of -1 locks a freedom

Side = tuple[Any, Array]
#: Key, in the custom data of a mesh prim, of the file that its triangles come from.
FILE = "regularize:file"


@dataclass(frozen=True)
class PrimKind(JointKind):
    """A joint kind in USD, with the names of its freedoms where its axes are those of its frame."""

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
#: Type of prim of each kind that is not written as a generic joint.
OWN_PRIM = {kind: word for kind, word in KINDS.written.items() if word != GENERIC_PRIM}


def axes_of(joint: Joint) -> tuple[str, tuple[str, ...], Array] | None:
    """Return prim type, names of freedoms and turn of the frame (4, 4); None if USD has none."""
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
    """Write the position limits of a joint, and lock what a generic joint does not leave free."""
    bounds = np.full((joint.freedoms, 2), np.inf) * [-1, 1]
    if joint.limits is not None:
        bounds = np.asarray(joint.limits)
    bounds = bounds * np.array([[unit_of(name)] for name in names]).reshape(-1, 1)
    kind = str(prim.GetTypeName())
    if kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
        turning = kind == "PhysicsRevoluteJoint"
        schema = UsdPhysics.RevoluteJoint(prim) if turning else UsdPhysics.PrismaticJoint(prim)
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
    """Write dynamics and rate and force limits; of several freedoms only values that are equal."""
    stated = {k: float(v[0]) for k, v in joint.dynamics.stated().items() if np.ptp(v) == 0.0}
    scale = unit_of(names[0]) if names else 1.0
    for key, name in FORCES.items():
        if key in stated:
            _double(prim, name, stated[key])
            for other, per_degree in OTHERS.get(key, ()):
                _float(prim, other, stated[key] / (scale if per_degree else 1.0))
    if "stiffness" in stated:
        _double(prim, REST, stated.get("rest_position", 0.0))
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
    """Return degrees per radian for a rotation such as ``rotX``, 1 for a translation."""
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
        schema = _mesh(stage, path, shape, mechanism)
        if schema is None:
            return
    elif shape.kind == "box":
        schema, scale = UsdGeom.Cube.Define(stage, path), shape.size
        schema.CreateSizeAttr().Set(1.0)
    elif shape.kind in ("sphere", "ellipsoid"):
        schema, ball = UsdGeom.Sphere.Define(stage, path), shape.kind == "sphere"
        scale = scale if ball else shape.size
        schema.CreateRadiusAttr().Set(float(shape.size[0]) if ball else 1.0)
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
    """Set the pose (4, 4) of a prim relative to its parent; return its ``Xformable``."""
    place, precision = UsdGeom.Xformable(prim), UsdGeom.XformOp.PrecisionDouble
    place.ClearXformOpOrder()
    place.AddTranslateOp(precision).Set(Gf.Vec3d(*map(float, T[:3, 3])))
    place.AddOrientOp(precision).Set(turn(T[:3, :3]))
    return place


def turn(R: Array) -> Any:
    """Return a rotation matrix as a quaternion of USD."""
    x, y, z, w = quaternion(R).tolist()
    return Gf.Quatd(w, x, y, z)


def _mesh(stage: Any, path: Any, shape: Geometry, mechanism: Mechanism) -> Any | None:
    """Define a mesh: a reference into another stage, or the triangles of a file; else None."""
    uri = shape.uri or ""
    file, _, inside = uri.partition("#")
    if inside:
        schema = UsdGeom.Mesh.Define(stage, path)
        schema.GetPrim().GetReferences().AddReference(file, inside)
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
    schema.GetPrim().SetCustomDataByKey(FILE, uri)
    return schema
