"""Equations for one unknown of a loop, from what a projection measures on both ways around it.

A cos x + B sin x + C = 0 for an angle and A s² + 2 B s + C = 0 for a translation (Klein and
Kecskeméthy, eq. 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np

from regularize.assembly_modes.closed_form import vectors
from regularize.assembly_modes.closed_form.motions import Known, cosine_sine
from regularize.assembly_modes.closed_form.tape import VANISHING, Scalar
from regularize.assembly_modes.closed_form.vectors import Element
from regularize.assembly_modes.loop_chain import ElementaryMotion, LoopChain
from regularize.assembly_modes.loop_projections import LoopProjection
from regularize.lie.screw import Array

Coefficients: TypeAlias = tuple[Scalar, Scalar, Scalar]


def sight(chain: LoopChain, known: Known, p: LoopProjection) -> tuple[Element, Element]:
    """The element in front of and behind the unknown motion, which moves one into the other."""
    (segment,) = p.segments
    m, u = len(chain), p.unknown
    ahead = _turns(segment.first, 2 * u + 1, m)
    behind = _turns(2 * u, segment.last, m)
    right = known.seen(chain, segment.base, segment.first + ahead, 2 * u + 1)
    left = known.seen(chain, segment.tip, segment.last, 2 * u + behind)
    return left, right


def _turns(frame: int, least: int, m: int) -> int:
    """Whole turns around the loop that bring ``frame`` to ``least`` or beyond, once around."""
    return 2 * m * -((frame - least) // (2 * m))


def views(
    chain: LoopChain, known: Known, p: LoopProjection
) -> tuple[Element, Element, Element, Element]:
    """The elements of two segments, seen from in front of and behind the unknown motion.

    Then those that they meet around the rest of the loop, seen from in front of the first segment.
    """
    m, frame = len(chain), 2 * p.unknown
    a, b = p.segments
    to_b = b.first + _turns(b.first, a.last, m)
    inside = frame + _turns(frame, a.last, m)
    if not (a.last <= inside and inside + 1 <= to_b):
        a, b = b, a
        to_b = b.first + _turns(b.first, a.last, m)
        inside = frame + _turns(frame, a.last, m)
    left = known.seen(chain, a.tip, a.last, inside)
    right = known.seen(chain, b.base, to_b, inside + 1)
    around = a.first + _turns(a.first, b.last, m)
    other = known.seen(chain, b.tip, b.last, around)
    return left, right, other, known.seen(chain, a.base, a.first, a.first)


def equation(chain: LoopChain, known: Known, p: LoopProjection) -> Coefficients | None:
    """Coefficients A, B, C of the equation of two segments; None where it has not that form."""
    left, right, other, base = views(chain, known, p)
    item = chain.items[p.unknown]
    across = item.kind == "R" and all(_along_z(e) for e in (left, right) if e.kind == "line")
    value = _measure(other, base, across)
    if item.kind == "R":
        return _turned(left, right, item.shift, value)
    return _slid(left, rotated(known, item, right), value)


def rotated(known: Known, item: ElementaryMotion, e: Element) -> Element:
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


def size_of(chain: LoopChain, p: LoopProjection) -> float:
    """Size of the terms of an equation, for what counts as rounding."""
    kinds = {segment.base.kind for segment in p.segments}
    if kinds == {"direction"}:
        return 1.0
    return chain.size if kinds & {"plane"} or kinds == {"line"} else chain.size**2


def vanishes(
    values: Sequence[Scalar], size: float, least: Callable[[Array], float] = np.min
) -> bool:
    """Whether quantities are all zero at generic inputs.

    Args:
        values: The quantities.
        size: Size of their terms.
        least: The smallest value at all inputs tells whether they vanish on any branch of what came
            before, the largest whether they do on all.
    """
    largest = reduce(np.maximum, [np.abs(v.probe) for v in values])
    return not float(least(largest)) > VANISHING * size
