r"""Building the graph of a mechanism: bodies merged to nodes, joints split into edges.

A hinge is the same wherever its frame lies on its axis, and a slide wherever its frame lies at all.
Lengths are those between axes. Frames that lie much further off than the axes are from each other
would drown these lengths, so they are brought to where the axes are near each other: to the points
next to the one, :math:`c`, whose squared distances from all axes add up to the least,

.. math:: \sum_i P_i \, (c - o_i) = 0,

with :math:`P_i` the projection across axis i and :math:`o_i` a point on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array, Direction, Indices, Transform
from regularize.lie.screw import IDENTITY
from regularize.mechanism.graph import (
    SUBGROUP_KINDS,
    ColumnId,
    CouplingRow,
    Edge,
    EdgeId,
    Graph,
    NodeId,
    breadth_first,
)
from regularize.mechanism.joint import Joint, motion
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism, refuse_elastic
from regularize.tolerances import COINCIDENT, NEGLIGIBLE, REGULAR, UNNOTICED, VANISHING

#: Directions in which the frames of joints may be moved that are not one, by their kind.
FREE = {"fixed": 3, "prismatic": 3, "spherical": 0, "free": 0}
#: No axes, joints or ends of a body are meant to be so little apart, in metres.
TOGETHER = 1e-8
#: Joints of one body of which all pairs are looked at; of more those that follow each other.
MANY = 64


def _near_each_other(graph: Graph) -> Graph:
    """Slide joint frames along their axes towards each other, if that shows the loop's size."""
    edges = graph.edges
    if not edges:
        return graph
    counts, axes = _free_directions(edges)
    apart, along, turning, side_by_side = _sizes(edges, counts, axes)
    if along <= 30.0 * apart:
        return graph
    free = [
        np.eye(3) if count == 3 else axis[:, None][:, :count]
        for count, axis in zip(counts.tolist(), axes, strict=True)
    ]
    poses = _poses(graph)
    frames = [poses[edge.parent] @ edge.T_parent for edge in edges]
    across, moment = np.zeros((3, 3)), np.zeros(3)
    # Along axes that are parallel but for noise it is the frames that say where the loops are.
    held = [T for T, slides in zip(frames, free, strict=True) if slides.shape[1] < 3] or frames
    start = np.mean([T[:3, 3] for T in held], axis=0)
    for frame, basis in zip(frames, free, strict=True):
        slides = frame[:3, :3] @ basis
        P = np.eye(3) - slides @ slides.T
        across += P
        moment += P @ (frame[:3, 3] - start)
    spread = np.linalg.eigvalsh(across)
    # What rounding leaves of a distance is none.
    parallel = spread[0] <= REGULAR * spread[2]
    concurrent = not parallel and side_by_side <= max(0.1 * apart, NEGLIGIBLE * along)
    # Of one origin that is off by errors alone, the way along an axis is no length.
    errors = along < 250.0 * TOGETHER
    # Slides lie anywhere: their frames tell lengths only where axes have none that a file can tell.
    if apart > UNNOTICED * along:
        along = turning
    if (parallel or concurrent) and (apart < COINCIDENT * along or errors):
        return graph
    center = start + np.linalg.lstsq(across, moment, rcond=REGULAR if parallel else VANISHING)[0]
    near = tuple(
        _slid(edge, basis @ (basis.T @ (screw.inverse(frame) @ [*center, 1.0])[:3]))
        for edge, frame, basis in zip(edges, frames, free, strict=True)
    )
    missed = apart / along if concurrent and along > 30.0 * apart else 0.0
    return replace(graph, edges=near, missed=missed)


def _free_directions(edges: Sequence[Edge]) -> tuple[Indices, Direction]:
    """Count directions in which frames may slide without any change; return a single one."""
    # The parts of a joint that was split share one frame.
    counts = np.array([0 if e.split else FREE.get(e.joint.kind, 1) for e in edges], dtype=np.intp)
    axes = np.array([edge.screws[3:].sum(axis=1) for edge in edges])
    lengths = np.linalg.norm(axes, axis=1)
    counts[(counts == 1) & (lengths == 0.0)] = 0  # no turn at all, as of fixed joints
    axes[counts != 1] = 0.0
    return counts, axes / np.where(counts == 1, lengths, 1.0)[:, None]


