"""Bodies and joints of an MJCF file, nested as the spanning tree of a mechanism has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from regularize.adapters.common.quantities import six
from regularize.adapters.common.serial import ROUNDING, pitch_of, serial, slide_name, twin_name
from regularize.adapters.common.write import Spanning, Writing, WrittenCoordinate, add
from regularize.adapters.mjcf.elements import FORCES, KINDS, add_geom, forces, limits, place, wxyz
from regularize.errors import UnsupportedExport
from regularize.escape import listed
from regularize.lie.arrays import Array
from regularize.lie.screw import adjoint, inverse
from regularize.mechanism.joint import motion, relative_pose, reversed_joint
from regularize.mechanism.mechanism import Body, Geometry, Inertia, Joint
from regularize.words import is_slack


@dataclass(eq=False)
class BodyTree(Writing):
    """Bodies while they are being written, and what the rest of the file has to know of them."""

    spanning: Spanning = field(kw_only=True)  # tree and closures of the mechanism
    qpos: list[float] = field(default_factory=list)  # coordinates of the pose, in MuJoCo's order
    pitches: list[tuple[str, str, float]] = field(default_factory=list)
    meshes: dict[tuple[str, tuple[float, ...]], str] = field(default_factory=dict)
    elements: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)

    @cached_property
    def cuts(self) -> tuple[Joint, ...]:
        """Closures that MJCF has no equality for; each cuts its child, which is not the ground."""
        found, connected, ground = [], set(), self.mechanism.ground
        for joint in self.spanning.closures:
            ends = frozenset((joint.parent, joint.child))
            # Connects of the same two bodies are one closure to every reader.
            if is_cut(joint) or (joint.kind != "fixed" and ends in connected):
                found.append(joint)
            elif joint.kind != "fixed":
                connected.add(ends)
        return tuple(reversed_joint(j) if j.child == ground else j for j in found)

    def add_bodies(self, world: Any) -> None:
        """Add everything below ``<worldbody>``."""
        for joint in self.cuts:
            self.parts[joint.child] = self.parts.get(joint.child, 1) + 1
        self._shapes(world, self.mechanism.body(self.mechanism.ground))
        self.elements[self.mechanism.ground] = world
        self._grow(world, self.mechanism.ground)

    def _grow(self, element: Any, name: str) -> None:
        """Add the bodies that hang on a body, depth first, which is MuJoCo's order."""
        pending = [(element, joint) for joint in reversed(self._hanging(name))]
        while pending:
            above, joint = pending.pop()
            row = [joint]
            while self._between(row[-1]):
                row += self._hanging(row[-1].child)
            child = row[-1].child
            body = self._body(above, row, self.mechanism.body(child), child)
            self.elements[child] = body
            pending += [(body, each) for each in reversed(self._hanging(child))]
            for cut in self.cuts:
                if cut.parent == child:
                    self._cut_body(body, cut)
        for cut in self.cuts:
            if cut.parent == name:
                self._cut_body(element, cut)

    def _hanging(self, name: str) -> list[Joint]:
        return [joint for joint in self.spanning.tree if joint.parent == name]

    def _between(self, joint: Joint) -> bool:
        """Whether a joint and the only one after it can be two joints of one body in MuJoCo."""
        body, after = self.mechanism.body(joint.child), self._hanging(joint.child)
        closing = {end for j in self.spanning.closures for end in (j.parent, j.child)}
        empty = body.inertia is None or not (body.inertia.mass or np.any(body.inertia.matrix))
        return (
            len(after) == 1
            and empty
            and not body.geometry
            and body.name not in closing
            and not {joint.kind, after[0].kind} & {"free", "fixed", "spherical"}
        )

    def _cut_body(self, above: Any, joint: Joint) -> None:
        """The half of a closure's child that stays with the closure's parent."""
        half = Body(joint.child, self.mechanism.body(joint.child).inertia)
        self.elements[twin_name(joint)] = self._body(above, [joint], half, twin_name(joint))

    def _body(self, above: Any, row: Sequence[Joint], body: Body, name: str) -> Any:
        """A body that hangs on another one by a row of joints."""
        steps = [joint.T_parent_joint @ inverse(joint.T_child_joint) for joint in row]
        kept = row[0].kind != "free" or above.tag == "worldbody"
        base = np.linalg.multi_dot([np.eye(4), *steps]) if len(steps) > 1 else steps[0]
        element = add(above, "body", name=name, **(place(base) if kept else {}))
        for k, joint in enumerate(row):
            if joint.kind == "free":
                self._free(element, kept, joint)
                continue
            carry = np.eye(4)  # from the link that the joint leads to, to the body
            for step in steps[k + 1 :]:
                carry = inverse(step) @ carry
            self._joints(element, replace(joint, T_child_joint=carry @ joint.T_child_joint))
        self._inertial(element, body.inertia, self.parts.get(body.name, 1))
        self._shapes(element, body)
        return element

    def _inertial(self, element: Any, inertia: Inertia | None, parts: int) -> None:
        if inertia is None or not (inertia.mass or np.any(inertia.matrix)):
            return
        mass, matrix = inertia.mass / parts, inertia.matrix / parts
        moments, axes = replace(inertia, matrix=matrix).principal
        if moments[0] > 0.0:
            add(element, "inertial", pos=inertia.center, mass=mass, fullinertia=six(matrix))
            return
        # Of full matrices MuJoCo takes definite ones only, of principal moments all.
        quat = wxyz(axes) if np.any(moments) else None
        add(element, "inertial", pos=inertia.center, quat=quat, mass=mass, diaginertia=moments)

    def refuse_massless(self) -> None:
        """Raise ``UnsupportedExport`` for moving bodies that MuJoCo would refuse for their mass."""
        moving = [e for e in self.root.iter("body") if e.find("joint") is not None]
        bare = [e.get("name") for e in moving if not _has_mass(e)]
        if bare:
            raise UnsupportedExport(
                f"MuJoCo moves no bodies without mass and rotational inertia, such as "
                f"{listed(bare)}; write mass properties into the model, or give --density"
            )

    # -- joints

    def _free(self, element: Any, kept: bool, joint: Joint) -> None:
        if not kept:
            self.lose(
                f"has free bodies below the world only: `{joint.name}` moves with "
                f"`{joint.parent}`, and is left out",
                joints=[joint.name],
            )
            return
        values = self._even_forces(joint)
        # Only the long form has room for damping and the like.
        tag, form = ("joint", {"type": "free"}) if values else ("freejoint", {})
        add(element, tag, name=joint.name, **form, **values)
        now = relative_pose(joint, joint.position)
        self.qpos += [*now[:3, 3], *wxyz(now[:3, :3])]

    def _joints(self, element: Any, joint: Joint) -> None:
        if joint.kind == "spherical":
            R, p = joint.T_child_joint[:3, :3], joint.T_child_joint[:3, 3]
            values = self._even_forces(joint)
            add(element, "joint", name=joint.name, type="ball", pos=p, **values)
            self.qpos += wxyz(R @ motion(joint, joint.position)[:3, :3] @ R.T)
            for k in range(3):
                self.call(joint, k, WrittenCoordinate(joint.name, k))
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
        kind = KINDS.written["prismatic" if part.kind == "prismatic" else "revolute"]
        direction = column[:3] if kind == "slide" else column[3:]
        size = float(np.linalg.norm(direction))
        if abs(size - 1.0) < ROUNDING:
            size = 1.0  # a unit axis, but for rounding
        axis, values = direction / size, {**limits(part, size), **forces(part, size)}
        add(element, "joint", name=part.name, type=kind, pos=point, axis=axis, **values)
        self.call(joint, k, WrittenCoordinate(part.name, factor=size))
        self.qpos.append(float(part.position[0]) * size)
        if part.kind == "helical":
            slide, pitch = slide_name(part.name), pitch_of(part)
            add(element, "joint", name=slide, type="slide", axis=axis)
            self.qpos.append(float(part.position[0]) * size * pitch)
            self.pitches.append((slide, part.name, pitch))

    def _even_forces(self, joint: Joint) -> dict[str, Any]:
        """Forces within a joint of several freedoms; MJCF has one value for all of them."""
        even = {k: v for k, v in joint.dynamics.stated().items() if np.ptp(v) == 0.0}
        found = {tag: even[key][0] for key, tag in FORCES.items() if key in even}
        if joint.kind == "spherical" and "stiffness" in even:
            found["stiffness"] = even["stiffness"][0]
        return found

    def _shapes(self, element: Any, body: Body) -> None:
        for shape in body.geometry:
            add_geom(element, shape, self._mesh(shape) if shape.kind == "mesh" else None)

    def _mesh(self, shape: Geometry) -> str:
        key = (shape.uri or "", tuple(float(value) for value in shape.size))
        return self.meshes.setdefault(key, f"mesh_{len(self.meshes) + 1}")


def _has_mass(element: Any) -> bool:
    """Whether a body, or what is fixed to it, has mass and rotational inertia."""
    inertial = element.find("inertial")
    if inertial is not None and float(inertial.get("mass")) > 0.0:
        moments = inertial.get("fullinertia") or inertial.get("diaginertia")
        if inertial.get("fullinertia") or all(float(m) > 0.0 for m in moments.split()):
            return True
    fixed = [e for e in element.findall("body") if e.find("joint") is None]
    return any(_has_mass(each) for each in fixed)


def is_cut(joint: Joint) -> bool:
    """Whether MJCF has no equality for a closure, so that its child is cut in two."""
    return joint.kind not in ("spherical", "fixed", "revolute") or (
        joint.kind == "revolute" and is_slack(joint.name)
    )


def _before(parts: Sequence[Joint], k: int) -> Array:
    """Where the frame before part k stands while all coordinates are zero."""
    T = np.eye(4)
    for part in parts[:k]:
        T = T @ part.T_parent_joint @ inverse(part.T_child_joint)
    return T
