r"""Patterns of factors :math:`L D L^T` of sparse symmetric matrices, found once.

A row has a pivot as soon as what was eliminated resists it. Where loops share a crank, all but the
crank can be eliminated loop by loop then, and nothing couples the loops but the crank. Whether a
pivot is sound is a matter of numbers, found once at a sample; the kernel watches over it, and
solves in another way where it is not.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regularize.dynamics.step.multibody import Cluster, MultibodyTree, Row, way_up
from regularize.dynamics.step.posing import Posed
from regularize.lie.arrays import Array


class SampledPivots:
    """Symmetric equations (n, n) at a sample while unknowns are eliminated: which rows may be.

    ``places`` has the place of each unknown: of columns k, and of rows -1 - r. A row's pivot is
    sound where it is more than a ``share`` of what all columns together make of it.
    """

    def __init__(self, matrix: Array, places: Mapping[int, int], *, share: float = 0.05) -> None:
        self._matrix, self._places = matrix.copy(), places
        self._pivots: list[float] = []
        columns = [i for x, i in places.items() if x >= 0]
        rows = [i for x, i in places.items() if x < 0]
        H, J = matrix[np.ix_(columns, columns)], matrix[np.ix_(rows, columns)]
        try:
            resisting = np.linalg.solve(H, J.T)
        except np.linalg.LinAlgError:
            resisting = np.linalg.lstsq(H, J.T, rcond=None)[0]
        self._enough = dict(zip(rows, share * np.einsum("ij,ji->i", J, resisting), strict=True))

    def eliminate(self, unknown: int, neighbours: Iterable[int]) -> None:
        """Eliminate an unknown from the entries of those that it is coupled to."""
        K, i, near = self._matrix, self._places[unknown], [self._places[x] for x in neighbours]
        if unknown < 0 or K[i, i] == 0.0:
            self._pivots.append(-float(K[i, i]))
        if K[i, i] == 0.0:  # rows that came sooner leave nothing: this order is none
            return
        K[np.ix_(near, near)] -= np.outer(K[near, i], K[near, i] / K[i, i])

    def are_sound(self, row: int) -> bool:
        """Return whether the pivot of a row, an unknown -1 - r, is sound."""
        i = self._places[row]
        return bool(-self._matrix[i, i] > self._enough[i])

    @property
    def clearness(self) -> float:
        """Least pivot of the rows as a part of the largest one; 0 where any unknown has none."""
        return min(self._pivots) / max(self._pivots)


def sampled_pivots(
    tree: MultibodyTree, cluster: Cluster, rows: Sequence[Row], posed: Posed
) -> SampledPivots:
    """Return a cluster's equations at a sample, with links that hang on it taken as rigid."""
    start, bodies = tree.columns(), posed.inertias.copy()
    for b in range(len(tree.links), 0, -1):
        bodies[tree.links[b - 1].parent] += bodies[b]
    columns = [k for b in cluster.links for k in range(start[b], start[b + 1])]
    places = {x: i for i, x in enumerate([*columns, *(-1 - r for r in cluster.rows)])}
    K = np.zeros((len(places), len(places)))
    for b in cluster.links:
        columns_of_link = range(start[b], start[b + 1])
        forces = bodies[b] @ posed.columns[columns_of_link].T
        for p in way_up(tree, b, cluster.parent):
            above = range(start[p], start[p + 1])
            block = posed.columns[above] @ forces
            here, to = [places[k] for k in above], [places[k] for k in columns_of_link]
            K[np.ix_(here, to)], K[np.ix_(to, here)] = block, block.T
        for k in columns_of_link:
            K[places[k], places[k]] += tree.armature[tree.links[b - 1].rate + k - start[b]]
    passed: dict[int, int] = {}
    for r in cluster.rows:
        row, here = rows[r], [places[k] for k in rows[r].columns]
        if row.coefficients is not None:
            entries = np.array(row.coefficients)
        else:
            loop = tree.loops[row.loop]
            n = passed[row.loop] = passed.get(row.loop, -1) + 1
            seconds = {
                k for b in way_up(tree, loop.second, 0) for k in range(start[b], start[b + 1])
            }
            signs = np.array([1.0 if k in seconds else -1.0 for k in row.columns])
            entries = signs * (posed.columns[[*row.columns]] @ posed.covectors[row.loop][n])
        K[places[-1 - r], here] = K[here, places[-1 - r]] = entries
    return SampledPivots(K, places)


