"""The mechanism that was meant by rounded numbers, with what it takes to be it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.assembly import CLOSED, largest_error
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import EdgeId, Graph
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.proofs.special import special_lengths
from regularize.reduction.context import rounding_of
from regularize.reduction.mobility import CellMobility, normal_incidence
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.nominal.absorb import motions_meant
from regularize.repair.nominal.nearest import (
    SHOWN,
    JointPlaces,
    Nearby,
    Nearest,
    Unknowns,
    nearby,
    nearly_closed,
)
from regularize.repair.nominal.relations import Axes, AxisRelation, missed_relations
from regularize.tolerances import EXACT, MARGIN, RTOL, UNSEEN
from regularize.validation import POSITIVE, WHOLE, relative, validated
from regularize.words import SLIGHT


@dataclass(frozen=True)
class Candidate:
    """Motions that the closure equations of some loops nearly allow."""

    joints: tuple[str, ...]
    motions: int
    size: float
    searched: bool
    missed: float = 0.0


class OtherIdeal(NamedTuple):
    """Another mechanism that may have been meant."""

    mobility: int
    redundant: int
    distance: tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Idealised(ShortRepr):
    """A mechanism as it was designed.

    Attributes:
        mechanism: With joints moved as little as possible; what was given where nothing near moves
            more freely.
        reduction: Its reduction.
        written: The reduction of what was given.
        relations: What it fulfils and the written geometry misses.
        moves: Largest move of each moved joint's place in metres and turn of its frame in radians.
        undecided: Motions that may have been meant, and for which none was found.
        assumed: Motions that are found where axes are meant to meet in one point, which only the
            places of their frames suggest.
        others: Other mechanisms nearby that move more freely than the written one as well.
    """

    mechanism: Mechanism
    reduction: Reduction
    written: Reduction
    relations: tuple[AxisRelation, ...] = ()
    moves: dict[str, tuple[float, float]] = field(default_factory=dict)
    undecided: tuple[Candidate, ...] = ()
    assumed: tuple[Candidate, ...] = ()
    others: tuple[OtherIdeal, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether a mechanism near the written one moves more freely, or has more rows proved."""
        return bool(self.moves)

    @property
    def distance(self) -> tuple[float, float]:
        """Largest move of a joint's place in metres and turn of its frame in radians."""
        return largest(self.moves.values())

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Findings that tell by how much joints were moved."""
        if not self.changed:
            return ()
        joint = max(self.moves, key=lambda name: sum(self.moves[name]))
        translation, rotation = self.distance
        message = (
            f"taken as it was designed, not as it is written: {len(self.moves)} joints are moved "
            f"by at most {translation * 1e3:.3g} mm and {np.degrees(rotation):.3g}°, `{joint}` the "
            "furthest"
        )
        source = self.mechanism.joint(joint).source
        return (Diagnostic("REG224", "note", message, joints=tuple(self.moves), source=source),)

    def as_dict(self) -> dict[str, Any]:
        """The entry ``as_designed`` of the JSON report."""
        return {
            "mobility": self.reduction.mobility,
            "finite": self.reduction.finite_mobility,
            "redundant": self.reduction.redundant,
            "removed": self.reduction.removed,
            "distance": _in_units(self.distance),
            "moves": [{"joint": name} | _in_units(sizes) for name, sizes in self.moves.items()],
            "relations": [relation.as_dict() for relation in self.relations],
            "others": [
                each._asdict() | {"distance": _in_units(each.distance)} for each in self.others
            ],
            "assumed": [
                {"meeting": [*candidate.joints], "missed": candidate.missed}
                for candidate in self.assumed
            ],
        }


@validated(near=POSITIVE, rtol=POSITIVE, seed=WHOLE)
def idealise(model: Model, *, near: float = SLIGHT, rtol: float = RTOL, seed: int = 0) -> Idealised:
    """Find the mechanism next to a written one that moves more freely.

    Args:
        model: The mechanism, or its reduction.
        near: Largest change of a joint's place, in sizes of its part, or of its axis, in radians.
        rtol: Tolerance of ranks and relations; see ``reduce``.
        seed: Seed of all random choices.

    Raises:
        ModelError: ``near`` is no positive number.
    """
    relative("near", near)
    written = model if isinstance(model, Reduction) else reduce(model, rtol=rtol, seed=seed)
    best, found = written, Idealised(written.mechanism, written, written)
    for cell in written.cells:
        loops, q, offered, hidden = _offered(written, cell, near)
        if not offered:
            continue
        searched = [candidate for candidate in offered if candidate.searched]
        every = _nearby(best, cell.edges, q, searched, near)
        chosen = _chosen(every)
        if chosen is None or (hidden and _explained(every[chosen].after) <= _explained(best)):
            likely = _likely(written, loops)
            first = [c for c in offered[:1] if c.joints and (c.missed or c.size <= likely)]
            found = replace(found, undecided=(*found.undecided, *first))
            continue
        change, after, _ = every.pop(chosen)
        others = (
            OtherIdeal(o.after.mobility, o.after.redundant, largest(o.change.by_joint().values()))
            for o in every.values()
        )
        found = replace(
            found,
            assumed=(*found.assumed, *([chosen] if chosen.missed else [])),
            moves=found.moves | change.by_joint(),
            relations=(*found.relations, *_relations(loops, q, after, near)),
            others=(*found.others, *others),
        )
        best = after
    return replace(found, mechanism=best.mechanism, reduction=best)


def _offered(
    written: Reduction, cell: CellMobility, near: float
) -> tuple[LoopKinematics, Array, list[Candidate], bool]:
    """Return nearly closed loops, motions to look for, and whether noise hides equal bars."""
    parts = written.parts_of(cell)
    proved, offered = all(part.proved for part in parts), list[Candidate]()
    loops = sized_loops(written.graph, written.q, cell.edges)
    q = written.q[loops.columns]
    gap = largest_error(loops, q)
    if CLOSED < gap <= UNSEEN:
        loops, q = nearly_closed(written.graph, written.q, cell.edges, near)
        counts = dict.fromkeys(motions_meant(loops, q))
        offered = [Candidate((), motions, gap, True) for motions in counts]
    elif possible(cell, near, proved=proved):
        loops, q = nearly_closed(written.graph, written.q, cell.edges, near)
        cycles = written.cycles(cell)
        offered = candidates(loops, q, cell, near, proved=proved, cycles=cycles)
    if not offered and not cell.finite and written.graph.missed:
        placed = build(written.mechanism, as_placed=True)
        loops, q = nearly_closed(placed, written.q, cell.edges, near)
        offered = meeting_candidates(loops, q, near, written.graph.missed)
    hidden = not offered and any(part.ungrouped == "noise" and part.surplus for part in parts)
    if hidden and cell.finite:  # they explain nothing, and equal ones may explain it all
        loops, q = nearly_closed(written.graph, written.q, cell.edges, near)
        offered = [Candidate((), cell.finite, 0.0, searched=True)]
    return loops, q, offered, hidden


def _in_units(sizes: tuple[float, float]) -> dict[str, Any]:
    return dict(zip(("translation_m", "rotation_rad"), sizes, strict=True))


def largest(moves: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the largest move in metres and turn in radians, each of any joint."""
    both = np.array([*moves, (0.0, 0.0)]).max(axis=0)
    return float(both[0]), float(both[1])


