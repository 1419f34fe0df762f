"""Proposals: which joints to change, of any number of loops.

Proposals are made for each coupled component of loops under a budget of work: the changes whose new
freedoms all take states of self-stress away, standard solutions first. Each is verified on the
changed mechanism.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regularize.lie.arrays import Array
from regularize.mechanism.graph import DisjointSets, EdgeId
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.provable import taking
from regularize.repair.statics.cure import Cure, Ranks, left_after
from regularize.repair.statics.joint_changes import (
    COST,
    COST_OF_PAIRS,
    EQUATIONS,
    JointChange,
    Stressed,
)
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

ORIGIN = np.zeros(3)
Kinds = Mapping[str, Collection[str]]


@dataclass(frozen=True, eq=False)
class Advice:
    """Changes of joints that take redundancy away and leave the motion, verified.

    Attributes:
        changes: The changes, in the order of the joints.
        removes: Redundant equations that they take away.
        left: Those that stay.
        mobility: Mobility then; that of the mechanism, but of a locked one.
        in_file: Whether the mechanism's own file can hold them, which was tried.
        model: The model as words of a command line, where that is.
        verified: Whether the changed mechanism was looked at; of large ones what is left is counted
            from the self-stress that changes take away.
        reduction: Of the mechanism as it is.
    """

    changes: tuple[JointChange, ...]
    removes: int
    left: int
    mobility: int
    in_file: bool
    reduction: Reduction = field(repr=False)
    model: tuple[str, ...] = ()
    verified: bool = True

    @property
    def words(self) -> str:
        """What becomes what, joints that become the same together."""
        alike: dict[str, list[str]] = {}
        for each in self.changes:
            alike.setdefault(each.words, []).append(each.joint)
        return listed([f"{listed(joints)} {words}" for words, joints in alike.items()])

    @property
    def command(self) -> str:
        """The command line that makes the changes in the file; empty where it cannot hold them."""
        if not self.in_file:
            return ""
        words = ("regularize", "fix", *self.model, "-o", "fixed/", *self.arguments)
        return shlex.join(words)

    @property
    def arguments(self) -> list[str]:
        """The changes as arguments of ``regularize fix``."""
        return [word for each in self.changes for word in ("--joint", each.argument)]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
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
    """The proposal that takes most away of those that a file can hold; None without any."""
    if not reduction.assembly.closed or not reduction.redundant:
        return None
    return next(iter(ranked(reduction, proposals(reduction, (), held, [held]), held)), None)


def ranked(reduction: Reduction, found: Sequence[Advice], held: Kinds) -> list[Advice]:
    """Motors last, then by what is left, standard solutions before others, few changes first."""
    standard = _standard(reduction)
    closures = {joint.name for joint in reduction.mechanism.joints if joint.closure}
    driven = _driven(reduction)

    def usual(entry: Advice) -> bool:
        return all(each.after in standard.get(each.joint, SINGLE) for each in entry.changes)

    def key(entry: Advice) -> tuple[int, ...]:
        return (
            sum(each.joint in driven for each in entry.changes),
            any(each.after in ODD for each in entry.changes),
            entry.left,
            not all(each.after in held.get(each.joint, ()) for each in entry.changes),
            not usual(entry),
            len(entry.changes),
            sum(each.joint not in closures for each in entry.changes),
            sum(each.cost for each in entry.changes),
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
    """Names of the joints with motors."""
    names = {joint.name for joint in reduction.mechanism.joints if joint.actuated}
    return names | {each.joint for each in reduction.mechanism.actuators}


def proposals(
    reduction: Reduction,
    cures: Sequence[Cure],
    held: Kinds,
    sources: Sequence[Kinds] | None = None,
) -> list[Advice]:
    """The proposals that keep the motion and take something away, in no order.

    Args:
        reduction: Of the mechanism.
        cures: Those that were found before.
        held: Kinds of joints that its file can hold.
        sources: Kinds to choose from, one set after the other; by default what textbooks propose,
            what the file holds, and all.
    """
    mobility = (
        reduction.mobility if reduction.finite_mobility is None else reduction.finite_mobility
    )
    if reduction.finite_mobility != reduction.mobility:
        return []  # what is dependent to first order holds it to second
    found = [Advice(c.changes, reduction.redundant, 0, mobility, False, reduction) for c in cures]
    edges = reduction.graph.edges
    order = {joint.name: i for i, joint in enumerate(reduction.mechanism.joints)}
    seen = {frozenset(each.argument for each in entry.changes) for entry in found}
    cost = sum((cell.equations + 1.0) ** 3 for cell in reduction.cells)
    work, large = WORK, cost > WORK
    known: Ranks = {
        frozenset((edges[e].joint.name, "") for e in cell.edges): cell.here.rank
        for cell in reduction.cells
    }
    for changes in _candidates(reduction, held, sources):
        name = frozenset(each.argument for each in changes)
        if name in seen or (work < cost and not large):
            continue
        seen.add(name)
        work -= cost
        gained = sum(change.gain for change in changes)
        left = reduction.redundant - gained if large else left_after(reduction, changes, known)
        if left is not None and left < reduction.redundant:
            ordered = tuple(sorted(changes, key=lambda each: order[each.joint]))
            removes = reduction.redundant - left
            advice = Advice(ordered, removes, left, mobility, False, reduction, verified=not large)
            found.append(advice)
    return found


def _candidates(
    reduction: Reduction, held: Kinds, sources: Sequence[Kinds] | None
) -> Iterator[list[JointChange]]:
    """Sets of changes that may do: standard ones, the fewest, and those that the file can hold."""
    cells = [cell for cell in reduction.cells if cell.redundant]
    if not cells:
        return
    stressed, driven = Stressed.of(reduction), _driven(reduction)
    standard, apart = _standard(reduction), _apart(stressed)
    if sources is None:
        large = sum(cell.equations for cell in cells) > EQUATIONS
        every = dict.fromkeys(() if large else standard, (*COST, *COST_OF_PAIRS))
        sources = [standard, *([held] if any(held.values()) else []), every]
    usual = [{n: tuple(k for k in each if k not in ODD) for n, each in s.items()} for s in sources]
    every_source = (*usual, *sources)
    for i, kinds in enumerate(every_source):
        if kinds in every_source[:i] or not any(kinds.values()):
            continue
        for motors in (False, True) if driven else (False,):
            options = [
                _options(stressed, cell, kinds, standard, apart, driven, motors) for cell in cells
            ]
            found = taking(stressed, cells, options)
            changes = [change for each in found for change in each]
            if changes:
                yield changes
            if len(changes) > 1 and not motors:
                yield changes[:1]
            if sum(change.gain for change in changes) >= reduction.redundant:
                break


def _options(
    stressed: Stressed,
    cell: CellMobility,
    kinds: Kinds,
    usual: Kinds,
    apart: Mapping[str, Array],
    driven: Collection[str],
    motors: bool,
) -> list[JointChange]:
    """Changes in one cell, of several joints of a sort first, closing joints before others."""
    edges = stressed.reduction.graph.edges
    options: list[JointChange] = []

    def across(option: JointChange) -> float:
        """Least where the play of a rail is along what parts it from the one that guides."""
        if option.after != "line_in_plane" or option.choice is None:
            return np.inf
        return round(abs(float(apart.get(option.joint, ORIGIN) @ option.choice)), 9)

    for e in reversed(cell.edges):
        joint = edges[e].joint
        if motors or joint.name not in driven:
            given = stressed.of_joint(e, kinds.get(joint.name, ()), motors=True)
            options += sorted(given, key=across)
    closing = {edges[e].joint.name for e in cell.edges if edges[e].joint.closure}

    def key(option: JointChange) -> tuple[int, ...]:
        several = usual.get(option.joint, SINGLE) != SINGLE
        return (
            option.joint in driven,
            not several,
            -option.gain,
            option.joint not in closing,
            option.cost,
            option.before != "prismatic",  # a piston turns in its cylinder
        )

    return sorted(options, key=key)


def _apart(stressed: Stressed) -> dict[str, Array]:
    """How far each of several rails is from the one that guides, across it, in metres."""
    found: dict[str, Array] = {}
    for first, others in _several(stressed.reduction):
        place = stressed.equilibrium.origin(first)
        axis = place[:3, :3] @ stressed.reduction.graph.edges[first].joint.screws[:3, 0]
        for e in others:
            far = stressed.equilibrium.origin(e)[:3, 3] - place[:3, 3]
            name = stressed.reduction.graph.edges[e].joint.name
            found[name] = far - axis * (far @ axis) / max(float(axis @ axis), VANISHING)
    return found


def _standard(reduction: Reduction) -> dict[str, Collection[str]]:
    """What textbooks make of each joint in a loop."""
    found: dict[str, Collection[str]] = {
        reduction.graph.edges[e].joint.name: SINGLE for cell in reduction.cells for e in cell.edges
    }
    for first, others in _several(reduction):
        for e in (first, *others):
            joint = reduction.graph.edges[e].joint
            found[joint.name] = SEVERAL[joint.kind][e != first]
    return found


def _several(reduction: Reduction) -> Iterator[tuple[EdgeId, list[EdgeId]]]:
    """Joints of one sort between the same two bodies: the one that locates, and the others.

    Bodies that closing welds join are one: formats that close loops by welds alone cut bodies.
    """
    graph, driven = reduction.graph, _driven(reduction)
    edges = [(e, graph.edges[e]) for cell in reduction.cells for e in cell.edges]
    same = DisjointSets(node for _, edge in edges for node in (edge.parent, edge.child))
    for _, edge in edges:
        if edge.joint.kind == "fixed":
            same.union(edge.parent, edge.child)
    sorts: dict[tuple[object, ...], list[EdgeId]] = {}
    for e, edge in edges:
        ends = frozenset((same[edge.parent], same[edge.child]))
        sorts.setdefault((ends, edge.joint.kind), []).append(e)
    for (_, kind), alike in sorts.items():
        if len(alike) > 1 and kind in SEVERAL:
            joints = {e: graph.edges[e].joint for e in alike}
            # The one that is driven, or in the tree, locates.
            first = min(alike, key=lambda e: (joints[e].name not in driven, joints[e].closure))
            yield first, [e for e in alike if e != first]
