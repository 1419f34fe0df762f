r"""The order in which a cluster's unknowns are eliminated, and where numbers go meanwhile.

The accelerations of the columns and the multipliers of the rows solve

.. math:: \begin{pmatrix} H & J^T \\ J & 0 \end{pmatrix}
          \begin{pmatrix} a \\ -\lambda \end{pmatrix} = \begin{pmatrix} f \\ -\gamma \end{pmatrix}.

Its factors :math:`L D L^T` have a pattern that does not depend on the configuration: it is found
once, for an order of least degree in which a row comes behind all of its columns. Then its pivot is
minus a Schur complement of independent rows, and never zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from regularize.kernel.clusters import Cluster, Row, clusters_of, last_common, rows_of, way_up
from regularize.kernel.deep import deep_program
from regularize.kernel.loop_sets import loop_sections
from regularize.kernel.machine import Machine
from regularize.kernel.pattern import Pattern, least_degree
from regularize.kernel.plane import plane_sections
from regularize.kernel.point_rows import point_sections
from regularize.kernel.posing import posed_anyhow
from regularize.kernel.programs import BodyPrograms, unknowns_of
from regularize.kernel.readiness import Readiness
from regularize.kernel.sections import Tables
from regularize.kernel.shortest import shortest_sections


def _join(adjacent: dict[int, set[int]], rows: dict[int, set[int]]) -> None:
    """Make the columns of every row neighbours of each other."""
    for columns in rows.values():
        for k in columns:
            adjacent[k] |= columns - {k}


def _least_work(machine: Machine, cluster: Cluster, rows: Sequence[Row]) -> int:
    """About how many multiplications the entries in joint coordinates take."""
    entries = sum(len(rows[index].columns) for index in cluster.rows)
    return 7 * (entries + sum(1 for _ in _pairs(machine, cluster)))


def _work(structs: Mapping[int, set[int]], rooted: bool) -> int:
    """How many their elimination takes; on moving bodies there are six more right-hand sides."""
    sides = 0 if rooted else 2
    return sum(len(near) * ((len(near) + 1) // 2 + sides) for near in structs.values())


def tables_of(machine: Machine) -> Tables | None:
    """All tables of a machine; None where rows of large, deep clusters may be dependent."""
    step = step_sections(machine)
    if step is None:
        return None
    sizes: dict[str, int] = {}
    sections: dict[str, Any] = {}
    shortest = shortest_sections(machine, step[1]["deep"])
    for part in (machine.sections(), step, loop_sections(machine), shortest):
        sizes, sections = sizes | part[0], sections | part[1]
    return Tables.of(sizes, sections)


def step_sections(
    machine: Machine,
    *,
    words: float = 0.07,
    dense: float = 2e5,
    longest: float = 4e6,
    saving: float = 0.6,
    clear: float = 1e-4,
    most: int = 500,
) -> tuple[dict[str, int], dict[str, Any]] | None:
    """Sizes and sections of the step: clusters, factors, and where their entries come from.

    Args:
        machine: The machine.
        words: Words of a program of body coordinates that take as long as a multiplication in joint
            coordinates.
        dense: Multiplications for entries in joint coordinates beyond which dense algebra is as
            quick.
        longest: Multiplications beyond which their list takes too much room.
        saving: Part of the multiplications with which rows that come before some of their columns
            are worth what they risk: another way to solve where their pivots are small.
        clear: Least part of the largest pivot of such rows that others must have at a sample.
        most: Unknowns of a cluster beyond which such an order is not looked for.

    Returns:
        None where it is.
    """
    rows = rows_of(machine)
    clusters = clusters_of(machine, rows)
    pattern, programs, posed = Pattern(), BodyPrograms(), posed_anyhow(machine)
    lists: dict[str, list[int]] = {name: [] for name in ("part", "loop", "constant", "unknown")}
    ends: dict[str, list[int]] = {name: [0] for name in lists}
    h_place: list[int] = []
    j_place: list[int] = []
    stiff_place: list[int] = []
    earlies: list[bool] = []
    soft, loose = machine.rank < machine.rows, not machine.massive
    constants = [index for index, row in enumerate(rows) if row.loop < 0]
    for cluster in clusters:
        program, early = None, False
        if not (soft or loose) and len(cluster.rows) > 0:
            program = deep_program(machine, cluster, rows, posed, len(pattern.order), programs)
        structs, least = None, _least_work(machine, cluster, rows)
        if program is None and least > dense:
            return None
        if program is None or words * least < len(program.code):
            adjacent, waiting = _graph(machine, cluster, rows)
            if loose:
                _join(adjacent, waiting)
            structs = least_degree(adjacent, waiting)
            rooted = cluster.parent == 0
            if not (soft or loose) and len(cluster.rows) > 0 and len(structs) <= most:
                ready = Readiness(machine, cluster, rows, posed)
                sooner = least_degree(*_graph(machine, cluster, rows), ready)
                works = [least + _work(each, rooted) for each in (sooner, structs)]
                if works[0] <= saving * works[1] and ready.clearness > clear:
                    structs, early = sooner, True
            work = least + _work(structs, rooted)
            if program is not None and (words * work > len(program.code) or work > longest):
                structs, early = None, False
        earlies.append(early)
        programs.add(program if structs is None else None)
        own = [index for index in cluster.rows if rows[index].loop < 0]
        if structs is None:
            pattern.skip(unknowns_of(machine, cluster))
        else:
            pattern.eliminate(structs)
            h_place += [pattern.place(*pair) for pair in _pairs(machine, cluster)]
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
    plain = not (soft or loose or any(programs.deep))
    kept = {
        loop
        for cluster, early in zip(clusters, earlies, strict=True)
        for loop in cluster.loops
        if early or not plain
    }
    flat = plane_sections(machine, kept) if plain else None
    sizes = {
        "clusters": len(clusters),
        "unknowns": len(pattern.order),
        "values": len(pattern.below),
        "cells": programs.cells[-1],
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
        **programs.sections(),
        **(flat or {"flat": [False, False], **point_sections(machine, kept)}),
        "start": pattern.start,
        "below": pattern.below,
        "block": pattern.block,
        "update": pattern.update,
        "h_place": h_place,
        "j_place": j_place,
        "stiff_place": stiff_place,
        "massive": [machine.massive],
        "early": earlies,
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
