"""What a page needs to move the mechanism by itself: joints, tree, kept rows, freedoms, limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.extent import center_and_length
from regularize.model.graph import Edge, coordinate_names
from regularize.model.joint_values import limits_of
from regularize.reduction.cuts import Cut
from regularize.reduction.reduce import Reduction
from regularize.render.animation import drivers


def kinematics_data(reduction: Reduction) -> dict[str, Any]:
    """The mechanism as a product of exponentials with its kept rows; SI units, radians.

    Transforms are the first three rows of their matrix, one after the other (12 numbers). Nodes
    are given by their row among the poses. Rows of ``kept``, ``own`` (the closing joint's freedoms)
    and ``implied`` are covectors in the cut frame, linear part first and divided by ``length``.
    """
    r, loops, graph = reduction, reduction.loops, reduction.graph
    _, length = center_and_length(loops, r.q) if graph.edges else (None, 1.0)
    turns = np.zeros(graph.freedoms, dtype=bool)
    for edge in graph.edges:
        turns[list(edge.columns)] = np.any(edge.screws[3:] != 0.0, axis=0)
    place = {cut.edge.index: k for k, cut in enumerate(r.cuts)}
    couplings = r.coupled.couplings
    own = len(graph.couplings)
    return {
        "nodes": len(loops.nodes),
        "length": _plain(length),
        "q": _plain(r.q),
        "turns": turns.tolist(),
        "names": coordinate_names(r.mechanism),
        "limits": [
            _bounds(pair)
            for pair in zip(
                limits_of(r.mechanism, "lower"), limits_of(r.mechanism, "upper"), strict=True
            )
        ],
        "joints": [_joint(edge, r) for edge in graph.edges],
        "tree": [
            [e, loops.row(graph.edges[e].other(node)), loops.row(node)] for e, node in loops.tree
        ],
        "loops": [_loop(cut, r) for cut in r.cuts],
        "couplings": [
            {
                "columns": list(row.columns),
                "coefficients": _plain(row.coefficients),
                "offset": _plain(row.offset),
                "implied": k >= own,
            }
            for k, row in enumerate(couplings)
        ],
        "cells": [
            {
                "columns": list(graph.columns(cell)),
                "loops": [place[e] for e in cell if e in place],
                "couplings": [
                    k
                    for k, row in enumerate(couplings)
                    if set(row.columns) <= set(graph.columns(cell))
                ],
            }
            for cell in graph.cells
        ],
        "freedoms": [
            {
                "column": driver.column,
                "held": list(driver.others),
                "branch": driver.branch,
            }
            for driver in (drivers(r) if r.assembly.closed else ())
        ],
    }


def _joint(edge: Edge, r: Reduction) -> dict[str, Any]:
    return {
        "name": edge.joint.name,
        "parent": r.loops.row(edge.parent),
        "child": r.loops.row(edge.child),
        "columns": list(edge.columns),
        "screws": [_plain(column) for column in edge.screws.T],
        "group": edge.group,
        "before": _frame(edge.T_parent),
        "after": _frame(edge.T_child),
    }


def _loop(cut: Cut, r: Reduction) -> dict[str, Any]:
    chord = r.loops.chords.index(cut.edge.index)
    signs = r.loops.incidence[chord]
    implied = np.hstack([cut.removed, cut.thinned, cut.numerical])
    return {
        "joint": cut.edge.index,
        "node": r.loops.row(cut.node),
        "frame": _frame(cut.T_node_frame),
        "length": _plain(cut.length),
        "kept": [_plain(row) for row in cut.rows.T],
        "own": [_plain(row) for row in cut.freedoms.T],
        "implied": [_plain(row) for row in implied.T],
        "signs": [[int(k), int(signs[k])] for k in np.flatnonzero(signs)],
    }


def _frame(T: Array) -> Any:
    return _plain(T[:3].ravel())


def _bounds(pair: Iterable[float]) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in pair]


def _plain(values: Any) -> Any:
    """Numbers without the noise of rounding, which would make the page long."""
    return (np.round(np.asarray(values, dtype=np.float64), 14) + 0.0).tolist()
