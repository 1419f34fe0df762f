"""From a reduction to a Pinocchio model, in one of several styles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from regularize.dynamics.pinocchio.closure_rows import ClosureRows
from regularize.dynamics.pinocchio.coordinates import ModelCoordinates, joint_values, left_out
from regularize.dynamics.pinocchio.multibody_reading import is_massive
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.spanning_tree import Place, TreeJoint
from regularize.dynamics.pinocchio.styles import Anchor, row_closures, weld_closures
from regularize.dynamics.step.posing import poses_of
from regularize.errors import NoInertia, UnsupportedExport
from regularize.escape import did_you_mean
from regularize.lie.arrays import read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import NodeId
from regularize.mechanism.mechanism import Model
from regularize.reduction.rank_loss import rank_losses
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.tolerances import EXACT, TINY, UNNOTICED
from regularize.validation import FLAG, TEXT, validated

STYLES = ("rows", "anchors", "slack", "legacy")
#: The mass matrix of the tree is singular.
MASSLESS_ENDS = Diagnostic(
    "REG306",
    "warning",
    "the mass matrix of the tree is singular at the reference configuration, since a chain ends in "
    "bodies without mass or inertia: Pinocchio's own solvers fail on this model, the robot's "
    "forward_dynamics does not",
    help=("state mass properties for these bodies", "choose other cuts"),
)


@validated(style=TEXT, composite=FLAG)
def to_pinocchio(
    model: Model, style: str = "rows", *, composite: bool = True, format: str | None = None
) -> Robot:
    """A Pinocchio model with the reduced constraints.

    Args:
        model: From ``regularize.reduce``.
        style: ``rows``: the kept rows themselves, through ``Robot.jacobian``, ``Robot.bias`` and
            ``Robot.forward_dynamics``. ``anchors``: ``pinocchio.ConstraintModel`` entries for
            ``ConstraintCholeskyDecomposition`` without damping. ``slack``: slack joints and plain
            6-row welds. ``legacy``: ``RigidConstraintModel`` entries, redundant rows included, with
            the ``ProximalSettings`` that they need.
        composite: Whether a joint of several freedoms is one joint of the model. Pinocchio's
            analytical derivatives are right only where it is a series of joints; coordinates are
            the same either way.
        format: Of a file or a text that does not say what it is.

    Raises:
        UnsupportedExport: The style is unknown or cannot express the rows: rows along the axes of
            frames are others than those kept on numerical evidence, and may be missed somewhere.
    """
    reduction = as_reduction(model, format)
    if style not in STYLES:
        raise UnsupportedExport(f"unknown style {style!r}{did_you_mean(style, STYLES)}")
    if style == "rows":
        builder, closures = row_closures(reduction, composite=composite)
        anchors: list[Anchor] = []
    else:
        # Constraint models are no rows on joints.
        reduction = reduction.by_cuts
        builder, closures, anchors = weld_closures(
            reduction, slack=style == "slack", every_row=style == "legacy", composite=composite
        )
    tree, held = builder.tree, [row for part in reduction.held for row in part.rows]
    coordinates = ModelCoordinates(reduction.graph, tree, builder.joints, held=held)
    tree.values = joint_values(coordinates)
    if style == "legacy":
        poses = poses_of(tree.links, coordinates.configuration(reduction.q))
        anchors = [anchor.closed([poses[link] for link in tree.link_of]) for anchor in anchors]
    opening = () if reduction.assembly.closed else opened(reduction)
    cut = [c.edge.joint for c in closures if c.edge is not None]
    lost = left_out(reduction.mechanism.joints, cut)
    robot = robot_of(
        reduction,
        style,
        coordinates,
        builder.joints,
        builder.place,
        closures,
        anchors,
        (*opening, *builder.findings, *left_over(reduction, style), *lost),
        partial(to_pinocchio, reduction, style, composite=composite),
    )
    if style != "legacy" or not robot.rows or len(robot.constraints.coupling):
        return robot
    rows = to_pinocchio(reduction, composite=composite)
    return replace(robot, findings=(*robot.findings, *differing(robot, rows)))


def robot_of(
    reduction: Reduction,
    style: str,
    coordinates: ModelCoordinates,
    joints: Sequence[TreeJoint],
    place: Mapping[NodeId, Place],
    closures: Sequence[ClosureRows],
    anchors: Sequence[Anchor],
    findings: Iterable[Diagnostic],
    made: partial[Robot],
) -> Robot:
    """Return the robot of a tree whose loops are closed, at its reference configuration."""
    tree, q0 = coordinates.tree, read_only(coordinates.configuration(reduction.q))
    massive, graph = is_massive(tree, q0), reduction.graph
    return Robot(
        tree=tree,
        constraints=coordinates.constraint_rows(closures),
        style=style,
        _anchors=anchors,
        rank=tree.nv - reduction.mobility,
        massive=massive,
        reduction=reduction,
        q0=q0,
        joints=tuple(joints),
        findings=(*findings, *(() if massive else (MASSLESS_ENDS,))),
        _coordinates=coordinates,
        places={
            name: (place[node][0], place[node][1] @ graph.T_node_body[name])
            for node in place
            for name in graph.members[node]
        },
        _made=made,
    )


def differing(legacy: Robot, rows: Robot, tolerance: float = UNNOTICED) -> list[Diagnostic]:
    """Return a finding if rigid constraints give other accelerations than the rows (REG330)."""
    if not rows.nv:  # nothing moves
        return []
    first, second = legacy.joint_map, rows.joint_map
    rng, free = np.random.default_rng(0), legacy.split(legacy.q0).free
    worst, most, joint = 0.0, 1.0, ""
    for velocity in (np.zeros(legacy.model.nv), free @ rng.normal(size=free.shape[1])):
        states = (velocity, second @ first.T @ velocity)
        try:
            a, exact = (
                robot.forward_dynamics(robot.q0, v, np.zeros(robot.nv))
                for robot, v in zip((legacy, rows), states, strict=True)
            )
        except NoInertia:  # nothing can be compared
            return []
        difference = np.abs(second @ first.T @ a - exact)
        scale = max(float(np.max(np.abs(exact), initial=0.0)), TINY)
        k = int(np.argmax(np.nan_to_num(difference, nan=np.inf)))
        if not difference[k] <= worst * scale:
            worst, most = float(difference[k]) / scale, scale
            column = int(np.argmax(np.abs(second[k])))
            joint = next(e.joint.name for e in rows.reduction.graph.edges if column in e.columns)
    if worst <= tolerance:
        return []
    cuts = [cut.edge.joint.name for cut in legacy.reduction.cuts]
    closing = ", ".join(f"`{name}`" for name in cuts)
    text = (
        f"the style 'legacy' cannot hold the redundant equations at {closing}: at the reference "
        f"configuration the acceleration of `{joint}` is off by {worst * most:.3g}, of "
        f"{most:.3g} at most, from that on the kept equations"
    )
    help = ("use the style 'rows', 'anchors' or 'slack', which leave those equations out",)
    return [Diagnostic("REG330", "warning", text, joints=(joint, *cuts), help=help)]


def left_over(reduction: Reduction, style: str) -> list[Diagnostic]:
    """Return findings on redundant kept rows and on features that a style cannot export."""
    findings = [d for d in reduction.mechanism.findings if d.code == "REG318"]
    if reduction.remaining and style in ("anchors", "slack"):
        text = f"{reduction.remaining} of the kept rows depend on the others, so the constraint "
        text += "models need damping (mu > 0)"
        help = ("drop them on numerical evidence: reduce(mechanism, numerical=True)",)
        findings.append(Diagnostic("REG304", "warning", text, help=help))
    findings += rank_losses(reduction)
    if reduction.graph.couplings and style != "rows":
        names = ", ".join(f"`{c.name}`" for c in reduction.graph.couplings)
        text = f"Pinocchio has no constraint model for the couplings {names}: they are rows of "
        text += "the robot's Jacobian and part of its forward dynamics only"
        help = ("use the style 'rows' or the robot's own forward_dynamics",)
        findings.append(Diagnostic("REG305", "warning", text, help=help))
    return findings


def opened(reduction: Reduction) -> list[Diagnostic]:
    """Return findings on loops that are open at the given configuration, or cannot be closed."""
    assembly = reduction.assembly
    (before, turned), (after, left) = assembly.worst_before, assembly.worst_after
    if not assembly.closed:
        text = f"the loops cannot be closed: {1e3 * after:.3g} mm and {left:.3g} rad stay open, "
        text += "so all equations are kept, and no acceleration fulfils them"
        help = ("check the placements of the closures", "pass q0 nearer to closed loops")
        return [Diagnostic("REG101", "error", text, help=help)]
    if before > EXACT.same or turned > EXACT.same:
        text = f"the loops are open by {1e3 * before:.3g} mm and {turned:.3g} rad at the "
        return [Diagnostic("REG104", "note", text + "configuration given; robot.q0 closes them")]
    return []
