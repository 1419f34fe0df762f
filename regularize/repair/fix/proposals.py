"""Proposals: which joints to change, standard solutions first, under a budget of work."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regularize.lie.arrays import Array
from regularize.mechanism.graph import DisjointSets, Edge, EdgeId
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.cure import Cure, Ranks, left_after
from regularize.repair.statics.joint_changes import COST, COST_OF_PAIRS, JointChange
from regularize.repair.statics.stress_search import EQUATIONS, MechanismStress, independent_changes
from regularize.tolerances import VANISHING
from regularize.words import listed

#: Changed mechanisms are analysed as long as their equations, cubed, add up to this. Of larger ones
#: it is counted what is left: freedoms that take independent states of self-stress away raise the
#: rank by as many, so that nothing else moves.
WORK = 2e10
#: What joints become that are not one of several of their sort between two bodies.
SINGLE = ("spherical", "cylindrical", "universal")
#: No parts to buy: proposed last, where others leave something redundant.
ODD = ("slotted", "parallel", "point_on_plane")
#: What the first and the others become of several coaxial hinges, or parallel slides, between two
#: bodies: the locating bearing and the floating ones, the rail that guides and those with play.
SEVERAL = {
    "revolute": (("spherical",), ("point_on_line",)),
    "prismatic": (("cylindrical",), ("line_in_plane",)),
    "cylindrical": ((), ("line_in_plane", "point_on_line")),
}

Kinds = Mapping[str, Collection[str]]


@dataclass(frozen=True, eq=False)
class Advice:
    """Changes of joints that take redundancy away and leave the motion, in the joints' order."""

    changes: tuple[JointChange, ...]
    #: Redundant equations that they take away, and those that stay.
    removes: int
    left: int
    #: Mobility then; that of the mechanism, but of a locked one.
    mobility: int
    #: Whether the mechanism's own file can hold them, which was tried.
    in_file: bool
    #: Of the mechanism as it is.
    reduction: Reduction = field(repr=False)
    #: The model as words of a command line, where it is in a file.
    model: tuple[str, ...] = ()
    #: Whether the changed mechanism was looked at; of large ones what is left is counted from the
    #: self-stress that changes take away.
    verified: bool = True
    #: Its place in the list of a report, the first being 1, and a hash of the file and the changes.
    number: int = 0
    key: str = ""

    @property
    def words(self) -> str:
        """Phrase that says what joints become; joints that become the same stand together."""
        alike: dict[str, list[str]] = {}
        for change in self.changes:
            alike.setdefault(change.words, []).append(change.joint)
        return listed([f"{listed(joints)} {words}" for words, joints in alike.items()])

    @property
    def command(self) -> str:
        """The command line that makes the changes in the file; empty where it cannot hold them."""
        if not self.in_file:
            return ""
        advice = ("--advice", self.id) if self.number else self.arguments
        return shlex.join(("regularize", "fix", *self.model, "-o", "fixed/", *advice))

    @property
    def id(self) -> str:
        """Number and hash, such as ``1@3fa2``, by which ``fix`` finds it while the file stays."""
        return f"{self.number}@{self.key}"

    @property
    def arguments(self) -> list[str]:
        """The changes as arguments of ``regularize fix``."""
        return [word for change in self.changes for word in ("--joint", change.argument)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "number": self.number,
            "id": self.id,
            "changes": [
                {"joint": c.joint, "from": c.before, "to": c.argument[len(c.joint) + 1 :]}
                for c in self.changes
            ],
            "removes": self.removes,
            "left": self.left,
            "mobility": self.mobility,
            "in_file": self.in_file,
            "command": self.command or None,
            "verified": self.verified,
        }


def best_held(reduction: Reduction, held: Kinds) -> Advice | None:
    """Return the proposal, of those that the file can hold, that removes most; None without."""
    if not reduction.assembly.closed or not reduction.redundant:
        return None
    return next(iter(ranked(reduction, proposals(reduction, (), held, [held]), held)), None)


