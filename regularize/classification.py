"""What each redundancy is called: trivial, exceptional, topological or paradoxical."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize import screw, subalgebra
from regularize.cycles import Cycle, contract, minimum_cycle_basis
from regularize.kinematics import LoopKinematics
from regularize.screw import Array
from regularize.topology import Graph, spanning_tree


def loop_algebra(screws: dict[int, Array], cycle: Cycle, rtol: float) -> Array:
    """Motion algebra of a loop: the Lie closure of all its screws."""
    return subalgebra.lie_closure(np.hstack([screws[e] for e in cycle.edges]), rtol)


def random_rank(
    graph: Graph,
    block: Sequence[int],
    screws: dict[int, Array],
    rtol: float,
    rng: np.random.Generator,
) -> int:
    """Rank of the loop equations with every joint moved at random within its motion algebra.

    A joint of a loop whose algebra is not all of se(3) moves within that algebra; else it moves
    within the algebra of its own chain between two branching bodies.
    """
    cycles = minimum_cycle_basis(graph, block)
    algebras: dict[int, Array] = {e: subalgebra.FULL for e in block}
    for cycle in cycles:
        algebra = loop_algebra(screws, cycle, rtol)
        for e in cycle.edges:
            algebras[e] = subalgebra.intersection(algebras[e], algebra, rtol)
    for _, _, chain in contract(graph, block):
        algebra = subalgebra.lie_closure(np.hstack([screws[e] for e in chain]), rtol)
        for e in chain:
            if algebras[e].shape[1] == 6:
                algebras[e] = algebra
    loops = LoopKinematics(graph, block, spanning_tree(graph))
    best = 0
    for _ in range(3):
        columns = np.zeros((loops.freedoms, 6))
        for e in block:
            twist = algebras[e] @ rng.normal(size=algebras[e].shape[1])
            columns[loops.local(e)] = (screw.adjoint(screw.exp(twist)) @ screws[e]).T
        rows = (loops.incidence[:, None, :] * columns.T[None]).reshape(-1, loops.freedoms)
        best = max(best, int(np.linalg.matrix_rank(rows, tol=1e-8 * max(1.0, np.abs(rows).max()))))
    return best
