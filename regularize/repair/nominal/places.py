"""JointPlaces of joints as unknowns: how closure errors change when joints are moved a little.

A joint has a frame on each of its two bodies, and both can be off. Where the bodies have moved by
D and D' since the assembled pose, moving the frames by twists δ and δ' there changes the closure
error of a loop through the joint by Ad(D) δ - Ad(D') δ'. Where both are moved alike, the pose stays
closed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Point, Transform
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.connections import joined
from regularize.mechanism.graph import Edge, NodeId
from regularize.mechanism.mechanism import Joint, Mechanism

#: Frames, two of each joint, that have one axis, and the projector (3, 3) across it.
Tie: TypeAlias = tuple[list[int], Array]


class JointPlaces:
    """Joints of loops as things that can be moved, about points of their axes or their origins."""

    def __init__(
        self, loops: LoopKinematics, reference: State, *, at_origins: bool = False
    ) -> None:
        self.loops, self.reference = loops, reference
        edges: dict[str, list[Edge]] = {}
        for e in loops.edges:
            edge = loops.graph.edges[e]
            edges.setdefault(edge.joint.name, []).append(edge)
        self.edges = edges
        self.joints: tuple[Joint, ...] = tuple(group[0].joint for group in edges.values())
        points = [self._point(group[0], at_origins) for group in edges.values()]
        self._points = np.array(points).reshape(-1, 3)
        #: World twists of unit moves and turns about the points of the joints.
        self._bases = np.tile(np.eye(6), (len(points), 1, 1))
        self._bases[:, :3, :3] *= loops.length
        self._bases[:, :3, 3:] = screw.cross_matrix(self._points)

    def _pose(self, node: NodeId) -> Transform:
        return np.asarray(self.reference.T_world_node[0, self.loops.row(node)])

    def _point(self, edge: Edge, at_origin: bool) -> Point:
        """Return the point of a joint that it is moved and turned about."""
        point = (self._pose(edge.parent) @ edge.T_parent)[:3, 3]
        if edge.freedoms == 1 and not at_origin:
            axis = self.reference.screws[0, self.loops.local(edge.index)][0, 3:]
            if np.any(axis):
                point = point + axis * (axis @ (self.loops.center - point)) / (axis @ axis)
        return np.asarray(point)

    def derivative(self, state: State) -> Array:
        """Return the change of closure errors by moves of the frames, shape (N, 6 L, 12 joints)."""
        loops, groups = self.loops, list(self.edges.values())
        carried = screw.adjoint(state.T_world_node @ screw.inverse(self.reference.T_world_node))
        parents = [loops.row(group[0].parent) for group in groups]
        children = [loops.row(group[-1].child) for group in groups]
        first = loops.edge_incidence[:, [loops.edges.index(group[0].index) for group in groups]]
        last = loops.edge_incidence[:, [loops.edges.index(group[-1].index) for group in groups]]
        on_parent = first[..., None, None] * (carried[:, parents] @ self._bases)[:, None]
        on_child = last[..., None, None] * (carried[:, children] @ self._bases)[:, None]
        total = np.concatenate([on_parent, -on_child], axis=-1)  # (N, L, joints, 6, 12)
        target = screw.cross_matrix(state.T_world_target[..., :3, 3])[:, :, None]
        total[..., :3, :] = (total[..., :3, :] - target @ total[..., 3:, :]) / loops.length
        shape = (len(state.q), 6 * len(loops.chords), 12 * len(groups))
        return np.swapaxes(total, 2, 3).reshape(shape)

    def aligned(self, parallel: float, coaxial: float) -> tuple[Array, list[Tie]]:
        """Return moves that make nearly parallel axes of a body parallel or one, and the latter."""
        axes, owners, bodies, points = [], [], [], []
        for k, (group, point) in enumerate(zip(self.edges.values(), self._points, strict=True)):
            edge = group[0]
            if len(group) == 1 and edge.freedoms == 1:
                hinged = edge.screws[3:].any()
                axis = edge.screws[3:, 0] if hinged else edge.screws[:3, 0]
                for node, T in ((edge.parent, edge.T_parent), (edge.child, edge.T_child)):
                    axes.append(screw.unit((self._pose(node) @ T)[:3, :3] @ axis))
                    bodies.append(node)
                    points.append(point if hinged else np.full(3, np.nan))
                owners += [2 * k, 2 * k + 1]
        moves, ties = np.zeros((2 * len(self.joints), 2, 3)), list[Tie]()
        directions, places = np.array(axes).reshape(-1, 3), np.array(points).reshape(-1, 3)
        close = np.linalg.norm(np.cross(directions[:, None], directions), axis=-1) <= parallel
        # A body that is turned as a whole takes its axes along: they need not point anywhere.
        close &= np.equal.outer(bodies, bodies)
        for together in joined(np.argwhere(np.triu(close, 1)).tolist()):
            _, _, vt = np.linalg.svd(directions[together])
            for i in together:
                mean = vt[0] if vt[0] @ directions[i] > 0 else -vt[0]
                moves[owners[i], 1] = np.cross(directions[i], mean)
            across = np.eye(3) - np.outer(vt[0], vt[0])
            aside = places[together] @ across / self.loops.length
            near = np.linalg.norm(aside[:, None] - aside, axis=-1) < coaxial
            for one in joined(np.argwhere(np.triu(near, 1)).tolist()):
                ties.append(([owners[together[i]] for i in one], across))
                moves[ties[-1][0], 0] = aside[one].mean(axis=0) - aside[one]
        return moves.reshape(-1), ties

    def moved(self, mechanism: Mechanism, moves: Array) -> Mechanism:
        """Return the mechanism with the frames of its joints moved."""
        changed = {}
        pairs = zip(self.edges.items(), self._bases, moves.reshape(-1, 2, 6), strict=True)
        for (name, group), basis, move in pairs:
            joint, on_body = group[0].joint, self.loops.graph.T_node_body
            frames = []
            for D, node, body, T in (
                (screw.exp(basis @ move[0]), group[0].parent, joint.parent, joint.T_parent_joint),
                (screw.exp(basis @ move[1]), group[-1].child, joint.child, joint.T_child_joint),
            ):
                place = self._pose(node) @ on_body[body]
                # On its own body, where it may lie off along its axis.
                frames.append(screw.inverse(place) @ D @ place @ T)
            changed[name] = replace(joint, T_parent_joint=frames[0], T_child_joint=frames[1])
        joints = tuple(changed.get(joint.name, joint) for joint in mechanism.joints)
        return replace(mechanism, joints=joints, digits=None)

    def sizes(self, moves: Array) -> tuple[Array, Array]:
        """Return by how many metres and radians every joint moves."""
        moved = np.linalg.norm(moves.reshape(-1, 2, 2, 3), axis=3).max(axis=1)
        return self.loops.length * moved[:, 0], moved[:, 1]
