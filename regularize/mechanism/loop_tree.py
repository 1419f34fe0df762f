"""The loops of a connected set of edges: a spanning tree and the chords that it leaves open."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from regularize.lie.arrays import Array
from regularize.mechanism.graph import EdgeId, Graph, NodeId, breadth_first, nodes_of


class LoopTree:
    """A spanning tree of a set of edges; every chord closes a loop over it.

    ``tree`` has (edge, newly reached node) in the order in which it is followed from the ``roots``,
    one node per connected part; ``columns`` are the coordinates of the edges among all of the
    mechanism, and ``edge_of_column`` the place of each one's edge in ``edges``.
    """

    def __init__(self, graph: Graph, edges: Iterable[EdgeId], tree: Iterable[EdgeId]) -> None:
        self.graph = graph
        self.edges = tuple(sorted(edges))
        tree_set = set(self.edges).intersection(tree)
        self.chords = tuple(e for e in self.edges if e not in tree_set)
        self.nodes = tuple(nodes_of(graph, self.edges))
        self.tree, self.roots = self._grow(tree_set)
        self.columns = np.array(graph.columns(self.edges), dtype=int)
        counts = [graph.edges[e].freedoms for e in self.edges]
        self.edge_of_column = np.repeat(np.arange(len(counts)), counts)
        self._local = {int(c): i for i, c in enumerate(self.columns)}
        self._place = {e: i for i, e in enumerate(self.edges)}
        self._row = {node: i for i, node in enumerate(self.nodes)}
        self._via = {node: edge for edge, node in self.tree}
        self.level = dict.fromkeys(self.roots, 0)
        for e, node in self.tree:
            self.level[node] = 1 + self.level[graph.edges[e].other(node)]

    def _grow(
        self, tree: set[EdgeId]
    ) -> tuple[tuple[tuple[EdgeId, NodeId], ...], tuple[NodeId, ...]]:
        """Return the tree in breadth-first order, and its roots, one per connected part."""
        remaining = set(self.nodes)
        order: list[tuple[EdgeId, NodeId]] = []
        roots: list[NodeId] = []
        while remaining:
            root = min(remaining)  # the ground, where it is among them
            part = breadth_first(self.graph, root, tree)
            remaining -= {root, *(node for _, node in part)}
            order += part
            roots.append(root)
        return tuple(order), tuple(roots)

    @property
    def freedoms(self) -> int:
        """Number of coordinates, chords included."""
        return len(self.columns)

    def local(self, edge: EdgeId) -> list[int]:
        """Return the positions of an edge's coordinates in ``q``."""
        return [self._local[c] for c in self.graph.edges[edge].columns]

    @cached_property
    def edge_incidence(self) -> Array:
        """How loops pass edges: 1 from parent to child, -1 back, 0 not, shape (L, edges)."""
        signs = np.zeros((len(self.chords), len(self.edges)))
        for row, passed in zip(signs, self.passes, strict=True):
            for e, sign in passed:
                row[self._place[e]] = sign
        return signs

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
    def passes(self) -> tuple[tuple[tuple[EdgeId, int], ...], ...]:
        """How each loop passes its edges: 1 from parent to child, -1 back; its chord last."""
        level, loops = self.level, []
        for chord in self.chords:
            edge = self.graph.edges[chord]
            ends, passed = [edge.parent, edge.child], []
            while ends[0] != ends[1]:
                side = int(level[ends[1]] >= level[ends[0]])
                via = self.graph.edges[self._via[ends[side]]]
                sign = 1 if via.child == ends[side] else -1
                passed.append((via.index, sign if side else -sign))
                ends[side] = via.other(ends[side])
            loops.append((*passed, (chord, -1)))
        return tuple(loops)

    @cached_property
    def movers(self) -> Array:
        """Signs with which each coordinate moves each node against its root, shape (nodes, n)."""
        signs = np.zeros((len(self.nodes), self.freedoms))
        for index, node in self.tree:
            edge = self.graph.edges[index]
            signs[self._row[node]] = signs[self._row[edge.other(node)]]
            signs[self._row[node], self.local(index)] += 1.0 if node == edge.child else -1.0
        return signs

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Signs with which each coordinate moves the chord frame and the target frame, (L, n)."""
        ends = [(self.graph.edges[e].parent, self.graph.edges[e].child) for e in self.chords]
        rows = np.array([[self._row[node] for node in pair] for pair in ends], dtype=int)
        parent, child = (self.movers[side] for side in rows.reshape(-1, 2).T)
        for row, chord in enumerate(self.chords):
            parent[row, self.local(chord)] += 1.0
        return parent, child

    @cached_property
    def carriers(self) -> Array:
        """Signs with which each coordinate moves what carries each screw, shape (n, n).

        A joint's screw is carried by its parent and by the joint's own coordinates before it; the
        screws of a group joint are fixed in the moving frame.
        """
        signs = np.zeros((self.freedoms, self.freedoms))
        for index in self.edges:
            edge, local = self.graph.edges[index], self.local(index)
            for k, column in enumerate(local):
                signs[column] = self.movers[self._row[edge.parent]]
                signs[column, local if edge.group else local[:k]] += 1.0
        return signs
