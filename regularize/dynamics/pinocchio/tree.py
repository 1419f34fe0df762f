"""How the spanning tree of a mechanism is built, joints added depth-first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from regularize.dynamics.pinocchio.spanning_tree import Motion, SpanningTree, TreeFrame, motions_of
from regularize.lie import screw
from regularize.lie.arrays import Transform
from regularize.lie.screw import IDENTITY
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Edge, EdgeId, Graph, NodeId
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Inertia, Mechanism
from regularize.tolerances import TINY, VANISHING


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """One joint of the Pinocchio model and the edges that it stands for."""

    index: int  #: in the model, of the first one where it became several
    edges: tuple[Edge, ...]  #: in the order in which the model applies them
    reversed: bool  #: whether the model runs from their child to their parent


#: The joint of the model that carries something, and its frame in the joint's.
Place: TypeAlias = tuple[int, Transform]
#: Pinocchio joint models that move along or about one axis of their frame, linear first.
SINGLE = ("PX", "PY", "PZ", "RX", "RY", "RZ")
_NOTHING = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False, repr=False)
class BodyCopy:
    """A second copy of a body behind a cut joint, to be welded to the body itself.

    Slack joints between the two go along axes of the weld's frame, numbered as in ``SINGLE``.
    """

    edge: Edge
    node: NodeId
    T_node_frame: Transform
    slack: tuple[int, ...] = ()


class TreeBuilder:
    """Builds the tree of a mechanism, in which some bodies may be cut in two."""

    def __init__(
        self,
        graph: Graph,
        edges: set[EdgeId],
        copies: Sequence[BodyCopy] = (),
        length: float = 1.0,
        *,
        composite: bool = True,
    ) -> None:
        self.graph, self.composite = graph, composite
        self.tree = SpanningTree(graph.mechanism.name, np.array(graph.mechanism.gravity))
        self.joints: list[TreeJoint] = []
        self.findings: list[Diagnostic] = []
        self.place: dict[NodeId, Place] = {graph.ground: (0, np.eye(4))}
        self.copy_place: dict[EdgeId, Place] = {}
        self._edges, self._copies, self._length = edges, copies, length
        self._rank = alphabetical(graph.mechanism)
        self._add_bodies(graph.ground)
        self._descend(graph.ground)

    def add_frame(self, name: str, place: Place, T_node_frame: Transform) -> None:
        """Add an operational frame at a place of the tree."""
        frame = TreeFrame(name, "OP_FRAME", place[0], place[1] @ T_node_frame)
        self.tree.frames.append(frame)

    def _descend(self, root: NodeId) -> None:
        """Visit nodes depth-first: Pinocchio's algorithms rely on that order."""
        stack = [(root, iter(self._downward(root)))]
        while stack:
            node, edges = stack[-1]
            edge = next(edges, None)
            if edge is None:
                stack.pop()
                continue
            child = self._add_edges(node, self._series(node, edge))
            self._add_bodies(child)
            stack.append((child, iter(self._downward(child))))

    def _downward(self, node: NodeId) -> list[Edge]:
        edges = [
            self.graph.edges[e]
            for e in self.graph.adjacency[node]
            if e in self._edges and self.graph.edges[e].other(node) not in self.place
        ]
        return sorted(edges, key=lambda edge: self._rank.get(edge.joint.name, 0))

    def _series(self, node: NodeId, edge: Edge) -> list[Edge]:
        """Return the edge with the parts of the same joint that hang on it."""
        series = [edge]
        while True:
            node = series[-1].other(node)
            following = [
                e
                for e in self._downward(node)
                if e.joint is edge.joint and e.index not in {s.index for s in series}
            ]
            if self.graph.members[node] or not following:
                return series
            series.append(following[0])

    def _add_edges(self, node: NodeId, series: Sequence[Edge]) -> NodeId:
        """Add one joint for a series of edges; returns the node at its end."""
        backwards = node == series[0].child
        place = self._add_joint(self.place[node], series, backwards)
        for edge in series:
            # Massless nodes inside the joint have no place of their own, but are passed.
            self.place[edge.parent if backwards else edge.child] = (place[0], IDENTITY)
        end = series[-1].parent if backwards else series[-1].child
        self.place[end] = place
        return end

    def _add_joint(self, place: Place, series: Sequence[Edge], backwards: bool) -> Place:
        """Add one joint for a series of edges; returns the place of the body at its end."""
        parent, T_joint_node = place
        first, last = series[0], series[-1]
        T_start = T_joint_node @ (first.T_child if backwards else first.T_parent)
        T_end = last.T_parent if backwards else last.T_child
        if not first.freedoms:
            return parent, T_start @ screw.inverse(T_end)
        motions, before = list[Motion](), T_start
        for edge in series:
            added, before = motions_of(edge, backwards, before)
            motions += added
        whole = len(series) == sum(e.joint is first.joint for e in self.graph.edges)
        name = first.joint.name if whole else first.name
        if self.composite or len(motions) == 1:
            index = end = self.tree.add_joint(parent, motions, name)
        else:
            index, end = self.tree.njoints, parent
            for k, motion in enumerate(motions, start=1):
                end = self.tree.add_joint(end, [motion], f"{name}/{k}")
        self.joints.append(TreeJoint(index, tuple(series), backwards))
        return end, before @ screw.inverse(T_end)

    def _add_bodies(self, node: NodeId) -> None:
        """Append what moves with a node, and the copies that hang on it."""
        index, T_joint_node = self.place[node]
        for name in self.graph.members[node]:
            T = T_joint_node @ self.graph.T_node_body[name]
            body = self.graph.mechanism.body(name)
            if body.inertia is None and index > 0 and not self.graph.inertia_known(node):
                message = f"body `{name}` states no mass properties and moves without mass"
                self.findings.append(Diagnostic("REG303", "note", message, source=body.source))
            self.tree.frames.append(TreeFrame(self._unused(name), "BODY", index, T))
        if index > 0:
            for inertia in self._remaining_inertias(node):
                self.tree.bodies.append((index, inertia, T_joint_node))
        for copy in self._copies:
            if copy.edge.other(copy.node) == node:
                self._add_copy(copy)

    def _add_copy(self, copy: BodyCopy) -> None:
        """Continue the tree over a cut joint to the copy of the body behind it."""
        edge = copy.edge
        place = self.place[edge.other(copy.node)]
        backwards = copy.node == edge.parent
        place = self._add_joint(place, [edge], backwards)
        for axis in copy.slack:
            kind, e = ("prismatic", "revolute")[axis // 3], np.eye(3)[axis % 3]
            motion = kind, place[1] @ copy.T_node_frame, e, 0.0
            index = self.tree.add_joint(place[0], [motion], f"slack {SINGLE[axis]} {edge.name}")
            place = (index, screw.inverse(copy.T_node_frame))
        self.copy_place[edge.index] = place
        if edge.freedoms or copy.slack:
            self.tree.bodies.append((place[0], self._copy_inertia(copy.node), place[1]))

    def _unused(self, name: str) -> str:
        taken = any(frame.name == name for frame in self.tree.frames)
        return f"{name}/body" if taken or name == "universe" else name

    def _massive_copies(self, node: NodeId) -> int:
        """Return the number of copies of a node that have mass."""
        moving = (copy for copy in self._copies if copy.edge.freedoms or copy.slack)
        return sum(copy.node == node for copy in moving)

    def _inertia(self, node: NodeId) -> Inertia:
        """Return the inertia of a node in its own frame; zero where nothing is known."""
        bodies = [(name, self.graph.mechanism.body(name)) for name in self.graph.members[node]]
        stated = [
            body.inertia.transformed(self.graph.T_node_body[name])
            for name, body in bodies
            if body.inertia is not None
        ]
        return stated[0] if len(stated) == 1 else Inertia.total([_NOTHING, *stated])

    def _shared(self, node: NodeId, inertia: Inertia) -> bool:
        """Whether equal shares of a node's inertia can stand for its copies."""
        if node == self.graph.ground:
            return False
        principal = np.linalg.eigvalsh(inertia.matrix)
        return bool(inertia.mass > 0 and principal[0] > VANISHING * max(principal[-1], TINY))

    def _copy_inertia(self, node: NodeId) -> Inertia:
        """Return the inertia of one copy of a node.

        A body with mass in all directions is shared out evenly. A copy of the ground does not move,
        so its inertia never matters. A body that lacks inertia in some direction gets back, as a
        negative inertia, what its copies have too much. A massless body has massless copies.
        """
        inertia, share = self._inertia(node), 1.0 / (1 + self._massive_copies(node))
        if self._shared(node, inertia):
            return inertia.scaled(share)
        mass, center = share * inertia.mass, inertia.center
        if node == self.graph.ground:
            bodies = [body.inertia for body in self.graph.mechanism.bodies if body.inertia]
            mass = float(np.mean([i.mass for i in bodies])) if bodies else 1.0
            center = next(copy.T_node_frame[:3, 3] for copy in self._copies if copy.node == node)
        if mass == 0.0:
            return _NOTHING
        return Inertia(mass, center, 0.4 * mass * self._length**2 * np.eye(3))

    def _remaining_inertias(self, node: NodeId) -> list[Inertia]:
        """Return what stays of a node's inertia once its copies have theirs, in its own frame."""
        inertia, copies = self._inertia(node), self._massive_copies(node)
        if copies == 0:
            return [inertia] if inertia.mass > 0 or np.any(inertia.matrix) else []
        if self._shared(node, inertia):
            return [inertia.scaled(1.0 / (1 + copies))]
        if inertia.mass == 0.0:
            return [inertia]
        return [inertia, self._copy_inertia(node).scaled(-float(copies))]


def body_places(graph: Graph, place: Mapping[NodeId, Place]) -> dict[str, Place]:
    """Return the places of all bodies by their names."""
    return {
        name: (place[node][0], place[node][1] @ graph.T_node_body[name])
        for node in place
        for name in graph.members[node]
    }


def alphabetical(mechanism: Mechanism) -> dict[str, int]:
    """Return the rank of every joint of a URDF model in the order of Pinocchio's reader.

    It goes down from the root, at every link in the alphabetical order of the joints there; models
    of other formats keep the order of their files, and have no ranks.
    """
    if mechanism.format not in ("urdf", "xacro"):
        return {}
    below: dict[str, list[Joint]] = {}
    for joint in sorted(mechanism.joints, key=lambda joint: joint.name, reverse=True):
        if not joint.closure:
            below.setdefault(joint.parent, []).append(joint)
    rank: dict[str, int] = {}
    stack = [*below.get(mechanism.ground, ())]
    while stack:
        joint = stack.pop()
        if joint.name not in rank:
            rank[joint.name] = len(rank)
            stack += below.get(joint.child, ())
    return rank
