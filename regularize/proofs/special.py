"""Which redundancy that is owed to special lengths is proved, and by which family."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from regularize.mechanism.graph import Graph
from regularize.reduction.block import Block
from regularize.reduction.reduce import Reduction


@dataclass(frozen=True)
class SpecialLengths:
    """A part whose rows are proved to be redundant along the motion of its own lengths."""

    cuts: tuple[str, ...]
    family: str
    rows: int
    distance: float

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON report."""
        return asdict(self) | {"cuts": [*self.cuts]}


def special_lengths(reduction: Reduction) -> tuple[SpecialLengths, ...]:
    """Return the blocks whose rows are proved redundant along a motion of special lengths."""
    memory, within = reduction.graph.known, reduction.tolerances.meant
    parts = [part for part in reduction.parts if _special(reduction, part)]
    for part in parts:
        if (part, within) not in memory:
            memory[part, within] = _proved(reduction.graph, part, within)
    return tuple(memory[part, within] for part in parts if memory[part, within])


def _proved(graph: Graph, part: Block, within: float) -> SpecialLengths | None:
    """Return the special lengths of a part, None where no motion is proved."""
    # Few mechanisms need proofs and the libraries that these stand on.
    from regularize.proofs.incidence import NotExact
    from regularize.proofs.motions import spared
    from regularize.proofs.prove import moving

    without = spared(graph, part) if part.surplus > 0 else part
    try:
        document = moving(graph, without, within)
    except NotExact:
        return None
    (step,) = (step for step in document["steps"] if "family" in step)
    rows = sum(cut.numerical.shape[1] for cut in without.cuts)
    distance = max(joint["distance"] for joint in document["joints"])
    return SpecialLengths(tuple(step["loops"]), step["family"], rows, distance)


def _special(reduction: Reduction, part: Block) -> bool:
    """Return whether a part has redundant rows that only its special lengths can explain."""
    cell = reduction.cell_at[part.edges[0]]
    if not part.proved or cell.finite != cell.actual or len(cell.components) > 1:
        return False  # of several components a proof would be of one
    return part.surplus > part.topological or any(cut.numerical.size for cut in part.cuts)
