"""Motions of joints by their coordinates: of one joint, and of all joints of some loops at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import Edge
from regularize.model.loop_tree import LoopTree


class JointMotions:
    """The motions of all edges of some loops, vectorised over configurations.

    Args:
        loops: The loops; their coordinates, in order, are those of every configuration.
    """

    def __init__(self, loops: LoopTree) -> None:
        """Sort the edges by how they move."""
        self._edges, self._freedoms = loops.edges, loops.freedoms
        edges = [loops.graph.edges[index] for index in loops.edges]
        self._singles = [
            (edge.index, column, edge.screws[:, k])
            for edge in edges
            if not edge.group
            for k, column in enumerate(loops.local(edge.index))
        ]
        self._groups = _by_freedoms(loops, [edge for edge in edges if edge.group])

    def factors(self, q: Array) -> dict[int, list[Array]]:
        """The exponentials of every edge, one per factor, each of shape (N, 4, 4)."""
        factors: dict[int, list[Array]] = {index: [] for index in self._edges}
        if self._singles:
            coordinates = q[:, [column for _, column, _ in self._singles]]
            twists = coordinates[..., None] * np.array([s for _, _, s in self._singles])
            exponentials = screw.exp(twists)
            for i, (index, _, _) in enumerate(self._singles):
                factors[index].append(exponentials[:, i])
        for columns, basis, indices in self._groups:
            exponentials = screw.exp(np.einsum("gij,ngj->ngi", basis, q[:, columns]))
            for i, index in enumerate(indices):
                factors[index] = [exponentials[:, i]]
        return factors

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configuration reached from q by a unit of time at constant joint velocity, (N, n)."""
        result = q + velocity
        for columns, basis, _ in self._groups:
            start, step = (
                screw.exp(np.einsum("gij,ngj->ngi", basis, values[:, columns]))
                for values in (q, velocity)
            )
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, screw.log(start @ step))
        return result

    def integration_jacobian(self, velocity: Array) -> Array:
        """Velocities at the end of ``integrate`` by its velocity argument, shape (n, n).

        The identity but for group joints, whose twist in the moving frame follows from the right
        Jacobian of their exponential.
        """
        matrix = np.eye(self._freedoms)
        for columns, basis, _ in self._groups:
            right = screw.right_jacobian(np.einsum("gij,gj->gi", basis, velocity[columns]))
            blocks = np.swapaxes(basis, 1, 2) @ right @ basis
            matrix[columns[:, :, None], columns[:, None, :]] = blocks
        return matrix


def _by_freedoms(
    loops: LoopTree, edges: list[Edge]
) -> list[tuple[NDArray[np.intp], Array, list[int]]]:
    """Group edges by number of freedoms: coordinates (G, f), screws (G, 6, f), edges (G,)."""
    sizes: dict[int, list[Edge]] = {}
    for edge in edges:
        sizes.setdefault(edge.freedoms, []).append(edge)
    return [
        (
            np.array([loops.local(edge.index) for edge in alike]),
            np.array([edge.screws for edge in alike]),
            [edge.index for edge in alike],
        )
        for alike in sizes.values()
    ]


def product(motions: Iterable[Array]) -> Array:
    """The motions one after the other; none of them is the identity of shape (4, 4)."""
    total = np.eye(4)
    for motion in motions:
        total = total @ motion
    return total


def joint_motion(edge: Edge, q: Array) -> Array:
    """Motion of an elementary joint at its coordinates (f,), shape (4, 4)."""
    if edge.group:
        return screw.exp(edge.screws @ q)
    return product(screw.exp(edge.screws[:, k] * q[k]) for k in range(edge.freedoms))


def fit_joint(edge: Edge, T_parent_child: Array) -> tuple[Array, Array]:
    """The joint motion nearest to a relative pose of the joint's two frames.

    Gauss-Newton on the part of the remaining twist along the joint's freedoms; the freedoms of an
    edge form a subgroup, so a few steps are enough.

    Returns:
        The motion, shape (4, 4), and the coordinates, shape (f,).
    """
    q = np.zeros(edge.freedoms)
    motion = np.eye(4)
    if edge.freedoms == 0:
        return motion, q
    for _ in range(20):
        error = screw.log(screw.inverse(motion) @ T_parent_child)
        if edge.group:
            step = np.linalg.pinv(edge.screws) @ error
            q = np.linalg.pinv(edge.screws) @ screw.log(motion @ screw.exp(edge.screws @ step))
        else:
            step = np.linalg.pinv(_moving_screws(edge, q)) @ error
            q = q + step
        motion = joint_motion(edge, q)
        if np.max(np.abs(step)) < 1e-14:
            break
    return motion, q


def _moving_screws(edge: Edge, q: Array) -> Array:
    """The freedoms of a serial joint seen from its moving frame, shape (6, f)."""
    columns, after = [], np.eye(4)
    for k in reversed(range(edge.freedoms)):
        columns.append(screw.adjoint(screw.inverse(after)) @ edge.screws[:, k])
        after = screw.exp(edge.screws[:, k] * q[k]) @ after
    return np.column_stack(columns[::-1])
