"""Patterns of factors :math:`L D L^T` of sparse symmetric matrices, found once."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(eq=False)
class Pattern:
    """Where the entries of factors are, and where they go.

    Unknowns have any numbers; a column k of a cluster is k, and a row r of it -1 - r.

    Attributes:
        order: Unknowns in the order of their elimination.
        start: Where the entries of each begin: its pivot, then those below, and their number.
        below: For each entry the place in ``order`` of the unknown that it belongs to.
        solid: Whether the entries that an unknown's pivot changes are, for each entry below it, the
            first ones of the unknown that it belongs to: no list of them is needed.
        update: Entries that each other pivot changes, in turn.
    """

    order: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=lambda: [0])
    below: list[int] = field(default_factory=list)
    solid: list[bool] = field(default_factory=list)
    update: list[int] = field(default_factory=list)
    _place: dict[tuple[int, int], int] = field(default_factory=dict)

    def place(self, one: int, two: int) -> int:
        """Where the entry of two unknowns is."""
        return self._place[one, two] if (one, two) in self._place else self._place[two, one]

    def pairs_of_rows(self, rows: Sequence[tuple[int, Sequence[int]]]) -> list[int]:
        """Of rows in the order of their elimination: entries, columns and pairs of columns."""
        rank = {unknown: k for k, unknown in enumerate(self.order)}
        result: list[int] = []
        for row, columns in sorted(rows, key=lambda row: rank[-1 - row[0]]):
            entries = [self.place(-1 - row, k) for k in columns]
            pairs = [self.place(i, k) for n, i in enumerate(columns) for k in columns[n:]]
            result += [len(columns), *entries, *(rank[k] for k in columns), *pairs]
        return result

    def skip(self, unknowns: Sequence[int]) -> None:
        """Add unknowns of a cluster that is eliminated in another way."""
        self.order += unknowns
        self.start += [len(self.below)] * len(unknowns)
        self.solid += [False] * len(unknowns)

    def eliminate(self, structs: Mapping[int, set[int]]) -> None:
        """Add a cluster: its unknowns in order, each with the neighbours that are left then."""
        first = len(self.order)
        rank = {unknown: first + k for k, unknown in enumerate(structs)}
        sorted_structs = []
        for unknown, neighbours in structs.items():
            below = sorted(neighbours, key=rank.__getitem__)
            sorted_structs.append(below)
            for other in (unknown, *below):
                self._place[unknown, other] = len(self.below)
                self.below.append(rank[other])
            self.order.append(unknown)
            self.start.append(len(self.below))
        for below in sorted_structs:
            rows = [[self._place[one, two] for two in below[k:]] for k, one in enumerate(below)]
            begun = (self.start[rank[one]] for one in below)
            solid = all(
                row == [*range(at, at + len(row))] for at, row in zip(begun, rows, strict=True)
            )
            self.solid.append(solid)
            self.update += [] if solid else [place for row in rows for place in row]


def least_degree(
    adjacent: dict[int, set[int]], waiting: dict[int, set[int]]
) -> dict[int, set[int]]:
    """Unknowns in an order of least degree, each with the neighbours that are left then.

    Args:
        adjacent: Neighbours of each unknown; it is used up.
        waiting: Columns of each row; they are used up.
    """
    heap = [(len(near), x) for x, near in adjacent.items() if not waiting.get(x)]
    heapq.heapify(heap)
    done: dict[int, set[int]] = {}
    while heap:
        degree, x = heapq.heappop(heap)
        if x in done or degree != len(adjacent[x]):
            continue
        near = done[x] = adjacent.pop(x)
        for y in near:
            adjacent[y] |= near
            adjacent[y] -= {x, y}
            if y in waiting:
                waiting[y].discard(x)
            if not waiting.get(y):
                heapq.heappush(heap, (len(adjacent[y]), y))
    return done
