"""How one loop is closed: at which of its joints, and the space that this cut sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import EdgeId, NodeId
from regularize.reduction.motion_spaces import MotionSpaces, SpaceId
from regularize.reduction.propagation import Fact, Propagation


@dataclass(frozen=True)
class Closing:
    """How one loop is closed.

    Attributes:
        edge: The cut.
        node: Body in whose frame the space does not move; one of the cut's two.
        space: Number of the space Δ of relative twists that the cut can see.
        cycle: The loop.
        of: Facts that make the space smaller, seen from the node and from the far body, relative to
            one body of the loop each; None where that is the body itself.
    """

    edge: EdgeId
    node: NodeId
    space: SpaceId
    cycle: Cycle
    of: tuple[tuple[Fact | None, Fact | None], ...]


def best_cut(propagation: Propagation, cycle: Cycle, cuts: Sequence[EdgeId]) -> Closing:
    """The cut that sees the smallest space; the first of several equally good ones.

    Args:
        propagation: What is known while the loop is open.
        cycle: The loop.
        cuts: Its joints that may be cut, the preferred ones first.
    """
    spaces = propagation.spaces
    reach = _Reach(propagation, cycle)
    # No space can be smaller than what the screws of joints span that nothing else holds.
    number = MotionSpaces.ZERO
    for e in _loose(propagation, cycle):
        number = spaces.add(number, propagation.freedoms[e])
    floor = spaces.dimension(number)
    best: Closing | None = None
    for cut in cuts:
        for closing in closings(propagation, cycle, cut, reach, floor):
            if best is None or (spaces.dimension(closing.space) < spaces.dimension(best.space)):
                best = closing
            if spaces.dimension(best.space) == floor:
                return best
    if best is None:
        raise ValueError("a loop needs at least one joint to cut")
    return best


def _loose(propagation: Propagation, cycle: Cycle) -> Sequence[EdgeId]:
    """Joints that are free as long as a loop is open, whichever of those missing is its cut.

    All of them where it touches no closed loop; else those missing, where they are in one row
    between bodies of which nothing is known: every body of the loop sees the screws of all.
    """
    if not propagation.closed & set(cycle.nodes):
        return cycle.edges
    missing = propagation.missing(cycle)
    # A node is left through the edge of the same place.
    ends = zip(cycle.nodes, cycle.edges, (cycle.edges[-1], *cycle.edges), strict=False)
    inner = [n for n, after, before in ends if {after, before} <= set(missing)]
    row = len(missing) - len(inner) == 1 and not any(map(propagation.known, inner))
    return missing if row else ()


def closings(
    propagation: Propagation,
    cycle: Cycle,
    cut: EdgeId,
    reach: _Reach | None = None,
    least: int = -1,
) -> Iterator[Closing]:
    """The spaces that a cut sees from either of its bodies.

    Args:
        propagation: What is known while the loop is open.
        cycle: The loop.
        cut: The joint of it that is cut.
        reach: What is known of the bodies met around the loop.
        least: Dimension at which to stop looking for facts that make a space smaller.
    """
    reach = reach or _Reach(propagation, cycle)
    nodes = reach.nodes
    m, p = len(nodes), nodes.index(cycle.nodes[cycle.edges.index(cut)])

    def split(x: int) -> tuple[Fact | None, Fact | None]:
        """What body x reaches going forward to the near body, and back to the far one."""
        return reach(x, 1, (p - x) % m), reach(x, -1, (x - p - 1) % m)

    yield _seen(propagation, cycle, cut, nodes[p], map(split, range(m)), least)
    there = (split(x)[::-1] for x in range(m))
    yield _seen(propagation, cycle, cut, nodes[(p + 1) % m], there, least)


def _seen(
    propagation: Propagation,
    cycle: Cycle,
    cut: EdgeId,
    node: NodeId,
    pairs: Iterable[tuple[Fact | None, ...]],
    least: int,
) -> Closing:
    """The space that a cut sees from one of its bodies."""
    spaces, Z = propagation.spaces, propagation.freedoms[cut]
    space, of = MotionSpaces.FULL, list[tuple[Fact | None, Fact | None]]()
    for here, there in pairs:
        P = MotionSpaces.ZERO if here is None else here.space
        Q = MotionSpaces.ZERO if there is None else there.space
        smaller = spaces.meet(space, spaces.add(spaces.add(P, spaces.saturate(Q, Z)), Z))
        if smaller != space:
            space = smaller
            of.append((here, there))
            if spaces.dimension(space) <= least:
                break
    return Closing(cut, node, space, cycle, tuple(of))


class _Reach:
    """Facts about the bodies met when walking around a cycle, found as they are asked for."""

    def __init__(self, propagation: Propagation, cycle: Cycle) -> None:
        self._propagation = propagation
        self.nodes, self._steps = propagation.steps(cycle)
        self._reached: dict[tuple[int, int], list[Fact | None]] = {}

    def __call__(self, start: int, direction: int, steps: int) -> Fact | None:
        """What is seen from the body so many steps from ``start``; None: it is the same body."""
        m, nodes = len(self.nodes), self.nodes
        reached = self._reached.setdefault((start, direction), [None])
        while len(reached) <= steps:
            position = (start + direction * (len(reached) - 1)) % m
            step = self._steps[position if direction > 0 else position - 1]
            ends = (nodes[(position + direction) % m], nodes[start])
            reached.append(self._further(ends, reached[-1], step))
        return reached[steps]

    def _further(self, ends: tuple[NodeId, NodeId], before: Fact | None, step: Fact) -> Fact:
        """What is seen from the first of two bodies relative to the second, over one more joint."""
        propagation, spaces = self._propagation, self._propagation.spaces
        known = propagation.fact(*ends)
        if before is None:
            found = step
        else:
            space = spaces.add(spaces.saturate(before.space, step.space), step.space)
            found = Fact(ends, space, "walk", (before, step))
        return found if known is None else propagation.both(found, known)
