"""Parts that loops couple: each group is solved as one, and groups form a tree again.

Two parts belong together where a loop or a coupling runs through both, on the way from its bodies
to the last body that they have in common. A group moves against a single body, so the groups can
be eliminated from the leaves inwards as single joints are in the articulated-body algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regularize.kernel.machine import Machine


@dataclass(frozen=True, eq=False, repr=False)
class Row:
    """A row of the loops, a coupling, or what a part follows another one by.

    Attributes:
        columns: Columns that it acts on, in the order in which the kernel meets them.
        coefficients: Its constant entries there; None where it belongs to a loop.
        loop: The loop, or -1.
    """

    columns: tuple[int, ...]
    coefficients: tuple[float, ...] | None
    loop: int


@dataclass(frozen=True, eq=False, repr=False)
class Cluster:
    """Parts that are solved as one.

    Attributes:
        parent: Part that they move against; 0 is the ground.
        parts: Its parts, increasing.
        loops: Loops within it.
        rows: Its rows, by their place among all.
    """

    parent: int
    parts: tuple[int, ...]
    loops: tuple[int, ...]
    rows: tuple[int, ...]


def way_up(machine: Machine, part: int, end: int) -> list[int]:
    """Parts from one down to, and without, one of those that it hangs on."""
    way = []
    while part != end:
        way.append(part)
        part = machine.parts[part - 1].parent
    return way


def last_common(machine: Machine, parts: Sequence[int]) -> int:
    """The last part that all the given parts hang on, or are."""
    common, *rest = parts
    for part in rest:
        above = {common, *way_up(machine, common, 0), 0}
        while part not in above:
            part = machine.parts[part - 1].parent
        common = part
    return common


def rows_of(machine: Machine) -> list[Row]:
    """All rows: those of the loops, of the couplings, and of the parts that follow others."""
    start, rows = machine.columns(), []
    for index, loop in enumerate(machine.loops):
        end = last_common(machine, [loop.first, loop.second])
        ways = [*way_up(machine, loop.second, end), *way_up(machine, loop.first, end)]
        columns = tuple(k for part in ways for k in range(start[part], start[part + 1]))
        rows += [Row(columns, None, index)] * len(loop.covectors)
    own = machine.own_columns()
    for coupling in machine.couplings:
        entries = [(own[i], float(value)) for i, value in enumerate(coupling) if value != 0.0]
        rows.append(Row(tuple(c for c, _ in entries), tuple(x for _, x in entries), -1))
    for part, moving in enumerate(machine.parts, start=1):
        if moving.follows:
            rows.append(Row((start[part], own[moving.rate]), (1.0, -moving.scaling), -1))
    return rows


def clusters_of(machine: Machine, rows: Sequence[Row]) -> list[Cluster]:
    """The groups, each behind those that hang on it."""
    start, count = machine.columns(), len(machine.parts) + 1
    owner = [b for b in range(1, count) for _ in range(start[b], start[b + 1])]
    group = list(range(count))

    def found(part: int) -> int:
        while group[part] != part:
            group[part] = group[group[part]]
            part = group[part]
        return part

    parents = [0, *(part.parent for part in machine.parts)]
    for columns in {row.columns for row in rows}:
        parts = sorted({owner[k] for k in columns})
        end = last_common(machine, [parents[part] for part in parts]) if parts else 0
        ways = [part for last in parts for part in way_up(machine, last, end)]
        for part in ways[1:]:
            group[found(part)] = found(ways[0])
    members: dict[int, list[int]] = {}
    for part in range(1, count):
        members.setdefault(found(part), []).append(part)
    inside = {root: ([], []) for root in members}  # type: dict[int, tuple[list[int], list[int]]]
    for index, row in enumerate(rows):
        if row.columns:
            loops, mine = inside[found(owner[row.columns[0]])]
            mine.append(index)
            if row.loop >= 0 and row.loop not in loops:
                loops.append(row.loop)
    # The first part of a group has the lowest number, and its parent a lower one still.
    order = sorted(members, key=lambda root: -members[root][0])
    return [
        Cluster(parents[members[root][0]], tuple(members[root]), *(tuple(x) for x in inside[root]))
        for root in order
    ]
