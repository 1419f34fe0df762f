r"""Equations for one unknown of a loop, from what a projection measures on both ways around it.

For an angle x and for a translation s they are (Klein and Kecskeméthy, eq. 4)

.. math:: A \cos x + B \sin x + C = 0, \qquad A s^2 + 2 B s + C = 0

Spherical joints take their orientation from the rest of their loop. A body between two of them that
a third joint holds, as the carrier of a wheel between the wishbones of its suspension, can turn
about the line of the two centres only. A point of it has a known distance from another point across
one more loop, as the tie rod has, which is such an equation for the angle of that turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from regularize.dynamics.tape.program import Number
from regularize.guests.modes.closed_form import motions, operations
from regularize.guests.modes.closed_form.motions import (
    KnownMotions,
    Matrix,
    Vector,
    cosine_sine,
    direction_of,
    position_of,
)
from regularize.guests.modes.closed_form.tape import Tape
from regularize.guests.modes.invariance import (
    CENTER,
    Element,
    Invariance,
    LoopProjection,
    UnmovedSegment,
)
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
    """Return whether numbers of a size are zero at generic inputs on any, or all, branches."""
    largest = reduce(np.maximum, [np.abs(v.value) for v in values])
    return not float(least(largest)) > VANISHING * size


#: Position of a spherical joint in its loop, and the rotation from behind it to in front of it.
Orientation: TypeAlias = tuple[int, Matrix]


def last_rotation(chain: LoopChain, known: KnownMotions) -> Orientation | None:
    """Return the spherical joint that is the last unknown rotation of its loop, if it is."""
    left = [i for i, item in enumerate(chain.items) if item.kind != "P" and not known.has(item)]
    if len(left) != 1 or chain.items[left[0]].kind != "S":
        return None
    return left[0], np.column_stack([known.axis_around(chain, left[0], k) for k in range(3)])


def rod(chain: LoopChain, known: KnownMotions) -> Orientation | None:
    """Return the first of two spherical joints that are left in a loop, with no spin between."""
    left = [i for i, item in enumerate(chain.items) if not known.has(item)]
    if len(left) != 2 or any(chain.items[i].kind != "S" for i in left):
        return None
    u, w = left
    m, tape = len(chain), known.tape
    v = motions.position_of(known.carried(chain, CENTER, 2 * w, 2 * u + 1))
    goal = motions.position_of(known.carried(chain, CENTER, 2 * w + 1, 2 * u + 2 * m))
    length = v @ v
    if vanishes([length], chain.size**2):
        return None
    # The turn from v to the goal about their common normal: two reflections. Where they are
    # opposite to each other, any normal will do.
    middle = motions.array([*operations.across(tape, v + goal, v - goal)])
    first = v * (tape.number(-2.0) / length)
    second = middle * -2.0
    x, y, z = (
        _reflected(_reflected(e, v, first), middle, second)
        for e in motions.constants(tape, np.eye(3))
    )
    return u, np.column_stack([x, y, z])


def _reflected(x: Vector, normal: Vector, scaled: Vector) -> Vector:
    """Return x + (normal . x) scaled, where scaled is normal by -2 over its square."""
    return np.asarray(x + scaled * (normal @ x))


#: Ways to find an orientation, by the reason that is given for it; the first come first.
ORIENTATIONS: dict[str, Callable[[LoopChain, KnownMotions], Orientation | None]] = {
    "orientation of the rest": last_rotation,
    "direction of the rod, no spin": rod,
}


@dataclass(frozen=True, eq=False)
class PassiveRotation:
    """A spherical joint found up to a turn about an axis in the child's frame, beside ``turn``."""

    columns: tuple[int, ...]
    turn: Matrix
    axis: Vector

    def turned(self, c: Number, s: Number) -> Matrix:
        """Return the rotation from the child's to the parent's frame with the turn."""
        return np.asarray(self.turn @ _rotation(self.axis, c, s))


def passive_rotations(
    loops: Sequence[Invariance], known: KnownMotions
) -> Iterator[tuple[PassiveRotation, UnivariateEquation, LoopChain, LoopProjection]]:
    """Yield turns that one more loop determines, with the equation, its loop and projection."""
    for loop in loops:
        passive = _known_up_to_a_turn(loop.chain, known)
        if passive is None:
            continue
        for other in loops:
            for p in _distances(other, known, passive.columns):
                yield passive, _equation(other.chain, known, p, passive), other.chain, p


def _known_up_to_a_turn(chain: LoopChain, known: KnownMotions) -> PassiveRotation | None:
    """Return the spherical joint of a loop with two that is found up to a turn, if any."""
    found = rod(chain, known)
    if found is None:
        return None
    u, turn = found
    item, m = chain.items[u], len(chain)
    w = next(i for i, other in enumerate(chain.items) if i != u and not known.has(other))
    if item.sign > 0:
        line = position_of(known.carried(chain, CENTER, 2 * w, 2 * u + 1))
    else:
        # Traversed from child to parent, the child's frame is the one in front.
        turn = turn.T
        line = position_of(known.carried(chain, CENTER, 2 * w + 1, 2 * u + 2 * m))
    square = (line @ line).constant
    if square is None:
        return None
    return PassiveRotation(item.columns, turn, line * (1.0 / square**0.5))


def _distances(
    loop: Invariance, known: KnownMotions, columns: tuple[int, ...]
) -> Iterator[LoopProjection]:
    """Yield pairs of points between which nothing but one spherical joint is unknown."""
    items, m = loop.chain.items, len(loop.chain)
    unknown = sum(1 << i for i, item in enumerate(items) if not known.has(item))
    own = next((i for i, item in enumerate(items) if item.columns == columns), None)
    if own is None:
        return
    points: list[tuple[UnmovedSegment, int]] = [
        (segment, members)
        for segment, members, kind in loop.members
        if kind == "point" and not members >> own & 1
    ]
    for (a, of_a), (b, of_b) in combinations(points, 2):
        if not of_a & of_b and unknown & ~(of_a | of_b) == 1 << own and (of_a | of_b) & unknown:
            yield LoopProjection(
                own, (a, b), "distance between points", 2, m - a.length - b.length - 1
            )


def _equation(
    chain: LoopChain, known: KnownMotions, p: LoopProjection, passive: PassiveRotation
) -> UnivariateEquation:
    """Return the equation of the distance of two points, one turned by the unknown angle."""
    turn, axis = passive.turn, passive.axis
    left, right, other, base = (position_of(e) for e in views(chain, known, p))
    forward = chain.items[p.unknown].sign > 0
    on_parent, on_child = (left, right) if forward else (right, left)
    seen, along = turn.T @ on_parent, axis * (axis @ on_child)
    across, ahead, gap = on_child - along, motions.cross(axis, on_child), other - base
    C = on_parent @ on_parent + on_child @ on_child - (seen @ along) * 2.0
    coefficients = (seen @ across) * -2.0, (seen @ ahead) * -2.0, C - gap @ gap
    return UnivariateEquation(True, coefficients, size_of(chain, p))


def _rotation(axis: Vector, c: Number, s: Number) -> Matrix:
    """Return the rotation about a unit vector (Rodrigues)."""
    x, y, z = axis
    around = motions.array([[c, -z * s, y * s], [z * s, c, -x * s], [-y * s, x * s, c]])
    return np.asarray(np.outer(axis, axis) * (c.recording.number(1.0) - c) + around)
