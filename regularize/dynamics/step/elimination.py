r"""The order in which a cluster's unknowns are eliminated, and where numbers go meanwhile.

The accelerations of the columns and the multipliers of the rows solve

.. math:: \begin{pmatrix} H & J^T \\ J & 0 \end{pmatrix}
          \begin{pmatrix} a \\ -\lambda \end{pmatrix} = \begin{pmatrix} f \\ -\gamma \end{pmatrix}.

Its factors :math:`L D L^T` have a pattern that does not depend on the configuration: it is found
once, for an order of least degree in which a row comes behind all of its columns. Then its pivot is
minus a Schur complement of independent rows, and never zero.

Trees that move in one plane have tables of vectors with three numbers, see ``plane.c``: a twist is
a velocity in the plane and a rate about its normal. All frames have the plane's axes while every
motion is zero, so that only the links' own motions turn them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from regularize.dynamics.step.compiled import Tables
from regularize.dynamics.step.deep import BodyPrograms, deep_program
from regularize.dynamics.step.minimum_norm import loop_sections, minimum_norm_sections
from regularize.dynamics.step.multibody import (
    Cluster,
    Loop,
    MultibodyTree,
    Row,
    closing_of,
    clusters_of,
    frame_about,
    last_common,
    rows_of,
    unknowns_of,
    way_up,
)
from regularize.dynamics.step.pattern import Pattern, least_degree, neighbours, sampled_pivots
from regularize.dynamics.step.posing import freedoms, random_pose
from regularize.lie.arrays import Array


def _least_work(tree: MultibodyTree, cluster: Cluster, rows: Sequence[Row]) -> int:
    """Return about how many multiplications the entries in joint coordinates take."""
    entries = sum(len(rows[index].columns) for index in cluster.rows)
    return 7 * (entries + sum(1 for _ in _pairs(tree, cluster)))


def _work(structs: Mapping[int, set[int]], rooted: bool) -> int:
    """Return how many multiplications the elimination takes; moving parents add six sides."""
    sides = 0 if rooted else 2
    return sum(len(near) * ((len(near) + 1) // 2 + sides) for near in structs.values())


def tables_of(tree: MultibodyTree) -> Tables:
    """Return all tables of a tree."""
    sizes, sections = step_sections(tree)
    shortest = minimum_norm_sections(tree, sections.get("deep", ()))
    for sizes_and_sections in (tree.sections(), loop_sections(tree), shortest):
        sizes, sections = sizes | sizes_and_sections[0], sections | sizes_and_sections[1]
    return Tables.of(sizes, sections)


def step_sections(tree: MultibodyTree) -> tuple[dict[str, int], dict[str, Any]]:
    """Return sizes and sections of the step, without factors where dense elimination solves."""
    rows = rows_of(tree)
    constants = [index for index, row in enumerate(rows) if row.loop < 0]
    curves, entries = curve_sections(tree, [rows[i] for i in constants])
    sizes = {"constants": len(constants), "curves": len(tree.curves), "coupled_entries": entries}
    sections: dict[str, Any] = {
        "coupling": np.cumsum([0, *(len(rows[i].columns) for i in constants)]),
        "coupled": [k for i in constants for k in rows[i].columns],
        "coefficient": [x for i in constants for x in rows[i].coefficients or ()],
        **curves,
    }
    factored = None
    if tree.massive and tree.rank == tree.rows:
        factored = _cluster_sections(tree, rows, constants)
    if factored is None:
        return sizes, {**sections, "direct": [False], "flat": [False, False]}
    return sizes | factored[0], {**sections, "direct": [True], **factored[1]}


def curve_sections(tree: MultibodyTree, rows: Sequence[Row]) -> tuple[dict[str, Any], int]:
    """Return sections of couplings' curves, and how many entries the constant rows have."""
    columns, loops = tree.own_columns(), sum(len(loop.covectors) for loop in tree.loops)
    start = np.cumsum([0, *(len(row.columns) for row in rows)]).tolist()
    pieces = [
        (begin, origin, *coefficients)
        for _, _, curve in tree.curves
        for begin, origin, coefficients in zip(
            (-np.inf, *curve.breaks), curve.origins, curve.pieces, strict=True
        )
    ]
    return {
        "curve_row": [loops + row for row, _, _ in tree.curves],
        "curve_entry": [
            start[row] + rows[row].columns.index(columns[v]) for row, v, _ in tree.curves
        ],
        "curve_piece": np.cumsum([0, *(len(curve.pieces) for _, _, curve in tree.curves)]),
        "piece": np.array(pieces),
    }, start[-1]


