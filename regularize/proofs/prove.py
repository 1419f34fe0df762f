"""A reduction as a document that can be checked without this project.

Everything is derived again in exact arithmetic, in the order in which the reduction closed its
loops. What the document says of a row is what the reduction says; else the part is left out, with
the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import chain, repeat
from typing import Any, TypeAlias

import numpy as np

from regularize.lie.arrays import Array
from regularize.mechanism.graph import EdgeId, Graph, nodes_of
from regularize.mechanism.mechanism import Model
from regularize.proofs.curves import Exhausted, bounded
from regularize.proofs.document import PartDocument, boxes_of
from regularize.proofs.geometry import (
    Precision,
    angulated,
    equal_bars,
    exact_freedoms,
    with_parallel_bars,
)
from regularize.proofs.incidence import NotExact
from regularize.proofs.motions import on_conics, without_seen
from regularize.proofs.rational_motions import rational_motions
from regularize.proofs.verifier import Space, fingerprint, verify
from regularize.reduction.block import Block
from regularize.reduction.mobility import loop_equations
from regularize.reduction.reduce import as_reduction
from regularize.tolerances import VANISHING

#: The name of a family, and the span of every joint's screws in integers.
Found: TypeAlias = tuple[str, dict[EdgeId, Space]]
Family: TypeAlias = Callable[[Graph, Block, float, float], Iterator[Found]]

#: Name of the family of joints that move as found and belong to no named one.
UNNAMED = "none with a name"
#: The package of named families that comes with this one, and may be deleted.
NAMED = "regularize.guests.special"
#: Entry points of other packages' families.
GROUP = "regularize.families"


def families(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Yield families that a part may be of, with integer spans; the last has relations alone."""
    for family in (with_bars, *_installed(), rational_motions, of_legs, unnamed):
        yield from family(graph, part, within, rounding)


@cache
def _installed() -> tuple[Family, ...]:
    """Return the named families of the guest package, if there is one, and of entry points."""
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


#: Distances within which numbers are rounded to simpler exact ones, the finest first.
ROUNDINGS = (1e-12, 1e-10, 1e-8, 1e-6)
#: Products of short numbers, below a microsecond each, that the search for a motion may take.
WORK = 2.5e7
HEAD = {"format": "regularize proof", "version": 1, "bounds": [], "undecided": []}


def prove(model: Model) -> dict[str, Any]:
    """The proof of a reduction: geometry, spaces, inclusions, order, cuts and rows.

    Args:
        model: From ``reduce``.

    Returns:
        A document for ``verify``; ``undecided`` names the loops whose geometry could not be written
        in exact numbers.
    """
    reduction = as_reduction(model)
    proved, undecided, meant = [], [], reduction.tolerances.meant
    assembly = reduction.assembly
    opened = max((max(gap.translation, gap.rotation) for gap in assembly.before), default=0.0)
    # Of a pose that was looked for as many digits are certain as what counts as closed says.
    digits = 11 if opened <= VANISHING else 7
    parts = [_in_digits(part, digits) for part in reduction.parts]
    for part in parts:
        unseen = without_seen(part)
        rigid = (_part, unseen, reduction.rtol)
        for make, reduced, within in ((moving, part, meant), rigid)[unseen is part :]:
            if all(cut.kept == cut.constraints for cut in reduced.cuts):
                continue
            try:
                proved.append(make(reduction.graph, reduced, within))
                break
            except NotExact as error:
                seen = sum(cut.numerical.shape[1] for cut in reduced.cuts)
                reason = f"{seen} only seen to be redundant: {error}" if seen else str(error)
                names = [reduction.graph.edges[e].name for e in part.order]
                undecided.append({"cuts": names, "reason": reason})
    document = {"model": reduction.mechanism.name, "parts": proved, "undecided": undecided}
    bounds = [bound(reduction.graph, part) for part in parts]
    boxes = boxes_of(reduction.mechanism)
    return _signed({**HEAD, **document, "bounds": bounds, **({"within": boxes} if boxes else {})})


def _in_digits(part: Block, digits: int) -> Block:
    """Return a part with its numbers rounded to digits that are the same on every processor."""
    size = math.floor(math.log10(part.length) + 0.0463)
    center, length = (_rounded(x, digits - size) for x in (part.center, part.length))
    screws = {e: np.array(_rounded(part.screws[e], digits)) for e in part.edges}
    held = tuple(replace(each, space=np.array(_rounded(each.space, digits))) for each in part.held)
    return replace(part, center=np.array(center), length=length, screws=screws, held=held)


def _rounded(numbers: Any, digits: int) -> Any:
    """Round numbers to decimals, ties off the halves that people write down."""
    if np.ndim(numbers):
        return [_rounded(x, digits) for x in numbers]
    return float(f"{math.floor(float(numbers) * 10.0**digits + 0.4637)}e{-digits}")