def _sizes(edges: Sequence[Edge], counts: Indices, axes: Direction) -> list[float]:
    """Return the largest distances in metres between joints on one body."""
    # Of axes from each other; of frames along them, with and without slides; of parallel axes.
    rigid = {} if all(edge.freedoms for edge in edges) else _rigid(edges)
    on_body: dict[NodeId, list[int]] = {}
    frames = np.zeros((2 * len(edges), 4, 4))
    for k, edge in enumerate(edges):
        ends = ((edge.parent, edge.T_parent), (edge.child, edge.T_child))
        for end, (node, T) in enumerate(ends if edge.freedoms else ()):
            body, T_body_node = rigid.get(node, (node, IDENTITY))
            on_body.setdefault(body, []).append(2 * k + end)
            frames[2 * k + end] = T_body_node @ T
    pairs = [
        pair
        for ends in on_body.values()
        for pair in (combinations(ends, 2) if len(ends) <= MANY else pairwise(ends))
    ]
    if not pairs:
        return [0.0] * 4
    one, two = np.array(pairs).T
    counts = np.repeat(counts, 2)
    axes = np.einsum("kij,kj->ki", frames[:, :3, :3], np.repeat(axes, 2, axis=0))
    way = frames[two, :3, 3] - frames[one, :3, 3]
    first = np.where((counts[one] == 1)[:, None], axes[one], axes[two])
    normal = screw.cross(axes[one], axes[two])
    sine = np.linalg.norm(normal, axis=1)
    crossing = sine > 1e-2
    normal /= np.where(crossing, sine, 1.0)[:, None]
    across = np.where(
        crossing[:, None],
        normal * np.sum(normal * way, axis=1, keepdims=True),
        way - first * np.sum(first * way, axis=1, keepdims=True),
    )
    slides = (counts[one] == 3) | (counts[two] == 3)
    across[slides] = 0.0
    apart = np.linalg.norm(across, axis=1)
    along = np.linalg.norm(way - across, axis=1)
    parallel = (counts[one] == 1) & (counts[two] == 1) & ~crossing
    distances = apart, along, along[~slides], apart[parallel]
    return [float(values.max(initial=0.0)) for values in distances]


def _rigid(edges: Sequence[Edge]) -> dict[NodeId, tuple[NodeId, Transform]]:
    """Map each node to the node that edges without freedoms join it to, and its pose there."""
    poses: dict[NodeId, tuple[NodeId, Transform]] = {}
    for edge in edges:
        if edge.freedoms:
            continue
        one, T_one_parent = poses.setdefault(edge.parent, (edge.parent, IDENTITY))
        two, T_two_child = poses.setdefault(edge.child, (edge.child, IDENTITY))
        T = T_one_parent @ edge.T_parent @ screw.inverse(T_two_child @ edge.T_child)
        if one != two:
            second = {node: T_two for node, (body, T_two) in poses.items() if body == two}
            poses |= {node: (one, T @ T_two) for node, T_two in second.items()}
    return poses


def _poses(graph: Graph) -> dict[NodeId, Transform]:
    """Return the poses of all nodes along the spanning tree; loops may be open."""
    poses = {graph.ground: IDENTITY}
    for index, node in breadth_first(graph, graph.ground):
        edge = graph.edges[index]
        moved = edge.T_parent @ motion(edge, graph.position[list(edge.columns)])
        step = moved @ screw.inverse(edge.T_child)
        step = step if node == edge.child else screw.inverse(step)
        poses[node] = poses[edge.other(node)] @ step
    return poses


def _slid(edge: Edge, way: Array) -> Edge:
    """Return the edge with both joint frames shifted alike, in the joint frame."""
    shift = screw.transform(None, way)
    return replace(edge, T_parent=edge.T_parent @ shift, T_child=edge.T_child @ shift)


