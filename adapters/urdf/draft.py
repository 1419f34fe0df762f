"""A URDF model while it is being read: a tree of links, and the joints that close its loops."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from regularize.adapters.common.draft import WORLD, Draft, Side
from regularize.adapters.common.located import Located
from regularize.adapters.common.quantities import rotation_rpy
from regularize.adapters.common.xml import Node
from regularize.lie.arrays import Transform
from regularize.lie.screw import IDENTITY, inverse, transform
from regularize.mechanism.graph import DisjointSets
from regularize.mechanism.joint import relative_pose
from regularize.mechanism.mechanism import Body, Joint


@dataclass(eq=False)
class UrdfDraft(Draft):
    """A URDF model under construction; joints marked as closures are no part of its tree."""

    root: Node = field(kw_only=True)  # the ``<robot>`` element
    implicit_world: bool = False  # whether the file names ``world`` without having such a link

    @property
    def roots(self) -> list[str]:
        """Links that are no child of a joint, in file order."""
        children = {joint.child for joint in self.joints.values()}
        return [name for name in self.bodies if name not in children]

    def link(self, name: str, at: Located) -> str:
        """Return the name of a link; ``world`` becomes one when it is first named, as in Drake."""
        if name == WORLD and name not in self.bodies:
            self.implicit_world = True
            self.bodies[name] = Body(name, source=at.source)
            self.note(
                "REG102",
                "`world` is not a link of the file: read as the ground, as Drake does",
                at.source,
            )
        return self.body_named(name, at)

    def named_frame(self, name: str, at: Node) -> Side:
        """Link and transform of a link or of a Drake ``<frame>``."""
        frames = {frame.get("name"): frame for frame in self.root.children("frame", "drake:frame")}
        if name not in self.bodies and name in frames:
            return self.link(frames[name].text("link"), frames[name]), pose(frames[name])
        return self.link(name, at), IDENTITY

    def chain(self, link: str) -> list[Joint]:
        """Joints of the tree from the link up to its root."""
        incoming = {joint.child: joint for joint in self.joints.values() if not joint.closure}
        chain = []
        while link in incoming:
            chain.append(incoming[link])
            link = incoming[link].parent
        return chain

    def rest_pose(self, link: str) -> Side:
        """Root of the link's tree, and the link's frame in it where all coordinates are 0."""
        T = np.eye(4)
        for joint in self.chain(link):
            T = relative_pose(joint, np.zeros(joint.freedoms)) @ T
            link = joint.parent
        return link, T

    def rest_poses(self, first: str, second: str, at: Located) -> tuple[Transform, Transform]:
        """Frames of two links in their common root where all coordinates are 0."""
        (root, T_first), (other, T_second) = self.rest_pose(first), self.rest_pose(second)
        if root != other:
            raise at.error(
                f"links `{first}` and `{second}` hang on different roots, so their frames have no "
                "relation; join their trees by a fixed joint"
            )
        return T_first, T_second

    def between(self, first: str, second: str, at: Located) -> Transform:
        """The second link in the first one where all coordinates are 0."""
        T_first, T_second = self.rest_poses(first, second, at)
        return inverse(T_first) @ T_second


def mark_closures(draft: Draft) -> None:
    """Mark each joint that would give a link a second parent, or close a cycle, and warn of it."""
    trees, children = DisjointSets(draft.bodies), set[str]()
    for joint in [*draft.joints.values()]:
        if joint.child in children or trees[joint.parent] == trees[joint.child]:
            draft.joints[joint.name] = replace(joint, closure=True)
        else:
            children.add(joint.child)
            trees.union(joint.parent, joint.child)
    incoming: dict[str, list[Joint]] = {}
    for joint in draft.joints.values():
        incoming.setdefault(joint.child, []).append(joint)
    for link, joints in incoming.items():
        first = next((joint for joint in joints if not joint.closure), joints[0])
        for other in (joint for joint in joints if joint is not first):
            one, two = (joint.name for joint in joints if joint in (first, other))
            draft.warn(
                "REG010",
                f"link `{link}` has two parent joints `{one}` and `{two}`: plain URDF cannot "
                f"express loops; read as a loop closed by `{other.name}`",
                other.source,
                f"write `{other.name}` as a URDF+ <loop>, so that other tools know it closes "
                "a loop",
                joints=(one, two),
            )


def pose(node: Node | None) -> Transform:
    """Transform of an element with ``xyz`` and ``rpy`` or ``quat_xyzw``; identity for None."""
    if node is None:
        return IDENTITY
    translation = node.numbers("xyz", 3, np.zeros(3))
    if node.get("quat_xyzw") is None:
        return transform(rotation_rpy(*node.numbers("rpy", 3, np.zeros(3))), translation)
    if node.get("rpy") is not None:
        raise node.error("gives rpy and quat_xyzw; keep one of them")
    return transform(node.quaternion(*node.numbers("quat_xyzw", 4), name="quat_xyzw"), translation)
