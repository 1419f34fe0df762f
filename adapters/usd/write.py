"""Writer of USD stages: an articulation, and joints outside of it that close the loops."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.quantities import MASSLESS
from regularize.adapters.common.serial import in_a_row
from regularize.adapters.common.write import Writing, WrittenCoordinate, reference_poses, spanning
from regularize.adapters.usd.joint_values import add_motors
from regularize.adapters.usd.prims import NAME, add_joint, add_place, add_shape, axes_of, put, turn
from regularize.errors import RegularizeError, UnsupportedExport
from regularize.escape import as_utf8, listed, unique
from regularize.lie.arrays import Array
from regularize.lie.screw import unit
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint, relative_pose
from regularize.mechanism.mechanism import Mechanism

SUFFIXES = (".usda", ".usdc", ".usd")


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as a USD stage with physics."""
    name = os.fspath(path)
    if not name.lower().endswith(SUFFIXES):
        raise UnsupportedExport(f"USD is written to {', '.join(SUFFIXES)}, not to {name}")
    try:
        stage = Usd.Stage.CreateNew(as_utf8(name))
        writing = _UsdWriter("USD", mechanism, stage)
        writing.write_stage()
        stage.Save()
    except Tf.ErrorException as error:
        reason = " ".join(str(error).split("'")[-2:-1]) or "USD refuses it"
        raise RegularizeError(f"{name}: cannot be written: {reason}; check the folder") from error
    return tuple(writing.findings)