def ranked(reduction: Reduction, found: Sequence[Advice], held: Kinds) -> list[Advice]:
    """Sort proposals: motors last, then by remaining redundancy, standard and short ones first."""
    standard = _standard(reduction)
    closures = {joint.name for joint in reduction.mechanism.joints if joint.closure}
    driven = _driven(reduction)

    def usual(entry: Advice) -> bool:
        """Say whether all changes are those that textbooks advise."""
        return all(change.after in standard.get(change.joint, SINGLE) for change in entry.changes)

    def key(entry: Advice) -> tuple[int, ...]:
        """Return the sort key of a proposal: motors, odd kinds, redundancy left, then price."""
        return (
            sum(change.joint in driven for change in entry.changes),
            any(change.after in ODD for change in entry.changes),
            entry.left,
            not all(change.after in held.get(change.joint, ()) for change in entry.changes),
            not usual(entry),
            len(entry.changes),
            sum(change.joint not in closures for change in entry.changes),
            sum(change.cost for change in entry.changes),
        )

    entries = sorted(found, key=key)
    # The standard solution is seen where it is not the smallest, and what takes most away.
    place = next((i for i, entry in enumerate(entries) if usual(entry)), 0)
    if place > 1:
        entries.insert(1, entries.pop(place))
    most = min(range(len(entries)), key=lambda i: entries[i].left, default=0)
    if most > 2:
        entries.insert(2, entries.pop(most))
    return entries


def _driven(reduction: Reduction) -> set[str]:
    """Return the names of the joints with motors."""
    names = {joint.name for joint in reduction.mechanism.joints if joint.actuated}
    return names | {actuator.joint for actuator in reduction.mechanism.actuators}


def proposals(
    reduction: Reduction, cures: Sequence[Cure], held: Kinds, sources: Sequence[Kinds] | None = None
) -> list[Advice]:
    """Find joint changes that keep the mobility and reduce redundancy; known cures come first.

    Joints become the kinds of each source: by default what textbooks propose, ``held``, and all.
    """
    mobility = reduction.mobility
    if reduction.finite_mobility != mobility:
        return []  # what is dependent to first order holds it to second
    entries = [Advice(c.changes, reduction.redundant, 0, mobility, False, reduction) for c in cures]
    edges = reduction.graph.edges
    order = {joint.name: i for i, joint in enumerate(reduction.mechanism.joints)}
    tried = {frozenset(change.argument for change in entry.changes) for entry in entries}
    cost = sum((cell.equations + 1.0) ** 3 for cell in reduction.cells)
    work, large = WORK, cost > WORK
    ranks: Ranks = {
        frozenset((edges[e].joint.name, "") for e in cell.edges): cell.here.rank
        for cell in reduction.cells
    }
    for changes in _candidates(reduction, held, sources):
        name = frozenset(change.argument for change in changes)
        if name in tried or (work < cost and not large):
            continue
        tried.add(name)
        work -= cost
        gained = sum(change.gain for change in changes)
        left = reduction.redundant - gained if large else left_after(reduction, changes, ranks)
        if left is not None and left < reduction.redundant:
            ordered = tuple(sorted(changes, key=lambda change: order[change.joint]))
            counts = (reduction.redundant - left, left, mobility)
            entries.append(Advice(ordered, *counts, False, reduction, verified=not large))
    return entries


def _candidates(
    reduction: Reduction, held: Kinds, sources: Sequence[Kinds] | None
) -> Iterator[list[JointChange]]:
    """Yield sets of joint changes to try: standard ones, the fewest, those that the file holds."""
    cells = [cell for cell in reduction.cells if cell.redundant]
    if not cells:
        return
    stress, driven = MechanismStress.of(reduction), _driven(reduction)
    standard, offsets = _standard(reduction), _aside(stress)
    if sources is None:
        large = sum(cell.equations for cell in cells) > EQUATIONS
        every = dict.fromkeys(() if large else standard, (*COST, *COST_OF_PAIRS))
        sources = [standard, *([held] if any(held.values()) else []), every]
    usual = [{n: tuple(k for k in ks if k not in ODD) for n, ks in s.items()} for s in sources]
    sources = [*usual, *sources]
    for i, kinds in enumerate(sources):
        if kinds in sources[:i] or not any(kinds.values()):
            continue
        for motors in (False, True) if driven else (False,):
            changes = [
                change
                for cell in cells
                for change in independent_changes(
                    stress.cell(cell),
                    _options(stress, cell, kinds, standard, driven, motors, offsets),
                )
            ]
            if changes:
                yield changes
            if len(changes) > 1 and not motors:
                yield changes[:1]
            if sum(change.gain for change in changes) >= reduction.redundant:
                break


