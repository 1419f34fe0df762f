"""The spin of a body between two spherical joints that a third joint of the body holds.

The body can turn about the line of the two centres only, as the carrier of a wheel between the
wishbones of its suspension. A point of it has a known distance from another point across one more
loop, as the tie rod has, which gives A cos x + B sin x + C = 0 for the angle of that turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from regularize.assembly_modes.closed_form import vectors
from regularize.assembly_modes.closed_form.equation import UnivariateEquation, size_of, views
from regularize.assembly_modes.closed_form.motions import Known
from regularize.assembly_modes.closed_form.orientations import rod
from regularize.assembly_modes.closed_form.tape import Scalar
from regularize.assembly_modes.closed_form.vectors import Matrix, Vector, position_of
from regularize.assembly_modes.invariance import CENTER, Invariance, UnmovedSegment
from regularize.assembly_modes.loop_chain import LoopChain
from regularize.assembly_modes.loop_projections import LoopProjection


@dataclass(frozen=True, eq=False)
class Spin:
    """A spherical joint known up to a turn, and the equation for that.

    Attributes:
        columns: Coordinates of the joint.
        turn: Rotation from the child's to the parent's frame without the turn.
        axis: Unit vector of the turn in the child's frame.
        equation: That for the turn.
        chain: The loop that gives the equation.
        projection: What is equated in it.
    """

    columns: tuple[int, ...]
    turn: Matrix
    axis: Vector
    equation: UnivariateEquation
    chain: LoopChain
    projection: LoopProjection

    def turned(self, c: Scalar, s: Scalar) -> Matrix:
        """Rotation from the child's to the parent's frame with the turn."""
        return np.asarray(self.turn @ _rotation(self.axis, c, s))


def spins(loops: Sequence[Invariance], known: Known) -> Iterator[Spin]:
    """All spins that one more loop determines."""
    for loop in loops:
        found = _known_up_to_a_turn(loop.chain, known)
        if found is None:
            continue
        columns, turn, axis = found
        for other in loops:
            for p in _distances(other, known, columns):
                equation = _equation(other.chain, known, p, turn, axis)
                yield Spin(columns, turn, axis, equation, other.chain, p)


def _known_up_to_a_turn(
    chain: LoopChain, known: Known
) -> tuple[tuple[int, ...], Matrix, Vector] | None:
    """A spherical joint of a loop with two, its rotation without the turn and the axis of that."""
    found = rod(chain, known)
    if found is None:
        return None
    u, turn = found
    item, m = chain.items[u], len(chain)
    w = next(i for i, other in enumerate(chain.items) if i != u and not known.has(other))
    if item.sign > 0:
        line = position_of(known.seen(chain, CENTER, 2 * w, 2 * u + 1))
    else:
        # Traversed from child to parent, the child's frame is the one in front.
        turn = turn.T
        line = position_of(known.seen(chain, CENTER, 2 * w + 1, 2 * u + 2 * m))
    square = (line @ line).constant
    if square is None:
        return None
    return item.columns, turn, line * (1.0 / square**0.5)


def _distances(
    loop: Invariance, known: Known, columns: tuple[int, ...]
) -> Iterator[LoopProjection]:
    """Pairs of points of a loop between which nothing but one spherical joint is unknown."""
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
    chain: LoopChain, known: Known, p: LoopProjection, turn: Matrix, axis: Vector
) -> UnivariateEquation:
    """That of the distance of two points, one of them turned by the unknown angle."""
    left, right, other, base = (position_of(e) for e in views(chain, known, p))
    forward = chain.items[p.unknown].sign > 0
    on_parent, on_child = (left, right) if forward else (right, left)
    seen, along = turn.T @ on_parent, axis * (axis @ on_child)
    across, ahead, gap = on_child - along, vectors.cross(axis, on_child), other - base
    C = on_parent @ on_parent + on_child @ on_child - (seen @ along) * 2.0
    coefficients = (seen @ across) * -2.0, (seen @ ahead) * -2.0, C - gap @ gap
    return UnivariateEquation(True, coefficients, size_of(chain, p))


def _rotation(axis: Vector, c: Scalar, s: Scalar) -> Matrix:
    """Rotation about a unit vector (Rodrigues)."""
    x, y, z = axis
    around = vectors.array([[c, -z * s, y * s], [z * s, c, -x * s], [-y * s, x * s, c]])
    return np.asarray(np.outer(axis, axis) * (c.tape.scalar(1.0) - c) + around)
