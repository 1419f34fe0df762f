"""Lower bounds of ranks for a proof, from floating-point numbers and intervals around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr

from regularize.model.graph import Graph
from regularize.reduction.part import Part


def bound(graph: Graph, part: Part) -> dict[str, Any]:
    """At least so many closure equations of a part are independent at the pose.

    Args:
        graph: The mechanism's graph.
        part: The part.

    Returns:
        The entry of ``bounds`` in the document, for ``bounds.verify``.
    """
    edges = sorted((graph.edges[e] for e in part.edges), key=lambda edge: edge.name)
    loops = [cycle.edges for cycle in part.cycles]
    blocks = [
        np.hstack(
            [
                cycle.direction(graph, edge.index) * part.screws[edge.index]
                if edge.index in cycle.edges
                else 0.0 * part.screws[edge.index]
                for edge in edges
            ]
        )
        for cycle in part.cycles
    ]
    matrix = np.vstack(blocks)
    rank = int(np.linalg.matrix_rank(matrix, tol=part.rtol or None))
    columns = sorted(int(i) for i in qr(matrix, mode="r", pivoting=True)[1][:rank])
    rows = sorted(int(i) for i in qr(matrix[:, columns].T, mode="r", pivoting=True)[1][:rank])
    inverse = np.linalg.inv(matrix[np.ix_(rows, columns)])
    # How far the numbers may be off follows from the size of the inverse; a power of ten will do.
    size = float(np.abs(inverse).sum(axis=1).max(initial=0.0)) * max(rank, 1)
    off = 10.0 ** np.floor(np.log10(0.5 / size)) if rank else 0.0
    return {
        "origin_m": [float(x) for x in part.center],
        "unit_m": float(part.length),
        "joints": [
            {
                "name": edge.name,
                "bodies": [graph.nodes[edge.parent], graph.nodes[edge.child]],
                "written": [[float(x) for x in row] for row in part.screws[edge.index].T],
            }
            for edge in edges
        ],
        "loops": [[graph.edges[e].name for e in loop] for loop in loops],
        "rows": rows,
        "columns": columns,
        "inverse": [[float(x) for x in row] for row in inverse],
        "off": float(off),
    }
