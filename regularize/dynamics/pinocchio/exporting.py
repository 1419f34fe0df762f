"""From a reduction to a Pinocchio model, in one of several styles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from regularize.dynamics.pinocchio.closure_rows import ClosureRows, ConstraintRows
from regularize.dynamics.pinocchio.coordinates import ModelCoordinates, joint_values, left_out
from regularize.dynamics.pinocchio.multibody_reading import is_massive
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.styles import Anchor, row_closures, weld_closures
from regularize.dynamics.pinocchio.tree import TreeBuilder, body_places
from regularize.dynamics.step.posing import poses_of
from regularize.errors import NoInertia, UnsupportedExport
from regularize.escape import did_you_mean
from regularize.lie.arrays import read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Model
from regularize.reduction.rank_loss import rank_losses
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.tolerances import EXACT, TINY, UNNOTICED
from regularize.validation import FLAG, TEXT, validated

STYLES = ("rows", "anchors", "slack", "legacy")


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
    again = partial(to_pinocchio, reduction, style, composite=composite)
    robot = _robot(reduction, style, builder, closures, anchors, again)
    if style != "legacy" or not robot.rows or len(robot.constraints.coupling):
        return robot
    rows = to_pinocchio(reduction, composite=composite)
    return replace(robot, findings=(*robot.findings, *differing(robot, rows)))


def _robot(
    reduction: Reduction,
    style: str,
    builder: TreeBuilder,
    closures: list[ClosureRows],
    anchors: list[Anchor],
    made: partial[Robot],
) -> Robot:
    tree = builder.tree
    held = [row for held in reduction.held for row in held.rows]
    coordinates = ModelCoordinates(reduction.graph, tree, builder.joints, held=held)
    tree.values = joint_values(coordinates)
    curves = coordinates.velocity_curves()
    rows = ConstraintRows(closures, coordinates.velocity_rows(), coordinates.targets, curves)
    legacy = style == "legacy"
    q0 = read_only(coordinates.configuration(reduction.q))
    if legacy:
        poses = poses_of(tree.links, q0)
        anchors = [anchor.closed([poses[link] for link in tree.link_of]) for anchor in anchors]
    massive = is_massive(tree, q0)
    cut = [c.edge.joint for c in closures if c.edge is not None]
    lost = left_out(reduction.mechanism.joints, cut)
    findings = (*builder.findings, *left_over(reduction, style), *lost)
    if not reduction.assembly.closed:
        findings = (*opened(reduction), *findings)
    return Robot(
        tree=tree,
        constraints=rows,
        style=style,
        _anchors=anchors,
        rank=tree.nv - reduction.mobility if legacy else len(rows) - reduction.remaining,
        massive=massive,
        reduction=reduction,
        q0=q0,
        joints=tuple(builder.joints),
        findings=findings if massive else (*findings, massless_ends()),
        _coordinates=coordinates,
        places=body_places(reduction.graph, builder.place),
        _made=made,
    )


def differing(legacy: Robot, rows: Robot, tolerance: float = UNNOTICED) -> list[Diagnostic]:
    """What the rigid constraints cannot hold: a finding if accelerations are other ones (REG330).

    They are compared at the reference configuration, at rest and at a random velocity.

    Args:
        legacy: The robot in the style ``legacy``.
        rows: The robot of the same reduction in the style ``rows``.
        tolerance: Difference that is no difference, as a part of the largest acceleration.
    """
    if not rows.model.nv:  # nothing moves
        return []
    one, other = legacy.joint_map, rows.joint_map
    rng, free = np.random.default_rng(0), legacy.split(legacy.q0).free
    worst, most, joint = 0.0, 1.0, ""
    for velocity in (np.zeros(legacy.model.nv), free @ rng.normal(size=free.shape[1])):
        states = (velocity, other @ one.T @ velocity)
        try:
            a, exact = (
                robot.forward_dynamics(robot.q0, v, np.zeros(robot.nv))
                for robot, v in zip((legacy, rows), states, strict=True)
            )
        except NoInertia:  # nothing can be compared
            return []
        difference = np.abs(other @ one.T @ a - exact)
        scale = max(float(np.max(np.abs(exact), initial=0.0)), TINY)
        k = int(np.argmax(np.nan_to_num(difference, nan=np.inf)))
        if not difference[k] <= worst * scale:
            worst, most = float(difference[k]) / scale, scale
            joint = _joint_of(rows, k)
    if worst <= tolerance:
        return []
    cuts = [cut.edge.joint.name for cut in legacy.reduction.cuts]
    closing = ", ".join(f"`{name}`" for name in cuts)
    return [
        Diagnostic(
            "REG330",
            "warning",
            f"the style 'legacy' cannot hold the redundant equations at {closing}: at the "
            f"reference configuration the acceleration of `{joint}` is off by {worst * most:.3g}, "
            f"of {most:.3g} at most, from that on the kept equations",
            joints=(joint, *cuts),
            help=("use the style 'rows', 'anchors' or 'slack', which leave those equations out",),
        )
    ]


def _joint_of(robot: Robot, velocity: int) -> str:
    """The joint of the mechanism that a velocity of the model belongs to."""
    column = int(np.argmax(np.abs(robot.joint_map[velocity])))
    return next(edge.joint.name for edge in robot.reduction.graph.edges if column in edge.columns)


def left_over(reduction: Reduction, style: str) -> list[Diagnostic]:
    """What is held, and each property of the reduction that the models of a style lack."""
    found = [d for d in reduction.mechanism.findings if d.code == "REG318"]
    if reduction.remaining and style in ("anchors", "slack"):
        found.append(
            Diagnostic(
                "REG304",
                "warning",
                f"{reduction.remaining} of the kept rows depend on the others, so the constraint "
                "models need damping (mu > 0)",
                help=("drop them on numerical evidence: reduce(mechanism, numerical=True)",),
            )
        )
    found += rank_losses(reduction)
    if reduction.graph.couplings and style != "rows":
        names = ", ".join(f"`{c.name}`" for c in reduction.graph.couplings)
        found.append(
            Diagnostic(
                "REG305",
                "warning",
                f"Pinocchio has no constraint model for the couplings {names}: they are rows of "
                "the robot's Jacobian and part of its forward dynamics only",
                help=("use the style 'rows' or the robot's own forward_dynamics",),
            )
        )
    return found


def opened(reduction: Reduction) -> list[Diagnostic]:
    """What to say of loops that are open at the configuration given, or cannot be closed."""
    assembly = reduction.assembly
    (before, turned), (after, left) = assembly.worst_before, assembly.worst_after
    if not assembly.closed:
        return [
            Diagnostic(
                "REG101",
                "error",
                f"the loops cannot be closed: {1e3 * after:.3g} mm and {left:.3g} rad stay open, "
                "so all equations are kept, and no acceleration fulfils them",
                help=("check the placements of the closures", "pass q0 nearer to closed loops"),
            )
        ]
    if before > EXACT.same or turned > EXACT.same:
        return [
            Diagnostic(
                "REG104",
                "note",
                f"the loops are open by {1e3 * before:.3g} mm and {turned:.3g} rad at the "
                "configuration given; robot.q0 closes them",
            )
        ]
    return []


def massless_ends() -> Diagnostic:
    """The mass matrix of the tree is singular."""
    return Diagnostic(
        "REG306",
        "warning",
        "the mass matrix of the tree is singular at the reference configuration, since a chain "
        "ends in bodies without mass or inertia: Pinocchio's own solvers fail on this model, "
        "the robot's forward_dynamics does not",
        help=("state mass properties for these bodies", "choose other cuts"),
    )
