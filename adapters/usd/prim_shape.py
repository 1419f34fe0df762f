"""Shape prims: boxes, balls, cylinders, capsules, and meshes with their triangles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from pxr import Gf, UsdGeom, UsdPhysics, Vt

from regularize.adapters.common.write import quaternion
from regularize.errors import RegularizeError
from regularize.model.mechanism import Geometry, Mechanism
from regularize.model.meshes import load_mesh

#: Custom data of a mesh prim: the file that its triangles come from.
FILE = "regularize:file"


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
    elif shape.kind == "sphere":
        schema = UsdGeom.Sphere.Define(stage, path)
        schema.CreateRadiusAttr().Set(float(shape.size[0]))
        prim = schema.GetPrim()
    else:
        kind = UsdGeom.Cylinder if shape.kind == "cylinder" else UsdGeom.Capsule
        schema = kind.Define(stage, path)
        schema.CreateRadiusAttr().Set(float(shape.size[0]))
        schema.CreateHeightAttr().Set(float(shape.size[1]))
        schema.CreateAxisAttr().Set("Z")
        prim = schema.GetPrim()
    _place(prim, shape, scale)
    if shape.collision:
        UsdPhysics.CollisionAPI.Apply(prim)
    if shape.color is not None and prim.IsA(UsdGeom.Gprim):
        red, green, blue, opacity = shape.color
        gprim = UsdGeom.Gprim(prim)
        gprim.CreateDisplayColorAttr().Set([Gf.Vec3f(red, green, blue)])
        if opacity != 1.0:
            gprim.CreateDisplayOpacityAttr().Set([opacity])


def _place(prim: Any, shape: Geometry, scale: Any) -> None:
    T, place = shape.T_body_geometry, UsdGeom.Xformable(prim)
    place.ClearXformOpOrder()
    x, y, z, w = map(float, quaternion(T[:3, :3]))
    precision = UsdGeom.XformOp.PrecisionDouble
    place.AddTranslateOp(precision).Set(Gf.Vec3d(*map(float, T[:3, 3])))
    place.AddOrientOp(precision).Set(Gf.Quatd(w, x, y, z))
    place.AddScaleOp(precision).Set(Gf.Vec3d(*map(float, scale)))


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
