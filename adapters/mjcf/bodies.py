"""Bodies and joints of an MJCF file, nested as the spanning tree of a mechanism has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.joint_motion import motion
from regularize.adapters.common.spanning import Spanning
from regularize.adapters.common.write import (
    Losses,
    number,
    numbers,
    pitch_of,
    quaternion,
    serial,
)
from regularize.adapters.mjcf.elements import add_geom, place
from regularize.lie.screw import Array, adjoint, inverse
from regularize.model.mechanism import (
    Body,
    Geometry,
    Inertia,
    Joint,
    Mechanism,
)


@dataclass(eq=False)
class BodyTree:
    """Bodies while they are being written, and what the rest of the file has to know of them.

    Attributes:
        mechanism: What is written.
        spanning: Its tree and its closures.
        losses: What MJCF cannot hold.
        qpos: Coordinates of the pose, in MuJoCo's order.
        motors: Joints that are driven.
        names: Name and factor of the MJCF joint of each (joint, freedom).
        pitches: Slide, hinge and pitch of each screw.
        meshes: Name of each mesh by file and scale.
        elements: Element of each body.
        parts: Into how many parts each body is cut; left out: one.
    """

    mechanism: Mechanism
    spanning: Spanning
    losses: Losses
    qpos: list[float] = field(default_factory=list)
    motors: list[str] = field(default_factory=list)
    names: dict[tuple[str, int], tuple[str, float]] = field(default_factory=dict)
    pitches: list[tuple[str, str, float]] = field(default_factory=list)
    meshes: dict[tuple[str, tuple[float, ...]], str] = field(default_factory=dict)
    elements: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)

    def write(self, world: Any) -> None:
        """Add everything below ``<worldbody>``."""
        for joint in self.spanning.closures:
            if is_cut(joint):
                self.parts[joint.child] = self.parts.get(joint.child, 1) + 1
        self._ground(world)
        self.elements[self.mechanism.ground] = world
        self._grow(world, self.mechanism.ground)

    def _ground(self, world: Any) -> None:
        body = self.mechanism.body(self.mechanism.ground)
        if body.name != "world":
            self.losses.add(f"calls the ground `world`, not `{body.name}`", "note")
        if body.inertia is not None:
            self.losses.add(f"cannot hold the mass properties of the ground `{body.name}`", "note")
        self._shapes(world, body)

    def _grow(self, element: Any, name: str) -> None:
        """Add the bodies that hang on a body, depth first, which is MuJoCo's order."""
        pending = [(element, joint) for joint in reversed(self._hanging(name))]
        while pending:
            above, joint = pending.pop()
            body = self._body(above, joint, self.mechanism.body(joint.child), joint.child)
            self.elements[joint.child] = body
            pending += [(body, each) for each in reversed(self._hanging(joint.child))]
            for cut in self.spanning.closures:
                if cut.parent == joint.child and is_cut(cut):
                    self._cut_body(body, cut)
        for cut in self.spanning.closures:
            if cut.parent == name and is_cut(cut):
                self._cut_body(element, cut)

    def _hanging(self, name: str) -> list[Joint]:
        return [joint for joint in self.spanning.tree if joint.parent == name]

    def _cut_body(self, above: Any, joint: Joint) -> None:
        """The half of a closure's child that stays with the closure's parent."""
        self._body(
            above,
            joint,
            Body(joint.child, self.mechanism.body(joint.child).inertia),
            half_name(joint),
        )

    def _body(self, above: Any, joint: Joint, body: Body, name: str) -> Any:
        base = joint.T_parent_joint @ inverse(joint.T_child_joint)
        element = etree.SubElement(above, "body", name=name)
        if joint.kind == "free":
            self._free(element, above, joint, base)
        else:
            place(element, base)
            self._joints(element, joint)
        self._inertial(element, body.inertia, joint, self.parts.get(body.name, 1))
        self._shapes(element, body)
        return element

    def _inertial(self, element: Any, inertia: Inertia | None, joint: Joint, parts: int) -> None:
        if inertia is None:
            if joint.freedoms:
                self.losses.add(
                    f"needs mass properties of every moving body: MuJoCo refuses `{joint.child}`, "
                    "of which none are known",
                    joints=[joint.name],
                )
            return
        if inertia.mass == 0.0:
            if joint.freedoms:
                self.losses.add(f"cannot move bodies without mass, such as `{joint.child}`")
            return
        matrix = inertia.matrix / parts
        full = [matrix[i, k] for i, k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        etree.SubElement(
            element,
            "inertial",
            pos=numbers(inertia.center),
            mass=number(inertia.mass / parts),
            fullinertia=numbers(full),
        )

    # -- joints

    def _free(self, element: Any, above: Any, joint: Joint, base: Array) -> None:
        if above.tag != "worldbody":
            self.losses.add(
                f"has free bodies below the world only: `{joint.name}` moves with "
                f"`{joint.parent}`, and is left out",
                joints=[joint.name],
            )
            return
        place(element, base)
        etree.SubElement(element, "freejoint", name=joint.name)
        now = joint.T_parent_joint @ motion(joint, joint.position) @ inverse(joint.T_child_joint)
        x, y, z, w = quaternion(now[:3, :3])
        self.qpos += [*now[:3, 3], w, x, y, z]

    def _joints(self, element: Any, joint: Joint) -> None:
        if joint.kind == "spherical":
            place = joint.T_child_joint
            etree.SubElement(
                element, "joint", name=joint.name, type="ball", pos=numbers(place[:3, 3])
            )
            R = place[:3, :3]
            x, y, z, w = quaternion(R @ motion(joint, joint.position)[:3, :3] @ R.T)
            self.qpos += [w, x, y, z]
            self._motor(joint, joint.name)
            return
        carried = adjoint(joint.T_child_joint)
        parts = serial(joint) if joint.freedoms else []
        for k, part in enumerate(parts):
            # The screw in the frame of the body, as it stands where all coordinates are zero.
            column = carried @ joint.screws[:, k]
            frame = _before(parts, k) @ part.T_parent_joint
            place = joint.T_child_joint @ inverse(joint.T_parent_joint) @ frame
            self._joint(element, part, place[:3, 3], column, joint, k)

    def _joint(
        self, element: Any, part: Joint, point: Array, column: Array, joint: Joint, k: int
    ) -> None:
        kind = "slide" if part.kind == "prismatic" else "hinge"
        direction = column[:3] if kind == "slide" else column[3:]
        size = float(np.linalg.norm(direction))
        if abs(size - 1.0) < 1e-12:
            size = 1.0  # a unit axis, but for rounding
        attributes = {
            "name": part.name,
            "type": kind,
            "pos": numbers(point),
            "axis": numbers(direction / size),
        }
        if part.limits is not None and np.any(np.isfinite(part.limits)):
            if np.all(np.isfinite(part.limits)):
                attributes["range"] = numbers(part.limits[0] * size)
            else:
                self.losses.add(f"has no one-sided limits: that of `{part.name}` is lost", "note")
        etree.SubElement(element, "joint", attributes)
        self.names[joint.name, k] = (part.name, size)
        self.qpos.append(float(part.position[0]) * size)
        self._motor(joint, part.name)
        if part.kind == "helical":
            slide = f"{part.name}_slide"
            etree.SubElement(
                element,
                "joint",
                name=slide,
                type="slide",
                axis=attributes["axis"],
            )
            pitch = pitch_of(part)
            self.qpos.append(float(part.position[0]) * size * pitch)
            self.pitches.append((slide, part.name, pitch))

    def _motor(self, joint: Joint, name: str) -> None:
        if joint.actuated:
            self.motors.append(name)

    def _shapes(self, element: Any, body: Body) -> None:
        for shape in body.geometry:
            add_geom(element, shape, self._mesh(shape) if shape.kind == "mesh" else None)

    def _mesh(self, shape: Geometry) -> str:
        key = (shape.uri or "", tuple(float(value) for value in shape.size))
        return self.meshes.setdefault(key, f"mesh_{len(self.meshes) + 1}")


def is_cut(joint: Joint) -> bool:
    """Whether MJCF has no equality for a closure, so that its child is cut in two."""
    return joint.kind not in ("spherical", "fixed", "revolute")


def half_name(joint: Joint) -> str:
    """Name of the half of a closure's child that stays with the closure's parent."""
    return f"{joint.child}__{joint.name}"


def _before(parts: Sequence[Joint], k: int) -> Array:
    """Where the frame before part k stands while all coordinates are zero."""
    T = np.eye(4)
    for part in parts[:k]:
        T = T @ part.T_parent_joint @ inverse(part.T_child_joint)
    return T
