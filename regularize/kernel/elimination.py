r"""The order in which a cluster's unknowns are eliminated, and where numbers go meanwhile.

The accelerations of the columns and the multipliers of the rows solve

.. math:: \begin{pmatrix} H & J^T \\ J & 0 \end{pmatrix}
          \begin{pmatrix} a \\ -\lambda \end{pmatrix} = \begin{pmatrix} f \\ -\gamma \end{pmatrix}.

Its factors :math:`L D L^T` have a pattern that does not depend on the configuration: it is found
once, for an order of least degree in which a row comes behind all of its columns. Then its pivot is
minus a Schur complement of independent rows, and never zero.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regularize.kernel.clusters import Cluster, Row, clusters_of, last_common, rows_of, way_up
from regularize.kernel.loop_sets import loop_sections
from regularize.kernel.machine import Machine
from regularize.kernel.sections import Tables


@dataclass(eq=False)
class Pattern:
    """Where the entries of all clusters' factors are, and where they go.

    An unknown is a column k, or -1 - r for a row r.

    Attributes:
        order: Unknowns in the order of their elimination.
        start: Where the entries of each begin: its pivot, then those below, and their number.
        below: For each entry the place in ``order`` of the unknown that it belongs to.
        update: Entries that each pivot changes, in turn.
    """

    order: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=lambda: [0])
    below: list[int] = field(default_factory=list)
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

    def eliminate(self, adjacent: dict[int, set[int]], waiting: dict[int, set[int]]) -> None:
        """Add a cluster.

        Args:
            adjacent: Neighbours of each of its unknowns; it is used up.
            waiting: Columns of each of its rows; they are used up.
        """
        structs, first = _least_degree(adjacent, waiting), len(self.order)
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
            self.update += [
                self._place[one, two] for k, one in enumerate(below) for two in below[k:]
            ]


def _join(adjacent: dict[int, set[int]], rows: dict[int, set[int]]) -> None:
    """Make the columns of every row neighbours of each other."""
    for columns in rows.values():
        for k in columns:
            adjacent[k] |= columns - {k}


def _least_degree(
    adjacent: dict[int, set[int]], waiting: dict[int, set[int]]
) -> dict[int, set[int]]:
    """Unknowns in an order of least degree, each with the neighbours that are left then."""
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


def tables_of(machine: Machine) -> Tables:
    """All tables of a machine."""
    sizes: dict[str, int] = {}
    sections: dict[str, Any] = {}
    for part in (machine.sections(), step_sections(machine), loop_sections(machine)):
        sizes, sections = sizes | part[0], sections | part[1]
    return Tables.of(sizes, sections)


def step_sections(machine: Machine) -> tuple[dict[str, int], dict[str, Any]]:
    """Sizes and sections of the step: clusters, factors, and where their entries come from."""
    rows = rows_of(machine)
    clusters = clusters_of(machine, rows)
    pattern = Pattern()
    lists: dict[str, list[int]] = {name: [] for name in ("part", "loop", "constant", "unknown")}
    ends: dict[str, list[int]] = {name: [0] for name in lists}
    h_place: list[int] = []
    j_place: list[int] = []
    stiff_place: list[int] = []
    soft, loose = machine.rank < machine.rows, not machine.massive
    constants = [index for index, row in enumerate(rows) if row.loop < 0]
    for cluster in clusters:
        adjacent, waiting = _graph(machine, cluster, rows)
        if loose:
            _join(adjacent, waiting)
        pattern.eliminate(adjacent, waiting)
        h_place += [pattern.place(*pair) for pair in _pairs(machine, cluster)]
        own = [index for index in cluster.rows if rows[index].loop < 0]
        for loop in cluster.loops:
            mine = [index for index in cluster.rows if rows[index].loop == loop]
            j_place += [pattern.place(-1 - i, k) for k in rows[mine[0]].columns for i in mine]
        j_place += [pattern.place(-1 - i, k) for i in own for k in rows[i].columns]
        if loose:
            stiff_place += pattern.pairs_of_rows([(i, rows[i].columns) for i in cluster.rows])
        lists["part"] += reversed(cluster.parts)
        lists["loop"] += cluster.loops
        lists["constant"] += [constants.index(index) for index in own]
        for name, end in ends.items():
            end.append(len(pattern.order) if name == "unknown" else len(lists[name]))
    rank = {unknown: k for k, unknown in enumerate(pattern.order)}
    inner = _inner(machine, clusters)
    columns = machine.columns()
    sizes = {
        "clusters": len(clusters),
        "unknowns": len(pattern.order),
        "values": len(pattern.below),
        "soft_unknowns": len(pattern.order) * soft,
        "soft_values": len(pattern.below) * soft,
        "constants": len(constants),
    }
    return sizes, {
        "cluster_parent": [cluster.parent for cluster in clusters],
        "cluster_part": ends["part"],
        "part_list": lists["part"],
        "cluster_loop": ends["loop"],
        "loop_list": lists["loop"],
        "cluster_constant": ends["constant"],
        "constant_list": lists["constant"],
        "cluster_unknown": ends["unknown"],
        "inner": inner,
        "dense": _dense(machine, clusters, inner),
        "is_row": [unknown < 0 for unknown in pattern.order],
        "last_common": [last_common(machine, [loop.first, loop.second]) for loop in machine.loops],
        "column_unknown": [rank[k] for k in range(columns[-1])],
        "row_unknown": [rank.get(-1 - i, 0) for i in range(len(rows))],
        "coupling": np.cumsum([0, *(len(rows[i].columns) for i in constants)]),
        "coupled": [k for i in constants for k in rows[i].columns],
        "coefficient": [x for i in constants for x in rows[i].coefficients or ()],
        "start": pattern.start,
        "below": pattern.below,
        "update": pattern.update,
        "h_place": h_place,
        "j_place": j_place,
        "stiff_place": stiff_place,
        "massive": [machine.massive],
        "soft": [soft and len(cluster.rows) > 0 for cluster in clusters],
        "stiffened": [loose and len(cluster.rows) > 0 for cluster in clusters],
    }


def _inner(machine: Machine, clusters: Sequence[Cluster]) -> list[bool]:
    """Whether the parent of each part is of the same cluster."""
    result = [False] * (len(machine.parts) + 1)
    for cluster in clusters:
        for part in cluster.parts:
            result[part] = machine.parts[part - 1].parent in cluster.parts
    return result


def _dense(machine: Machine, clusters: Sequence[Cluster], inner: Sequence[bool]) -> list[bool]:
    """Whether clusters move against each part, or against one behind it in its cluster."""
    outside = {cluster.parent for cluster in clusters}
    result = [part in outside for part in range(len(machine.parts) + 1)]
    for part in range(len(machine.parts), 0, -1):
        if inner[part] and result[part]:
            result[machine.parts[part - 1].parent] = True
    return result


def _pairs(machine: Machine, cluster: Cluster) -> Iterator[tuple[int, int]]:
    """Columns that inertia couples, in the order in which the kernel finds the entries."""
    start = machine.columns()
    for part in reversed(cluster.parts):
        above = [p for p in way_up(machine, part, cluster.parent) if p != part]
        for k in range(start[part], start[part + 1]):
            yield from ((i, k) for i in range(start[part], k + 1))
            yield from ((i, k) for p in above for i in range(start[p], start[p + 1]))


def _graph(
    machine: Machine, cluster: Cluster, rows: Sequence[Row]
) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Neighbours of the unknowns of a cluster, and the columns of its rows."""
    adjacent: dict[int, set[int]] = {}
    for i, k in _pairs(machine, cluster):
        adjacent.setdefault(i, set()).add(k)
        adjacent.setdefault(k, set()).add(i)
    for k, near in adjacent.items():
        near.discard(k)
    waiting = {-1 - i: set(rows[i].columns) for i in cluster.rows}
    for row, columns in waiting.items():
        adjacent[row] = set(columns)
        for k in columns:
            adjacent[k].add(row)
    return adjacent, waiting
