"""The graph of a mechanism: nodes, elementary joints, biconnected parts, short independent loops.

Bodies joined by fixed joints move as one and become one *node*. Joints become *edges*. A joint
whose freedoms form no subgroup (universal, composite) is split into a series of edges with
massless nodes between them, so that every edge moves in a subgroup of the rigid motions.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NewType, TypeVar

import numpy as np

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.lie.arrays import Array, Coordinates, Mask, Space, Transform
from regularize.lie.curve import Curve
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism

Element = TypeVar("Element", bound=Hashable)


class DisjointSets(Generic[Element]):
    """Sets without common elements, united two or more at a time; a new element is alone."""

    def __init__(self, elements: Iterable[Element] = ()) -> None:
        self._above = {element: element for element in elements}
        self._size = dict.fromkeys(self._above, 1)

    def __getitem__(self, element: Element) -> Element:
        """Return the representative of the set that an element is in."""
        above = self._above
        if element not in above:
            above[element] = element
            self._size[element] = 1
            return element
        root = above[element]
        while above[root] != root:
            root = above[root]
        while above[element] != root:
            above[element], element = root, above[element]
        return root

    def union(self, *elements: Element) -> None:
        """Unite the sets of the elements; the representative of the largest set stays."""
        roots = dict.fromkeys(self[element] for element in elements)
        if not roots:
            return
        root, *others = sorted(roots, key=lambda r: self._size[r], reverse=True)
        for other in others:
            self._size[root] += self._size[other]
            self._above[other] = root

    def groups(self) -> list[list[Element]]:
        """Return all sets, in the order in which their first elements were met."""
        groups: dict[Element, list[Element]] = {}
        for element in list(self._above):
            groups.setdefault(self[element], []).append(element)
        return list(groups.values())


def joined(pairs: Iterable[Sequence[Element]]) -> list[list[Element]]:
    """Return the groups of elements that pairs join, directly or by way of others."""
    sets = DisjointSets[Element]()
    for pair in pairs:
        sets.union(*pair)
    return sets.groups()


#: Position of an elementary joint in ``Graph.edges``.
EdgeId = NewType("EdgeId", int)
#: Position of a rigid group of bodies in ``Graph.nodes``.
NodeId = NewType("NodeId", int)
#: Position of a coordinate among all joint coordinates of the mechanism.
ColumnId = NewType("ColumnId", int)

#: Kinds whose freedoms together form a subgroup, so that they need no splitting.
SUBGROUP_KINDS = frozenset(
    {"fixed", "revolute", "prismatic", "helical", "cylindrical", "spherical", "planar", "free"}
)


@dataclass(frozen=True, eq=False, repr=False)
class Edge:
    """An elementary joint between two nodes."""

    index: EdgeId  # position in Graph.edges
    joint: Joint  # that it belongs to
    name: str  # of the joint, with a suffix where the joint was split
    parent: NodeId
    child: NodeId
    screws: Space  # freedoms in the joint frame, (6, f)
    T_parent: Transform  # joint frame in the parent node's frame
    T_child: Transform  # joint frame in the child node's frame
    columns: tuple[ColumnId, ...]  # of its f coordinates
    group: bool  # whether it moves by one exponential of all its screws

    @property
    def freedoms(self) -> int:
        """Number of freedoms."""
        return len(self.columns)

    @property
    def split(self) -> bool:
        """Whether the edge is one of several that a joint was split into."""
        return self.joint.kind not in SUBGROUP_KINDS

    def other(self, node: NodeId) -> NodeId:
        """The node at the other end."""
        return self.child if node == self.parent else self.parent


@dataclass(frozen=True)
class CouplingRow:
    """A coupling with its coordinates resolved to columns."""

    name: str
    columns: tuple[ColumnId, ...]
    coefficients: tuple[float, ...]
    offset: float  # right-hand side
    curve: Curve | None = None  # what the last coordinate counts as, its coefficient included


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Nodes and edges of a mechanism."""

    mechanism: Mechanism
    nodes: tuple[str, ...]  # the name of each node's first body in file order; the ground is first
    members: tuple[tuple[str, ...], ...]  # bodies of each node; none of a massless node of a joint
    T_node_body: dict[str, Transform]  # frame of each body in the frame of its node
    node_of: dict[str, NodeId]  # node of each body
    ground: NodeId
    edges: tuple[Edge, ...]
    freedoms: int  # number of joint coordinates
    couplings: tuple[CouplingRow, ...] = ()
    rigid_loops: tuple[Joint, ...] = ()  # fixed joints of bodies that others hold together already
    #: By which part of the distance of their frames axes miss each other that may be meant to meet
    #: in one point; 0 where none do.
    missed: float = 0.0

    @cached_property
    def every_edge(self) -> tuple[EdgeId, ...]:
        """Indices of all edges."""
        return tuple(edge.index for edge in self.edges)

    @cached_property
    def every_node(self) -> tuple[NodeId, ...]:
        """Indices of all nodes."""
        return tuple(map(NodeId, range(len(self.nodes))))

    @cached_property
    def adjacency(self) -> tuple[tuple[EdgeId, ...], ...]:
        """Indices of the edges at each node, in edge order."""
        incident: list[list[EdgeId]] = [[] for _ in self.nodes]
        for edge in self.edges:
            incident[edge.parent].append(edge.index)
            incident[edge.child].append(edge.index)
        return tuple(tuple(entries) for entries in incident)

    @cached_property
    def extents(self) -> Array:
        """Largest distance of masses, shapes and joints from one joint of each node, in metres."""
        points: list[list[Array]] = [[] for _ in self.nodes]
        for edge in self.edges:
            points[edge.parent].append(edge.T_parent[:3, 3])
            points[edge.child].append(edge.T_child[:3, 3])
        for body in self.mechanism.bodies:
            places = [shape.T_body_geometry[:, 3] for shape in body.geometry]
            if body.inertia is not None and body.inertia.mass > 0.0:
                places.append(np.array([*body.inertia.center, 1.0]))
            node, T = self.node_of[body.name], self.T_node_body[body.name]
            points[node] += [(T @ place)[:3] for place in places]
        points[self.ground] = []  # it holds floors and rooms
        far = [[float(np.max(np.abs(p - near[0]))) for p in near] for near in points]
        return np.array([max(distances, default=0.0) for distances in far])

    @cached_property
    def tree(self) -> frozenset[EdgeId]:
        """Edges of the spanning tree that leaves the file's own closures open."""
        return frozenset(spanning_tree(self))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be derived again."""
        return {name: value for name, value in vars(self).items() if name != "known"}

    @cached_property
    def known(self) -> dict[Any, Any]:
        """A store for results derived from sets of edges, so that they are computed once."""
        return {}

    @cached_property
    def position(self) -> Coordinates:
        """Stored coordinates of all joints."""
        return np.concatenate([np.zeros(0), *(j.position for j in self.mechanism.joints)])

    @cached_property
    def turning(self) -> Mask:
        """Mask of the coordinates that are angles."""
        turning = np.zeros(self.freedoms, dtype=bool)
        for edge in self.edges:
            turning[list(edge.columns)] = np.any(edge.screws[3:], axis=0)
        return turning

    @cached_property
    def blocks(self) -> tuple[tuple[EdgeId, ...], ...]:
        """Edges of each biconnected part that contains a loop, in edge order."""
        order, level = spanning_forest(self, self.every_node)
        via, sets = {node: e for e, node in order}, DisjointSets[EdgeId]()
        for edge in self.edges:
            ends, loop = [edge.parent, edge.child], [edge.index]
            while ends[0] != ends[1]:
                side = int(level[ends[1]] > level[ends[0]])
                loop.append(via[ends[side]])
                ends[side] = self.edges[loop[-1]].other(ends[side])
            sets.union(*loop)
        return tuple(sorted(tuple(sorted(part)) for part in sets.groups() if len(part) > 1))

    @cached_property
    def cells(self) -> tuple[tuple[EdgeId, ...], ...]:
        """Sets of edges to analyse alone: biconnected parts, joined where couplings tie them."""
        if not self.couplings:
            return self.blocks
        edge_of = {c: edge.index for edge in self.edges for c in edge.columns}
        sets = DisjointSets[EdgeId]()
        for block in self.blocks:
            sets.union(*block)
        for coupling in self.couplings:
            sets.union(*(edge_of[c] for c in coupling.columns))
        return tuple(sorted(tuple(sorted(cell)) for cell in sets.groups()))

    @property
    def loops(self) -> int:
        """Number of independent loops."""
        return sum(loop_count(self, block) for block in self.blocks)

    def coupled_by(self, rows: Sequence[CouplingRow]) -> Graph:
        """Return the graph with further rows among the couplings."""
        return replace(self, couplings=(*self.couplings, *rows)) if rows else self

    def columns(self, edges: Iterable[EdgeId]) -> list[ColumnId]:
        """Return the coordinates of the given edges, in increasing order."""
        return sorted(c for e in edges for c in self.edges[e].columns)

    def joint_names(self, edges: Iterable[EdgeId]) -> tuple[str, ...]:
        """Return the names of the joints of some edges without repetition."""
        return tuple(dict.fromkeys(self.edges[e].joint.name for e in edges))

    def inertia_known(self, node: NodeId) -> bool:
        """Return whether some body of the node states its mass properties."""
        return not self._weighed.isdisjoint(self.members[node])

    @cached_property
    def _weighed(self) -> frozenset[str]:
        """Names of the bodies that state their mass properties."""
        return frozenset(b.name for b in self.mechanism.bodies if b.inertia is not None)


def actuated_coordinates(mechanism: Mechanism) -> tuple[str, ...]:
    """Name the coordinates of the joints that the model says are actuated."""
    driven = {joint.name for joint in mechanism.joints if joint.actuated}
    names = coordinate_names(mechanism)
    return tuple(name for name in names if name in driven or name.rpartition("[")[0] in driven)


def coordinate_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Name every joint coordinate: by its joint, numbered where that has several freedoms."""
    return tuple(
        joint.name if joint.freedoms == 1 else f"{joint.name}[{i}]"
        for joint in mechanism.joints
        for i in range(joint.freedoms)
    )


