"""Writing MJCF: nested bodies, equality constraints for the loops, a keyframe for the pose."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters._atomic import write_text
from regularize.adapters._joint_position import motion
from regularize.adapters._spanning import Spanning, spanning
from regularize.adapters._write import (
    Losses,
    number,
    numbers,
    pitch_of,
    quaternion,
    serial,
    text_of,
)
from regularize.diagnostic import Diagnostic
from regularize.mechanism import Body, Geometry, Inertia, Joint, Mechanism
from regularize.screw import Array, adjoint, inverse, transform

ARM = 0.1  # metres between the two points that close a hinge


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as MJCF.

    Ball closures become connects, rigid ones welds, hinges two connects each (MuJoCo has no
    five-row equality), and any other closure cuts its child body in two halves that a weld joins.

    Returns:
        What MJCF cannot hold (REG302), and rows that it forces upon the model (REG301).
    """
    return _Writer(mechanism, spanning(mechanism)).write(path)


@dataclass(eq=False)
class _Writer:
    mechanism: Mechanism
    spanning: Spanning
    losses: Losses = field(default_factory=lambda: Losses("MJCF"))
    qpos: list[float] = field(default_factory=list)
    motors: list[str] = field(default_factory=list)
    #: Name and factor of the MJCF joint of each (joint, freedom).
    names: dict[tuple[str, int], tuple[str, float]] = field(default_factory=dict)
    pitches: list[tuple[str, str, float]] = field(default_factory=list)
    meshes: dict[tuple[str, tuple[float, ...]], str] = field(default_factory=dict)
    halves: dict[str, int] = field(default_factory=dict)

    def write(self, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        mechanism = self.mechanism
        root = etree.Element("mujoco", model=mechanism.name)
        etree.SubElement(root, "compiler", angle="radian", autolimits="true")
        etree.SubElement(root, "option", gravity=numbers(mechanism.gravity))
        assets = etree.SubElement(root, "asset")
        world = etree.SubElement(root, "worldbody")
        self._split_cuts()
        self._ground(world)
        elements = {mechanism.ground: world}
        self._grow(world, mechanism.ground, elements)
        self._close(root, elements)
        self._couple(root)
        for (uri, scale), name in self.meshes.items():
            etree.SubElement(assets, "mesh", name=name, file=uri, scale=numbers(scale))
        if not len(assets):
            root.remove(assets)
        if self.motors:
            actuators = etree.SubElement(root, "actuator")
            for name in self.motors:
                etree.SubElement(actuators, "motor", name=name, joint=name)
        if any(np.any(joint.position) for joint in self.spanning.tree):
            keys = etree.SubElement(root, "keyframe")
            etree.SubElement(keys, "key", name="home", qpos=numbers(self.qpos))
        write_text(path, text_of(root))
        return tuple(self.losses.findings)

    # -- bodies

    def _split_cuts(self) -> None:
        """Count into how many parts each body is cut."""
        for joint in self.spanning.closures:
            if joint.kind not in ("spherical", "fixed", "revolute"):
                self.halves[joint.child] = self.halves.get(joint.child, 1) + 1

    def _ground(self, world: Any) -> None:
        body = self.mechanism.body(self.mechanism.ground)
        if body.name != "world":
            self.losses.add(f"calls the ground `world`, not `{body.name}`", "note")
        if body.inertia is not None:
            self.losses.add(f"cannot hold the mass properties of the ground `{body.name}`", "note")
        self._shapes(world, body)

    def _grow(self, element: Any, name: str, elements: dict[str, Any]) -> None:
        """Add the bodies that hang on a body, depth first, which is MuJoCo's order."""
        pending = [(element, joint) for joint in reversed(self._hanging(name))]
        while pending:
            above, joint = pending.pop()
            body = self._body(above, joint, self.mechanism.body(joint.child), joint.child)
            elements[joint.child] = body
            pending += [(body, each) for each in reversed(self._hanging(joint.child))]
            for cut in self.spanning.closures:
                if cut.parent == joint.child and self._cuts(cut):
                    self._cut_body(body, cut)
        for cut in self.spanning.closures:
            if cut.parent == name and self._cuts(cut):
                self._cut_body(element, cut)

    def _hanging(self, name: str) -> list[Joint]:
        return [joint for joint in self.spanning.tree if joint.parent == name]

    @staticmethod
    def _cuts(joint: Joint) -> bool:
        return joint.kind not in ("spherical", "fixed", "revolute")

    def _cut_body(self, above: Any, joint: Joint) -> None:
        """The half of a closure's child that stays with the closure's parent."""
        self._body(
            above, joint, Body(joint.child, self.mechanism.body(joint.child).inertia), _half(joint)
        )

    def _body(self, above: Any, joint: Joint, body: Body, name: str) -> Any:
        base = joint.T_parent_joint @ inverse(joint.T_child_joint)
        element = etree.SubElement(above, "body", name=name)
        if joint.kind == "free":
            self._free(element, above, joint, base)
        else:
            _place(element, base)
            self._joints(element, joint)
        self._inertial(element, body.inertia, joint, self.halves.get(body.name, 1))
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
        _place(element, base)
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

    # -- loops

    def _close(self, root: Any, elements: dict[str, Any]) -> None:
        if not self.spanning.closures:
            return
        group = etree.SubElement(root, "equality")
        for joint in self.spanning.closures:
            if self._cuts(joint):
                self._weld_halves(group, elements, joint)
                continue
            points = [(joint.name, joint.T_parent_joint, joint.T_child_joint)]
            if joint.kind == "revolute":
                points = self._hinge_points(joint)
            tag = "weld" if joint.kind == "fixed" else "connect"
            for name, T_parent, T_child in points:
                _site(elements[joint.parent], f"{name}_1", T_parent)
                _site(elements[joint.child], f"{name}_2", T_child)
                etree.SubElement(group, tag, name=name, site1=f"{name}_1", site2=f"{name}_2")
        self._closure_losses()

    def _hinge_points(self, joint: Joint) -> list[tuple[str, Array, Array]]:
        [part] = serial(joint)
        arm = transform(translation=ARM * part.screws[3:, 0] / np.linalg.norm(part.screws[3:, 0]))
        self.losses.findings.append(
            Diagnostic(
                "REG301",
                "note",
                f"MJCF has no equality of five rows: hinge `{joint.name}` is closed by two "
                "connects of six rows, one of them redundant",
                joints=(joint.name,),
            )
        )
        first, second = part.T_parent_joint, part.T_child_joint
        return [
            (joint.name, first, second),
            (f"{joint.name}_z", first @ arm, second @ arm),
        ]

    def _weld_halves(self, group: Any, elements: dict[str, Any], joint: Joint) -> None:
        self.losses.findings.append(
            Diagnostic(
                "REG301",
                "note",
                f"MJCF has no equality for the {joint.kind} closure `{joint.name}`: body "
                f"`{joint.child}` is cut in halves `{joint.child}` and `{_half(joint)}`, and a "
                "weld joins them",
                joints=(joint.name,),
            )
        )
        name = f"{joint.name}_weld"
        half = next(e for e in group.getroottree().iter("body") if e.get("name") == _half(joint))
        _site(half, f"{name}_1", np.eye(4))
        _site(elements[joint.child], f"{name}_2", np.eye(4))
        etree.SubElement(group, "weld", name=name, site1=f"{name}_1", site2=f"{name}_2")

    def _closure_losses(self) -> None:
        driven = [
            joint.name
            for joint in self.spanning.closures
            if joint.actuated and not self._cuts(joint)
        ]
        if driven:
            self.losses.add(f"cannot drive closing joints: {', '.join(driven)}", joints=driven)
        bounded = [
            j.name for j in self.spanning.closures if j.limits is not None and not self._cuts(j)
        ]
        if bounded:
            self.losses.add(f"cannot limit closing joints: {', '.join(bounded)}", joints=bounded)

    def _couple(self, root: Any) -> None:
        rows: list[tuple[str, Sequence[tuple[str, float]], float]] = [
            (slide, [(slide, 1.0), (hinge, -pitch)], 0.0) for slide, hinge, pitch in self.pitches
        ]
        for coupling in self.mechanism.couplings:
            terms = []
            for joint, freedom, coefficient in coupling.terms:
                if (joint, self._freedom(joint, freedom)) not in self.names:
                    break
                name, size = self.names[joint, self._freedom(joint, freedom)]
                terms.append((name, coefficient / size))
            if len(terms) < len(coupling.terms):
                self.losses.add(
                    f"cannot couple coordinates of closing or ball joints: `{coupling.name}` is "
                    "lost"
                )
                continue
            rows.append((coupling.name, terms, coupling.offset))
        if not rows:
            return
        group = root.find("equality")
        group = etree.SubElement(root, "equality") if group is None else group
        for name, linear, offset in rows:
            _row(root, group, name, linear, offset)

    def _freedom(self, joint: str, freedom: int) -> int:
        """Number of a freedom in the joint as the tree has it."""
        if joint not in self.spanning.turned:
            return freedom
        return self.mechanism.joint(joint).freedoms - 1 - freedom

    # -- shapes

    def _shapes(self, element: Any, body: Body) -> None:
        for shape in body.geometry:
            attributes = {"type": shape.kind, "mass": "0"}
            _place_attributes(attributes, shape.T_body_geometry)
            if shape.kind == "mesh":
                attributes["mesh"] = self._mesh(shape)
            else:
                size = shape.size / 2 if shape.kind == "box" else shape.size.copy()
                if shape.kind in ("cylinder", "capsule"):
                    size[1] /= 2
                attributes["size"] = numbers(size)
            if shape.color is not None:
                attributes["rgba"] = numbers(shape.color)
            if not shape.collision:
                attributes.update(contype="0", conaffinity="0")
            etree.SubElement(element, "geom", attributes)

    def _mesh(self, shape: Geometry) -> str:
        key = (shape.uri or "", tuple(float(value) for value in shape.size))
        return self.meshes.setdefault(key, f"mesh_{len(self.meshes) + 1}")


def _before(parts: Sequence[Joint], k: int) -> Array:
    """Where the frame before part k stands while all coordinates are zero."""
    T = np.eye(4)
    for part in parts[:k]:
        T = T @ part.T_parent_joint @ inverse(part.T_child_joint)
    return T


def _half(joint: Joint) -> str:
    return f"{joint.child}__{joint.name}"


def _row(
    root: Any, group: Any, name: str, terms: Sequence[tuple[str, float]], offset: float
) -> None:
    """One linear relation: between two joints directly, else by a fixed tendon."""
    if len(terms) <= 2 and terms[0][1] != 0.0:
        (first, a), rest = terms[0], terms[1:]
        attributes = {"name": name, "joint1": first}
        slope = 0.0
        if rest:
            attributes["joint2"] = rest[0][0]
            slope = -rest[0][1] / a
        attributes["polycoef"] = numbers([offset / a, slope, 0, 0, 0])
        etree.SubElement(group, "joint", attributes)
        return
    tendons = root.find("tendon")
    tendons = etree.SubElement(root, "tendon") if tendons is None else tendons
    fixed = etree.SubElement(tendons, "fixed", name=name)
    for joint, coefficient in terms:
        etree.SubElement(fixed, "joint", joint=joint, coef=number(coefficient))
    etree.SubElement(
        group, "tendon", name=name, tendon1=name, polycoef=numbers([offset, 0, 0, 0, 0])
    )


def _place(element: Any, T: Array) -> None:
    attributes: dict[str, str] = {}
    _place_attributes(attributes, T)
    element.attrib.update(attributes)


def _place_attributes(attributes: dict[str, str], T: Array) -> None:
    if np.any(T[:3, 3]):
        attributes["pos"] = numbers(T[:3, 3])
    if not np.array_equal(T[:3, :3], np.eye(3)):
        x, y, z, w = quaternion(T[:3, :3])
        attributes["quat"] = numbers([w, x, y, z])


def _site(element: Any, name: str, T: Array) -> None:
    site = etree.SubElement(element, "site", name=name)
    _place(site, T)
