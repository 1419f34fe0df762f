"""Projections between unmoved elements of a loop that leave one unknown.

Between two segments of the loop, each of which leaves an element unmoved, some measure of the two
elements is the same seen along both ways around the loop. Where only one unknown lies on these
ways, it follows. To the squared distance of two points, the distance of a point from a plane and
the cosine between two directions (Klein and Kecskeméthy, eq. 4) are added the distance of a point
from a line and the moment of two lines. Where one unknown and one segment are all that is left, the
element is seen from both sides of the unknown motion, and the solution is unique.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from regularize.assembly_modes.invariance import Invariance, UnmovedSegment
from regularize.assembly_modes.loop_chain import ElementaryMotion

#: What is equated, by the kinds of the two elements.
MEASURES = {
    ("point", "point"): "distance between points",
    ("point", "plane"): "distance of a point from a plane",
    ("plane", "point"): "distance of a point from a plane",
    ("direction", "direction"): "angle between directions",
    ("line", "line"): "moment of two lines",
    ("point", "line"): "distance of a point from a line",
    ("line", "point"): "distance of a point from a line",
}


@dataclass(frozen=True, eq=False)
class LoopProjection:
    """One way to find one unknown.

    Attributes:
        unknown: Index of the motion in the loop.
        segments: The two segments, or the one that is seen from both sides.
        measure: What is equated, in words.
        solutions: 1 or 2.
        cost: Number of motions that have to be computed with.
    """

    unknown: int
    segments: tuple[UnmovedSegment, ...]
    measure: str
    solutions: int
    cost: int


def projections(invariance: Invariance, unknown: int) -> Iterator[LoopProjection]:
    """All ways to find one more unknown of a loop, one step ahead, those of long segments first.

    Args:
        invariance: The loop.
        unknown: Its motions that are not known as a set of bits.
    """
    chain = invariance.chain
    m = len(chain)
    translations = sum(1 << i for i, item in enumerate(chain.items) if item.kind == "P")
    useful = [
        # Directions see no translations.
        (segment, members, unknown & ~translations if kind == "direction" else unknown, kind)
        for segment, members, kind in invariance.members
    ]
    for segment, members, relevant, kind in useful:
        left = relevant & ~members
        if left.bit_count() == 1:
            u = left.bit_length() - 1
            if _matches(chain.items[u], kind):
                cost = 2 * (m - segment.length - 1)
                yield LoopProjection(u, (segment,), f"seen {kind}", 1, cost)
    # Most segments share their motions with others: those are compared once.
    groups: dict[int, list[tuple[int, UnmovedSegment]]] = {}
    for i, (segment, members, _, _) in enumerate(useful):
        if segment.length == 1 or members & unknown:
            groups.setdefault(members, []).append((i, segment))
    pairs: list[tuple[int, int, UnmovedSegment, UnmovedSegment, int]] = []
    for (of_a, some), (of_b, others) in combinations(groups.items(), 2):
        rest = 0 if of_a & of_b else unknown & ~(of_a | of_b)
        for directional, left in ((False, rest), (True, rest & ~translations)):
            if left.bit_count() == 1:
                u = left.bit_length() - 1
                pairs += [
                    (i, k, a, b, u) if i < k else (k, i, b, a, u)
                    for i, a in some
                    for k, b in others
                    if (a.base.kind == "direction") == (b.base.kind == "direction") == directional
                ]
    for _, _, a, b, u in sorted(pairs, key=lambda pair: pair[:2]):
        kinds = a.base.kind, b.base.kind
        solutions = _solutions(chain.items[u], *kinds)
        if solutions and kinds in MEASURES:
            yield LoopProjection(u, (a, b), MEASURES[kinds], solutions, m - a.length - b.length - 1)


def _matches(item: ElementaryMotion, kind: str) -> bool:
    return item.simple and kind in (
        ("point", "direction", "line") if item.kind == "R" else ("point", "plane")
    )


def _solutions(item: ElementaryMotion, a: str, b: str) -> int:
    """Number of solutions of an equation, 0 where it has not the form that is solved."""
    if not item.simple:
        return 0
    if item.kind == "R":
        return 2
    if "direction" in (a, b):
        return 0
    return 2 if {a, b} in ({"point"}, {"point", "line"}) else 1
