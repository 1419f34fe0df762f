"""The linkages of special lengths of which loops may be: what the prover tries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regularize.lie.motion_type import motion_type
from regularize.mechanism.graph import Graph
from regularize.proofs.families import Found, exact_geometries
from regularize.proofs.geometry import equal_bars, integral, with_parallel_bars
from regularize.proofs.verifier import distance
from regularize.reduction.block import Block
from regularize.special.focal import focal
from regularize.special.planar import similar_triangles
from regularize.special.symmetric import schatz, symmetric


def of_hinges(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Linkages of hinges that are known by where all axes are.

    Relations within ``within``, in radians and parts of the size, are taken to be meant, and
    numbers moved to simpler ones by ``rounding``.
    """
    rigid = {e: () for e, s in part.screws.items() if not s.size}
    moving = {e: s for e, s in part.screws.items() if s.size}
    if {motion_type(np.linalg.qr(s)[0], within).name for s in moving.values()} != {"revolute"}:
        return
    if len(part.cycles) > 1:
        exact = focal(graph, part, within, rounding)
        if exact is not None:
            yield "focal mechanism", exact | rigid
        return
    edges = [e for e in part.cycles[0].edges if e in moving]
    axes = [part.screws[e][:, 0] / np.linalg.norm(part.screws[e][3:, 0]) for e in edges]
    for search in (symmetric, schatz):
        for name, lines in search(axes, within, rounding):
            rows = [integral([[*line[5:], *line[1:4]]]) for line in lines]
            off = [distance([*axis], row) for axis, row in zip(axes, rows, strict=True)]
            if max(off) <= within:
                yield name, dict(zip(edges, rows, strict=True)) | rigid


def of_similar_triangles(
    graph: Graph, part: Block, within: float, rounding: float
) -> Iterator[Found]:
    """Parallel hinges that make similar triangles; arguments as of_hinges."""
    for freedoms in exact_geometries(graph, part, within, rounding):
        equal = with_parallel_bars(freedoms, equal_bars(freedoms, within))
        exact = similar_triangles(equal, within, rounding)
        if exact is not None:
            yield "similar triangles", exact


#: What the prover tries, in this order.
FAMILIES = (of_hinges, of_similar_triangles)
