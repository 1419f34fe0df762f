"""The spanning tree of a mechanism, its joints added depth-first, named as in Pinocchio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.step.multibody import Link
from regularize.dynamics.step.posing import ConfigurationSpace
from regularize.lie import screw
from regularize.lie.arrays import Array, Direction, Transform
from regularize.lie.screw import IDENTITY
from regularize.mechanism.body import Inertia
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Edge, EdgeId, Graph, NodeId
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism
from regularize.tolerances import NEGLIGIBLE, TINY, VANISHING

if TYPE_CHECKING:
    from regularize.repair.statics.welds import Weld

#: An elementary motion of a joint: its kind (``step.multibody.KINDS``), where it starts seen from
#: the motion before it, its axis in its own frame, and its pitch in metres per radian.
Motion: TypeAlias = tuple[str, Transform, Direction, float]


@dataclass(eq=False, repr=False)
class SpanningTree:
    """A tree of joints, the first of which is the ground, by Pinocchio's names.

    ``link_of`` is the link that carries a joint's body, ``links`` the elementary motions of all
    joints, ``bodies`` the masses on joints, ``frames`` have a name, a kind, and a place on a joint.
    """

    name: str
    gravity: Array
    names: list[str] = field(default_factory=lambda: ["universe"])
    parents: list[int] = field(default_factory=lambda: [0])
    idx_qs: list[int] = field(default_factory=lambda: [0])
    nqs: list[int] = field(default_factory=lambda: [0])
    idx_vs: list[int] = field(default_factory=lambda: [0])
    nvs: list[int] = field(default_factory=lambda: [0])
    link_of: list[int] = field(default_factory=lambda: [0])
    links: list[Link] = field(default_factory=list)
    frames: list[tuple[str, str, int, Transform]] = field(default_factory=list)
    bodies: list[tuple[int, Inertia, Transform]] = field(default_factory=list)
    nq: int = 0
    nv: int = 0
    values: Mapping[str, Array] = field(default_factory=dict)
    _as_made: Any = None

    @property
    def njoints(self) -> int:
        """Number of joints, the ground included."""
        return len(self.names)

    @property
    def armature(self) -> Array:
        """Inertia of rotors, shape (nv,); joints that were added later have none."""
        armature = self.values.get("armature", np.zeros(0))
        return np.concatenate([armature, np.zeros(self.nv - len(armature))])

    @cached_property
    def space(self) -> ConfigurationSpace:
        """The configurations of the tree."""
        return ConfigurationSpace(self.links, self.nq, self.nv)

    def weighed(self) -> list[Link]:
        """Return all links, each with the total inertia of its bodies."""
        inertias: Array = np.zeros((len(self.links) + 1, 6, 6))
        for joint, inertia, T in self.bodies:
            inertias[self.link_of[joint]] += inertia.transformed(T).spatial
        return [replace(p, inertia=i) for p, i in zip(self.links, inertias[1:], strict=True)]

    def add_joint(self, parent: int, motions: Sequence[Motion], name: str) -> int:
        """Add a joint with coordinates of its own, and a frame for it; returns its index."""
        q, v, before, links = self.nq, self.nv, self.link_of[parent], []
        for k, motion in enumerate(motions, start=len(self.links) + 1):
            link = Link(before, *motion, q, v, np.zeros((6, 6)))
            before, q, v = k, q + link.coordinates, v + link.freedoms
            links.append(link)
        index = self.append(parent, links, name, (self.nq, q - self.nq), (self.nv, v - self.nv))
        self.frames.append((name, "JOINT", index, np.eye(4)))
        return index

    def append(
        self,
        parent: int,
        links: Sequence[Link],
        name: str,
        coordinates: tuple[int, int],
        velocities: tuple[int, int],
    ) -> int:
        """Append a joint with the first and the number of its coordinates; returns its index."""
        self.names.append(name)
        self.parents.append(parent)
        self.links += links
        self.link_of.append(len(self.links))
        self.idx_qs.append(coordinates[0])
        self.nqs.append(coordinates[1])
        self.idx_vs.append(velocities[0])
        self.nvs.append(velocities[1])
        self.nq, self.nv = self.nq + coordinates[1], self.nv + velocities[1]
        return len(self.names) - 1

    @property
    def changed(self) -> bool:
        """Whether the ``model`` is the caller's own, or has been changed since it was made."""
        return "model" in self.__dict__ and bool(self.model != self._as_made)

    @cached_property
    def model(self) -> Any:
        """The ``pinocchio.Model``."""
        model = pin.Model()
        model.name = self.name
        model.gravity.linear = np.array(self.gravity)
        starts = [0, *self.link_of]
        for j in range(1, self.njoints):
            links = self.links[starts[j] : starts[j + 1]]
            joint, place = joint_model(links[0]), pin.SE3(links[0].placement)
            if len(links) > 1:
                joint = pin.JointModelComposite()
                joint.addJoint(joint_model(links[0]))
                for link in links[1:]:
                    joint.addJoint(joint_model(link), pin.SE3(link.placement))
            model.addJoint(self.parents[j], joint, place, self.names[j])
        for name, kind, j, T in self.frames:
            if kind == "JOINT":
                model.addJointFrame(j)
                continue
            frame = pin.Frame(name, j, pin.SE3(T), getattr(pin.FrameType, kind))
            model.addFrame(frame, False)
        for j, inertia, T in self.bodies:
            mass = pin.Inertia.Zero()  # the constructor refuses negative masses
            mass.mass, mass.lever = inertia.mass, np.array(inertia.center)
            mass.inertia = np.array(inertia.matrix)
            model.appendBodyToJoint(j, mass, pin.SE3(T))
        for key, values in self.values.items():
            setattr(model, key, values)
        self._as_made = model.copy()
        return model


