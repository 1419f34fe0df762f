"""Proposals: which joints to change, standard solutions first, under a budget of work."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from regularize.adapters.registry import GUESTS
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.arrangements import (
    arranged,
    arrangement_of,
    driven_joints,
    offsets_across,
    several,
)
from regularize.repair.statics.cure import Cure, Ranks, left_after
from regularize.repair.statics.joint_changes import CLEARANCE, COST, COST_OF_PAIRS, JointChange
from regularize.repair.statics.lack_of_fit import LackOfFit
from regularize.repair.statics.stress_search import EQUATIONS, MechanismStress, independent_changes
from regularize.tolerances import NEGLIGIBLE
from regularize.words import listed, pasted

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

#: Shares of the force before that are told from each other.
STEPS = (0.2, 0.5)
#: Closure equations up to which forces are looked at unasked.
FORCES = 150
#: The two loads of an entry.
LOAD = ("before", "after")

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
    #: What designers call it, from the catalogue of arrangements; None where they have no name.
    arrangement: str | None = None
    #: Largest force that lack of fit causes, before and after, in N; None without tolerances.
    load: tuple[float, float] | None = None
    #: The engine for which it was asked.
    engine: str | None = None

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
        engine = () if self.engine is None else ("--for", self.engine)
        return pasted(["regularize", "fix", *self.model, "-o", "fixed/", *advice, *engine])

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
            "arrangement": self.arrangement,
            "load": None if self.load is None else dict(zip(LOAD, self.load, strict=True)),
        }


def best_held(reduction: Reduction, held: Kinds) -> Advice | None:
    """Return the proposal, of those that the file can hold, that removes most; None without."""
    if not reduction.assembly.closed or not reduction.redundant:
        return None
    entries = ranked(reduction, proposals(reduction, (), held, [held]), held)
    holdable = (e for e in entries if all(c.after in held.get(c.joint, ()) for c in e.changes))
    return next(holdable, None)


def designed(mechanism: Mechanism) -> bool:
    """Return whether designers of parts wrote a model, who think of forces, not of equations."""
    return mechanism.format in GUESTS


def ranked(
    reduction: Reduction, found: Sequence[Advice], held: Kinds, fit: LackOfFit | None = None
) -> list[Advice]:
    """Sort proposals: motors last, those that leave least first; those of designers by force."""
    standard = _standard(reduction)
    closures = {joint.name for joint in reduction.mechanism.joints if joint.closure}
    driven = driven_joints(reduction)

    def usual(entry: Advice) -> bool:
        """Say whether all changes are those that textbooks advise."""
        return all(change.after in standard.get(change.joint, SINGLE) for change in entry.changes)

    def key(entry: Advice) -> tuple[int, ...]:
        """Return the sort key of a proposal: motors, odd kinds, redundancy left, then price."""
        return (
            sum(change.joint in driven for change in entry.changes),
            any(change.after == CLEARANCE for change in entry.changes),
            any(change.after in ODD for change in entry.changes),
            entry.left,
            not all(change.after in held.get(change.joint, ()) for change in entry.changes),
            not usual(entry),
            len(entry.changes),
            sum(change.joint not in closures for change in entry.changes),
            sum(change.cost for change in entry.changes),
        )

    entries = sorted(found, key=key)
    if fit is not None or (designed(reduction.mechanism) and few(reduction)):
        return _by_force(reduction, entries, held, fit)
    # The standard solution is seen where it is not the smallest, and what takes most away.
    place = next((i for i, entry in enumerate(entries) if usual(entry)), 0)
    if place > 1:
        entries.insert(1, entries.pop(place))
    kept = [i for i, e in enumerate(entries) if all(c.after != CLEARANCE for c in e.changes)]
    most = min(kept, key=lambda i: entries[i].left, default=0)
    if most > 2:
        entries.insert(2, entries.pop(most))
    return entries


def few(reduction: Reduction) -> bool:
    """Return whether a model has so few equations that its self-stress is known at once."""
    return equations_of(reduction.cells) <= FORCES


def equations_of(cells: Iterable[CellMobility]) -> int:
    """Count the closure equations of some coupled loops."""
    return sum(cell.equations for cell in cells)


def _by_force(
    reduction: Reduction, entries: Sequence[Advice], held: Kinds, fit: LackOfFit | None
) -> list[Advice]:
    """Sort proposals by the force that they leave, a fifth as none, then by what they change."""
    forces = LackOfFit.nominal(reduction) if fit is None else fit
    before = forces.largest()
    if before is None or not any(before):
        return list(entries)
    kind = 0 if before[0] else 1  # where nothing but moments are redundant, these
    driven = driven_joints(reduction)
    keyed = []
    for place, entry in enumerate(entries):
        after = forces.largest(entry.changes)
        share = 1.0 if after is None else after[kind] / before[kind]
        if fit is not None and after is not None:
            entry = replace(entry, load=(before[0], 0.0 if share < NEGLIGIBLE else after[0]))
        kinds = {change.after for change in entry.changes}
        named = entry.arrangement is not None
        key = (
            any(change.joint in driven for change in entry.changes),
            kinds == {CLEARANCE},
            sum(share > step for step in STEPS),
            not named and not kinds.isdisjoint(ODD),
            not named,
            not all(change.after in held.get(change.joint, ()) for change in entry.changes),
            len(entry.changes),
            place,
        )
        keyed.append((key, entry))
    return [entry for _, entry in sorted(keyed, key=lambda pair: pair[0])]


def proposals(
    reduction: Reduction, cures: Sequence[Cure], held: Kinds, sources: Sequence[Kinds] | None = None
) -> list[Advice]:
    """Find joint changes that keep the mobility and reduce redundancy; known cures come first."""
    mobility = reduction.mobility
    if reduction.finite_mobility != mobility:
        return []  # what is dependent to first order holds it to second
    idle = reduction.idle_rows
    gain = reduction.redundant - idle
    entries = [Advice(c.changes, gain, idle, mobility, False, reduction) for c in cures]
    edges = reduction.graph.edges
    order = {joint.name: i for i, joint in enumerate(reduction.mechanism.joints)}
    tried = {_key(entry.changes) for entry in entries}
    cost = sum((cell.equations + 1.0) ** 3 for cell in reduction.cells)
    work, large = WORK, cost > WORK
    ranks: Ranks = {
        frozenset((edges[e].joint.name, "") for e in cell.edges): cell.here.rank
        for cell in reduction.cells
    }
    catalogued = {_key(changes): (name, changes) for name, changes in arranged(reduction)}
    found = (changes for _, changes in catalogued.values())
    for changes in chain(found, _candidates(reduction, held, sources)):
        if _key(changes) in tried or (work < cost and not large):
            continue
        tried.add(_key(changes))
        work -= cost
        gained = sum(change.gain for change in changes)
        left = reduction.redundant - gained if large else left_after(reduction, changes, ranks)
        if left is not None and left < reduction.redundant:
            ordered = tuple(sorted(changes, key=lambda change: order[change.joint]))
            counts = (reduction.redundant - left, left, mobility)
            entries.append(Advice(ordered, *counts, False, reduction, verified=not large))
    return [
        replace(entry, arrangement=name or arrangement_of(reduction, entry.changes))
        for entry in entries
        for name, _ in [catalogued.get(_key(entry.changes), (None, ()))]
    ]


def _key(changes: Iterable[JointChange]) -> frozenset[str]:
    """Return what tells sets of joint changes from each other."""
    return frozenset(change.argument for change in changes)


def _candidates(
    reduction: Reduction, held: Kinds, sources: Sequence[Kinds] | None
) -> Iterator[list[JointChange]]:
    """Yield sets of joint changes to try: standard ones, the fewest, those that the file holds."""
    cells = reduction.curable
    if not cells:
        return
    stress, driven = MechanismStress.of(reduction), driven_joints(reduction)
    standard, offsets = _standard(reduction), dict[str, Array]()
    for alike in several(reduction):
        offsets |= offsets_across(stress, alike)
    if sources is None:
        large = equations_of(cells) > EQUATIONS
        every = dict.fromkeys(() if large else standard, (*COST, *COST_OF_PAIRS))
        parts = {name: tuple(k for k in kinds if k != CLEARANCE) for name, kinds in held.items()}
        sources = [standard, *([parts] if any(parts.values()) else []), every]
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


def _standard(reduction: Reduction) -> dict[str, Collection[str]]:
    """Return the kinds that textbooks advise for each joint in a loop."""
    edges = reduction.graph.edges
    kinds: dict[str, Collection[str]] = {
        edges[e].joint.name: SINGLE for cell in reduction.cells for e in cell.edges
    }
    for alike in several(reduction):
        for place, joint in enumerate(edge.joint for edge in alike):
            if joint.kind in SEVERAL:
                kinds[joint.name] = SEVERAL[joint.kind][place > 0]
    return kinds
