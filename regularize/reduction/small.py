"""The theorem of several loops on one page: loops closed one by one, with subalgebras alone.

Of every two bodies an algebra of relative motions is known, at first that of a joint between them.
A loop is closed at a joint with screws Z between bodies k and l. While it is open, the joint sees
only twists in

    Δ = ∩_b P_kb + Sat_Z(P_lb) + Z,

over all bodies b of the loop, with the twists P_kb of k relative to b as seen from k. The dimension
of Δ is the number of rows that are kept, plus the joint's own freedoms. Then the loop is closed,
and what two ways around say of two bodies holds of both.

The other modules do the same, and search cuts and orders, give reasons, lock joints, and know
parallelograms. Here nothing is remembered: this is to be read, and to be compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Space
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import DisjointSets, EdgeId, Graph, NodeId


class RelativeMotions:
    """Algebras of the relative motions of bodies, to a tolerance."""

    def __init__(self, rtol: float) -> None:
        self.rtol = rtol
        self.algebras: dict[frozenset[NodeId], Space] = {}

    def of(self, i: NodeId, j: NodeId) -> Space:
        """Return the algebra of two bodies: se(3) where nothing is known."""
        return subalgebra.ZERO if i == j else self.algebras.get(frozenset((i, j)), subalgebra.FULL)

    def along(self, path: Sequence[NodeId]) -> Space:
        """Return the Lie closure of the algebras along a path of bodies."""
        algebras = [self.of(i, j) for i, j in pairwise(path)]
        return subalgebra.lie_closure(np.hstack(algebras), self.rtol)

    def seen(self, path: Sequence[NodeId]) -> Space:
        """Return the twists of a path's last body relative to the first, in the last's frame."""
        P = subalgebra.ZERO
        for i, j in pairwise(path):
            A = self.of(i, j)
            P = subalgebra.sum_(subalgebra.saturation(P, A, self.rtol), A, self.rtol)
        return subalgebra.intersection(P, self.of(path[0], path[-1]), self.rtol)

    def meet(self, i: NodeId, j: NodeId, algebra: Space) -> None:
        """Intersect the algebra of two bodies with another one, and update all other pairs."""
        pair, before = frozenset((i, j)), self.of(i, j)
        self.algebras[pair] = subalgebra.intersection(before, algebra, self.rtol)
        if self.algebras[pair].shape[1] == before.shape[1]:
            return
        for k in {n for bodies in self.algebras for n in bodies} - pair:
            if {frozenset((i, k)), frozenset((j, k))} <= self.algebras.keys():
                self.meet(i, k, self.along([i, j, k]))
                self.meet(j, k, self.along([j, i, k]))


def relative_twists(motions: RelativeMotions, ring: Sequence[NodeId], Z: Space) -> Space:
    """Return Δ of a joint between a ring's first and last body, in the last one's frame."""
    space = subalgebra.FULL
    for b in range(len(ring)):
        near, far = motions.seen(ring[b:]), motions.seen(ring[b::-1])
        moving = subalgebra.sum_(subalgebra.saturation(far, Z, motions.rtol), Z, motions.rtol)
        both = subalgebra.sum_(near, moving, motions.rtol)
        space = subalgebra.intersection(space, both, motions.rtol)
    return space


def dimension(
    graph: Graph, screws: Mapping[EdgeId, Space], cycles: Sequence[Cycle], rtol: float
) -> int | None:
    """Sum the dimensions of Δ of loops closed one by one; None where none closes by itself."""
    motions, placed, total = RelativeMotions(rtol), set[EdgeId](), 0
    parts = DisjointSets[NodeId]()
    freedoms = {e: subalgebra.span(own) for e, own in screws.items()}
    ends = {e: (graph.edges[e].parent, graph.edges[e].child) for e in screws}
    while waiting := [cycle for cycle in cycles if not placed.issuperset(cycle.edges)]:
        for cycle in waiting:
            missing = [e for e in cycle.edges if e not in placed]
            # The parts that the missing joints connect are a ring of as many.
            if len({parts[n] for e in missing for n in ends[e]}) == len(missing):
                break
        else:
            return None
        sizes = list[int]()
        for cut in missing:
            open_loop = RelativeMotions(rtol)
            open_loop.algebras = dict(motions.algebras)
            for e in set(missing) - {cut}:
                both = subalgebra.intersection(motions.of(*ends[e]), freedoms[e], rtol)
                open_loop.algebras[frozenset(ends[e])] = both
            k = cycle.edges.index(cut) + 1  # the bodies from behind the cut to before it
            ring = [*cycle.nodes[k:], *cycle.nodes[:k]]
            spaces = (relative_twists(open_loop, w, freedoms[cut]) for w in (ring, ring[::-1]))
            sizes += [space.shape[1] for space in spaces]
        total += min(sizes, default=0)
        for e in missing:
            motions.meet(*ends[e], freedoms[e])
            parts.union(*ends[e])
        for x, y in combinations(range(cycle.length), 2):
            one, two = cycle.nodes[x : y + 1], (*cycle.nodes[y:], *cycle.nodes[: x + 1])
            for around in (one, two):
                motions.meet(cycle.nodes[x], cycle.nodes[y], motions.along(around))
        placed |= set(cycle.edges)
    return total
