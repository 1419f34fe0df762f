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
from regularize.lie.arrays import Array
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.graph import Edge, NodeId, joined
from regularize.mechanism.mechanism import Joint, Mechanism

#: Frames, two of each joint, that have one axis, and the projector (3, 3) across it.
Tie: TypeAlias = tuple[list[int], Array]


class JointPlaces:
    """The joints of some loops, as things that can be moved.

    Args:
        loops: The loops; twists are about the centre and lengths divided as there.
        reference: State at the assembled pose.
        at_origins: Whether moves are turns about the origins of joint frames; by default about the
            points of their axes that are nearest to the centre.

    Attributes:
        joints: The joints that can be moved: all in the loops, welds that close one too.
    """

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
        self._points = [self._point(group[0], at_origins) for group in edges.values()]

    def _pose(self, node: NodeId) -> Array:
        return np.asarray(self.reference.T_world_node[0, self.loops.row(node)])

    def _body(self, node: NodeId, name: str) -> Array:
        return np.asarray(self._pose(node) @ self.loops.graph.T_node_body[name])

    def _point(self, edge: Edge, at_origin: bool) -> Array:
        """The point of a joint in the world that it is moved and turned about."""
        point = (self._pose(edge.parent) @ edge.T_parent)[:3, 3]
        if edge.freedoms == 1 and not at_origin:
            axis = self.reference.screws[0, self.loops.local(edge.index)][0, 3:]
            if np.any(axis):
                point = point + axis * (axis @ (self.loops.center - point)) / (axis @ axis)
        return np.asarray(point)

    @property
    def _bases(self) -> Array:
        """World twists of unit moves and turns about the points of the joints."""
        bases = np.zeros((len(self.joints), 6, 6))
        bases[:, :3, :3] = self.loops.length * np.eye(3)
        bases[:, :3, 3:] = screw.cross_matrix(np.array(self._points).reshape(-1, 3))
        bases[:, 3:, 3:] = np.eye(3)
        return bases

    def derivative(self, state: State) -> Array:
        """Change of the closure errors by the moves of the frames, shape (N, 6 L, 12 joints)."""
        loops = self.loops
        away = state.T_world_node @ screw.inverse(self.reference.T_world_node)
        carried = screw.adjoint(away)
        target = state.T_world_target[..., :3, 3]
        columns = []
        incidence = dict(zip(loops.edges, loops.edge_incidence.T, strict=True))
        for group, basis in zip(self.edges.values(), self._bases, strict=True):
            first, last = incidence[group[0].index], incidence[group[-1].index]
            on_parent = carried[:, loops.row(group[0].parent)] @ basis
            on_child = carried[:, loops.row(group[-1].child)] @ basis
            total = np.concatenate(
                [
                    first[:, None, None] * on_parent[:, None],
                    -last[:, None, None] * on_child[:, None],
                ],
                axis=-1,
            )
            v, w = total[..., :3, :], total[..., 3:, :]
            gap = v - screw.cross_matrix(target) @ w
            columns.append(np.concatenate([gap / loops.length, w], axis=2))
        whole = np.stack(columns, axis=3)
        return whole.reshape(len(state.q), 6 * len(loops.chords), 12 * len(self.edges))

    def aligned(self, parallel: float, coaxial: float) -> tuple[Array, list[Tie]]:
        """Moves that make axes of one body parallel, or one axis, which nearly are so.

        Args:
            parallel: Largest angle in radians between axes that are meant to be parallel.
            coaxial: Below which distance, scaled, parallel axes of hinges are meant to be one.

        Returns:
            The moves, shape (12 joints,), and which frames have one axis then.
        """
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
        """The mechanism with the frames of its joints moved, shape (12 joints,)."""
        changed = {}
        pairs = zip(self.edges.items(), self._bases, moves.reshape(-1, 2, 6), strict=True)
        for (name, group), basis, move in pairs:
            on_parent, on_child = screw.exp((basis @ move.T).T)
            first, last, joint = group[0], group[-1], group[0].joint
            parent = self._body(first.parent, joint.parent)
            child = self._body(last.child, joint.child)
            changed[name] = replace(
                joint,
                T_parent_joint=_carried(on_parent, parent, joint.T_parent_joint),
                T_child_joint=_carried(on_child, child, joint.T_child_joint),
            )
        joints = tuple(changed.get(joint.name, joint) for joint in mechanism.joints)
        return replace(mechanism, joints=joints, digits=None)

    def sizes(self, moves: Array) -> tuple[Array, Array]:
        """By how many metres and radians every joint moves, shapes (joints,)."""
        moved = np.linalg.norm(moves.reshape(-1, 2, 2, 3), axis=3).max(axis=1)
        return self.loops.length * moved[:, 0], moved[:, 1]


def _carried(D: Array, body: Array, on_body: Array) -> Array:
    """A joint's frame on its body after a move in the world; it may lie off along its axis."""
    return np.asarray(screw.inverse(body) @ D @ body @ on_body)
