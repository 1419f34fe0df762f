"""Classes of redundancy: how much of it is trivial, and how much topological."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array, Space
from regularize.lie.motion_type import GeneratedAlgebra
from regularize.lie.subalgebra import decide_rank
from regularize.mechanism.cycles import MANY_LOOPS, Cycle, independent, summed_cycles
from regularize.mechanism.graph import EdgeId, Graph
from regularize.reduction.mobility import loop_equations


def loop_algebra(screws: dict[EdgeId, Space], cycle: Cycle, rtol: float) -> GeneratedAlgebra:
    """Return the motion algebra of a loop: the Lie closure of all its screws."""
    return GeneratedAlgebra(np.hstack([screws[e] for e in cycle.edges]), rtol)


def smallest_loops(
    graph: Graph, basis: Sequence[Cycle], screws: dict[EdgeId, Space], rtol: float
) -> tuple[list[Cycle], int]:
    """Return short independent loops with the smallest algebras, and the rows these leave out."""
    # Nothing that rests on these loops depends on the order of the joints.
    cycles = list(basis)
    # Formats close loops by rigid joints of their own: they make no loop a longer one.
    joints = {e: bool(graph.edges[e].freedoms) for c in basis for e in c.edges}
    length = {c.edges: sum(joints[e] for e in c.edges) for c in cycles}
    if 1 < len(basis) <= MANY_LOOPS:
        cycles = summed_cycles(graph, basis, basis)
        length = {c.edges: sum(joints[e] for e in c.edges) for c in cycles}
        shortest = independent(sorted(cycles, key=lambda c: length[c.edges]), len(basis))
        lengths = {length[c.edges] for c in shortest}
        cycles = [c for c in cycles if length[c.edges] in lengths]
    dimension = {c.edges: loop_algebra(screws, c, rtol).dimension for c in cycles}
    ordered = sorted(cycles, key=lambda c: (length[c.edges], dimension[c.edges]))
    chosen = independent(ordered, len(basis))
    return chosen, sum(6 - dimension[c.edges] for c in chosen)


def topological_redundancy(
    graph: Graph,
    locked: Sequence[EdgeId],
    cycles: Sequence[Cycle],
    screws: dict[EdgeId, Space],
    rtol: float,
    rng: np.random.Generator,
) -> int:
    """Return redundancy between loops of locked joints that comes from graph and types alone."""
    # Generically such a structure is rigid: where joints move, it is owed to special dimensions.
    free = {e for e, own in screws.items() if own.size} - set(locked)
    rigid = [cycle for cycle in cycles if not free & set(cycle.edges)]
    if len(rigid) < 2:
        return 0
    edges = sorted({e for cycle in rigid for e in cycle.edges})
    algebras: dict[EdgeId, Space] = dict.fromkeys(edges, subalgebra.FULL)
    for cycle in rigid:
        algebra = loop_algebra(screws, cycle, rtol).basis
        for e in cycle.edges:
            algebras[e] = subalgebra.intersection(algebras[e], algebra, rtol)
    # What stays dependent after random motions within the loops' algebras holds for any lengths.
    columns = {}
    for e in edges:
        twist = algebras[e] @ rng.normal(size=algebras[e].shape[1])
        columns[e] = screw.adjoint(screw.exp(twist)) @ screws[e]
    ranks_of_loops = [_rank(np.hstack([columns[e] for e in cycle.edges]), rtol) for cycle in rigid]
    return sum(ranks_of_loops) - _rank(loop_equations(graph, rigid, columns), rtol)


def _rank(matrix: Array, rtol: float) -> int:
    return decide_rank(np.asarray(np.linalg.svd(matrix, compute_uv=False)), rtol).rank
