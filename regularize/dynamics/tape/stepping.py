"""A step of fixed length as a program: what ``environments.c`` computes, without its choices.

Two rounds bring the configuration onto the loops, and two the velocity, by one factorisation of the
rows. Where that is not enough, margins say so, and whoever calls takes another way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.dynamics.step.multibody import closing_of
from regularize.dynamics.tape.kinematics import PlacedLinks, TracedTree
from regularize.dynamics.tape.motion_equations import Entries, Factors, MotionEquations
from regularize.dynamics.tape.program import Number
from regularize.dynamics.tape.vectors import (
    Vector,
    cross,
    dot,
    minus,
    plus,
    product,
    quaternion,
    rotate,
    rotate_back,
    times,
)
from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array

#: Errors of the rows that are left at most; squares of angles up to which series are enough.
CLOSED, NEAR, TURN = 1e-12, 1e-4, 0.25
#: Pivots of the rows' products by their weights below which they are in doubt.
CLEAR = 1e-6
_SUPPORTED = ("fixed", "revolute", "spherical", "free")


def step(
    tables: TracedTree, q: Sequence[Number], v: Sequence[Number], tau: Sequence[Number], h: Number
) -> tuple[Vector, list[Number]]:
    """Return the next q and v and the largest error of rows, and margins: positive if right."""
    nv = tables.tree.nv
    placed = PlacedLinks(tables, q)
    dynamics = MotionEquations(placed, v, tau)
    margins = dynamics.margins()
    v = [v[i] + h * dynamics.a[i] for i in range(nv)]
    q = integrated(tables, q, [h * x for x in v], margins)
    if tables.tree.rows == 0:
        return [*q, *v, tables.zero], margins
    placed = PlacedLinks(tables, q)
    rows = placed.rows_on_velocities()
    factors = _products(tables, rows)
    margins += factors.margins(CLEAR)
    for _ in range(2):
        change = _shortest(tables, factors, rows, errors(placed, margins))
        q = integrated(tables, q, change, margins)
        placed = PlacedLinks(tables, q)
    left = tables.zero
    for error in errors(placed, margins):
        left = tables.recording.function("maximum", left, abs(error))
    margins.append(CLOSED - left)
    rows = placed.rows_on_velocities()
    for _ in range(2):
        v = plus(v, _shortest(tables, factors, rows, row_rates(placed, rows, v)))
    return [*q, *v, left], margins


def row_rates(
    placed: PlacedLinks, rows: Sequence[dict[int, Number]], v: Sequence[Number]
) -> Vector:
    """Return what rows on velocities make of velocities."""
    total = placed.tables.recording.sum
    return [total([entry * v[j] for j, entry in row.items()]) for row in rows]


def _products(tables: TracedTree, rows: Sequence[dict[int, Number]]) -> Factors:
    """Return factors of identity and rows, the equations of shortest changes of velocities."""
    entries: Entries = {(j, j): tables.one for j in range(tables.tree.nv)}
    entries |= {(j, -1 - r): x for r, row in enumerate(rows) for j, x in row.items()}
    touched = sorted({j for row in rows for j in row})
    unknowns = [*touched, *(-1 - r for r in range(len(rows)))]
    entries = {k: x for k, x in entries.items() if k[0] in set(unknowns)}
    return Factors.of(tables.recording, entries, unknowns)


def _shortest(
    tables: TracedTree,
    factors: Factors,
    rows: Sequence[dict[int, Number]],
    values: Sequence[Number],
) -> Vector:
    """Return the shortest change by which rows change by minus some values."""
    sides = {x: -values[-1 - x] if x < 0 else tables.zero for x in factors.order}
    solution = factors.back(factors.forth(sides), {})
    change = [tables.zero] * tables.tree.nv
    for r, row in enumerate(rows):
        for j, entry in row.items():
            change[j] = change[j] - entry * solution[-1 - r]
    return change


def integrated(
    tables: TracedTree, q: Sequence[Number], change: Sequence[Number], margins: list[Number]
) -> Vector:
    """Return the configuration after a tangent step; too wide turns spoil the margins."""
    result = list(q)
    for link in tables.tree.links:
        if link.follows:
            continue
        i, u = link.coordinate, change[link.rate : link.rate + link.freedoms]
        if link.kind in ("revolute", "prismatic"):
            result[i] = q[i] + u[0]
        elif link.kind == "continuous":
            result[i : i + 2] = _turned_pair(tables, q[i : i + 2], u[0])
        elif link.kind == "planar":
            square = u[2] * u[2]
            margins.append(TURN - square)
            sine, versine = _series(square, 1), _series(square, 2)
            x = u[0] * sine - u[1] * u[2] * versine
            y = u[1] * sine + u[0] * u[2] * versine
            result[i] = q[i] + q[i + 2] * x - q[i + 3] * y
            result[i + 1] = q[i + 1] + q[i + 3] * x + q[i + 2] * y
            result[i + 2 : i + 4] = _turned_pair(tables, q[i + 2 : i + 4], u[2])
        else:
            if link.kind == "free":
                moved = rotate(quaternion(q[i + 3 : i + 7]), _screwed(list(u[:3]), list(u[3:])))
                result[i : i + 3] = plus(q[i : i + 3], moved)
                i, u = i + 3, u[3:]
            square = dot(u, u)
            margins.append(TURN - square)
            result[i : i + 4] = _turned_quaternion(q[i : i + 4], u, square)
    return result


def _turned_pair(tables: TracedTree, pair: Sequence[Number], angle: Number) -> Vector:
    """Return cosine and sine turned by an angle."""
    c, s = tables.recording.function("cos", angle), tables.recording.function("sin", angle)
    x, y = pair[0] * c - pair[1] * s, pair[0] * s + pair[1] * c
    length = (x * x + y * y).root()
    return [x / length, y / length]


def _series(square: Number, start: int) -> Number:
    """Return the sum of (-square)^k / (2 k + start)!, which is sin(x)/x for start 1.

    It is (1 - cos x)/x^2 for start 2 and (x - sin x)/x^3 for start 3.
    """
    factorials = np.cumprod([1.0, *range(1, 2 * 7 + start + 1)])
    total: Number | float = 1.0 / factorials[2 * 7 + start]
    for k in range(6, -1, -1):
        total = 1.0 / float(factorials[2 * k + start]) - square * total
    assert isinstance(total, Number)
    return total


def _screwed(v: Vector, o: Vector) -> Vector:
    """Return the displacement of the origin by a unit of time at a twist (v, o)."""
    square, once = dot(o, o), cross(o, v)
    return plus(plus(v, times(_series(square, 2), once)), times(_series(square, 3), cross(o, once)))


def _turned_quaternion(q: Sequence[Number], u: Sequence[Number], square: Number) -> Vector:
    """Return a quaternion times that of a rotation vector, of length one again."""
    quarter = square * 0.25
    r = times(_series(quarter, 1) * 0.5, u)
    cosine = 1.0 - quarter * _series(quarter, 2)
    x, w = list(q[:3]), q[3]
    turned = [a + cosine * b + w * c for a, b, c in zip(cross(x, r), x, r, strict=True)]
    turned.append(cosine * w - dot(x, r))
    inverse = 1.0 / dot(turned, turned).root()
    return [a * inverse for a in turned]


def errors(placed: PlacedLinks, margins: list[Number]) -> Vector:
    """Return the errors of all rows; see ``residual.c``."""
    tables = placed.tables
    unknown = sorted({closing_of(loop) for loop in tables.tree.loops} - {*_SUPPORTED})
    if unknown:
        raise UnsupportedExport(
            f"no straight-line code closes loops by {', '.join(unknown)} joints"
        )
    values: Vector = []
    for i, loop in enumerate(tables.tree.loops):
        kind = closing_of(loop)
        if kind == "revolute":
            error = _hinge_error(placed, i, margins)
        else:
            error = _frame_error(placed, i, kind, margins)
        rows = tables.covector[tables.row[i] : tables.row[i + 1]]
        values += [dot(tables.numbers(row), error) for row in rows]
    targets = zip(tables.tree.couplings, tables.tree.targets, strict=True)
    for r, (coupling, target) in enumerate(targets, start=tables.row[-1]):
        total = tables.recording.number(-float(target))
        for j in np.flatnonzero(coupling):
            if (r, int(j)) in placed.curves:
                total = total + placed.curves[r, int(j)][0]
            else:
                total = total + placed.coordinate(int(j)) * float(coupling[j])
        values.append(total)
    return values


def _between(placed: PlacedLinks, i: int, second: Array) -> tuple[Vector, Vector]:
    """Return the offset of a closure's frames and the second link's rotation, in the first link."""
    tables, loop = placed.tables, placed.tables.tree.loops[i]
    R = placed.R[loop.first]
    place = rotate_back(R, minus(placed.point(loop.second, second[3]), placed.p[loop.first]))
    d = minus(place, tables.numbers(tables.first_frame[i][3]))
    return d, product([*_transposed(R)], placed.R[loop.second])


def _transposed(R: Sequence[Number]) -> Vector:
    """Return the transpose of a rotation."""
    return [*R[0::3], *R[1::3], *R[2::3]]


def _hinge_error(placed: PlacedLinks, i: int, margins: list[Number]) -> Vector:
    """Return the error twist of a closing hinge."""
    tables, loop = placed.tables, placed.tables.tree.loops[i]
    first, second = tables.first_frame[i], tables.second_frame[i]
    second_axis = rotate(placed.R[loop.second], tables.numbers(second[:3, 2]))
    d, _ = _between(placed, i, second)
    axis = tables.numbers(first[:3, 2])
    seen_axis = rotate_back(placed.R[loop.first], second_axis)
    turn = cross(axis, seen_axis)
    square = dot(turn, turn)
    if square.constant is None:
        margins += [NEAR - square, dot(axis, seen_axis)]
    factor = 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0 + square * (5.0 / 112.0)))
    rest = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0)) * factor * factor
    return _of_turn(tables, i, first[3], d, times(factor, turn), rest)


def _of_turn(
    tables: TracedTree, i: int, place: Array, d: Vector, turn: Vector, rest: Number
) -> Vector:
    """Return the error twist about the rows' point of a displacement and a rotation vector."""
    swept = cross(turn, d)
    twice = cross(turn, swept)
    linear = [a - 0.5 * b + rest * c for a, b, c in zip(d, swept, twice, strict=True)]
    arm = tables.numbers(place - tables.row_point[i])
    return [*plus(linear, cross(arm, turn)), *turn]


