"""Coordinates that a simulation fixes, because no force in the joints determines them.

Rigid ones, whose velocities a self-stress forbids, are held in their place. A rod between two balls
spins about its own line, so one of them becomes a universal joint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.loops.assembly import with_coordinates
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import ColumnId
from regularize.mechanism.joint import Joint, JointDynamics
from regularize.mechanism.joint_kinds import joint_screws, perpendiculars
from regularize.mechanism.mechanism import Coupling, Mechanism
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.passive_freedoms import passive_bodies
from regularize.tolerances import PARALLEL


def with_rigid_coordinates_fixed(reduction: Reduction) -> Reduction:
    """Return a reduction in which coordinates that can never move are held."""
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
        text = f"joint `{joint.name}` is held: its loops allow it a velocity, which no motion "
        text += "follows, and no finite force in them stops it"
        about = (joint.name,)
        findings.append(Diagnostic("REG318", "note", text, joints=about, source=joint.source))
    every, told = (*mechanism.couplings, *couplings), (*mechanism.findings, *findings)
    held = replace(mechanism, couplings=every, findings=told)
    return reduce(held, rtol=reduction.rtol, seed=reduction.seed)


def _still(reduction: Reduction, cell: CellMobility) -> Iterator[ColumnId]:
    """Yield coordinates that no motion changes, one for each velocity that leads nowhere."""
    if cell.finite is None or cell.finite == cell.actual:
        return
    graph, local = reduction.graph, cell.local
    columns = graph.columns(cell.edges)
    groups = {c for e in cell.edges if graph.edges[e].group for c in graph.edges[e].columns}
    moving = np.max(np.abs(local.followed), axis=1, initial=0.0) > PARALLEL
    still = [i for i, c in enumerate(columns) if not moving[i] and c not in groups]
    if not still:
        return
    from scipy.linalg import qr  # needed by few mechanisms

    _, sizes, order = qr(local.cut[still].T, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(sizes))
    for k, size in zip(order, pivots, strict=False):
        if size > PARALLEL * max(1.0, float(pivots[0])):
            yield ColumnId(columns[still[int(k)]])


def with_passive_freedoms_fixed(reduction: Reduction) -> tuple[Mechanism, tuple[Diagnostic, ...]]:
    """The mechanism at its assembled pose with one universal joint per passive body."""
    mechanism = with_coordinates(reduction.mechanism, reduction.q)
    joints = {joint.name: joint for joint in mechanism.joints}
    findings = []
    for body in passive_bodies(reduction):
        ball = next((n for n in body.joints if joints[n].kind == "spherical"), None)
        if ball is None:
            continue
        joints[ball] = _universal(reduction, joints[ball], body.axis)
        text = f"`{body.name}` can spin about the line through {' and '.join(body.joints)} without "
        text += f"moving anything; joint `{ball}` is taken as universal, so that the rest follows"
        source = mechanism.body(body.bodies[0]).source
        help = ("make one of its joints universal in the model",)
        findings.append(
            Diagnostic("REG311", "note", text, joints=body.joints, source=source, help=help)
        )
    return replace(mechanism, joints=tuple(joints.values())), tuple(findings)


def _universal(reduction: Reduction, joint: Joint, axis: Array) -> Joint:
    """A universal joint in place of a spherical one, across a line, at zero where it is now."""
    edge = next(e for e in reduction.graph.edges if e.joint.name == joint.name)
    loops, state = reduction.loops, reduction.reference
    T_world = state.T_world_node[0]
    frame = T_world[loops.row(edge.parent)] @ edge.T_parent
    motion = screw.inverse(frame) @ T_world[loops.row(edge.child)] @ edge.T_child
    first, second = perpendiculars(frame[:3, :3].T @ axis)
    return replace(
        joint,
        kind="universal",
        screws=joint_screws("universal", first, axis2=second),
        T_child_joint=joint.T_child_joint @ screw.inverse(motion),
        position=np.zeros(2),
        limits=None,
        dynamics=JointDynamics(),
    )
