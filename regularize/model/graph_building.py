"""The graph of a mechanism: bodies merged to nodes, joints split into edges.

Bodies joined by fixed joints move as one and become one node. A joint whose freedoms form no
subgroup (universal, composite) becomes a series of edges with massless nodes between them.
"""

from __future__ import annotations

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.screw import IDENTITY, Array
from regularize.model.graph import (
    SUBGROUP_KINDS,
    ColumnId,
    CouplingRow,
    Edge,
    EdgeId,
    Graph,
    NodeId,
    breadth_first,
)
from regularize.model.joint import Joint
from regularize.model.joint_origins import near_each_other
from regularize.model.mechanism import Mechanism


def build(mechanism: Mechanism, *, as_placed: bool = False) -> Graph:
    """The graph of a mechanism.

    Args:
        mechanism: The mechanism.
        as_placed: Whether frames that lie far off along their axes stay there.

    Raises:
        ModelError: A part has no path to ground.
    """
    T_node_body, node_of, members, rigid_loops = _merge_fixed(mechanism)
    nodes = [group[0] for group in members]
    starts = np.cumsum([0, *(joint.freedoms for joint in mechanism.joints)]).tolist()
    first = {joint.name: k for joint, k in zip(mechanism.joints, starts, strict=False)}
    edges: list[Edge] = []
    all_members = list(members)
    for joint in mechanism.joints:
        if joint.kind == "fixed" and not joint.closure:
            continue
        parts = _elementary(joint)
        node, column = node_of[joint.parent], first[joint.name]
        if node == node_of[joint.child]:
            # Fixed joints hold both its bodies together: it closes a loop of its own, which needs
            # a node at which to be open.
            parts = [*parts, np.zeros((6, 0))]
        T_parent = T_node_body[joint.parent] @ joint.T_parent_joint
        for k, screws in enumerate(parts):
            last = k == len(parts) - 1
            child = node_of[joint.child] if last else NodeId(len(nodes))
            if not last:
                nodes.append(f"{joint.name}/{k + 1}")
                all_members.append(())
            edges.append(
                Edge(
                    index=EdgeId(len(edges)),
                    joint=joint,
                    name=joint.name if len(parts) == 1 else f"{joint.name}/{k + 1}",
                    parent=node,
                    child=child,
                    screws=screws,
                    T_parent=T_parent,
                    T_child=T_node_body[joint.child] @ joint.T_child_joint if last else IDENTITY,
                    columns=tuple(map(ColumnId, range(column, column + screws.shape[1]))),
                    group=joint.group,
                )
            )
            node, T_parent = child, IDENTITY
            column += screws.shape[1]
    position = np.concatenate([np.zeros(0), *(joint.position for joint in mechanism.joints)])
    missed = 0.0
    if not as_placed:
        edges, missed = near_each_other(edges, node_of[mechanism.ground], position)
    graph = Graph(
        mechanism=mechanism,
        nodes=tuple(nodes),
        members=tuple(all_members),
        T_node_body=T_node_body,
        node_of=node_of,
        ground=node_of[mechanism.ground],
        edges=tuple(edges),
        freedoms=mechanism.freedoms,
        couplings=tuple(
            CouplingRow(
                c.name,
                tuple(ColumnId(first[name] + freedom) for name, freedom, _ in c.terms),
                tuple(coefficient for _, _, coefficient in c.terms),
                c.offset,
            )
            for c in mechanism.couplings
        ),
        rigid_loops=rigid_loops,
        missed=missed,
    )
    reached = {graph.ground} | {node for _, node in breadth_first(graph, graph.ground)}
    for i, name in enumerate(nodes):
        if i not in reached:
            raise ModelError(
                f"body {name!r} has no path of joints to the ground {graph.nodes[0]!r}"
            )
    return graph


def _elementary(joint: Joint) -> list[Array]:
    """The screws of each elementary joint, in order from parent to child."""
    if joint.kind in SUBGROUP_KINDS:
        return [joint.screws]
    return [joint.screws[:, [i]] for i in range(joint.freedoms)]


def _merge_fixed(
    mechanism: Mechanism,
) -> tuple[dict[str, Array], dict[str, NodeId], list[tuple[str, ...]], tuple[Joint, ...]]:
    """Groups of bodies joined by fixed joints, and their frames in the group's first body.

    The last result lists fixed joints that join bodies of one group a second time.
    """
    fixed = [j for j in mechanism.joints if j.kind == "fixed" and not j.closure]
    names = [mechanism.ground, *(body.name for body in mechanism.bodies)]
    rigid: dict[str, dict[str, Joint]] = {name: {} for name in names}
    for joint in fixed:
        rigid[joint.parent].setdefault(joint.child, joint)
        rigid[joint.child].setdefault(joint.parent, joint)
    T_node_body: dict[str, Array] = {}
    node_of: dict[str, NodeId] = {}
    groups: list[tuple[str, ...]] = []
    used: set[str] = set()
    for start in rigid:
        if start in node_of:
            continue
        group = [start]  # grows while it is followed
        T_node_body[start] = IDENTITY
        for near in group:
            for far, joint in rigid[near].items():
                if far in T_node_body:
                    continue
                T = joint.T_parent_joint @ screw.inverse(joint.T_child_joint)
                T = T if joint.child == far else screw.inverse(T)
                T_node_body[far] = T_node_body[near] @ T
                used.add(joint.name)
                group.append(far)
        node_of.update(dict.fromkeys(group, NodeId(len(groups))))
        groups.append(tuple(group))
    spare = tuple(joint for joint in fixed if joint.name not in used)
    return T_node_body, node_of, groups, spare
