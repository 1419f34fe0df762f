"""The base of writers: elements, numbers, couplings, spanning trees, what a format cannot hold."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

from regularize.lie.arrays import Array, Rotation, Transform
from regularize.lie.screw import quaternion_of, transform
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic, Severity
from regularize.mechanism.graph import DisjointSets
from regularize.mechanism.joint import Joint, relative_pose, reversed_joint
from regularize.mechanism.mechanism import Mechanism
from regularize.output_files import write_file


class WrittenCoordinate(NamedTuple):
    """Joint and axis by which a file names a coordinate."""

    joint: str
    axis: int = 0  # number of the axis, where a joint has several
    factor: float = 1.0  # the file's coordinate by that of the model


class Mimic(NamedTuple):
    """A coupling of two coordinates: follower = multiplier * leader + offset."""

    name: str
    follower: WrittenCoordinate
    leader: WrittenCoordinate
    multiplier: float
    offset: float


@dataclass(eq=False)
class Writing:
    """The state of writing a mechanism as an XML file."""

    target: str  # name of the format
    mechanism: Mechanism
    root: Any  # element of the file
    findings: list[Diagnostic] = field(default_factory=list)
    turned: tuple[str, ...] = ()  # joints that the file passes from child to parent
    #: What each (joint, freedom) of the model is called in the file, and the element of each joint.
    coordinates: dict[tuple[str, int], WrittenCoordinate] = field(default_factory=dict)
    joints: dict[str, Any] = field(default_factory=dict)

    def lose(
        self, message: str, severity: Severity = "warning", *, joints: Iterable[str] = ()
    ) -> None:
        """Report what the format cannot hold (REG302)."""
        message = f"{self.target} {message}"
        self.findings.append(Diagnostic("REG302", severity, message, joints=tuple(joints)))

    def force(self, message: str, joint: Joint) -> None:
        """Report rows that the format adds to the model (REG301)."""
        message = f"{self.target} has no equality {message}"
        self.findings.append(Diagnostic("REG301", "note", message, joints=(joint.name,)))

    def call(self, joint: Joint, freedom: int, written: WrittenCoordinate) -> None:
        """Record a coordinate's name in the file; reversed joints count freedoms from the end."""
        if joint.name in self.turned:
            freedom = joint.freedoms - 1 - freedom
        self.coordinates[joint.name, freedom] = written

    def mimics(self) -> Iterator[Mimic]:
        """Yield the linear couplings of two coordinates, with one follower each."""
        followers = set()
        for coupling in self.mechanism.couplings:
            if len(coupling.terms) != 2 or coupling.terms[0][2] == 0.0 or coupling.curved:
                continue
            (one, i, a), (other, j, b) = coupling.terms
            follower, leader = (self.coordinates.get(key) for key in ((one, i), (other, j)))
            if follower is not None and leader is not None and follower not in followers:
                followers.add(follower)
                yield Mimic(coupling.name, follower, leader, -b / a, coupling.offset / a)

    def save(self, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
        """Write the file with two spaces per level; return the findings."""
        etree.indent(self.root, space="  ")
        data: bytes = etree.tostring(self.root, encoding="utf-8", xml_declaration=True)
        write_file(path, data.decode().replace("'", '"', 4) + "\n")
        return tuple(self.findings)


def add(parent: Any, tag: str, content: Any = None, /, **attributes: Any) -> Any:
    """Add an element with text and attributes: words, a number, or numbers; None is left out."""
    texts = {key: written(value) for key, value in attributes.items() if value is not None}
    element = etree.SubElement(parent, tag, texts)
    if content is not None:
        element.text = written(content)
    return element


def written(value: Any) -> str:
    """Return a word, a number, or numbers, as text."""
    if isinstance(value, str):
        return value
    return number(value) if np.ndim(value) == 0 else numbers(value)


def numbers(values: Iterable[float]) -> str:
    """Return numbers in full precision, separated by spaces."""
    return " ".join(number(value) for value in values)


def number(value: float) -> str:
    """Return the shortest text from which the same double is read back."""
    text = repr(float(value) + 0.0)  # no negative zero
    return text.removesuffix(".0")


def rpy(R: Rotation) -> tuple[float, float, float]:
    """Return roll, pitch and yaw of a rotation, exact to rounding in every orientation."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    c, s = math.cos(yaw), math.sin(yaw)
    # Whatever the yaw near the poles, this roll completes it.
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def quaternion(R: Rotation) -> Array:
    """Return a rotation's quaternion x, y, z, w, its largest entry positive, shape (4,)."""
    xyzw = np.array(quaternion_of(R))
    largest = xyzw[np.argmax([*np.diag(R), np.trace(R)])]
    return xyzw if largest >= 0.0 else -xyzw


def sizes(shape: Geometry) -> dict[str, Any]:
    """Return the sizes of a shape other than a mesh, by their names in URDF and SDF."""
    if shape.kind in ("box", "ellipsoid"):
        return {"size" if shape.kind == "box" else "radii": shape.size}
    return dict(zip(("radius", "length"), shape.size, strict=False))


@dataclass(frozen=True, eq=False)
class Spanning:
    """A spanning tree of the bodies, rooted at the ground."""

    tree: tuple[Joint, ...]  # from the ground outwards, each leading away from it
    closures: tuple[Joint, ...]  # the other joints, as they are
    turned: tuple[str, ...]  # joints of the tree whose parent and child were exchanged


def spanning(mechanism: Mechanism) -> Spanning:
    """Choose tree joints: no closures first, then fixed ones, then driven and coupled ones."""
    joined = DisjointSets(body.name for body in mechanism.bodies)
    chosen: dict[str, list[Joint]] = {body.name: [] for body in mechanism.bodies}
    cuts = set()
    driven = {actuator.joint for actuator in mechanism.actuators}
    driven |= {joint.name for joint in mechanism.joints if joint.actuated}
    driven |= {name for coupling in mechanism.couplings for name, _, _ in coupling.terms}
    late = {"fixed": 0, "revolute": 3, "spherical": 4}  # the easily closed ones last
    order = {j.name: 1 if j.name in driven else late.get(j.kind, 2) for j in mechanism.joints}
    for joint in sorted(mechanism.joints, key=lambda j: (j.closure, order[j.name])):
        if joined[joint.parent] == joined[joint.child]:
            cuts.add(joint.name)
            continue
        joined.union(joint.parent, joint.child)
        chosen[joint.parent].append(joint)
        chosen[joint.child].append(joint)
    tree: list[Joint] = []
    turned: list[str] = []
    bodies, passed = [mechanism.ground], set[str]()
    for body in bodies:  # it grows meanwhile
        for joint in (joint for joint in chosen[body] if joint.name not in passed):
            passed.add(joint.name)
            away = joint.parent == body
            bodies.append(joint.child if away else joint.parent)
            turned += [] if away else [joint.name]
            tree.append(joint if away else reversed_joint(joint))
    closures = tuple(joint for joint in mechanism.joints if joint.name in cuts)
    return Spanning(tuple(tree), closures, tuple(turned))


def closed_at(mechanism: Mechanism, fit: Callable[[Joint], bool]) -> Mechanism:
    """Return a model whose loops close at joints that fit, and not at driven ones, if it can."""
    if all(map(fit, spanning(mechanism).closures)):
        return mechanism
    driven = {actuator.joint for actuator in mechanism.actuators}
    joints = tuple(
        replace(j, closure=fit(j) and not (j.name in driven or j.actuated))
        for j in mechanism.joints
    )
    return replace(mechanism, joints=joints)


def reference_poses(mechanism: Mechanism, tree: Sequence[Joint]) -> dict[str, Transform]:
    """Return the world pose of every body at the stored coordinates of the tree's joints."""
    poses = {mechanism.ground: np.eye(4)}
    for joint in tree:
        poses[joint.child] = poses[joint.parent] @ relative_pose(joint, joint.position)
    return poses


def capsule_parts(capsule: Geometry) -> list[Geometry]:
    """Return a cylinder and a ball at each of its ends, which together are the capsule."""
    half, ball = float(capsule.size[1]) / 2, capsule.size[:1]
    ends = (capsule.T_body_geometry @ transform(translation=[0, 0, z]) for z in (half, -half))
    balls = [replace(capsule, kind="sphere", size=ball, T_body_geometry=T) for T in ends]
    return [replace(capsule, kind="cylinder"), *balls]
