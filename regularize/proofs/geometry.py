"""The freedoms of a part's joints in exact numbers, with the relations between their axes.

Subspaces of se(3) in exact arithmetic, with the interface of the store of numerical ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import KINDS_OF_MOTION, MotionType, motion_type
from regularize.mechanism.graph import EdgeId, Graph
from regularize.proofs import verifier
from regularize.proofs.incidence import Directions, Incidences, NotExact, Rational, cross, simplest
from regularize.proofs.verifier import Space, reduced
from regularize.reduction import propagation as motion_spaces
from regularize.reduction.propagation import MotionSpaces, Operation, SpaceId

FULL: Space = tuple(tuple(int(i == j) for j in range(6)) for i in range(6))


class ExactSpaces(MotionSpaces):
    """Numbered subspaces, each a canonical set of integer rows."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self._spaces: list[Space] = [(), FULL]
        self._known: dict[Space, SpaceId] = {(): self.ZERO, FULL: self.FULL}

    def exact(self, number: SpaceId) -> Space:
        """Return the canonical rows of a subspace."""
        return self._spaces[number]

    def of(self, space: Space) -> SpaceId:
        """Return the number of a subspace."""
        if space not in self._known:
            self._known[space] = SpaceId(len(self._spaces))
            self._spaces.append(space)
        return self._known[space]

    def dimension(self, number: SpaceId) -> int:
        """Return the dimension of a subspace."""
        return len(self._spaces[number])

    def contains(self, space: SpaceId, other: SpaceId) -> bool:
        """Say whether a space contains another one."""
        return self.add(space, other) == space

    def parallelogram(self, hinges: Sequence[SpaceId]) -> SpaceId | None:
        """Return translations in the plane of four parallel hinges in a loop with parallel bars."""
        try:
            return self.of(verifier.arcs([self._spaces[h] for h in hinges]))
        except ValueError:
            return None

    def _remembered(self, operation: Operation, a: SpaceId, b: SpaceId) -> SpaceId:
        key = (operation, a, b)
        if key not in self._memory:
            one, two = self._spaces[a], self._spaces[b]
            self._memory[key] = self.of(_EXACT[operation](one, two))
        return self._memory[key]


_EXACT: dict[Operation, Any] = {
    subalgebra.sum_: lambda a, b: verifier.reduced([*a, *b]),
    subalgebra.intersection: verifier.meet,
    subalgebra.saturation: verifier.saturated,
    motion_spaces.brackets: lambda a, b: verifier.reduced(
        [verifier.bracket(z, x) for z in b for x in a]
    ),
    motion_spaces.closure_of_sum: lambda a, b: verifier.saturated(verifier.reduced([*a, *b])),
}


UNITS = tuple(tuple(Fraction(int(i == j)) for j in range(3)) for i in range(3))
NOTHING = cross(UNITS[0], UNITS[0])


@dataclass(frozen=True)
class Precision:
    """Tolerances with which measured geometry is made exact."""

    within: float  # what relation is taken to be meant, radians and parts of the size
    rounding: float  # how far a number may be moved to a simpler one
    everywhere: bool  # whether relations count that joints have which share no body


def exact_freedoms(
    graph: Graph, screws: dict[EdgeId, Array], precision: Precision
) -> dict[EdgeId, Space]:
    """Return the span of joints' scaled screws in integers; NotExact if relations contradict."""
    types = {e: motion_type(np.linalg.qr(s)[0], precision.within) for e, s in screws.items()}
    directions = Directions(precision.within, precision.rounding)
    along = {e: directions.add(t.direction) for e, t in types.items() if t.direction is not None}
    exact = directions.exact(None if precision.everywhere else _pairs(graph, along))
    points = Incidences(exact, precision.within, precision.rounding)
    known = {e: t.point for e, t in types.items() if t.point is not None}
    lines = {e: points.add_line(along[e], point) for e, point in known.items() if e in along}
    centres = {e: points.add_centre(point) for e, point in known.items() if e not in along}
    every = combinations(range(len(points.lines)), 2)
    points.add_intersections(every if precision.everywhere else sorted(_pairs(graph, lines)))
    on_line, at = points.exact()
    places = {e: on_line[i] for e, i in lines.items()} | {e: at[i] for e, i in centres.items()}
    return {
        e: _space(t, exact[along[e]] if e in along else NOTHING, places.get(e, NOTHING), precision)
        for e, t in types.items()
    }


def _pairs(graph: Graph, classes: dict[EdgeId, int]) -> set[tuple[int, int]]:
    """Return pairs of classes whose joints share a body."""
    pairs = set()
    for a, b in combinations(classes, 2):
        one, two = graph.edges[a], graph.edges[b]
        if {one.parent, one.child} & {two.parent, two.child} and classes[a] != classes[b]:
            pairs.add((min(classes[a], classes[b]), max(classes[a], classes[b])))
    return pairs


