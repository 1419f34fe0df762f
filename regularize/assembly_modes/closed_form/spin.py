"""The spin of a body between two spherical joints that a third joint of the body holds.

The body can turn about the line of the two centres only, as the carrier of a wheel between the
wishbones of its suspension. A point of it has a known distance from another point across one more
loop, as the tie rod has, which gives A cos x + B sin x + C = 0 for the angle of that turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from regularize.assembly_modes.closed_form import vectors
from regularize.assembly_modes.closed_form.coefficients import Coefficients, views
from regularize.assembly_modes.closed_form.motions import Known
from regularize.assembly_modes.closed_form.orientations import rod
from regularize.assembly_modes.closed_form.tape import Scalar
from regularize.assembly_modes.closed_form.vectors import Matrix, Vector, position_of
from regularize.assembly_modes.invariance import Invariance, UnmovedSegment
from regularize.assembly_modes.loop_chain import LoopChain
from regularize.assembly_modes.loop_projections import LoopProjection


@dataclass(frozen=True, eq=False)
class Spin:
    """A spherical joint known up to a turn, and the equation for that.

    Attributes:
        columns: Coordinates of the joint.
        turn: Rotation from the child's to the parent's frame without the turn.
        axis: Unit vector of the turn in the child's frame.
        coefficients: A, B and C.
        chain: The loop that gives the equation.
        projection: What is equated in it.
    """

    columns: tuple[int, ...]
    turn: Matrix
    axis: Vector
    coefficients: Coefficients
    chain: LoopChain
    projection: LoopProjection

    def turned(self, c: Scalar, s: Scalar) -> Matrix:
        """Rotation from the child's to the parent's frame with the turn."""
        about = _rotation(self.axis, c, s)
        return vectors.multiply(self.turn, about)


def spins(loops: Sequence[Invariance], known: Known) -> Iterator[Spin]:
    """All spins that one more loop determines."""
    for loop in loops:
        found = _known_up_to_a_turn(loop.chain, known)
        if found is None:
            continue
        columns, turn, axis = found
        for other in loops:
            for p in _distances(other, known, columns):
                coefficients = _equation(other.chain, known, p, turn, axis)
                yield Spin(columns, turn, axis, coefficients, other.chain, p)


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
        line = _center(chain, known, 2 * w, 2 * u + 1)
    else:
        # Traversed from child to parent, the child's frame is the one in front.
        turn, line = vectors.columns(turn), _center(chain, known, 2 * w + 1, 2 * u + 2 * m)
    square = vectors.dot(line, line).constant
    if square is None:
        return None
    return item.columns, turn, vectors.scale(1.0 / square**0.5, line)


def _center(chain: LoopChain, known: Known, start: int, end: int) -> Vector:
    zero = known.tape.scalar(0.0)
    center = vectors.Element("point", (zero, zero, zero), None)
    return position_of(known.carried(chain, center, start, end))


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
) -> Coefficients:
    """Coefficients of the distance of two points, one of them turned by the unknown angle."""
    left, right, other, base = (position_of(e) for e in views(chain, known, p))
    forward = chain.items[p.unknown].sign > 0
    on_parent, on_child = (left, right) if forward else (right, left)
    dot, seen = vectors.dot, vectors.apply(vectors.columns(turn), on_parent)
    along = vectors.scale(dot(axis, on_child), axis)
    across, ahead = vectors.subtract(on_child, along), vectors.cross(axis, on_child)
    gap = vectors.subtract(other, base)
    C = dot(on_parent, on_parent) + dot(on_child, on_child) - dot(seen, along) * 2.0
    return dot(seen, across) * -2.0, dot(seen, ahead) * -2.0, C - dot(gap, gap)


def _rotation(axis: Vector, c: Scalar, s: Scalar) -> Matrix:
    """Rotation about a unit vector (Rodrigues)."""
    rest = c.tape.scalar(1.0) - c
    x, y, z = axis
    around = ((c * 0.0, -z * s, y * s), (z * s, c * 0.0, -x * s), (-y * s, x * s, c * 0.0))
    rows = []
    for i in range(3):
        a, b, d = (axis[i] * axis[k] * rest + around[i][k] for k in range(3))
        entries = [a, b, d]
        entries[i] = entries[i] + c
        rows.append((entries[0], entries[1], entries[2]))
    return rows[0], rows[1], rows[2]
