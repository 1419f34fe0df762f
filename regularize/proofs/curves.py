"""The curve along which loops of hinges and slides move, as a relation of their half angles.

The half-angle tangents of the joints are power series in one of them, found order by order from
the closure of the loops in numbers modulo a prime. Of algebraic functions a few coefficients tell
the polynomials (Hermite and Padé), and of rational numbers their remainder tells the number. What
is found is no more than a guess until ``verifier`` has put it into the closure equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from regularize.model.graph import EdgeId
from regularize.proofs.incidence import NotExact
from regularize.proofs.modular import Eliminated, Series, Terms, rational, relation_of, times
from regularize.proofs.verifier import SIGNS, Polynomial, Vector

#: Exponents of Mersenne primes: a small one to find degrees, then larger ones for coefficients.
PRIMES = (31, 1279, 4423, 11213)
#: Degrees up to which polynomials are looked for, in the parameter and in the second variable.
DEGREES = (8, 2)

#: Joints of a loop with the sense in which it passes them.
Loop = Sequence[tuple[EdgeId, int]]


@dataclass(frozen=True)
class MotionCurve:
    """A plane curve and functions on it.

    Attributes:
        relation: Polynomial in x and y.
        moves: Of each joint the denominator and the numerator of its half-angle tangent.
    """

    relation: Polynomial
    moves: dict[EdgeId, tuple[Polynomial, Polynomial]]

    @property
    def smooth(self) -> bool:
        """Whether y is a function of x at the pose, and all functions have values there."""
        at_pose = all(below.get((0, 0, 0, 0)) for below, _ in self.moves.values())
        return at_pose and bool(self.relation.get((0, 1, 0, 0)))


def curve_of(loops: Sequence[Loop], screws: dict[EdgeId, Vector]) -> MotionCurve:
    """The curve along which loops move from their reference pose.

    Args:
        loops: The loops.
        screws: The screw of every joint, in integers.

    Raises:
        NotExact: The loops have no motion with one freedom, or none of low degree was found.
    """
    reason = "the loops move along no curve of low degree"
    prime = 2 ** PRIMES[0] - 1
    order = (DEGREES[0] + 1) * (DEGREES[1] + 1) + 6
    known = {first: _series(loops, screws, first, order, prime) for first in screws}
    for degree in range(1, DEGREES[1] + 1):
        for first, series in known.items():
            for shape in _shapes(first, series, degree, prime) if series is not None else ():
                for large in (2**e - 1 for e in PRIMES[1:]):
                    found = _found(loops, screws, shape, large)
                    if found is not None and found.smooth:
                        return found
                    reason = "the numbers of the curve along which the loops move are too long"
    raise NotExact(reason)


@dataclass(frozen=True)
class _Shape:
    """Degrees of the polynomials, by joint, with the joints of x and, if there is one, of y."""

    first: EdgeId
    second: EdgeId | None
    relation: Terms
    moves: dict[EdgeId, Terms]


def _shapes(
    first: EdgeId, series: dict[EdgeId, Series], degree: int, prime: int
) -> Iterator[_Shape]:
    """Degrees with which all half angles are functions of x and of a y of the given degree."""
    rest = [e for e in series if e != first]
    one = [1] + [0] * (len(series[first]) - 1)

    def of_degree(top: int, count: int) -> Terms:
        return [(i, j) for j in range(count) for i in range(top + 1)]

    def least(values: Sequence[Series]) -> Terms | None:
        """Terms with the smallest degree in x for which the values are related."""
        if relation_of(values, of_degree(DEGREES[0], len(values)), prime) is None:
            return None
        shapes = (of_degree(top, len(values)) for top in range(DEGREES[0] + 1))
        return next(terms for terms in shapes if relation_of(values, terms, prime) is not None)

    for second in rest if degree > 1 else (None,):
        powers = [one]
        while len(powers) <= degree and second is not None:
            powers.append(times(powers[-1], series[second], prime))
        relation = least(powers) if second is not None else ()
        if relation is None:
            continue
        moves: dict[EdgeId, Terms] = {}
        for e in (e for e in rest if e != second):
            terms = least([*(powers[:-1] or [one]), series[e]])
            if terms is None:
                break
            moves[e] = terms
        else:
            yield _Shape(first, second, relation, moves)


def _found(
    loops: Sequence[Loop], screws: dict[EdgeId, Vector], shape: _Shape, prime: int
) -> MotionCurve | None:
    """The polynomials with these degrees, or None where the numbers are longer than the prime."""
    order = max(len(terms) for terms in (shape.relation, *shape.moves.values())) + 6
    series = _series(loops, screws, shape.first, order, prime)
    if series is None:
        return None
    one, x, y = (0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0)
    values, relation = [[1] + [0] * order], {y: 1}
    moves = {shape.first: ({one: 1}, {x: 1})}
    if shape.second is not None:
        while len(values) <= max(j for _, j in shape.relation):
            values.append(times(values[-1], series[shape.second], prime))
        known = rational(relation_of(values, shape.relation, prime), prime)
        if known is None:
            return None
        relation = _polynomial(zip(shape.relation, known, strict=True))
        moves[shape.second] = ({one: 1}, {y: 1})
        del values[-1]
    for e, terms in shape.moves.items():
        known = rational(relation_of([*values, series[e]], terms, prime), prime)
        if known is None:
            return None
        top = len(values)
        pairs = [*zip(terms, known, strict=True)]
        below = _polynomial(((i, 0), c) for (i, j), c in pairs if j == top)
        above = _polynomial(((i, j), -c) for (i, j), c in pairs if j < top)
        moves[e] = (below, above)
    return MotionCurve(relation, moves)


def _polynomial(terms: Iterable[tuple[tuple[int, int], int]]) -> Polynomial:
    return {(i, j, 0, 0): c for (i, j), c in terms if c}


def _series(
    loops: Sequence[Loop], screws: dict[EdgeId, Vector], first: EdgeId, order: int, prime: int
) -> dict[EdgeId, Series] | None:
    """Half-angle tangents as power series in the first one, modulo a prime.

    None where the others do not follow from it, or nothing moves.
    """
    joints = [e for e in screws if e != first]
    columns = [*joints, first]
    rows = []
    for loop in loops:
        senses = dict(loop)
        rows += [[senses.get(e, 0) * screws[e][k] % prime for e in columns] for k in range(6)]
    eliminated = Eliminated(rows, len(joints), prime)
    if len(eliminated.pivots) < len(joints):
        return None
    series = {e: [0] for e in columns}
    unit = [1, 0, 0, 0, 0, 0, 0, 0]
    # Coefficients of the products of the first so many displacements of each loop.
    partial = [[[unit] for _ in range(len(loop) + 1)] for loop in loops]
    for k in range(1, order + 1):
        right = []
        for loop, products in zip(loops, partial, strict=True):
            products[0].append([0] * 8)
            for at, (e, sense) in enumerate(loop):
                lower = zip(series[e][1:k], products[at][k - 1 : 0 : -1], strict=True)
                known = [sum(column) for column in zip(*_scaled(lower), strict=True)] or [0] * 8
                moved = _turned(known, screws[e], sense)
                products[at + 1].append(_sum(products[at][k], moved, prime))
            right += [-products[-1][k][c] % prime for c in (5, 6, 7, 1, 2, 3)]
        last = int(k == 1)
        solution = eliminated.solve(right, last)
        if solution is None:
            return None
        for e, value in zip(columns, [*solution, last], strict=True):
            series[e].append(value)
        for loop, products in zip(loops, partial, strict=True):
            added = [0] * 8
            for at, (e, sense) in enumerate(loop):
                step = _turned([series[e][k], *unit[1:]], screws[e], sense)
                added = _sum(added, step, prime)
                products[at + 1][k] = _sum(products[at + 1][k], added, prime)
    return series


def _scaled(pairs: Iterable[tuple[int, list[int]]]) -> list[list[int]]:
    return [[factor * x for x in q] for factor, q in pairs]


def _sum(a: Sequence[int], b: Sequence[int], prime: int) -> list[int]:
    return [(x + y) % prime for x, y in zip(a, b, strict=True)]


def _turned(q: Sequence[int], screw: Vector, sense: int) -> list[int]:
    """The product of a dual quaternion and a screw."""
    found = [0] * 8
    for part, shift, vector in (
        (q[:4], 0, screw[3:]),
        (q[4:], 4, screw[3:]),
        (q[:4], 4, screw[:3]),
    ):
        for a, value in enumerate(part):
            for b, x in enumerate(vector, start=1):
                found[shift + (a ^ b)] += SIGNS[a][b] * value * x * sense
    return found
