"""Parts of a proof document: exact steps in the order of the reduction, and whose they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import mul
from typing import Any

import numpy as np

from regularize.loops.assembly import assemble
from regularize.loops.kinematics import LoopKinematics, center_and_length
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import DisjointSets, EdgeId, Graph, NodeId
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism
from regularize.proofs.geometry import ExactSpaces
from regularize.proofs.incidence import NotExact
from regularize.proofs.motions import motion, written
from regularize.proofs.verifier import Space, Verdict, annihilator, away, distance, reduced, shown
from regularize.reduction.block import Block
from regularize.reduction.closed_part import Closing, closings, loops_of
from regularize.reduction.cuts import Cut
from regularize.reduction.propagation import Fact, Propagation
from regularize.reduction.virtual_joints import VirtualJointConstraint, unsteady
from regularize.tolerances import EXACT, RTOL, UNNOTICED


class PartDocument:
    """Writes the proof of one block as steps, each once, premises first."""

    def __init__(
        self, graph: Graph, part: Block, freedoms: dict[EdgeId, Space], family: str = ""
    ) -> None:
        self.graph, self.part, self.freedoms, self.family = graph, part, freedoms, family
        self.spaces = ExactSpaces()
        numbers = {e: self.spaces.of(space) for e, space in freedoms.items()}
        loops = frozenset(map(frozenset, part.parallelograms))
        self.propagation = Propagation(graph, self.spaces, numbers, parallelograms=loops)
        self.steps: list[dict[str, Any]] = []
        self.kept: dict[EdgeId, Space] = {}
        self._number: dict[Fact, int] = {}
        self._same: dict[Any, int] = {}

    def whole(self, *, lock: bool = False, fewer: bool = False) -> dict[str, Any] | None:
        """Return the document; None where its spaces are not (or ``fewer``) the reduction's."""
        cuts = {cut.edge.index: cut for cut in self.part.cuts}
        closed: list[Cycle] = []
        for e, node, cycle in self._order(cuts):
            closing = next(c for c in closings(self.propagation, cycle, e) if c.node == node)
            removed = 6 - self.spaces.dimension(closing.space)
            most = cuts[e].removed.shape[1] if e in cuts else removed
            if removed > most or (removed < most and not fewer):
                return None
            self._cut(closing)
            self.propagation.close(cycle)
            closed.append(cycle)
            if lock:
                self.propagation.lock(closed)
        for group in self._rigid_groups():
            self._rigid(group)
        if self.family:
            step, self.kept = motion(self.graph, self.part, self.freedoms, self.kept)
            self.steps.append(step | {"family": self.family})
        held = sum(self._hold(each) for each in self.part.held)
        rows = sum(6 - len(self.freedoms[e]) for e in self.part.order)
        kept = sum(len(self.kept[e]) for e in self.part.order) + held
        if kept != self.part.kept:
            return None
        edges = [*self.part.edges, *(each.edge.index for each in self.part.held)]
        loops = {name: [*map(self._name, c.edges)] for name, c in self._loops().items()}
        return {
            "origin_m": [float(x) for x in self.part.center],
            "unit_m": float(self.part.length),
            "joints": [self._joint(e) for e in edges],
            "steps": self.steps,
            **({"loops": loops} if self.part.held else {}),
            "conclusion": {"rows": rows, "kept": kept, "removed": rows - kept},
        }

    def _order(self, cuts: Mapping[EdgeId, Cut]) -> list[tuple[EdgeId, NodeId, Cycle]]:
        """Return cuts, the bodies that see them and their loops, in the order of closing."""
        if self.part.held:
            return [(c.edge, c.node, c.cycle) for c in self.part.held[0].closings]
        return [(e, cuts[e].node, cuts[e].cycle) for e in self.part.order]

    def _loops(self) -> dict[str, Cycle]:  # of each cut, by name, over joints that are not cut
        cycles = loops_of(self.graph, self.part.edges, self.part.order)
        return {self._name(e): cycle for e, cycle in cycles.items()}

    def _hold(self, held: VirtualJointConstraint) -> int:
        """Write the rows that stand for a virtual joint, and return their number."""
        closing = next(c for c in held.closings if held.edge.index in c.cycle.edges)
        loop, spaces = closing.cycle.edges, self.spaces
        columns = {column for row in held.rows for column in row.columns}
        free = [e for e in loop if columns & {*self.graph.edges[e].columns}]
        zero = spaces.exact(unsteady(self.propagation, loop, held.node, held.edge.index))
        fixed = [z for e in loop if e not in free for z in self.freedoms[e]]
        rows: list[Sequence[int]] = []
        for row in annihilator(reduced([*zero, *fixed])):
            screws = [z for e in free for z in self.freedoms[e]]
            seen = [[sum(map(mul, r, z)) for z in screws] for r in [*rows, row]]
            if len(reduced(seen)) == len(seen):
                rows.append(row)
        if len(rows) != len(held.rows):
            raise NotExact("no exact rows hold a body in its group")
        self.steps.append(
            {
                "because": "held",
                "joint": held.edge.name,
                "instead of": self._name(closing.edge),
                "seen from": self._body(held.node),
                "loop": [self._name(e) for e in loop],
                "of": [self._steady(held.node, e) for e in loop] if rows else [],
                "rows": written(reduced(rows)),
            }
        )
        return len(rows)

    def _steady(self, node: NodeId, e: EdgeId) -> int | None:
        """Return the number of the fact by which a body sees a joint's screw change the least."""
        edge, spaces = self.graph.edges[e], self.spaces
        if node in (edge.parent, edge.child):
            return None
        facts = [self.propagation.fact(node, body) for body in (edge.parent, edge.child)]
        known = [fact for fact in facts if fact is not None]
        Z = self.propagation.freedoms[e]
        sizes = [spaces.dimension(spaces.carried(Z, fact.space)) for fact in known]
        return self._premise(known[sizes.index(min(sizes))])

    def _name(self, e: EdgeId) -> str:
        return self.graph.edges[e].name

    def _rigid_groups(self) -> list[list[Cut]]:
        """Group cuts of loops of locked joints alone, those that share joints together."""
        still = {*self.part.locked} | {e for e, space in self.freedoms.items() if not space}
        loops, together = self._loops(), DisjointSets[EdgeId]()
        cuts = [replace(c, cycle=loops[c.edge.name]) for c in self.part.cuts]
        cuts = [cut for cut in cuts if still.issuperset(cut.cycle.edges)]
        for cut in cuts:
            together.union(*cut.cycle.edges)
        groups: dict[EdgeId, list[Cut]] = {}
        for cut in cuts:
            groups.setdefault(together[cut.edge.index], []).append(cut)
        return [group for group in groups.values() if any(cut.thinned.size for cut in group)]

    def _rigid(self, group: Sequence[Cut]) -> None:
        """Write the step that keeps, of loops that cannot move, as many rows as the reduction."""
        edges = sorted({e for cut in group for e in cut.cycle.edges})
        columns = [(e, z) for e in edges for z in self.freedoms[e]]

        def seen(cut: Cut, row: Sequence[int]) -> list[int]:
            return [cut.cycle.direction(self.graph, e) * sum(map(mul, row, z)) for e, z in columns]

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
        self.steps.append(
            {
                "because": "rigid",
                "loops": {c.edge.name: [*map(self._name, c.cycle.edges)] for c in group},
                "kept": {c.edge.name: written(reduced(kept[c])) for c in group},
            }
        )
        self.kept |= {cut.edge.index: reduced(kept[cut]) for cut in group}

    def _joint(self, e: EdgeId) -> dict[str, Any]:
        """Return the entry of a joint, marked where it is a virtual one."""
        edge, virtual = self.graph.edges[e], e not in self.part.screws
        screws = np.zeros((0, 6)) if virtual else self.part.screws[e].T
        return {
            "name": edge.name,
            **({"virtual": True} if virtual else {}),
            "bodies": [self._body(edge.parent), self._body(edge.child)],
            "space": written(self.freedoms[e]),
            "written": [[float(x) for x in row] for row in screws],
            "distance": max((distance(row, self.freedoms[e]) for row in screws), default=0.0),
        }

    def _body(self, node: NodeId) -> str:
        return self.graph.nodes[node]

    def _cut(self, closing: Closing) -> None:
        """Write the step that closes a loop: the cut, its premises, rows kept and removed."""
        of = [[self._premise(P), self._premise(Q)] for P, Q in closing.of]
        removed = annihilator(self.spaces.exact(closing.space))
        kept = annihilator(reduced([*self.freedoms[closing.edge], *removed]))
        ends = {"joint": self._name(closing.edge), "seen from": self._body(closing.node)}
        rows = {"kept": written(kept), "removed": written(removed)}
        self.steps.append({"because": "cut", **ends, "of": of, **rows})
        self.kept[closing.edge] = kept

    def _premise(self, fact: Fact | None) -> int | None:
        """Return the number of the step that states a fact, and write it where it is not there."""
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
                if fact.loop:
                    step["loop"] = [self._name(e) for e in fact.loop]
                if fact.edge is not None:
                    step["joint"] = self._name(fact.edge)
                if fact.of:
                    step["of"] = [self._premise(premise) for premise in fact.of]
            if key not in self._same:
                self.steps.append(step | {"space": written(space)})
                self._same[key] = len(self.steps) - 1
            self._number[fact] = self._same[key]
        return self._number[fact]

    def _is_group(self, fact: Fact) -> bool:
        return fact.rule != "walk" and all(map(self._is_group, fact.of))


