"""A reduction as a document that can be checked without this project.

Everything is derived again in exact arithmetic, in the order in which the reduction closed its
loops. What the document says of a row is what the reduction says; else the part is left out, with
the reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from regularize.model.graph import Graph
from regularize.proofs.bounding import bound
from regularize.proofs.document import PartDocument
from regularize.proofs.families import families
from regularize.proofs.geometry import Precision, exact_freedoms, with_parallel_bars
from regularize.proofs.incidence import NotExact
from regularize.proofs.motions import without_seen
from regularize.proofs.verifier import fingerprint, verify
from regularize.reduction.part import Part
from regularize.reduction.reduce import Reduction

HEAD = {"format": "regularize proof", "version": 1}


def prove(reduction: Reduction) -> dict[str, Any]:
    """The proof of a reduction: geometry, spaces, inclusions, order, cuts and rows.

    Args:
        reduction: From ``reduce``.

    Returns:
        A document for ``verify``; ``undecided`` names the loops whose geometry could not be written
        in exact numbers.
    """
    proved, undecided = [], []
    for part in reduction.parts:
        rest = without_seen(part)
        for make, some in ((moving, part), (_part, rest)) if rest is not part else ((_part, part),):
            if all(cut.kept == cut.constraints for cut in some.cuts):
                continue
            try:
                proved.append(make(reduction.graph, some, reduction.rtol))
                break
            except NotExact as error:
                seen = sum(cut.numerical.shape[1] for cut in some.cuts)
                reason = f"{seen} only seen to be redundant: {error}" if seen else str(error)
                names = [reduction.graph.edges[e].name for e in part.order]
                undecided.append({"cuts": names, "reason": reason})
    document = {
        **HEAD,
        "model": reduction.mechanism.name,
        "parts": proved,
        "undecided": undecided,
        "bounds": [bound(reduction.graph, part) for part in reduction.parts],
    }
    return _signed(document)


def _part(graph: Graph, part: Part, rtol: float) -> dict[str, Any]:
    """The proof of one biconnected part, by the simplest numbers that have its relations."""
    graph = replace(graph, edges=(*graph.edges, *(held.edge for held in part.held)))
    reason = NotExact("")
    for rounding in (1e-12, 1e-10, 1e-8, 1e-6):
        for everywhere in (False, True):
            precision = Precision(max(rtol, 10.0 * rounding), rounding, everywhere)
            try:
                known = {held.edge.index: held.space for held in part.held}
                freedoms = exact_freedoms(graph, part.screws | known, precision)
                freedoms = with_parallel_bars(freedoms, part.parallelograms)
                # Locked joints are made rigid where only that explains the reduction.
                for lock in (False, True) if part.locked else (False,):
                    document = PartDocument(graph, part, freedoms).whole(lock=lock)
                    if document is not None:
                        return document
                reason = NotExact("the exact geometry has other relations than the loops")
            except NotExact as error:
                reason = error
    raise reason


def moving(graph: Graph, part: Part, rtol: float) -> dict[str, Any]:
    """The proof of a part whose rows depend on each other along a motion of special lengths.

    Args:
        graph: The mechanism's graph.
        part: The part, without these rows.
        rtol: What relation is taken to be meant, radians and parts of the size.

    Returns:
        The entry of ``parts`` in the document, accepted by the checker.

    Raises:
        NotExact: No exact mechanism near the part was found that moves so.
    """
    reason = NotExact("they are of no family that is known")
    for rounding in (1e-10, 1e-8):
        within = max(rtol, 10.0 * rounding)
        for family, freedoms in families(graph, part, within, rounding):
            try:
                found = PartDocument(graph, part, freedoms, family).whole()
            except NotExact as error:
                reason = error
                continue
            if found is not None and verify(_signed({**HEAD, "parts": [found]})).holds:
                return found
    raise reason


def _signed(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"fingerprint": fingerprint(document)}
