"""The caller's own Pinocchio model with loops: what closes them without redundant rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.lie import screw, subalgebra
from regularize.lie.screw import Array, read_only
from regularize.model.graph import Edge, Graph, NodeId
from regularize.model.joint import Joint
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.findings import massless_tips
from regularize.pinocchio_model.importing import body_names, from_pinocchio
from regularize.pinocchio_model.joint_reading import parts_of
from regularize.pinocchio_model.mimic_rows import MimicRows
from regularize.pinocchio_model.robot import Robot
from regularize.pinocchio_model.rows import ConstraintRows
from regularize.pinocchio_model.solvers import is_massive
from regularize.pinocchio_model.styles import joint_closure, row_covectors
from regularize.pinocchio_model.tree import TreeJoint
from regularize.reduction.reduce import Reduction, reduce


def augment(
    model: Any,
    closures: Iterable[Any],
    q0: Array | None = None,
    *,
    rtol: float = subalgebra.RTOL,
    numerical: bool = False,
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
        rtol: Tolerance of ranks and geometric relations; see ``reduce``.
        numerical: Also remove rows on numerical evidence; see ``reduce``.
        seed: Seed of all random choices.

    Raises:
        ModelError: A joint or a closure is of a type that has no counterpart here, or a closure
            names a joint or frame that the model does not have.
    """
    mechanism = from_pinocchio(model, closures, q0)
    reduction = reduce(mechanism, keep_cuts=True, rtol=rtol, numerical=numerical, seed=seed)
    return augmented(model, reduction)


def augmented(model: Any, reduction: Reduction, *, composite: bool = True) -> Robot:
    """A model with the rows of a reduction of its own mechanism.

    Args:
        model: The ``pinocchio.Model`` that the mechanism was read from.
        reduction: Of that mechanism, cut at the closures.
        composite: Whether composite joints stay as they are; otherwise the model is another one, in
            which they are series of joints with the same coordinates.
    """
    again = partial(augmented, model, reduction, composite=composite)
    graph, names = reduction.graph, body_names(model)
    mimicking = set(model.mimicking_joints)
    edges = {i: _edges(model, i, graph, names) for i in range(1, model.njoints)}
    # In both models the parts of a joint follow each other, and the last one carries the body.
    counts = [1 if composite else len(parts_of(joint)) for joint in model.joints]
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
    coordinates = ModelCoordinates(graph, model, joints, mimics=True)
    closures = [
        joint_closure(model, place, cut, cut.T_node_frame, row_covectors(cut))
        for cut in reduction.cuts
    ]
    q0 = read_only(coordinates.configuration(reduction.q))
    make_rows = MimicRows if mimicking else ConstraintRows
    regular = is_massive(model, model.createData(), q0)
    return Robot(
        model=model,
        constraints=make_rows(model, closures, coordinates.velocity_rows()),
        style="rows",
        constraint_models=[],
        proximal_settings=None,
        rank=model.nv - reduction.mobility,
        # Pinocchio's factorisations know no mimic joints.
        massive=regular and not mimicking,
        reduction=reduction,
        q0=q0,
        joints=tuple(joints),
        findings=(*reduction.mechanism.findings, *(() if regular else (massless_tips(),))),
        _coordinates=coordinates,
        _made=again,
    )


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
    """The same model with every composite joint as a series of joints; coordinates stay."""
    result, ends = pin.Model(), [0]
    result.name, result.gravity = model.name, model.gravity
    for i in range(1, model.njoints):
        end, placement = ends[model.parents[i]], model.jointPlacements[i]
        for k, part in enumerate(parts_of(model.joints[i])):
            name = model.names[i] if k == 0 else f"{model.names[i]}/{k + 1}"
            end = result.addJoint(end, part.model, placement * pin.SE3(part.placement), name)
            placement = pin.SE3.Identity()
        result.appendBodyToJoint(end, model.inertias[i], placement)
        ends.append(end)
    for field in ("armature", "rotorInertia", "rotorGearRatio", "damping", "friction"):
        if hasattr(model, field):
            setattr(result, field, np.array(getattr(model, field)))
    return result
