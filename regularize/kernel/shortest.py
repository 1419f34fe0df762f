"""Which entries the rows have on velocities, and the factors of the products of all their pairs.

Products of rows that share no velocity are zero: factors of :math:`J J^T` are sparse, found once,
in an order of least degree. Long loops share velocities with all others, and clusters of such are
eliminated in body coordinates instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from regularize.kernel.clusters import Cluster, Row, clusters_of, rows_of
from regularize.kernel.deep import ShortestFront, deep_program
from regularize.kernel.loop_sets import steps_of
from regularize.kernel.machine import Machine
from regularize.kernel.pattern import Pattern, least_degree
from regularize.kernel.posing import posed_anyhow
from regularize.kernel.programs import BodyPrograms


def _products(cluster: Cluster, rows: Sequence[Row]) -> int:
    """How many products of entries of a cluster's rows there are."""
    on = Counter(k for r in cluster.rows for k in rows[r].columns)
    return sum(n * (n + 1) // 2 for n in on.values())


def _deep_programs(
    machine: Machine, deep: Sequence[bool], words: float = 0.4
) -> tuple[BodyPrograms, set[int]]:
    """Programs of the clusters that are eliminated in body coordinates, and the rows of these.

    Args:
        machine: The machine.
        deep: Clusters that may be.
        words: Words of a program that take as long as the product of two entries.
    """
    rows, programs, place, done = rows_of(machine), BodyPrograms(), 0, set[int]()
    posed = posed_anyhow(machine)
    posed = replace(posed, inertias=np.zeros_like(posed.inertias))
    for cluster, is_deep in zip(clusters_of(machine, rows), deep, strict=True):
        program = None
        if is_deep and not any(machine.parts[b - 1].follows for b in cluster.parts):
            program = deep_program(machine, cluster, rows, posed, place, programs, ShortestFront)
        columns = sum(machine.parts[b - 1].freedoms for b in cluster.parts)
        if program is not None and len(program.code) > words * _products(cluster, rows):
            program = None
        programs.add(program)
        done |= set() if program is None else {*cluster.rows}
        place += columns + len(cluster.rows)
    return programs, done


def shortest_sections(
    machine: Machine, deep: Sequence[bool]
) -> tuple[dict[str, int], dict[str, Any]]:
    """Sizes and sections of the shortest steps onto the closed loops; see ``tables.h``.

    Where rows depend on each other there are no factors, and other ways to solve.

    Args:
        machine: The machine.
        deep: Whether the step eliminates each cluster in body coordinates.
    """
    programs, done = _deep_programs(machine, deep)
    rate = [part.rate + k for part in machine.parts for k in range(part.freedoms)]
    velocities: list[list[int]] = []
    slot: list[int] = []
    for loop, steps in zip(machine.loops, steps_of(machine), strict=True):
        place = {i: n for n, i in enumerate(dict.fromkeys(rate[k] for k, _ in steps))}
        slot += [place[rate[k]] for k, _ in steps]
        velocities += [[*place]] * len(loop.covectors)
    for coupling in machine.couplings:
        velocities.append(np.flatnonzero(coupling).tolist())
    velocities = [[] if r in done else mine for r, mine in enumerate(velocities)]
    entry = np.cumsum([0, *map(len, velocities)])
    on: dict[int, list[tuple[int, int]]] = {}
    for r, mine in enumerate(velocities):
        for n, i in enumerate(mine):
            on.setdefault(i, []).append((r, int(entry[r]) + n))
    pattern, gram = Pattern(), list[int]()
    if machine.rank == machine.rows:
        adjacent: dict[int, set[int]] = {r: set() for r in range(machine.rows) if r not in done}
        for rows in on.values():
            for (r, _), (s, _) in combinations(rows, 2):
                adjacent[r].add(s)
                adjacent[s].add(r)
        pattern.eliminate(least_degree(adjacent, {}))
        for rows in on.values():
            gram += [len(rows), *(place for _, place in rows)]
            gram += [pattern.place(r, s) for n, (r, _) in enumerate(rows) for s, _ in rows[n:]]
    rank = {row: k for k, row in enumerate(pattern.order)}
    sizes = {
        "row_entries": int(entry[-1]),
        "row_factors": len(pattern.below),
        "gram_numbers": len(gram),
        "gram_rows": len(pattern.order),
        "near_cells": programs.cells[-1],
    }
    return sizes, {
        "entry": entry,
        "entry_velocity": [i for mine in velocities for i in mine],
        "slot": slot,
        "gram": gram,
        "row_rank": [rank.get(r, r) for r in range(machine.rows)],
        "factor_start": pattern.start,
        "factor_below": pattern.below,
        "factor_block": pattern.block,
        "factor_update": pattern.update,
        "near_operation": programs.operations,
        "near_start": programs.starts,
        "near_code": programs.code,
        "near_row": programs.rows,
        "near_entry": programs.entries,
    }
