"""One branch of a closed-form solution: configurations without iteration, where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regularize.assembly_modes.closed_form import ClosedForm, closed_form
from regularize.assembly_modes.closed_form.bifurcation import LOW
from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.tolerances import EXACT
from regularize.model.graph import coordinate_names

#: Distance between the points of a path that have to be on the branch, radians or lengths; in a
#: moving picture no jump can be seen.
SPACING = 0.1
#: Configurations on each of the ways over which a sample is spread, as long as no more are needed.
POINTS = 32
#: Mechanisms with more coordinates are not searched: planning would take longer than it saves.
LARGEST = 32


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
        apart, and beyond places where it meets another branch it may be another way of moving, so
        points between are looked at as well, and one behind.
        """
        solutions = self._solution.solve(theta, self._branch)
        q, good = solutions.q[:, 0], solutions.assembled[:, 0].copy()
        way = theta - self._theta
        steps = int(np.ceil(np.max(np.abs(way), initial=0.0) / SPACING))
        margins: list[Array] = []
        for k in range(steps + 2 if steps else 0):
            between = self._solution.solve(self._theta + k / steps * way, self._branch)
            if 0 < k < steps:
                good &= between.assembled[:, 0]
            margins = [*margins[-2:], between.margin[:, 0]]
            if len(margins) == 3:
                left, middle, right = margins
                highest = np.fmax(left, right)
                low = (middle <= LOW * highest) & (middle <= np.fmin(left, right))
                good &= ~(low & (highest > EXACT.closed)).any(axis=1)
        return q, good & np.isfinite(q).all(axis=1)

    def spread(self, count: int, reach: Array, rng: np.random.Generator) -> Array:
        """Configurations all over the branch, shape (N, n) with N at most ``count``.

        They lie on straight ways of the inputs, each up to where the branch ends or meets another.

        Args:
            count: Number of configurations wanted.
            reach: Largest change of each input, shape (s,).
            rng: Source of the ways.
        """
        inputs = len(self._theta)
        ways = 2 if inputs == 1 else max(2, -(-count // POINTS))
        points = POINTS
        heading = rng.uniform(-1.0, 1.0, size=(ways, inputs))
        heading[1::2] = -heading[: 2 * (ways // 2) : 2]
        heading *= reach / np.max(np.abs(heading), axis=1, keepdims=True)
        found = [np.zeros((0, self._solution.graph.freedoms))]
        while count > 0 and len(heading):
            # Where on its way a configuration lies is random, so that none is special.
            offsets = rng.uniform(size=(len(heading), points))
            parts = (np.arange(points) + offsets) / points
            theta = self._theta + parts[..., None] * heading[:, None]
            solutions = self._solution.solve(theta, self._branch)
            apart = (solutions.margin[..., 0, :] > EXACT.same).all(axis=-1)
            on = np.logical_and.accumulate(solutions.assembled[..., 0] & apart, axis=1)
            found.append(solutions.q[..., 0, :][on][:count])
            count -= len(found[-1])
            # What is missing is taken from the parts of the ways that are on the branch.
            heading = heading * np.max(np.where(on, parts, 0.0), axis=1, keepdims=True)
            heading = heading[on.any(axis=1)]
            points = max(POINTS, -(-count // max(1, len(heading))))
        return np.concatenate(found)


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
        if np.max(np.abs(difference)) < EXACT.same:
            return ClosedBranch(solution, int(branch), theta)
    return None