def _options(
    stress: MechanismStress,
    cell: CellMobility,
    kinds: Kinds,
    usual: Kinds,
    driven: Collection[str],
    motors: bool,
    offsets: Mapping[str, Array],
) -> list[JointChange]:
    """List the joint changes of one coupled component in the order in which to choose them."""
    joints = {e: stress.reduction.graph.edges[e].joint for e in reversed(cell.edges)}
    closing = {joint.name for joint in joints.values() if joint.closure}

    def across(option: JointChange) -> float:
        """Return a sort key of rails: the offset from the guide along their free direction."""
        if option.after != "line_in_plane" or option.choice is None:
            return np.inf
        return round(abs(float(offsets.get(option.joint, np.zeros(3)) @ option.choice)), 9)

    def key(option: JointChange) -> tuple[int, ...]:
        """Return the sort key of a change: motors last, large gain and closures first."""
        return (
            option.joint in driven,
            usual.get(option.joint, SINGLE) == SINGLE,
            -option.gain,
            option.joint not in closing,
            option.cost,
            option.before != "prismatic",  # a piston turns in its cylinder
        )

    options = [
        option
        for e, joint in joints.items()
        if motors or joint.name not in driven
        for option in sorted(stress.changes([e], kinds, motors=True), key=across)
    ]
    return sorted(options, key=key)


def _aside(stress: MechanismStress) -> dict[str, Array]:
    """Return the offset of each floating parallel rail from its guide, across it, in metres."""
    offsets: dict[str, Array] = {}
    for first, floating in _several(stress.reduction):
        place = stress.equilibrium.origin(first)
        axis = place[:3, :3] @ stress.reduction.graph.edges[first].joint.screws[:3, 0]
        for e in floating:
            offset = stress.equilibrium.origin(e)[:3, 3] - place[:3, 3]
            name = stress.reduction.graph.edges[e].joint.name
            offsets[name] = offset - axis * (offset @ axis) / max(float(axis @ axis), VANISHING)
    return offsets


def _standard(reduction: Reduction) -> dict[str, Collection[str]]:
    """Return the kinds that textbooks advise for each joint in a loop."""
    edges = reduction.graph.edges
    kinds: dict[str, Collection[str]] = {
        edges[e].joint.name: SINGLE for cell in reduction.cells for e in cell.edges
    }
    for first, floating in _several(reduction):
        for e in (first, *floating):
            kinds[edges[e].joint.name] = SEVERAL[edges[e].joint.kind][e != first]
    return kinds


def _several(reduction: Reduction) -> Iterator[tuple[EdgeId, list[EdgeId]]]:
    """Find joints of one kind between the same two bodies: the locating one and the floating ones.

    Bodies that closing welds join are one: formats that close loops by welds alone cut bodies.
    """
    graph, driven = reduction.graph, _driven(reduction)
    edges = [graph.edges[e] for cell in reduction.cells for e in cell.edges]
    same = DisjointSets(node for edge in edges for node in (edge.parent, edge.child))
    for edge in edges:
        if edge.joint.kind == "fixed":
            same.union(edge.parent, edge.child)
    sorts: dict[tuple[object, ...], list[Edge]] = {}
    for edge in edges:
        ends = frozenset((same[edge.parent], same[edge.child]))
        sorts.setdefault((ends, edge.joint.kind), []).append(edge)
    for (_, kind), alike in sorts.items():
        if len(alike) > 1 and kind in SEVERAL:
            # The one that is driven, or in the tree, locates.
            first = min(alike, key=lambda e: (e.joint.name not in driven, e.joint.closure))
            yield first.index, [edge.index for edge in alike if edge is not first]
