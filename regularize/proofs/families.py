"""Families of mechanisms that move for special lengths: exact joints near those of a part.

Parallelograms, angulated scissors, rational motions and relations of bars without a name are known
here. Others come from installed packages by the entry points ``regularize.families``: functions of
a graph, a part, what relation is taken to be meant, and how far a number may be moved, that yield
names with the spans of the joints in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TypeAlias

from regularize.mechanism.graph import EdgeId, Graph, nodes_of
from regularize.proofs.geometry import (
    Precision,
    angulated,
    equal_bars,
    exact_freedoms,
    with_parallel_bars,
)
from regularize.proofs.incidence import NotExact
from regularize.proofs.legs import on_conics
from regularize.proofs.rational_motions import rational_motions
from regularize.proofs.verifier import Space
from regularize.reduction.block import Block

#: The name of a family, and the span of every joint's screws in integers.
Found: TypeAlias = tuple[str, dict[EdgeId, Space]]
Family: TypeAlias = Callable[[Graph, Block, float, float], Iterator[Found]]

#: What is said of joints that move as found without belonging to a family.
UNNAMED = "none with a name"
#: The package of named families that comes with this one, and may be deleted.
NAMED = "regularize.guests.special"
#: Entry points of other packages' families.
GROUP = "regularize.families"


def families(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Yield families of which a part may be, with the spans of its joints in integers.

    The last has no name: joints with the relations of their axes alone. ``within`` says what
    relation is taken to be meant, radians and parts of the size, ``rounding`` how far a number may
    be moved to a simpler one.
    """
    for family in (with_bars, *_installed(), rational_motions, of_legs, unnamed):
        yield from family(graph, part, within, rounding)


@cache
def _installed() -> tuple[Family, ...]:
    """Return families of the package that comes with this one, if it is there, and of others."""
    entries = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    packages = [import_module(NAMED).FAMILIES] if find_spec(NAMED) else []
    return (*(family for each in packages for family in each), *(entry.load() for entry in entries))


def exact_geometries(
    graph: Graph, part: Block, within: float, rounding: float
) -> Iterator[dict[EdgeId, Space]]:
    """Yield joints with exact relations of their axes, first of those alone that share bodies."""
    before = None
    for everywhere in (False, True):
        freedoms = _exact(graph, part, Precision(within, rounding, everywhere))
        if freedoms is not None and freedoms != before:
            yield freedoms
        before = freedoms


@lru_cache(maxsize=4)  # one family after the other asks for the same
def _exact(graph: Graph, part: Block, precision: Precision) -> dict[EdgeId, Space] | None:
    """Return joints with exact relations of their axes; None where these contradict each other."""
    try:
        return exact_freedoms(graph, part.screws, precision)
    except NotExact:
        return None


def with_bars(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Yield parallelograms and angulated scissors; arguments as of ``families``."""
    for freedoms in exact_geometries(graph, part, within, rounding):
        bars = equal_bars(freedoms, within)
        # Bars of scissors have a third hinge in the middle, cranks and rods have two.
        loops = [cycle.edges for cycle in part.cycles]
        loops = [o for o in loops if all(len(graph.adjacency[n]) > 2 for n in nodes_of(graph, o))]
        many = angulated(freedoms, loops, within)
        if many:
            yield "angulated scissors", with_parallel_bars(freedoms, [*bars, *many])
        if any(_turns(graph, part, loop) for loop in bars):
            yield "parallelograms", with_parallel_bars(freedoms, bars)


def of_legs(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Yield legs between two conics; arguments as of ``families``."""
    for freedoms in exact_geometries(graph, part, within, rounding):
        exact = on_conics(graph, freedoms, within, rounding)
        if exact is not None:
            yield "legs between projective conics", exact


def unnamed(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Yield joints with the relations of their axes alone; arguments as of ``families``."""
    for freedoms in exact_geometries(graph, part, within, rounding):
        yield UNNAMED, with_parallel_bars(freedoms, equal_bars(freedoms, within))


def _turns(graph: Graph, part: Block, loop: Sequence[EdgeId]) -> bool:
    """Say whether four hinges are corners of a loop of four bars that is not locked."""
    ends = [{graph.edges[e].parent, graph.edges[e].child} for e in loop]
    sides = [one & two for one, two in zip(ends, [*ends[1:], ends[0]], strict=True)]
    across = ends[0] & ends[-2] or ends[1] & ends[-1]
    return len(loop) == 4 and all(sides) and not across and not {*loop} & {*part.locked}
