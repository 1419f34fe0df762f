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
* ``P_kb`` contains every twist of k relative to b seen from k. ``A_kb`` does. So does the smaller
  space of a product of motions that is no group: along a chain b, c, k the twist is
  :math:`Ad(G_{ck}^{-1}) V_{bc} + V_{ck}` with :math:`G_{ck}` in the group of ``A_ck``, and
  :math:`Sat_{A_{ck}}(P_{bc}) + A_{ck}` contains it.
* ``Δ`` does not move in a frame fixed on k, because in a closed loop k and l differ by
  :math:`\exp(Zq)` and the saturation contains :math:`Ad_{\exp(Zq)}` of the space (Müller 2014,
  eq. 27, has the sum without saturation; without it the rows can be too few in shaky loops).
* Only loops that are closed already enter ``A`` and ``P`` while a joint is judged, so the argument
  is an induction over the loops and not a circle.
* Opposite bodies of a hinged parallelogram translate in its plane as long as it does not go flat:
  configurations with parallel bars close it and have as many freedoms as its equations leave.
* A joint with one freedom whose screw is not in :math:`A_{ib} + A_{bj}` for some b is locked: the
  products of motions in the two groups form a manifold with that sum as its tangent space at the
  reference pose, which the joint's own motion meets in separate places only. Where locked joints
  are looked for while loops are still open, they are rigid for the loops that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NewType, TypeAlias

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Space, read_only
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import DisjointSets, EdgeId, Graph, NodeId
from regularize.tolerances import EXACT

#: The number of a subspace in the store.
SpaceId = NewType("SpaceId", int)
#: A subspace made of two others, to a tolerance.
Operation: TypeAlias = Callable[[Space, Space, float], Space]


