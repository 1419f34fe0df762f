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
from typing import NamedTuple, TypeAlias

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.assembly import CLOSED, Gap, assemble, gaps, largest_error
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.loops.projection import Mask
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Joint, Mechanism, Model, as_mechanism
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.nominal.candidates import SHOWN, nearly_closed
from regularize.repair.nominal.nearest import Nearest, closest, nearest
from regularize.repair.nominal.places import JointPlaces
from regularize.repair.nominal.relations import Axes
from regularize.tolerances import EXACT, RTOL
from regularize.validation import FUNCTION, WHOLE, validated
from regularize.words import SLIGHT

#: Which frames of a joint may be moved: that on its parent, that on its child.
Movable: TypeAlias = Callable[[Joint], tuple[bool, bool]]


@dataclass(frozen=True)
class ClosedLoops:
    """Loops that contradicted themselves and close now.

    Attributes:
        joints: Names of their joints.
        motions: Their mobility.
        redundant: Their redundant equations.
        meant: The mobility that they may have been meant to have.
    """

    joints: tuple[str, ...]
    motions: int
    redundant: int
    meant: int


@dataclass(frozen=True, eq=False, repr=False)
class Absorbed(ShortRepr):
    """A mechanism whose loops close, but for what cannot.

    Attributes:
        mechanism: With joint frames moved; what was given where nothing was open or nothing helps.
        moves: By how many metres and radians every joint was moved at most.
        gaps: What stayed open, of the loops that close now.
        left: What stays open: coordinates would have to close it, and cannot.
        closed: The loops that close now, and what they are.
    """

    mechanism: Mechanism
    moves: dict[str, tuple[float, float]] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    left: tuple[Gap, ...] = ()
    closed: tuple[ClosedLoops, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether a frame was moved."""
        return bool(self.moves)

    def findings(self) -> Iterator[Diagnostic]:
        """What was moved (REG225), what is locked by it (REG229), what stays open (REG226)."""
        if self.changed:
            furthest = [max(sizes) for sizes in zip(*self.moves.values(), strict=True)]
            joints = tuple(gap.joint for gap in self.gaps)
            yield Diagnostic(
                "REG225",
                "note",
                f"{_open(self.gaps)} lie in redundant directions and are absorbed: joint frames "
                f"are moved by at most {_sizes(*furthest)}; the mobility of the loops is then "
                f"{sum(each.motions for each in self.closed)}, and "
                f"{sum(each.redundant for each in self.closed)} of their equations are redundant",
                joints=joints,
                source=self.mechanism.joint(joints[0]).source,
                help=tuple(f"`{name}`: {_sizes(*sizes)}" for name, sizes in self.moves.items()),
            )
        for each in self.closed:
            if each.meant > each.motions:
                yield Diagnostic(
                    "REG229",
                    "warning",
                    f"the loops of {', '.join(f'`{name}`' for name in each.joints)} close with "
                    f"mobility {each.motions}, and {each.meant} may have been meant: what forbids "
                    "more is weak, and the gaps do not tell whether noise makes it count",
                    joints=each.joints,
                    source=self.mechanism.joint(each.joints[0]).source,
                    help=("look for the mechanism that was meant: --absorb-gaps --as-designed",),
                )
        if self.left:
            joints = tuple(gap.joint for gap in self.left)
            yield Diagnostic(
                "REG226",
                "warning",
                f"{_open(self.left)} do not lie in redundant directions and are not absorbed: the "
                "loops do not fit together at any position of their joints",
                joints=joints,
                source=self.mechanism.joint(joints[0]).source,
                help=("correct the lengths of the links of these loops",),
            )


def _open(gaps: Sequence[Gap]) -> str:
    """Gaps in words."""
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
        own = tuple(gap for gap in gaps(loops, q) if _size(gap, loops) > CLOSED)
        near = nearly_closed(graph, assembly.q, edges, SLIGHT)
        found = _closed(absorbed.mechanism, *near, movable, seed)
        if found is None:
            absorbed = replace(absorbed, left=(*absorbed.left, *own))
            continue
        absorbed = replace(
            absorbed,
            mechanism=_framed(absorbed.mechanism, found.change.mechanism),
            moves=absorbed.moves | found.change.by_joint(EXACT.singular * found.change.distance),
            gaps=(*absorbed.gaps, *own),
            closed=(*absorbed.closed, found.loops),
        )
    return absorbed


def with_gaps_absorbed(mechanism: Mechanism) -> Mechanism:
    """The mechanism with gaps absorbed, and a finding about what that took, or why it cannot be."""
    absorbed = absorb_gaps(mechanism)
    found = (*mechanism.findings, *absorbed.findings())
    return replace(absorbed.mechanism, findings=found)


def _framed(mechanism: Mechanism, other: Mechanism) -> Mechanism:
    """The mechanism with the joint frames of another one; its coordinates stay as they are."""
    joints = [
        replace(joint, T_parent_joint=same.T_parent_joint, T_child_joint=same.T_child_joint)
        for joint, same in zip(mechanism.joints, other.joints, strict=True)
    ]
    return replace(mechanism, joints=tuple(joints))


def _size(gap: Gap, loops: LoopKinematics) -> float:
    return max(gap.translation / loops.length, gap.rotation)


class _Found(NamedTuple):
    """A change of frames, what the loops are after it, and the reduction that says so."""

    change: Nearest
    loops: ClosedLoops
    after: Reduction


def _closed(
    mechanism: Mechanism, loops: LoopKinematics, q: Array, movable: Movable | None, seed: int
) -> _Found | None:
    """The least change after which some loops close and move, or None.

    Least changes of all frames can make another special mechanism of a planar or a spherical one.
    So of two ways that which leaves more axes parallel and meeting is what was meant: shifts, with
    axes made parallel, where they are not much larger; or moves of the closing joints alone. Any
    moves are made where neither closes the loops.
    """
    counts = motions_meant(loops, q)
    for motions in dict.fromkeys(counts):
        ways: list[tuple[Mask, float | None]] = [
            (_mask(loops, q, movable, shifts=True), _gap(loops, q)),
            (_mask(loops, q, movable, closing=True), None),
            (_mask(loops, q, movable), None),
        ]
        tried = [_tried(mechanism, loops, q, motions, *way, seed) for way in ways[:2]]
        if not any(tried):
            tried = [_tried(mechanism, loops, q, motions, *ways[2], seed)]
        found = [(_relations(each.after, loops), each) for each in tried if each is not None]
        if found:
            most = max(relations for relations, _ in found)
            best = [each for relations, each in found if relations == most]
            sizes = [float(np.linalg.norm(each.change.moves)) for each in best]
            chosen = next(n for n, size in zip(best, sizes, strict=True) if size <= 2 * min(sizes))
            return chosen._replace(loops=replace(chosen.loops, meant=counts[0]))
    return None


def _relations(after: Reduction, loops: LoopKinematics) -> tuple[int, int]:
    """How many pairs of axes are parallel, and how many meet, at the assembled pose."""
    q = after.q[loops.columns]
    changed = sized_loops(after.graph, q, loops.edges)
    axes = Axes.of(changed, changed.state(q))
    pairs = [*combinations(range(len(axes.names)), 2)]
    parallel = sum(axes.angle(i, j) < EXACT.same for i, j in pairs)
    return parallel, sum(axes.gap(i, j) < EXACT.same * loops.length for i, j in pairs)


def _gap(loops: LoopKinematics, q: Array) -> float:
    """Closure errors, lengths scaled."""
    return float(np.linalg.norm(loops.residual(loops.state(q))))


def motions_meant(loops: LoopKinematics, q: Array) -> list[int]:
    """Numbers of motions that the loops may have when they close, what was likely meant first.

    Noise makes a gap in singular values, and a gap of the loops tilts axes, so that singular values
    as small as itself say nothing.
    """
    s = np.linalg.svd(loops.residual_jacobian(loops.state(q))[0] * loops.units, compute_uv=False)[
        : loops.freedoms
    ]
    largest = float(s[0]) if len(s) else 0.0
    missing = loops.freedoms - len(s)
    weak = [
        len(s) - i
        for i in range(1, len(s))
        if s[i] <= min(s[i - 1] / SHOWN, SHOWN * SLIGHT * largest)
    ]
    cuts = (max(RTOL, _gap(loops, q)), RTOL)
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
    """Moves that may be made: of closing joints alone, or without turns, where that is asked."""
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
    mask: Mask,
    parallel: float | None,
    seed: int,
) -> _Found | None:
    """The change, where the gap explains it and it leads to a mechanism that moves so."""
    if not mask.any():
        return None
    start = closest(loops, q[None], motions)[0]
    state = loops.state(start)
    u, _, _ = np.linalg.svd(loops.residual_jacobian(state)[0] * loops.units)
    error = loops.residual(state)[0]
    if np.linalg.norm(u[:, : loops.freedoms - motions].T @ error) > CLOSED:
        return None  # coordinates do not close what they should
    found = nearest(
        mechanism,
        loops.edges,
        start,
        motions,
        movable=mask,
        stored=False,
        aligned=None if parallel is None else (parallel, 0.0),
        as_placed=bool(build(mechanism).missed),
        ways=(1.0,),
    )
    size, gap = float(np.linalg.norm(found.moves)), float(np.linalg.norm(error))
    near = size <= 2.0 * gap or (motions > 0 and found.distance <= min(SHOWN * gap, SLIGHT))
    if not (near and found.error <= CLOSED):
        return None  # another machine, or none
    after = reduce(found.mechanism, seed=seed, configurations=0)
    closed = sized_loops(after.graph, after.q, loops.edges)
    if largest_error(closed, after.q[loops.columns]) > CLOSED:
        return None
    names = tuple(dict.fromkeys(loops.graph.edges[e].joint.name for e in loops.edges))
    for cell in after.cells:
        if cell.edges == loops.edges and cell.finite == motions:
            return _Found(found, ClosedLoops(names, motions, cell.redundant, motions), after)
    return None
