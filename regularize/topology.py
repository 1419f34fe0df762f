"""The graph of a mechanism: nodes, elementary joints, biconnected parts, short independent loops.

Bodies joined by fixed joints move as one and become one *node*. Joints become *edges*. A joint
whose freedoms form no subgroup (universal, composite) is split into a series of edges with
massless nodes between them, so that every edge moves in a subgroup of the rigid motions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from regularize import screw
from regularize.errors import ModelError
from regularize.mechanism import Joint, Mechanism
from regularize.screw import IDENTITY, Array

#: Kinds whose freedoms together form a subgroup, so that they need no splitting.
SUBGROUP_KINDS = frozenset(
    {"fixed", "revolute", "prismatic", "helical", "cylindrical", "spherical", "planar", "free"}
)


@dataclass(frozen=True, eq=False)
class Edge:
    """An elementary joint between two nodes.

    Attributes:
        index: Position in ``Graph.edges``.
        joint: The joint that it belongs to.
        name: Name of the joint, with a suffix where the joint was split.
        parent: Node on the parent side.
        child: Node on the child side.
        screws: Freedoms in the joint frame, shape (6, f).
        T_parent: Joint frame in the parent node's frame.
        T_child: Joint frame in the child node's frame.
        columns: Indices of its coordinates among all coordinates of the mechanism, shape (f,).
        group: Whether it moves by one exponential of all its screws.
    """

    index: int
    joint: Joint
    name: str
    parent: int
    child: int
    screws: Array
    T_parent: Array
    T_child: Array
    columns: tuple[int, ...]
    group: bool

    @property
    def freedoms(self) -> int:
        """Number of freedoms."""
        return len(self.columns)

    @property
    def split(self) -> bool:
        """Whether it is one part of a joint that had to be split."""
        return self.joint.kind not in SUBGROUP_KINDS

    def other(self, node: int) -> int:
        """The node at the other end."""
        return self.child if node == self.parent else self.parent


@dataclass(frozen=True)
class CouplingRow:
    """A coupling with its coordinates resolved to columns.

    Attributes:
        name: Name in the user's model.
        columns: Coordinates that it couples.
        coefficients: One per column.
        offset: Right-hand side.
    """

    name: str
    columns: tuple[int, ...]
    coefficients: tuple[float, ...]
    offset: float


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes and edges of a mechanism.

    Attributes:
        mechanism: The mechanism.
        nodes: Name of each node: its first body in file order, or the ground's.
        members: Names of the bodies of each node; empty for a massless node of a split joint.
        T_node_body: Frame of each body in the frame of its node.
        node_of: Node of each body.
        ground: The ground's node.
        edges: All elementary joints.
        freedoms: Number of joint coordinates.
        couplings: Linear relations between coordinates.
        rigid_loops: Fixed joints that join two bodies which other fixed joints join already.
    """

    mechanism: Mechanism
    nodes: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]
    T_node_body: dict[str, Array]
    node_of: dict[str, int]
    ground: int
    edges: tuple[Edge, ...]
    freedoms: int
    couplings: tuple[CouplingRow, ...] = ()
    rigid_loops: tuple[Joint, ...] = ()

    @cached_property
    def adjacency(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the edges at each node, in edge order."""
        incident: list[list[int]] = [[] for _ in self.nodes]
        for edge in self.edges:
            incident[edge.parent].append(edge.index)
            incident[edge.child].append(edge.index)
        return tuple(tuple(entries) for entries in incident)

    @cached_property
    def position(self) -> Array:
        """Stored coordinates of all joints, shape (freedoms,)."""
        return np.concatenate([np.zeros(0), *(j.position for j in self.mechanism.joints)])

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Edges of each biconnected part that contains a loop, in edge order."""
        # Edges become vertices, so that two joints between the same two bodies form a cycle too.
        subdivided: Any = nx.Graph()
        for edge in self.edges:
            subdivided.add_edge(edge.parent, ("edge", edge.index))
            subdivided.add_edge(edge.child, ("edge", edge.index))
        blocks = []
        for part in nx.biconnected_components(subdivided):
            indices = sorted(v[1] for v in list[Any](part) if isinstance(v, tuple))
            if len(part) > 2:
                blocks.append(tuple(indices))
        return tuple(sorted(blocks))

    @cached_property
    def cells(self) -> tuple[tuple[int, ...], ...]:
        """Sets of edges whose constraints do not touch each other's coordinates.

        A cell is a biconnected part with loops, or several that couplings tie together along with
        the other joints that they couple.
        """
        edge_of = {c: edge.index for edge in self.edges for c in edge.columns}
        sets: Any = nx.utils.UnionFind()
        for block in self.blocks:
            sets.union(*block)
        for coupling in self.couplings:
            sets.union(*(edge_of[c] for c in coupling.columns))
        return tuple(sorted(tuple(sorted(cell)) for cell in sets.to_sets()))

    @property
    def loops(self) -> int:
        """Number of independent loops."""
        return sum(loop_count(self, block) for block in self.blocks)

    def columns(self, edges: Iterable[int]) -> list[int]:
        """Coordinates of the given edges, in increasing order."""
        return sorted(c for e in edges for c in self.edges[e].columns)

    def inertia_known(self, node: int) -> bool:
        """Whether some body of the node states its mass properties."""
        return any(self.mechanism.body(name).inertia is not None for name in self.members[node])


def _first_coordinate(mechanism: Mechanism) -> dict[str, int]:
    """Index of the first coordinate of each joint."""
    first, total = {}, 0
    for joint in mechanism.joints:
        first[joint.name] = total
        total += joint.freedoms
    return first


def coordinate_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every joint coordinate: the joint's, numbered where it has several freedoms."""
    return tuple(
        joint.name if joint.freedoms == 1 else f"{joint.name}[{i}]"
        for joint in mechanism.joints
        for i in range(joint.freedoms)
    )


def build(mechanism: Mechanism) -> Graph:
    """The graph of a mechanism.

    Raises:
        ModelError: A part has no path to ground.
    """
    T_node_body, node_of, members, rigid_loops = _merge_fixed(mechanism)
    nodes = [group[0] for group in members]
    nodes[node_of[mechanism.ground]] = mechanism.ground
    first = _first_coordinate(mechanism)
    edges: list[Edge] = []
    all_members = list(members)
    for joint in mechanism.joints:
        if joint.kind == "fixed" and not joint.closure:
            continue
        parts = _elementary(joint)
        node, column = node_of[joint.parent], first[joint.name]
        if node == node_of[joint.child]:
            # Fixed joints hold both its bodies together: it closes a loop of its own, which needs
            # a node at which to be open.
            parts = [*parts, np.zeros((6, 0))]
        T_parent = T_node_body[joint.parent] @ joint.T_parent_joint
        for k, screws in enumerate(parts):
            last = k == len(parts) - 1
            child = node_of[joint.child] if last else len(nodes)
            if not last:
                nodes.append(f"{joint.name}/{k + 1}")
                all_members.append(())
            edges.append(
                Edge(
                    index=len(edges),
                    joint=joint,
                    name=joint.name if len(parts) == 1 else f"{joint.name}/{k + 1}",
                    parent=node,
                    child=child,
                    screws=screws,
                    T_parent=T_parent,
                    T_child=T_node_body[joint.child] @ joint.T_child_joint if last else IDENTITY,
                    columns=tuple(range(column, column + screws.shape[1])),
                    group=joint.group,
                )
            )
            node, T_parent = child, IDENTITY
            column += screws.shape[1]
    graph = Graph(
        mechanism=mechanism,
        nodes=tuple(nodes),
        members=tuple(all_members),
        T_node_body=T_node_body,
        node_of=node_of,
        ground=node_of[mechanism.ground],
        edges=tuple(edges),
        freedoms=mechanism.freedoms,
        couplings=tuple(
            CouplingRow(
                c.name,
                tuple(first[name] + freedom for name, freedom, _ in c.terms),
                tuple(coefficient for _, _, coefficient in c.terms),
                c.offset,
            )
            for c in mechanism.couplings
        ),
        rigid_loops=rigid_loops,
    )
    reached = {graph.ground} | {node for _, node in breadth_first(graph, graph.ground)}
    for i, name in enumerate(nodes):
        if i not in reached:
            raise ModelError(
                f"body {name!r} has no path of joints to the ground {graph.nodes[0]!r}"
            )
    return graph


def _elementary(joint: Joint) -> list[Array]:
    """The screws of each elementary joint, in order from parent to child."""
    if joint.kind in SUBGROUP_KINDS:
        return [joint.screws]
    return [joint.screws[:, [i]] for i in range(joint.freedoms)]


def _merge_fixed(
    mechanism: Mechanism,
) -> tuple[dict[str, Array], dict[str, int], list[tuple[str, ...]], tuple[Joint, ...]]:
    """Groups of bodies joined by fixed joints, and their frames in the group's first body.

    The last result lists fixed joints that join bodies of one group a second time.
    """
    neighbours: dict[str, list[tuple[str, Array, Joint]]] = {b.name: [] for b in mechanism.bodies}
    for joint in mechanism.joints:
        if joint.kind == "fixed" and not joint.closure:
            T = joint.T_parent_joint @ screw.inverse(joint.T_child_joint)
            neighbours[joint.parent].append((joint.child, T, joint))
            neighbours[joint.child].append((joint.parent, screw.inverse(T), joint))
    order = [mechanism.ground, *(b.name for b in mechanism.bodies if b.name != mechanism.ground)]
    T_node_body: dict[str, Array] = {}
    node_of: dict[str, int] = {}
    groups: list[tuple[str, ...]] = []
    used: set[str] = set()
    for start in order:
        if start in node_of:
            continue
        T_node_body[start], node_of[start] = IDENTITY, len(groups)
        group, queue = [start], deque([start])
        while queue:
            body = queue.popleft()
            for other, T, joint in neighbours[body]:
                if other not in node_of:
                    used.add(joint.name)
                    T_node_body[other], node_of[other] = T_node_body[body] @ T, len(groups)
                    group.append(other)
                    queue.append(other)
        groups.append(tuple(group))
    spare = tuple(
        j for j in mechanism.joints if j.kind == "fixed" and not j.closure and j.name not in used
    )
    return T_node_body, node_of, groups, spare


def breadth_first(
    graph: Graph, root: int, edges: Iterable[int] | None = None
) -> list[tuple[int, int]]:
    """(edge, newly reached node) in breadth-first order from ``root``, over the given edges."""
    allowed = None if edges is None else set(edges)
    seen, queue, order = {root}, deque([root]), []
    while queue:
        node = queue.popleft()
        for index in graph.adjacency[node]:
            if allowed is not None and index not in allowed:
                continue
            other = graph.edges[index].other(node)
            if other not in seen:
                seen.add(other)
                queue.append(other)
                order.append((index, other))
    return order


def spanning_tree(graph: Graph, preference: Sequence[int] | None = None) -> tuple[int, ...]:
    """Edges of a spanning tree, taken in order of preference (Kruskal).

    By default the file's own closures come last, then joints with fewer freedoms, then file order.
    """
    if preference is None:
        preference = sorted(
            range(len(graph.edges)),
            key=lambda i: (graph.edges[i].joint.closure, i),
        )
    sets = nx.utils.UnionFind(range(len(graph.nodes)))
    tree = []
    for index in preference:
        edge = graph.edges[index]
        if sets[edge.parent] != sets[edge.child]:
            sets.union(edge.parent, edge.child)
            tree.append(index)
    return tuple(sorted(tree))


def nodes_of(graph: Graph, edges: Iterable[int]) -> list[int]:
    """Nodes that the edges touch, in increasing order."""
    return sorted({n for e in edges for n in (graph.edges[e].parent, graph.edges[e].child)})


def loop_count(graph: Graph, block: Sequence[int]) -> int:
    """Number of independent loops of a connected set of edges."""
    return len(block) - len(nodes_of(graph, block)) + 1
