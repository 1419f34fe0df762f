"""Rows that keep a mechanism together in codes with six coordinates a body.

There every joint is a constraint between two bodies, and the loops close by themselves. The joints
of the spanning tree keep all their rows, and the cut joints those that the reduction keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.graph import Edge, EdgeId
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Model
from regularize.reduction.cuts import Cut
from regularize.reduction.reduce import Reduction, as_reduction, reduce
from regularize.tolerances import VANISHING
from regularize.validation import ARRAY, numbers, validated


@validated(q=ARRAY)
def absolute_rows(model: Model, q: Array | None = None) -> dict[str, Array]:
    """The rows of every joint that a code with absolute coordinates has to keep.

    A row w says that w · (v, ω) = 0 for the velocity of the child against the parent, in metres.
    The rows of all joints together are as many as are independent, where the reduction leaves
    nothing redundant, and everything that they leave out follows from them. Couplings of joints are
    rows of their own, and not among these. Where such rows hold bodies in groups
    (``reduction.held``), the cuts alone have more rows than are independent, and the surplus is
    left out as ``reduce(…, numerical="anyway")`` does: at single configurations a row may be missed
    then.

    Rows of a cut are constant in a frame on one of its two bodies. Where that is the child, and of
    joints whose freedoms form no group (a universal joint's torque stands across both its axes),
    they turn with the joint in the frame that is asked for: these are the rows at ``q``.

    Args:
        model: The mechanism, or its reduction.
        q: Coordinates of all joints with the loops closed, shape (n,); by default as assembled.

    Returns:
        Covectors (v, ω) in the joint's frame on its parent, orthonormal in metres, shape (6, m), by
        the names of all joints; m is 0 where nothing is to be kept.

    Raises:
        ModelError: The coordinates have another shape.
    """
    placed = PlacedJoints.of(with_cuts_alone(as_reduction(model)), q)
    names = (joint.name for joint in placed.reduction.mechanism.joints)
    return {name: read_only(placed.rows(name)) for name in names}


def with_cuts_alone(reduction: Reduction) -> Reduction:
    """The reduction with rows of cuts alone, as few as it has with rows of groups."""
    if not reduction.held:
        return reduction
    return reduce(reduction.graph, numerical="anyway", groups=False, seed=reduction.seed)


@dataclass(frozen=True, eq=False)
class PlacedJoints:
    """The joints of a reduced mechanism at a configuration, each in its frame on its parent.

    Attributes:
        reduction: The reduction, with rows of cuts alone.
        nodes: Poses of the nodes in the ground frame, shape (nodes, 4, 4).
        screws: Screws of all coordinates in the ground frame, shape (6, n).
    """

    reduction: Reduction
    nodes: Array
    screws: Array

    @classmethod
    def of(cls, reduction: Reduction, q: Array | None = None) -> PlacedJoints:
        """The joints at coordinates (n,), by default the assembled ones."""
        at = reduction.q if q is None else numbers(q)
        if at.shape != reduction.q.shape:
            raise ModelError(f"q has shape {at.shape}; pass ({len(reduction.q)},)")
        loops = reduction.loops
        state = loops.state(at)
        nodes = np.stack([state.T_world_node[0, loops.row(n)] for n in reduction.graph.every_node])
        return cls(reduction, nodes, state.screws[0].T)

    def body(self, name: str) -> Array:
        """Pose of a body, shape (4, 4)."""
        graph = self.reduction.graph
        return np.asarray(self.nodes[graph.node_of[name]] @ graph.T_node_body[name])

    def frame(self, joint: Joint) -> Array:
        """The frame of a joint on its parent, shape (4, 4)."""
        return np.asarray(self.body(joint.parent) @ joint.T_parent_joint)

    def parts(self, name: str) -> list[Edge]:
        """The elementary joints of a joint; none of a fixed one that is no cut."""
        return [edge for edge in self.reduction.graph.edges if edge.joint.name == name]

    def cut(self, name: str) -> Cut | None:
        """Where one of them is cut, or None."""
        return next((cut for cut in self.reduction.cuts if cut.edge.joint.name == name), None)

    def freedoms(self, joint: Joint, leaving: EdgeId | None = None) -> Array:
        """Screws of a joint's parts but one, in its frame, shape (6, f)."""
        parts = [edge for edge in self.parts(joint.name) if edge.index != leaving]
        columns = [c for edge in parts for c in edge.columns]
        to_joint = screw.adjoint(screw.inverse(self.frame(joint)))
        return np.asarray(to_joint @ self.screws[:, columns])

    def rows(self, name: str, implied: bool = False) -> Array:
        """Kept covectors of a joint in its frame on its parent, orthonormal, shape (6, m).

        Args:
            name: The joint.
            implied: Those that follow from the kept ones of all joints instead.
        """
        joint, cut = self.reduction.mechanism.joint(name), self.cut(name)
        if joint in self.reduction.graph.rigid_loops:
            return np.eye(6) if implied else np.zeros((6, 0))
        if cut is None:
            return np.zeros((6, 0)) if implied else complement(self.freedoms(joint))
        left_out = np.hstack([cut.removed, cut.thinned, cut.numerical])
        own = (left_out if implied else cut.rows).copy()
        own[:3] /= cut.length
        T_cut_joint = screw.inverse(self.nodes[cut.node] @ cut.T_node_frame) @ self.frame(joint)
        there = np.linalg.qr(screw.adjoint(T_cut_joint).T @ own)[0]
        # Rates of the joint's other parts are no velocities of bodies: what they change cannot say.
        others = self.freedoms(joint, cut.edge.index)
        return np.asarray(there @ complement((others.T @ there).T)) if others.size else there


def complement(columns: Array) -> Array:
    """Orthonormal basis of what all columns vanish on, shape (k, k - rank)."""
    if not columns.size:
        return np.eye(len(columns))
    u, s, _ = np.linalg.svd(columns)
    return np.asarray(u[:, int(np.sum(s > VANISHING * s[0])) :] if s[0] > 0 else u)
