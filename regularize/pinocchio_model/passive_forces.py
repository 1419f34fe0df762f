"""Forces within the joints of a robot, as joint forces of its Pinocchio model.

Joints that close loops have no coordinate there: what acts in them reaches the model's joints by
the transposed map of velocities, as all forces do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regularize.kernel.posing import moved
from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import ColumnId
from regularize.model.passive_joints import PassiveJoints
from regularize.pinocchio_model.closure_rows import ClosureRows, Poses
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.solvers import ConstrainedTree


@dataclass(frozen=True, eq=False, repr=False)
class PassiveForces:
    """Forces within the joints of a robot.

    Attributes:
        joints: What acts within the mechanism's joints.
        coordinates: Where the mechanism's coordinates are in the model.
        tree: The tree with its loops' closures.
    """

    joints: PassiveJoints
    coordinates: ModelCoordinates = field(repr=False)
    tree: ConstrainedTree = field(repr=False)

    @classmethod
    def of(cls, coordinates: ModelCoordinates, tree: ConstrainedTree) -> PassiveForces:
        """The forces of a model's joints, and of those that close its loops."""
        return cls(PassiveJoints.of(coordinates.graph), coordinates, tree)

    def dissipative(self, q: Array, v: Array, slip: float | None = None) -> Array:
        """Joint forces of damping and friction, shape (nv,).

        Args:
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
            slip: Rate in rad/s and m/s below which dry friction falls off; by default 1e-3.
        """
        if not self.joints.dissipates:
            return np.zeros(len(v))
        rates = self._rates(q, self.joints.damping + self.joints.friction)
        return np.asarray(rates.T @ self.joints.dissipative(rates @ v, slip))

    def springs(self, q: Array) -> Array:
        """Joint forces of springs, shape (nv,)."""
        if not self.joints.stores:
            return np.zeros(self.coordinates.tree.nv)
        rates = self._rates(q, self.joints.stiffness)
        return np.asarray(rates.T @ self.joints.springs(self._positions(q)))

    def energy(self, q: Array) -> float:
        """Energy in the springs, in J."""
        return float(self.joints.energy(self._positions(q))) if self.joints.stores else 0.0

    def _positions(self, q: Array) -> Array:
        """Joint coordinates, of closing joints those that have a spring, shape (n,)."""
        x = self.coordinates.of_tree(q)
        for closure, columns, poses in self._closing(q, self.joints.stiffness):
            x[columns] = closure.position(poses)
        return x

    def _rates(self, q: Array, wanted: Array) -> Array:
        """Rates of joint coordinates by the velocity, of closing joints the wanted, (n, nv)."""
        rates, tree = self.coordinates.rates.copy(), self.coordinates.tree
        for j, columns in self.coordinates.backwards:
            if np.any(wanted[columns]):
                # The model has the parent's twist in the parent's axes; rates are in the child's.
                pose, begin = moved(tree.parts[tree.part_of[j] - 1], q), tree.idx_vs[j]
                turn = pose[:3, :3] if tree.nvs[j] == 3 else screw.adjoint(pose)
                rates[columns, begin : begin + len(turn)] @= turn
        for closure, columns, poses in self._closing(q, wanted):
            between = self.tree.states.between(q, closure.first, closure.second)
            rates[columns] = closure.rates(poses, between)
        return rates

    def _closing(self, q: Array, wanted: Array) -> list[tuple[ClosureRows, list[ColumnId], Poses]]:
        """Closures whose joints have a wanted value, their columns, and where the bodies are."""
        pairs = [
            (c, [] if c.edge is None else [*c.edge.columns]) for c in self.tree.constraints.closures
        ]
        chosen = [(closure, columns) for closure, columns in pairs if np.any(wanted[columns])]
        if not chosen:
            return []
        poses = self.tree.states.poses(q)
        return [(closure, columns, poses) for closure, columns in chosen]
