"""Redundancy that other lengths keep: what is owed to the relations of the axes, not to a length.

What the joint axes do not prove may still be owed to them alone. Lengths and angles are drawn anew
with the relations of the axes kept, and the redundant equations counted again. What every such
mechanism has is topological; only the rest needs the lengths as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from regularize.loops.kinematics import sized_loops
from regularize.mechanism.cycles import minimum_cycle_basis
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.block import Block
from regularize.reduction.mobility import CellMobility, generic_configurations, singular_values
from regularize.reduction.reduce import Reduction
from regularize.tolerances import Tolerances

if TYPE_CHECKING:
    from regularize.repair.nominal.axis_relations import AxisRelations


def with_other_lengths(reduction: Reduction, tries: int = 4) -> Reduction:
    """The reduction with its topological redundancy as other lengths show it.

    Args:
        reduction: From ``reduce``.
        tries: Number of mechanisms with other lengths for each block that has equations left over.
    """
    parts = tuple(_tried(reduction, part, tries) for part in reduction.parts)
    return replace(reduction, parts=parts)


def _tried(reduction: Reduction, part: Block, tries: int) -> Block:
    kept = sum(cut.kept + cut.edge.freedoms for cut in part.cuts)
    left = kept - part.rank
    if not part.proved or left <= part.topological or _coupled(reduction, part):
        return part
    removed = 6 * len(part.cuts) - kept
    cell = reduction.cell_at[part.edges[0]]
    relations = _relations(reduction, part, cell)
    rng = np.random.default_rng(reduction.seed)
    most = left
    for _ in range(tries):
        again = _redundant(relations.redrawn(rng), reduction.rtol, rng) - removed
        most = max(min(most, again), part.topological)
        if most == part.topological:
            break
    # Rigid, it would have redundant equations as well: what moves owes all of them to its lengths.
    stays = most if most == left or cell.finite == 0 else part.topological
    groups = relations.parallel() if stays == left else []
    parallel = tuple(tuple(reduction.graph.edges[e].joint.name for e in group) for group in groups)
    return replace(part, topological=stays, lengths_tried=tries, parallel=parallel)


def _coupled(reduction: Reduction, part: Block) -> bool:
    """Whether gears and the like act on a block, whose ratios would have to follow the lengths."""
    columns = set(reduction.graph.columns(part.edges))
    return any(columns & set(coupling.columns) for coupling in reduction.graph.couplings)


def _relations(reduction: Reduction, part: Block, cell: CellMobility) -> AxisRelations:
    """Relations that hold at the configurations that the block's component was walked to."""
    from regularize.repair.nominal.axis_relations import (  # few have any left
        AxisRelations,
        elements,
    )

    graph, loops = reduction.graph, reduction.loops
    visited = cell.configurations[[0, *range(-min(4, len(cell.configurations)), 0)]]
    q = np.repeat(reduction.q[None], len(visited), axis=0)
    q[:, graph.columns(cell.edges)] = visited
    state = loops.state(q)
    edges = [graph.edges[e] for e in part.edges]
    columns = [loops.local(e)[k] for e, k in elements(edges)]
    v, w = state.screws[:, columns, :3], state.screws[:, columns, 3:]
    slides = np.linalg.norm(w, axis=2, keepdims=True) < np.finfo(float).eps
    ways = np.where(slides, v, w)
    ways /= np.linalg.norm(ways, axis=2, keepdims=True)
    return AxisRelations.of(edges, part.screws, ways, reduction.rtol)


def _redundant(mechanism: Mechanism, rtol: float, rng: np.random.Generator) -> int:
    """Redundant equations of a mechanism at generic configurations."""
    graph = build(mechanism)
    q = np.zeros(graph.freedoms)
    loops = sized_loops(graph, q)
    cycles = [c for block in graph.blocks for c in minimum_cycle_basis(graph, block)]
    visited = generic_configurations(loops, q, Tolerances.of(rtol), rng=rng, walkers=3, steps=2)
    every = np.concatenate([q[None], visited.reshape(-1, graph.freedoms)])
    values = singular_values(loops, every, cycles)
    return 6 * graph.loops - int(np.max(np.sum(values > rtol * values[:, :1], axis=1)))
