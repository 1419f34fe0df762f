"""The caller's own Pinocchio model with loops: what closes them without redundant rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pickle import PicklingError
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.dynamics.pinocchio.closure_rows import ClosureRows
from regularize.dynamics.pinocchio.coordinates import ModelCoordinates
from regularize.dynamics.pinocchio.exporting import left_over, massless_ends, opened, to_pinocchio
from regularize.dynamics.pinocchio.importing import body_names, from_pinocchio
from regularize.dynamics.pinocchio.multibody_reading import (
    MimicJoint,
    is_massive,
    mimic_of,
    series_of,
    tree_of,
)
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.spanning_tree import aligned
from regularize.dynamics.pinocchio.styles import Anchor, anchors_of, joint_closure, row_covectors
from regularize.dynamics.pinocchio.tree import Place, TreeJoint, body_places
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Edge, Graph, NodeId
from regularize.mechanism.joint import Joint
from regularize.reduction.numerical import Numerical
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.cure import NoCure
from regularize.repair.statics.cures import cure, freeing
from regularize.repair.statics.releases import too_stiff
from regularize.tolerances import RTOL
from regularize.validation import ARRAY, FLAG, LIST, POSITIVE, TEXT, WHOLE, named, validated


@validated(
    closures=LIST,
    q0=ARRAY,
    kinds=named(TEXT),
    style=TEXT,
    rtol=POSITIVE,
    numerical=FLAG | TEXT,
    seed=WHOLE,
)
def augment(
    model: Any,
    closures: Iterable[Any],
    q0: Array | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    style: str = "rows",
    rtol: float = RTOL,
    numerical: Numerical = False,
    seed: int = 0,
) -> Robot:
    """The caller's model with closed loops, without the rows that can never matter.

    The model is not changed: ``robot.model is model``, with its joints, names, indices and sizes.

    Args:
        model: A ``pinocchio.Model``.
        closures: What closes the loops: ``regularize.Closure`` entries, Pinocchio's
            ``RigidConstraintModel`` entries and ``ConstraintModel`` entries (point and frame
            anchors), mixed as you like; limit and friction constraints are those of joints.
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
    findings = (*opened(reduction), *too_stiff(reduction, freeing(reduction)))
    return augmented(CallersModel(model), reduction, style, findings)


def augmented(
    own: CallersModel,
    reduction: Reduction,
    style: str = "rows",
    findings: tuple[Diagnostic, ...] = (),
    *,
    composite: bool = True,
) -> Robot:
    """Return the caller's model with the rows of a reduction of its own mechanism.

    If not ``composite``, the model is another one, with joints in series and the same coordinates.
    """
    model = own.model
    again = partial(augmented, own, reduction, style, findings, composite=composite)
    reduction = reduction if style == "rows" else reduction.by_cuts
    graph, names = reduction.graph, body_names(model)
    inside = next((cut.edge.joint for cut in reduction.cuts if cut.edge.split), None)
    if inside is not None:
        raise ModelError(
            f"closure {inside.name!r} is of kind {inside.kind!r}, and the model has no coordinate "
            "for the cross between its two hinges: close the loop by two revolute closures with a "
            "small body between them in the model, or let rg.to_pinocchio build the tree: "
            "rg.to_pinocchio(rg.from_pinocchio(model, closures))"
        )
    mimicking = set(model.mimicking_joints)
    if mimicking and not composite:
        return to_pinocchio(reduction, composite=False)
    # In both models the parts of a joint follow each other, and the last one carries the body.
    counts = [1 if composite else len(series_of(joint)) for joint in model.joints]
    ends = np.cumsum(counts) - 1
    joints: list[TreeJoint] = []
    place: dict[NodeId, Place] = {}
    for i, name in enumerate(names):
        at = (int(ends[i]), screw.inverse(graph.T_node_body[name]))
        place.setdefault(graph.node_of[name], at)
        if i > 0 and i not in mimicking:
            edges = _edges(model, i, graph, names)
            joints.append(TreeJoint(int(ends[i]) - counts[i] + 1, edges, False))
    model = model if composite else in_series(model)
    tree = tree_of(model)
    held = [row for part in reduction.held for row in part.rows]
    coordinates = ModelCoordinates(graph, tree, joints, mimics=True, held=held)
    closures = [
        joint_closure(place, cut, cut.T_node_frame, row_covectors(cut)) for cut in reduction.cuts
    ]
    q0 = read_only(coordinates.configuration(reduction.q))
    regular = is_massive(tree, q0)
    massless = () if regular else (massless_ends(),)
    known = (*reduction.mechanism.findings, *findings)
    return Robot(
        tree=tree,
        constraints=coordinates.constraint_rows(closures),
        style=style,
        _anchors=_anchors(model, closures, style),
        rank=tree.nv - reduction.mobility,
        # Pinocchio's factorisations know no mimic joints.
        massive=regular and not mimicking,
        reduction=reduction,
        q0=q0,
        joints=tuple(joints),
        findings=(*known, *left_over(reduction, style), *massless),
        _coordinates=coordinates,
        places=body_places(graph, place),
        _made=again,
    )


