"""Short independent loops: a minimum cycle basis of a biconnected part.

Chains of bodies with two joints are contracted first; then shortest-path cycles (Horton 1987) are
taken in order of their number of joints, ties by joint order, as long as they are independent over
the field of two elements.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from regularize.lie.arrays import Array, Indices
from regularize.mechanism.graph import EdgeId, Graph, NodeId, loop_count, nodes_of, spanning_forest

#: Loops of one part above which they are looked at one by one wherever that is enough.
MANY_LOOPS = 40
#: Nodes at which a chain of edges starts and ends, and the edges.
NodeChain = tuple[NodeId, NodeId, tuple[EdgeId, ...]]


@dataclass(frozen=True)
class Cycle:
    """A closed walk through distinct nodes; ``nodes[i]`` is left through ``edges[i]``."""

    edges: tuple[EdgeId, ...]
    nodes: tuple[NodeId, ...]

    @property
    def length(self) -> int:
        """Number of joints."""
        return len(self.edges)

    def direction(self, graph: Graph, edge: EdgeId) -> int:
        """Return 1 where the cycle passes an edge from parent to child, -1 back, 0 not at all."""
        if edge not in self.edges:
            return 0
        node = self.nodes[self.edges.index(edge)]
        return 1 if node == graph.edges[edge].parent else -1


def walk(graph: Graph, edges: Sequence[EdgeId]) -> Cycle:
    """Order the edges of a simple cycle, starting at its lowest edge from its parent side."""
    start = min(edges)
    at = edges_at(graph, edges)
    order, nodes = [start], [graph.edges[start].parent]
    node = graph.edges[start].child
    while node != nodes[0]:
        nodes.append(node)
        first, second = at[node]
        order.append(second if first == order[-1] else first)
        node = graph.edges[order[-1]].other(node)
    return Cycle(tuple(order), tuple(nodes))


def candidate_cycles(
    graph: Graph, block: Sequence[EdgeId], longest: int | None = None, *, through_hubs: bool = True
) -> list[Cycle]:
    """Return shortest-path cycles of a biconnected part, shortest first, ties by joint order."""
    # Where paths end at hubs, bodies with more neighbours than the one where they start, only long
    # cycles are lost: a short one is found from its fullest body as well.
    longest = len(block) if longest is None else longest
    chains = contract(graph, block)
    branch = {n for start, end, _ in chains for n in (start, end)}
    incident: dict[NodeId, list[int]] = {n: [] for n in branch}
    for i, (start, end, _) in enumerate(chains):
        incident[start].append(i)
        if end != start:
            incident[end].append(i)
    cycles = {frozenset(c) for start, end, c in chains if start == end and len(c) <= longest}
    for root in sorted(branch):
        most = len(block) if through_hubs else len(incident[root])
        paths = _shortest_paths(root, chains, incident, (longest + 1) // 2, most)
        # A chain within reach has an end elsewhere than at the body with the most chains.
        fullest = max(paths, key=lambda node: len(incident[node]))
        for i in {i for node in paths if node != fullest for i in incident[node]}:
            start, end, edges = chains[i]
            if start == end or start not in paths or end not in paths:
                continue
            (one, first), (two, second) = paths[start], paths[end]
            if one + two + len(edges) > longest or i in first or i in second:
                continue
            cycle = frozenset(edges).union(*(chains[c][2] for c in (*first, *second)))
            if not set(first) & set(second) and all(
                len(touching) == 2 for touching in edges_at(graph, cycle).values()
            ):
                cycles.add(cycle)
    return [
        walk(graph, sorted(cycle)) for cycle in sorted(cycles, key=lambda c: (len(c), sorted(c)))
    ]


def independent(cycles: Sequence[Cycle], count: int) -> list[Cycle]:
    """Choose the first ``count`` cycles that are independent of the ones before."""
    pivots: dict[int, int] = {}
    chosen = []
    for cycle in cycles:
        bits = sum(1 << e for e in cycle.edges)
        while bits:
            top = bits.bit_length()
            if top not in pivots:
                pivots[top] = bits
                chosen.append(cycle)
                break
            bits ^= pivots[top]
        if len(chosen) == count:
            break
    return chosen


def minimum_cycle_basis(graph: Graph, block: Sequence[EdgeId]) -> list[Cycle]:
    """Return independent loops with the fewest joints, ties by joint order."""
    count, longest = loop_count(graph, block), 8
    if count == 1:
        return [walk(graph, block)]
    while True:
        # Short cycles are enough for most mechanisms, and far fewer than all.
        every = count <= MANY_LOOPS or longest >= len(block)
        candidates = candidate_cycles(graph, block, longest, through_hubs=every)
        cycles = independent(candidates, count)
        if len(cycles) == count or longest >= len(block):
            return cycles
        longest *= 2


def summed_cycles(graph: Graph, basis: Sequence[Cycle], candidates: Sequence[Cycle]) -> list[Cycle]:
    """Return candidates and simple cycles that are sums of two of the basis, shortest first."""
    # Shortest paths take one of several chains: the loop of the other two is such a sum.
    cycles = {frozenset(cycle.edges): cycle for cycle in candidates}
    for one, two in combinations([frozenset(cycle.edges) for cycle in basis], 2):
        both = one ^ two
        if one & two and both not in cycles and _is_cycle(graph, both):
            cycles[both] = walk(graph, sorted(both))
    return [cycles[edges] for edges in sorted(cycles, key=lambda c: (len(c), sorted(c)))]


def _is_cycle(graph: Graph, edges: frozenset[EdgeId]) -> bool:
    """Return whether the edges make one closed walk through distinct nodes."""
    at = edges_at(graph, edges)
    if any(len(touching) != 2 for touching in at.values()):
        return False
    return len(nodes_of(graph, walk(graph, sorted(edges)).edges)) == len(at)


def contract(graph: Graph, block: Sequence[EdgeId]) -> list[NodeChain]:
    """Return the chains (start, end, edges) between the branch nodes of a block."""
    allowed = set(block)
    degree = {n: [e for e in graph.adjacency[n] if e in allowed] for n in nodes_of(graph, block)}
    branch = dict.fromkeys(n for n, edges in degree.items() if len(edges) != 2)
    if not branch:
        branch = {min(degree): None}
    used: set[EdgeId] = set()
    chains = []
    for start in branch:
        for first in degree[start]:
            if first in used:
                continue
            edges, node = [first], graph.edges[first].other(start)
            used.add(first)
            while node not in branch:
                a, b = degree[node]
                step = b if a == edges[-1] else a
                edges.append(step)
                used.add(step)
                node = graph.edges[step].other(node)
            chains.append((start, node, tuple(edges)))
    return chains


def _shortest_paths(
    root: NodeId,
    chains: Sequence[NodeChain],
    incident: dict[NodeId, list[int]],
    radius: int,
    most: int,
) -> dict[NodeId, tuple[int, tuple[int, ...]]]:
    """Return length and chains of one shortest path from the root to each node in reach."""
    paths: dict[NodeId, tuple[int, tuple[int, ...]]] = {}
    queue: list[tuple[int, tuple[int, ...], NodeId]] = [(0, (), root)]
    while queue:
        length, path, node = heapq.heappop(queue)
        if node in paths:
            continue
        paths[node] = (length, path)
        for i in incident[node] if len(incident[node]) <= most else ():
            start, end, edges = chains[i]
            other = end if start == node else start
            if other not in paths and length + len(edges) <= radius:
                heapq.heappush(queue, (length + len(edges), (*path, i), other))
    return paths


def edges_at(graph: Graph, edges: Iterable[EdgeId]) -> dict[NodeId, list[EdgeId]]:
    """Return which of the edges touch each node."""
    at: dict[NodeId, list[EdgeId]] = {}
    for e in edges:
        for node in (graph.edges[e].parent, graph.edges[e].child):
            at.setdefault(node, []).append(e)
    return at


class LoopTree:
    """A spanning tree of a set of edges; every chord closes a loop over it."""

    def __init__(self, graph: Graph, edges: Iterable[EdgeId], tree: Iterable[EdgeId]) -> None:
        self.graph = graph
        self.edges = tuple(sorted(edges))
        tree_set = set(self.edges).intersection(tree)
        self.chords = tuple(e for e in self.edges if e not in tree_set)
        self.nodes = tuple(nodes_of(graph, self.edges)) or (graph.ground,)
        order, self.level = spanning_forest(graph, self.nodes, tree_set)
        self.tree = tuple(order)  # (edge, newly reached node) as it is followed from the roots
        self.roots = tuple(node for node, level in self.level.items() if level == 0)
        self.columns = np.array(graph.columns(self.edges), dtype=int)  # among all coordinates
        counts = [graph.edges[e].freedoms for e in self.edges]
        self.edge_of_column = np.repeat(np.arange(len(counts)), counts)  # places in ``edges``
        self._local = {int(c): i for i, c in enumerate(self.columns)}
        self._place = {e: i for i, e in enumerate(self.edges)}
        self._row = {node: i for i, node in enumerate(self.nodes)}
        self._via = {node: edge for edge, node in self.tree}

    @property
    def freedoms(self) -> int:
        """Number of coordinates, chords included."""
        return len(self.columns)

    def local(self, edge: EdgeId) -> list[int]:
        """Return the positions of an edge's coordinates in ``q``."""
        return [self._local[c] for c in self.graph.edges[edge].columns]

    @cached_property
    def _edge_movers(self) -> Array:
        """Signs with which each edge moves each node against its root, shape (nodes, edges)."""
        signs = np.zeros((len(self.nodes), len(self.edges)))
        for e, node in self.tree:
            edge, row = self.graph.edges[e], signs[self._row[node]]
            row[:] = signs[self._row[edge.other(node)]]
            row[self._place[e]] = 1.0 if node == edge.child else -1.0
        return signs

    @property
    def _chord_ends(self) -> Indices:
        """Positions in ``nodes`` of the chords' parents and of their children, shape (2, L)."""
        ends = [(self.graph.edges[e].parent, self.graph.edges[e].child) for e in self.chords]
        rows = [[self._row[node] for node in pair] for pair in ends]
        return np.array(rows, dtype=np.intp).reshape(-1, 2).T

    @cached_property
    def edge_incidence(self) -> Array:
        """How loops pass edges: 1 from parent to child, -1 back, 0 not, shape (L, edges)."""
        parent, child = self._chord_ends
        signs = self._edge_movers[child] - self._edge_movers[parent]
        signs[range(len(self.chords)), [self._place[e] for e in self.chords]] = -1.0
        return np.asarray(signs)

    def row(self, node: NodeId) -> int:
        """Return the position of a node in ``nodes``."""
        return self._row[node]

    @cached_property
    def root_of(self) -> dict[NodeId, NodeId]:
        """The root of the tree that each node is on."""
        roots = {root: root for root in self.roots}
        for e, node in self.tree:
            roots[node] = roots[self.graph.edges[e].other(node)]
        return roots

    def path_to_root(self, node: NodeId) -> list[tuple[EdgeId, int]]:
        """Return (edge, sign) from the node to the root, +1 where the node is on the child side."""
        path = []
        while node not in self.roots:
            edge = self.graph.edges[self._via[node]]
            path.append((edge.index, 1 if edge.child == node else -1))
            node = edge.other(node)
        return path

    @cached_property
    def incidence(self) -> Array:
        """Sign of every coordinate in every loop, shape (L, n): child side minus parent side."""
        return np.asarray(self.edge_incidence[:, self.edge_of_column])

    @cached_property
    def movers(self) -> Array:
        """Signs with which each coordinate moves each node against its root, shape (nodes, n)."""
        return np.asarray(self._edge_movers[:, self.edge_of_column])

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Signs with which each coordinate moves the chord frame and the target frame, (L, n)."""
        parent, child = (self.movers[end] for end in self._chord_ends)
        for row, chord in enumerate(self.chords):
            parent[row, self.local(chord)] += 1.0
        return parent, child

    @cached_property
    def carriers(self) -> Array:
        """Signs with which each coordinate moves the frame that holds each screw, (n, n)."""
        # It moves with the joint's coordinates before it; that of a group joint with all of them.
        signs = np.zeros((self.freedoms, self.freedoms))
        for index in self.edges:
            edge, local = self.graph.edges[index], self.local(index)
            for k, column in enumerate(local):
                signs[column] = self.movers[self._row[edge.parent]]
                signs[column, local if edge.group else local[:k]] += 1.0
        return signs
