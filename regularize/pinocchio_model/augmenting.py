"""The caller's own Pinocchio model with loops: what closes them without redundant rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.errors import ModelError, UnsupportedExport
from regularize.lie import screw, subalgebra
from regularize.lie.screw import Array, read_only
from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import Edge, Graph, NodeId
from regularize.model.joint import Joint
from regularize.pinocchio_model.body_rows import BodyRows
from regularize.pinocchio_model.callers_model import CallersModel
from regularize.pinocchio_model.closure_rows import ClosureRows
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.exporting import to_pinocchio
from regularize.pinocchio_model.findings import left_over, massless_tips, opened
from regularize.pinocchio_model.holding import anchors, holds_of, rigid_constraints
from regularize.pinocchio_model.importing import body_names, from_pinocchio
from regularize.pinocchio_model.joint_reading import series_of
from regularize.pinocchio_model.machine_reading import tree_of
from regularize.pinocchio_model.robot import Robot
from regularize.pinocchio_model.rows import ConstraintRows
from regularize.pinocchio_model.series_closure import series_closure
from regularize.pinocchio_model.solvers import is_massive
from regularize.pinocchio_model.styles import PROXIMAL, joint_closure, row_covectors
from regularize.pinocchio_model.tree import TreeJoint
from regularize.reduction.numerical import Numerical
from regularize.reduction.reduce import Reduction, reduce
from regularize.statics.cure import NoCure
from regularize.statics.cures import cure, freeing
from regularize.statics.stiffness import too_stiff


def augment(
    model: Any,
    closures: Iterable[Any],
    q0: Array | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    style: str = "rows",
    rtol: float = subalgebra.RTOL,
    numerical: Numerical = False,
    seed: int = 0,
) -> Robot:
    """The caller's model with closed loops, without the rows that can never matter.

    The model is not changed: ``robot.model is model``, with its joints, names, indices and sizes.

    Args:
        model: A ``pinocchio.Model``.
        closures: What closes the loops: ``regularize.Closure`` entries, Pinocchio's
            ``RigidConstraintModel`` entries and ``ConstraintModel`` entries (point and frame
            anchors), mixed as you like.
        q0: Configuration to start from, shape (nq,); by default the neutral one. Where the loops
            are open there, ``robot.q0`` closes them.
        kinds: New kinds of closures by name, as ``robot.findings`` proposes them where a closure is
            stiffer than the mechanism: ``{"closure 0": "revolute:0,1,0"}`` makes the first one a
            hinge through its origin, along Y of the ground.
        style: What ``robot.constraint_models`` holds for Pinocchio's solvers. ``rows``: nothing;
            the robot's own methods are exact for everything. ``anchors``: ``ConstraintModel``
            entries for ``ConstraintCholeskyDecomposition``, the proximal and the ADMM solver;
            implied rows carry a compliance. ``legacy``: ``RigidConstraintModel`` entries for
            ``constraintDynamics`` and ``lcaba``, with the ``ProximalSettings`` that they need.
        rtol: Tolerance of ranks and geometric relations; see ``reduce``.
        numerical: Also remove rows on numerical evidence; see ``reduce``.
        seed: Seed of all random choices.

    Raises:
        ModelError: A joint or a closure is of a type that has no counterpart here, or a closure
            names a joint or frame that the model does not have.
        UnsupportedExport: The style is unknown, or does not know the kind of a closure.
    """
    mechanism = from_pinocchio(model, closures, q0)
    again = partial(reduce, keep_cuts=True, rtol=rtol, numerical=numerical, seed=seed)
    reduction = again(mechanism)
    if kinds:
        change = cure(reduction, kinds)
        if isinstance(change, NoCure):
            raise ModelError(
                f"closures of the kinds {dict(kinds)} let nothing move that is locked: {change}"
            )
        reduction = again(change.reduction.mechanism)
    found = (*opened(reduction), *too_stiff(reduction, freeing(reduction)))
    return augmented(CallersModel(model), reduction, style, found)


def augmented(
    own: CallersModel,
    reduction: Reduction,
    style: str = "rows",
    findings: tuple[Diagnostic, ...] = (),
    *,
    composite: bool = True,
) -> Robot:
    """A model with the rows of a reduction of its own mechanism.

    Args:
        own: The ``pinocchio.Model`` that the mechanism was read from.
        reduction: Of that mechanism, cut at the closures.
        style: ``rows``, ``anchors`` or ``legacy``; see ``augment``.
        findings: What the analysis of the loops found.
        composite: Whether joints stay as they are; otherwise the model is another one, in which
            they are series of joints with the same coordinates, and every joint has coordinates.
    """
    model = own.model
    again = partial(augmented, own, reduction, style, findings, composite=composite)
    reduction = reduction if style == "rows" else reduction.by_cuts
    graph, names = reduction.graph, body_names(model)
    held = [row for held in reduction.held for row in held.rows]
    mimicking = set(model.mimicking_joints)
    in_part = bool(mimicking) or any(cut.edge.split for cut in reduction.cuts)
    if in_part and not composite:
        return to_pinocchio(reduction, composite=False)
    edges = {i: _edges(model, i, graph, names) for i in range(1, model.njoints)}
    # In both models the parts of a joint follow each other, and the last one carries the body.
    counts = [1 if composite else len(series_of(joint)) for joint in model.joints]
    if not composite:
        model = in_series(model)
    ends = np.cumsum(counts) - 1
    joints: list[TreeJoint] = []
    place: dict[NodeId, tuple[int, Array]] = {}
    for i, name in enumerate(names):
        at = (int(ends[i]), screw.inverse(graph.T_node_body[name]))
        place.setdefault(graph.node_of[name], at)
        if i > 0 and i not in mimicking:
            joints.append(TreeJoint(int(ends[i]) - counts[i] + 1, edges[i], False))
    tree = tree_of(model)
    coordinates = ModelCoordinates(graph, tree, joints, mimics=True, held=held)
    closures = [
        series_closure(place, graph, cut)
        if cut.edge.split
        else joint_closure(place, cut, cut.T_node_frame, row_covectors(cut))
        for cut in reduction.cuts
    ]
    q0 = read_only(coordinates.configuration(reduction.q))
    make_rows = BodyRows if in_part else ConstraintRows
    regular = is_massive(tree, q0)
    return Robot(
        tree=tree,
        constraints=make_rows(tree, closures, coordinates.velocity_rows(), coordinates.targets),
        style=style,
        _models=partial(_made, _constraint_models(model, closures, style)),
        proximal_settings=pin.ProximalSettings(*PROXIMAL) if style == "legacy" else None,
        rank=tree.nv - reduction.mobility,
        # Pinocchio's factorisations know no mimic joints.
        massive=regular and not mimicking,
        reduction=reduction,
        q0=q0,
        joints=tuple(joints),
        findings=(
            *reduction.mechanism.findings,
            *findings,
            *left_over(reduction, style),
            *(() if regular else (massless_tips(),)),
        ),
        _coordinates=coordinates,
        places={
            body: (place[node][0], place[node][1] @ graph.T_node_body[body])
            for body, node in graph.node_of.items()
            if node in place
        },
        _made=again,
    )


def _made(constraints: Any, model: Any) -> Any:
    """Constraints that are made already."""
    return constraints


def _constraint_models(model: Any, closures: Sequence[ClosureRows], style: str) -> Any:
    """Constraints for Pinocchio's own solvers."""
    if style == "rows":
        return []
    if style not in ("anchors", "legacy"):
        raise UnsupportedExport(f"unknown style {style!r}; known: rows, anchors, legacy")
    if len(model.mimicking_joints):
        names = ", ".join(repr(model.names[int(i)]) for i in model.mimicking_joints)
        raise UnsupportedExport(
            f"Pinocchio's constraint models refuse mimic joints ({names}); use the style 'rows'"
        )
    holds = [hold for closure in closures for hold in holds_of(closure)]
    return (anchors if style == "anchors" else rigid_constraints)(model, holds)