def _part(graph: Graph, part: Block, rtol: float) -> dict[str, Any]:
    """Return the proof of one part, by the simplest numbers that have its relations."""
    graph = replace(graph, edges=(*graph.edges, *(held.edge for held in part.held)))
    reason = NotExact("the exact geometry has other relations than the loops")
    for freedoms in _geometries(graph, part, rtol):
        try:
            freedoms = with_parallel_bars(freedoms, part.parallelograms)
            # Locked joints are made rigid where only that explains the reduction.
            for lock in (False, True) if part.locked else (False,):
                document = PartDocument(graph, part, freedoms).whole(lock=lock)
                if document is not None:
                    return document
        except NotExact as error:
            reason = error
    raise reason


def _geometries(graph: Graph, part: Block, rtol: float) -> Iterator[dict[EdgeId, Space]]:
    """Yield exact joints near those of a part: relations of its axes, then of special lengths."""
    whole = replace(part, screws=part.screws | {each.edge.index: each.space for each in part.held})
    for rounding in ROUNDINGS:
        yield from exact_geometries(graph, whole, max(rtol, 10.0 * rounding), rounding)
    for rounding in ROUNDINGS[1:3]:
        for _, freedoms in families(graph, part, max(rtol, 10.0 * rounding), rounding):
            yield freedoms


def moving(graph: Graph, part: Block, rtol: float) -> dict[str, Any]:
    """Prove a part whose rows depend on each other for special lengths; NotExact if none fits."""
    if any(np.linalg.matrix_rank(s[3:], tol=rtol) < s.shape[1] > 1 for s in part.screws.values()):
        raise NotExact("a joint that slides and turns is in a loop that moves for its lengths")
    reason, tried = NotExact("they are of no family that is known"), list[dict[EdgeId, Space]]()
    every = (
        each
        for rounding in ROUNDINGS[1:3]
        for each in families(graph, part, max(rtol, 10.0 * rounding), rounding)
    )
    # What spaces leave out to a tolerance alone may be proved by the motion too.
    loose = list[tuple[str, dict[EdgeId, Space]]]()
    with bounded(WORK):
        for (family, freedoms), fewer in chain(zip(every, repeat(False)), zip(loose, repeat(True))):
            if not fewer and freedoms in tried:
                continue
            tried.append(freedoms)
            try:
                proof = PartDocument(graph, part, freedoms, family).whole(fewer=fewer)
            except Exhausted:
                raise
            except NotExact as error:
                reason = error
                continue
            if proof is None:
                loose += [(family, freedoms)] * (not fewer)
            elif verify(_signed({**HEAD, "parts": [proof]})).holds:
                return proof
    raise reason


def _signed(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"fingerprint": fingerprint(document)}


def bound(graph: Graph, part: Block) -> dict[str, Any]:
    """Return the proof that at least so many closure equations of a part are independent."""
    edges = sorted((graph.edges[e] for e in part.edges), key=lambda edge: edge.name)
    screws = {edge.index: part.screws[edge.index] for edge in edges}
    matrix = loop_equations(graph, part.cycles, screws)
    rank = int(np.linalg.matrix_rank(matrix, tol=part.rtol or None))
    rows, columns = _independent(matrix, rank)
    chosen = matrix[np.ix_(rows, columns)]
    # Any C near the inverse will do: few digits are the same on every processor.
    digits = 2 + len(str(int(rank * np.abs(chosen).max(initial=1.0))))
    inverse = _rounded(np.linalg.inv(chosen), digits)
    # How far the numbers may be off follows from the size of the inverse; a power of ten will do.
    size = max((math.fsum(map(abs, row)) for row in inverse), default=0.0) * rank
    off = 10.0 ** -len(str(int(2.0 * size))) if rank else 0.0
    return {
        "origin_m": [float(x) for x in part.center],
        "unit_m": float(part.length),
        "joints": [
            {
                "name": edge.name,
                "bodies": [graph.nodes[edge.parent], graph.nodes[edge.child]],
                "written": [[float(x) for x in row] for row in part.screws[edge.index].T],
            }
            for edge in edges
        ],
        "loops": [[graph.edges[e].name for e in cycle.edges] for cycle in part.cycles],
        "rows": rows,
        "columns": columns,
        "inverse": inverse,
        "off": off,
    }


def _independent(matrix: Array, rank: int) -> tuple[list[int], list[int]]:
    """Return so many rows and columns whose common part is invertible, by complete pivoting."""
    rest, rows, columns = matrix.copy(), list[int](), list[int]()
    for _ in range(rank):
        i, j = divmod(int(np.abs(rest).argmax()), rest.shape[1])
        rows, columns = [*rows, i], [*columns, j]
        below, beside = rest[:, j].nonzero()[0], rest[i].nonzero()[0]
        factors = rest[below, j] / rest[i, j]
        rest[np.ix_(below, beside)] -= factors[:, None] * rest[i, beside]
        rest[i], rest[:, j] = 0.0, 0.0
    return sorted(rows), sorted(columns)
