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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx

from regularize.cycles import Cycle
from regularize.motion_spaces import MotionSpaces
from regularize.topology import Graph


@dataclass(frozen=True)
class Closing:
    """How one loop is closed.

    Attributes:
        edge: The cut.
        node: Body in whose frame the space does not move; one of the cut's two.
        space: Number of the space Δ of relative twists that the cut can see.
        cycle: The loop.
    """

    edge: int
    node: int
    space: int
    cycle: Cycle


class Propagation:
    """Relative motions in a growing part of a mechanism.

    Args:
        graph: The mechanism's graph.
        spaces: The store of subspaces.
        freedoms: Number of the space spanned by the screws of each edge at the reference pose.
    """

    def __init__(self, graph: Graph, spaces: MotionSpaces, freedoms: dict[int, int]) -> None:
        """Start with no joint in place."""
        self.graph, self.spaces, self.freedoms = graph, spaces, freedoms
        self.present: set[int] = set()
        self._relation: dict[tuple[int, int], int] = {}
        self._neighbours: dict[int, set[int]] = {}
        self._parts: Any = nx.utils.UnionFind()
        self._closed: set[int] = set()

    def relation(self, i: int, j: int) -> int:
        """Number of the algebra that holds the relative motion of two bodies."""
        return self._relation.get((min(i, j), max(i, j)), MotionSpaces.FULL)

    def _tighten(self, i: int, j: int, algebra: int, queue: list[tuple[int, int]]) -> None:
        pair = (min(i, j), max(i, j))
        old = self._relation.get(pair)
        new = algebra if old is None else self.spaces.meet(old, algebra)
        if new != old:
            self._relation[pair] = new
            self._neighbours.setdefault(i, set()).add(j)
            self._neighbours.setdefault(j, set()).add(i)
            queue.append(pair)

    def add_tree_edge(self, index: int) -> None:
        """Put a joint in place that closes no loop."""
        edge = self.graph.edges[index]
        self.present.add(index)
        self._parts.union(edge.parent, edge.child)
        self._tighten(edge.parent, edge.child, self.freedoms[index], [])

    def missing(self, cycle: Cycle) -> list[int]:
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

    def options(self, cycle: Cycle, cuts: Iterable[int]) -> list[Closing]:
        """For every possible cut of a cycle and either of its bodies, the space it can see."""
        m = cycle.length
        steps = [self._step(cycle, i) for i in range(m)]
        forward = [self._reach(cycle, steps, x, 1) for x in range(m)]
        backward = [self._reach(cycle, steps, x, -1) for x in range(m)]
        found = []
        for cut in cuts:
            p = cycle.edges.index(cut)
            k, other = cycle.nodes[p], cycle.nodes[(p + 1) % m]
            Z = self.freedoms[cut]
            on_k = on_l = MotionSpaces.FULL
            for x in range(m):
                # Body x is reached from l going forward and reaches k going forward.
                P_kb = forward[x][(p - x) % m]
                P_lb = backward[x][(x - p - 1) % m]
                spaces = self.spaces
                on_k = spaces.meet(on_k, spaces.add(spaces.add(P_kb, spaces.saturate(P_lb, Z)), Z))
                on_l = spaces.meet(on_l, spaces.add(spaces.add(spaces.saturate(P_kb, Z), P_lb), Z))
            found += [Closing(cut, k, on_k, cycle), Closing(cut, other, on_l, cycle)]
        return found

    def _step(self, cycle: Cycle, i: int) -> int:
        """Algebra of the relative motion across one joint of the cycle."""
        edge = cycle.edges[i]
        following = cycle.nodes[(i + 1) % cycle.length]
        return self.spaces.meet(self.relation(cycle.nodes[i], following), self.freedoms[edge])

    def _reach(self, cycle: Cycle, steps: Sequence[int], start: int, direction: int) -> list[int]:
        """Spaces P of the bodies met when walking from body ``start`` around the cycle."""
        spaces, m = self.spaces, cycle.length
        product = len(self._closed & set(cycle.nodes)) > 1
        reached = [MotionSpaces.ZERO]
        position = start
        for _ in range(m - 1):
            step = steps[position if direction > 0 else position - 1]
            position = (position + direction) % m
            if product:
                space = spaces.add(spaces.saturate(reached[-1], step), step)
            else:
                space = spaces.join(reached[-1], step)
            known = self.relation(cycle.nodes[start], cycle.nodes[position])
            reached.append(spaces.meet(space, known))
        return reached

    def close(self, cycle: Cycle) -> None:
        """Put all joints of a cycle in place and propagate what its closure implies."""
        queue: list[tuple[int, int]] = []
        for e in self.missing(cycle):
            edge = self.graph.edges[e]
            self.present.add(e)
            self._parts.union(edge.parent, edge.child)
            self._tighten(edge.parent, edge.child, self.freedoms[e], queue)
        m, nodes = cycle.length, cycle.nodes
        steps = [self._step(cycle, i) for i in range(m)]
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

    def _propagate(self, queue: list[tuple[int, int]]) -> None:
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

    def lock(self, cycles: Sequence[Cycle]) -> frozenset[int]:
        """Joints of closed cycles that can never move, with all that follows from their locking."""
        locked: set[int] = set()
        while True:
            queue: list[tuple[int, int]] = []
            for cycle in cycles:
                for e in cycle.edges:
                    if e not in locked and self._is_locked(cycle, e):
                        edge = self.graph.edges[e]
                        locked.add(e)
                        self._tighten(edge.parent, edge.child, MotionSpaces.ZERO, queue)
            if not queue:
                return frozenset(locked)
            self._propagate(queue)

    def _is_locked(self, cycle: Cycle, e: int) -> bool:
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
