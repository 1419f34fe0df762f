"""Writing SDF 1.11: links at the reference pose, loops as links with two parent joints."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.files import write_text
from regularize.adapters.common.joint_motion import joint_position, motion
from regularize.adapters.common.spanning import reference_poses, spanning
from regularize.adapters.common.write import (
    Losses,
    axis_in_frame,
    follower,
    number,
    numbers,
    pitch_of,
    quaternion,
    serial,
    standard,
    text_of,
)
from regularize.lie.screw import (
    Array,
    inverse,
    log,
    transform,
)
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import (
    Body,
    Geometry,
    Inertia,
    Joint,
    Mechanism,
)

VERSION = "1.11"
WORLD = "world"
TYPES = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "helical": "screw",
    "universal": "universal",
    "spherical": "ball",
    "fixed": "fixed",
}
CLOSED = 1e-9  # metres and radians: what a file of assembled poses cannot hold beyond
MASSLESS = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as SDF.

    The pose of the file is the reference pose, where SDF counts all coordinates as zero.

    Returns:
        What SDF cannot hold (REG302).
    """
    return _Writer(mechanism).write(path)


@dataclass(eq=False)
class _Writer:
    mechanism: Mechanism
    losses: Losses = field(default_factory=lambda: Losses("SDF"))
    #: Coordinate that becomes zero, by SDF joint and axis.
    zeros: dict[tuple[str, int], float] = field(default_factory=dict)
    #: SDF joint and axis of each (joint, freedom).
    names: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    poses: dict[str, Array] = field(default_factory=dict)

    def write(self, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        mechanism = self.mechanism
        self.poses = reference_poses(mechanism, spanning(mechanism).tree)
        root = etree.Element("sdf", version=VERSION)
        model = etree.SubElement(root, "model", name=mechanism.name)
        self.losses.gravity(mechanism)  # only a world has gravity, and would rename the links
        for body in mechanism.bodies:
            self._link(model, body)
        if mechanism.ground != WORLD:
            self._fix_ground(model)
        moved = [joint.name for joint in mechanism.joints if np.any(joint.position)]
        if moved:
            self.losses.add(
                "counts coordinates from the pose of the file: those stored become zero",
                "note",
                joints=moved,
            )
        driven = [joint.name for joint in mechanism.joints if joint.actuated is not None]
        if driven:
            self.losses.add("cannot say which joints are motors", "note", joints=driven)
        for joint in mechanism.joints:
            self._joint(model, joint)
        for coupling in mechanism.couplings:
            self._mimic(model, coupling.name, follower(coupling))
        write_text(path, text_of(root))
        return tuple(self.losses.findings)

    # -- links

    def _link(self, model: Any, body: Body) -> None:
        if body.name == WORLD:
            if body.inertia is not None or body.geometry:
                self.losses.add("cannot hold mass and shapes of the world", "note")
            return
        element = etree.SubElement(model, "link", name=body.name)
        _pose(element, self.poses[body.name])
        _inertial(element, body.inertia)
        for i, shape in enumerate(body.geometry):
            _shape(element, shape, f"shape_{i + 1}")

    def _fix_ground(self, model: Any) -> None:
        element = etree.SubElement(
            model, "joint", name=f"{self.mechanism.ground}_to_world", type="fixed"
        )
        etree.SubElement(element, "parent").text = WORLD
        etree.SubElement(element, "child").text = self.mechanism.ground

    # -- joints

    def _joint(self, model: Any, joint: Joint) -> None:
        # Closures keep the child's frame; where they are open, the parent's cannot be held.
        T = (
            inverse(self.poses[joint.parent] @ joint.T_parent_joint)
            @ self.poses[joint.child]
            @ joint.T_child_joint
        )
        q = joint.position  # those of a closing joint need not lead from one frame to the other
        if float(np.max(np.abs(log(inverse(motion(joint, q)) @ T)))) > CLOSED:
            q = joint_position(joint, T)
        gap = log(inverse(motion(joint, q)) @ T)
        if float(np.max(np.abs(gap))) > CLOSED:
            millimetres = 1e3 * float(np.linalg.norm(gap[:3]))
            degrees = math.degrees(float(np.linalg.norm(gap[3:])))
            self.losses.add(
                f"cannot hold open loops: the gap of {millimetres:.3g} mm and {degrees:.3g}° at "
                f"`{joint.name}` is lost",
                joints=[joint.name],
            )
        if joint.kind == "free":
            self.losses.add(
                f"joins nothing by a free joint: `{joint.name}` is left out, and its bodies move "
                "freely all the same",
                "note",
                joints=[joint.name],
            )
            return
        if joint.freedoms == 1:
            self._element(model, serial(joint)[0], q, [0], joint.name)
            return
        if joint.kind in TYPES and standard(joint):
            self._element(model, joint, q, [*range(joint.freedoms)], joint.name)
            return
        self.losses.add(
            f"has no {joint.kind} joints: `{joint.name}` becomes {joint.freedoms} joints in a row "
            "with massless links between them",
            "note",
            joints=[joint.name],
        )
        self._row(model, joint, q)

    def _row(self, model: Any, joint: Joint, q: Array) -> None:
        """A joint as several, with massless links at their places of the reference pose."""
        pose = self.poses[joint.parent]
        for k, part in enumerate(serial(joint)):
            here = motion(part, q[k : k + 1])
            pose = pose @ part.T_parent_joint @ here @ inverse(part.T_child_joint)
            if k < joint.freedoms - 1:
                self.poses[part.child] = pose
                link = etree.SubElement(model, "link", name=part.child)
                _pose(link, pose)
                _inertial(link, MASSLESS)
            self._element(model, part, q[k : k + 1], [k], joint.name)

    def _element(
        self, model: Any, joint: Joint, q: Array, freedoms: list[int], original: str
    ) -> None:
        element = etree.SubElement(model, "joint", name=joint.name, type=TYPES[joint.kind])
        # The frame of the file lies on the child, after the motion to the reference pose.
        axes = np.eye(3)
        if joint.freedoms == 2:
            # The first axis of a universal joint stands still on the parent.
            axes = motion(joint, q)[:3, :3].T
        place = joint.T_child_joint
        _pose(element, place)
        etree.SubElement(element, "parent").text = joint.parent
        etree.SubElement(element, "child").text = joint.child
        if joint.kind == "helical":
            pitch = etree.SubElement(element, "screw_thread_pitch")
            pitch.text = number(2 * math.pi * pitch_of(joint))
        if joint.kind in ("spherical", "fixed"):
            return
        for index, freedom in enumerate(freedoms):
            direction = axis_in_frame(joint, index)
            if joint.freedoms == 2:
                direction = axes @ (direction if index == 0 else _turned(joint, q) @ direction)
            tag = ("axis", "axis2")[index]
            self.names[original, freedom] = (joint.name, index)
            self.zeros[joint.name, index] = float(q[index])
            axis = etree.SubElement(element, tag)
            etree.SubElement(axis, "xyz").text = numbers(direction)
            if joint.limits is not None:
                limit = etree.SubElement(axis, "limit")
                low, high = joint.limits[index] - q[index]
                etree.SubElement(limit, "lower").text = number(low)
                etree.SubElement(limit, "upper").text = number(high)

    def _mimic(
        self,
        model: Any,
        name: str,
        pair: tuple[tuple[str, int], tuple[str, int], float, float] | None,
    ) -> None:
        if pair is None or pair[0] not in self.names or pair[1] not in self.names:
            self.losses.add(f"holds couplings of two axes only: `{name}` is lost")
            return
        (one, i), (other, j) = self.names[pair[0]], self.names[pair[1]]
        multiplier, offset = pair[2], pair[3]
        joint = next(e for e in model.iter("joint") if e.get("name") == one)
        axis = joint.find(("axis", "axis2")[i])
        if axis.find("mimic") is not None:
            self.losses.add(f"holds one coupling per axis: `{name}` is lost")
            return
        mimic = etree.SubElement(axis, "mimic", joint=other, axis=("axis", "axis2")[j])
        etree.SubElement(mimic, "multiplier").text = number(multiplier)
        shifted = multiplier * self.zeros[other, j] + offset - self.zeros[one, i]
        etree.SubElement(mimic, "offset").text = number(shifted)
        etree.SubElement(mimic, "reference").text = "0"


def _turned(joint: Joint, q: Array) -> Array:
    """Rotation by the first coordinate of a universal joint."""
    first = Joint("first", "a", "b", "composite", joint.screws[:, :1])
    return motion(first, q[:1])[:3, :3]


def _pose(element: Any, T: Array) -> None:
    if np.array_equal(T, np.eye(4)):
        return
    pose = etree.SubElement(element, "pose", rotation_format="quat_xyzw")
    pose.text = numbers([*T[:3, 3], *quaternion(T[:3, :3])])


def _inertial(element: Any, inertia: Inertia | None) -> None:
    if inertia is None:
        return
    inertial = etree.SubElement(element, "inertial")
    _pose(inertial, transform(translation=inertia.center))
    etree.SubElement(inertial, "mass").text = number(inertia.mass)
    matrix = etree.SubElement(inertial, "inertia")
    for (i, k), tag in (
        ((0, 0), "ixx"),
        ((1, 1), "iyy"),
        ((2, 2), "izz"),
        ((0, 1), "ixy"),
        ((0, 2), "ixz"),
        ((1, 2), "iyz"),
    ):
        etree.SubElement(matrix, tag).text = number(inertia.matrix[i, k])


def _shape(link: Any, shape: Geometry, name: str) -> None:
    element = etree.SubElement(link, "collision" if shape.collision else "visual", name=name)
    _pose(element, shape.T_body_geometry)
    inside = etree.SubElement(etree.SubElement(element, "geometry"), shape.kind)
    if shape.kind == "mesh":
        etree.SubElement(inside, "uri").text = shape.uri or ""
        etree.SubElement(inside, "scale").text = numbers(shape.size)
    elif shape.kind == "box":
        etree.SubElement(inside, "size").text = numbers(shape.size)
    else:
        for tag, value in zip(("radius", "length"), shape.size, strict=False):
            etree.SubElement(inside, tag).text = number(value)
    if shape.color is not None:
        material = etree.SubElement(element, "material")
        etree.SubElement(material, "diffuse").text = numbers(shape.color)
