"""What a file's numbers were rounded from: the mechanism with most motions within their rounding.

By how much rounding can move each joint is known from the file (``Mechanism.reading``). Where the
closure equations nearly allow more motions than they do, joints are moved by the least that gives
these motions; that mechanism is what is meant if no move is more than half of what rounding can do,
and may be meant up to all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.lie.arrays import Array, Coordinates
from regularize.lie.screw import inverse, log
from regularize.loops.assembly import CLOSED, assemble, largest_error
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.loops.projection import project
from regularize.mechanism.cycles import Cycle, minimum_cycle_basis
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import EdgeId, Graph
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism
from regularize.mechanism.reading import FLOOR, Letter, Level, Move, Reading
from regularize.proofs.special import special_lengths
from regularize.reduction.mobility import CellMobility, cell_mobility, generic_configurations
from regularize.reduction.reduce import reduce
from regularize.repair.nominal.idealise import closure_values, largest, off_line, places_of
from regularize.repair.nominal.nearest import (
    SHOWN,
    JointPlaces,
    Nearest,
    Unknowns,
    nearest,
    nearly_closed,
)
from regularize.repair.statics.joint_changes import with_joints
from regularize.tolerances import EXACT, TINY, VANISHING, Tolerances
from regularize.words import SLIGHT

#: Largest move that rounding explains, and the largest that it may, in units of what it can do.
MEANT, POSSIBLE = 0.5, 1.0
#: Share of what cannot be told from rounding, and cannot be told to be it either.
UNSURE = 0.6
#: Probability with which moves that undo rounding are larger than half of what it can do.
RARE = 1e-4
#: Ratio of successive singular values between those that rounding may have made and others.
APART = 2.0
#: Most numbers of motions that are looked for in one component.
CANDIDATES = 4


@dataclass(frozen=True)
class _Found:
    """A mechanism near the written one, and its largest move in units of the rounding."""

    change: Nearest
    share: float
    #: The least change after which loops close that are open, where more is undecided.
    closed: Nearest | None = None


def meant(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism that a file's rounded numbers mean, which says how it was read."""
    reading = mechanism.reading
    if reading is None or not reading.levels or reading.as_ != "written":
        return mechanism
    base = mechanism if reading.base is None else replace(mechanism, joints=reading.base)
    best, likely, moves, shares = base, base, list[dict[str, Move]](), [0.0]
    graph = build(base, as_placed=True)
    for edges in graph.cells:
        length = sized_loops(graph, graph.position, edges).length
        level = 2.0 * reading.rounding((graph.edges[e].joint.name for e in edges), length)
        found = _nearest(best, edges, level, reading.levels) if level else None
        if found is None:
            continue
        shares.append(found.share)
        moves.append(found.change.by_joint(EXACT.closed))
        likely = with_joints(likely, (found.change.mechanism.joint(name) for name in moves[-1]))
        # What is undecided stays as it is, but for gaps that rounding explains.
        change = found.change if found.share <= MEANT else found.closed
        best = best if change is None else change.mechanism
    every = (sizes for each in moves for sizes in each.values())
    moved = largest([*every, *_snapped(mechanism, base)])
    if not any(moved):
        return mechanism
    undecided, letter = max(shares) > MEANT, _letter(mechanism)
    reading = replace(
        reading,
        as_="undecided" if undecided else "meant",
        moved=moved,
        share=max(shares),
        letter=letter if undecided or letter != _letter(best) else None,
        written=mechanism.joints,
        possible=_letter(likely) if undecided else None,
    )
    notes = [_finding(reading)] if reading.letter else []
    return replace(best, reading=reading, findings=(*mechanism.findings, *notes))


def _finding(reading: Reading) -> Diagnostic:
    """Report that a mechanism was taken for another than its numbers say, or could be."""
    if reading.as_ == "undecided":
        help = f"write {reading.wanted} of them; --as-written takes the letter"
        return Diagnostic("REG223", "warning", reading.words, help=(help,))
    help = "compare with the letter: --as-written"
    return Diagnostic("REG224", "note", reading.words, help=(help,))


