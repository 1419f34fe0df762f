r"""Factors :math:`L D L^T` of symmetric equations whose entries are numbers of a program.

Unknowns are columns and rows of

.. math:: \begin{pmatrix} H & J^T \\ J & 0 \end{pmatrix}
          \begin{pmatrix} a \\ -\lambda \end{pmatrix} = \begin{pmatrix} f \\ -\gamma \end{pmatrix},

eliminated in an order of least degree that is found once. As in the kernel, a row may come before
some of its columns where what was eliminated resists it enough, at the sample of the program; see
``regularize/dynamics/step/pattern.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.dynamics.step.pattern import SampledPivots, least_degree
from regularize.dynamics.tape.program import Number, Recording

#: An unknown: a column's index, or -1 - r of row r.
Entries = dict[tuple[int, int], Number]


def _work(structs: Mapping[int, set[int]]) -> int:
    """Return how many multiplications an elimination takes."""
    return sum(len(near) * (len(near) + 5) // 2 for near in structs.values())


def _graph(
    entries: Entries, unknowns: Sequence[int]
) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Return the neighbours of unknowns, and the columns of rows."""
    adjacent: dict[int, set[int]] = {x: set() for x in unknowns}
    waiting: dict[int, set[int]] = {x: set() for x in unknowns if x < 0}
    for one, two in entries:
        if one != two:
            adjacent[one].add(two)
            adjacent[two].add(one)
            for row, column in ((one, two), (two, one)):
                if row < 0 <= column:
                    waiting[row].add(column)
    return adjacent, waiting


def order_of(
    entries: Entries, unknowns: Sequence[int], *, saving: float = 0.8, clear: float = 1e-3
) -> dict[int, list[int]]:
    """Return unknowns in order of elimination, each with its neighbours that come later.

    Rows come before some of their columns where that leaves at most the part ``saving`` of the
    work, and their pivots at the sample are at least the part ``clear`` of the largest.
    """
    structs = least_degree(*_graph(entries, unknowns))
    places = {x: i for i, x in enumerate(unknowns)}
    if any(x < 0 for x in unknowns):
        values = np.zeros((len(places), len(places)))
        for (one, two), entry in entries.items():
            values[places[one], places[two]] = values[places[two], places[one]] = entry.value
        pivots = SampledPivots(values, places)
        sooner = least_degree(*_graph(entries, unknowns), pivots)
        if pivots.clearness > clear and _work(sooner) <= saving * _work(structs):
            structs = sooner
    rank = {x: k for k, x in enumerate(structs)}
    return {x: sorted(near, key=rank.__getitem__) for x, near in structs.items()}


#: How many times as much columns behind rows may weigh as by themselves: digits are lost by more,
#: by the table kernel, too, which eliminates in nearly the same order.
GROWN = 1e4
#: Part of what pivots are at the sample that is borne, and the least part of other limits.
USUAL, LEAST = 0.1, 3e-3


@dataclass(frozen=True, eq=False, repr=False)
class Factors:
    """Factors of some equations.

    ``own`` is what stood in the places of the pivots at first, ``weights`` what pivots would be
    without what takes from them.
    """

    order: Mapping[int, Sequence[int]]
    inverse: Mapping[int, Number]
    lower: Mapping[tuple[int, int], Number]
    pivots: dict[int, Number]
    own: dict[int, Number]
    weights: dict[int, Number]

    @classmethod
    def of(cls, recording: Recording, entries: Entries, unknowns: Sequence[int]) -> Factors:
        """Factorise equations, whose entries are changed."""
        zero, order = recording.number(0.0), order_of(entries, unknowns)
        inverse: dict[int, Number] = {}
        lower: dict[tuple[int, int], Number] = {}
        pivots: dict[int, Number] = {}
        weights: dict[int, Number] = {}

        def entry(one: int, two: int) -> Number:
            return entries.get((one, two)) or entries.get((two, one)) or zero

        def put(one: int, two: int, value: Number) -> None:
            entries[(two, one) if (two, one) in entries else (one, two)] = value

        own = {x: entry(x, x) for x in order}
        for x, later in order.items():
            pivots[x] = entry(x, x)
            inverse[x] = 1.0 / pivots[x]
            mine = [entry(y, x) for y in later]
            for i, y in enumerate(later):
                factor = lower[y, x] = mine[i] * inverse[x]
                if (x < 0) != (y < 0):
                    weights[y] = weights.get(y, own[y]) - factor * mine[i]
                for j in range(i, len(later)):
                    put(y, later[j], entry(y, later[j]) - factor * mine[j])
        return cls(order, inverse, lower, pivots, own, weights)

    def forth(self, sides: dict[int, Number]) -> dict[int, Number]:
        """Do the first half of a solution: right-hand sides, changed in place."""
        for x, later in self.order.items():
            for y in later:
                sides[y] = sides[y] - self.lower[y, x] * sides[x]
        return sides

    def back(self, sides: Mapping[int, Number], known: Mapping[int, Number]) -> dict[int, Number]:
        """Do the second half of a solution; ``known`` is subtracted from the sides."""
        found: dict[int, Number] = {}
        for x in reversed(list(self.order)):
            value = (sides[x] - known[x] if x in known else sides[x]) * self.inverse[x]
            for y in self.order[x]:
                value = value - self.lower[y, x] * found[y]
            found[x] = value
        return found

    def margins(self, clear: float) -> list[Number]:
        """Return numbers that are all positive where pivots leave enough digits.

        No pivot is less than a part of its weight, and no column that comes behind rows weighs far
        more than by itself: else its own digits are lost. Worse is borne where the sample is worse.
        """
        found = []
        for x, pivot in self.pivots.items():
            sign = -1.0 if x < 0 else 1.0
            tests = [(pivot, clear)] if x in self.weights else []
            if tests and x >= 0:
                tests.append((self.own[x], 1.0 / GROWN))
            for part, least in tests:
                weight = self.weights[x]
                borne = min(least, max(USUAL * part.value / weight.value, LEAST * least))
                found.append((part - weight * borne) * sign)
            if not tests and pivot.constant is None:
                found.append(pivot * sign)
        return found
