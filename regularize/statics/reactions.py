r"""Which joint reactions the model determines, and which it leaves open.

In equilibrium the wrenches in the joints of a loop may be changed by a wrench that circulates
around it, as long as no joint has a freedom that would give way. Such *self-stress* states form the
left null space of the loops' closure equations; their number is the number of redundant equations.
A reaction is unique exactly where no self-stress state has a component (Wojtyra 2005).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regularize.lie.directions import Direction, directions
from regularize.lie.screw import Array
from regularize.model.cycles import MANY_LOOPS
from regularize.model.graph import EdgeId
from regularize.model.short_repr import ShortRepr
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.statics.equilibrium import Equilibrium


@dataclass(frozen=True, eq=False, repr=False)
class Reaction(ShortRepr):
    """What is known of the wrench that a joint transmits.

    Attributes:
        joint: Name of the joint.
        indeterminate: Directions in which self-stress is possible, about the joint's origin, ground
            axes; empty where the reaction is unique.
    """

    joint: str
    indeterminate: tuple[Direction, ...]

    @property
    def unique(self) -> bool:
        """Whether the model determines the whole reaction."""
        return not self.indeterminate


def reactions(reduction: Reduction) -> tuple[Reaction, ...]:
    """Uniqueness of every joint's reaction, at the assembled pose unless that is singular."""
    graph, every = reduction.graph, reduction.loops
    found: dict[str, tuple[Direction, ...]] = {}
    for cell in reduction.cells:
        singular = cell.here.rank < cell.generic.rank
        q = cell.configurations[-1] if singular else reduction.q[graph.columns(cell.edges)]
        equilibrium = Equilibrium(reduction, q, cell.edges)
        for e, field in _fields(reduction, cell, equilibrium):
            if np.max(np.abs(field), initial=0.0) < 1e-6:
                continue
            edge = graph.edges[e]
            root = equilibrium.loops.root_of[edge.parent]
            R = reduction.reference.T_world_node[0, every.row(root), :3, :3]
            wrenches = equilibrium.about(field, equilibrium.origin(e)[:3, 3])
            turned = np.vstack([R @ wrenches[:3], R @ wrenches[3:]])
            found[edge.joint.name] = tuple(directions(turned))
    return tuple(
        Reaction(joint.name, found.get(joint.name, ()))
        for joint in graph.mechanism.joints
        if joint.kind != "fixed" or joint.closure
    )


def _fields(
    reduction: Reduction, cell: CellMobility, equilibrium: Equilibrium
) -> Iterator[tuple[EdgeId, Array]]:
    """Every edge of a cell with the wrenches of self-stress in it, shape (6, states)."""
    loops = equilibrium.loops
    if len(loops.chords) > MANY_LOOPS:
        from regularize.reduction.many_loops import LoopRanks  # loaded where there are many

        cycles = reduction.cycles(cell)
        each = LoopRanks(loops, cycles, equilibrium.state, reduction.rtol)
        if each.rank is not None:
            yield from ((e, each.self_stress(e)) for e in loops.edges)
            return
    yield from zip(loops.edges, equilibrium.fields(equilibrium.self_stress), strict=True)