def columns_of(all_names: Sequence[str], names: Iterable[str]) -> list[int]:
    """Return the positions of names; raise ``ModelError`` for an unknown one."""
    names = tuple(names)
    for name in names:
        if name not in all_names:
            raise ModelError(f"there is no coordinate {name!r}{did_you_mean(name, all_names)}")
    return [all_names.index(name) for name in names]


def breadth_first(
    graph: Graph, root: NodeId, edges: Iterable[EdgeId] | None = None
) -> list[tuple[EdgeId, NodeId]]:
    """Return (edge, newly reached node) in breadth-first order from ``root`` over some edges."""
    # A body may carry far more joints than those that count.
    incident = defaultdict[NodeId, list[EdgeId]](list)
    for e in graph.every_edge if edges is None else sorted(edges):
        incident[graph.edges[e].parent].append(e)
        incident[graph.edges[e].child].append(e)
    reached, queue, order = {root}, deque([root]), []
    while queue:
        node = queue.popleft()
        for index in incident[node]:
            other = graph.edges[index].other(node)
            if other not in reached:
                reached.add(other)
                queue.append(other)
                order.append((index, other))
    return order


def spanning_forest(
    graph: Graph, nodes: Iterable[NodeId], edges: Iterable[EdgeId] | None = None
) -> tuple[list[tuple[EdgeId, NodeId]], dict[NodeId, int]]:
    """Return (edge, new node) breadth first from the first node of each part, and nodes' levels."""
    order, level = list[tuple[EdgeId, NodeId]](), dict[NodeId, int]()
    for root in (node for node in nodes if node not in level):
        level[root] = 0
        for e, node in breadth_first(graph, root, edges):
            order.append((e, node))
            level[node] = 1 + level[graph.edges[e].other(node)]
    return order, level