@dataclass(eq=False)
class _UsdWriter(Writing):
    """Writes bodies, joints, couplings and motors of a mechanism to a stage."""

    top: str = ""  # path of the prim that holds everything
    paths: dict[str, Any] = field(default_factory=dict)  # path of the prim of each body
    poses: dict[str, Array] = field(default_factory=dict)  # world pose of each body
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def write_stage(self) -> None:
        """Write the scene, the bodies, the joints of tree and closures, couplings and motors."""
        stage, mechanism = self.root, self.mechanism
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
        self.top = "/" + Tf.MakeValidIdentifier(mechanism.name)
        top = UsdGeom.Xform.Define(stage, self.top).GetPrim()
        stage.SetDefaultPrim(top)
        UsdPhysics.ArticulationRootAPI.Apply(top)
        self._scene()
        found = spanning(mechanism)
        self.turned = found.turned
        self.poses = reference_poses(mechanism, found.tree)
        for body in mechanism.bodies:
            self._body(body)
        bare = [b.name for b in mechanism.bodies if b.inertia is None or not b.inertia.mass]
        bare = [name for name in bare if name != mechanism.ground]
        if bare:
            self.lose(
                "programs give bodies without mass properties those of their colliders: "
                f"{listed(bare, len(bare))}; write some into the model, or give --density"
            )
        for closing, joints in ((False, found.tree), (True, found.closures)):
            for joint in joints:
                self._joint(joint, closing)
        if mechanism.ground != WORLD:
            ground = self.define(f"{mechanism.ground}_to_world", "PhysicsFixedJoint")
            add_joint(ground, (None, np.eye(4)), (self.paths[mechanism.ground], np.eye(4)))
        for mimic in self.mimics():
            self._follow(mimic.follower, mimic.leader, mimic.multiplier, mimic.offset)
        add_motors(self)

    def define(self, name: str, kind: str) -> Any:
        """Define a prim of a type; its name is made valid and unique, the wanted one is stored."""
        plain = Tf.MakeValidIdentifier(name)
        taken = {child.GetName() for child in self.root.GetPrimAtPath(self.top).GetChildren()}
        prim = self.root.DefinePrim(f"{self.top}/{unique(plain, taken)}", kind)
        if prim.GetName() != name:
            prim.SetCustomDataByKey(NAME, name)
            prim.SetDisplayName(name)
        return prim

    def _scene(self) -> None:
        """Write the physics scene with gravity."""
        scene = UsdPhysics.Scene(self.define("physics_scene", "PhysicsScene"))
        size = float(np.linalg.norm(self.mechanism.gravity))
        down = unit(self.mechanism.gravity) if size else np.array([0.0, 0.0, -1.0])
        put(scene.CreateGravityDirectionAttr(), Gf.Vec3d(*map(float, down)))
        put(scene.CreateGravityMagnitudeAttr(), size)
        angle = scene.GetPrim().CreateAttribute("mjc:compiler:angle", Sdf.ValueTypeNames.Token)
        angle.Set("radian")

    # -- bodies

    def _body(self, body: Body) -> None:
        """Write a body with its pose, mass properties and shapes."""
        prim = self.define(body.name, "Xform")
        self.paths[body.name] = prim.GetPath()
        if body.name == self.mechanism.ground == WORLD:
            self.paths[body.name] = None  # the world itself is no rigid body
        else:
            UsdPhysics.RigidBodyAPI.Apply(prim)
        add_place(prim, self.poses[body.name])
        if body.inertia is not None and body.inertia.mass > 0.0:
            add_mass(prim, body.inertia)
        for shape in body.geometry:
            add_shape(prim, shape, self.mechanism)

    # -- joints

    def _joint(self, joint: Joint, closing: bool) -> None:
        """Write a joint, as several in a row where USD has none of its kind."""
        if joint.kind == "free":
            return  # a body without a joint moves freely
        if axes_of(joint) is not None:
            self._write(joint, closing, joint, 0)
            return
        parts, slides = in_a_row(joint)
        self.lose(
            f"has no joint like `{joint.name}` ({joint.kind}): it becomes {len(parts)} joints in a "
            "row with links between them that have no mass",
            joints=[joint.name],
        )
        freedom, pose = 0, self.poses[joint.parent]
        for number, part in enumerate(parts):
            pose = pose @ relative_pose(part, part.position)
            if part.child not in self.paths:
                self.poses[part.child] = pose
                self._body(Body(part.child, MASSLESS))
            self._write(part, closing and number == len(parts) - 1, joint, freedom)
            if part.name in slides:
                leader, pitch = slides[part.name]
                ends = WrittenCoordinate(part.name), WrittenCoordinate(leader)
                self._follow(*ends, pitch, 0.0)
            freedom += part.freedoms if part.name not in slides else 0

    def _write(self, part: Joint, closing: bool, joint: Joint, first: int) -> None:
        """Write one joint prim for the freedoms of ``joint`` from number ``first`` on."""
        axes = axes_of(part)
        if axes is None:
            raise UnsupportedExport(
                f"USD counts joints in metres and radians along their own axes: those of "
                f"`{joint.name}` ({joint.kind}) are others; write a JSON file"
            )
        kind, names, turned = axes
        prim = self.define(part.name, kind)
        ends = [
            (self.paths[body], T @ turned)
            for body, T in ((part.parent, part.T_parent_joint), (part.child, part.T_child_joint))
        ]
        add_joint(prim, *ends, closing=closing, joint=part, names=names)
        self.joints[part.name], self.axes[part.name] = prim, names
        for k in range(part.freedoms):
            self.call(joint, first + k, WrittenCoordinate(part.name, k))

    # -- couplings

    def _follow(
        self,
        follower: WrittenCoordinate,
        leader: WrittenCoordinate,
        multiplier: float,
        offset: float,
    ) -> None:
        """Write that one coordinate follows another, in PhysX's schema with offsets in degrees."""
        prim, axis = self.joints[follower.joint], self.axes[follower.joint][follower.axis]
        prim.AddAppliedSchema(f"PhysxMimicJointAPI:{axis}")
        stem = f"physxMimicJoint:{axis}"
        relation = prim.CreateRelationship(f"{stem}:referenceJoint")
        relation.SetTargets([self.joints[leader.joint].GetPath()])
        named = prim.CreateAttribute(f"{stem}:referenceJointAxis", Sdf.ValueTypeNames.Token)
        named.Set(self.axes[leader.joint][leader.axis])
        shown = np.degrees(offset) if axis.startswith("rot") else offset
        for name, value in (("gearing", -multiplier), ("offset", -float(shown))):
            put(prim.CreateAttribute(f"{stem}:{name}", Sdf.ValueTypeNames.Float), value)


def add_mass(prim: Any, inertia: Inertia) -> None:
    """Write mass properties to the prim of a body."""
    moments, axes = inertia.principal
    api = UsdPhysics.MassAPI.Apply(prim)
    put(api.CreateMassAttr(), float(inertia.mass))
    put(api.CreateCenterOfMassAttr(), Gf.Vec3d(*map(float, inertia.center)))
    put(api.CreateDiagonalInertiaAttr(), Gf.Vec3d(*map(float, moments)))
    put(api.CreatePrincipalAxesAttr(), turn(axes))
