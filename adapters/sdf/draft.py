"""An SDF file while it is being read: frames beside bodies and joints."""

from __future__ import annotations

from dataclasses import dataclass, field

from regularize.adapters.common.draft import Draft, Side
from regularize.adapters.common.xml import Node
from regularize.adapters.sdf.frames import Frame, Frames, Scope, pose_of, relative_to


@dataclass(frozen=True, eq=False)
class FoundJoint:
    """A ``<joint>`` and the scope in which it stands."""

    node: Node
    scope: Scope
    name: str


@dataclass(eq=False)
class SdfDraft(Draft):
    """A model under construction.

    Attributes:
        frames: All frames.
        version: Version of the file, such as (1, 7).
        found: The ``<joint>`` elements.
        bases: First link of each top-level model.
    """

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
