"""The coupled components of a mechanism: mobility, reduced blocks and the certificate of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regularize.lie.screw import Array
from regularize.loops.gaps import CLOSED
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
from regularize.reduction.conditioning import Descents
from regularize.reduction.context import Context
from regularize.reduction.cuts import Cut
from regularize.reduction.mobility import CellMobility, cell_mobility, generic_configurations

if TYPE_CHECKING:
    from regularize.reduction.congruent import CongruentComponents
    from regularize.reduction.numerical import Numerical


@dataclass(frozen=True, eq=False, repr=False)
class CoupledComponent:
    """A coupled component with everything that was derived for it.

    Attributes:
        mobility: Ranks and configurations.
        parts: Its biconnected blocks, reduced.
        certificate: Outcome of following the kept rows alone.
    """

    mobility: CellMobility
    parts: tuple[Block, ...]
    certificate: Certificate


def reduce_cells(
    context: Context, *, numerical: Numerical, configurations: int
) -> list[CoupledComponent]:
    """Reduce all coupled components of a mechanism, in order.

    Args:
        context: The assembled mechanism and the options.
        numerical: Whether to remove rows on numerical evidence as well, and where they are missed.
        configurations: Number of configurations for the certificates.
    """
    memory = None
    if len(context.graph.cells) > 1:
        from regularize.reduction.congruent import (
            CongruentComponents,  # where some can be alike
        )

        memory = CongruentComponents()
    return [
        _reduced(context, edges, memory, numerical=numerical, configurations=configurations)
        for edges in context.graph.cells
    ]


def _reduced(
    context: Context,
    edges: Sequence[EdgeId],
    memory: CongruentComponents | None,
    *,
    numerical: Numerical,
    configurations: int,
) -> CoupledComponent:
    """A coupled component with all its blocks reduced.

    If the kept rows turn out too few at the tolerance asked for, smaller ones are tried; in the end
    nothing is removed.
    """
    context = context.of_cell(edges)
    inside = set(edges)
    blocks = [block for block in context.graph.blocks if block[0] in inside]
    rtol = context.rtol
    certify = Certifier(context, edges, configurations)
    for tolerance in (rtol, 0.1 * rtol, 0.01 * rtol) if _closed(context, edges) else ():
        parts = [reduce_part(context, block, tolerance) for block in blocks]
        context.done(0.4)
        figure = None if memory is None else memory.figure(context, edges, parts)
        before = None if memory is None else memory.recall(context, figure)
        if before is None:
            visited, first = certify(_cuts(parts))
            if not first.holds:
                continue
            mobility = _mobility(context, edges, parts, visited)
        else:
            mobility, first = before.mobility, before.certificate
        context.done(0.8)
        parts = [with_rank(context, part, mobility) for part in parts]
        if any(part.dimension < part.rank for part in parts):
            continue
        for final in _candidates(context, parts, mobility, numerical):
            certificate = first
            if any(new.cuts is not old.cuts for new, old in zip(final, parts, strict=True)):
                rows = [row for part in final for row in part.rows]
                held = replace(context, graph=context.graph.coupled_by(rows))
                also = Certifier(held, edges, configurations) if rows else certify
                _, certificate = also(_cuts(final))
            settled = certificate is first and not any(part.held for part in final)
            down = Descents(context.graph, context.assembly.q, tuple(final), mobility)
            # Those of what is congruent come to the same place.
            known_firm = before is not None and before.settled and settled
            if certificate.holds and (known_firm or _firm(down, context.rtol)):
                if before is None and memory is not None:
                    memory.remember(figure, context, first, mobility, settled)
                certificate = replace(certificate, descents=() if known_firm else (down,))
                return CoupledComponent(mobility, down.parts, certificate)
    return _unreduced(context, edges, blocks)


def _candidates(
    context: Context, parts: Sequence[Block], mobility: CellMobility, numerical: Numerical
) -> Iterator[Sequence[Block]]:
    """The blocks as they may be kept, those with the fewest rows first."""
    if all(part.dimension == part.rank for part in parts):
        yield [with_rigid_joints(context, part) for part in parts]
        return
    alone = [searched(context, part, mobility) for part in parts]
    together = _grouped(context, alone, mobility)
    for found in (together, alone) if together != alone else (alone,):
        proved = [thinned(context, with_rigid_joints(context, part)) for part in found]
        # What depends on other rows to first order only holds a shaky mechanism.
        if not numerical or mobility.finite != mobility.actual:
            yield proved
            continue
        from regularize.reduction.numerical import numerically_reduced  # where asked for

        reduced = numerically_reduced(context, proved, mobility, anyway=numerical == "anyway")
        yield reduced
        # Where walks leave what the evidence says, what is proved still holds.
        if any(cut.numerical.size for cut in _cuts(reduced)):
            yield proved


def _grouped(context: Context, parts: Sequence[Block], mobility: CellMobility) -> Sequence[Block]:
    """The blocks with fewer rows where groups of motions explain what their loops do not."""
    if all(part.dimension == part.rank for part in parts):
        return parts
    from regularize.reduction.groups import grouped  # where rows are left over

    return [grouped(context, part, mobility) for part in parts]


def _unreduced(
    context: Context, edges: Sequence[EdgeId], blocks: Sequence[Sequence[EdgeId]]
) -> CoupledComponent:
    """The component with every constraint kept: its loops are open or no reduction holds."""
    parts = [reduce_part(context, block, 0.0) for block in blocks]
    loops, _ = context.loops(edges, _cuts(parts))
    closed = _closed(context, edges)
    visited = np.zeros((0, 0, loops.freedoms))
    if closed:
        q = context.assembly.q[loops.columns]
        visited = generic_configurations(loops, q, context.tolerances, rng=context.rng())
    mobility = _mobility(context, edges, parts, visited)
    return CoupledComponent(
        mobility,
        tuple(with_rank(context, part, mobility) for part in parts),
        Certificate(0, 0.0, closed),
    )


def _firm(down: Descents, rtol: float) -> bool:
    """Whether the kept rows hold what all equations hold, wherever descents lead."""
    # What rests on evidence alone is measured by what was asked for.
    if down.needless or down.numerical:
        return True
    return down.lowest is None or down.lowest.ratio > rtol


def _cuts(parts: Sequence[Block]) -> list[Cut]:
    return [cut for part in parts for cut in part.cuts]


def _closed(context: Context, edges: Sequence[EdgeId]) -> bool:
    names = {context.graph.edges[e].joint.name for e in edges}
    _, length = context.frame(edges)
    return all(
        gap.translation <= 2 * CLOSED * length and gap.rotation <= 2 * CLOSED
        for gap in context.assembly.after
        if gap.joint in names
    )


def _mobility(
    context: Context, edges: Sequence[EdgeId], parts: Sequence[Block], visited: Array
) -> CellMobility:
    loops, _ = context.loops(edges, _cuts(parts))
    q = context.assembly.q[loops.columns]
    cycles = [cycle for part in parts for cycle in part.cycles]
    return cell_mobility(loops, q, visited, cycles, context.tolerances, rng=context.rng())