def match(
    document: dict[str, Any], verdict: Verdict, mechanism: Mechanism, rtol: float = RTOL
) -> Verdict:
    """Return the verdict on a proof as one about a model, whose joints may be off by ``rtol``."""
    measured: list[str] = []
    off = _off_the_file(document, mechanism) or _mismatch(document, mechanism, rtol, measured)
    if off:
        return verdict._replace(holds=False, claims=(), assumptions=(), reason=off)
    found = [*verdict.assumptions]  # those of the parts come first
    for i in range(len(document["parts"])):
        found[i] = f"{found[i].rpartition(', ')[0]}, {measured[i]} from the model"
    return verdict._replace(assumptions=tuple(found))


def _off_the_file(document: dict[str, Any], mechanism: Mechanism) -> str:
    """Return why a file's joints are not within the boxes that a proof assumes; empty: they are."""
    stated = document.get("within", {})
    boxes = boxes_of(mechanism)
    apart = (np.subtract(stated.get(name, np.inf), box) for name, box in boxes.items())
    most = UNNOTICED * max((max(box) for box in boxes.values()), default=0.0)
    if stated.keys() == boxes.keys() and all(np.abs(each).max() <= most for each in apart):
        return ""
    return "it is of numbers that are rounded, or read, otherwise than those of the model"