def _explained(reduction: Reduction) -> tuple[int, int]:
    """Return the negative number of unproved redundant rows, and the rows proved by theorems."""
    return -reduction.remaining, sum(each.rows for each in special_lengths(reduction))


def _likely(written: Reduction, loops: LoopKinematics) -> float:
    """Return the singular value below which rounding is a likely cause; zero where it is none."""
    off = 0.0
    if written.assembly.closed:
        stored = loops.state(written.graph.position[loops.columns])
        off = float(np.abs(loops.residual(stored)).max(initial=0.0))
    unseen = UNSEEN if off > EXACT.closed or not written.assembly.closed else 0.0
    return max(unseen, off, MARGIN * rounding_of(loops))


def _nearby(
    written: Reduction, edges: tuple[EdgeId, ...], q: Array, offered: list[Candidate], near: float
) -> dict[Candidate, Nearby]:
    """Find a nearby mechanism for each candidate number of motions, the largest number first."""
    found: dict[Candidate, Nearby] = {}
    for candidate in offered:
        first = next(iter(found.values()), None)
        if first is not None and first.change.distance <= SHOWN**2 * candidate.size:
            break  # noise as small as that shows as much
        result = _accepted(written, edges, q, candidate, near)
        found |= {} if result is None else {candidate: result}
    return found


def _chosen(found: Mapping[Candidate, Nearby]) -> Candidate | None:
    """Choose the candidate with most motions, unless one with fewer is very much nearer."""
    least = min((each.change.distance for each in found.values()), default=0.0)
    return next((c for c, each in found.items() if each.change.distance <= SHOWN * least), None)


def _accepted(
    written: Reduction, edges: tuple[EdgeId, ...], q: Array, candidate: Candidate, near: float
) -> Nearby | None:
    """Find the nearest mechanism with a candidate's motions; None if none is near enough."""
    as_placed = candidate.missed > 0.0

    def tried(parallel: float, coaxial: float, near: float = near) -> Nearby | None:
        unknowns = Unknowns(aligned=(parallel, coaxial), near=near, as_placed=as_placed)

        def explained(change: Nearest) -> bool:
            return change.distance <= near and change.error <= EXACT.same

        options = {"rtol": written.rtol, "seed": written.seed}
        return nearby(written, edges, q, candidate.motions, unknowns, explained, **options)

    # What is one axis in the file is one that was rounded.
    found = tried(EXACT.same, EXACT.same)
    if found is None:
        loops = sized_loops(build(written.mechanism, as_placed=as_placed), q, edges)
        if off_line(JointPlaces(loops, loops.state(q)), near, 0.0):  # else it is the same again
            found = tried(near, 0.0)
    if found is None:
        return None
    off = SHOWN * found.change.distance
    # Axes as nearly parallel, or one, as joints had to be moved are so in a mechanism hardly
    # further away: a planar linkage, not a spherical one about a far centre.
    if off_line(places_of(found.after.graph, edges, found.after.q), off, off):
        tidy = tried(off, off, min(near, off))
        # Rows that only axes off by less than the numbers are lose are not proved of what is meant.
        if tidy is not None and tidy.change.distance <= SHOWN * found.change.distance:
            return tidy
    return found