@dataclass(eq=False, repr=False)
class Pattern:
    """Where the entries of factors are, and where they go.

    Unknowns are numbers of any kind; ``start``, ``below``, ``block`` and ``update`` are as in
    ``tables.h``, and blocks have at most ``widest`` unknowns.
    """

    order: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=lambda: [0])
    below: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    update: list[int] = field(default_factory=list)
    widest: int = 5
    _place: dict[tuple[int, int], int] = field(default_factory=dict)

    def place(self, one: int, two: int) -> int:
        """Return where the entry of two unknowns is."""
        return self._place[one, two] if (one, two) in self._place else self._place[two, one]

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
            for y in (unknown, *below):
                self._place[unknown, y] = len(self.below)
                self.below.append(rank[y])
            self.order.append(unknown)
            self.start.append(len(self.below))
        for below in sorted_structs:
            rows = [[self._place[x, z] for z in below[k:]] for k, x in enumerate(below)]
            begun = (self.start[rank[x]] for x in below)
            solid = all(
                row == [*range(at, at + len(row))] for at, row in zip(begun, rows, strict=True)
            )
            solids.append(solid)
            self.update += [] if solid else [place for row in rows for place in row]
        behind = zip([*structs][1:], sorted_structs[1:], strict=True)
        nested = [
            below == [y, *beyond]
            for below, (y, beyond) in zip(sorted_structs[:-1], behind, strict=True)
        ]
        self.block += self._blocks(solids, [*nested, False])

    def _blocks(self, solids: Sequence[bool], nested: Sequence[bool]) -> list[int]:
        """Return blocks of unknowns that need no list, each nested in the next."""
        result: list[int] = []
        while len(result) < len(solids):
            first = len(result)
            width = 1
            while width < self.widest and nested[first + width - 1] and solids[first + width]:
                width += 1
            result += [k - width for k in range(1, width)]
            result.append(width if solids[first] else 0)
        return result


def neighbours(
    entries: Iterable[tuple[int, int]], unknowns: Iterable[int]
) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Return the neighbours of every unknown, and the columns that each row waits for."""
    adjacent: dict[int, set[int]] = {x: set() for x in unknowns}
    for one, two in entries:
        if one != two:
            adjacent[one].add(two)
            adjacent[two].add(one)
    return adjacent, {x: {y for y in near if y >= 0} for x, near in adjacent.items() if x < 0}


def least_degree(
    adjacent: dict[int, set[int]], waiting: dict[int, set[int]], pivots: SampledPivots | None = None
) -> dict[int, set[int]]:
    """Return unknowns by least degree, with the neighbours left; rows wait for columns."""

    def waits(x: int) -> bool:
        return bool(waiting.get(x)) and (pivots is None or not pivots.are_sound(x))

    heap = [(len(near), x) for x, near in adjacent.items() if not waits(x)]
    heapq.heapify(heap)
    done: dict[int, set[int]] = {}
    while heap:
        degree, x = heapq.heappop(heap)
        if x in done or degree != len(adjacent[x]) or waits(x):
            continue
        near = done[x] = adjacent.pop(x)
        if pivots is not None:
            pivots.eliminate(x, near)
        for y in near:
            adjacent[y] |= near
            adjacent[y] -= {x, y}
            if y in waiting:
                waiting[y].discard(x)
            if not waits(y):
                heapq.heappush(heap, (len(adjacent[y]), y))
    return done
