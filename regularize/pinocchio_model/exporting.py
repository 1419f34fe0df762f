"""From a reduction to a Pinocchio model, in one of several styles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from regularize.displayed import did_you_mean
from regularize.errors import UnsupportedExport
from regularize.lie.screw import Array, read_only
from regularize.pinocchio_model.closure_rows import ClosureRows
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.findings import left_over, massless_tips, opened
from regularize.pinocchio_model.joint_values import joint_values, left_out
from regularize.pinocchio_model.legacy import close_frames, differing
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.robot import Robot
from regularize.pinocchio_model.rows import ConstraintRows
from regularize.pinocchio_model.solvers import is_massive
from regularize.pinocchio_model.styles import (
    PROXIMAL,
    anchor_models,
    rigid_models,
    row_closures,
    weld_closures,
)
from regularize.pinocchio_model.tree import TreeBuilder
from regularize.reduction.reduce import Reduction

STYLES = ("rows", "anchors", "slack", "legacy")


def to_pinocchio(reduction: Reduction, style: str = "rows", *, composite: bool = True) -> Robot:
    """A Pinocchio model with the reduced constraints.

    Args:
        reduction: From ``regularize.reduce``.
        style: ``rows``: the kept rows themselves, through ``Robot.jacobian``, ``Robot.bias`` and
            ``Robot.forward_dynamics``. ``anchors``: ``pinocchio.ConstraintModel`` entries for
            ``ConstraintCholeskyDecomposition`` without damping. ``slack``: slack joints and plain
            6-row welds. ``legacy``: ``RigidConstraintModel`` entries, redundant rows included, with
            the ``ProximalSettings`` that they need.
        composite: Whether a joint of several freedoms is one joint of the model. Pinocchio's
            analytical derivatives are right only where it is a series of joints; coordinates are
            the same either way.

    Raises:
        UnsupportedExport: The style is unknown or cannot express the rows: rows along the axes of
            frames are others than those kept on numerical evidence, and may be missed somewhere.
    """
    if style not in STYLES:
        raise UnsupportedExport(f"unknown style {style!r}{did_you_mean(style, STYLES)}")
    if style == "rows":
        builder, closures = row_closures(reduction, composite=composite)
        models: Callable[[Any], Any] = _nothing
    else:
        # Constraint models are no rows on joints.
        reduction = reduction.by_cuts
        builder, closures, welds = weld_closures(
            reduction,
            slack=style == "slack",
            every_row=style == "legacy",
            composite=composite,
        )
        make = rigid_models if style == "legacy" else anchor_models
        models = partial(make, closures=closures, welds=welds)
    again = partial(to_pinocchio, reduction, style, composite=composite)
    robot = _robot(reduction, style, builder, closures, models, again)
    if style != "legacy" or not robot.rows or len(robot.constraints.coupling):
        return robot
    rows = to_pinocchio(reduction, composite=composite)
    return replace(robot, findings=(*robot.findings, *differing(robot, rows)))


def _nothing(model: Any) -> list[Any]:
    """No constraints for Pinocchio's solvers."""
    return []


def _closed_at(made: Callable[[Any], Any], q: Array, model: Any) -> Any:
    """Rigid constraints that are closed at a configuration."""
    constraints = made(model)
    close_frames(model, constraints, q)
    return constraints


def _robot(
    reduction: Reduction,
    style: str,
    builder: TreeBuilder,
    closures: list[ClosureRows],
    models: Callable[[Any], Any],
    made: partial[Robot],
) -> Robot:
    tree = builder.tree
    held = [row for held in reduction.held for row in held.rows]
    coordinates = ModelCoordinates(reduction.graph, tree, builder.joints, held=held)
    tree.values = joint_values(coordinates)
    rows = ConstraintRows(tree, closures, coordinates.velocity_rows(), coordinates.targets)
    legacy = style == "legacy"
    q0 = read_only(coordinates.configuration(reduction.q))
    if legacy:
        models = partial(_closed_at, models, q0)
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
        _models=models,
        proximal_settings=pin.ProximalSettings(*PROXIMAL) if legacy else None,
        rank=tree.nv - reduction.mobility if legacy else len(rows) - reduction.remaining,
        massive=massive,
        reduction=reduction,
        q0=q0,
        joints=tuple(builder.joints),
        findings=findings if massive else (*findings, massless_tips()),
        _coordinates=coordinates,
        places=builder.body_places(),
        _made=made,
    )
