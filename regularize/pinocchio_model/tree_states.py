"""What is computed of a tree at a state, by the compiled kernel or by Pinocchio."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np

from regularize.kernel.bodies import Bodies
from regularize.lie.screw import Array
from regularize.pinocchio_model.closure_rows import DataPoses, Poses
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.rows import ConstraintRows
from regularize.pinocchio_model.spanning_tree import SpanningTree
from regularize.pinocchio_model.split import TreeTerms, mass_matrix


class Workspace(threading.local):
    """What Pinocchio writes to while it computes: every thread has its own.

    Args:
        tree: The tree.
    """

    def __init__(self, tree: SpanningTree) -> None:
        """Make room when a thread needs it: it grows with the third power of the velocities."""
        self._tree = tree

    @cached_property
    def data(self) -> Any:
        """The thread's ``pinocchio.Data``."""
        return self._tree.model.createData()


class TreeStates:
    """A tree with its rows at states.

    Args:
        tree: The tree.
        rows: The rows.
        workspace: Where Pinocchio computes.
        bodies: The bodies as the compiled kernel knows them, or None.
    """

    def __init__(
        self, tree: SpanningTree, rows: ConstraintRows, workspace: Workspace, bodies: Bodies | None
    ) -> None:
        """Keep what computes."""
        self._tree, self._rows, self._workspace, self._bodies = tree, rows, workspace, bodies

    def poses(self, q: Array) -> Poses:
        """Where the bodies are at a configuration."""
        if self._bodies is not None:
            return self._bodies.poses(q)
        pin.forwardKinematics(self._tree.model, self._workspace.data, q)
        return DataPoses(self._workspace.data)

    def between(self, q: Array, first: int, second: int) -> Array:
        """Twist of a body against another by velocities, about the ground's origin, (6, nv).

        Args:
            q: Configuration, shape (nq,).
            first: Joint of the tree before the other body; 0 is the ground.
            second: Joint before the body.
        """
        if self._bodies is not None:
            return self._bodies.between(q, first, second)
        model, data, world = self._tree.model, self._workspace.data, pin.ReferenceFrame.WORLD
        pin.computeJointJacobians(model, data, q)
        one, two = (
            pin.getJointJacobian(model, data, joint, world) if joint else np.zeros((6, model.nv))
            for joint in (first, second)
        )
        return np.asarray(two - one)

    def terms(self, q: Array, v: Array) -> TreeTerms:
        """What the equations of motion consist of."""
        if self._bodies is not None:
            kernel = self._bodies.kernel
            needed, M, jacobian = kernel.inverse_terms(q, v, np.zeros(self._tree.nv))
            return TreeTerms(M, needed, jacobian, kernel.bias(q, v))
        model, data = self._tree.model, self._workspace.data
        jacobian, bias = self._rows.jacobian_and_bias(data, q, v)
        needed = np.array(pin.nonLinearEffects(model, data, q, v))
        return TreeTerms(mass_matrix(model, data, q), needed, jacobian, bias)

    def coordinates(self, map_: ModelCoordinates, q: Array) -> Array:
        """The mechanism's joint coordinates, those of the cuts included, shape (N, n).

        Args:
            map_: Where they are in the tree.
            q: Configurations, shape (N, nq).
        """
        result = map_.of_tree(q)
        found = None if self._bodies is None else self._bodies.kernel.closing_coordinates(q)
        if found is not None:
            result[:, self._rows.closing_columns] = found
            return result
        pairs = [(c, list(c.edge.columns)) for c in self._rows.closures if c.edge is not None]
        if self._bodies is not None:
            poses = np.moveaxis(self._bodies.poses(q), 1, 0)
            for closure, columns in pairs:
                result[:, columns] = closure.position(poses)
            return result
        for row, each in zip(result, q, strict=True):
            at = self.poses(each)
            for closure, columns in pairs:
                row[columns] = closure.position(at)
        return result

    def moments(self, q: Array) -> Array:
        """Mass times centre of mass at configurations (N, nq), shape (N, 3)."""
        if self._bodies is not None:
            return self._bodies.moments(q)
        model, data = self._tree.model, self._workspace.data
        each = [pin.centerOfMass(model, data, x) * data.mass[0] for x in q]
        return np.array(each).reshape(-1, 3)

    def energies(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Kinetic energies, and the potential energies of gravity, in J, each of shape (N,).

        Args:
            q: Configurations, shape (N, nq).
            v: Velocities, shape (N, nv).
        """
        if self._bodies is not None:
            return self._bodies.energies(q, v)
        model, data = self._tree.model, self._workspace.data
        # Pinocchio's own function leaves the rotors of some types of joints out.
        pairs = zip(q, v, strict=True)
        kinetic = [0.5 * b @ mass_matrix(model, data, a) @ b for a, b in pairs]
        gravity = [pin.computePotentialEnergy(model, data, each) for each in q]
        return np.array(kinetic), np.array(gravity)