class MotionSpaces:
    """Numbered subspaces, compared to a tolerance; 0 is the zero space and 1 is se(3)."""

    ZERO = SpaceId(0)
    FULL = SpaceId(1)

    def __init__(self, rtol: float) -> None:
        self.rtol = rtol
        self._bases: list[Space] = [subalgebra.ZERO, subalgebra.FULL]
        self._numbers: dict[bytes, SpaceId] = {}
        self._memory: dict[tuple[Operation, SpaceId, SpaceId], SpaceId] = {}

    def number(self, basis: Space) -> SpaceId:
        """Return the number of the subspace with an orthonormal basis."""
        if basis.shape[1] in (0, 6):
            return self.ZERO if basis.shape[1] == 0 else self.FULL
        # Adding zero turns -0.0 into 0.0, which has other bytes.
        key = (np.round(basis @ basis.T, 6) + 0.0).tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = SpaceId(len(self._bases))
            self._bases.append(read_only(basis))
        return number

    def basis(self, number: SpaceId) -> Space:
        """Return an orthonormal basis."""
        return self._bases[number]

    def dimension(self, number: SpaceId) -> int:
        """Return the dimension of a subspace."""
        return int(self._bases[number].shape[1])

    def join(self, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the Lie closure of the sum of two subalgebras."""
        return self._larger(closure_of_sum, a, b)

    def add(self, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the sum of two subspaces, not closed under the bracket."""
        return self._larger(subalgebra.sum_, a, b)

    def meet(self, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the intersection of two subspaces."""
        if a == b or b == self.FULL or a == self.ZERO:
            return a
        if a == self.FULL or b == self.ZERO:
            return b
        return self._remembered(subalgebra.intersection, a, b)

    def saturate(self, space: SpaceId, freedoms: SpaceId) -> SpaceId:
        """Return the smallest superspace that is invariant under brackets with freedoms."""
        if space in (self.ZERO, self.FULL) or freedoms == self.ZERO or space == freedoms:
            return space
        return self._remembered(subalgebra.saturation, space, freedoms)

    def carried(self, space: SpaceId, group: SpaceId) -> SpaceId:
        """Return the span of the differences that displacements of a group make in a space."""
        if MotionSpaces.ZERO in (space, group):
            return MotionSpaces.ZERO
        return self.saturate(self._remembered(brackets, space, group), group)

    def _larger(self, operation: Operation, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the result of ``join`` or ``add``, at once where one contains the other."""
        if a == b or b == self.ZERO or a == self.FULL:
            return a
        if a == self.ZERO or b == self.FULL:
            return b
        return self._remembered(operation, a, b)

    def _within(self, a: SpaceId, b: SpaceId) -> bool:
        """Return whether one space lies in another but for rounding."""
        one, other = self._bases[a], self._bases[b]
        outside = subalgebra.residual(other, one) if one.shape[1] <= other.shape[1] else one
        return bool(np.linalg.norm(outside) <= EXACT.closed)

    def _done(self, operation: Operation, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the result of an operation; one of the two where it contains the other."""
        if operation in (closure_of_sum, subalgebra.sum_, subalgebra.intersection):
            smaller = operation is subalgebra.intersection
            if self._within(a, b):
                return a if smaller else b
            if self._within(b, a):
                return b if smaller else a
        return self.number(operation(self._bases[a], self._bases[b], self.rtol))

    def _remembered(self, operation: Operation, a: SpaceId, b: SpaceId) -> SpaceId:
        symmetric = operation not in (subalgebra.saturation, brackets)
        key = (operation, b, a) if symmetric and a > b else (operation, a, b)
        if key not in self._memory:
            self._memory[key] = self._done(operation, a, b)
        return self._memory[key]

    def parallelogram(self, hinges: Sequence[SpaceId]) -> SpaceId | None:
        """Return translations in the plane of four parallel hinges with parallel bars, if so."""
        screws = np.hstack([self._bases[h] for h in hinges])
        if screws.shape[1] != 4 or np.min(np.linalg.norm(screws[3:], axis=0)) < self.rtol:
            return None
        screws = screws / np.linalg.norm(screws[3:], axis=0)
        screws *= np.sign(screws[3:].T @ screws[3:, 0])
        bars = screws - np.roll(screws, 1, axis=1)
        turning = float(np.max(np.abs(np.sum(screws[:3] * screws[3:], axis=0))))
        off = max(float(np.max(np.abs(bars[3:]))), float(np.max(np.abs(bars[:, 0] + bars[:, 2]))))
        moves = subalgebra.span(bars, self.rtol)
        return self.number(moves) if max(turning, off) < self.rtol and moves.shape[1] == 2 else None

    def contains(self, space: SpaceId, other: SpaceId) -> bool:
        """Say whether a space contains another one."""
        return self.meet(space, other) == other or (
            subalgebra.contains(self._bases[space], self._bases[other], self.rtol)
        )


def closure_of_sum(a: Space, b: Space, rtol: float) -> Space:
    """Return the Lie closure of the sum of two subalgebras."""
    return subalgebra.lie_closure(np.hstack([a, b]), rtol)


def brackets(space: Space, group: Space, rtol: float) -> Space:
    """Return the span of the brackets of two spaces' elements."""
    pairs = [screw.bracket(a, b) for a in group.T for b in space.T]
    return subalgebra.span(np.array(pairs).T, rtol)


@dataclass(frozen=True, eq=False, repr=False)
class Fact:
    """A space of relative motions of two bodies, the checker's rule that gives it, and premises."""

    bodies: tuple[NodeId, NodeId]  # a space that is no algebra is seen from the first
    space: SpaceId  # of the algebra, or of the relative twists
    rule: Literal["joint", "path", "meet", "walk", "locked", "parallelogram"]
    of: tuple[Fact, ...] = ()  # facts that it rests on
    edge: EdgeId | None = None  # the joint of the rules ``joint`` and ``locked``
    loop: tuple[EdgeId, ...] = ()  # the four joints of a parallelogram, in order


class Propagation:
    """Spaces of relative motion of body pairs, tightened as loops are closed one by one."""

    arcs: dict[frozenset[NodeId], Fact]  # of opposite bodies of the parallelograms met so far
    closed: set[NodeId]  # bodies of the loops that are closed

    def __init__(
        self,
        graph: Graph,
        spaces: MotionSpaces,
        freedoms: dict[EdgeId, SpaceId],
        *,
        parallelograms: Set[frozenset[EdgeId]] = frozenset(),
    ) -> None:
        self.graph, self.spaces, self.freedoms = graph, spaces, freedoms
        self.parallelograms, self.arcs, self.closed = parallelograms, {}, set()
        self.present: set[EdgeId] = set()
        self._facts: dict[tuple[NodeId, NodeId], Fact] = {}
        self._neighbours: dict[NodeId, set[NodeId]] = {}
        self._parts = DisjointSets[NodeId]()

    def known(self, node: NodeId) -> bool:
        """Say whether there are facts about a body."""
        return node in self._neighbours

    def fact(self, i: NodeId, j: NodeId) -> Fact | None:
        """Return the fact about the relative motion of two bodies, None where there is none."""
        return self._facts.get((i, j))

    def of_joint(self, index: EdgeId) -> Fact:
        """Return the fact that two bodies move relatively by their joint's freedoms."""
        edge = self.graph.edges[index]
        return Fact((edge.parent, edge.child), self.freedoms[index], "joint", edge=index)

    def both(self, one: Fact, other: Fact) -> Fact:
        """Return the fact that intersects two facts about the same bodies."""
        space = self.spaces.meet(one.space, other.space)
        if space == one.space:
            return one
        return other if space == other.space else Fact(one.bodies, space, "meet", (one, other))

    def path(self, bodies: tuple[NodeId, NodeId], one: Fact, other: Fact) -> Fact:
        """Return the fact about two bodies that follows from facts of both with a third body."""
        return Fact(bodies, self.spaces.join(one.space, other.space), "path", (one, other))

    def _tighten(self, fact: Fact, queue: list[tuple[NodeId, NodeId]]) -> None:
        """Intersect a fact with the one of its bodies; queue these where the space is smaller."""
        i, j = pair = (min(fact.bodies), max(fact.bodies))
        old = self._facts.get(pair)
        new = fact if old is None else self.both(old, fact)
        if old is None or new.space != old.space:
            self._facts[i, j] = self._facts[j, i] = new
            self._neighbours.setdefault(i, set()).add(j)
            self._neighbours.setdefault(j, set()).add(i)
            queue.append(pair)

    def add_tree_edge(self, index: EdgeId) -> None:
        """Put a joint in place that closes no loop."""
        self._put(index, [])

    def _put(self, index: EdgeId, queue: list[tuple[NodeId, NodeId]]) -> None:
        edge = self.graph.edges[index]
        self.present.add(index)
        self._parts.union(edge.parent, edge.child)
        self._tighten(self.of_joint(index), queue)

    def missing(self, cycle: Cycle) -> list[EdgeId]:
        """Return the joints of the cycle that are not in place yet."""
        return [e for e in cycle.edges if e not in self.present]

    def closes_one_loop(self, cycle: Cycle) -> bool:
        """Say whether the missing joints of the cycle close exactly one independent loop."""
        merged = DisjointSets[NodeId]()
        surplus = 0
        for e in self.missing(cycle):
            edge = self.graph.edges[e]
            a, b = self._parts[edge.parent], self._parts[edge.child]
            if merged[a] == merged[b]:
                surplus += 1
            merged.union(a, b)
        return surplus == 1

    def steps(self, cycle: Cycle) -> tuple[list[NodeId], list[Fact]]:
        """Return bodies of the cycle and the fact from each to the next; parallelograms are one."""
        m, nodes, edges = cycle.length, cycle.nodes, cycle.edges
        over, inside = dict[int, Fact](), set[int]()
        for x in range(m if self.arcs else 0):
            y, z = (x + 1) % m, (x + 2) % m
            arc = self.arcs.get(frozenset((nodes[x], nodes[z])))
            if arc is None or not {edges[x], edges[y]} <= set(arc.loop):
                continue
            if not {x, z} & inside and y not in over:
                inside.add(y)
                over[x] = arc
        outside = [x for x in range(m) if x not in inside]
        return [nodes[x] for x in outside], [over.get(x) or self._step(edges[x]) for x in outside]

    def _step(self, index: EdgeId) -> Fact:
        """Return the fact about the two bodies of one joint."""
        joint = self.of_joint(index)
        fact = self.fact(*joint.bodies)
        return joint if fact is None else self.both(fact, joint)

    def close(self, cycle: Cycle) -> None:
        """Put all joints of a cycle in place and propagate what its closure implies."""
        queue: list[tuple[NodeId, NodeId]] = []
        for e in self.missing(cycle):
            self._put(e, queue)
        nodes, steps = self.steps(cycle)
        m = len(nodes)
        # arcs[x][t] leads from body x over t + 1 joints.
        arcs = [[step] for step in steps]
        for x in range(m):
            for t in range(1, m - 1):
                ends = (nodes[x], nodes[(x + t + 1) % m])
                arcs[x].append(self.path(ends, arcs[x][-1], steps[(x + t) % m]))
        for x in range(m):
            for t in range(1, m):
                y = (x + t) % m
                if x < y:
                    self._tighten(self.both(arcs[x][t - 1], arcs[y][m - t - 1]), queue)
        self._propagate(queue)
        self.closed |= set(cycle.nodes)
        if frozenset(cycle.edges) in self.parallelograms:
            self._translate(cycle)

    def _translate(self, cycle: Cycle) -> None:
        """Add the facts that opposite bodies of a parallelogram only translate, if it is one."""
        space = self.spaces.parallelogram([self.freedoms[e] for e in cycle.edges])
        if space is None:
            return
        queue: list[tuple[NodeId, NodeId]] = []
        for ends in (cycle.nodes[::2], cycle.nodes[1::2]):
            arc = Fact((ends[0], ends[1]), space, "parallelogram", loop=cycle.edges)
            self.arcs[frozenset(ends)] = arc
            self._tighten(arc, queue)
        self._propagate(queue)

    def _propagate(self, queue: list[tuple[NodeId, NodeId]]) -> None:
        """Tighten facts by paths over third bodies, until no queued pair changes another."""
        while queue:
            i, j = queue.pop()
            across = self._facts[i, j]
            if across.space == MotionSpaces.FULL:
                continue
            for k in self._neighbours[i] & self._neighbours[j]:
                to_i, to_j = self._facts[i, k], self._facts[j, k]
                for x, fact, beyond in ((i, to_i, to_j), (j, to_j, to_i)):
                    algebra = fact.space
                    if algebra in (across.space, beyond.space):
                        continue
                    around = self.spaces.join(across.space, beyond.space)
                    if self.spaces.meet(algebra, around) != algebra:
                        self._tighten(self.path((x, k), across, beyond), queue)

    def lock(self, cycles: Sequence[Cycle]) -> frozenset[EdgeId]:
        """Lock the joints of closed cycles that can never move, and return them."""
        locked: set[EdgeId] = set()
        while True:
            queue: list[tuple[NodeId, NodeId]] = []
            for cycle in cycles:
                for e in cycle.edges:
                    fact = None if e in locked else self._locked(cycle, e)
                    if fact is not None:
                        locked.add(e)
                        self._tighten(fact, queue)
            if not queue:
                return frozenset(locked)
            self._propagate(queue)

    def _locked(self, cycle: Cycle, e: EdgeId) -> Fact | None:
        """Return the fact that locks a joint, or None where it may move."""
        edge = self.graph.edges[e]
        if self.freedoms[e] == MotionSpaces.ZERO:
            return None
        fact = self.fact(edge.parent, edge.child)
        if fact is not None and fact.space == MotionSpaces.ZERO:
            return fact
        for b in cycle.nodes if edge.freedoms == 1 else ():
            one, other = self.fact(edge.parent, b), self.fact(b, edge.child)
            if one is None or other is None or b in (edge.parent, edge.child):
                continue
            around = self.spaces.add(one.space, other.space)
            if not self.spaces.contains(around, self.freedoms[e]):
                ends = (edge.parent, edge.child)
                return Fact(ends, MotionSpaces.ZERO, "locked", (one, other), e)
        return None
