"""Writing URDF with its loops beside it (Gepetto YAML) or inside it (URDF+)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.quantities import NAMES, six
from regularize.adapters.common.serial import axis_in_frame, in_a_row, standard, twin_name
from regularize.adapters.common.write import (
    Writing,
    WrittenCoordinate,
    add,
    capsule_parts,
    rpy,
    sizes,
    spanning,
)
from regularize.adapters.urdf.draft import GEPETTO, KINDS
from regularize.escape import unique
from regularize.lie.arrays import Transform
from regularize.lie.screw import inverse
from regularize.mechanism.body import Body, Geometry, Inertia
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint, JointLimits
from regularize.mechanism.mechanism import Actuator, Mechanism
from regularize.output_files import write_file

LARGEST = float(np.finfo(np.float64).max)


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as URDF, and its loops as Gepetto YAML of the same name beside it."""
    root = etree.Element("robot", name=mechanism.name)
    return _UrdfWriter("URDF", mechanism, root).write(path)


def write_plus(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as URDF+, with ``<loop>`` elements; see ``write``."""
    root = etree.Element("robot", name=mechanism.name)
    return _UrdfWriter("URDF+", mechanism, root, plus=True).write(path)


@dataclass(eq=False)
class _UrdfWriter(Writing):
    """The state of writing a mechanism as a URDF file."""

    #: Whether the file is URDF+.
    plus: bool = False
    #: Frame of each link in the body that it stands for.
    frames: dict[str, Transform] = field(default_factory=dict)
    #: Slide of each screw: the hinge that it follows, and the pitch in metres per radian.
    slides: dict[str, tuple[str, float]] = field(default_factory=dict)
    #: Names of the links and of the ball joints so far.
    links: list[str] = field(default_factory=list)
    balls: list[str] = field(default_factory=list)
    #: Frames that the YAML file brings together, the kind and the name of each pair.
    pairs: list[tuple[str, str, str, str]] = field(default_factory=list)

    def write(self, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        mechanism = self.mechanism
        tree = spanning(mechanism)
        self.turned = tree.turned
        self.frames[mechanism.ground] = np.eye(4)
        chains = [(joint, self.parts(joint)) for joint in tree.tree]
        for body in sorted(mechanism.bodies, key=lambda b: b.name != mechanism.ground):
            self.add_link(body)
        for joint, parts in chains:
            self.add_chain(joint, parts)
        held = KINDS.at("plus") if self.plus else GEPETTO
        loops = [j for j in tree.closures if j.kind in held and standard(j)]
        for joint in [j for j in tree.closures if j not in loops]:
            self._cut(joint)
        for joint in loops:
            self._close(joint)
        for mimic in self.mimics():
            values = {"multiplier": mimic.multiplier, "offset": mimic.offset}
            add(self.joints[mimic.follower.joint], "mimic", joint=mimic.leader.joint, **values)
        if self.balls:
            balls = ", ".join(self.balls)
            self.lose(
                f"has no ball joints: {balls} are written as such all the same, "
                "which plain URDF readers refuse"
                if self.plus
                else f"has no ball joints: the YAML file makes them of {balls}",
                "warning" if self.plus else "note",
                joints=self.balls,
            )
        for actuator in mechanism.actuators:
            called = self.coordinates.get((actuator.joint, actuator.freedom))
            if called is not None:
                add_transmission(self.root, actuator, called.joint)
        findings = self.save(path)
        if not self.plus:
            self._save_loops(path)
        return findings

    # -- links and joints of the tree

    def add_link(self, body: Body) -> None:
        """Add the link of a body, in the frame that URDF demands."""
        T = inverse(self.frames[body.name])
        element = self.add_massless(body.name)
        if body.inertia is not None:
            add_inertial(element, body.inertia.transformed(T))
        if any(shape.kind == "capsule" for shape in body.geometry):
            self.lose(
                f"has no capsules: those of `{body.name}` are cylinders with a ball at both ends",
                "note",
            )
        for shape in body.geometry:
            add_shape(element, replace(shape, T_body_geometry=T @ shape.T_body_geometry))

    def add_massless(self, name: str) -> Any:
        """Add a link that is a mere frame."""
        self.links.append(name)
        return add(self.root, "link", name=name)

    def parts(self, joint: Joint) -> list[Joint]:
        """Split a joint into URDF joints in series; record frames and slides of screws."""
        parts, slides = in_a_row(joint)
        self.slides.update(slides)
        self.frames.update({part.child: part.T_child_joint for part in parts})
        return parts

    def add_chain(self, joint: Joint, parts: Sequence[Joint]) -> None:
        """Write the parts of a joint, and record the coordinate of each."""
        freedom = 0
        for part in parts:
            if part.child not in self.links:
                self.add_massless(part.child)
            element = self._joint(part)
            if part.name in self.slides:
                leader, pitch = self.slides[part.name]
                add(element, "mimic", joint=leader, multiplier=pitch, offset="0")
            elif part.kind in ("revolute", "prismatic"):
                self.call(joint, freedom, WrittenCoordinate(part.name))
                freedom += 1

    def add_ends(self, element: Any, parent: str, child: str, T_parent: Transform) -> None:
        """Add ``<origin>``, ``<parent>`` and ``<child>`` of a joint."""
        add_origin(element, inverse(self.frames[parent]) @ T_parent)
        add(element, "parent", link=parent)
        add(element, "child", link=child)

    def _joint(self, joint: Joint) -> Any:
        limits = joint.limits
        hinge = limits is not None and (limits.bounded or limits.lower is None)
        kind = KINDS.written[joint.kind]
        if (kind == "revolute" and not hinge) or (kind == "spherical" and not self.plus):
            kind = "continuous"
        element = self.joints[joint.name] = add(self.root, "joint", name=joint.name, type=kind)
        if self.plus and joint.actuated is not None:
            element.set("independent", "true" if joint.actuated else "false")
        self.add_ends(element, joint.parent, joint.child, joint.T_parent_joint)
        if joint.kind == "spherical":
            self.balls.append(joint.name)
            if not self.plus:
                add(element, "axis", xyz="1 0 0")
        elif joint.kind in ("planar", "revolute", "prismatic"):
            add(element, "axis", xyz=axis_in_frame(joint, joint.freedoms - 1))
        if joint.kind in ("revolute", "prismatic"):
            add_limit(element, joint)
            add_dynamics(element, joint)
        return element

    # -- closing joints

    def _cut(self, joint: Joint) -> None:
        """Attach a closing joint to a massless twin of its child, welded to it by a loop."""
        twin = twin_name(joint)
        self.add_chain(joint, self.parts(replace(joint, child=twin)))
        self.lose(
            f"has no loop closure of kind {joint.kind}: `{joint.name}` leads to the massless "
            f"link `{twin}`, which is held to `{joint.child}`; an engine that leaves loops open, "
            "as Drake does, refuses a joint with no mass beyond it: export to drake for that",
            "note",
            joints=[joint.name],
        )
        frame = self.frames[twin]
        name = f"{joint.name}_closure"
        screws = np.zeros((6, 0))
        self._close(Joint(name, twin, joint.child, "fixed", screws, frame, frame))

    def _close(self, joint: Joint) -> None:
        """Write a ``<loop>``, or two frame links for a constraint of the YAML file."""
        if self.plus:
            self._loop(joint)
            return
        first = self._frame(f"{joint.name}_1", joint.parent, joint.T_parent_joint)
        second = self._frame(f"{joint.name}_2", joint.child, joint.T_child_joint)
        self.pairs.append((first, second, GEPETTO[joint.kind], joint.name))

    def _frame(self, wanted: str, link: str, T: Transform) -> str:
        """Return a link with a given pose on another link, adding it if there is none."""
        placed = np.array_equal(inverse(self.frames[link]) @ T, np.eye(4))
        if placed and link not in self.joints:
            return link
        name = unique(wanted, self.links)
        self.add_massless(name)
        joint = unique(f"{name}_fixed", self.joints)
        element = self.joints[joint] = add(self.root, "joint", name=joint, type="fixed")
        self.add_ends(element, link, name, T)
        return name

    def _loop(self, joint: Joint) -> None:
        kind = joint.kind
        if kind in ("spherical", "universal", "cylindrical"):
            self.lose(
                f"knows loops of hinges, slides, planes and welds; `{joint.name}` is written as "
                f"type {kind}, which this package reads",
                "note",
                joints=[joint.name],
            )
        element = add(self.root, "loop", name=joint.name, type=kind)
        for tag, link, T in (
            ("predecessor", joint.parent, joint.T_parent_joint),
            ("successor", joint.child, joint.T_child_joint),
        ):
            add_origin(add(element, tag, link=link), inverse(self.frames[link]) @ T)
        for k in range(KINDS[kind].axes):
            add(element, "axis", xyz=axis_in_frame(joint, k))
        if joint.freedoms == 1:
            if joint.limits is not None:
                add_limit(element, joint)
            add_dynamics(element, joint)

    def _save_loops(self, path: str | os.PathLike[str]) -> None:
        driven = [joint.name for joint in self.mechanism.joints if joint.actuated]
        content: dict[str, Any] = {
            "closed_loop": [[first, second] for first, second, _, _ in self.pairs],
            "type": [kind for _, _, kind, _ in self.pairs],
            "name": [name for _, _, _, name in self.pairs],
        }
        if any(joint.actuated is not None for joint in self.mechanism.joints):
            called = {name: self.coordinates.get((name, 0)) for name in driven}
            content["name_mot"] = [name if c is None else c.joint for name, c in called.items()]
        if self.balls:
            content["joint_name"] = self.balls
            content["joint_type"] = ["SPHERICAL"] * len(self.balls)
        import yaml  # where a file beside the model is written

        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None)
        write_file(Path(path).with_suffix(".yaml"), text)


def add_origin(element: Any, T: Transform | None) -> None:
    """Add an ``<origin>``, unless it is the identity or None."""
    if T is not None and not np.array_equal(T, np.eye(4)):
        add(element, "origin", xyz=T[:3, 3], rpy=rpy(T[:3, :3]))


def add_inertial(link: Any, inertia: Inertia) -> None:
    """Add mass properties to a link."""
    element = add(link, "inertial")
    add(element, "origin", xyz=inertia.center, rpy="0 0 0")
    add(element, "mass", value=inertia.mass)
    add(element, "inertia", **dict(zip(NAMES, six(inertia.matrix), strict=True)))


def add_shape(link: Any, shape: Geometry) -> None:
    """Add a shape to a link: a capsule as a cylinder and two balls, an ellipsoid never."""
    if shape.kind in ("capsule", "ellipsoid"):
        for part in capsule_parts(shape) if shape.kind == "capsule" else ():
            add_shape(link, part)
        return
    element = add(link, "collision" if shape.collision else "visual")
    add_origin(element, shape.T_body_geometry)
    geometry = add(element, "geometry")
    if shape.kind == "mesh":
        add(geometry, "mesh", filename=shape.uri or "", scale=shape.size)
    else:
        add(geometry, shape.kind, **sizes(shape))
    if shape.color is not None:
        add(add(element, "material", name=""), "color", rgba=shape.color)


def add_limit(element: Any, joint: Joint) -> None:
    """Add bounds of a joint of one freedom; URDF has no inf: open ones are the largest number."""
    limits = joint.limits or JointLimits.of([-np.inf, np.inf])
    endless = element.get("type") == "continuous"
    if endless and limits.effort is None and limits.velocity is None:
        return
    bounds: dict[str, Any] = {}
    if limits.lower is not None and not endless:
        bounds = {"lower": limits.lower, "upper": limits.upper}
    for what in ("effort", "velocity"):
        stated = getattr(limits, what)
        bounds[what] = [np.inf] if stated is None else stated
    add(element, "limit", **{k: np.clip(v[0], -LARGEST, LARGEST) for k, v in bounds.items()})


def add_dynamics(element: Any, joint: Joint) -> None:
    """Add damping and friction of a joint of one freedom, if it has any."""
    stated = joint.dynamics.stated()
    values = {key: stated[key][0] for key in ("damping", "friction") if key in stated}
    if values:
        add(element, "dynamics", **values)


def add_transmission(root: Any, actuator: Actuator, joint: str) -> None:
    """Add the motor of a joint."""
    element = add(root, "transmission", name=f"{actuator.name}_transmission")
    add(element, "type", "transmission_interface/SimpleTransmission")
    kind = {"position": "Position", "velocity": "Velocity"}.get(actuator.kind, "Effort")
    interface = f"hardware_interface/{kind}JointInterface"
    add(add(element, "joint", name=joint), "hardwareInterface", interface)
    motor = add(element, "actuator", name=actuator.name)
    add(motor, "hardwareInterface", interface)
    add(motor, "mechanicalReduction", actuator.gear)
