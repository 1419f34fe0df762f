"""An SDF file while it is being read: frames beside bodies and joints, each by one full name."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regularize.adapters.common.draft import WORLD, Draft, Side
from regularize.adapters.common.quantities import rotation_rpy
from regularize.adapters.common.xml import Node, is_true
from regularize.escape import suggestion
from regularize.lie.arrays import Transform
from regularize.lie.screw import IDENTITY, inverse, transform

MODEL = "__model__"


@dataclass(frozen=True)
class Scope:
    """A model, or the world, in which names are looked up."""

    prefix: str  # stands before the names of this model, such as ``arm::hand::``
    frame: str  # full name of the frame of the model itself

    def full(self, name: str) -> str:
        """Return the full name of a frame that is called ``name`` in this scope."""
        return {WORLD: WORLD, MODEL: self.frame}.get(name, self.prefix + name)


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame as the file states it: its pose in another frame, and what it is attached to."""

    T: Transform
    relative_to: str | None  # full name; None for the origin
    attached_to: str | None  # full name; None for a link, which carries itself
    node: Node


@dataclass(eq=False)
class Frames:
    """All frames of a file by full name."""

    entries: dict[str, Frame] = field(default_factory=dict)
    poses: dict[str, Transform] = field(default_factory=lambda: {WORLD: IDENTITY})

    def add(self, name: str, frame: Frame, taken: str = "link, joint and frame") -> None:
        """Add a frame; raises ``ReadError`` if its name is taken."""
        if name in self.entries or name == WORLD:
            line = "" if name == WORLD else f" by line {self.entries[name].node.line}"
            raise frame.node.error(
                f"the name `{name}` is taken{line}; give every {taken} of a model its own name"
            )
        self.entries[name] = frame

    def known(self, name: str, node: Node) -> str:
        """Return the full name of a frame; raises ``ReadError`` where there is no such frame."""
        if name != WORLD and name not in self.entries:
            raise node.error(f"there is no link or frame `{name}`{suggestion(name, self.entries)}")
        return name

    def pose(self, name: str) -> Transform:
        """Return the pose of a frame in the world as the file places it."""
        if name not in self.poses:
            T = IDENTITY
            for inner in reversed(self._followed(name, "relative_to")):
                T = T @ self.entries[inner].T
                self.poses[inner] = T
        return self.poses[name]

    def body(self, name: str) -> str:
        """Return the full name of the link that carries a frame, or ``world``."""
        last = [WORLD, *self._followed(name, "attached_to")][-1]
        return last if last != WORLD and self.entries[last].attached_to is None else WORLD

    def _followed(self, name: str | None, relation: str) -> list[str]:
        """Return the frames from one along ``relative_to`` or ``attached_to`` up to the last."""
        passed: list[str] = []
        while name is not None and name != WORLD:
            if name in passed:
                shown = " -> ".join(passed[:6])
                raise self.entries[passed[0]].node.error(
                    f"the frames {shown} refer to one another in a circle; break it"
                )
            passed.append(name)
            entry = self.entries[name]
            name = getattr(entry, relation)
            if name is not None:
                self.known(name, entry.node)
        return passed

    def relative(self, base: str, name: str) -> Transform:
        """Return the pose of frame ``name`` in frame ``base``."""
        return inverse(self.pose(base)) @ self.pose(name)


@dataclass(frozen=True, eq=False)
class JointElement:
    """A ``<joint>``, the scope in which it stands, and its full name."""

    node: Node
    scope: Scope
    name: str


@dataclass(eq=False)
class SdfDraft(Draft):
    """An SDF model while it is being read."""

    frames: Frames = field(default_factory=Frames)
    version: tuple[int, int] = (1, 12)
    elements: list[JointElement] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)  # first link of each top-level model

    def declare(self, node: Node, scope: Scope) -> None:
        """Record a ``<joint>`` and add its frame, by default that of its child."""
        element = JointElement(node, scope, scope.full(node.text("name")))
        child, pose = scope.full(node.need("child").text()), node.child("pose")
        frame = Frame(pose_of(pose), relative_to(pose, scope, child), child, node)
        self.frames.add(element.name, frame)
        self.elements.append(element)

    def add_frame(self, node: Node, scope: Scope) -> None:
        """Add a ``<frame>``, by default attached to its model and placed in what carries it."""
        attached, pose = node.get("attached_to"), node.child("pose")
        carrier = scope.full(attached) if attached else scope.frame
        frame = Frame(pose_of(pose), relative_to(pose, scope, carrier), carrier, node)
        self.frames.add(scope.full(node.text("name")), frame)

    def side(self, node: Node, scope: Scope) -> Side:
        """Return the link (or ``world``) that carries a named frame, and the frame's pose on it."""
        name = self.frames.known(scope.full(node.text()), node)
        body = self.frames.body(name)
        return body, self.frames.relative(body, name)


def pose_of(node: Node | None) -> Transform:
    """Read the transform of a ``<pose>``; the identity where there is none."""
    if node is None or not node.content:
        return IDENTITY
    if node.get("rotation_format") == "quat_xyzw":
        x, y, z, *xyzw = node.numbers(None, 7)
        return transform(node.quaternion(*xyzw), [x, y, z])
    values = node.numbers(None, 6)
    angles = np.radians(values[3:]) if is_true(node.get("degrees")) else values[3:]
    return transform(rotation_rpy(*(float(angle) for angle in angles)), values[:3])


def relative_to(node: Node | None, scope: Scope, default: str) -> str:
    """Return the full name of the frame in which a ``<pose>`` is given."""
    # The attribute was called ``frame`` before version 1.7.
    name = None if node is None else node.get("relative_to") or node.get("frame")
    return scope.full(name) if name else default
