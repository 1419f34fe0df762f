"""Reduced loop constraints: the rows that can matter, constant in a frame on one body.

Müller (2014), section 6, generalised to several loops as described in ``propagation`` and
``closing``. The rows act on the relative twist at the cut joint; what they leave out can never
occur on the set of configurations that is connected with the assembled one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import (
    Coordinates,
    Indices,
    Jacobian,
    Point,
    Screw,
    Space,
    Transform,
    read_only,
)
from regularize.loops.kept_rows import KeptRows, ReducedLoops
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.least_norm import clearest_columns
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import Edge, NodeId
from regularize.reduction.one_loop import kept_rows
from regularize.tolerances import TINY, VANISHING

Kind = Literal["thinned", "numerical"]


@dataclass(frozen=True, eq=False)
class Cut(KeptRows):
    """One loop's closing joint with the rows that are kept of it, and those that are not."""

    edge: Edge  # the cut joint
    removed: Space  # covectors that can never matter, orthonormal
    thinned: Space  # covectors removed because the joints concerned are locked
    numerical: Space  # covectors removed on numerical evidence only

    @property
    def constraints(self) -> int:
        """Rows of the unreduced joint."""
        return 6 - self.edge.freedoms

    @property
    def kept(self) -> int:
        """Rows that are kept."""
        return int(self.rows.shape[1])

    @property
    def on_child(self) -> bool:
        """Whether the cut frame is fixed on the child body."""
        return self.node == self.edge.child


def cut_of(
    edge: Edge,
    cycle: Cycle,
    node: NodeId,
    space: Space,
    screws: Screw,
    *,
    T_world_node: Transform,
    center: Point,
    length: float,
) -> Cut:
    """Return a cut with the covectors that a space of relative twists keeps and removes.

    The space does not move in the frame of the node; it and the joint's screws, shape (6, f), are
    scaled by the size of the block and taken about its centre.
    """
    freedoms = subalgebra.span(screws)
    if freedoms.shape[1] != edge.freedoms:
        raise ModelError(f"joint {edge.name!r}: its freedoms are not independent")
    kept = kept_rows(space, freedoms)
    return Cut(
        edge=edge,
        cycle=cycle,
        node=node,
        T_node_frame=read_only(screw.inverse(T_world_node) @ screw.transform(None, center)),
        length=length,
        freedoms=read_only(freedoms),
        rows=read_only(kept),
        removed=read_only(subalgebra.complement(np.hstack([kept, freedoms]))),
        thinned=subalgebra.ZERO,
        numerical=subalgebra.ZERO,
    )


def independent_rows(jacobian: Jacobian, count: int) -> Indices:
    """Return the places of so many well-conditioned independent rows, increasing."""
    return np.sort(clearest_columns(jacobian.T, count))


def without_rows(
    cuts: Sequence[Cut],
    loops: LoopKinematics,
    q: Coordinates,
    chosen: Sequence[int],
    count: int,
    kind: Kind,
    rtol: float,
) -> list[Cut]:
    """Drop up to so many kept rows of chosen cuts that depend on others at a configuration.

    Rows that may not be dropped can be dependent among themselves; then fewer rows are dropped, for
    none that is independent of the others may go. Thinning looks at the chosen cuts alone: what
    moving loops say at one configuration they need not say at another. The cuts are those of all
    chords, in their order; ``kind`` names the attribute of ``Cut`` that receives the rows.
    """
    reduced = ReducedLoops(loops, cuts)
    jacobian = reduced.residual_jacobian(loops.state(q))[0] * loops.units
    owner = [(i, k) for i, cut in enumerate(cuts) for k in range(cut.kept + cut.edge.freedoms)]
    free = [r for r, (i, k) in enumerate(owner) if i in chosen and k < cuts[i].kept]
    stays = set(range(len(jacobian))) - set(free)
    fixed = [r for r in stays if kind == "numerical" or (r < len(owner) and owner[r][0] in chosen)]
    # What the rows that stay anyway say already is projected out before rows are picked.
    rest = outside(jacobian[fixed], jacobian[free], rtol)
    size = float(np.max(np.linalg.norm(jacobian, axis=1), initial=0.0))
    needed = int(np.linalg.matrix_rank(rest, tol=rtol * size))
    picked = {free[i] for i in independent_rows(rest, max(len(free) - count, needed))}
    result = list(cuts)
    for i in chosen:
        mine = [r for r in free if owner[r][0] == i]
        stay = [owner[r][1] for r in mine if r in picked]
        drop = [owner[r][1] for r in mine if r not in picked]
        cut = cuts[i]
        dropped = read_only(cut.rows[:, drop])
        cut = replace(cut, rows=read_only(cut.rows[:, stay]))
        received: dict[str, Any] = {kind: read_only(np.hstack([getattr(cut, kind), dropped]))}
        result[i] = replace(cut, **received)
    return result


def outside(fixed: Jacobian, rows: Jacobian, rtol: float = VANISHING) -> Jacobian:
    """Return the parts of some rows that lie outside the row space of others."""
    if not len(fixed):
        return rows
    _, s, vt = np.linalg.svd(fixed, full_matrices=False)
    basis = vt[s > rtol * max(float(np.max(s, initial=0.0)), TINY)]
    return np.asarray(rows - (rows @ basis.T) @ basis)