def places_of(graph: Graph, edges: tuple[EdgeId, ...], q: Array) -> JointPlaces:
    """Return the joints of a component as things to move, at the coordinates of all joints."""
    loops = sized_loops(graph, q, edges)
    return JointPlaces(loops, loops.state(q[loops.columns]))


def off_line(places: JointPlaces, parallel: float, coaxial: float) -> bool:
    """Say whether some axes are nearly parallel, or nearly one, within these limits."""
    return bool(np.abs(places.aligned(parallel, coaxial)[0]).max() > EXACT.same)


def _relations(
    loops: LoopKinematics, q: Array, after: Reduction, near: float
) -> list[AxisRelation]:
    places = places_of(after.graph, loops.edges, after.q)
    written = Axes.of(loops, loops.state(q))
    meant = Axes.of(places.loops, places.reference)
    return missed_relations(written, meant, loops.length, near)


def possible(cell: CellMobility, near: float, *, proved: bool) -> bool:
    """Say whether noise may hide a motion: enough singular values small wherever the cell moves."""
    elsewhere = cell.generic.singular_values
    if not len(elsewhere):
        return True
    weak = elsewhere[1 : cell.freedoms - _least(cell, proved) + 1] <= _noise(elsewhere, near)
    return bool(weak.any()) or len(elsewhere) <= cell.freedoms - _least(cell, proved)


def _least(cell: CellMobility, proved: bool) -> int:
    """Return the least number of motions that is worth looking for."""
    return (cell.finite or 0) + int(proved or not cell.finite)


def _noise(values: Array, near: float) -> float:
    """Return the singular value up to which noise may have made a zero one."""
    return float(SHOWN**2 * near * values[0])


def candidates(
    loops: LoopKinematics,
    q: Array,
    cell: CellMobility,
    near: float,
    *,
    proved: bool,
    cycles: Sequence[Cycle],
) -> list[Candidate]:
    """List numbers of motions that noise may have hidden, in the order to look for them."""
    least = _least(cell, proved)
    if loops.freedoms == least:
        return []
    elsewhere = cell.generic.singular_values
    if not len(elsewhere) and _clear(loops, q, cycles, near):
        return []
    return _weak(loops, q, near, least, elsewhere)


def meeting_candidates(
    loops: LoopKinematics, q: Array, near: float, missed: float
) -> list[Candidate]:
    """Find motions that loops have if axes are meant to meet, of which frames are the only hint."""
    found = _weak(loops, q, near, 1, np.zeros(0))
    found = found or [Candidate(loops.graph.joint_names(loops.edges), 1, missed, False)]
    return [replace(candidate, missed=missed) for candidate in found]


def _weak(
    loops: LoopKinematics, q: Array, near: float, least: int, elsewhere: Array
) -> list[Candidate]:
    """List numbers of motions from ``least`` on that singular values below a gap alone forbid."""
    n, s, names = loops.freedoms, closure_values(loops, q), loops.graph.joint_names(loops.edges)
    found = [
        Candidate(names, n - i, float(s[i] / s[0]), bool(s[i] <= SHOWN * near * s[0]))
        for i in range(1, min(len(s), n - least + 1))
        if EXACT.closed * s[0] < s[i] <= s[i - 1] / SHOWN
        and s[i] <= _noise(s, near)
        and (i >= len(elsewhere) or elsewhere[i] <= _noise(elsewhere, near))
    ]
    return sorted(found, key=lambda candidate: not candidate.searched)


def closure_values(loops: LoopKinematics, q: Array) -> Array:
    """Return the singular values of closure equations, whichever loops were chosen."""
    signs = normal_incidence(loops, loops.incidence)
    rows = loops.jacobian(loops.state(q), signs)[0] * loops.units
    return np.linalg.svd(rows, compute_uv=False)[: loops.freedoms]


def _clear(loops: LoopKinematics, q: Array, cycles: Sequence[Cycle], near: float) -> bool:
    """Say whether each of many loops, and all together, are far from having more motions."""
    from regularize.reduction.many_loops import LoopRanks  # loaded where there are many

    each = LoopRanks(loops, cycles, loops.state(q), EXACT.rank)
    sizes = [own.values / own.values[:, :1] for own in each.by_size]
    noisy = any(np.any((values > EXACT.closed) & (values <= SHOWN**2 * near)) for values in sizes)
    return not noisy and each.rank is not None