def boxes_of(mechanism: Mechanism) -> dict[str, list[float]]:
    """Return within what the joints lie in the file, where they were read as meant."""
    return {} if mechanism.reading is None else mechanism.reading.boxes(mechanism.joints)


def _mismatch(document: dict[str, Any], mechanism: Mechanism, rtol: float, found: list[str]) -> str:
    """Return why a proof is not one about a model, empty where it is; how far off goes to found."""
    graph = build(mechanism)
    loops = LoopKinematics(graph, graph.every_edge, graph.tree)
    state = loops.state(assemble(graph).q)
    edges = {edge.name: edge for edge in graph.edges}
    blocks = {graph.edges[e].name: block for block in graph.blocks for e in block}
    for entry in document["undecided"]:
        if not blocks.keys() >= {*entry["cuts"]}:
            return "what is undecided is of no joint in a loop of the model"
    for part in (*document["parts"], *document["bounds"]):
        joints = [joint for joint in part["joints"] if not joint.get("virtual")]
        for joint in joints:
            edge = edges.get(joint["name"])
            if edge is None or edge.name not in blocks:
                return f"the model has no joint {shown(joint['name'])} in a loop"
            if (bodies := [graph.nodes[edge.parent], graph.nodes[edge.child]]) != joint["bodies"]:
                return f"{edge.name} joins {bodies}, not {joint['bodies']}"
        unit, origin = float(part["unit_m"]), np.array(part["origin_m"], dtype=float)
        if unit <= 0.0:
            return "unit_m is no length"
        inside = [edges[joint["name"]].index for joint in joints]
        # Of a few loops of several a bound would be true, and be read as one of all of them.
        if "inverse" in part and {*inside} != {e for j in joints[:1] for e in blocks[j["name"]]}:
            return "a bound leaves out joints that share loops with its own"
        # Of a large unit of length small parts cannot be told apart: their own size counts.
        larger = max(1.0, unit / center_and_length(loops, state, inside)[1])
        measured, farthest = loops.measured(unit, origin), 0.0
        for joint in joints:
            edge = edges[joint["name"]]
            local = loops.local(edge.index)
            # Screws of slides are of order one, whatever the unit of length is.
            screws = measured.scaled(state.screws[0, local]) * measured.units[local][:, None]
            stated = np.array(joint["written"], dtype=float).reshape(-1, 6)
            same = stated.shape == screws.shape
            if not (same and np.abs(stated - screws).max(initial=0.0) * larger <= EXACT.same):
                return f"{edge.name} stands elsewhere in the model"
            space = tuple(tuple(int(x) for x in row) for row in joint.get("space", ()))
            off = max((distance(row, space) for row in screws.tolist()), default=0.0)
            farthest = max(farthest, off)
            if space and not off * larger <= max(10.0 * EXACT.same, rtol):
                share = f"off by {off * larger:.0e} of the size"
                return f"{edge.name} is proved for another joint, {share}"
        found.append(away(farthest, unit))
    return ""
