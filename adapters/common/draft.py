"""A model while it is being read: bodies and joints by name, and what was noticed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from regularize.adapters.common.names import suggestion
from regularize.adapters.common.notes import Notes
from regularize.adapters.common.xml import Node
from regularize.lie.screw import Array, inverse
from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import Body, Coupling, Joint

WORLD = "world"


@dataclass
class Draft(Notes):
    """A URDF model under construction.

    Attributes:
        root: The ``<robot>`` element.
        bodies: Bodies by name, in file order.
        joints: Joints by name, in file order; closures marked as such are no part of the tree.
        couplings: Relations between joint coordinates.
        findings: What was noticed.
        ignored: Elements that mean nothing to this package, by tag.
        implicit_world: Whether ``world`` is named by the file without being one of its links.
    """

    root: Node
    bodies: dict[str, Body] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    couplings: list[Coupling] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)
    ignored: dict[str, list[Node]] = field(default_factory=dict)
    implicit_world: bool = False

    @property
    def roots(self) -> list[str]:
        """Bodies that are no child of a joint, in file order."""
        children = {joint.child for joint in self.joints.values()}
        return [name for name in self.bodies if name not in children]

    def add_body(self, body: Body, node: Node) -> None:
        """Add a body; raises ``ReadError`` for a repeated name."""
        if body.name in self.bodies:
            raise node.error(
                f"the link name `{body.name}` is taken{_line(self.bodies[body.name].source)}; "
                "give every link its own name"
            )
        self.bodies[body.name] = body

    def add_joint(self, joint: Joint, node: Node) -> None:
        """Add a joint; raises ``ReadError`` for a repeated name or a joint on one body."""
        if joint.name in self.joints:
            raise node.error(
                f"the joint name `{joint.name}` is taken{_line(self.joints[joint.name].source)}; "
                "give every joint its own name"
            )
        if joint.parent == joint.child:
            raise node.error(f"connects link `{joint.child}` to itself; name two different links")
        self.joints[joint.name] = joint

    def body_name(self, name: str, node: Node) -> str:
        """The name, if there is such a link; raises ``ReadError`` otherwise.

        Drake takes ``world`` for granted; it becomes a body here the first time it is named.
        """
        if name == WORLD and name not in self.bodies:
            self.implicit_world = True
            self.bodies[name] = Body(name, source=node.source)
            self.note(
                "REG102",
                "note",
                "`world` is not a link of the file: read as the ground, as Drake does",
                node.source,
            )
        if name not in self.bodies:
            raise node.error(f"there is no link `{name}`{suggestion(name, self.bodies)}")
        return name

    def joint_named(self, name: str, node: Node) -> Joint:
        """The joint of that name; raises ``ReadError`` if there is none."""
        if name not in self.joints:
            raise node.error(f"there is no joint `{name}`{suggestion(name, self.joints)}")
        return self.joints[name]

    def chain(self, body: str) -> list[Joint]:
        """Joints of the tree from the body up to its root."""
        incoming = {joint.child: joint for joint in self.joints.values() if not joint.closure}
        chain = []
        while body in incoming:
            chain.append(incoming[body])
            body = incoming[body].parent
        return chain

    def rest_pose(self, body: str) -> tuple[str, Array]:
        """Root of the body's tree, and the body's frame in it where all coordinates are 0."""
        T = np.eye(4)
        for joint in self.chain(body):
            T = joint.T_parent_joint @ inverse(joint.T_child_joint) @ T
            body = joint.parent
        return body, T

    def mark_closures(self) -> None:
        """Mark each joint that would give a link a second parent, or close a cycle.

        A joint is part of the tree if its child has no parent yet and is not above its parent.
        """
        above: dict[str, str] = {}
        for joint in [*self.joints.values()]:
            body: str | None = joint.parent
            while body is not None and body != joint.child:
                body = above.get(body)
            if body is None and joint.child not in above:
                above[joint.child] = joint.parent
            else:
                self.joints[joint.name] = replace(joint, closure=True)
        self._report_second_parents()

    def _report_second_parents(self) -> None:
        incoming: dict[str, list[Joint]] = {}
        for joint in self.joints.values():
            incoming.setdefault(joint.child, []).append(joint)
        for link, joints in incoming.items():
            first = next((joint for joint in joints if not joint.closure), joints[0])
            for other in joints:
                if other is first:
                    continue
                one, two = (j.name for j in joints if j in (first, other))
                self.note(
                    "REG010",
                    "warning",
                    f"link `{link}` has two parent joints `{one}` and `{two}`: plain URDF cannot "
                    f"express loops; read as a loop closed by `{other.name}`",
                    other.source,
                    f"write `{other.name}` as a URDF+ <loop>, so that other tools know it closes "
                    "a loop",
                    joints=(one, two),
                )


def _line(source: Source | None) -> str:
    return "" if source is None or source.line is None else f" by line {source.line}"
