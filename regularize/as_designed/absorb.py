"""Gaps in directions that do not matter, taken up by the least change of joint frames.

Loops that are closed more often than they need can contradict themselves: what stays open then lies
in redundant directions, which no coordinate can change. Joint frames are moved as little as it
takes, at configurations along the whole motion at once, so that the loops close and move as they
would without the redundant equations. What coordinates should close and cannot is no such gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np

from regularize.as_designed.nearest import Nearest, closest, nearest
from regularize.as_designed.places import JointPlaces
from regularize.as_designed.relations import Axes
from regularize.lie.screw import Array
from regularize.lie.subalgebra import RTOL
from regularize.manifold.assembly import assemble
from regularize.manifold.extent import sized_loops
from regularize.manifold.gaps import CLOSED, Gap, gaps, largest_error
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask
from regularize.manifold.tolerances import EXACT
from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import spanning_tree
from regularize.model.graph_building import build
from regularize.model.mechanism import Joint, Mechanism
from regularize.model.short_repr import ShortRepr
from regularize.reduction.reduce import Reduction, reduce

#: Which frames of a joint may be moved: that on its parent, that on its child.
Movable: TypeAlias = Callable[[Joint], tuple[bool, bool]]


@dataclass(frozen=True, eq=False, repr=False)
class Absorbed(ShortRepr):
    """A mechanism whose loops close, but for what cannot.

    Attributes:
        mechanism: With joint frames moved; what was given where nothing was open or nothing helps.
        moves: By how many metres and radians every joint was moved at most.
        gaps: What stayed open, of the loops that close now.
        left: What stays open: coordinates would have to close it, and cannot.
    """

    mechanism: Mechanism
    moves: dict[str, tuple[float, float]] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    left: tuple[Gap, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether a frame was moved."""
        return bool(self.moves)

    def findings(self) -> Iterator[Diagnostic]:
        """What was moved (REG225), and what stays open (REG226)."""
        if self.changed:
            furthest = [max(sizes) for sizes in zip(*self.moves.values(), strict=True)]
            joints = tuple(gap.joint for gap in self.gaps)
            yield Diagnostic(
                "REG225",
                "note",
                f"{_open(self.gaps)} lie in redundant directions and are absorbed: joint frames "
                f"are moved by at most {_sizes(*furthest)}",
                joints=joints,
                source=self.mechanism.joint(joints[0]).source,
                help=tuple(f"`{name}`: {_sizes(*sizes)}" for name, sizes in self.moves.items()),
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


def absorb_gaps(mechanism: Mechanism, *, movable: Movable | None = None, seed: int = 0) -> Absorbed:
    """Close loops that contradict themselves by the least change of joint frames.

    Args:
        mechanism: The mechanism.
        movable: Frames that may be moved; by default all.
        seed: Seed of all random choices.
    """
    graph = build(mechanism)
    assembly = assemble(graph, seed=seed)
    if assembly.closed:
        return Absorbed(mechanism)
    absorbed = Absorbed(mechanism)
    for edges in graph.cells:
        loops = sized_loops(graph, assembly.q, edges, spanning_tree(graph))
        q = assembly.q[loops.columns]
        if largest_error(loops, q) <= CLOSED:
            continue
        own = tuple(gap for gap in gaps(loops, q) if _size(gap, loops) > CLOSED)
        found = _closed(absorbed.mechanism, loops, q, movable, seed)
        if found is None:
            absorbed = replace(absorbed, left=(*absorbed.left, *own))
            continue
        moves = absorbed.moves | _moves(found)
        framed = _framed(absorbed.mechanism, found.mechanism)
        absorbed = Absorbed(framed, moves, (*absorbed.gaps, *own), absorbed.left)
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


def _moves(found: Nearest) -> dict[str, tuple[float, float]]:
    """By how many metres and radians joints are moved, but for rounding."""
    linear, angular = (sizes.tolist() for sizes in found.places.sizes(found.moves))
    names = [joint.name for joint in found.places.joints]
    least = EXACT.singular * found.distance
    length = found.places.loops.length
    return {
        name: (move, turn)
        for name, move, turn in zip(names, linear, angular, strict=True)
        if max(move / length, turn) > least
    }


def _size(gap: Gap, loops: LoopKinematics) -> float:
    return max(gap.translation / loops.length, gap.rotation)


def _closed(
    mechanism: Mechanism, loops: LoopKinematics, q: Array, movable: Movable | None, seed: int
) -> Nearest | None:
    """The least change after which some loops close and move, or None.

    Least changes of all frames can make another special mechanism of a planar or a spherical one.
    So of two ways that which leaves more axes parallel and meeting is what was meant: shifts, with
    axes made parallel, where they are not much larger; or moves of the closing joints alone. Any
    moves are made where neither closes the loops.
    """
    for motions in _motions(loops, q):
        ways: list[tuple[Mask, float | None]] = [
            (_mask(loops, q, movable, shifts=True), _gap(loops, q)),
            (_mask(loops, q, movable, closing=True), None),
        ]
        tried = [_tried(mechanism, loops, q, motions, *way, seed) for way in ways]
        if not any(tried):
            tried = [_tried(mechanism, loops, q, motions, _mask(loops, q, movable), None, seed)]
        found = [(_relations(after, loops), near) for near, after in filter(None, tried)]
        if found:
            most = max(relations for relations, _ in found)
            best = [near for relations, near in found if relations == most]
            sizes = [float(np.linalg.norm(near.moves)) for near in best]
            return next(n for n, size in zip(best, sizes, strict=True) if size <= 2 * min(sizes))
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


def _motions(loops: LoopKinematics, q: Array) -> Iterator[int]:
    """Numbers of motions that the loops may have when they close, the likely one first.

    A gap tilts axes, so that singular values as small as itself say nothing.
    """
    s = np.linalg.svd(loops.residual_jacobian(loops.state(q))[0] * loops.units, compute_uv=False)[
        : loops.freedoms
    ]
    largest = float(s[0]) if len(s) else 0.0
    missing = loops.freedoms - len(s)
    counts = [
        missing + int(np.sum(s <= cut * largest)) for cut in (max(RTOL, _gap(loops, q)), RTOL)
    ]
    yield from dict.fromkeys(counts)


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
) -> tuple[Nearest, Reduction] | None:
    """The change, where it is no larger than the gap and leads to a mechanism that moves so."""
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
        parallel=parallel,
        ways=(1.0,),
    )
    near = bool(np.linalg.norm(found.moves) <= 2.0 * np.linalg.norm(error))
    if not (near and found.error <= CLOSED):
        return None  # another machine, or none
    after = reduce(found.mechanism, seed=seed, configurations=0)
    closed = sized_loops(after.graph, after.q, loops.edges)
    if largest_error(closed, after.q[loops.columns]) > CLOSED:
        return None
    finite = {cell.edges: cell.finite for cell in after.cells}
    return (found, after) if finite.get(loops.edges) == motions else None