def build(mechanism: Mechanism, *, as_placed: bool = False) -> Graph:
    """Build the graph of a mechanism without elastic bodies, frames brought near or as placed."""
    refuse_elastic(mechanism)
    T_node_body, node_of, members, rigid_loops = _merge_fixed(mechanism)
    nodes = [group[0] for group in members]
    starts = np.cumsum([0, *(joint.freedoms for joint in mechanism.joints)]).tolist()
    first = {joint.name: k for joint, k in zip(mechanism.joints, starts, strict=False)}
    edges: list[Edge] = []
    for joint in mechanism.joints:
        if joint.kind == "fixed" and not joint.closure and joint not in rigid_loops:
            continue
        parts = [joint.screws]
        if joint.kind not in SUBGROUP_KINDS:
            parts = [joint.screws[:, [i]] for i in range(joint.freedoms)]
        node, end, column = node_of[joint.parent], node_of[joint.child], first[joint.name]
        if node == end:
            # Fixed joints hold both its bodies together: it closes a loop of its own, which needs
            # a node at which to be open.
            parts = [*parts, np.zeros((6, 0))]
        T_parent = T_node_body[joint.parent] @ joint.T_parent_joint
        for k, screws in enumerate(parts):
            index, name, child, T_child = EdgeId(len(edges)), f"{joint.name}/{k + 1}", end, IDENTITY
            if k < len(parts) - 1:
                child = NodeId(len(nodes))
                nodes.append(name)
                members.append(())
            else:
                T_child = T_node_body[joint.child] @ joint.T_child_joint
            name = joint.name if len(parts) == 1 else name
            columns = tuple(map(ColumnId, range(column, column + screws.shape[1])))
            frames = T_parent, T_child
            edges.append(
                Edge(index, joint, name, node, child, screws, *frames, columns, joint.group)
            )
            node, T_parent, column = child, IDENTITY, column + screws.shape[1]
    couplings = []
    for c in mechanism.couplings:
        terms = [(ColumnId(first[name] + freedom), factor) for name, freedom, factor in c.terms]
        taken, factors = zip(*terms, strict=True) if terms else ((), ())
        couplings.append(CouplingRow(c.name, taken, factors, c.offset, c.curve))
    bodies = tuple(nodes), tuple(members), T_node_body, node_of, node_of[mechanism.ground]
    joints = tuple(edges), mechanism.freedoms, tuple(couplings), rigid_loops
    graph = Graph(mechanism, *bodies, *joints)
    reached = {graph.ground} | {node for _, node in breadth_first(graph, graph.ground)}
    for i, name in enumerate(nodes):
        if i not in reached:
            raise ModelError(
                f"body {name!r} has no path of joints to the ground {graph.nodes[0]!r}"
            )
    return graph if as_placed else _near_each_other(graph)


def _merge_fixed(
    mechanism: Mechanism,
) -> tuple[dict[str, Transform], dict[str, NodeId], list[tuple[str, ...]], tuple[Joint, ...]]:
    """Group bodies that fixed joints join: frames in the groups, nodes, groups, joints to spare."""
    fixed = [j for j in mechanism.joints if j.kind == "fixed" and not j.closure]
    names = [mechanism.ground, *(body.name for body in mechanism.bodies)]
    rigid: dict[str, dict[str, Joint]] = {name: {} for name in names}
    for joint in fixed:
        rigid[joint.parent].setdefault(joint.child, joint)
        rigid[joint.child].setdefault(joint.parent, joint)
    T_node_body, node_of = dict[str, Array](), dict[str, NodeId]()
    groups, used = list[tuple[str, ...]](), set[str]()
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


def as_graph(model: Model | Graph, format: str | None = None) -> Graph:
    """Return the graph of a model, or of anything else that `as_mechanism` accepts."""
    return model if isinstance(model, Graph) else build(as_mechanism(model, format))
