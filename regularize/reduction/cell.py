"""The cells of a mechanism: mobility, reduced parts and the certificate of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from regularize.lie.screw import Array
from regularize.manifold.gaps import CLOSED
from regularize.model.graph import EdgeId
from regularize.reduction.certificate import Certificate, Certifier
from regularize.reduction.cuts import Cut
from regularize.reduction.groups import grouped, with_rows
from regularize.reduction.margins import weakest
from regularize.reduction.mobility import CellMobility, cell_mobility, generic_configurations
from regularize.reduction.part import (
    Part,
    reduce_part,
    searched,
    thinned,
    with_rank,
    with_rigid_joints,
)
from regularize.reduction.setting import Setting

if TYPE_CHECKING:
    from regularize.reduction.alike import AlikeCells
    from regularize.reduction.numerical import Numerical


@dataclass(frozen=True, eq=False, repr=False)
class Cell:
    """A cell with everything that was derived for it.

    Attributes:
        mobility: Ranks and configurations.
        parts: Its biconnected parts, reduced.
        certificate: Outcome of following the kept rows alone.
    """

    mobility: CellMobility
    parts: tuple[Part, ...]
    certificate: Certificate


def reduce_cells(setting: Setting, *, numerical: Numerical, configurations: int) -> list[Cell]:
    """Reduce all cells of a mechanism, in order.

    Args:
        setting: The assembled mechanism and the options.
        numerical: Whether to remove rows on numerical evidence as well, and where they are missed.
        configurations: Number of configurations for the certificates.
    """
    memory = None
    if len(setting.graph.cells) > 1:
        from regularize.reduction.alike import AlikeCells  # loaded where cells can be alike

        memory = AlikeCells()
    return [
        _reduced(setting, edges, memory, numerical=numerical, configurations=configurations)
        for edges in setting.graph.cells
    ]


def _reduced(
    setting: Setting,
    edges: Sequence[EdgeId],
    memory: AlikeCells | None,
    *,
    numerical: Numerical,
    configurations: int,
) -> Cell:
    """A cell with all its parts reduced.

    If the kept rows turn out too few at the tolerance asked for, smaller ones are tried; in the end
    nothing is removed.
    """
    setting = setting.of_cell(edges)
    inside = set(edges)
    blocks = [block for block in setting.graph.blocks if block[0] in inside]
    rtol = setting.rtol
    certify = Certifier(setting, edges, configurations)
    for tolerance in (rtol, 0.1 * rtol, 0.01 * rtol) if _closed(setting, edges) else ():
        parts = [reduce_part(setting, block, tolerance) for block in blocks]
        setting.done(0.4)
        figure = None if memory is None else memory.figure(setting, edges, parts)
        before = None if memory is None else memory.recall(setting, figure)
        if before is None:
            visited, first = certify(_cuts(parts))
            if not first.holds:
                continue
            mobility = _mobility(setting, edges, parts, visited)
        else:
            mobility, first = before.mobility, before.certificate
        setting.done(0.8)
        parts = [with_rank(setting, part, mobility) for part in parts]
        if any(part.dimension < part.rank for part in parts):
            continue
        alone = [searched(setting, part, mobility) for part in parts]
        together = [grouped(setting, part, mobility) for part in alone]
        for found in (together, alone) if together != alone else (alone,):
            proved = [thinned(setting, with_rigid_joints(setting, part)) for part in found]
            seen = proved
            if numerical and mobility.finite == mobility.actual:
                from regularize.reduction.numerical import numerically_reduced  # where asked for

                # What depends on other rows to first order only holds a shaky mechanism.
                seen = numerically_reduced(setting, proved, mobility, anyway=numerical == "anyway")
            # Where walks leave what was seen, what is proved still holds.
            for final in (seen, proved) if _seen(seen) else (seen,):
                certificate = first
                if any(new.cuts is not old.cuts for new, old in zip(final, parts, strict=True)):
                    known = with_rows(setting, final)
                    also = certify if known is setting else Certifier(known, edges, configurations)
                    _, certificate = also(_cuts(final))
                settled = certificate is first and not any(part.held for part in final)
                if before is not None and before.settled and settled:
                    place = before.place
                else:
                    place = weakest(setting, final, mobility, thorough=_seen(final))
                # What is seen and not proved is measured by what was asked for.
                firm = place is None or place.ratio > setting.rtol or _seen(final)
                if certificate.holds and firm:
                    if before is None and memory is not None:
                        memory.remember(figure, setting, first, mobility, settled, place)
                    return Cell(mobility, tuple(final), replace(certificate, nearest=place))
    return _unreduced(setting, edges, blocks)


def _unreduced(
    setting: Setting, edges: Sequence[EdgeId], blocks: Sequence[Sequence[EdgeId]]
) -> Cell:
    """The cell with every constraint kept: its loops are open or no reduction holds."""
    parts = [reduce_part(setting, block, 0.0) for block in blocks]
    loops, _ = setting.loops(edges, _cuts(parts))
    closed = _closed(setting, edges)
    visited = np.zeros((0, 0, loops.freedoms))
    if closed:
        q = setting.assembly.q[loops.columns]
        visited = generic_configurations(loops, q, setting.tolerances, rng=setting.rng())
    mobility = _mobility(setting, edges, parts, visited)
    return Cell(
        mobility,
        tuple(with_rank(setting, part, mobility) for part in parts),
        Certificate(0, 0.0, closed),
    )


def _cuts(parts: Sequence[Part]) -> list[Cut]:
    return [cut for part in parts for cut in part.cuts]


def _seen(parts: Sequence[Part]) -> bool:
    """Whether rows were removed on numerical evidence."""
    return any(cut.numerical.size for cut in _cuts(parts))


def _closed(setting: Setting, edges: Sequence[EdgeId]) -> bool:
    names = {setting.graph.edges[e].joint.name for e in edges}
    _, length = setting.frame(edges)
    return all(
        gap.translation <= 2 * CLOSED * length and gap.rotation <= 2 * CLOSED
        for gap in setting.assembly.after
        if gap.joint in names
    )


def _mobility(
    setting: Setting, edges: Sequence[EdgeId], parts: Sequence[Part], visited: Array
) -> CellMobility:
    loops, _ = setting.loops(edges, _cuts(parts))
    q = setting.assembly.q[loops.columns]
    cycles = [cycle for part in parts for cycle in part.cycles]
    return cell_mobility(loops, q, visited, cycles, setting.tolerances, rng=setting.rng())
