"""The mechanism's joint coordinates and couplings in terms of those of the Pinocchio model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.errors import UnsupportedExport
from regularize.lie import screw
from regularize.lie.screw import Array, read_only
from regularize.model.graph import ColumnId, Graph
from regularize.pinocchio_model.tree import TreeJoint


class ModelCoordinates:
    """Where the coordinates of a mechanism are in the model of its spanning tree.

    Args:
        graph: The mechanism's graph.
        model: The Pinocchio model.
        joints: How its joints stand for the mechanism's.

    Attributes:
        coupling: Coupling rows over all joint coordinates of the mechanism, shape (C, n).
        offset: Their right-hand sides, shape (C,).

    Raises:
        UnsupportedExport: A coupling acts on a cut, which has no coordinate in the model.
    """

    def __init__(self, graph: Graph, model: Any, joints: Sequence[TreeJoint]) -> None:
        """Write the couplings as rows."""
        self.graph, self.model, self.joints = graph, model, tuple(joints)
        self.coupling = self._couplings()
        self.offset = read_only([c.offset for c in graph.couplings])

    def configuration(self, coordinates: Array) -> Array:
        """Configuration of the model from the mechanism's joint coordinates (n,), shape (nq,)."""
        q = pin.neutral(self.model)
        for joint in self.joints:
            start = self.model.idx_qs[joint.index]
            for edge in joint.edges:
                values = np.asarray(coordinates)[list(edge.columns)]
                if not edge.group:
                    values = values[::-1] if joint.reversed else values
                    q[start : start + edge.freedoms] = values
                    start += edge.freedoms
                    continue
                pose = screw.exp(edge.screws @ values)
                pose = screw.inverse(pose) if joint.reversed else pose
                if edge.freedoms == 6:
                    q[start : start + 7] = pin.SE3ToXYZQUAT(pin.SE3(pose))
                else:
                    q[start : start + 4] = pin.Quaternion(pose[:3, :3]).coeffs()
        return np.asarray(q)

    def of_tree(self, q: Array) -> Array:
        """The mechanism's coordinates that the model has, zero at the cuts, shape (n,)."""
        result = np.zeros(self.graph.freedoms)
        for joint in self.joints:
            start = self.model.idx_qs[joint.index]
            for edge in joint.edges:
                columns = list(edge.columns)
                if not edge.group:
                    values = q[start : start + edge.freedoms]
                    result[columns] = values[::-1] if joint.reversed else values
                    start += edge.freedoms
                    continue
                if edge.freedoms == 6:
                    pose = pin.XYZQUATToSE3(q[start : start + 7]).homogeneous
                else:
                    pose = np.eye(4)
                    pose[:3, :3] = pin.Quaternion(q[start : start + 4]).toRotationMatrix()
                pose = screw.inverse(pose) if joint.reversed else pose
                result[columns] = edge.screws.T @ screw.log(pose)
        return result

    def velocity_index(self, joint: str, freedom: int = 0) -> int:
        """Index in v, a and tau of a joint's freedom.

        Raises:
            UnsupportedExport: The joint is a cut, so the model has no coordinate for it.
        """
        self.graph.mechanism.joint(joint)
        for tree_joint in self.joints:
            start = self.model.idx_vs[tree_joint.index]
            if not any(e.joint.name == joint for e in tree_joint.edges):
                continue
            columns = [c for e in tree_joint.edges for c in e.columns]
            first = min(c for e in self.graph.edges if e.joint.name == joint for c in e.columns)
            if first + freedom not in columns:
                continue
            if tree_joint.reversed and not tree_joint.edges[0].group:
                columns = columns[::-1]
            return int(start + columns.index(ColumnId(first + freedom)))
        raise UnsupportedExport(
            f"joint {joint!r} closes a loop and has no coordinate in the model; choose other "
            "cuts: reduce(mechanism, cuts=[...]), or the style 'anchors'"
        )

    def coupled(self, q: Array) -> Array:
        """Errors of the couplings, shape (C,)."""
        if not len(self.coupling):
            return np.zeros(0)
        return np.asarray(self.coupling @ self.of_tree(q) - self.offset)

    def velocity_rows(self) -> Array:
        """Coupling rows on the model's velocities, shape (C, nv)."""
        rows = np.zeros((len(self.coupling), self.model.nv))
        for joint in self.joints:
            start = self.model.idx_vs[joint.index]
            columns = [c for e in joint.edges for c in e.columns]
            columns = columns[::-1] if joint.reversed else columns
            rows[:, start : start + len(columns)] = self.coupling[:, columns]
        return read_only(rows)

    def _couplings(self) -> Array:
        """Coupling rows over all joint coordinates, shape (C, n)."""
        graph = self.graph
        rows = np.zeros((len(graph.couplings), graph.freedoms))
        present = {c for joint in self.joints for e in joint.edges for c in e.columns}
        for row, coupling in zip(rows, graph.couplings, strict=True):
            for column, coefficient in zip(coupling.columns, coupling.coefficients, strict=True):
                if column not in present:
                    name = next(e.name for e in graph.edges if column in e.columns)
                    raise UnsupportedExport(
                        f"coupling {coupling.name!r} acts on joint {name!r}, which is a cut and "
                        "has no coordinate; choose other cuts: reduce(mechanism, cuts=[...]), or "
                        "the style 'anchors'"
                    )
                row[column] += coefficient
        return read_only(rows)