def motions_of(edge: Edge, backwards: bool, before: Transform) -> tuple[list[Motion], Transform]:
    """Return the elementary motions of an edge, and the placement left over behind the last one."""
    if edge.group:
        kind = "free" if edge.freedoms == 6 else "spherical"
        return [(kind, before, np.zeros(3), 0.0)], np.eye(4)
    order = range(edge.freedoms - 1, -1, -1) if backwards else range(edge.freedoms)
    motions = []
    for k in order:
        direction, point, pitch = screw.axis_of(edge.screws[:, k])
        axis = -direction if backwards else direction
        # A motion turns about its own origin: go to a point of the axis and back again.
        to_axis = screw.transform(None, point)
        kind = "prismatic" if pitch is None else "revolute"
        pitch = 0.0 if pitch is None or abs(pitch) < NEGLIGIBLE else pitch
        motions.append((kind, before @ to_axis, axis, pitch))
        before = screw.inverse(to_axis)
    return motions, before


def joint_model(link: Link) -> Any:
    """Return Pinocchio's joint model of a link."""
    if link.kind == "free":
        return pin.JointModelFreeFlyer()
    if link.kind == "spherical":
        return pin.JointModelSpherical()
    return aligned(link.axis, None if link.kind == "prismatic" else link.pitch)


def aligned(axis: Direction, pitch: float | None) -> Any:
    """Return the model of a hinge, slide (no pitch) or screw, about a coordinate axis if it can."""
    letter = "P" if pitch is None else "H" if abs(pitch) > NEGLIGIBLE else "R"
    pitches = (pitch,) if letter == "H" else ()
    for name, e in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(axis, e):
            return getattr(pin, f"JointModel{letter}{name}")(*pitches)
    kind = {"R": "Revolute", "P": "Prismatic", "H": "Helical"}[letter]
    return getattr(pin, f"JointModel{kind}Unaligned")(axis, *pitches)


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