def as_written(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism with the joints that its file says literally, and nothing else read in."""
    reading = mechanism.reading
    if reading is None:
        return mechanism
    joints = mechanism.joints if reading.written is None else reading.written
    literal = Reading(precision=reading.precision, literal=True)
    return replace(mechanism, joints=joints, reading=literal)


def as_read(mechanism: Mechanism, reading: str) -> Mechanism:
    """Return a mechanism that was just read as ``written``, or else as it is meant."""
    return as_written(mechanism) if reading == "written" else meant(mechanism)


def read_alike(mechanism: Mechanism, other: Mechanism) -> Mechanism:
    """Return a mechanism as it is meant, unless another one was taken by the letter."""
    literal = other.reading is None or not other.reading.levels
    return as_written(mechanism) if literal else meant(mechanism)


def _weights(places: JointPlaces, levels: Mapping[str, Level]) -> Array:
    """Return standard deviations of the moves of frames, scaled, shape (12 joints,)."""
    boxes = np.array([levels.get(joint.name, (0.0,) * 4) for joint in places.joints])
    sizes = boxes.reshape(-1, 2) / np.array([places.loops.length, 1.0]) / np.sqrt(3.0)
    return np.repeat(np.maximum(sizes, FLOOR * sizes.max()).reshape(-1), 3)


def _nearest(
    mechanism: Mechanism, edges: tuple[EdgeId, ...], level: float, levels: Mapping[str, Level]
) -> _Found | None:
    """Find the mechanism with most motions of a component that rounding may explain."""
    graph = build(mechanism, as_placed=True)
    loops = sized_loops(graph, graph.position, edges)
    q = np.array(graph.position[loops.columns])
    if largest_error(loops, q) > SHOWN * level:
        loops, q = nearly_closed(graph, assemble(graph).q, edges, level)
    hidden, still = _candidates(loops, q, level)
    unknown, found = False, None
    for motions in hidden[:CANDIDATES]:
        result = _with_motions(mechanism, edges, q, motions, level, levels)
        if isinstance(result, _Found):
            share = UNSURE if _deliberate(result, edges, level) else 0.0
            found = replace(result, share=max(result.share, share))
            break
        unknown |= not result
    if still is None or (found is not None and found.share <= MEANT):
        return found
    # What rounding alone holds closes no loop: frames do, at the pose.
    weak = hidden[0] if hidden else None
    closed = _with_motions(mechanism, edges, q, still, level, levels, weak)
    if not isinstance(closed, _Found):
        return found
    if found is not None:
        return replace(found, closed=closed.change)
    # That loops close tells nothing where more motions may be there and none are found.
    share = max(closed.share, UNSURE) if unknown else closed.share
    return replace(closed, share=share, closed=closed.change)


def _deliberate(found: _Found, edges: tuple[EdgeId, ...], level: float) -> bool:
    """Say whether nearly parallel axes stay so on purpose: no theorem explains the motions then."""
    mechanism = found.change.mechanism
    graph = build(mechanism)
    turns, _ = places_of(graph, edges, graph.position).aligned(SHOWN * SLIGHT, 0.0)
    # Two axes turn half of their angle each.
    if np.abs(turns).max() <= level:
        return False
    after = reduce(mechanism, configurations=0)
    return after.remaining > sum(each.rows for each in special_lengths(after))


def _candidates(loops: LoopKinematics, q: Coordinates, near: float) -> tuple[list[int], int | None]:
    """List numbers of motions that rounding may hide; then that of loops that are open, or None."""
    n, values = loops.freedoms, closure_values(loops, q)
    s = np.append(values / max(values.max(initial=0.0), TINY), np.zeros(n + 1 - len(values)))
    hidden = [
        n - i
        for i in range(1, n)
        if EXACT.closed < s[i] <= SHOWN**2 * near and s[i] <= s[i - 1] / APART
    ]
    still = int(np.sum(s[:n] <= EXACT.closed))
    return hidden, still if largest_error(loops, q) > EXACT.closed else None


def _with_motions(
    mechanism: Mechanism,
    edges: tuple[EdgeId, ...],
    q: Coordinates,
    motions: int,
    near: float,
    levels: Mapping[str, Level],
    weak: int | None = None,
) -> _Found | bool:
    """Move joints by the least that gives some motions; else say whether it is all too large."""
    places = _places(mechanism, edges, q)
    weights, excluded = _weights(places, levels), False

    def tried(aligned: tuple[float, float], **unknowns: Any) -> _Found | None:
        ways = Unknowns.ways if weak is None else (0.0,)
        wanted = Unknowns(aligned=aligned, as_placed=True, ways=ways, **unknowns)
        change = nearest(mechanism, edges, q, motions if weak is None else weak, wanted)
        if change.error > EXACT.same:
            return None
        share = _share(change, weights) if "weights" in unknowns else 0.0
        if share > POSSIBLE:
            nonlocal excluded
            excluded = True
            return None
        mobility = _mobility(build(change.mechanism), edges)
        # Where nothing tells how far velocities are followed, the rank alone counts.
        if mobility is None or (mobility.finite, mobility.actual) not in (
            (motions, motions),
            (None, motions),
        ):
            return None
        return _Found(change, share)

    # What is one axis in the file is one that was rounded.
    found = tried((VANISHING, VANISHING), weights=weights)
    if found is None and off_line(places, SHOWN * near, 0.0):
        found = tried((SHOWN * near, 0.0), weights=weights)
    if found is None:
        return excluded
    # Axes as nearly parallel, or one, as joints had to be moved are so: see ``idealise``.
    off = SHOWN * found.change.distance
    turns, _ = _places(found.change.mechanism, edges, q).aligned(off, off)
    if np.abs(turns).max() > VANISHING:
        tidy = tried((off, off), near=off, spread=weights)
        if tidy is not None and tidy.change.distance <= off:
            return replace(tidy, share=found.share)
    return found


def _share(change: Nearest, weights: Array) -> float:
    """Return half of how much larger the moves are than rounding makes them nearly always."""
    from scipy.special import chdtri  # few models have numbers to correct

    size = float(np.sum((change.moves / weights) ** 2))
    return 0.5 * float(np.sqrt(size / chdtri(max(change.conditions, 1), RARE)))


def _places(mechanism: Mechanism, edges: tuple[EdgeId, ...], q: Coordinates) -> JointPlaces:
    """Return the joints of a component as things to move, at its own coordinates."""
    graph = build(mechanism, as_placed=True)
    every = np.array(graph.position)
    every[graph.columns(edges)] = q
    return places_of(graph, edges, every)


def _mobility(graph: Graph, edges: tuple[EdgeId, ...]) -> CellMobility | None:
    """Return the mobility of a component from near its stored pose; None where it stays open."""
    loops = sized_loops(graph, graph.position, edges)
    q = project(loops, graph.position[None, loops.columns], damped=True).q[0]
    if largest_error(loops, q) > EXACT.same:
        return None
    return _counted(graph, loops, q, edges)


def _counted(
    graph: Graph, loops: LoopKinematics, q: Coordinates, edges: tuple[EdgeId, ...]
) -> CellMobility:
    blocks = [block for block in graph.blocks if set(block) <= set(edges)]
    cycles: list[Cycle] = [c for block in blocks for c in minimum_cycle_basis(graph, block)]
    tolerances, rng = Tolerances.of(), np.random.default_rng(0)
    visited = generic_configurations(loops, q, tolerances, rng=rng)
    return cell_mobility(loops, q, visited, cycles, tolerances, rng)


def _letter(mechanism: Mechanism) -> Letter:
    """Return what the numbers of a mechanism say literally."""
    graph = build(mechanism)
    closed, rank = True, 0
    for edges in graph.cells:
        loops = sized_loops(graph, graph.position, edges)
        q = project(loops, graph.position[None, loops.columns], damped=True).q[0]
        closed &= largest_error(loops, q) <= CLOSED
        rank += _counted(graph, loops, q, edges).generic.rank
    equations = 6 * graph.loops + len(graph.couplings)
    return Letter(closed, graph.freedoms - rank, equations - rank)


def _snapped(mechanism: Mechanism, base: Mechanism) -> Iterator[Move]:
    """Yield by how much constants in few digits are off from what they mean."""
    for old, new in zip(mechanism.joints, base.joints, strict=True):
        for key in ("T_parent_joint", "T_child_joint"):
            v, w = log(inverse(getattr(old, key)) @ getattr(new, key)).reshape(2, 3)
            yield float(np.linalg.norm(v)), float(np.linalg.norm(w))
