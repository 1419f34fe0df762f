"""Closed configurations of a Pinocchio model without iteration, where a closed form exists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.assembly_modes.closed_form import ClosedForm
from regularize.assembly_modes.closed_form.closed_branch import closed_solution
from regularize.lie.screw import Array
from regularize.manifold.tolerances import EXACT
from regularize.pinocchio_model.robot import Robot

#: Largest change of a coordinate, in radians and sizes of the mechanism, that is followed at once,
#: and largest difference from what is expected then.
STRIDE = 0.2
#: The nearest configuration has to be that much nearer than any other one, or it is not clear.
CLEAR = 0.3
#: Mechanisms with more ways to assemble are sooner solved by iteration: all of them are looked at,
#: and what a dozen of them take, Newton's method takes.
BRANCHES = 16


class ModelBranch:
    """Follows the configurations of a model along the branches of its closed form.

    Args:
        robot: The model; its configurations are joint coordinates, without quaternions.
        solution: The closed form with the known coordinates as inputs.
        known: Columns of the known coordinates in the model.
        units: One unit of every coordinate of the model, shape (nq,).
        matrix: The model's configuration by the mechanism's coordinates, shape (nq, n).
    """

    def __init__(
        self,
        robot: Robot,
        solution: ClosedForm,
        known: Sequence[int],
        units: Array,
        matrix: Array,
    ) -> None:
        """Note which coordinates are angles: they are found up to whole turns."""
        self._solution, self._known, self._by_joints = solution, list(known), matrix.T
        self._per_unit = 1.0 / units
        turning = np.zeros(robot.nv, dtype=bool)
        for joint in robot.joints:
            start = robot.tree.idx_vs[joint.index]
            for edge in joint.edges:
                angles = np.any(edge.screws[3:] != 0.0, axis=0)
                turning[start : start + edge.freedoms] = angles[::-1] if joint.reversed else angles
                start += edge.freedoms
        turning[self._known] = False
        self._turn = np.where(turning, 2 * np.pi, 0.0)
        self._per_turn = np.where(turning, 0.5 / np.pi, 0.0)

    def near(self, expected: Array) -> tuple[Array | None, bool]:
        """The closed configuration with the known coordinates of what is expected, shape (nq,).

        Returns:
            The configuration, None where there is none or none near to what is expected; and
            whether no other one is nearly as near.
        """
        found = self._solution.solve(expected[self._known])
        q = found.q @ self._by_joints
        q += self._turn * np.round((expected - q) * self._per_turn)
        gaps = np.max(np.abs(q - expected) * self._per_unit, axis=1)
        gaps[~found.assembled] = np.inf
        best = int(gaps.argmin())
        gap = gaps[best]
        if not gap <= STRIDE:
            return None, True
        rivals = gaps * CLEAR < gap
        if np.count_nonzero(rivals) > 1:
            apart = np.max(np.abs(q[rivals] - q[best]) * self._per_unit, axis=1)
            return q[best], bool(np.all(apart <= EXACT.same))
        return q[best], True


def model_branch(robot: Robot, known: Sequence[int], units: Array, q: Array) -> ModelBranch | None:
    """The branches near a closed configuration of the model; None where there is no closed form.

    Args:
        robot: The model.
        known: Columns of the known coordinates.
        units: One unit of every coordinate, shape (nq,).
        q: The configuration, shape (nq,).
    """
    if robot.nq != robot.nv or any(edge.group for joint in robot.joints for edge in joint.edges):
        return None
    loops = robot.reduction.loops
    zero = robot.configuration(np.zeros(loops.freedoms))
    unit_vectors = np.eye(loops.freedoms)
    matrix = np.column_stack([robot.configuration(unit) - zero for unit in unit_vectors])
    columns = [np.flatnonzero(matrix[row]) for row in known]
    if np.any(zero) or any(len(column) != 1 for column in columns):
        return None
    solution = closed_solution(loops, [int(column[0]) for column in columns])
    if solution is None or len(solution.branches) > BRANCHES:
        return None
    branch = ModelBranch(robot, solution, known, units, matrix)
    again, _ = branch.near(q)
    exact = again is not None and np.max(np.abs(robot.residual(again)), initial=0.0) <= EXACT.closed
    return branch if exact else None
