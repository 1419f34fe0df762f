"""Why mechanisms lock or move against the count, and why a constraint equation never matters.

What velocity allows and no motion follows is forbidden by a self-stress (Connelly and Whiteley
1996); what moves against the count has one everywhere. A closing direction is redundant where no
relative twist has a component along it: by the other joints of the loop, two chains, or all loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.lie.motion_type import GeneratedAlgebra, MotionType
from regularize.lie.subalgebra import decide_rank
from regularize.loops.finite import finite_mobility
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.mechanism.graph import EdgeId, Graph, NodeId
from regularize.reduction.block import Block
from regularize.reduction.cuts import Cut
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.equilibrium import self_stress
from regularize.words import axis_words, counted, names, point_words


@dataclass(frozen=True, eq=False)
class Reason:
    """A sentence on why something is locked or moves, with the wrench that causes it (6,)."""

    subject: str
    joints: tuple[str, ...]
    text: str
    wrench: Array | None = None

    def as_dict(self) -> dict[str, Any]:
        """The entry of ``why`` in the JSON report."""
        return {
            "subject": self.subject,
            "joints": list(self.joints),
            "text": self.text,
            "wrench": None if self.wrench is None else [float(x) for x in self.wrench],
        }


def reasons(reduction: Reduction) -> tuple[Reason, ...]:
    """Return the reasons of all shaky cells, and of all parts that move by their dimensions."""
    if not reduction.assembly.closed:
        return ()
    locked = [c for c in reduction.cells if c.finite is not None and c.finite < c.actual]
    found = [_why_locked(reduction, cell) for cell in locked]
    for part in reduction.parts:
        cell = reduction.cell_at[part.edges[0]]
        if cell.finite == cell.actual > 0 and part.proved and part.surplus > 0:
            found += _why_it_moves(reduction, part, part.surplus)
    return tuple(found)


def _why_locked(reduction: Reduction, cell: CellMobility) -> Reason:
    """Say which velocities no motion follows, and which self-stress forbids them."""
    graph = reduction.graph
    q = reduction.q[graph.columns(cell.edges)]
    loops = sized_loops(graph, q, cell.edges, reduction.tree)
    local = cell.local
    elsewhere = np.max(np.abs(local.q - q) / loops.units) > cell.tolerances.alike
    if elsewhere and cell.here.rank == cell.generic.rank and not cell.branches:
        # The assembled pose is the one that the user knows.
        rng = np.random.default_rng(reduction.seed)
        local = finite_mobility(loops, q, cell.generic.rank, cell.tolerances, rng)
    state = loops.state(local.q)
    # Twists and wrenches of the loops are in the frame of the root, words in that of the world.
    root = reduction.reference.T_world_node[0, reduction.loops.row(loops.roots[0])]
    to_world = screw.adjoint(root)
    rates = local.cut * loops.units[:, None]
    columns = to_world @ state.screws[0].T
    signs = loops.movers
    twists = {
        node: (columns * signs[loops.row(node)]) @ rates
        for node in loops.nodes
        if graph.members[node] and node != graph.ground
    }
    joints = graph.joint_names(loops.edges)
    small = cell.tolerances.alike
    text = _velocity_words(graph, loops, twists, small)
    if local.stress is None:
        order = "order" in local.evidence
        how = f"terms of {local.evidence} forbid it" if order else "steps along it are taken back"
        return Reason("locked", joints, f"{text}; {how}")
    # Of both signs of a self-stress the other one makes the structure stiff.
    lines = {
        e: -to_world @ np.roll(wrench, 3)
        for e, wrench in zip(loops.edges, local.stress, strict=True)
    }
    if len(loops.chords) == 1:
        around = _normalized(lines[loops.edges[0]], small)
        words = f"{_wrench_words(around, loops.length, small)} that goes round the loop"
        text += f"; {words} forbids it at second order: {_met_words(around, loops.length, small)}"
        return Reason("locked", joints, text, np.roll(around, 3))
    places = root @ state.T_world_node[0]
    rods = _rods(graph, loops, places, lines, small)
    parts = [
        f"{verb} in {names([graph.nodes[n] for n in rods if rods[n] * sign > 0.0])}"
        for verb, sign in (("tension", 1.0), ("compression", -1.0))
        if any(force * sign > 0.0 for force in rods.values())
    ]
    words = f"a self-stress ({', '.join(parts)})" if parts else "a self-stress of all its joints"
    return Reason("locked", joints, f"{text}; {words} forbids it at second order")


def _velocity_words(
    graph: Graph, loops: LoopKinematics, twists: Mapping[NodeId, Array], small: float
) -> str:
    """Describe the first-order motion of the body with the most joints."""
    moved = {n: t for n, t in twists.items() if np.max(np.abs(t)) > small} or twists
    degree = {n: len(graph.adjacency[n]) for n in moved}
    node = max(moved, key=lambda n: (degree[n], float(np.max(np.abs(moved[n])))))
    count = np.linalg.matrix_rank(moved[node], tol=small * np.max(np.abs(moved[node])))
    name = f"`{graph.nodes[node]}`"
    if count > 1:
        return f"to first order {name} has {count} freedoms that no motion follows"
    scale = np.repeat([loops.length, 1.0], 3)
    u, _, _ = np.linalg.svd(moved[node] / scale[:, None])
    axis, point, pitch = _axis(u[:, 0] * scale, loops.length, small)
    if point is None or pitch is None:
        return f"to first order {name} could slide along {axis_words(axis)}"
    how = "turn" if pitch == 0.0 else "screw"
    line = f"the axis along {axis_words(axis)} through {point_words(point)}"
    text = f"to first order {name} could {how} about {line}"
    beside = {graph.edges[e].other(node) for e in graph.adjacency[node]}
    rods = [n for n in moved if n != node and degree[n] == 2 and n in beside]
    if pitch == 0.0 and degree[node] > 2 and len(rods) == degree[node]:
        text += ", which the lines of all its rods meet"
    return text


def _rods(
    graph: Graph, loops: LoopKinematics, places: Array, lines: Mapping[EdgeId, Array], small: float
) -> dict[NodeId, float]:
    """Return forces along bodies that are loaded at two points only, tension positive."""
    forces = {}
    for node in loops.nodes:
        edges = [e for e in graph.adjacency[node] if e in lines]
        if len(edges) != 2 or not graph.members[node] or node == graph.ground:
            continue
        ends = [graph.edges[e] for e in edges]
        points = [(places[loops.row(end.parent)] @ end.T_parent)[:3, 3] for end in ends]
        between = points[1] - points[0]
        length = float(np.linalg.norm(between))
        wrench = lines[edges[1]] * (1.0 if ends[1].child == node else -1.0)
        force, moment = wrench[3:], wrench[:3] - np.cross(points[1], wrench[3:])
        direction = between / max(length, np.finfo(float).tiny)
        along = float(force @ direction)
        aside = np.linalg.norm(force - along * direction)
        off = small * max(1.0, abs(along))
        pure = aside < off and np.linalg.norm(moment) < off * loops.length
        if length > small * loops.length and abs(along) > small and pure:
            forces[node] = along
    return forces


def _why_it_moves(reduction: Reduction, part: Block, count: int) -> Iterator[Reason]:
    """Yield self-stresses that a moving part bears at every configuration."""
    graph = reduction.graph
    joints = graph.joint_names(part.edges)
    if part.parallel:
        groups = [names(group) for group in part.parallel]
        rows = counted(count, "closure equation")
        text = (
            f"for all lengths tried {rows} {'depends' if count == 1 else 'depend'} on the others "
            "as long as the axes keep all their relations, among them parallel: those of "
            f"{'; of '.join(groups)}"
        )
        yield Reason("moves", joints, text)
        return
    if len(part.cycles) > 1:
        across = [state for state in self_stress(reduction) if not state.one_loop]
        inside = [state for state in across if set(state.joints) <= set(joints)]
        for state in inside[: 1 if count > 1 else count]:
            first, *counterparts = state.joints
            text = f"at every configuration a {state.direction.words('force', 'moment')} in "
            text += f"`{first}` is balanced through {names(counterparts)}, without any load"
            yield Reason("moves", state.joints, text)
        return
    screws = np.hstack([part.screws[e] for e in part.edges])
    u, s, _ = np.linalg.svd(screws, full_matrices=True)
    rank = decide_rank(s, reduction.tolerances.rtol).rank
    if 6 - rank > 1:
        text = (
            f"at every configuration the axes of its {counted(len(joints), 'joint')} belong to a "
        )
        text += f"{rank}-system of screws: {6 - rank} wrenches go round the loop without any load"
        yield Reason("moves", joints, text)
        return
    force, small = u[:3, 5] / part.length, reduction.tolerances.alike
    around = np.concatenate([u[3:, 5] + np.cross(part.center, force), force])
    around = _normalized(around, small)
    text = (
        f"{_wrench_words(around, part.length, small)} goes round the loop without any load, here "
    )
    text += f"and at every configuration: {_met_words(around, part.length, small)}"
    yield Reason("moves", joints, text, np.roll(around, 3))


def _normalized(line: Array, small: float) -> Array:
    """Scale a wrench (moment, force) to a force, or else a moment, of length one."""
    size = np.linalg.norm(line[3:])
    if size < small * np.linalg.norm(line[:3]):
        return np.concatenate([line[:3] / np.linalg.norm(line[:3]), np.zeros(3)])
    sign = np.sign(line[3 + int(np.argmax(np.abs(line[3:]) > small * size))])
    return np.asarray(line * sign / size)


def _axis(s: Array, length: float, small: float) -> tuple[Array, Array | None, float | None]:
    """Return direction, point and pitch of a twist or wrench, with rounding noise as zero."""
    if np.linalg.norm(s[3:]) * length < small * np.linalg.norm(s[:3]):
        s = np.concatenate([s[:3], np.zeros(3)])
    axis, point, pitch = screw.axis_of(s)
    if point is not None:
        point = np.round(point / length, 6) * length
    if pitch is not None and abs(pitch) < small * length:
        pitch = 0.0
    return axis, point, pitch


def _wrench_words(line: Array, length: float, small: float) -> str:
    """Describe a wrench: a couple, a force on a line, or both with a pitch."""
    axis, point, pitch = _axis(line, length, small)
    if point is None or pitch is None:
        return f"a couple about {axis_words(axis)}"
    if pitch == 0.0:
        return f"a force along {axis_words(axis)} on the line through {point_words(point)}"
    where = f"{axis_words(axis)} through {point_words(point)}"
    return f"a wrench along {where} of pitch {1e3 * pitch:.3g} mm"


def _met_words(line: Array, length: float, small: float) -> str:
    """Describe how the joint axes lie to the line of a wrench that does no work on them."""
    _, point, pitch = _axis(line, length, small)
    if point is None:
        return "all axes are at right angles to it"
    if pitch == 0.0:
        return "all axes meet its line, or are parallel to it"
    return "all axes belong to its linear complex"


@dataclass(frozen=True, eq=False)
class FixingChain:
    """Consecutive joints of a loop, and the motion group that they generate."""

    joints: tuple[str, ...]
    motion: MotionType


def causes(
    graph: Graph, part: Block, cut: Cut, edges: tuple[EdgeId, ...], covector: Array, rtol: float
) -> tuple[FixingChain, ...]:
    """Return the shortest chains of a loop that never move along a covector."""
    for chains in _chains(edges):
        algebras = [_algebra(part, chain, rtol) for chain in chains]
        if max(np.max(np.abs(covector @ a.basis), initial=0.0) for a in algebras) < rtol:
            return tuple(
                FixingChain(graph.joint_names(chain), algebra.type)
                for chain, algebra in zip(chains, algebras, strict=True)
            )
    return ()


@lru_cache(maxsize=32)  # all directions of a cut are looked for in the same chains
def _algebra(part: Block, chain: tuple[EdgeId, ...], rtol: float) -> GeneratedAlgebra:
    """Return the motion algebra of consecutive joints of a part."""
    return GeneratedAlgebra(np.hstack([part.screws[e] for e in chain]), rtol)


def _chains(edges: tuple[EdgeId, ...]) -> Iterator[tuple[tuple[EdgeId, ...], ...]]:
    """Yield the whole chain, then its splits in two, the most even ones first."""
    yield (edges,)
    middle = len(edges) / 2
    for k in sorted(range(1, len(edges)), key=lambda k: abs(k - middle)):
        yield edges[:k], edges[k:]
