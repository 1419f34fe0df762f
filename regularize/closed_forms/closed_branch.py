"""One branch of a closed-form solution: configurations without iteration, where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.closed_forms import ClosedForm, closed_form
from regularize.errors import ModelError
from regularize.kinematics import LoopKinematics
from regularize.screw import Array
from regularize.topology import coordinate_names

#: Distance between the points of a path that have to be on the branch, radians or lengths.
SPACING = 0.1
#: Mechanisms with more coordinates are not searched: planning would take longer than it saves.
LARGEST = 32
#: Poses nearer than this, lengths scaled, are the same.
SAME = 1e-8


class ClosedBranch:
    """The branch of a closed-form solution on which a configuration lies.

    Args:
        solution: All branches.
        branch: Index of the branch.
        theta: Inputs at the configuration, shape (s,).
    """

    def __init__(self, solution: ClosedForm, branch: int, theta: Array) -> None:
        """Keep what is needed to evaluate the branch."""
        self._solution, self._branch, self._theta = solution, branch, theta

    def __call__(self, theta: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Configurations (N, n), and whether the straight way to them stays on the branch (N,).

        A branch may be assembled at inputs that the mechanism cannot reach without being taken
        apart, so points between are looked at as well.
        """
        solutions = self._solution.solve(theta, self._branch)
        q, good = solutions.q[:, 0], solutions.assembled[:, 0].copy()
        way = theta - self._theta
        steps = int(np.ceil(np.max(np.abs(way), initial=0.0) / SPACING))
        for k in range(1, steps):
            between = self._solution.solve(self._theta + k / steps * way, self._branch)
            good &= between.assembled[:, 0]
        return q, good & np.isfinite(q).all(axis=1)


def closed_solution(loops: LoopKinematics, inputs: Sequence[int]) -> ClosedForm | None:
    """The closed form of a whole mechanism, or None where there is none.

    Args:
        loops: Kinematics of the whole mechanism.
        inputs: Columns of the inputs.
    """
    if loops.freedoms > LARGEST:
        return None
    names = coordinate_names(loops.graph.mechanism)
    try:
        solution = closed_form(loops.graph, [names[int(loops.columns[c])] for c in inputs])
    except ModelError:
        return None
    return solution if solution.solved else None


def closed_branch(loops: LoopKinematics, inputs: Sequence[int], q: Array) -> ClosedBranch | None:
    """The branch through a configuration, or None where there is no closed form.

    Args:
        loops: Kinematics of the whole mechanism.
        inputs: Columns of the inputs.
        q: The configuration, shape (n,).
    """
    solution = closed_solution(loops, inputs)
    if solution is None:
        return None
    theta = q[list(inputs)]
    found = solution.solve(theta)
    reference = loops.state(q).T_world_node[0]
    for branch in np.flatnonzero(found.assembled):
        poses = loops.state(found.q[branch]).T_world_node[0]
        difference = poses - reference
        difference[:, :3, 3] /= loops.length
        if np.max(np.abs(difference)) < SAME:
            return ClosedBranch(solution, int(branch), theta)
    return None
