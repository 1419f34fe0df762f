"""Equations for one unknown of a loop by projections between unmoved elements.

Between two segments of the loop, each of which leaves an element unmoved, some measure of the two
elements is the same seen along both ways around the loop. Where only one unknown lies on these
ways, it follows: from A cos x + B sin x + C = 0 for an angle and from A s² + 2 B s + C = 0 for a
translation (Klein and Kecskeméthy, eq. 4). To their squared distance of two points, distance of a
point from a plane and cosine between two directions are added the distance of a point from a line
and the moment of two lines. Where one unknown and one segment are all that is left, the element
is seen from both sides of the unknown motion, and the solution is unique.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from regularize.closed_forms import vectors
from regularize.closed_forms.chain import Chain, Item
from regularize.closed_forms.invariance import Invariance, Place, Segment
from regularize.closed_forms.motions import Known, cosine_sine
from regularize.closed_forms.tape import Scalar
from regularize.closed_forms.vectors import Element

Coefficients: TypeAlias = tuple[Scalar, Scalar, Scalar]

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
class Projection:
    """One way to find one unknown.

    Attributes:
        unknown: Index of the motion in the loop.
        segments: The two segments, or the one that is seen from both sides.
        measure: What is equated, in words.
        solutions: 1 or 2.
        cost: Number of motions that have to be computed with.
    """

    unknown: int
    segments: tuple[Segment, ...]
    measure: str
    solutions: int
    cost: int


def projections(invariance: Invariance, known: Known) -> Iterator[Projection]:
    """All ways to find one more unknown of a loop, one step ahead."""
    chain = invariance.chain
    m = len(chain)
    unknown = frozenset(i for i, item in enumerate(chain.items) if not known.has(item))
    turning = frozenset(i for i in unknown if chain.items[i].kind != "P")
    if not unknown:
        return
    useful = [
        (segment, segment.members(m)) for segment in (*invariance.segments, *invariance.bodies)
    ]
    for segment, members in useful:
        left = (turning if segment.base.kind == "direction" else unknown) - members
        if len(left) == 1:
            (u,) = left
            if _matches(chain.items[u], segment.base.kind):
                cost = 2 * (m - len(members) - 1)
                yield Projection(u, (segment,), f"seen {segment.base.kind}", 1, cost)
    singles = [
        (s, members) for s, members in useful if s.length and (s.length == 1 or members & unknown)
    ]
    for i, (a, of_a) in enumerate(singles):
        directional = a.base.kind == "direction"
        relevant = (turning if directional else unknown) - of_a
        if not 1 <= len(relevant) <= 1 + m:
            continue
        for b, of_b in singles[i + 1 :]:
            if (a.base.kind, b.base.kind) not in MEASURES or of_a & of_b:
                continue
            left = relevant - of_b
            if len(left) != 1:
                continue
            (u,) = left
            solutions = _solutions(chain.items[u], a.base.kind, b.base.kind)
            if solutions:
                measure = MEASURES[a.base.kind, b.base.kind]
                cost = m - len(of_a) - len(of_b) - 1
                yield Projection(u, (a, b), measure, solutions, cost)


def _matches(item: Item, kind: str) -> bool:
    if item.kind == "R":
        return item.pitch == 0.0 and kind in ("point", "direction", "line")
    return item.kind == "P" and kind in ("point", "plane")


def _solutions(item: Item, a: str, b: str) -> int:
    """Number of solutions of an equation, 0 where it has not the form that is solved."""
    if item.pitch or item.kind not in "RP":
        return 0
    if item.kind == "R":
        return 2
    if "direction" in (a, b):
        return 0
    return 2 if {a, b} in ({"point"}, {"point", "line"}) else 1


def _element(known: Known, place: Place) -> Element:
    return known.element(place.kind, place.position, place.direction)


def sight(chain: Chain, known: Known, p: Projection) -> tuple[Element, Element]:
    """The element in front of and behind the unknown motion, which moves one into the other."""
    (segment,) = p.segments
    m, u = len(chain), p.unknown
    ahead = _turns(segment.first, 2 * u + 1, m)
    behind = _turns(2 * u, segment.last, m)
    right = known.carried(chain, _element(known, segment.base), segment.first + ahead, 2 * u + 1)
    left = known.carried(chain, _element(known, segment.tip), segment.last, 2 * u + behind)
    return left, right


def _turns(frame: int, least: int, m: int) -> int:
    """Whole turns around the loop that bring ``frame`` to ``least`` or beyond, once around."""
    return 2 * m * -((frame - least) // (2 * m))


def equation(chain: Chain, known: Known, p: Projection) -> Coefficients | None:
    """Coefficients A, B, C of the equation of two segments; None where it has not that form."""
    m, frame = len(chain), 2 * p.unknown
    a, b = p.segments
    to_b = b.first + _turns(b.first, a.last, m)
    inside = frame + _turns(frame, a.last, m)
    if not (a.last <= inside and inside + 1 <= to_b):
        a, b = b, a
        to_b = b.first + _turns(b.first, a.last, m)
        inside = frame + _turns(frame, a.last, m)
    left = known.carried(chain, _element(known, a.tip), a.last, inside)
    right = known.carried(chain, _element(known, b.base), to_b, inside + 1)
    around = a.first + _turns(a.first, b.last, m)
    other = known.carried(chain, _element(known, b.tip), b.last, around)
    item = chain.items[p.unknown]
    across = item.kind == "R" and all(_along_z(e) for e in (left, right) if e.kind == "line")
    value = _measure(other, _element(known, a.base), across)
    if item.kind == "R":
        return _turned(left, right, item.shift, value)
    return _slid(left, rotated(known, item, right), value)


def rotated(known: Known, item: Item, e: Element) -> Element:
    """An element carried through the part of a prismatic motion that does not change."""
    c, s = (known.tape.scalar(x) for x in cosine_sine(item.angle))
    return vectors.about_z(c, s, known.tape.scalar(item.shift)).element(e)


def _measure(a: Element, b: Element, across: bool) -> Scalar:
    """The value of the projection; ``across`` takes the distance of two lines, not their moment."""
    dot, pa, pb, da, db = vectors.dot, a.position, b.position, a.direction, b.direction
    if pa is None or pb is None:
        assert da is not None and db is not None
        return dot(da, db)
    gap = vectors.subtract(pb, pa)
    if da is None and db is None:
        return dot(gap, gap)
    if a.kind == "line" and b.kind == "line" and not across:
        assert da is not None and db is not None
        return dot(gap, vectors.cross(da, db))
    if "plane" in (a.kind, b.kind):
        if da is not None:
            return dot(gap, da)
        assert db is not None
        return -dot(gap, db)
    direction = da if da is not None else db
    assert direction is not None
    along_line = dot(gap, direction)
    return dot(gap, gap) - along_line * along_line


def _along_z(e: Element) -> bool:
    return e.direction is not None and all(x.constant == 0.0 for x in e.direction[:2])


def _turned(left: Element, right: Element, shift: float, value: Scalar) -> Coefficients | None:
    """Left and right measured with right turned by the unknown angle about z, minus the value."""

    def bilinear(a: vectors.Vector, b: vectors.Vector) -> tuple[Scalar, Scalar]:
        """Factors of cosine and sine in a . R b."""
        return a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1]

    p, q, u, w = left.position, right.position, left.direction, right.direction
    if p is None or q is None:
        assert u is not None and w is not None
        A, B = bilinear(u, w)
        return A, B, u[2] * w[2] - value
    q = (q[0], q[1], q[2] + shift)
    dot = vectors.dot
    kinds = {left.kind, right.kind}
    if "plane" in kinds:
        if u is not None:
            A, B = bilinear(u, q)
            return A, B, u[2] * q[2] - dot(u, p) - value
        assert w is not None
        A, B = bilinear(p, w)
        return A, B, p[2] * w[2] - dot(q, w) - value
    lines = [e for e in (left, right) if e.kind == "line"]
    if all(_along_z(e) for e in lines):
        if lines:
            p, q = (p[0], p[1], p[2] * 0.0), (q[0], q[1], q[2] * 0.0)
        A, B = bilinear(p, q)
        C = dot(p, p) + dot(q, q) - p[2] * q[2] * 2.0 - value
        return A * -2.0, B * -2.0, C
    if len(lines) == 2:
        assert u is not None and w is not None
        # (q - p) . (u x w) = -(u . (q x w) + w . (p x u)), with right turned.
        first, second = vectors.cross(q, w), vectors.cross(p, u)
        (A1, B1), (A2, B2) = bilinear(u, first), bilinear(second, w)
        C = -(u[2] * first[2] + second[2] * w[2]) - value
        return -(A1 + A2), -(B1 + B2), C
    return None


def _slid(left: Element, right: Element, value: Scalar) -> Coefficients | None:
    """Coefficients in the translation of right along z; the first is None-like zero if linear."""
    p, q, u, w = left.position, right.position, left.direction, right.direction
    assert p is not None and q is not None
    tape = value.tape
    zero, half = tape.scalar(0.0), 0.5
    gap = vectors.subtract(q, p)
    dot = vectors.dot
    if u is None and w is None:
        return tape.scalar(1.0), gap[2], dot(gap, gap) - value
    if "plane" in (left.kind, right.kind):
        normal = u if u is not None else w
        assert normal is not None
        sign = 1.0 if u is not None else -1.0
        return zero, normal[2] * (half * sign), dot(gap, normal) * sign - value
    if u is not None and w is not None:
        normal = vectors.cross(u, w)
        return zero, normal[2] * half, dot(gap, normal) - value
    line = u if u is not None else w
    assert line is not None
    along = dot(gap, line)
    A = tape.scalar(1.0) - line[2] * line[2]
    return A, gap[2] - along * line[2], dot(gap, gap) - along * along - value


def size_of(chain: Chain, p: Projection) -> float:
    """Size of the terms of an equation, for what counts as rounding."""
    kinds = {segment.base.kind for segment in p.segments}
    if kinds == {"direction"}:
        return 1.0
    return chain.size if kinds & {"plane"} or kinds == {"line"} else chain.size**2


def vanishes(values: Sequence[Scalar], size: float) -> bool:
    """Whether quantities are all zero at generic inputs, on any branch of what came before."""
    largest = np.max([np.abs(v.probe) for v in values], axis=0)
    return not float(np.min(largest)) > 1e-9 * size
