"""Writing URDF with its loops beside it (Gepetto YAML) or inside it (URDF+)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from lxml import etree

from regularize.adapters._atomic import write_text
from regularize.adapters._spanning import spanning
from regularize.adapters._write import (
    Losses,
    axis_in_frame,
    follower,
    number,
    numbers,
    pitch_of,
    rpy,
    serial,
    standard,
    text_of,
)
from regularize.diagnostic import Diagnostic
from regularize.mechanism import Body, Geometry, Inertia, Joint, Mechanism, joint_screws
from regularize.screw import Array, inverse

LARGEST = float(np.finfo(np.float64).max)
#: Closures that Gepetto YAML and URDF+ know.
GEPETTO = {"spherical": "3d", "fixed": "6d"}
URDF_PLUS = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "spherical": "spherical",
    "universal": "universal",
    "cylindrical": "cylindrical",
}


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as URDF, and its loops as Gepetto YAML of the same name beside it.

    Frames of links move to the joints that lead to them, which is where URDF has them. A closure
    that is neither a point nor a frame cuts its child: the joint leads to a massless link, which
    a ``6d`` constraint holds to the child.

    Returns:
        What URDF cannot hold (REG302).
    """
    return _Writer(mechanism, plus=False).write(path)


def write_plus(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as URDF+, with ``<loop>`` elements; see ``write``."""
    return _Writer(mechanism, plus=True).write(path)


@dataclass(eq=False)
class _Writer:
    mechanism: Mechanism
    plus: bool
    losses: Losses = field(init=False)
    #: Frame of each link in the body that it stands for.
    frames: dict[str, Array] = field(default_factory=dict)
    #: URDF joint of each (joint, freedom).
    names: dict[tuple[str, int], str] = field(default_factory=dict)
    #: Slide of each screw: the hinge that it follows, and the pitch.
    slides: dict[str, tuple[str, float]] = field(default_factory=dict)
    turned: tuple[str, ...] = ()
    links: list[str] = field(default_factory=list)
    pairs: list[tuple[str, str, str]] = field(default_factory=list)
    balls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.losses = Losses("URDF+" if self.plus else "URDF")

    def write(self, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        mechanism = self.mechanism
        found = spanning(mechanism)
        self.turned = found.turned
        self.losses.positions(mechanism)
        self.losses.gravity(mechanism)
        root = etree.Element("robot", name=mechanism.name)
        self.frames = {mechanism.ground: np.eye(4)}
        chains = [(joint, self._parts(joint)) for joint in found.tree]
        for _, parts in chains:
            for part in parts:
                self.frames[part.child] = part.T_child_joint
        cuts, loops = [], []
        for joint in found.closures:
            known = URDF_PLUS if self.plus else GEPETTO
            if joint.kind in known and standard(joint):
                loops.append(joint)
            else:
                cuts.append(joint)
        for body in sorted(mechanism.bodies, key=lambda b: b.name != mechanism.ground):
            self._link(root, body)
        for joint, parts in chains:
            self._chain(root, joint, parts)
        for joint in cuts:
            self._cut(root, joint)
        for joint in loops:
            if self.plus:
                self._loop(root, joint)
            else:
                self._pair(root, joint, joint.T_parent_joint, joint.T_child_joint)
        for coupling in mechanism.couplings:
            self._mimic(root, coupling.name, follower(coupling))
        if self.balls:
            self.losses.add(
                f"has no ball joints: {', '.join(self.balls)} are written as such all the same, "
                "which plain URDF readers refuse"
                if self.plus
                else f"has no ball joints: the YAML file makes them of {', '.join(self.balls)}",
                "warning" if self.plus else "note",
                joints=self.balls,
            )
        write_text(path, text_of(root))
        if not self.plus:
            self._sidecar(path)
        return tuple(self.losses.findings)

    # -- links

    def _link(self, root: Any, body: Body) -> None:
        T = inverse(self.frames[body.name])
        element = etree.SubElement(root, "link", name=body.name)
        self.links.append(body.name)
        if body.inertia is not None:
            _inertial(element, body.inertia.transformed(T))
        for shape in body.geometry:
            _shape(element, replace(shape, T_body_geometry=T @ shape.T_body_geometry))

    def _massless(self, root: Any, name: str) -> None:
        etree.SubElement(root, "link", name=name)
        self.links.append(name)

    # -- joints

    def _parts(self, joint: Joint) -> list[Joint]:
        """The joint as URDF joints in a row."""
        if joint.kind in ("fixed", "free", "spherical"):
            return [joint]
        if joint.kind == "planar":
            normal = axis_in_frame(joint, 2)
            if np.array_equal(joint.screws, joint_screws("planar", normal)):
                return [joint]
        parts = serial(joint)
        result = []
        for part in parts:
            if part.kind != "helical":
                result.append(part)
                continue
            # A screw is a hinge and a slide along it that mimics the hinge.
            between = f"{part.name}/slide"
            direction = axis_in_frame(part)
            hinge = joint_screws("revolute", direction)
            slide = joint_screws("prismatic", direction)
            identity = np.eye(4)
            result.append(
                replace(part, child=between, kind="revolute", screws=hinge, T_child_joint=identity)
            )
            self.slides[f"{part.name}_slide"] = (part.name, pitch_of(part))
            result.append(
                replace(
                    part,
                    name=f"{part.name}_slide",
                    parent=between,
                    kind="prismatic",
                    screws=slide,
                    T_parent_joint=identity,
                    limits=None,
                    actuated=None if part.actuated is None else False,
                    position=pitch_of(part) * part.position,
                )
            )
        return result

    def _chain(self, root: Any, joint: Joint, parts: Sequence[Joint]) -> None:
        """Write the parts of a joint, and note which of them has which coordinate."""
        freedoms = [*range(joint.freedoms)]
        if joint.name in self.turned:
            freedoms.reverse()
        for part in parts:
            if part.child not in self.links:
                self._massless(root, part.child)
            element = self._joint(root, part)
            if part.name in self.slides:
                leader, pitch = self.slides[part.name]
                values = {"joint": leader, "multiplier": number(pitch), "offset": "0"}
                etree.SubElement(element, "mimic", values)
            elif part.kind in ("revolute", "prismatic"):
                self.names[joint.name, freedoms.pop(0)] = part.name

    def _joint(self, root: Any, joint: Joint) -> Any:
        bounded = joint.limits is not None
        kind = {
            "fixed": "fixed",
            "free": "floating",
            "planar": "planar",
            "prismatic": "prismatic",
            "revolute": "revolute" if bounded else "continuous",
            "spherical": "spherical" if self.plus else "continuous",
        }[joint.kind]
        element = etree.SubElement(root, "joint", name=joint.name, type=kind)
        if self.plus and joint.actuated is not None:
            element.set("independent", "true" if joint.actuated else "false")
        _origin(element, inverse(self.frames[joint.parent]) @ joint.T_parent_joint)
        etree.SubElement(element, "parent", link=joint.parent)
        etree.SubElement(element, "child", link=joint.child)
        if joint.kind == "spherical":
            self.balls.append(joint.name)
            if not self.plus:
                etree.SubElement(element, "axis", xyz="1 0 0")
        elif joint.kind == "planar":
            etree.SubElement(element, "axis", xyz=numbers(axis_in_frame(joint, 2)))
        elif joint.kind in ("revolute", "prismatic"):
            etree.SubElement(element, "axis", xyz=numbers(axis_in_frame(joint)))
        if kind in ("revolute", "prismatic"):
            # URDF wants all four bounds, and its own parser refuses inf.
            low, high = (-np.inf, np.inf) if joint.limits is None else joint.limits[0]
            bounds = {"lower": low, "upper": high, "effort": np.inf, "velocity": np.inf}
            attributes = {key: number(np.clip(v, -LARGEST, LARGEST)) for key, v in bounds.items()}
            if np.isinf(low) or np.isinf(high):
                self.losses.add(
                    f"has no open bounds: `{joint.name}` gets the largest number there is",
                    "note",
                    joints=[joint.name],
                )
            etree.SubElement(element, "limit", attributes)
        return element

    # -- loops

    def _cut(self, root: Any, joint: Joint) -> None:
        """Lead a closing joint to a massless twin of its child, and hold the two together."""
        twin = f"{joint.child}__{joint.name}"
        parts = self._parts(replace(joint, child=twin))
        for part in parts:
            self.frames[part.child] = part.T_child_joint
        self._chain(root, joint, parts)
        self.losses.add(
            f"has no loop closure of kind {joint.kind}: `{joint.name}` leads to the massless "
            f"link `{twin}`, which is held to `{joint.child}`",
            "note",
            joints=[joint.name],
        )
        frame = self.frames[twin]
        held = replace(
            joint,
            name=f"{joint.name}_closure",
            parent=twin,
            kind="fixed",
            screws=np.zeros((6, 0)),
            position=np.zeros(0),
            limits=None,
            T_parent_joint=frame,
            T_child_joint=frame,
        )
        if self.plus:
            self._loop(root, held)
        else:
            self._pair(root, held, frame, frame)

    def _pair(self, root: Any, joint: Joint, T_parent: Array, T_child: Array) -> None:
        """Two links that mark the frames which a YAML constraint brings together."""
        ends = []
        for link, T, which in ((joint.parent, T_parent, 1), (joint.child, T_child, 2)):
            name = f"{joint.name}_{which}"
            self._massless(root, name)
            element = etree.SubElement(root, "joint", name=f"{name}_fixed", type="fixed")
            _origin(element, inverse(self.frames[link]) @ T)
            etree.SubElement(element, "parent", link=link)
            etree.SubElement(element, "child", link=name)
            ends.append(name)
        self.pairs.append((ends[0], ends[1], GEPETTO[joint.kind]))

    def _loop(self, root: Any, joint: Joint) -> None:
        kind = URDF_PLUS[joint.kind]
        if kind in ("spherical", "universal", "cylindrical"):
            self.losses.add(
                f"knows loops of hinges, slides, planes and welds; `{joint.name}` is written as "
                f"type {kind}, which this package reads",
                "note",
                joints=[joint.name],
            )
        element = etree.SubElement(root, "loop", name=joint.name, type=kind)
        for tag, link, T in (
            ("predecessor", joint.parent, joint.T_parent_joint),
            ("successor", joint.child, joint.T_child_joint),
        ):
            _origin(etree.SubElement(element, tag, link=link), inverse(self.frames[link]) @ T)
        count = {"universal": 2, "revolute": 1, "prismatic": 1, "cylindrical": 1}
        for k in range(count.get(kind, 0)):
            etree.SubElement(element, "axis", xyz=numbers(axis_in_frame(joint, k)))
        if joint.limits is not None and joint.freedoms == 1:
            low, high = joint.limits[0]
            etree.SubElement(element, "limit", lower=number(low), upper=number(high))

    def _mimic(
        self,
        root: Any,
        name: str,
        pair: tuple[tuple[str, int], tuple[str, int], float, float] | None,
    ) -> None:
        if pair is None or pair[0] not in self.names or pair[1] not in self.names:
            self.losses.add(
                f"holds couplings of two hinges or slides of the tree only: `{name}` is lost"
            )
            return
        one, other = self.names[pair[0]], self.names[pair[1]]
        element = next(e for e in root.iter("joint") if e.get("name") == one)
        if element.find("mimic") is not None:
            self.losses.add(f"holds one coupling per joint: `{name}` is lost")
            return
        etree.SubElement(
            element, "mimic", joint=other, multiplier=number(pair[2]), offset=number(pair[3])
        )

    def _sidecar(self, path: str | os.PathLike[str]) -> None:
        driven = [joint.name for joint in self.mechanism.joints if joint.actuated]
        known = any(joint.actuated is not None for joint in self.mechanism.joints)
        content: dict[str, Any] = {
            "closed_loop": [[first, second] for first, second, _ in self.pairs],
            "type": [kind for _, _, kind in self.pairs],
        }
        if known:
            moving = {name: self.names.get((name, 0), name) for name in driven}
            content["name_mot"] = [*moving.values()]
        if self.balls:
            content["joint_name"] = self.balls
            content["joint_type"] = ["SPHERICAL"] * len(self.balls)
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None)
        write_text(Path(path).with_suffix(".yaml"), text)


def _origin(element: Any, T: Array) -> None:
    if not np.array_equal(T, np.eye(4)):
        etree.SubElement(element, "origin", xyz=numbers(T[:3, 3]), rpy=numbers(rpy(T[:3, :3])))


def _inertial(link: Any, inertia: Inertia) -> None:
    element = etree.SubElement(link, "inertial")
    etree.SubElement(element, "origin", xyz=numbers(inertia.center), rpy="0 0 0")
    etree.SubElement(element, "mass", value=number(inertia.mass))
    m = inertia.matrix
    values = {
        "ixx": m[0, 0],
        "iyy": m[1, 1],
        "izz": m[2, 2],
        "ixy": m[0, 1],
        "ixz": m[0, 2],
        "iyz": m[1, 2],
    }
    etree.SubElement(element, "inertia", {key: number(value) for key, value in values.items()})


def _shape(link: Any, shape: Geometry) -> None:
    element = etree.SubElement(link, "collision" if shape.collision else "visual")
    _origin(element, shape.T_body_geometry)
    geometry = etree.SubElement(element, "geometry")
    if shape.kind == "mesh":
        etree.SubElement(geometry, "mesh", filename=shape.uri or "", scale=numbers(shape.size))
    elif shape.kind == "box":
        etree.SubElement(geometry, "box", size=numbers(shape.size))
    else:
        names = ("radius", "length")[: len(shape.size)]
        values = {key: number(v) for key, v in zip(names, shape.size, strict=True)}
        etree.SubElement(geometry, shape.kind, values)
    if shape.color is not None:
        material = etree.SubElement(element, "material", name="")
        etree.SubElement(material, "color", rgba=numbers(shape.color))