def _edges(model: Any, index: int, graph: Graph, names: Sequence[str]) -> tuple[Edge, ...]:
    """What one joint of the model became, in the order in which it moves."""
    joint_to = {joint.child: joint for joint in graph.mechanism.joints if not joint.closure}
    chain: list[Joint] = []
    body = names[index]
    while body != names[model.parents[index]]:
        chain.insert(0, joint_to[body])
        body = chain[0].parent
    return tuple(edge for joint in chain for edge in graph.edges if edge.joint is joint)


def in_series(model: Any) -> Any:
    """The same model, its joints in series whose axes stay; coordinates are the same."""
    result, ends = pin.Model(), [0]
    result.name, result.gravity = model.name, model.gravity
    for i in range(1, model.njoints):
        end, placement = ends[model.parents[i]], model.jointPlacements[i]
        for k, part in enumerate(series_of(model.joints[i])):
            name = model.names[i] if k == 0 else f"{model.names[i]}/{k + 1}"
            end = result.addJoint(end, part.model, placement * pin.SE3(part.placement), name)
            placement = pin.SE3.Identity()
        result.appendBodyToJoint(end, model.inertias[i], placement)
        ends.append(end)
    for field in ("armature", "rotorInertia", "rotorGearRatio", "damping", "friction"):
        if hasattr(model, field):
            setattr(result, field, np.array(getattr(model, field)))
    return result