def _space(kind: MotionType, d: Rational, p: Rational, precision: Precision) -> Space:
    """Return the algebra of a joint from its exact direction and point."""
    if kind.name not in KINDS_OF_MOTION or kind.name == "planar with pitch":
        raise NotExact(f"no exact form for a joint whose motion is {kind.name}")
    turns, slides = KINDS_OF_MOTION[kind.name]
    pitch = simplest(kind.pitch or 0.0, precision.rounding)
    turn = [*(x + pitch * y for x, y in zip(cross(p, d), d, strict=True)), *d]
    turning = [turn] if turns == 1 else [[*cross(p, e), *e] for e in UNITS[:turns]]
    shifts = {1: [d], 2: [cross(d, e) for e in UNITS]}.get(slides, [*UNITS[:slides]])
    return integral([*([*shift, *NOTHING] for shift in shifts), *turning])


def with_parallel_bars(
    freedoms: dict[EdgeId, Space], loops: Sequence[Sequence[EdgeId]]
) -> dict[EdgeId, Space]:
    """Move some parallel hinges where that makes opposite sides of loops equal."""
    rows = {e: upright(freedoms[e][0]) for loop in loops for e in loop}
    hinges = sorted(rows)
    signs = [{e: (-1) ** i for i, e in enumerate(loop)} for loop in loops]
    moved = dict(freedoms)
    for equation in reduced([loop.get(e, 0) for e in hinges] for loop in signs):
        at = next(i for i, x in enumerate(equation) if x)
        others = [
            (Fraction(-x, equation[at]), rows[hinges[i]]) for i, x in enumerate(equation) if x
        ]
        sums = zip(*([w * x for x in row] for w, row in others[1:]), strict=True)
        moved[hinges[at]] = integral([[sum(column, Fraction(0)) for column in sums]])
    return moved


def equal_bars(freedoms: dict[EdgeId, Space], within: float) -> list[tuple[EdgeId, ...]]:
    """Return hinges that are corners of parallelograms, and those that coincide, to a tolerance."""
    rows = {
        e: _unit_hinge(space[0])
        for e, space in freedoms.items()
        if len(space) == 1 and any(space[0][3:])
    }
    apart = {(a, b): np.abs(rows[a] - rows[b]) for a, b in combinations(rows, 2)}
    same = [pair for pair, off in apart.items() if off.max() <= within]
    parallel = [pair for pair, off in apart.items() if off[3:].max() <= within]
    sums = np.array([rows[a] + rows[b] for a, b in parallel]).reshape(-1, 6)
    near = (
        (pair, parallel[i + k])
        for i, pair in enumerate(parallel)
        for k in np.flatnonzero(np.abs(sums[i:] - sums[i]).max(axis=1) <= within)
    )
    return same + [(a, c, b, d) for (a, b), (c, d) in near if len({a, b, c, d}) == 4]


def angulated(
    freedoms: dict[EdgeId, Space], loops: Iterable[Sequence[EdgeId]], within: float
) -> list[tuple[EdgeId, ...]]:
    """Return loops of parallel hinges every second of whose bars add up to 0 (Hoberman 1990)."""
    rings = []
    for loop in ([e for e in cycle if freedoms[e]] for cycle in loops):
        spaces = [freedoms[e] for e in loop]
        if len(loop) % 2 or any(len(s) != 1 or not any(s[0][3:]) for s in spaces):
            continue
        rows = np.array([_unit_hinge(s[0]) for s in spaces])
        sums = rows[::2].sum(axis=0) - rows[1::2].sum(axis=0)
        if len(loop) > 4 and max(np.ptp(rows[:, 3:], axis=0).max(), np.abs(sums).max()) <= within:
            rings.append(tuple(loop))
    return rings


def upright(row: Sequence[int]) -> list[Fraction]:
    """Return a screw divided by its first angular component: parallel hinges get one direction."""
    lead = next(x for x in row[3:] if x)
    return [Fraction(x, lead) for x in row]


def _unit_hinge(row: Sequence[int]) -> Array:
    """Return a hinge's screw with a unit direction, the same for hinges that point oppositely."""
    numbers = np.array([float(x) for x in upright(row)])
    return np.asarray(numbers / np.linalg.norm(numbers[3:]))


def integral(rows: Sequence[Sequence[Fraction]]) -> Space:
    """Return the canonical integer form of a rational space."""
    common = [math.lcm(*(x.denominator for x in row)) for row in rows]
    return reduced([[int(x * c) for x in row] for row, c in zip(rows, common, strict=True)])
