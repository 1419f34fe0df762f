"""Patterns of factors :math:`L D L^T` of sparse symmetric matrices, found once."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regularize.kernel.readiness import Readiness


@dataclass(eq=False, repr=False)
class Pattern:
    """Where the entries of factors are, and where they go.

    Unknowns have any numbers; a column k of a cluster is k, and a row r of it -1 - r.

    Attributes:
        order: Unknowns in the order of their elimination.
        start: Where the entries of each begin: its pivot, then those below, and their number.
        below: For each entry the place in ``order`` of the unknown that it belongs to.
        block: How each pivot changes what is below it. Where the entries are, for each unknown
            there, its first ones, no list of them is needed; and where the next unknown is the
            first below and has all others below, both are of a block: -n for an unknown before n
            more of its block, n for the last one of n. 0 where a list is needed.
        update: Entries that pivots with such a list change, in turn.
        widest: Most unknowns of a block, as in ``factors.c``.
    """

    order: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=lambda: [0])
    below: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    update: list[int] = field(default_factory=list)
    widest: int = 5
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
        self.block += [0] * len(unknowns)

    def eliminate(self, structs: Mapping[int, set[int]]) -> None:
        """Add a cluster: its unknowns in order, each with the neighbours that are left then."""
        first = len(self.order)
        rank = {unknown: first + k for k, unknown in enumerate(structs)}
        sorted_structs, solids = [], []
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
            solids.append(solid)
            self.update += [] if solid else [place for row in rows for place in row]
        behind = zip([*structs][1:], sorted_structs[1:], strict=True)
        nested = [
            below == [x, *beyond]
            for below, (x, beyond) in zip(sorted_structs[:-1], behind, strict=True)
        ]
        self.block += self._blocks(solids, [*nested, False])

    def _blocks(self, solids: Sequence[bool], nested: Sequence[bool]) -> list[int]:
        """Blocks of unknowns that need no list and are, with what is below them, the next's."""
        result: list[int] = []
        while len(result) < len(solids):
            first = len(result)
            width = 1
            while width < self.widest and nested[first + width - 1] and solids[first + width]:
                width += 1
            result += [k - width for k in range(1, width)]
            result.append(width if solids[first] else 0)
        return result


def least_degree(
    adjacent: dict[int, set[int]],
    waiting: dict[int, set[int]],
    ready: Readiness | None = None,
) -> dict[int, set[int]]:
    """Unknowns in an order of least degree, each with the neighbours that are left then.

    Args:
        adjacent: Neighbours of each unknown; it is used up.
        waiting: Columns that each row comes behind; they are used up.
        ready: Where some of these are enough: which rows need not wait any longer.
    """

    def waits(x: int) -> bool:
        return bool(waiting.get(x)) and (ready is None or not ready.of(x))

    heap = [(len(near), x) for x, near in adjacent.items() if not waits(x)]
    heapq.heapify(heap)
    done: dict[int, set[int]] = {}
    while heap:
        degree, x = heapq.heappop(heap)
        if x in done or degree != len(adjacent[x]) or waits(x):
            continue
        near = done[x] = adjacent.pop(x)
        if ready is not None:
            ready.eliminate(x, near)
        for y in near:
            adjacent[y] |= near
            adjacent[y] -= {x, y}
            if y in waiting:
                waiting[y].discard(x)
            if not waits(y):
                heapq.heappush(heap, (len(adjacent[y]), y))
    return done
