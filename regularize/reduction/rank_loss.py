"""REG233: rows that depend on others at sampled configurations and are needed elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import EdgeId, coordinate_names
from regularize.reduction.reduce import Reduction

if TYPE_CHECKING:
    from regularize.reduction.descent import Lowest


def rank_losses(reduction: Reduction) -> Iterator[Diagnostic]:
    """Yield REG233 where a place was found at which removed rows are, or would be, missed."""
    for part in reduction.parts:
        if part.needed_at is not None:
            rows = f"{part.surplus} dependent rows are" if part.surplus > 1 else "a row is"
            yield Diagnostic(
                "REG233",
                "warning",
                f"{rows} kept in spite of numerical evidence, for no choice to remove serves "
                f"everywhere: {_without(reduction, part.edges, part.needed_at)}",
                joints=reduction.graph.joint_names(part.edges),
                help=("keep them", 'remove them all the same: reduce(..., numerical="anyway")'),
            )
    numerical = [p for p in reduction.parts if any(cut.numerical.size for cut in p.cuts)]
    edges = [e for part in numerical for e in part.edges]
    if edges:
        place = reduction.certificate.nearest
        if place is not None and place.missing:
            yield Diagnostic(
                "REG233",
                "warning",
                "rows that were removed on numerical evidence are missed elsewhere: "
                + _without(reduction, edges, place),
                joints=reduction.graph.joint_names(edges),
                help=("stay away from there; reduction.condition(q) tells", "keep all rows"),
            )


def _without(reduction: Reduction, edges: Iterable[EdgeId], place: Lowest) -> str:
    return (
        f"near {place_words(reduction, edges, place)} the others depend on each other, while the "
        f"mechanism is firm (smallest singular values 1 : {place.ratio:.1g})"
    )


def place_words(reduction: Reduction, edges: Iterable[EdgeId], place: Lowest, most: int = 4) -> str:
    """Write coordinates of some edges at a place: ``A = 0.3, B = 1.2, …``."""
    names = coordinate_names(reduction.mechanism)
    columns = reduction.graph.columns(edges)
    listed = ", ".join(f"{names[c]} = {place.q[c]:.3g}" for c in columns[:most])
    return listed + ", …" * (len(columns) > most)


def nearest_entry(reduction: Reduction) -> dict[str, Any] | None:
    """Return the entry ``nearest`` of the JSON report: the place of the certificate."""
    place = reduction.certificate.nearest
    if place is None:
        return None
    names = coordinate_names(reduction.mechanism)
    return {
        "ratio": place.ratio,
        "firm": place.firm,
        "configuration": {name: float(value) for name, value in zip(names, place.q, strict=True)},
    }
