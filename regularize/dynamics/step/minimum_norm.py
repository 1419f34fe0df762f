"""Which columns close a loop, which entries rows have there, and factors of products of rows.

Products of rows that share no velocity are zero: factors of :math:`J J^T` are sparse, found once,
in an order of least degree. Long loops share velocities with all others, and clusters of such are
eliminated in body coordinates instead. Derivatives are solved by sets of rows that hang together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from regularize.dynamics.step.deep import BodyPrograms, MinimumNormElimination, deep_program
from regularize.dynamics.step.multibody import (
    Cluster,
    MultibodyTree,
    Row,
    clusters_of,
    rows_of,
    way_up,
)
from regularize.dynamics.step.pattern import Pattern, least_degree
from regularize.dynamics.step.posing import random_pose


def steps_of(tree: MultibodyTree) -> list[list[tuple[int, int]]]:
    """Return per loop the columns that move one link alone: 1 for the second link, -1 else."""
    column = tree.columns()

    def path(b: int) -> list[int]:
        chain = reversed(way_up(tree, b, 0))
        return [k for link in chain for k in range(column[link], column[link + 1])]

    steps = []
    for loop in tree.loops:
        first, second = path(loop.first), path(loop.second)
        alone = [(k, -1) for k in first if k not in second]
        steps.append(alone + [(k, 1) for k in second if k not in first])
    return steps


def loop_sections(tree: MultibodyTree) -> tuple[dict[str, int], dict[str, Any]]:
    """Return sizes and sections of the loops' columns and of the sets of rows."""
    owner = [b + 1 for b, link in enumerate(tree.links) for _ in range(link.freedoms)]
    rate, steps = tree.rates(), steps_of(tree)
    touched: list[set[int]] = []
    for loop, alone in zip(tree.loops, steps, strict=True):
        touched += [{rate[k] for k, _ in alone}] * len(loop.covectors)
    touched += [set(np.flatnonzero(row).tolist()) for row in tree.couplings]
    sets = _independent_sets(touched, tree.rank == len(touched))
    ranks = [min(len(rows), tree.rank) for rows, _ in sets]
    free = tree.nv - sum(ranks)
    every = set[int]().union(*touched)
    outside = [i for i in range(tree.nv) if i not in every]
    sizes = {
        "sets": len(sets),
        "free": free,
        "alone": len(outside),
        "set_values": sum(len(rows) * len(velocities) for rows, velocities in sets),
        "set_rates": 2 * sum(r * len(v) for r, (_, v) in zip(ranks, sets, strict=True)),
        "squares": tree.nv**2,
        "row_values": len(touched) * tree.nv,
        "basis_values": tree.nv * free,
        "responses": free * (2 * tree.nv + free),
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


def _independent_sets(
    touched: Sequence[set[int]], independent: bool
) -> list[tuple[set[int], set[int]]]:
    """Return sets of rows that share no velocity with others, and their velocities.

    Dependent rows are one set: which of several would lack rank is not known.
    """
    sets: list[tuple[set[int], set[int]]] = []
    for r, velocities in enumerate(touched):
        rows, its_velocities = {r}, set(velocities)
        apart = []
        for other_rows, other_velocities in sets:
            if other_velocities & its_velocities or not independent:
                rows, its_velocities = rows | other_rows, its_velocities | other_velocities
            else:
                apart.append((other_rows, other_velocities))
        sets = [*apart, (rows, its_velocities)]
    return sets


def _products(cluster: Cluster, rows: Sequence[Row]) -> int:
    """Return how many products of entries of a cluster's rows there are."""
    on = Counter(k for r in cluster.rows for k in rows[r].columns)
    return sum(n * (n + 1) // 2 for n in on.values())


def _deep_programs(
    tree: MultibodyTree, deep: Sequence[bool], words: float = 0.4
) -> tuple[BodyPrograms, set[int]]:
    """Return programs of the clusters in body coordinates, and the rows of these."""
    rows, programs, place, done = rows_of(tree), BodyPrograms(), 0, set[int]()
    posed = random_pose(tree)
    posed = replace(posed, inertias=np.zeros_like(posed.inertias))
    for cluster, is_deep in zip(clusters_of(tree, rows), deep, strict=True):
        program = None
        if is_deep and not any(tree.links[b - 1].follows for b in cluster.links):
            program = deep_program(
                tree, cluster, rows, posed, place, programs, MinimumNormElimination
            )
        columns = sum(tree.links[b - 1].freedoms for b in cluster.links)
        if program is not None and len(program.code) > words * _products(cluster, rows):
            program = None
        programs.add(program)
        done |= set() if program is None else {*cluster.rows}
        place += columns + len(cluster.rows)
    return programs, done


def minimum_norm_sections(
    tree: MultibodyTree, deep: Sequence[bool]
) -> tuple[dict[str, int], dict[str, Any]]:
    """Return sizes and sections of the shortest steps onto the closed loops."""
    programs, done = _deep_programs(tree, deep) if any(deep) else (BodyPrograms(), set[int]())
    rate = tree.rates()
    velocities: list[list[int]] = []
    slot: list[int] = []
    for loop, steps in zip(tree.loops, steps_of(tree), strict=True):
        place = {i: n for n, i in enumerate(dict.fromkeys(rate[k] for k, _ in steps))}
        slot += [place[rate[k]] for k, _ in steps]
        velocities += [[*place]] * len(loop.covectors)
    for coupling in tree.couplings:
        velocities.append(np.flatnonzero(coupling).tolist())
    velocities = [
        [] if r in done else its_velocities for r, its_velocities in enumerate(velocities)
    ]
    entry = np.cumsum([0, *map(len, velocities)])
    on: dict[int, list[tuple[int, int]]] = {}
    for r, its_velocities in enumerate(velocities):
        for n, i in enumerate(its_velocities):
            on.setdefault(i, []).append((r, int(entry[r]) + n))
    pattern, gram = Pattern(), list[int]()
    if tree.rank == tree.rows:
        adjacent: dict[int, set[int]] = {r: set() for r in range(tree.rows) if r not in done}
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
        "near_cells": programs.cells,
    }
    return sizes, {
        "entry": entry,
        "entry_velocity": [i for its_velocities in velocities for i in its_velocities],
        "slot": slot,
        "gram": gram,
        "row_rank": [rank.get(r, r) for r in range(tree.rows)],
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
