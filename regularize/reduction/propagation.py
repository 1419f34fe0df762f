r"""Motion-space propagation: which relative motions the loops of a mechanism can ever allow.

For pairs of bodies an over-estimate of the algebra of their relative motion is kept, in world
coordinates at the reference pose. Loops are closed one after another. While a loop is open its
closing joint, with screws Z between bodies k and l, sees only relative twists in

.. math:: \Delta = \bigcap_b \; P_{kb} + Sat_Z(P_{lb}) + Z

for every body b of the rest of the loop, where :math:`P_{kb}` holds all twists of k relative to b
in a frame fixed on k. Once the loop is closed, :math:`A_{ij} \leftarrow A_{ij} \cap Lie(A_{ik} +
A_{kj})` is repeated on the bodies of closed loops until nothing changes.

What is proved, on the connected set of configurations that contains the reference pose:

* ``A_ij`` contains every relative twist. Motions that start at the identity with twists in a
  subalgebra stay in its subgroup; products of such motions stay in the group of the Lie closure;
  a motion in two subgroups has its twists in both algebras.
* ``P_kb`` contains every twist of k relative to b seen from k. ``A_kb`` does. Where the loop runs
  through loops that are closed already, so does the smaller space of a product of motions that is
  no group: along a chain b, c, k the twist is :math:`Ad(G_{ck}^{-1}) V_{bc} + V_{ck}` with
  :math:`G_{ck}` in the group of ``A_ck``, and :math:`Sat_{A_{ck}}(P_{bc}) + A_{ck}` contains it.
  A loop by itself is judged by its algebras alone, as in the texts, so that what they call
  paradoxical keeps that name.
* ``Δ`` does not move in a frame fixed on k, because in a closed loop k and l differ by
  :math:`\exp(Zq)` and the saturation contains :math:`Ad_{\exp(Zq)}` of the space (Müller 2014,
  eq. 27, has the sum without saturation; without it the rows can be too few in shaky loops).
* Only loops that are closed already enter ``A`` and ``P`` while a joint is judged, so the argument
  is an induction over the loops and not a circle.
* A joint with one freedom whose screw is not in :math:`A_{ib} + A_{bj}` for some b is locked: its
  rate is zero at the reference pose, and as long as it does not move that sum does not change.
  Locked joints are looked for after all loops are closed and do not enter the spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx

from regularize.model.cycles import Cycle
from regularize.model.graph import EdgeId, Graph, NodeId
from regularize.reduction.motion_spaces import MotionSpaces, SpaceId


@dataclass(frozen=True)
class Closing:
    """How one loop is closed.

    Attributes:
        edge: The cut.
        node: Body in whose frame the space does not move; one of the cut's two.
        space: Number of the space Δ of relative twists that the cut can see.
        cycle: The loop.
    """

    edge: EdgeId
    node: NodeId
    space: SpaceId
    cycle: Cycle


class Propagation:
    """Relative motions in a growing part of a mechanism.

    Args:
        graph: The mechanism's graph.
        spaces: The store of subspaces.
        freedoms: Number of the space spanned by the screws of each edge at the reference pose.
    """

    def __init__(self, graph: Graph, spaces: MotionSpaces, freedoms: dict[EdgeId, SpaceId]) -> None:
        """Start with no joint in place."""
        self.graph, self.spaces, self.freedoms = graph, spaces, freedoms
        self.present: set[EdgeId] = set()
        self._relation: dict[tuple[NodeId, NodeId], SpaceId] = {}
        self._neighbours: dict[NodeId, set[NodeId]] = {}
        self._parts: Any = nx.utils.UnionFind()
        self._closed: set[NodeId] = set()

    def relation(self, i: NodeId, j: NodeId) -> SpaceId:
        """Number of the algebra that holds the relative motion of two bodies."""
        return self._relation.get((min(i, j), max(i, j)), MotionSpaces.FULL)

    def _tighten(
        self, i: NodeId, j: NodeId, algebra: SpaceId, queue: list[tuple[NodeId, NodeId]]
    ) -> None:
        pair = (min(i, j), max(i, j))
        old = self._relation.get(pair)
        new = algebra if old is None else self.spaces.meet(old, algebra)
        if new != old:
            self._relation[pair] = new
            self._neighbours.setdefault(i, set()).add(j)
            self._neighbours.setdefault(j, set()).add(i)
            queue.append(pair)

    def add_tree_edge(self, index: EdgeId) -> None:
        """Put a joint in place that closes no loop."""
        edge = self.graph.edges[index]
        self.present.add(index)
        self._parts.union(edge.parent, edge.child)
        self._tighten(edge.parent, edge.child, self.freedoms[index], [])

    def missing(self, cycle: Cycle) -> list[EdgeId]:
        """Joints of the cycle that are not in place yet."""
        return [e for e in cycle.edges if e not in self.present]

    def closes_one_loop(self, cycle: Cycle) -> bool:
        """Whether the missing joints of the cycle close exactly one independent loop."""
        merged: Any = nx.utils.UnionFind()
        surplus = 0
        for e in self.missing(cycle):
            edge = self.graph.edges[e]
            a, b = self._parts[edge.parent], self._parts[edge.child]
            if merged[a] == merged[b]:
                surplus += 1
            merged.union(a, b)
        return surplus == 1

    def best_cut(self, cycle: Cycle, cuts: Sequence[EdgeId]) -> Closing:
        """The cut that sees the smallest space; the first of several equally good ones.

        Args:
            cycle: The loop.
            cuts: Its joints that may be cut, the preferred ones first.
        """
        spaces = self.spaces
        reach = _Reach(self, cycle)
        # No space can be smaller than what the screws of an untouched loop span at the pose.
        floor = 0
        if not self._closed & set(cycle.nodes):
            number = MotionSpaces.ZERO
            for e in cycle.edges:
                number = spaces.add(number, self.freedoms[e])
            floor = spaces.dimension(number)
        best: Closing | None = None
        for cut in cuts:
            for closing in self._closings(cycle, cut, reach):
                if best is None or (spaces.dimension(closing.space) < spaces.dimension(best.space)):
                    best = closing
                if spaces.dimension(best.space) == floor:
                    return best
        if best is None:
            raise ValueError("a loop needs at least one joint to cut")
        return best

    def _closings(self, cycle: Cycle, cut: EdgeId, reach: _Reach) -> Iterator[Closing]:
        """The spaces that a cut sees from either of its bodies."""
        m, spaces = cycle.length, self.spaces
        p = cycle.edges.index(cut)
        Z = self.freedoms[cut]
        # Body x is reached from the far body going back and reaches the near one going forward.
        pairs = [(reach(x, 1, (p - x) % m), reach(x, -1, (x - p - 1) % m)) for x in range(m)]
        near = far = MotionSpaces.FULL
        for P_near, P_far in pairs:
            seen = spaces.add(spaces.add(P_near, spaces.saturate(P_far, Z)), Z)
            near = spaces.meet(near, seen)
        yield Closing(cut, cycle.nodes[p], near, cycle)
        for P_near, P_far in pairs:
            seen = spaces.add(spaces.add(spaces.saturate(P_near, Z), P_far), Z)
            far = spaces.meet(far, seen)
        yield Closing(cut, cycle.nodes[(p + 1) % m], far, cycle)

    def is_product(self, cycle: Cycle) -> bool:
        """Whether the loop runs through loops that are closed already."""
        return len(self._closed & set(cycle.nodes)) > 1

    def step(self, cycle: Cycle, i: int) -> SpaceId:
        """Algebra of the relative motion across one joint of the cycle."""
        edge = cycle.edges[i]
        following = cycle.nodes[(i + 1) % cycle.length]
        return self.spaces.meet(self.relation(cycle.nodes[i], following), self.freedoms[edge])

    def close(self, cycle: Cycle) -> None:
        """Put all joints of a cycle in place and propagate what its closure implies."""
        queue: list[tuple[NodeId, NodeId]] = []
        for e in self.missing(cycle):
            edge = self.graph.edges[e]
            self.present.add(e)
            self._parts.union(edge.parent, edge.child)
            self._tighten(edge.parent, edge.child, self.freedoms[e], queue)
        m, nodes = cycle.length, cycle.nodes
        steps = [self.step(cycle, i) for i in range(m)]
        arcs = [[MotionSpaces.ZERO] for _ in range(m)]
        for x in range(m):
            for t in range(m - 1):
                arcs[x].append(self.spaces.join(arcs[x][-1], steps[(x + t) % m]))
        for x in range(m):
            for t in range(1, m):
                y = (x + t) % m
                if x < y:
                    both = self.spaces.meet(arcs[x][t], arcs[y][m - t])
                    self._tighten(nodes[x], nodes[y], both, queue)
        self._propagate(queue)
        self._closed |= set(nodes)

    def _propagate(self, queue: list[tuple[NodeId, NodeId]]) -> None:
        """Path consistency on the pairs that are kept, from the changed ones on."""
        spaces = self.spaces
        while queue:
            i, j = queue.pop()
            across = self._relation[i, j]
            if across == MotionSpaces.FULL:
                continue
            for k in self._neighbours[i] & self._neighbours[j]:
                i_k, j_k = self.relation(i, k), self.relation(j, k)
                self._tighten(i, k, spaces.join(across, j_k), queue)
                self._tighten(j, k, spaces.join(across, i_k), queue)

    def lock(self, cycles: Sequence[Cycle]) -> frozenset[EdgeId]:
        """Joints of closed cycles that can never move, with all that follows from their locking."""
        locked: set[EdgeId] = set()
        while True:
            queue: list[tuple[NodeId, NodeId]] = []
            for cycle in cycles:
                for e in cycle.edges:
                    if e not in locked and self._is_locked(cycle, e):
                        edge = self.graph.edges[e]
                        locked.add(e)
                        self._tighten(edge.parent, edge.child, MotionSpaces.ZERO, queue)
            if not queue:
                return frozenset(locked)
            self._propagate(queue)

    def _is_locked(self, cycle: Cycle, e: EdgeId) -> bool:
        edge = self.graph.edges[e]
        if self.freedoms[e] == MotionSpaces.ZERO:
            return False
        if self.relation(edge.parent, edge.child) == MotionSpaces.ZERO:
            return True
        return edge.freedoms == 1 and any(
            not self.spaces.contains(
                self.spaces.add(self.relation(edge.parent, b), self.relation(b, edge.child)),
                self.freedoms[e],
            )
            for b in cycle.nodes
            if b not in (edge.parent, edge.child)
        )


class _Reach:
    """Spaces P of the bodies met when walking around a cycle, computed as they are asked for."""

    def __init__(self, propagation: Propagation, cycle: Cycle) -> None:
        self._propagation, self._cycle = propagation, cycle
        self._product = propagation.is_product(cycle)
        self._steps = [propagation.step(cycle, i) for i in range(cycle.length)]
        self._reached: dict[tuple[int, int], list[SpaceId]] = {}

    def __call__(self, start: int, direction: int, steps: int) -> SpaceId:
        """Space of the body that lies so many steps from body ``start``, seen from there."""
        spaces, m = self._propagation.spaces, self._cycle.length
        reached = self._reached.setdefault((start, direction), [MotionSpaces.ZERO])
        while len(reached) <= steps:
            position = (start + direction * (len(reached) - 1)) % m
            step = self._steps[position if direction > 0 else position - 1]
            if self._product:
                space = spaces.add(spaces.saturate(reached[-1], step), step)
            else:
                space = spaces.join(reached[-1], step)
            following = (position + direction) % m
            known = self._propagation.relation(
                self._cycle.nodes[start], self._cycle.nodes[following]
            )
            reached.append(spaces.meet(space, known))
        return reached[steps]
