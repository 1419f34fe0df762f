"""Gaps in directions that do not matter, taken up by the least change of joint frames.

Loops that are closed more often than they need can contradict themselves: what stays open then lies
in redundant directions, which no coordinate can change. Joint frames are moved as little as it
takes, at configurations along the whole motion at once, so that the loops close and move as they
would without the redundant equations. What coordinates should close and cannot is no such gap.
Loops of special dimensions are made special again where the noise that the gap shows explains what
they miss; where they are not, closed loops that are locked by it are said to be so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np

from regularize.lie.arrays import Array, Mask
from regularize.loops.assembly import CLOSED, Gap, assemble, gaps, largest_error
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.mechanism.diagnostic import Diagnostic, Severity
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.reduce import Reduction
from regularize.repair.nominal.nearest import (
    SHOWN,
    JointPlaces,
    Nearby,
    Nearest,
    Unknowns,
    closest,
    nearby,
    nearly_closed,
)
from regularize.repair.nominal.relations import Axes
from regularize.tolerances import EXACT, RTOL
from regularize.validation import FUNCTION, WHOLE, validated
from regularize.words import SLIGHT

#: Which frames of a joint may be moved: that on its parent, that on its child.
Movable: TypeAlias = Callable[[Joint], tuple[bool, bool]]


@dataclass(frozen=True)
class ClosedLoops:
    """Loops that contradicted themselves and close now, by the names of their joints."""

    joints: tuple[str, ...]
    #: Their mobility and redundant equations, and the mobility that may have been meant.
    motions: int
    redundant: int
    meant: int


@dataclass(frozen=True, eq=False, repr=False)
class Absorbed(ShortRepr):
    """A mechanism whose loops close by moved joint frames, but for what cannot."""

    mechanism: Mechanism
    #: By how many metres and radians every joint was moved at most.
    moves: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: What stayed open, of the loops that close now, and what stays open.
    gaps: tuple[Gap, ...] = ()
    left: tuple[Gap, ...] = ()
    #: The loops that close now, and what they are.
    closed: tuple[ClosedLoops, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether a frame was moved."""
        return bool(self.moves)

    def findings(self) -> Iterator[Diagnostic]:
        """Yield findings: joints moved (REG225), parts locked (REG229), loops open (REG226)."""

        def finding(code: str, message: str, joints: tuple[str, ...], *help: str) -> Diagnostic:
            severity: Severity = "note" if code == "REG225" else "warning"
            source = self.mechanism.joint(joints[0]).source
            return Diagnostic(code, severity, message, joints=joints, source=source, help=help)

        if self.changed:
            furthest = [max(sizes) for sizes in zip(*self.moves.values(), strict=True)]
            message = (
                f"{_open(self.gaps)} lie in redundant directions and are absorbed: joint frames "
                f"are moved by at most {_sizes(*furthest)}; the mobility of the loops is then "
                f"{sum(each.motions for each in self.closed)}, and "
                f"{sum(each.redundant for each in self.closed)} of their equations are redundant"
            )
            joints = tuple(gap.joint for gap in self.gaps)
            help = (f"`{name}`: {_sizes(*sizes)}" for name, sizes in self.moves.items())
            yield finding("REG225", message, joints, *help)
        for each in self.closed:
            if each.meant > each.motions:
                message = (
                    f"the loops of {', '.join(f'`{name}`' for name in each.joints)} close with "
                    f"mobility {each.motions}, and {each.meant} may have been meant: what forbids "
                    "more is weak, and the gaps do not tell whether noise makes it count"
                )
                way_out = "look for the mechanism that was meant: --absorb-gaps --as-designed"
                yield finding("REG229", message, each.joints, way_out)
        if self.left:
            message = (
                f"{_open(self.left)} do not lie in redundant directions and are not absorbed: the "
                "loops do not fit together at any position of their joints"
            )
            joints = tuple(gap.joint for gap in self.left)
            way_out = "correct the lengths of the links of these loops"
            yield finding("REG226", message, joints, way_out)


