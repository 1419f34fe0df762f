r"""Independent and dependent coordinates by LU with complete pivoting on the closed Jacobian.

The loops have to be closed first, or a rank that is too high leaves no independent coordinates:
Paul (2020), section 5.5. Coordinates that the user wants to be independent are locked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from regularize.errors import NotClosed
from regularize.lie import subalgebra
from regularize.lie.screw import Array, read_only
from regularize.manifold.assembly import assemble
from regularize.manifold.extent import sized_loops
from regularize.manifold.gaps import Candidates
from regularize.model.graph import (
    Graph,
    actuated_coordinates,
    coordinate_names,
)
from regularize.model.graph_building import build
from regularize.model.mechanism import Mechanism
from regularize.model.short_repr import ShortRepr
from regularize.reduction.pivoting import choose, columns_of
from regularize.reduction.reduce import Reduction

#: Names of the six closure equations of a loop, in order.
COMPONENTS = (
    "translation along X",
    "translation along Y",
    "translation along Z",
    "rotation about X",
    "rotation about Y",
    "rotation about Z",
)


@dataclass(frozen=True, eq=False, repr=False)
class Partition(ShortRepr):
    """Independent and dependent coordinates of a mechanism.

    Attributes:
        independent: Names of the independent coordinates, in the mechanism's order.
        dependent: Names of the dependent ones, in the order of their pivots.
        forced: Names of those that follow a prescribed motion; they count as known.
        rank: Rank of the Jacobian.
        redundant_rows: Closure equations that follow from the others, as ``loop: component``.
        condition: Condition number of the Jacobian of the dependent coordinates.
        q: Configuration at which they were chosen, shape (n,).
        singular_values: Of the whole Jacobian, lengths scaled, largest first.
    """

    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    forced: tuple[str, ...]
    rank: int
    redundant_rows: tuple[str, ...]
    condition: float
    q: Array
    singular_values: Array


def partition(
    mechanism: Mechanism | Graph | Reduction,
    q: Array | None = None,
    independent: Iterable[str] = (),
    *,
    forced: Iterable[str] = (),
    close: bool = True,
    rtol: float = subalgebra.RTOL,
    seed: int = 0,
    candidates: Candidates | None = None,
) -> Partition:
    """Choose independent coordinates.

    Args:
        mechanism: The mechanism, its graph or its reduction.
        q: Coordinates of all joints to start from, shape (n,); by default the reduction's or the
            file's.
        independent: Coordinates that have to be independent; the others are chosen, those of
            actuated joints before others.
        forced: Coordinates whose motion is prescribed.
        close: Close the loops first, with those coordinates held. Without it the Jacobian is taken
            at ``q`` as it is, and too high a rank may leave no independent coordinates.
        rtol: Relative tolerance of the rank.
        seed: Seed of the assembly.
        candidates: As of ``assemble``.

    Raises:
        ModelError: A name is unknown.
        NotClosed: The loops cannot be closed.
        NotIndependent: The coordinates asked for depend on each other.
    """
    reduction = mechanism if isinstance(mechanism, Reduction) else None
    if isinstance(mechanism, Reduction):
        graph = mechanism.graph
    else:
        graph = mechanism if isinstance(mechanism, Graph) else build(mechanism)
    known = coordinate_names(graph.mechanism)
    wanted, prescribed = tuple(independent), tuple(forced)
    locked = columns_of(known, (*wanted, *prescribed))
    if q is None:
        q = graph.position if reduction is None else reduction.q
    q = np.asarray(q, dtype=np.float64)
    if close:
        assembly = assemble(graph, q, (*wanted, *prescribed), seed=seed, candidates=candidates)
        if not assembly.closed:
            worst = max(assembly.after, key=lambda gap: gap.translation + gap.rotation)
            raise NotClosed(worst.joint, worst.translation, worst.rotation)
        q = assembly.q
    tree = graph.tree if reduction is None else reduction.tree
    loops = sized_loops(graph, q, tree=tree)
    jacobian = loops.residual_jacobian(loops.state(q))[0] * loops.units
    motors = columns_of(known, actuated_coordinates(graph.mechanism))
    choice = choose(jacobian, known, locked, rtol, motors)
    rows = [
        f"{graph.edges[chord].joint.name}: {component}"
        for chord in loops.chords
        for component in COMPONENTS
    ] + [coupling.name for coupling in graph.couplings]
    given = set(columns_of(known, prescribed))
    return Partition(
        independent=tuple(known[c] for c in choice.independent if c not in given),
        dependent=tuple(known[c] for c in choice.dependent),
        forced=prescribed,
        rank=choice.rank.rank,
        redundant_rows=tuple(rows[r] for r in choice.redundant),
        condition=choice.condition,
        q=read_only(q),
        singular_values=choice.rank.singular_values,
    )
