"""Constraint rows on a Pinocchio model: error, Jacobian and bias."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from regularize.lie.screw import Array
from regularize.pinocchio_model.closure_rows import ClosureRows, DataPoses
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.spanning_tree import SpanningTree


class AnchorData(threading.local):
    """What Pinocchio computes of the anchors: every thread has its own.

    Args:
        anchors: Pinocchio's models of the frames that meet.
    """

    def __init__(self, anchors: Any) -> None:
        """Make room for one thread."""
        self.datas = pin.StdVec_ConstraintData()
        for anchor in anchors:
            self.datas.append(anchor.createData())
        self.pairs = list(zip(anchors, self.datas, strict=True))
        self.inner = [data.extract() for data in self.datas]


class ConstraintRows:
    """All rows of a model: those of the closures, then those of the couplings.

    Args:
        tree: The tree.
        closures: The closures.
        coupling: Rows of the couplings on velocities, shape (C, nv).
        targets: Their values on the model's coordinates, shape (C,).
    """

    def __init__(
        self, tree: SpanningTree, closures: Sequence[ClosureRows], coupling: Array, targets: Array
    ) -> None:
        """Stack the covectors of all closures."""
        self.tree, self.closures = tree, tuple(closures)
        total = sum(len(c.covectors) for c in closures)
        self.projection = np.zeros((total, 6 * len(closures)))
        row = 0
        for i, closure in enumerate(closures):
            count = len(closure.covectors)
            self.projection[row : row + count, 6 * i : 6 * i + 6] = closure.covectors
            row += count
        self.coupling, self.targets = coupling, targets
        self._no_acceleration = np.zeros(tree.nv)

    @property
    def model(self) -> Any:
        """The tree as a ``pinocchio.Model``."""
        return self.tree.model

    @cached_property
    def anchors(self) -> Any:
        """Pinocchio's models of the frames that meet."""
        anchors = pin.StdVec_ConstraintModel()
        for closure in self.closures:
            anchors.append(pin.ConstraintModel(closure.anchor(self.model)))
        return anchors

    @cached_property
    def _own(self) -> AnchorData:
        return AnchorData(self.anchors)

    @cached_property
    def closing_columns(self) -> list[int]:
        """Coordinates of the mechanism that closing joints have, one after the other."""
        return [column for each in self.closures if each.edge for column in each.edge.columns]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.projection) + len(self.coupling)

    def jacobian(self, data: Any, q: Array) -> Array:
        """Rows on velocities, shape (m, nv)."""
        pin.computeJointJacobians(self.model, data, q)
        return self.current_jacobian(data)

    def current_jacobian(self, data: Any) -> Array:
        """Rows on velocities where the joint Jacobians are up to date, shape (m, nv)."""
        if not self.closures:
            return self.coupling
        for anchor, anchor_data in self._own.pairs:
            anchor.calc(self.model, data, anchor_data)
        twists = pin.getConstraintsJacobian(self.model, data, self.anchors, self._own.datas)
        # Pinocchio gives a vector where there is one velocity.
        rows = self.projection @ twists.reshape(self.projection.shape[1], self.tree.nv)
        return np.vstack([rows, self.coupling]) if len(self.coupling) else rows

    def bias(self, data: Any, q: Array, v: Array) -> Array:
        """Rate of the rows at zero acceleration, shape (m,)."""
        pin.forwardKinematics(self.model, data, q, v, self._no_acceleration)
        for anchor, anchor_data in self._own.pairs:
            anchor.calc(self.model, data, anchor_data)
        return self.current_bias()

    def current_bias(self) -> Array:
        """Rate of the rows at zero acceleration where the anchors are up to date, shape (m,)."""
        if not self.closures:
            return np.zeros(len(self.coupling))
        rates = [data.constraint_acceleration_error for data in self._own.inner]
        drift = self.projection @ (rates[0] if len(rates) == 1 else np.concatenate(rates))
        if not len(self.coupling):
            return np.asarray(drift)
        return np.concatenate([drift, np.zeros(len(self.coupling))])

    def jacobian_and_bias(self, data: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """Both at once, shapes (m, nv) and (m,)."""
        pin.forwardKinematics(self.model, data, q, v, self._no_acceleration)
        pin.computeJointJacobians(self.model, data)
        return self.current_jacobian(data), self.current_bias()

    def residual(self, data: Any, q: Array, coupled: Array) -> Array:
        """Errors of the rows, zero where the loops are closed, shape (m,).

        Args:
            data: Pinocchio's data.
            q: Configuration, shape (nq,).
            coupled: Errors of the couplings, shape (C,).
        """
        pin.forwardKinematics(self.model, data, q)
        poses = DataPoses(data)
        errors = [closure.current(poses) @ closure.error(data) for closure in self.closures]
        return np.concatenate([*errors, coupled])