def _open(gaps: Sequence[Gap]) -> str:
    """Write gaps in words."""
    return "gaps of " + ", ".join(
        f"{_sizes(gap.translation, gap.rotation)} at `{gap.joint}`" for gap in gaps
    )


def _sizes(translation: float, rotation: float) -> str:
    length, angle = (0.0 if size < EXACT.closed else size for size in (translation, rotation))
    return f"{1e3 * length:.3g} mm and {np.degrees(angle):.3g}°"


@validated(movable=FUNCTION, seed=WHOLE)
def absorb_gaps(model: Model, *, movable: Movable | None = None, seed: int = 0) -> Absorbed:
    """Close loops that contradict themselves by the least change of joint frames.

    Args:
        model: The mechanism.
        movable: Frames that may be moved; by default all.
        seed: Seed of all random choices.
    """
    mechanism = as_mechanism(model)
    graph = build(mechanism)
    assembly = assemble(graph, seed=seed)
    if assembly.closed:
        return Absorbed(mechanism)
    if graph.missed:  # a gap may be all that axes miss each other by
        graph = build(mechanism, as_placed=True)
    absorbed = Absorbed(mechanism)
    for edges in graph.cells:
        loops = sized_loops(graph, assembly.q, edges)
        q = assembly.q[loops.columns]
        if largest_error(loops, q) <= CLOSED:
            continue
        own = tuple(
            gap
            for gap in gaps(loops, q)
            if max(gap.translation / loops.length, gap.rotation) > CLOSED
        )
        near = nearly_closed(graph, assembly.q, edges, SLIGHT)
        result = _closed(absorbed.mechanism, *near, movable, seed)
        if result is None:
            absorbed = replace(absorbed, left=(*absorbed.left, *own))
            continue
        (change, _, cell), meant = result
        names = graph.joint_names(edges)
        closed = ClosedLoops(names, cell.finite or 0, cell.redundant, meant)
        joints = (  # whose coordinates stay as they are
            replace(joint, T_parent_joint=new.T_parent_joint, T_child_joint=new.T_child_joint)
            for joint, new in zip(absorbed.mechanism.joints, change.mechanism.joints, strict=True)
        )
        absorbed = replace(
            absorbed,
            mechanism=replace(absorbed.mechanism, joints=tuple(joints)),
            moves=absorbed.moves | change.by_joint(EXACT.singular * change.distance),
            gaps=(*absorbed.gaps, *own),
            closed=(*absorbed.closed, closed),
        )
    return absorbed


def with_gaps_absorbed(mechanism: Mechanism) -> Mechanism:
    """Absorb gaps, and add findings about moved joints or gaps that stay."""
    absorbed = absorb_gaps(mechanism)
    found = (*mechanism.findings, *absorbed.findings())
    return replace(absorbed.mechanism, findings=found)


def _closed(
    mechanism: Mechanism, loops: LoopKinematics, q: Array, movable: Movable | None, seed: int
) -> tuple[Nearby, int] | None:
    """Find the least change after which some loops close, and the motions they may be meant for."""
    counts, gap = motions_meant(loops, q), float(np.linalg.norm(loops.residual(loops.state(q))))
    as_placed = bool(build(mechanism).missed)

    def unknowns(mask: Mask, aligned: tuple[float, float] | None = None) -> Unknowns:
        return Unknowns(mask, aligned, stored=False, as_placed=as_placed, ways=(1.0,))

    shifts = unknowns(_mask(loops, q, movable, shifts=True), (gap, 0.0))
    closing = unknowns(_mask(loops, q, movable, closing=True))
    anything = unknowns(_mask(loops, q, movable))
    for motions in dict.fromkeys(counts):
        found: list[Nearby] = []  # any moves come last: they can make another special mechanism
        for ways in ((shifts, closing), (anything,)):
            tried = [_tried(mechanism, loops, q, motions, way, seed) for way in ways]
            found = found or [each for each in tried if each is not None]
            if found:
                break
        if found:
            # More axes that are parallel or meet were meant, unless that is a much larger change.
            relations = [_relations(each.after, loops) for each in found]
            best = [f for f, own in zip(found, relations, strict=True) if own == max(relations)]
            sizes = [float(np.linalg.norm(each.change.moves)) for each in best]
            chosen = next(n for n, size in zip(best, sizes, strict=True) if size <= 2 * min(sizes))
            return chosen, counts[0]
    return None


