"""Loops closed by a joint whose freedoms form no group, in a model without coordinates for it.

A universal joint is a series of hinges with a cross between them. The rows are constant in a frame
on one of its bodies, which may be the cross, and what is left of them where its own rates are
eliminated turns with the joint. On closed loops the pose of the bodies tells its coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import Edge, Graph, NodeId
from regularize.model.joint_motion import joint_position
from regularize.pinocchio_model.closure_rows import ClosureRows, Poses
from regularize.pinocchio_model.styles import row_covectors
from regularize.reduction.cuts import Cut


@dataclass(frozen=True, eq=False)
class SeriesClosure(ClosureRows):
    """A closing joint in a series of single freedoms; the row frame is the joint's on its parent.

    Attributes:
        passed: Freedoms between the parent and the body that carries the cut frame.
        T_body_cut: The cut frame seen from the joint's frame on that body, shape (4, 4).
        eliminated: Independent rows that only tell the joint's own rates.
    """

    edge: Edge
    passed: int
    T_body_cut: Array
    eliminated: int

    def current(self, poses: Poses) -> Array:
        """The covectors where the bodies are, shape (m, 6)."""
        q = joint_position(self.edge, self.joint_pose(poses))
        rows, own = self.rows_and_own(q)
        u = np.linalg.svd(rows @ own)[0]
        return np.asarray(u[:, self.eliminated :].T @ rows)

    def rows_and_own(self, q: Array) -> tuple[Array, Array]:
        """All kept rows and the joint's screws in its frame on the parent, (r, 6) and (6, f)."""
        T, columns, T_parent_cut = np.eye(4), [], np.eye(4)
        for k, value in enumerate(q):
            column = self.edge.screws[:, k]
            columns.append(screw.adjoint(T) @ column)
            T = T @ screw.exp(column * value)
            if k + 1 == self.passed:
                T_parent_cut = T
        T_parent_cut = T_parent_cut @ self.T_body_cut
        rows = row_covectors(self.cut) @ screw.adjoint(screw.inverse(T_parent_cut))
        return rows, np.column_stack(columns)

    def own_acceleration(self, poses: Poses, twist: Array) -> Array:
        """Brackets of every screw with those that it moves, times their rates, shape (6,)."""
        own = self.rows_and_own(joint_position(self.edge, self.joint_pose(poses)))[1]
        rates = np.linalg.lstsq(own, twist, rcond=None)[0]
        total, moved = np.zeros(6), np.zeros(6)
        for column, rate in zip(own.T, rates, strict=True):
            total += screw.ad(moved) @ column * rate
            moved = moved + column * rate
        return total

    def T_world_cut(self, poses: Poses) -> Array:
        """The cut frame in the world, shape (4, 4)."""
        parent = poses[self.first] @ self.first_frame
        q = joint_position(self.edge, self.joint_pose(poses))
        for column, value in zip(self.edge.screws.T[: self.passed], q, strict=False):
            parent = parent @ screw.exp(column * value)
        return np.asarray(parent @ self.T_body_cut)


def series_closure(
    place: Mapping[NodeId, tuple[int, Array]], graph: Graph, cut: Cut
) -> SeriesClosure:
    """The closure by a joint that is cut at one of its freedoms, the others left out as well.

    Args:
        place: Joint that carries each node, and the node's frame in that joint's frame.
        graph: The mechanism's graph.
        cut: The cut, at one freedom of the joint.
    """
    series = [edge for edge in graph.edges if edge.joint is cut.edge.joint]
    nodes = [series[0].parent, *(edge.child for edge in series)]
    whole = replace(
        series[0],
        name=cut.edge.joint.name,
        child=nodes[-1],
        screws=cut.edge.joint.screws,
        T_child=series[-1].T_child,
        columns=tuple(column for edge in series for column in edge.columns),
    )
    passed = nodes.index(cut.node)
    to_body = whole.T_parent if passed == 0 else whole.T_child if passed == len(series) else None
    T_body_cut = cut.T_node_frame if to_body is None else screw.inverse(to_body) @ cut.T_node_frame
    (first, T_first), (second, T_second) = place[nodes[0]], place[nodes[-1]]
    one, two = T_first @ whole.T_parent, T_second @ whole.T_child
    closure = SeriesClosure(
        replace(cut, edge=whole),
        whole,
        first,
        second,
        one,
        np.zeros((0, 6)),
        one,
        two,
        1,
        one,
        passed,
        T_body_cut,
        0,
    )
    rows, own = closure.rows_and_own(cut.edge.joint.position)
    eliminated = int(np.linalg.matrix_rank(rows @ own, tol=1e-9))
    covectors = np.zeros((len(rows) - eliminated, 6))
    return replace(closure, covectors=covectors, eliminated=eliminated)