def _frame_error(placed: PlacedLinks, i: int, kind: str, margins: list[Number]) -> Vector:
    """Return the error twist of a closing weld, ball or free joint."""
    tables = placed.tables
    first, second = tables.first_frame[i], tables.second_frame[i]
    d, between = _between(placed, i, second)
    if kind == "free":
        return [tables.zero] * 6
    if kind == "spherical":
        return [*d, tables.zero, tables.zero, tables.zero]
    # A weld: the rotation from the first frame to the second one, in the first one's axes.
    F = tables.numbers(first[:3])
    R = product(product(_transposed(F), between), tables.numbers(second[:3]))
    trace = R[0] + R[4] + R[8]
    root = (trace + 1.0).root()
    scale = 0.5 / root
    v = [(R[7] - R[5]) * scale, (R[2] - R[6]) * scale, (R[3] - R[1]) * scale]
    sine = dot(v, v)
    margins += [NEAR - sine, trace]
    factor = 2.0 + sine * (1.0 / 3.0 + sine * (3.0 / 20.0 + sine * (5.0 / 56.0)))
    rest = 1.0 / 12.0 + sine * (1.0 / 180.0 + sine * (1.0 / 420.0))
    return _of_turn(tables, i, first[3], d, rotate(F, times(factor, v)), rest)
