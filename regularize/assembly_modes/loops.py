"""Which loops of a mechanism are looked at, and what is said about each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from regularize.model.cycles import Cycle, minimum_cycle_basis, walk
from regularize.model.graph import EdgeId, Graph, nodes_of

#: Loops with more elementary joints than this are left out when loops are added to each other.
LONGEST = 16


@dataclass(frozen=True)
class LoopSolution:
    """How one loop is solved, or why it is not.

    Attributes:
        joints: Its joints in order.
        solved: Whether all its coordinates follow from the inputs in closed form.
        steps: One sentence per unknown found with this loop.
        reason: Why it is not solved; empty where it is.
    """

    joints: tuple[str, ...]
    solved: bool
    steps: tuple[str, ...]
    reason: str = ""

    def __str__(self) -> str:
        """The joints, then the steps or the reason."""
        told = [*self.steps, self.reason] if self.reason else self.steps
        return f"{' '.join(self.joints)}: {'; '.join(told) or 'nothing left to solve'}"


def loops_of(graph: Graph) -> tuple[list[Cycle], list[Cycle]]:
    """A basis of independent loops, and the further loops that two or three of them add up to."""
    basis = [cycle for block in graph.blocks for cycle in minimum_cycle_basis(graph, block)]
    further: dict[frozenset[int], Cycle] = {}
    sets = [frozenset(cycle.edges) for cycle in basis]
    for count in (2, 3):
        if len(basis) > (24 if count == 2 else 8):
            break
        for group in combinations(sets, count):
            total: frozenset[EdgeId] = frozenset()
            for edges in group:
                total = total ^ edges
            if 1 < len(total) <= LONGEST and total not in further and _simple(graph, total):
                further[total] = walk(graph, sorted(total))
    return basis, sorted(further.values(), key=lambda cycle: (cycle.length, cycle.edges))


def _simple(graph: Graph, edges: frozenset[EdgeId]) -> bool:
    """Whether the edges form one simple cycle."""
    touched: dict[int, int] = {}
    for e in edges:
        for node in (graph.edges[e].parent, graph.edges[e].child):
            touched[node] = touched.get(node, 0) + 1
    if any(count != 2 for count in touched.values()):
        return False
    return len(walk(graph, sorted(edges)).edges) == len(edges) == len(nodes_of(graph, edges))


def joint_names(graph: Graph, edges: Sequence[int]) -> tuple[str, ...]:
    """Names of the joints of some edges, each once, in order."""
    return tuple(dict.fromkeys(graph.edges[e].joint.name for e in edges))