def _cluster_sections(
    tree: MultibodyTree,
    rows: Sequence[Row],
    constants: Sequence[int],
    *,
    words: float = 0.07,
    dense: float = 2e5,
    longest: float = 4e6,
    saving: float = 0.6,
    clear: float = 1e-4,
    most: int = 500,
) -> tuple[dict[str, int], dict[str, Any]] | None:
    """Return sizes and sections of clusters and factors; None where they would be too large.

    ``words`` of a program in body coordinates take as long as a multiplication in joint
    coordinates; beyond ``dense`` multiplications dense algebra is as quick, and beyond ``longest``
    their list takes too much room. Rows come before columns where that is at most ``saving`` of the
    work with pivots of at least ``clear``, in clusters of ``most`` unknowns.
    """
    clusters = clusters_of(tree, rows)
    pattern, programs, posed = Pattern(), BodyPrograms(), random_pose(tree)
    lists: dict[str, list[int]] = {name: [] for name in ("link", "loop", "constant", "unknown")}
    ends: dict[str, list[int]] = {name: [0] for name in lists}
    h_place: list[int] = []
    j_place: list[int] = []
    earlies: list[bool] = []
    for cluster in clusters:
        program, early = None, False
        if len(cluster.rows) > 0:
            program = deep_program(tree, cluster, rows, posed, len(pattern.order), programs)
        structs, least = None, _least_work(tree, cluster, rows)
        if program is None and least > dense:
            return None
        if program is None or words * least < len(program.code):
            structs = least_degree(*_graph(tree, cluster, rows))
            rooted = cluster.parent == 0
            if len(cluster.rows) > 0 and len(structs) <= most:
                ready = sampled_pivots(tree, cluster, rows, posed)
                sooner = least_degree(*_graph(tree, cluster, rows), ready)
                works = [least + _work(order, rooted) for order in (sooner, structs)]
                if works[0] <= saving * works[1] and ready.clearness > clear:
                    structs, early = sooner, True
            work = least + _work(structs, rooted)
            if program is not None and (words * work > len(program.code) or work > longest):
                structs, early = None, False
        earlies.append(early)
        programs.add(program if structs is None else None)
        constant_rows = [index for index in cluster.rows if rows[index].loop < 0]
        if structs is None:
            pattern.skip(unknowns_of(tree, cluster))
        else:
            pattern.eliminate(structs)
            h_place += [pattern.place(*pair) for pair in _pairs(tree, cluster)]
            for loop in cluster.loops:
                loop_rows = [index for index in cluster.rows if rows[index].loop == loop]
                j_place += [
                    pattern.place(-1 - i, k) for k in rows[loop_rows[0]].columns for i in loop_rows
                ]
            j_place += [pattern.place(-1 - i, k) for i in constant_rows for k in rows[i].columns]
        lists["link"] += reversed(cluster.links)
        lists["loop"] += cluster.loops
        lists["constant"] += [constants.index(index) for index in constant_rows]
        for name, end in ends.items():
            end.append(len(pattern.order) if name == "unknown" else len(lists[name]))
    rank = {unknown: k for k, unknown in enumerate(pattern.order)}
    cluster_of = {link: k for k, cluster in enumerate(clusters) for link in cluster.links}
    pairs = enumerate((link.parent for link in tree.links), start=1)
    inner = [False, *(cluster_of[b] == cluster_of.get(parent) for b, parent in pairs)]
    columns = tree.columns()
    flat = None if any(programs.deep) else plane_sections(tree)
    sizes = {
        "clusters": len(clusters),
        "unknowns": len(pattern.order),
        "values": len(pattern.below),
        "cells": programs.cells,
    }
    return sizes, {
        "cluster_parent": [cluster.parent for cluster in clusters],
        "cluster_link": ends["link"],
        "link_list": lists["link"],
        "cluster_loop": ends["loop"],
        "loop_list": lists["loop"],
        "cluster_constant": ends["constant"],
        "constant_list": lists["constant"],
        "cluster_unknown": ends["unknown"],
        "inner": inner,
        "dense": _dense(tree, clusters, inner),
        "is_row": [unknown < 0 for unknown in pattern.order],
        "last_common": [last_common(tree, [loop.first, loop.second]) for loop in tree.loops],
        "column_unknown": [rank[k] for k in range(columns[-1])],
        "row_unknown": [rank.get(-1 - i, 0) for i in range(len(rows))],
        **programs.sections(),
        **(flat or {"flat": [False, False]}),
        "start": pattern.start,
        "below": pattern.below,
        "block": pattern.block,
        "update": pattern.update,
        "h_place": h_place,
        "j_place": j_place,
        "early": earlies,
    }


def _dense(tree: MultibodyTree, clusters: Sequence[Cluster], inner: Sequence[bool]) -> list[bool]:
    """Return per link whether a cluster moves against it, or against one behind it in a cluster."""
    outside = {cluster.parent for cluster in clusters}
    result = [link in outside for link in range(len(tree.links) + 1)]
    for link in range(len(tree.links), 0, -1):
        if inner[link] and result[link]:
            result[tree.links[link - 1].parent] = True
    return result


