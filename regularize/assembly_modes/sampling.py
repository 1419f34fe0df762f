"""Closed configurations for others to use, where the loops have a closed form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import qr

from regularize.assembly_modes.closed_form.closed_branch import closed_branch, closed_solution
from regularize.assembly_modes.freedoms import clearest
from regularize.assembly_modes.phase_unwrapping import Turns
from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask
from regularize.model.graph import Graph, spanning_tree
from regularize.model.graph_part import part_of

#: Velocities of inputs that depend on each other more than this choose no motion.
INDEPENDENT = 0.02
#: Ways to assemble up to which all of them are offered.
WAYS = 64


def nearest_modes(loops: LoopKinematics, start: Array, held: Mask) -> Array | None:
    """All configurations with some coordinates held, the nearest to a start first, (k, n).

    Angles are compared up to whole turns, lengths divided by the size of the mechanism.

    Args:
        loops: Kinematics of the whole mechanism.
        start: A configuration with the held coordinates where they have to be, shape (n,).
        held: Which coordinates are held, shape (n,).

    Returns:
        None where the held coordinates do not determine the others in closed form.
    """
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
    loops: LoopKinematics, starts: Array, count: int, rtol: float, rng: np.random.Generator
) -> Array:
    """Configurations on the branch of the closed form on which others lie, shape (N, n).

    Args:
        loops: Kinematics of the cell.
        starts: Closed configurations of the cell, shape (k, n).
        count: Number of configurations wanted; there are none where there is no closed form.
        rtol: Relative tolerance of ranks.
        rng: Source of random inputs.
    """
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
    """Columns that the velocities can be told by: drives, joints at one body, any joints."""
    single = [edge for edge in part.edges if not edge.group]
    busiest = max(part.adjacency, key=len)
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
