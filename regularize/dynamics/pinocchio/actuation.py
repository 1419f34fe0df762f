r"""Actuators: the forces that they need for a motion, and the motions that they make.

With the velocities N that the rows leave free, the rows S that pick the actuated ones, and weights
W, the actuator forces are the smallest ones, :math:`\tau^T W \tau`, of those that leave least unmet
of :math:`N^T (S^T \tau - M a - n)`. Let L be the motions that remain with all actuators locked,
orthonormal. Then

.. math::

    (S^T W^{-1} S + L L^T) \, z + J^T \lambda = M a + n, \qquad J z = 0,

gives :math:`\tau = W^{-1} S z`, and :math:`L L^T (M a + n)` is what no actuator can meet. It is the
equation of a constrained motion; see ``derivatives``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.spanning_tree import SpanningTree
from regularize.errors import ModelError
from regularize.lie.arrays import Array, Indices, read_only
from regularize.mechanism.mechanism import Mechanism
from regularize.tolerances import EXACT, VANISHING


def actuated_joints(mechanism: Mechanism, named: Sequence[str] | None) -> Sequence[str]:
    """Return the names of the actuated joints, by default of those that the model marks."""
    if named is not None:
        return named
    names = [joint.name for joint in mechanism.joints if joint.actuated]
    if not names:
        raise ModelError(
            "the model does not say which joints are actuated; name them: actuated=[...]"
        )
    return names


@dataclass(frozen=True, eq=False)
class Actuation:
    """Actuated velocities, and what the forces there cost."""

    joints: tuple[str, ...]  #: name of the joint of every actuator
    index: Indices  #: of the velocities, shape (k,)
    weights: Array  #: cost of the square of every force, shape (k,)

    @classmethod
    def of(cls, joints: tuple[str, ...], index: Indices, weights: ArrayLike | None) -> Actuation:
        """Actuators of the given joints, all of the same weight where none is given."""
        if len(set(index.tolist())) < len(index):
            raise ModelError(f"an actuated joint is named twice: {', '.join(joints)}")
        costs = np.ones(len(index)) if weights is None else np.asarray(weights, dtype=np.float64)
        if costs.shape != index.shape or not np.all(costs > 0.0):
            raise ModelError(
                f"weights must be one positive number for each of the {len(index)} actuated "
                f"freedoms, not {np.asarray(weights).tolist()}"
            )
        return cls(joints, index, read_only(costs))

    def split(self, free: Array) -> ActuatorSplit:
        """Split velocities that keep the loops closed, orthonormal, shape (nv, n)."""
        scale = 1.0 / np.sqrt(self.weights)
        u, s, vt = np.linalg.svd(scale[:, None] * free[self.index])
        rank = int(np.sum(s > VANISHING * s[:1].sum()))
        forces = scale[:, None] * u[:, :rank] / s[:rank]
        return ActuatorSplit(forces, free @ vt[:rank].T, free @ vt[rank:].T)


@dataclass(frozen=True, eq=False)
class ActuatorSplit:
    """Free velocities, split into those that actuators drive and those that they do not see."""

    forces: Array  #: of actuators that do unit work on the driven velocities, shape (k, r)
    driven: Array  #: orthonormal velocities that the actuators drive, shape (nv, r)
    locked: Array  #: those that remain with all actuators locked, shape (nv, n - r)

    def motions(self) -> Array:
        """Return velocities by rates of the actuators, least squares if they conflict, (nv, k)."""
        return np.asarray(self.driven @ self.forces.T)

    def require_determined(self, tree: SpanningTree, moves: Array, what: str) -> None:
        """Refuse where something still moves with all actuators locked, naming the joints."""
        if np.max(np.abs(moves), initial=0.0) > EXACT.singular:
            size = np.max(np.abs(self.locked), axis=1)
            free = [
                tree.names[j]
                for j in range(1, tree.njoints)
                for i in [tree.idx_vs[j]]
                if np.max(size[i : i + tree.nvs[j]], initial=0.0) > EXACT.singular
            ]
            raise ModelError(
                f"the actuators do not determine how {what} moves: with all of them locked, "
                f"{', '.join(free)} can still move; count some of these as actuated"
            )


def frame_jacobian(
    model: Any, data: Any, q: Array, frame: str | int, relative_to: str | int | None
) -> Array:
    """Twist of a frame about its own origin, ground axes, by the model's velocities, (6, nv)."""
    pin.computeJointJacobians(model, data, q)
    target, axes = frame_index(model, frame), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    jacobian = np.array(pin.getFrameJacobian(model, data, target, axes))
    if relative_to is not None:
        base = frame_index(model, relative_to)
        carried = np.array(pin.getFrameJacobian(model, data, base, axes))
        pin.updateFramePlacement(model, data, target)
        pin.updateFramePlacement(model, data, base)
        arm = data.oMf[target].translation - data.oMf[base].translation
        carried[:3] -= pin.skew(arm) @ carried[3:]
        jacobian -= carried
    return jacobian


def frame_index(model: Any, frame: str | int) -> int:
    """Index of a frame given by name or index."""
    if isinstance(frame, str):
        if not model.existFrame(frame):
            known = ", ".join(f.name for f in model.frames[1:])
            raise ModelError(f"the model has no frame {frame!r}; it has: {known}")
        return int(model.getFrameId(frame))
    if not 0 <= frame < model.nframes:
        raise ModelError(f"the model has no frame {frame}; it has {model.nframes}")
    return frame
