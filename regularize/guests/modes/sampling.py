"""Closed configurations for others to use, where the loops have a closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.errors import ModelError
from regularize.guests.modes.closed_form.branch_continuation import LOW
from regularize.guests.modes.closed_form.solver import ClosedForm, closed_form
from regularize.guests.modes.grouping import Turns
from regularize.guests.modes.inputs import clearest
from regularize.lie.arrays import Array, Coordinates, Mask
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import Graph, coordinate_names, part_of, spanning_tree
from regularize.tolerances import EXACT

#: Distance between the points of a path that have to be on the branch, radians or lengths; in a
#: moving picture no jump can be seen.
SPACING = 0.1
#: Configurations on each of the ways over which a sample is spread, as long as no more are needed.
POINTS = 32
#: Mechanisms with more coordinates are not searched: planning would take longer than it saves.
LARGEST = 32


class ClosedBranch:
    """The branch of a closed form through a configuration with inputs ``theta``."""

    def __init__(self, solution: ClosedForm, branch: int, theta: Array) -> None:
        self._solution, self._branch, self._theta = solution, branch, theta

    def __call__(self, theta: Array) -> tuple[Coordinates, Mask]:
        """Return configurations at inputs (N, s), and whether straight paths stay on the branch."""
        solutions = self._solution.solve(theta, self._branch)
        q, good = solutions.q[:, 0], solutions.assembled[:, 0].copy()
        # Beyond where it meets others it may be another way of moving: points between count too.
        path = theta - self._theta
        steps = int(np.ceil(np.max(np.abs(path), initial=0.0) / SPACING))
        margins: list[Array] = []
        for k in range(steps + 2 if steps else 0):
            between = self._solution.solve(self._theta + k / steps * path, self._branch)
            if 0 < k < steps:
                good &= between.assembled[:, 0]
            margins = [*margins[-2:], between.margin[:, 0]]
            if len(margins) == 3:
                before, middle, after = margins
                highest = np.fmax(before, after)
                low = (middle <= LOW * highest) & (middle <= np.fmin(before, after))
                good &= ~(low & (highest > EXACT.closed)).any(axis=1)
        return q, good & np.isfinite(q).all(axis=1)

    def spread(self, count: int, reach: Array, rng: np.random.Generator) -> Coordinates:
        """Return up to ``count`` configurations on straight paths of the inputs on the branch."""
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
    """Find the closed form of a whole mechanism for inputs in some columns; None without one."""
    if loops.freedoms > LARGEST:
        return None
    names = coordinate_names(loops.graph.mechanism)
    try:
        solution = closed_form(loops.graph, [names[int(loops.columns[c])] for c in inputs])
    except ModelError:
        return None
    return solution if solution.solved else None


def closed_branch(
    loops: LoopKinematics, inputs: Sequence[int], q: Coordinates
) -> ClosedBranch | None:
    """Find the branch on which q lies, for inputs in some columns of q.

    None where the mechanism has no closed form for these inputs, or q is on no branch.
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


#: Velocities of inputs that depend on each other more than this choose no motion.
INDEPENDENT = 0.02
#: Ways to assemble up to which all of them are offered.
WAYS = 64


def nearest_modes(loops: LoopKinematics, start: Coordinates, held: Mask) -> Coordinates | None:
    """Return configurations with some coordinates held, nearest first; None without formulas."""
    if loops.freedoms != loops.graph.freedoms:
        return None
    solution = closed_solution(loops, np.flatnonzero(held).tolist())
    if solution is None or len(solution.branches) > WAYS:
        return None
    found = solution.solve(start[held])
    whole = np.zeros(loops.freedoms)
    whole[loops.columns] = start
    # A whole turn of one joint is not the same where another one is coupled with it.
    coupled = [column for row in loops.graph.couplings for column in row.columns]
    turns = Turns(loops.graph, [*solution.columns, *coupled])
    ways = turns.near(found.q[found.assembled], whole)[:, loops.columns]
    distances = np.linalg.norm((ways - start) / loops.units, axis=1)
    return np.asarray(ways[np.argsort(distances)])


def spread_configurations(
    loops: LoopKinematics, starts: Coordinates, count: int, rtol: float, rng: np.random.Generator
) -> Coordinates:
    """Return up to ``count`` configurations on the branch of given ones; none without formulas."""
    nothing = np.zeros((0, loops.freedoms))
    part = part_of(loops.graph, loops.edges)
    if part is None:
        return nothing
    start, motions = clearest(loops, starts, rtol)
    alone = LoopKinematics(part, part.every_edge, spanning_tree(part), length=loops.length)
    for inputs in _inputs(part, motions):
        branch = closed_branch(alone, inputs, start)
        if branch is not None:
            return branch.spread(count, np.pi * loops.units[inputs], rng)
    return nothing


def _inputs(part: Graph, motions: Array) -> Iterator[list[int]]:
    """Yield columns that determine the velocities: of drives, joints at one body, any joints."""
    single = [edge for edge in part.edges if not edge.group]
    busiest = max(part.adjacency, key=len)
    from scipy.linalg import qr  # slow to load

    choices = (
        [c for edge in single if edge.joint.actuated for c in edge.columns],
        [c for edge in single if edge.index in busiest for c in edge.columns],
        [c for edge in single for c in edge.columns],
    )
    tried: list[list[int]] = []
    freedoms = motions.shape[1]
    for columns in choices:
        if not freedoms or len(columns) < freedoms:
            continue
        _, R, order = qr(motions[columns].T, mode="economic", pivoting=True)
        inputs = sorted(columns[k] for k in order[:freedoms])
        if abs(R[-1, freedoms - 1]) > INDEPENDENT and inputs not in tried:
            tried.append(inputs)
            yield inputs
