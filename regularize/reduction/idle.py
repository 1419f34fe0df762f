"""Idle freedoms: bodies that spin about a line while nothing else moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.screw import Array
from regularize.reduction.reduce import Reduction


@dataclass(frozen=True, eq=False)
class IdleBody:
    """A body with a freedom of its own.

    Attributes:
        name: Name of the body.
        joints: Joints through which the line passes.
        axis: Direction of the line at the assembled pose, world frame, shape (3,).
    """

    name: str
    joints: tuple[str, ...]
    axis: Array


def idle_bodies(reduction: Reduction) -> Iterator[IdleBody]:
    """Bodies of loops that can move while all their neighbours stand still.

    A body's own freedoms are the intersection of the screw spaces of all its joints.
    """
    graph = reduction.graph
    if not reduction.assembly.closed:
        return
    in_loops = {e for block in graph.blocks for e in block}
    for node, incident in enumerate(graph.adjacency):
        if node == graph.ground or len(incident) < 2 or not set(incident) <= in_loops:
            continue
        if min(graph.edges[e].freedoms for e in incident) == 0 or not graph.members[node]:
            continue
        part = next(p for p in reduction.parts if incident[0] in p.edges)
        if not set(incident) <= set(part.edges):
            continue
        common = subalgebra.FULL
        for e in incident:
            common = subalgebra.intersection(
                common, subalgebra.span(part.screws[e]), reduction.rtol
            )
        if common.shape[1] == 1:
            axis, _, _ = screw.axis_of(common[:, 0])
            if np.linalg.norm(common[3:, 0]) > 0.0:
                yield IdleBody(
                    graph.nodes[node],
                    tuple(dict.fromkeys(graph.edges[e].joint.name for e in incident)),
                    axis,
                )
