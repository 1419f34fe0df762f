"""The coupled components of a mechanism: mobility, reduced blocks and the certificate of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from regularize.lie.arrays import Coordinates
from regularize.loops.gaps import CLOSED
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import EdgeId
from regularize.reduction.block import (
    Block,
    reduce_part,
    searched,
    thinned,
    with_rank,
    with_rigid_joints,
)
from regularize.reduction.certificate import Certificate, Certifier
from regularize.reduction.context import Context
from regularize.reduction.cuts import Cut
from regularize.reduction.descent import Descents
from regularize.reduction.mobility import CellMobility, cell_mobility, generic_configurations
from regularize.reduction.numerical import Numerical, numerically_reduced

#: Mobility of a coupled component, its reduced blocks, and what following the kept rows found.
ReducedCell: TypeAlias = tuple[CellMobility, tuple[Block, ...], Certificate]


def reduce_cell(
    context: Context, edges: Sequence[EdgeId], *, numerical: Numerical, configurations: int
) -> ReducedCell:
    """Reduce all blocks of a coupled component, and follow the kept rows to check them.

    If the kept rows turn out too few at the tolerance asked for, smaller ones are tried; in the end
    nothing is removed.
    """
    context = context.of_cell(edges)
    inside = set(edges)
    blocks = sorted(block for block in context.graph.blocks if block[0] in inside)
    certify = Certifier(context, edges, configurations)
    for share in (1.0, 0.1, 0.01) if _closed(context, edges) else ():
        parts = [reduce_part(context, block, share * context.rtol) for block in blocks]
        context.done(0.4)
        rows = certify.rows(_cuts(parts))
        visited, certificate = certify(rows)
        if not certificate.holds:
            continue
        mobility = _mobility(context, rows.loops, parts, visited)
        context.done(0.8)
        parts = [with_rank(context, part, mobility) for part in parts]
        if any(part.dimension < part.rank for part in parts):
            continue
        for kept in _candidates(context, parts, mobility, numerical):
            checked = certificate
            if any(new.cuts is not old.cuts for new, old in zip(kept, parts, strict=True)):
                held = [row for part in kept for row in part.rows]
                coupled = replace(context, graph=context.graph.coupled_by(held))
                also = Certifier(coupled, edges, configurations) if held else certify
                _, checked = also(also.rows(_cuts(kept)))
            down = Descents(context.graph, context.assembly.q, tuple(kept), mobility)
            if checked.holds and down.firm(context.rtol):
                return mobility, down.parts, replace(checked, descents=(down,))
    return _unreduced(context, edges, blocks)


def _candidates(
    context: Context, parts: Sequence[Block], mobility: CellMobility, numerical: Numerical
) -> Iterator[Sequence[Block]]:
    """Yield the blocks as they may be kept, those with the fewest rows first."""
    if all(part.dimension == part.rank for part in parts):
        yield [with_rigid_joints(context, part) for part in parts]
        return
    alone = [searched(context, part) for part in parts]
    together = _grouped(context, alone, mobility)
    for blocks in (together, alone) if together != alone else (alone,):
        proved = [thinned(context, with_rigid_joints(context, part)) for part in blocks]
        # What depends on other rows to first order only holds a shaky mechanism.
        if not numerical or mobility.finite != mobility.actual:
            yield proved
            continue
        reduced = numerically_reduced(context, proved, mobility, anyway=numerical == "anyway")
        yield reduced
        # Where walks leave what the evidence says, what is proved still holds.
        if any(cut.numerical.size for cut in _cuts(reduced)):
            yield proved


def _grouped(context: Context, parts: Sequence[Block], mobility: CellMobility) -> Sequence[Block]:
    """Return the blocks with fewer rows where groups of motions explain what loops do not."""
    if all(part.dimension == part.rank for part in parts):
        return parts
    from regularize.reduction.groups import grouped  # where rows are left over

    return [grouped(context, part, mobility) for part in parts]


def _unreduced(
    context: Context, edges: Sequence[EdgeId], blocks: Sequence[Sequence[EdgeId]]
) -> ReducedCell:
    """Keep every constraint of a component whose loops are open or that no reduction holds."""
    parts = [reduce_part(context, block, 0.0) for block in blocks]
    loops, _ = context.loops(edges, _cuts(parts))
    closed = _closed(context, edges)
    visited = np.zeros((0, 0, loops.freedoms))
    if closed:
        q = context.assembly.q[loops.columns]
        visited = generic_configurations(loops, q, context.tolerances, rng=context.rng())
    mobility = _mobility(context, loops, parts, visited)
    parts = [with_rank(context, part, mobility) for part in parts]
    return mobility, tuple(parts), Certificate(0, 0.0, closed)


def _cuts(parts: Sequence[Block]) -> list[Cut]:
    return [cut for part in parts for cut in part.cuts]


def _closed(context: Context, edges: Sequence[EdgeId]) -> bool:
    """Say whether the loops of a component are closed, although others may be open."""
    if context.assembly.closed:
        return True
    names = {context.graph.edges[e].joint.name for e in edges}
    _, length = context.frame(edges)
    return all(
        gap.translation <= 2 * CLOSED * length and gap.rotation <= 2 * CLOSED
        for gap in context.assembly.after
        if gap.joint in names
    )


def _mobility(
    context: Context, loops: LoopKinematics, parts: Sequence[Block], visited: Coordinates
) -> CellMobility:
    q = context.assembly.q[loops.columns]
    cycles = [cycle for part in parts for cycle in part.cycles]
    return cell_mobility(loops, q, visited, cycles, context.tolerances, context.rng())
