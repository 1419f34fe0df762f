"""The mechanism that was meant by rounded numbers, with what it takes to be it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.assembly import CLOSED, largest_error
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import EdgeId
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.proofs.special import special_lengths
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.nominal.absorb import motions_meant
from regularize.repair.nominal.candidates import (
    SHOWN,
    Candidate,
    candidates,
    meeting_candidates,
    nearly_closed,
    possible,
)
from regularize.repair.nominal.nearest import Nearest, nearest
from regularize.repair.nominal.places import JointPlaces
from regularize.repair.nominal.relations import Axes, AxisRelation, missed_relations
from regularize.tolerances import EXACT, MARGIN, RTOL, UNSEEN
from regularize.validation import POSITIVE, WHOLE, relative, validated
from regularize.words import SLIGHT


class OtherIdeal(NamedTuple):
    """Another mechanism that may have been meant.

    Attributes:
        mobility: Of the whole mechanism.
        redundant: Its redundant equations.
        distance: Largest move of a joint's place in metres and turn of its frame in radians.
    """

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
        distance: Largest move of a joint's place in metres and turn of its frame in radians.
        moves: The same for every joint that is moved.
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
        return _largest(self.moves)

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """What was moved, as a note for those who go on with the mechanism."""
        if not self.changed:
            return ()
        joint = max(self.moves, key=lambda name: sum(self.moves[name]))
        translation, rotation = self.distance
        return (
            Diagnostic(
                "REG224",
                "note",
                f"taken as it was designed, not as it is written: {len(self.moves)} joints are "
                f"moved by at most {translation * 1e3:.3g} mm and {np.degrees(rotation):.3g}°, "
                f"`{joint}` the furthest",
                joints=tuple(self.moves),
                source=self.mechanism.joint(joint).source,
            ),
        )

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


class _Found(NamedTuple):
    """A mechanism that moves as a candidate says, and the change that leads to it."""

    candidate: Candidate
    change: Nearest
    after: Reduction


@validated(near=POSITIVE, rtol=POSITIVE, seed=WHOLE)
def idealise(
    model: Model,
    *,
    near: float = SLIGHT,
    rtol: float = RTOL,
    seed: int = 0,
) -> Idealised:
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
    best = written
    moves: dict[str, tuple[float, float]] = {}
    relations: list[AxisRelation] = []
    undecided: list[Candidate] = []
    assumed: list[Candidate] = []
    others: list[OtherIdeal] = []
    for cell in written.cells:
        proved, offered = all(part.proved for part in written.parts_of(cell)), []
        loops = sized_loops(written.graph, written.q, cell.edges)
        gap = largest_error(loops, written.q[loops.columns])
        if CLOSED < gap <= UNSEEN:
            loops, q = nearly_closed(written.graph, written.q, cell.edges, near)
            offered = [Candidate((), n, gap, True) for n in dict.fromkeys(motions_meant(loops, q))]
        elif possible(cell, near, proved=proved):
            loops, q = nearly_closed(written.graph, written.q, cell.edges, near)
            cycles = written.cycles(cell)
            offered = candidates(loops, q, cell, near, proved=proved, cycles=cycles)
        if not offered and not cell.finite and written.graph.missed:
            placed = build(written.mechanism, as_placed=True)
            loops, q = nearly_closed(placed, written.q, cell.edges, near)
            offered = meeting_candidates(loops, q, near, written.graph.missed)
        hidden = not offered and any(
            part.ungrouped == "noise" and part.surplus for part in written.parts_of(cell)
        )
        if hidden and cell.finite:
            # Bars that are equal but for noise explain nothing, and equal ones may explain it all.
            loops, q = nearly_closed(written.graph, written.q, cell.edges, near)
            offered = [Candidate((), cell.finite, 0.0, searched=True)]
        if not offered:
            continue
        every = _near(best, cell.edges, q, [c for c in offered if c.searched], near)
        found = _chosen(every)
        if found is None or (hidden and not _explains_more(found.after, best)):
            likely = _likely(written, loops)
            undecided += [c for c in offered[:1] if c.joints and (c.missed or c.size <= likely)]
            continue
        candidate, change, after = found
        assumed += [candidate] if candidate.missed else []
        moves |= change.by_joint()
        relations += _relations(loops, q, after, near)
        others += [
            OtherIdeal(e.after.mobility, e.after.redundant, _largest(e.change.by_joint()))
            for e in every
            if e is not found
        ]
        best = after
    return Idealised(
        best.mechanism,
        best,
        written,
        tuple(relations),
        moves,
        tuple(undecided),
        tuple(assumed),
        tuple(others),
    )


def _in_units(sizes: tuple[float, float]) -> dict[str, Any]:
    return dict(zip(("translation_m", "rotation_rad"), sizes, strict=True))


def _largest(moves: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Largest move in metres and turn in radians, each of any joint."""
    both = np.array([*moves.values(), (0.0, 0.0)]).max(axis=0)
    return float(both[0]), float(both[1])


