"""Mechanisms whose equations hold to first order what their loops hold to second order only.

Where a self-stress forbids velocities that the closure equations allow, no finite force in the
joints stops them, and no simulation of rigid bodies can tell. Coordinates that never move are held
in their place instead, which changes no motion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regularize.lie.directions import TOLERANCE
from regularize.manifold.assembly import with_coordinates
from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import ColumnId
from regularize.model.mechanism import Coupling
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, reduce


def steadied(reduction: Reduction) -> Reduction:
    """The reduction itself, or that of the mechanism with coordinates held that can never move.

    Only where it is known what moves; velocities that no single coordinate has are left as they
    are.
    """
    columns = [c for cell in reduction.cells for c in _still(reduction, cell)]
    if not columns or not reduction.assembly.closed:
        return reduction
    mechanism = with_coordinates(reduction.mechanism, reduction.q)
    couplings, findings = [], []
    for column in columns:
        edge = next(e for e in reduction.graph.edges if column in e.columns)
        joint = mechanism.joint(edge.joint.name)
        first = next(e for e in reduction.graph.edges if e.joint.name == joint.name).columns[0]
        freedom, value = int(column - first), float(reduction.q[column])
        couplings.append(
            Coupling(f"{joint.name} at rest", "mimic", ((joint.name, freedom, 1.0),), value)
        )
        findings.append(
            Diagnostic(
                "REG318",
                "note",
                f"joint `{joint.name}` is held: its loops allow it a velocity, which no motion "
                "follows, and no finite force in them stops it",
                joints=(joint.name,),
                source=joint.source,
            )
        )
    held = replace(
        mechanism,
        couplings=(*mechanism.couplings, *couplings),
        findings=(*mechanism.findings, *findings),
    )
    return reduce(held, rtol=reduction.rtol, seed=reduction.seed)


def _still(reduction: Reduction, cell: CellMobility) -> Iterator[ColumnId]:
    """Coordinates that no motion changes, as many as take velocities away that are not followed."""
    if cell.finite is None or cell.finite == cell.actual:
        return
    graph, local = reduction.graph, cell.local
    columns = graph.columns(cell.edges)
    groups = {c for e in cell.edges if graph.edges[e].group for c in graph.edges[e].columns}
    moving = np.max(np.abs(local.followed), axis=1, initial=0.0) > TOLERANCE
    still = [i for i, c in enumerate(columns) if not moving[i] and c not in groups]
    if not still:
        return
    from scipy.linalg import qr  # needed by few mechanisms

    _, sizes, order = qr(local.cut[still].T, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(sizes))
    for k, size in zip(order, pivots, strict=False):
        if size > TOLERANCE * max(1.0, float(pivots[0])):
            yield ColumnId(columns[still[int(k)]])
