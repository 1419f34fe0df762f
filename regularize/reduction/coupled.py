"""The coupled components of a mechanism: mobility, reduced blocks and the certificate of each."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.assembly import Assembly
from regularize.loops.gaps import CLOSED, Gap
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import EdgeId
from regularize.reduction.abreast import trails_abreast, walks_abreast
from regularize.reduction.block import (
    Block,
    reduce_part,
    searched,
    thinned,
    with_rank,
    with_rigid_joints,
)
from regularize.reduction.certificate import (
    MANY,
    STEPS,
    Certificate,
    Certifier,
    Rows,
    walkers_for,
)
from regularize.reduction.conditioning import Descents
from regularize.reduction.context import Context
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.mobility import (
    CellMobility,
    Trail,
    cell_mobility,
    generic_configurations,
    short_incidence,
)
from regularize.tolerances import Tolerances

if TYPE_CHECKING:
    from regularize.reduction.congruent import CongruentComponents, Figure
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
    cells, memory = context.graph.cells, None
    if len(cells) > 1:
        from regularize.reduction.congruent import (
            CongruentComponents,  # where some can be alike
        )

        memory = CongruentComponents()
    block_at = {block[0]: block for block in context.graph.blocks}
    drafts = [
        _drafted(context, edges, [block_at[e] for e in edges if e in block_at], configurations)
        for edges in cells
    ]
    figures: list[Figure | None] = [None] * len(drafts)
    walked = dict[int, Trail]()
    if memory is not None:
        figures = [memory.figure(each.context, each.rows, each.parts) for each in drafts]
        new = [drafts[i] for i in memory.first_of_each(figures)]
        walked = _walked_abreast(new, configurations)
    return [
        _reduced(draft, figure, memory, walked.get(id(draft)), numerical=numerical)
        for draft, figure in zip(drafts, figures, strict=True)
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Uncertified:
    """A coupled component, its blocks reduced as the tolerance asked for allows, not yet walked.

    Attributes:
        context: Its context.
        edges: Its edges.
        blocks: Those of its blocks.
        parts: The blocks, reduced; none where loops are open.
        certify: Checks kept rows.
        rows: Those that are kept.
    """

    context: Context
    edges: Sequence[EdgeId]
    blocks: Sequence[Sequence[EdgeId]]
    parts: Sequence[Block]
    certify: Certifier
    rows: Rows | None


def _drafted(
    context: Context,
    edges: Sequence[EdgeId],
    blocks: Sequence[Sequence[EdgeId]],
    configurations: int,
) -> Uncertified:
    """Reduce the blocks of a coupled component at the tolerance asked for."""
    context = context.of_cell(edges)
    certify = Certifier(context, edges, configurations)
    if not _closed(context, edges):
        return Uncertified(context, edges, blocks, (), certify, None)
    parts = [reduce_part(context, block, context.rtol) for block in blocks]
    context.done(0.4)
    return Uncertified(context, edges, blocks, parts, certify, certify.rows(_cuts(parts)))


def _walked_abreast(drafts: Sequence[Uncertified], configurations: int) -> dict[int, Trail]:
    """Walks along the kept rows of components that have a shape in common, by ``id``."""
    alike: dict[tuple[Tolerances, Hashable], list[tuple[Uncertified, ReducedLoops]]] = {}
    walkers = walkers_for(configurations)
    for draft in drafts if configurations < MANY else ():
        kept = draft.rows
        if isinstance(kept, ReducedLoops) and (shape := kept.shape) is not None:
            # What is closed is told with a factor of two, that of any company.
            noise = 2.0 ** np.ceil(np.log2(draft.context.noise))
            tolerances = Tolerances.of(draft.context.tolerances.rtol, float(noise))
            alike.setdefault((tolerances, shape), []).append((draft, kept))
    found = dict[int, Trail]()
    for (tolerances, _), together in alike.items():
        if len(together) > 1:
            context, rows = together[0][0].context, [rows for _, rows in together]
            starts = [draft.context.assembly.q[own.loops.columns] for draft, own in together]
            walks = walks_abreast(
                rows, starts, tolerances, walkers=walkers, steps=STEPS, rng=context.rng
            )
            loops = [own.loops for own in rows]
            cycles = [[c for part in draft.parts for c in part.cycles] for draft, _ in together]
            signs = map(short_incidence, loops, cycles)
            met = zip(loops, signs, walks, strict=True)
            trails = trails_abreast([*met], starts, together[0][0].context.rtol, context.rng)
            found |= {id(draft): trail for (draft, _), trail in zip(together, trails, strict=True)}
    return found


def _reduced(
    draft: Uncertified,
    figure: Figure | None,
    memory: CongruentComponents | None,
    walked: Trail | None,
    *,
    numerical: Numerical,
) -> CoupledComponent:
    """A coupled component with all its blocks reduced.

    If the kept rows turn out too few at the tolerance asked for, smaller ones are tried; in the end
    nothing is removed.
    """
    context, edges, blocks, certify = draft.context, draft.edges, draft.blocks, draft.certify
    for share in (1.0, 0.1, 0.01) if draft.rows is not None else ():
        parts, rows = draft.parts, draft.rows
        if share < 1.0:
            parts = [reduce_part(context, block, share * context.rtol) for block in blocks]
            rows, walked = certify.rows(_cuts(parts)), None
            figure = None if memory is None else memory.figure(context, rows, parts)
        assert rows is not None
        before = None if memory is None else memory.recall(context, figure)
        if before is None:
            visited, first = certify(rows, walked)
            if not first.holds:
                continue
            mobility = _mobility(context, rows.loops, parts, visited, walked)
        else:
            mobility, first = before.mobility, before.certificate
        context.done(0.8)
        parts = [with_rank(context, part, mobility) for part in parts]
        if any(part.dimension < part.rank for part in parts):
            continue
        for final in _candidates(context, parts, mobility, numerical):
            certificate = first
            if any(new.cuts is not old.cuts for new, old in zip(final, parts, strict=True)):
                held = [row for part in final for row in part.rows]
                coupled = replace(context, graph=context.graph.coupled_by(held))
                also = Certifier(coupled, edges, certify.configurations) if held else certify
                _, certificate = also(also.rows(_cuts(final)))
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
    alone = [searched(context, part) for part in parts]
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
    mobility = _mobility(context, loops, parts, visited)
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
    return down.own is None or down.own.ratio > rtol


def _cuts(parts: Sequence[Block]) -> list[Cut]:
    return [cut for part in parts for cut in part.cuts]


def _closed(context: Context, edges: Sequence[EdgeId]) -> bool:
    if context.assembly.closed:
        return True
    names = {context.graph.edges[e].joint.name for e in edges}
    _, length = context.frame(edges)
    return all(
        gap.translation <= 2 * CLOSED * length and gap.rotation <= 2 * CLOSED
        for name in names
        for gap in _gaps_at(context.assembly).get(name, ())
    )


@lru_cache(maxsize=1)  # one analysis asks for the gaps of each component
def _gaps_at(assembly: Assembly) -> dict[str, list[Gap]]:
    """What stays open, by the joint where it does."""
    found: dict[str, list[Gap]] = {}
    for gap in assembly.after:
        found.setdefault(gap.joint, []).append(gap)
    return found


def _mobility(
    context: Context,
    loops: LoopKinematics,
    parts: Sequence[Block],
    visited: Array,
    trail: Trail | None = None,
) -> CellMobility:
    q, rng = context.assembly.q[loops.columns], context.rng()
    cycles = [cycle for part in parts for cycle in part.cycles]
    return cell_mobility(loops, q, visited, cycles, context.tolerances, rng=rng, trail=trail)
