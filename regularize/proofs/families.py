"""Families of mechanisms that move for special lengths: exact joints near those of a part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.lie.motion_type import motion_type
from regularize.model.graph import EdgeId, Graph
from regularize.proofs.bennett import made_of_bennett
from regularize.proofs.crossed import crossed_bars
from regularize.proofs.focal import focal
from regularize.proofs.geometry import (
    Precision,
    angulated,
    equal_bars,
    exact_freedoms,
    integral,
    with_parallel_bars,
)
from regularize.proofs.incidence import NotExact
from regularize.proofs.schatz import schatz
from regularize.proofs.symmetric import symmetric
from regularize.proofs.verifier import Space, distance
from regularize.reduction.part import Part

#: What is said of joints that move as found without belonging to a family.
UNNAMED = "none with a name"


def families(
    graph: Graph, part: Part, within: float, rounding: float
) -> Iterator[tuple[str, dict[EdgeId, Space]]]:
    """Families of which a part may be, with the spans of its joints in integers.

    The last is none that has a name: the joints with the relations of their axes alone.

    Args:
        graph: The mechanism's graph.
        part: The part.
        within: What relation is taken to be meant, radians and parts of the size.
        rounding: How far a number may be moved to a simpler one.
    """
    edges = part.cycles[0].edges
    kinds = {motion_type(np.linalg.qr(s)[0], within).name for s in part.screws.values()}
    if len(part.cycles) > 1 and kinds == {"revolute"}:
        exact = focal(graph, part, within, rounding)
        if exact is not None:
            yield "focal mechanism", exact
    if len(part.cycles) == 1 and kinds == {"revolute"}:
        axes = [part.screws[e][:, 0] / np.linalg.norm(part.screws[e][3:, 0]) for e in edges]
        for search in (symmetric, schatz, made_of_bennett):
            for name, lines in search(axes, within, rounding):
                rows = [integral([[*line[5:], *line[1:4]]]) for line in lines]
                off = [distance([*axis], row) for axis, row in zip(axes, rows, strict=True)]
                if max(off) <= within:
                    yield name, dict(zip(edges, rows, strict=True))
    for everywhere in (False, True):
        precision = Precision(within, rounding, everywhere)
        try:
            freedoms = exact_freedoms(graph, part.screws, precision)
        except NotExact:
            continue
        bars = equal_bars(freedoms, within)
        name = "parallelograms" if any(_turns(graph, part, loop) for loop in bars) else UNNAMED
        many = angulated(freedoms, (cycle.edges for cycle in part.cycles), within)
        if many:
            yield "angulated scissors", with_parallel_bars(freedoms, [*bars, *many])
        found = [(name, with_parallel_bars(freedoms, bars))]
        crossed = crossed_bars(freedoms, (c.edges for c in part.cycles), within, rounding)
        if crossed is not None:
            found.insert(int(name != UNNAMED), ("antiparallelograms", crossed))
        yield from found


def _turns(graph: Graph, part: Part, loop: Sequence[EdgeId]) -> bool:
    """Whether four hinges are corners of a loop of four bars that is not locked."""
    ends = [{graph.edges[e].parent, graph.edges[e].child} for e in loop]
    sides = [one & two for one, two in zip(ends, [*ends[1:], ends[0]], strict=True)]
    across = ends[0] & ends[-2] or ends[1] & ends[-1]
    return len(loop) == 4 and all(sides) and not across and not {*loop} & {*part.locked}