def spanning_tree(graph: Graph, preference: Sequence[EdgeId] | None = None) -> tuple[EdgeId, ...]:
    """Choose a spanning tree by order of preference, with closures of the file last."""
    if preference is None:
        edges = sorted(graph.edges, key=lambda edge: (edge.joint.closure, edge.index))
        preference = [edge.index for edge in edges]
    sets = DisjointSets(graph.every_node)
    tree = []
    for index in preference:
        edge = graph.edges[index]
        if sets[edge.parent] != sets[edge.child]:
            sets.union(edge.parent, edge.child)
            tree.append(index)
    return tuple(sorted(tree))


def nodes_of(graph: Graph, edges: Iterable[EdgeId]) -> list[NodeId]:
    """Return the nodes that the edges touch, in increasing order."""
    return sorted({n for e in edges for n in (graph.edges[e].parent, graph.edges[e].child)})


def loop_count(graph: Graph, block: Sequence[EdgeId]) -> int:
    """Count the independent loops of a connected set of edges."""
    return len(block) - len(nodes_of(graph, block)) + 1


def part_of(graph: Graph, edges: Iterable[EdgeId]) -> Graph | None:
    """Return the graph of some edges, numbered anew; None where a joint is partly in them."""
    chosen = [graph.edges[e] for e in sorted(edges)]
    names = {edge.joint.name for edge in chosen}
    joints = tuple(joint for joint in graph.mechanism.joints if joint.name in names)
    taken = graph.columns(edge.index for edge in chosen)
    column = {c: ColumnId(k) for k, c in enumerate(taken)}
    if len(column) != sum(joint.freedoms for joint in joints):
        return None
    kept = [row for row in graph.couplings if set(row.columns) <= set(column)]
    used = {row.name for row in kept}
    couplings = tuple(c for c in graph.mechanism.couplings if c.name in used)
    return replace(
        graph,
        mechanism=replace(graph.mechanism, joints=joints, couplings=couplings),
        edges=tuple(
            replace(edge, index=EdgeId(k), columns=tuple(column[c] for c in edge.columns))
            for k, edge in enumerate(chosen)
        ),
        freedoms=len(column),
        couplings=tuple(
            replace(row, columns=tuple(column[c] for c in row.columns)) for row in kept
        ),
        rigid_loops=(),
    )