class TreeBuilder:
    """Builds the tree of a mechanism; ``welds`` cut bodies in two, ``slack`` by slack joints."""

    def __init__(
        self,
        graph: Graph,
        edges: set[EdgeId],
        welds: Sequence[Weld] = (),
        length: float = 1.0,
        *,
        slack: bool = False,
        composite: bool = True,
    ) -> None:
        self.graph, self.composite = graph, composite
        self.tree = SpanningTree(graph.mechanism.name, np.array(graph.mechanism.gravity))
        self.joints: list[TreeJoint] = []
        self.findings: list[Diagnostic] = []
        self.place: dict[NodeId, Place] = {graph.ground: (0, np.eye(4))}
        self.copy_place: dict[EdgeId, Place] = {}
        self._edges, self._welds, self._length = edges, welds, length
        self._slack = slack
        self._rank = alphabetical(graph.mechanism)
        self._add_bodies(graph.ground)
        self._descend(graph.ground)

    def add_frame(self, name: str, place: Place, T_node_frame: Transform) -> None:
        """Add an operational frame at a place of the tree."""
        self.tree.frames.append((name, "OP_FRAME", place[0], place[1] @ T_node_frame))

    def _descend(self, root: NodeId) -> None:
        """Add joints and bodies depth-first, the order that Pinocchio's algorithms rely on."""
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
        """Return edges from a node to nodes not yet visited."""
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
        """Add one joint for a series of edges; return the node at its end."""
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
        """Append the bodies and frames of a node, and copies of bodies at its cut joints."""
        index, T_joint_node = self.place[node]
        for name in self.graph.members[node]:
            T = T_joint_node @ self.graph.T_node_body[name]
            body = self.graph.mechanism.body(name)
            if body.inertia is None and index > 0 and not self.graph.inertia_known(node):
                message = f"body `{name}` states no mass properties and moves without mass"
                self.findings.append(Diagnostic("REG303", "note", message, source=body.source))
            taken = name == "universe" or any(frame[0] == name for frame in self.tree.frames)
            self.tree.frames.append((f"{name}/body" if taken else name, "BODY", index, T))
        if index > 0:
            for inertia in self._remaining_inertias(node):
                self.tree.bodies.append((index, inertia, T_joint_node))
        for weld in self._welds:
            if weld.cut.edge.other(weld.cut.node) == node:
                self._add_copy(weld, self.place[node])

    def _add_copy(self, weld: Weld, place: Place) -> None:
        """Continue the tree over a cut joint to the copy of the body behind it."""
        edge, node = weld.cut.edge, weld.cut.node
        place = self._add_joint(place, [edge], node == edge.parent)
        for axis in weld.implied if self._slack else ():
            kind, e = ("prismatic", "revolute")[axis // 3], np.eye(3)[axis % 3]
            motion = kind, place[1] @ weld.T_node_frame, e, 0.0
            index = self.tree.add_joint(place[0], [motion], f"slack {SINGLE[axis]} {edge.name}")
            place = (index, screw.inverse(weld.T_node_frame))
        self.copy_place[edge.index] = place
        if self._moves(weld):
            self.tree.bodies.append((place[0], self._copy_inertia(node), place[1]))

    def _moves(self, weld: Weld) -> bool:
        """Return whether the joint before a body's copy has freedoms, so that it needs mass."""
        return bool(weld.cut.edge.freedoms or (self._slack and weld.implied))

    def _massive_copies(self, node: NodeId) -> int:
        """Return the number of copies of a node that have mass."""
        return sum(weld.cut.node == node for weld in self._welds if self._moves(weld))

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
        """Return whether a node's inertia can be shared out equally among its copies."""
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
            center = next(w.T_node_frame[:3, 3] for w in self._welds if w.cut.node == node)
        if mass == 0.0:
            return _NOTHING
        return Inertia(mass, center, 0.4 * mass * self._length**2 * np.eye(3))

    def _remaining_inertias(self, node: NodeId) -> list[Inertia]:
        """Return the inertia of a node less the shares of its copies, in its own frame."""
        inertia, copies = self._inertia(node), self._massive_copies(node)
        if copies == 0:
            return [inertia] if inertia.mass > 0 or np.any(inertia.matrix) else []
        if self._shared(node, inertia):
            return [inertia.scaled(1.0 / (1 + copies))]
        if inertia.mass == 0.0:
            return [inertia]
        return [inertia, self._copy_inertia(node).scaled(-float(copies))]


def alphabetical(mechanism: Mechanism) -> dict[str, int]:
    """Return the rank of every URDF joint in the order in which Pinocchio's reader adds them.

    It goes down from the root, alphabetically at every link; other formats have no ranks.
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
