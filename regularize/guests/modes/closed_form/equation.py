r"""Equations for one unknown of a loop, from what a projection measures on both ways around it.

For an angle x and for a translation s they are (Klein and Kecskeméthy, eq. 4)

.. math:: A \cos x + B \sin x + C = 0, \qquad A s^2 + 2 B s + C = 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from regularize.dynamics.tape.program import Number
from regularize.guests.modes.closed_form import motions, operations
from regularize.guests.modes.closed_form.motions import (
    KnownMotions,
    cosine_sine,
    direction_of,
    position_of,
)
from regularize.guests.modes.closed_form.tape import Tape
from regularize.guests.modes.invariance import Element, LoopProjection
from regularize.guests.modes.loop_chain import ElementaryMotion, LoopChain
from regularize.lie.arrays import Array
from regularize.tolerances import ROUNDING, VANISHING

Coefficients: TypeAlias = tuple[Number, Number, Number]


@dataclass(frozen=True, eq=False)
class UnivariateEquation:
    """An equation for one unknown: its coefficients A, B, C, and the size of its terms."""

    turning: bool
    coefficients: Coefficients
    size: float

    def vanishes(self, least: Callable[[Array], float] = np.min) -> bool:
        """Return whether the unknown drops out at generic inputs."""
        return vanishes(self.coefficients[:2], self.size, least)

    def solved(self, tape: Tape) -> tuple[Number, ...]:
        """Return both solutions by a new choice, cosine and sine or translation; discriminant."""
        solve = operations.circle if self.turning else operations.quadratic
        return solve(tape, *self.coefficients, tape.sign(), ROUNDING * self.size)


def both_views(chain: LoopChain, known: KnownMotions, p: LoopProjection) -> tuple[Element, Element]:
    """Return an element seen from in front of and behind the unknown motion."""
    (segment,) = p.segments
    m, u = len(chain), p.unknown
    ahead = _turns(segment.first, 2 * u + 1, m)
    behind = _turns(2 * u, segment.last, m)
    right = known.carried(chain, segment.base, segment.first + ahead, 2 * u + 1)
    left = known.carried(chain, segment.tip, segment.last, 2 * u + behind)
    return left, right


def _turns(frame: int, least: int, m: int) -> int:
    """Return frames of whole turns that bring a frame to ``least`` or just beyond."""
    return 2 * m * -((frame - least) // (2 * m))


def views(
    chain: LoopChain, known: KnownMotions, p: LoopProjection
) -> tuple[Element, Element, Element, Element]:
    """Return elements of two segments seen from both sides of the unknown motion, and around."""
    m, frame = len(chain), 2 * p.unknown
    a, b = p.segments
    to_b = b.first + _turns(b.first, a.last, m)
    inside = frame + _turns(frame, a.last, m)
    if not (a.last <= inside and inside + 1 <= to_b):
        a, b = b, a
        to_b = b.first + _turns(b.first, a.last, m)
        inside = frame + _turns(frame, a.last, m)
    left = known.carried(chain, a.tip, a.last, inside)
    right = known.carried(chain, b.base, to_b, inside + 1)
    around = a.first + _turns(a.first, b.last, m)
    other = known.carried(chain, b.tip, b.last, around)
    return left, right, other, known.carried(chain, a.base, a.first, a.first)


def equation(chain: LoopChain, known: KnownMotions, p: LoopProjection) -> UnivariateEquation | None:
    """Return the equation of two segments; None where it has no such form."""
    left, right, other, base = views(chain, known, p)
    item = chain.items[p.unknown]
    across = item.kind == "R" and all(_along_z(e) for e in (left, right) if e.kind == "line")
    value = _measure(other, base, across)
    if item.kind == "R":
        coefficients = _turned(left, right, item.shift, value)
    else:
        coefficients = _slid(left, rotated(known, item, right), value)
    return coefficients and UnivariateEquation(item.kind == "R", coefficients, size_of(chain, p))


def rotated(known: KnownMotions, item: ElementaryMotion, e: Element) -> Element:
    """Return an element carried through the constant part of a prismatic motion."""
    c, s = (known.tape.number(x) for x in cosine_sine(item.angle))
    return motions.about_z(c, s, known.tape.number(item.shift)).element(e)


def _measure(a: Element, b: Element, across: bool) -> Number:
    """Return the value of a projection; ``across`` takes the distance of two lines."""
    if a.position is None or b.position is None:
        return _scalar(direction_of(a) @ direction_of(b))
    gap, da, db = b.position - a.position, a.direction, b.direction
    direction = da if da is not None else db
    if direction is None:
        return _scalar(gap @ gap)
    if da is not None and db is not None and not across:
        return _scalar(gap @ motions.cross(da, db))
    along = _scalar(gap @ direction)
    if "plane" in (a.kind, b.kind):
        return along if da is not None else -along
    return _scalar(gap @ gap) - along * along


def _scalar(product: Any) -> Number:
    """Return the product of two vectors with its type, which numpy does not know."""
    assert isinstance(product, Number)
    return product


def _along_z(e: Element) -> bool:
    return e.direction is not None and all(x.constant == 0.0 for x in e.direction[:2])


def _turned(left: Element, right: Element, shift: float, value: Number) -> Coefficients | None:
    """Return the coefficients in the angle about z by which the right element turns."""

    def bilinear(a: motions.Vector, b: motions.Vector) -> tuple[Number, Number, Number]:
        """Return the factors of cosine, sine and one in a . R b."""
        return a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1], a[2] * b[2]

    p, q, u, w = left.position, right.position, left.direction, right.direction
    if p is None or q is None:
        A, B, C = bilinear(direction_of(left), direction_of(right))
        return A, B, C - value
    q = motions.array([q[0], q[1], q[2] + shift])
    if "plane" in (left.kind, right.kind):
        if u is not None:
            A, B, C = bilinear(u, q)
            return A, B, C - u @ p - value
        A, B, C = bilinear(p, direction_of(right))
        return A, B, C - q @ direction_of(right) - value
    lines = [e for e in (left, right) if e.kind == "line"]
    if all(_along_z(e) for e in lines):
        if lines:
            p, q = p * np.array([1.0, 1.0, 0.0]), q * np.array([1.0, 1.0, 0.0])
        A, B, C = bilinear(p, q)
        return A * -2.0, B * -2.0, _scalar(p @ p) + q @ q - C * 2.0 - value
    if u is not None and w is not None:
        # (q - p) . (u x w) = -(u . (q x w) + w . (p x u)), with right turned.
        first, second = bilinear(u, motions.cross(q, w)), bilinear(motions.cross(p, u), w)
        A, B, C = (-(a + b) for a, b in zip(first, second, strict=True))
        return A, B, C - value
    return None


def _slid(left: Element, right: Element, value: Number) -> Coefficients:
    """Return the coefficients in the shift along z; the first is zero where they are linear."""
    tape, u, w = value.recording, left.direction, right.direction
    gap = position_of(right) - position_of(left)
    if u is None and w is None:
        return tape.number(1.0), gap[2], gap @ gap - value
    direction = u if u is not None else direction_of(right)
    if "plane" in (left.kind, right.kind) or (u is not None and w is not None):
        normal = direction if u is not None else -direction
        if u is not None and w is not None:
            normal = motions.cross(u, w)
        return tape.number(0.0), normal[2] * 0.5, gap @ normal - value
    along = _scalar(gap @ direction)
    A = tape.number(1.0) - direction[2] * direction[2]
    return A, gap[2] - along * direction[2], gap @ gap - along * along - value


def size_of(chain: LoopChain, p: LoopProjection) -> float:
    """Return the size of the terms of an equation, by which rounding is judged."""
    kinds = {segment.base.kind for segment in p.segments}
    if kinds == {"direction"}:
        return 1.0
    return chain.size if kinds & {"plane"} or kinds == {"line"} else chain.size**2


def vanishes(
    values: Sequence[Number], size: float, least: Callable[[Array], float] = np.min
) -> bool:
    """Return whether numbers with terms of a size are zero at generic inputs.

    ``least`` is their smallest value over all branches, or the largest to ask for every branch.
    """
    largest = reduce(np.maximum, [np.abs(v.value) for v in values])
    return not float(least(largest)) > VANISHING * size
