"""Bodies and joints of an MJCF file, nested as the spanning tree of a mechanism has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regularize.adapters.common.inertia import six
from regularize.adapters.common.serial import ROUNDING, pitch_of, serial, slide_name, twin_name
from regularize.adapters.common.spanning import Spanning
from regularize.adapters.common.write import Writing, WrittenCoordinate, add
from regularize.adapters.mjcf.elements import add_geom, place, wxyz
from regularize.lie.screw import Array, adjoint, inverse
from regularize.model.joint_motion import motion, relative_pose
from regularize.model.mechanism import Body, Geometry, Inertia, Joint


@dataclass(eq=False)
class BodyTree(Writing):
    """Bodies while they are being written, and what the rest of the file has to know of them.

    Attributes:
        spanning: Tree and closures of the mechanism.
        qpos: Coordinates of the pose, in MuJoCo's order.
        motors: Joints that are driven.
        pitches: Slide, hinge and pitch of each screw.
        meshes: Name of each mesh by file and scale.
        elements: Element of each body, and of each half of one.
        parts: Into how many parts each body is cut; left out: one.
    """

    spanning: Spanning = field(kw_only=True)
    qpos: list[float] = field(default_factory=list)
    motors: list[str] = field(default_factory=list)
    pitches: list[tuple[str, str, float]] = field(default_factory=list)
    meshes: dict[tuple[str, tuple[float, ...]], str] = field(default_factory=dict)
    elements: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)

    def add_bodies(self, world: Any) -> None:
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
            self.lose(f"calls the ground `world`, not `{body.name}`", "note")
        if body.inertia is not None:
            self.lose(f"cannot hold the mass properties of the ground `{body.name}`", "note")
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
        half = Body(joint.child, self.mechanism.body(joint.child).inertia)
        self.elements[twin_name(joint)] = self._body(above, joint, half, twin_name(joint))

    def _body(self, above: Any, joint: Joint, body: Body, name: str) -> Any:
        base = joint.T_parent_joint @ inverse(joint.T_child_joint)
        kept = joint.kind != "free" or above.tag == "worldbody"
        element = add(above, "body", name=name, **(place(base) if kept else {}))
        if joint.kind == "free":
            self._free(element, kept, joint)
        else:
            self._joints(element, joint)
        self._inertial(element, body.inertia, joint, self.parts.get(body.name, 1))
        self._shapes(element, body)
        return element

    def _inertial(self, element: Any, inertia: Inertia | None, joint: Joint, parts: int) -> None:
        if inertia is None:
            if joint.freedoms:
                self.lose(
                    f"needs mass properties of every moving body: MuJoCo refuses `{joint.child}`, "
                    "of which none are known",
                    joints=[joint.name],
                )
        elif inertia.mass == 0.0:
            if joint.freedoms:
                self.lose(f"cannot move bodies without mass, such as `{joint.child}`")
        else:
            full, mass = six(inertia.matrix / parts), inertia.mass / parts
            add(element, "inertial", pos=inertia.center, mass=mass, fullinertia=full)

    # -- joints

    def _free(self, element: Any, kept: bool, joint: Joint) -> None:
        if not kept:
            self.lose(
                f"has free bodies below the world only: `{joint.name}` moves with "
                f"`{joint.parent}`, and is left out",
                joints=[joint.name],
            )
            return
        add(element, "freejoint", name=joint.name)
        now = relative_pose(joint, joint.position)
        self.qpos += [*now[:3, 3], *wxyz(now[:3, :3])]

    def _joints(self, element: Any, joint: Joint) -> None:
        if joint.kind == "spherical":
            R, p = joint.T_child_joint[:3, :3], joint.T_child_joint[:3, 3]
            add(element, "joint", name=joint.name, type="ball", pos=p)
            self.qpos += wxyz(R @ motion(joint, joint.position)[:3, :3] @ R.T)
            self._motor(joint, joint.name)
            return
        carried = adjoint(joint.T_child_joint)
        parts = serial(joint) if joint.freedoms else []
        for k, part in enumerate(parts):
            # The screw in the frame of the body, as it stands where all coordinates are zero.
            column = carried @ joint.screws[:, k]
            frame = _before(parts, k) @ part.T_parent_joint
            point = (joint.T_child_joint @ inverse(joint.T_parent_joint) @ frame)[:3, 3]
            self._joint(element, part, point, column, joint, k)

    def _joint(
        self, element: Any, part: Joint, point: Array, column: Array, joint: Joint, k: int
    ) -> None:
        kind = "slide" if part.kind == "prismatic" else "hinge"
        direction = column[:3] if kind == "slide" else column[3:]
        size = float(np.linalg.norm(direction))
        if abs(size - 1.0) < ROUNDING:
            size = 1.0  # a unit axis, but for rounding
        axis, span = direction / size, self._range(part, size)
        add(element, "joint", name=part.name, type=kind, pos=point, axis=axis, range=span)
        self.call(joint, k, WrittenCoordinate(part.name, factor=size))
        self.qpos.append(float(part.position[0]) * size)
        self._motor(joint, part.name)
        if part.kind == "helical":
            slide, pitch = slide_name(part.name), pitch_of(part)
            add(element, "joint", name=slide, type="slide", axis=axis)
            self.qpos.append(float(part.position[0]) * size * pitch)
            self.pitches.append((slide, part.name, pitch))

    def _range(self, part: Joint, size: float) -> Array | None:
        """Bounds of a joint; None where MJCF has none to write."""
        if part.limits is None or not np.any(np.isfinite(part.limits)):
            return None
        if not np.all(np.isfinite(part.limits)):
            self.lose(f"has no one-sided limits: that of `{part.name}` is lost", "note")
            return None
        return np.asarray(part.limits[0] * size)

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


def _before(parts: Sequence[Joint], k: int) -> Array:
    """Where the frame before part k stands while all coordinates are zero."""
    T = np.eye(4)
    for part in parts[:k]:
        T = T @ part.T_parent_joint @ inverse(part.T_child_joint)
    return T