def _relations(after: Reduction, loops: LoopKinematics) -> tuple[int, int]:
    """Count pairs of axes that are parallel, and that meet, at the assembled pose."""
    q = after.q[loops.columns]
    changed = sized_loops(after.graph, q, loops.edges)
    axes = Axes.of(changed, changed.state(q))
    pairs = [*combinations(range(len(axes.names)), 2)]
    parallel = sum(axes.angle(i, j) < EXACT.same for i, j in pairs)
    return parallel, sum(axes.gap(i, j) < EXACT.same * loops.length for i, j in pairs)


def motions_meant(loops: LoopKinematics, q: Array) -> list[int]:
    """Return numbers of motions that loops may have when they close, the likely one first."""
    rows = loops.residual_jacobian(loops.state(q))[0] * loops.units
    s = np.linalg.svd(rows, compute_uv=False)[: loops.freedoms]
    largest = float(s[0]) if len(s) else 0.0
    missing = loops.freedoms - len(s)
    weak = [  # below a gap in singular values, which noise makes
        len(s) - i
        for i in range(1, len(s))
        if s[i] <= min(s[i - 1] / SHOWN, SHOWN * SLIGHT * largest)
    ]
    # A gap of the loops tilts axes: singular values as small as itself say nothing.
    gap = float(np.linalg.norm(loops.residual(loops.state(q))))
    cuts = (max(RTOL, gap), RTOL)
    counts = [*weak[:1], *(int(np.sum(s <= cut * largest)) for cut in cuts)]
    return [missing + count for count in counts]


def _mask(
    loops: LoopKinematics,
    q: Array,
    movable: Movable | None,
    *,
    closing: bool = False,
    shifts: bool = False,
) -> Mask:
    """Mark the moves that may be made: of closing joints alone, or without turns, if asked."""
    places = JointPlaces(loops, loops.state(q))
    chords = {loops.graph.edges[chord].joint.name for chord in loops.chords}
    mask = np.ones((len(places.joints), 2, 6), dtype=bool)
    for k, joint in enumerate(places.joints):
        sides = (True, True) if movable is None else movable(joint)
        mask[k] &= np.array(sides)[:, None] & (not closing or joint.name in chords)
    mask[..., 3:] &= not shifts
    return mask.reshape(-1)


def _tried(
    mechanism: Mechanism,
    loops: LoopKinematics,
    q: Array,
    motions: int,
    unknowns: Unknowns,
    seed: int,
) -> Nearby | None:
    """Find the change, where the gap explains it and it leads to a mechanism that moves so."""
    assert unknowns.movable is not None
    start = closest(loops, q[None], motions)[0]
    state = loops.state(start)
    u, _, _ = np.linalg.svd(loops.residual_jacobian(state)[0] * loops.units)
    error = loops.residual(state)[0]
    beyond = np.linalg.norm(u[:, : loops.freedoms - motions].T @ error)
    if not unknowns.movable.any() or beyond > CLOSED:  # coordinates do not close what they should
        return None
    gap = float(np.linalg.norm(error))

    def explained(change: Nearest) -> bool:
        near = float(np.linalg.norm(change.moves)) <= 2.0 * gap
        near |= motions > 0 and change.distance <= min(SHOWN * gap, SLIGHT)
        return near and change.error <= CLOSED  # else it is another machine, or none

    options = {"seed": seed, "configurations": 0}
    found = nearby(mechanism, loops.edges, start, motions, unknowns, explained, **options)
    if found is None:
        return None
    closed = sized_loops(found.after.graph, found.after.q, loops.edges)
    open_still = largest_error(closed, found.after.q[loops.columns]) > CLOSED
    return None if open_still else found
