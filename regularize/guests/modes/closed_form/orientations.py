"""Orientations of spherical joints that follow from the rest of their loop.

A body between two spherical joints that a third joint of it holds rotates passively otherwise.
The body can turn about the line of the two centres only, as the carrier of a wheel between the
wishbones of its suspension. A point of it has a known distance from another point across one more
loop, as the tie rod has, which gives A cos x + B sin x + C = 0 for the angle of that turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from regularize.dynamics.tape.program import Number
from regularize.guests.modes.closed_form import motions, operations
from regularize.guests.modes.closed_form.equation import (
    UnivariateEquation,
    size_of,
    vanishes,
    views,
)
from regularize.guests.modes.closed_form.motions import KnownMotions, Matrix, Vector, position_of
from regularize.guests.modes.invariance import CENTER, Invariance, LoopProjection, UnmovedSegment
from regularize.guests.modes.loop_chain import LoopChain

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
    """A spherical joint found up to a turn about an axis, a unit vector in the child's frame.

    ``turn`` is the rotation from the child's to the parent's frame without that turn.
    """

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