def _anchors(model: Any, closures: Sequence[ClosureRows], style: str) -> list[Anchor]:
    """Return the anchors by which Pinocchio's own solvers hold closures."""
    if style == "rows":
        return []
    if style not in ("anchors", "legacy"):
        raise UnsupportedExport(f"unknown style {style!r}; known: rows, anchors, legacy")
    if len(model.mimicking_joints):
        names = ", ".join(repr(model.names[int(i)]) for i in model.mimicking_joints)
        raise UnsupportedExport(
            f"Pinocchio's constraint models refuse mimic joints ({names}); use the style 'rows'"
        )
    rigid = style == "legacy"
    return [anchor for closure in closures for anchor in anchors_of(closure, rigid)]


def _edges(model: Any, index: int, graph: Graph, names: Sequence[str]) -> tuple[Edge, ...]:
    """Return the edges that one joint of the model became, in the order in which it moves."""
    joint_to = {joint.child: joint for joint in graph.mechanism.joints if not joint.closure}
    chain: list[Joint] = []
    body = names[index]
    while body != names[model.parents[index]]:
        chain.insert(0, joint_to[body])
        body = chain[0].parent
    return tuple(edge for joint in chain for edge in graph.edges if edge.joint is joint)


def in_series(model: Any) -> Any:
    """Return the model with joints in series whose axes stay; coordinates are the same."""
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


@dataclass(frozen=True, eq=False)
class CallersModel:
    """A model that may be copied and pickled, mimic joints included."""

    model: Any

    def __deepcopy__(self, memo: Any) -> CallersModel:
        """Copy the model; Pinocchio copies all types of joints."""
        return CallersModel(self.model.copy())

    def __reduce__(self) -> tuple[Callable[..., CallersModel], tuple[Any, ...]]:
        """Pickle mimic joints beside the model, which loses them."""
        mimics = {int(i): mimic_of(self.model, int(i)) for i in self.model.mimicking_joints}
        for i, mimic in mimics.items():
            if mimic.screw is None:
                raise PicklingError(f"joint {self.model.names[i]!r} mimics with a scaling of zero")
        return restored, (self.model, mimics)


def restored(model: Any, mimics: Mapping[int, MimicJoint]) -> CallersModel:
    """Return the model that was pickled, with what its mimic joints do."""
    tree = pin.Model()
    for i in range(1, model.njoints):
        joint = model.joints[i] if i not in mimics else _moving(mimics[i])
        tree.addJoint(model.parents[i], joint, model.jointPlacements[i], model.names[i])
    for i, mimic in mimics.items():
        tree = pin.transformJointIntoMimic(tree, mimic.primary, i, mimic.scaling, mimic.offset)
    for i in mimics:
        model.joints[i] = tree.joints[i]
    return CallersModel(model)


def _moving(mimic: MimicJoint) -> Any:
    """Return the joint model that a mimic joint moves by."""
    assert mimic.screw is not None, "checked when it was pickled"
    axis, _, pitch = screw.axis_of(mimic.screw)
    return aligned(axis, pitch)