def _explains_more(one: Reduction, other: Reduction) -> bool:
    """Whether fewer redundant rows are left by a theorem, or by theorems and proofs."""
    if one.remaining != other.remaining:
        return one.remaining < other.remaining
    rows = (sum(each.rows for each in special_lengths(r)) for r in (one, other))
    return next(rows) > next(rows)


def _likely(written: Reduction, loops: LoopKinematics) -> float:
    """Singular values up to which the numbers themselves make noise likely.

    They have few digits, or loops that close are stored open: of numbers that close their loops to
    the last digit nothing is likely. What is further off is no rounding, however few digits there
    are, and of loops that stay open that is said alone.
    """
    digits, off = written.mechanism.digits, 0.0
    if written.assembly.closed:
        stored = loops.state(written.graph.position[loops.columns])
        off = float(np.abs(loops.residual(stored)).max(initial=0.0))
    unseen = UNSEEN if off > EXACT.closed or not written.assembly.closed else 0.0
    return max(unseen, off, 0.0 if digits is None else MARGIN * 10.0**-digits)


def _near(
    written: Reduction, edges: tuple[EdgeId, ...], q: Array, offered: list[Candidate], near: float
) -> list[_Found]:
    """Mechanisms nearby with as many motions as offered, those with many first."""
    found: list[_Found] = []
    for candidate in offered:
        if found and found[0].change.distance <= SHOWN**2 * candidate.size:
            break  # noise as small as that shows as much
        result = _accepted(written, edges, q, candidate, near)
        found += [] if result is None else [result]
    return found


def _chosen(found: Sequence[_Found]) -> _Found | None:
    """The nearest mechanism with the most motions that noise explains as well.

    Where fewer motions are much nearer, the noise is as small as these say.
    """
    least = min((each.change.distance for each in found), default=0.0)
    return next((each for each in found if each.change.distance <= SHOWN * least), None)


def _accepted(
    written: Reduction, edges: tuple[EdgeId, ...], q: Array, candidate: Candidate, near: float
) -> _Found | None:
    """The nearest mechanism with so many motions, where it is near and has them.

    Axes that are as nearly parallel as the joints had to be moved are parallel in a mechanism that
    is hardly further away: a planar linkage, not a spherical one about a far centre. So are those
    of one body that are as nearly one.
    """
    # What is one axis in the file is one that was rounded.
    found = _tried(written, edges, q, candidate, near, (EXACT.same, EXACT.same))
    if found is None:
        loops = sized_loops(build(written.mechanism, as_placed=candidate.missed > 0.0), q, edges)
        if _off_line(JointPlaces(loops, loops.state(q)), near, 0.0):  # else it is the same again
            found = _tried(written, edges, q, candidate, near, (near, 0.0))
    if found is None:
        return None
    off = SHOWN * found.change.distance
    if _off_line(_places(found.after, edges), off, off):
        tidy = _tried(written, edges, q, candidate, min(near, off), (off, off))
        # Rows that only axes off by less than the numbers are lose are not proved of what is meant.
        if tidy is not None and tidy.change.distance <= SHOWN * found.change.distance:
            return tidy
    return found


def _tried(
    written: Reduction,
    edges: tuple[EdgeId, ...],
    q: Array,
    candidate: Candidate,
    near: float,
    aligned: tuple[float, float],
) -> _Found | None:
    """The nearest mechanism, where axes are aligned that are as near: parallel, coaxial."""
    motions, as_placed = candidate.motions, candidate.missed > 0.0
    change = nearest(
        written.mechanism, edges, q, motions, aligned=aligned, near=near, as_placed=as_placed
    )
    if not (change.distance <= near and change.error <= EXACT.same):
        return None
    after = reduce(change.mechanism, rtol=written.rtol, seed=written.seed)
    finite = {cell.edges: cell.finite for cell in after.cells}
    return _Found(candidate, change, after) if finite.get(edges) == motions else None


def _places(reduction: Reduction, edges: tuple[EdgeId, ...]) -> JointPlaces:
    loops = sized_loops(reduction.graph, reduction.q, edges)
    return JointPlaces(loops, loops.state(reduction.q[loops.columns]))


def _off_line(places: JointPlaces, parallel: float, coaxial: float) -> bool:
    """Whether axes are parallel or one but for no more than that."""
    return bool(np.abs(places.aligned(parallel, coaxial)[0]).max() > EXACT.same)


def _relations(
    loops: LoopKinematics, q: Array, after: Reduction, near: float
) -> list[AxisRelation]:
    places = _places(after, loops.edges)
    written = Axes.of(loops, loops.state(q))
    meant = Axes.of(places.loops, places.reference)
    return missed_relations(written, meant, loops.length, near)
