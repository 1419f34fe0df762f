"""An SDF file while it is being read: frames beside bodies and joints.

Names are resolved in the model in which they are used; ``a::b`` looks into nested models. Inside
this module every frame has one full name, from the root of the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regularize.adapters.common.draft import WORLD, Draft, Side
from regularize.adapters.common.quantities import rotation_rpy
from regularize.adapters.common.xml import Node, is_true
from regularize.escape import suggestion
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY, inverse, transform

MODEL = "__model__"


@dataclass(frozen=True)
class Scope:
    """Where names are looked up: a model, or the world."""

    prefix: str
    frame: str

    def full(self, name: str) -> str:
        """The full name of a frame that is called ``name`` in this scope."""
        if name == WORLD:
            return WORLD
        if name == MODEL:
            return self.frame
        return self.prefix + name


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame before it is resolved."""

    T: Array
    relative_to: str | None
    attached_to: str | None
    node: Node


@dataclass(eq=False)
class Frames:
    """All frames of a file by full name."""

    entries: dict[str, Frame] = field(default_factory=dict)
    poses: dict[str, Array] = field(default_factory=lambda: {WORLD: IDENTITY})

    def add(self, name: str, frame: Frame, *, taken: str) -> None:
        """Add a frame; raises ``ReadError`` if its name is taken."""
        if name in self.entries or name == WORLD:
            line = "" if name == WORLD else f" by line {self.entries[name].node.line}"
            raise frame.node.error(
                f"the name `{name}` is taken{line}; give every {taken} of a model its own name"
            )
        self.entries[name] = frame

    def known(self, name: str, node: Node) -> str:
        """The full name, if there is such a frame; raises ``ReadError`` otherwise."""
        if name != WORLD and name not in self.entries:
            raise node.error(f"there is no link or frame `{name}`{suggestion(name, self.entries)}")
        return name

    def pose(self, name: str) -> Array:
        """Pose of a frame in the world as the file places it, shape (4, 4)."""
        pending: list[str] = []
        while name not in self.poses:
            if name in pending:
                raise self._circle(pending)
            pending.append(name)
            entry = self.entries[name]
            name = WORLD if entry.relative_to is None else entry.relative_to
            self.known(name, entry.node)
        T = self.poses[name]
        for each in reversed(pending):
            T = T @ self.entries[each].T
            self.poses[each] = T
        return T

    def body(self, name: str) -> str:
        """Full name of the link that carries a frame, or ``world``."""
        seen: list[str] = []
        while name != WORLD:
            if name in seen:
                raise self._circle(seen)
            seen.append(name)
            entry = self.entries[name]
            if entry.attached_to is None:
                return name
            name = self.known(entry.attached_to, entry.node)
        return WORLD

    def _circle(self, names: list[str]) -> Exception:
        shown = " -> ".join(names[:6])
        return self.entries[names[0]].node.error(
            f"the frames {shown} refer to one another in a circle; break it"
        )

    def relative(self, base: str, name: str) -> Array:
        """Frame ``name`` seen from frame ``base``, shape (4, 4)."""
        return inverse(self.pose(base)) @ self.pose(name)


@dataclass(frozen=True, eq=False)
class FoundJoint:
    """A ``<joint>`` and the scope in which it stands."""

    node: Node
    scope: Scope
    name: str


@dataclass(eq=False)
class SdfDraft(Draft):
    """A model under construction."""

    frames: Frames = field(default_factory=Frames)
    version: tuple[int, int] = (1, 12)
    found: list[FoundJoint] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)

    def declare(self, found: FoundJoint) -> None:
        """Add the frame of a joint: by default it lies in that of the child."""
        node, scope = found.node, found.scope
        child = scope.full(node.need("child").text())
        pose = node.child("pose")
        frame = Frame(pose_of(pose), relative_to(pose, scope, child), child, node)
        self.frames.add(found.name, frame, taken="link, joint and frame")
        self.found.append(found)

    def carrier(self, node: Node, scope: Scope) -> str:
        """Full name of the link that carries the frame which an element names, or ``world``."""
        return self.side(node, scope)[0]

    def side(self, node: Node, scope: Scope) -> Side:
        """The link that carries the frame which an element names, and the frame on it."""
        name = self.frames.known(scope.full(node.text()), node)
        body = self.frames.body(name)
        return body, self.frames.relative(body, name)


def pose_of(node: Node | None) -> Array:
    """Transform of a ``<pose>``; identity where there is none."""
    if node is None or not node.content:
        return IDENTITY
    if node.get("rotation_format") == "quat_xyzw":
        x, y, z, *xyzw = node.numbers(None, 7)
        return transform(node.quaternion(*xyzw), [x, y, z])
    values = node.numbers(None, 6)
    angles = np.radians(values[3:]) if is_true(node.get("degrees")) else values[3:]
    return transform(rotation_rpy(*(float(angle) for angle in angles)), values[:3])


def relative_to(node: Node | None, scope: Scope, default: str) -> str:
    """Full name of the frame in which a ``<pose>`` is given."""
    # The attribute was called ``frame`` before version 1.7.
    name = None if node is None else node.get("relative_to") or node.get("frame")
    return scope.full(name) if name else default
