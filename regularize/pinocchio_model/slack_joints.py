"""Slack joints: beside a cut, one along every direction that the reduction proves useless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie import screw, subalgebra
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import NodeId
from regularize.model.joint import joint_screws
from regularize.model.joint_motion import reversed_joint
from regularize.model.mechanism import (
    Body,
    Inertia,
    Joint,
    Mechanism,
)
from regularize.model.slack_names import slack_name
from regularize.pinocchio_model.coordinate_rows import twist_space
from regularize.pinocchio_model.isostatic_mechanism import ClosureChange
from regularize.pinocchio_model.welds import Weld, chosen_welds
from regularize.reduction.reduce import Reduction

#: Kinds of slack joints by the half of the twist that they free.
KINDS = ("prismatic", "revolute")


def with_slack(
    mechanism: Mechanism,
    reduction: Reduction,
    changes: list[ClosureChange],
    findings: list[Diagnostic],
) -> Mechanism:
    """Slack joints beside every cut that has implied rows."""
    for weld in chosen_welds(reduction):
        if weld.implied:
            mechanism, change = slack(mechanism, reduction, weld, findings)
            changes.append(change)
    return mechanism


def slack(
    mechanism: Mechanism, reduction: Reduction, weld: Weld, findings: list[Diagnostic]
) -> tuple[Mechanism, ClosureChange]:
    """Slack joints beside one cut, one for each of its implied rows, and what changes."""
    edge, graph = weld.cut.edge, reduction.graph
    node, T_node_frame = _carrier(reduction, weld)
    joint = next(j for j in mechanism.joints if j.name == edge.joint.name)
    on_child = node == edge.child
    body = mechanism.body(joint.child if on_child else joint.parent)
    if graph.node_of.get(body.name) != node:
        raise UnsupportedExport(
            f"joint {joint.name!r} would have to be cut inside; choose other cuts"
        )
    T_body_frame = screw.inverse(graph.T_node_body[body.name]) @ T_node_frame
    names = {b.name for b in mechanism.bodies} | {j.name for j in mechanism.joints}
    count = len(weld.implied)
    shares = _shares(body, count)
    links = [
        Body(_unused(f"{body.name}_slack{k + 1}", names), shares[k + 1], source=body.source)
        for k in range(count)
    ]
    chain = [body.name, *(link.name for link in links)]
    added = []
    for k, axis in enumerate(weld.implied):
        kind = KINDS[axis // 3]
        direction = np.eye(3)[axis % 3]
        added.append(
            Joint(
                _unused(slack_name(joint.name, axis), names),
                chain[k],
                chain[k + 1],
                kind,
                joint_screws(kind, direction),
                T_body_frame,
                T_body_frame,
                actuated=False,
                source=joint.source,
            )
        )
    tree_joint = on_child and not joint.closure
    if tree_joint:
        # The body hangs on this joint in the file's own tree: the slack joints lead on to it.
        added = [reversed_joint(j) for j in reversed(added)]
    moved = replace(joint, child=chain[-1]) if on_child else replace(joint, parent=chain[-1])
    if body.inertia is None and body.name != mechanism.ground:
        findings.append(
            Diagnostic(
                "REG303",
                "note",
                f"body `{body.name}` states no mass properties, nor do the links of its slack "
                "joints: an engine may refuse them",
                source=body.source,
            )
        )
    if graph.node_of[body.name] == graph.ground:
        findings.append(
            Diagnostic(
                "REG309",
                "note",
                f"the slack joints of `{joint.name}` stand on the ground, so their links have no "
                "mass to share: give them some if the engine refuses massless links; it does not "
                "change the motion",
                joints=(joint.name,),
            )
        )
    bodies = [replace(b, inertia=shares[0]) if b.name == body.name else b for b in mechanism.bodies]
    joints = [moved if j.name == joint.name else j for j in mechanism.joints]
    position = joints.index(moved)
    joints[position + 1 : position + 1] = added
    changed = replace(mechanism, bodies=(*bodies, *links), joints=tuple(joints))
    slack_names = tuple(j.name for j in added)
    return changed, ClosureChange(joint.name, "slack", body.name, chain[-1], slack_names)


def _carrier(reduction: Reduction, weld: Weld) -> tuple[NodeId, Array]:
    """The body to put the slack joints on, and the frame of their axes on it.

    The cut's own body, unless that is the ground and the other one serves as well because the
    cut joint's motion does not turn the directions.
    """
    cut, loops = weld.cut, reduction.loops
    other = cut.edge.other(cut.node)
    invariant = subalgebra.saturation(twist_space(cut), cut.freedoms).shape[1]
    movable = invariant == twist_space(cut).shape[1] and not (
        cut.thinned.size or cut.numerical.size
    )
    if cut.node != reduction.graph.ground or other == reduction.graph.ground or not movable:
        return cut.node, weld.T_node_frame
    poses = reduction.reference.T_world_node[0]
    T_world_frame = poses[loops.row(cut.node)] @ weld.T_node_frame
    return other, screw.inverse(poses[loops.row(other)]) @ T_world_frame


def _shares(body: Body, count: int) -> Sequence[Inertia | None]:
    """Equal shares of a body's inertia for itself and the links of its slack joints."""
    if body.inertia is None:
        return [None] * (count + 1)
    part = 1.0 / (count + 1)
    share = Inertia(part * body.inertia.mass, body.inertia.center, part * body.inertia.matrix)
    return [share] * (count + 1)


def _unused(name: str, taken: set[str]) -> str:
    """The name, numbered if it is taken; it is taken from then on."""
    unique, k = name, 2
    while unique in taken:
        unique, k = f"{name}_{k}", k + 1
    taken.add(unique)
    return unique
