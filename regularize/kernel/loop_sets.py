"""Which columns close a loop, and which rows hang together: what derivatives are solved by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regularize.kernel.machine import Machine


def steps_of(machine: Machine) -> list[list[tuple[int, int]]]:
    """Of each loop the columns that move one of its parts alone; 1 where that is the second."""
    parts, column = machine.parts, machine.columns()

    def path(b: int) -> list[int]:
        columns: list[int] = []
        while b:
            columns = [*range(column[b], column[b + 1]), *columns]
            b = parts[b - 1].parent
        return columns

    steps = []
    for loop in machine.loops:
        first, second = path(loop.first), path(loop.second)
        alone = [(k, -1) for k in first if k not in second]
        steps.append(alone + [(k, 1) for k in second if k not in first])
    return steps


def loop_sections(machine: Machine) -> tuple[dict[str, int], dict[str, Any]]:
    """Sizes and sections of the loops' columns and of the sets of rows; see ``tables.h``."""
    owner = [b + 1 for b, part in enumerate(machine.parts) for _ in range(part.freedoms)]
    rate = [part.rate + k for part in machine.parts for k in range(part.freedoms)]
    steps = steps_of(machine)
    touched: list[set[int]] = []
    for loop, alone in zip(machine.loops, steps, strict=True):
        touched += [{rate[k] for k, _ in alone}] * len(loop.covectors)
    touched += [set(np.flatnonzero(row).tolist()) for row in machine.couplings]
    sets = _joined(touched, machine.rank == len(touched))
    ranks = [min(len(rows), machine.rank) for rows, _ in sets]
    free = machine.nv - sum(ranks)
    every = set[int]().union(*touched)
    outside = [i for i in range(machine.nv) if i not in every]
    sizes = {
        "sets": len(sets),
        "free": free,
        "alone": len(outside),
        "set_values": sum(len(rows) * len(velocities) for rows, velocities in sets),
        "set_rates": 2 * sum(r * len(v) for r, (_, v) in zip(ranks, sets, strict=True)),
        "squares": machine.nv**2,
        "row_values": len(touched) * machine.nv,
        "basis_values": machine.nv * free,
        "responses": free * (2 * machine.nv + free),
    }
    return sizes, {
        "moved": owner,
        "step": np.cumsum([0, *map(len, steps)]),
        "stepped": [k for alone in steps for k, _ in alone],
        "sense": [side for alone in steps for _, side in alone],
        "set_row": np.cumsum([0, *(len(rows) for rows, _ in sets)]),
        "row_of_set": [r for rows, _ in sets for r in sorted(rows)],
        "set_velocity": np.cumsum([0, *(len(velocities) for _, velocities in sets)]),
        "velocity_of_set": [i for _, velocities in sets for i in sorted(velocities)],
        "set_rank": ranks,
        "velocity_alone": outside,
    }


def _joined(touched: Sequence[set[int]], independent: bool) -> list[tuple[set[int], set[int]]]:
    """Rows that share no velocity with others, and their velocities.

    Where rows depend on each other one set holds all: which of the sets lack rank is not known.
    """
    sets: list[tuple[set[int], set[int]]] = []
    for r, velocities in enumerate(touched):
        rows, mine = {r}, set(velocities)
        apart = []
        for others, theirs in sets:
            if theirs & mine or not independent:
                rows, mine = rows | others, mine | theirs
            else:
                apart.append((others, theirs))
        sets = [*apart, (rows, mine)]
    return sets
