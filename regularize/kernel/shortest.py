"""Which entries the rows have on velocities, and the factors of the products of all their pairs.

Products of rows that share no velocity are zero: factors of :math:`J J^T` are sparse, found once,
in an order of least degree.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from regularize.kernel.loop_sets import steps_of
from regularize.kernel.machine import Machine
from regularize.kernel.pattern import Pattern, least_degree


def shortest_sections(machine: Machine) -> tuple[dict[str, int], dict[str, Any]]:
    """Sizes and sections of the shortest steps onto the closed loops; see ``tables.h``.

    Where rows depend on each other there are no factors, and other ways to solve.
    """
    rate = [part.rate + k for part in machine.parts for k in range(part.freedoms)]
    velocities: list[list[int]] = []
    slot: list[int] = []
    for loop, steps in zip(machine.loops, steps_of(machine), strict=True):
        mine = list(dict.fromkeys(rate[k] for k, _ in steps))
        slot += [mine.index(rate[k]) for k, _ in steps]
        velocities += [mine] * len(loop.covectors)
    for coupling in machine.couplings:
        velocities.append(np.flatnonzero(coupling).tolist())
    entry = np.cumsum([0, *map(len, velocities)])
    on: dict[int, list[tuple[int, int]]] = {}
    for r, mine in enumerate(velocities):
        for n, i in enumerate(mine):
            on.setdefault(i, []).append((r, int(entry[r]) + n))
    pattern, gram = Pattern(), list[int]()
    if machine.rank == machine.rows:
        adjacent: dict[int, set[int]] = {r: set() for r in range(machine.rows)}
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
    }