def _pairs(tree: MultibodyTree, cluster: Cluster) -> Iterator[tuple[int, int]]:
    """Yield columns that inertia couples, in the order in which the kernel finds the entries."""
    start = tree.columns()
    for link in reversed(cluster.links):
        above = [p for p in way_up(tree, link, cluster.parent) if p != link]
        for k in range(start[link], start[link + 1]):
            yield from ((i, k) for i in range(start[link], k + 1))
            yield from ((i, k) for p in above for i in range(start[p], start[p + 1]))


def _graph(
    tree: MultibodyTree, cluster: Cluster, rows: Sequence[Row]
) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Return neighbours of the unknowns of a cluster, and the columns of its rows."""
    on_rows = ((k, -1 - r) for r in cluster.rows for k in rows[r].columns)
    return neighbours([*_pairs(tree, cluster), *on_rows], unknowns_of(tree, cluster))


def plane_sections(tree: MultibodyTree, *, rounding: float = 1e-13) -> dict[str, Any] | None:
    """Return sections of a tree that moves in one plane and turns; None for others."""
    poses, turns = [np.eye(4)], []
    for link in tree.links:
        poses.append(poses[link.parent] @ link.placement)
        turns += [poses[-1][:3, :3] @ x for x in freedoms(link)[3:].T if x.any()]
    if not turns:
        return None
    axes = frame_about(turns[0])[:3, :3]
    columns, inertias, points = [np.zeros((0, 3))], [np.zeros(4)], np.array(poses)[:, :3, 3]
    for link, T in zip(tree.links, poses[1:], strict=True):
        R = axes.T @ T[:3, :3]
        twists = np.concatenate([R @ freedoms(link)[:3], R @ freedoms(link)[3:]])
        if np.max(np.abs(twists[2:5])) > rounding:
            return None
        columns.append(twists[[0, 1, 5]].T)
        moment = link.inertia[3:, :3]  # the mass times the cross matrix of the centre
        first = R @ (moment[2, 1], moment[0, 2], moment[1, 0])
        second = R[2] @ link.inertia[3:, 3:] @ R[2]
        inertias.append(np.array([link.inertia[0, 0], *first[:2], second]))
    arms = [points[b] - points[link.parent] for b, link in enumerate(tree.links, start=1)]
    turned = [axes.T @ (poses[x.first] @ x.row_frame)[:3, :3] for x in tree.loops]
    covectors = [
        np.concatenate([x.covectors[:, :3] @ R[:2].T, x.covectors[:, 3:] @ R[2:].T], axis=1)
        for x, R in zip(tree.loops, turned, strict=True)
    ]
    hinged = all(_is_flat_hinge(x, poses, axes[:, 2], rounding) for x in tree.loops)

    def in_plane(frames: Iterable[tuple[int, Array]]) -> Array:
        """Return origins of frames in links along axes of the plane, (N, 2)."""
        places = [poses[link][:3, :3] @ T[:3, 3] for link, T in frames]
        return np.array(places).reshape(-1, 3) @ axes[:, :2]

    return {
        "flat": [True, hinged],
        "flat_first": in_plane((x.first, x.first_frame) for x in tree.loops),
        "flat_second": in_plane((x.second, x.second_frame) for x in tree.loops),
        "flat_placement": np.array([np.zeros(3), *arms]) @ axes[:, :2],
        "flat_axis": np.concatenate(columns),
        "flat_inertia": np.array(inertias),
        "flat_gravity": tree.gravity @ axes[:, :2],
        "flat_point": in_plane((x.first, x.row_frame) for x in tree.loops),
        "flat_covector": np.concatenate([np.zeros((0, 3)), *covectors]),
    }


def _is_flat_hinge(loop: Loop, poses: Sequence[Array], normal: Array, rounding: float) -> bool:
    """Return whether a loop closes by a hinge across the plane, with no row out of it."""
    if closing_of(loop) != "revolute":
        return False
    axis = loop.screws[3:, 0] / np.linalg.norm(loop.screws[3:, 0])
    ends = (loop.first, loop.first_frame), (loop.second, loop.second_frame)
    turned = [np.cross(poses[link][:3, :3] @ T[:3, :3] @ axis, normal) for link, T in ends]
    R = (poses[loop.first] @ loop.row_frame)[:3, :3]
    along = loop.covectors[:, :3] @ R.T @ normal
    across = np.cross(loop.covectors[:, 3:] @ R.T, normal)
    return bool(max(np.max(np.abs(x), initial=0.0) for x in (*turned, along, across)) <= rounding)
