"""A reduction as a document that can be checked without this project.

Everything is derived again in exact arithmetic, in the order in which the reduction closed its
loops. What the document says of a row is what the reduction says; else the part is left out, with
the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import networkx as nx

from regularize.model.cycles import Cycle
from regularize.model.graph import EdgeId, Graph, NodeId
from regularize.proofs.exact_spaces import ExactSpaces
from regularize.proofs.geometry import Precision, exact_freedoms
from regularize.proofs.incidence import NotExact
from regularize.proofs.verifier import Space, annihilator, distance, fingerprint, reduced
from regularize.reduction.cuts import Cut
from regularize.reduction.part import Part
from regularize.reduction.propagation import Closing, Fact, Propagation
from regularize.reduction.reduce import Reduction


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
        if all(cut.kept == cut.constraints for cut in part.cuts):
            continue
        try:
            proved.append(_part(reduction.graph, part, reduction.rtol))
        except NotExact as error:
            names = [reduction.graph.edges[e].name for e in part.order]
            undecided.append({"cuts": names, "reason": str(error)})
    document = {
        "format": "regularize proof",
        "version": 1,
        "model": reduction.mechanism.name,
        "parts": proved,
        "undecided": undecided,
    }
    return document | {"fingerprint": fingerprint(document)}


def _part(graph: Graph, part: Part, rtol: float) -> dict[str, Any]:
    """The proof of one biconnected part, by the simplest numbers that have its relations."""
    reason = NotExact("")
    for rounding in (1e-12, 1e-10, 1e-8, 1e-6):
        for everywhere in (False, True):
            try:
                precision = Precision(max(rtol, 10.0 * rounding), rounding, everywhere)
                freedoms = exact_freedoms(graph, part.screws, precision)
                # Locked joints are made rigid where only that explains the reduction.
                for lock in (False, True) if part.locked else (False,):
                    document = _Document(graph, part, freedoms).whole(lock)
                    if document is not None:
                        return document
                reason = NotExact("the exact geometry has other relations than the loops")
            except NotExact as error:
                reason = error
    raise reason


class _Document:
    """The steps of a proof, each written once, premises first."""

    def __init__(self, graph: Graph, part: Part, freedoms: dict[EdgeId, Space]) -> None:
        self.graph, self.part, self.freedoms = graph, part, freedoms
        self.spaces = ExactSpaces()
        numbers = {e: self.spaces.of(space) for e, space in freedoms.items()}
        self.propagation = Propagation(graph, self.spaces, numbers)
        self.steps: list[dict[str, Any]] = []
        self.kept: dict[EdgeId, Space] = {}
        self._immobile = {e for e, space in freedoms.items() if not space}
        self._number: dict[Fact, int] = {}
        self._same: dict[Any, int] = {}

    def whole(self, lock: bool) -> dict[str, Any] | None:
        """The document of the part, or None where the spaces are not those of the reduction."""
        cuts = {cut.edge.index: cut for cut in self.part.cuts}
        closed: list[Cycle] = []
        for e in self.part.order:
            cut = cuts[e]
            closing = next(c for c in self.propagation.closings(cut.cycle, e) if c.node == cut.node)
            if self.spaces.dimension(closing.space) != 6 - cut.removed.shape[1]:
                return None
            self._cut(closing)
            self.propagation.close(cut.cycle)
            closed.append(cut.cycle)
            if lock:
                self.propagation.lock(closed)
        for group in self._rigid_groups():
            self._rigid(group)
        rows = sum(6 - len(self.freedoms[e]) for e in self.part.order)
        kept = sum(map(len, self.kept.values()))
        joints = [self._joint(e) for e in self.part.edges]
        return {
            "origin_m": [float(x) for x in self.part.center],
            "unit_m": float(self.part.length),
            "joints": joints,
            "steps": self.steps,
            "conclusion": {"rows": rows, "kept": kept, "removed": rows - kept},
        }

    def _rigid_groups(self) -> list[list[Cut]]:
        """Cuts of loops of locked joints alone, those that share joints together."""
        locked = set(self.part.locked)
        still = [c for c in self.part.cuts if set(c.cycle.edges) <= locked | self._immobile]
        together: Any = nx.Graph()
        together.add_nodes_from(range(len(still)))
        together.add_edges_from(
            (i, j)
            for i, j in combinations(range(len(still)), 2)
            if set(still[i].cycle.edges) & set(still[j].cycle.edges)
        )
        groups = [[still[i] for i in sorted(g)] for g in nx.connected_components(together)]
        return [group for group in groups if any(cut.thinned.shape[1] for cut in group)]

    def _rigid(self, group: Sequence[Cut]) -> None:
        """Write which rows of loops that cannot move are kept: as many as the reduction keeps."""
        edges = sorted({e for cut in group for e in cut.cycle.edges})
        columns = [(e, z) for e in edges for z in self.freedoms[e]]

        def seen(cut: Cut, row: Sequence[int]) -> list[int]:
            return [
                cut.cycle.direction(self.graph, e) * sum(x * y for x, y in zip(row, z, strict=True))
                for e, z in columns
            ]

        own = [seen(cut, row) for cut in group for row in self.freedoms[cut.edge.index]]
        kept = {cut: list(self.kept[cut.edge.index]) for cut in group}
        for cut in group:
            for row in list(kept[cut]):
                if len(kept[cut]) == cut.kept:
                    break
                kept[cut].remove(row)
                rows = [*own, *(seen(c, r) for c in group for r in kept[c])]
                if len(reduced(rows)) < len(columns):
                    kept[cut].append(row)
        if any(len(kept[cut]) != cut.kept for cut in group):
            raise NotExact("the rows that lock the joints are no choice among the exact ones")
        name = {cut: self.graph.edges[cut.edge.index].name for cut in group}
        self.steps.append(
            {
                "because": "rigid",
                "loops": {
                    name[c]: [self.graph.edges[e].name for e in c.cycle.edges] for c in group
                },
                "kept": {name[c]: written(reduced(kept[c])) for c in group},
            }
        )
        self.kept |= {cut.edge.index: reduced(kept[cut]) for cut in group}

    def _joint(self, e: EdgeId) -> dict[str, Any]:
        edge, screws = self.graph.edges[e], self.part.screws[e].T
        return {
            "name": edge.name,
            "bodies": [self._body(edge.parent), self._body(edge.child)],
            "space": written(self.freedoms[e]),
            "written": [[float(x) for x in row] for row in screws],
            "distance": max((distance(row, self.freedoms[e]) for row in screws), default=0.0),
        }

    def _body(self, node: NodeId) -> str:
        return self.graph.nodes[node]

    def _cut(self, closing: Closing) -> None:
        """Write how a loop is closed."""
        edge = self.graph.edges[closing.edge]
        of = [[self._premise(P), self._premise(Q)] for P, Q in closing.of]
        removed = annihilator(self.spaces.exact(closing.space))
        kept = annihilator(reduced([*self.freedoms[closing.edge], *removed]))
        self.steps.append(
            {
                "because": "cut",
                "joint": edge.name,
                "seen from": self._body(closing.node),
                "of": of,
                "kept": written(kept),
                "removed": written(removed),
            }
        )
        self.kept[closing.edge] = kept

    def _premise(self, fact: Fact | None) -> int | None:
        """Number of the step that states a fact, written first where it is not there yet."""
        if fact is None:
            return None
        if fact not in self._number:
            bodies = [self._body(node) for node in fact.bodies]
            space = self.spaces.exact(fact.space)
            # A walk is seen from its first body; everything else is said of both alike.
            group = fact.rule != "walk" and all(self._is_group(premise) for premise in fact.of)
            key = (group, tuple(sorted(bodies) if group else bodies), space)
            if key not in self._same:
                step: dict[str, Any] = {"because": fact.rule, "bodies": bodies}
                if fact.edge is not None:
                    step["joint"] = self.graph.edges[fact.edge].name
                if fact.of:
                    step["of"] = [self._premise(premise) for premise in fact.of]
            if key not in self._same:
                self.steps.append(step | {"space": written(space)})
                self._same[key] = len(self.steps) - 1
            self._number[fact] = self._same[key]
        return self._number[fact]

    def _is_group(self, fact: Fact) -> bool:
        return fact.rule != "walk" and all(map(self._is_group, fact.of))


def written(space: Space) -> list[list[str]]:
    """A space as the document has it: integers as strings, for they can be long."""
    return [[str(x) for x in row] for row in space]
