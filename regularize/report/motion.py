"""What moves: the bodies that can move, and the kind of motion that each of them makes.

The twists that a body can have are collected at several generic configurations, in the ground
frame. The smallest motion algebra that holds them all names the motion: the crank of a four-bar
stays on one revolute screw, its coupler fills the planar algebra.

A platform's motion has the name that robotics has for it, 3T, 2R1T or 3T1R (Kong and Gosselin, Type
Synthesis of Parallel Mechanisms, 2007). A platform is the body, of those with several freedoms,
that most separate legs hold, three at least. Its independent angular velocities at a generic
configuration are its rotations, R, and its other freedoms translations, T; what moves along with
them by the mechanism's lengths (parasitic motion) is not counted. Where the groups of motions that
the legs generate leave it as many freedoms as it has, it moves in their common group wherever the
mechanism goes; else the name is what was seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from typing import Any, Literal

import numpy as np

from regularize.escape import displayed_name
from regularize.lie import subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import MotionType, motion_type
from regularize.loops.kinematics import LoopKinematics, center_and_length, sized_loops
from regularize.loops.second_order import second_order
from regularize.mechanism.cycles import MANY_LOOPS
from regularize.mechanism.graph import ColumnId, DisjointSets, EdgeId, NodeId, loop_count
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.report.nearly import in_world
from regularize.tolerances import TINY
from regularize.words import axis_words, counted, point_words

#: Number of configurations at which twists are collected.
SAMPLES = 6


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """The motion algebra of one body in the world frame, and its freedoms."""

    body: str
    freedoms: int
    motion: MotionType
    joint: str | None = None
    point: bool = True
    floats: bool = False
    rotations: int = 0
    seen: int = 0

    @property
    def words(self) -> str:
        """Return the motion in words, such as ``rotates about A (axis along Y)``."""
        if self.floats:
            return "floats freely"
        return _motion_words(self.motion, self.joint, self.point)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of ``moving`` in the JSON report."""
        return {
            "body": self.body,
            "freedoms": self.freedoms,
            "motion": self.words,
            "motion_algebra": self.motion.as_dict(),
        }


def _motion_words(motion: MotionType, joint: str | None, point: bool) -> str:
    """Describe a motion in words."""
    axis = "" if motion.direction is None else axis_words(motion.direction)
    where = f"about a fixed axis along {axis}"
    if motion.point is not None and point:
        where = f"about {axis} through {point_words(motion.point)}"
    along = f"along {axis}"
    if joint is not None:
        where, along = f"about {joint} (axis along {axis})", f"along {joint} (axis along {axis})"
    return {
        "immobile": "stays at rest",
        "revolute": f"rotates {where}",
        "translation": f"slides {along}",
        "helical": f"screws {along}",
        "cylindrical": f"rotates and slides {along}",
        "translations in a plane": f"translates in the plane normal to {axis} without turning",
        "spatial translations": "translates in space without turning",
        "planar": f"moves in the plane normal to {axis}",
        "planar with pitch": f"screws {along} and shifts across it",
        "spherical": "turns about the point "
        + ("" if motion.point is None else point_words(motion.point)),
        "Schoenflies": f"translates in space and turns about {axis}",
    }.get(motion.name, "moves in space")


def moving(reduction: Reduction) -> tuple[BodyMotion, ...]:
    """Return the motion of every body but the ground; floating bases are held."""
    if not reduction.assembly.closed or not reduction.graph.edges:
        return ()
    graph, loops = reduction.graph, reduction.loops
    q, blocks = _samples(reduction)
    state = loops.state(q)
    center, length = center_and_length(loops, reduction.q)
    scaled = np.swapaxes(loops.measured(length, center).scaled(state.screws), 1, 2)
    held = floating(reduction)
    twists = _twists(reduction, scaled, blocks)
    nodes = [node for node in graph.every_node if graph.members[node] and node != graph.ground]
    small = reduction.tolerances.alike
    spans = _spans({node: twists[node] for node in nodes}, small)
    seen = len({row.tobytes() for row in np.round(q, 9) + 0.0})
    types: dict[bytes, MotionType] = {}
    motions: dict[NodeId, BodyMotion] = {}
    for node in nodes:
        basis, freedoms, rotations = spans[node]
        # Adding zero turns -0.0 into 0.0, which has other bytes.
        key = (np.round(basis @ basis.T, 9) + 0.0).tobytes()
        if key not in types:
            algebra = basis if basis.shape[1] < 2 else subalgebra.lie_closure(basis, small)
            types[key] = motion_type(algebra, small)
        motion = in_world(types[key], center, length)
        if not reduction.followed and motion.point is not None:
            # Where loops meet in a double root, half of the digits are rounding.
            motion = replace(motion, point=np.round(motion.point / length, 6) * length)
        motions[node] = BodyMotion(
            graph.nodes[node],
            freedoms,
            motion,
            floats=any(e in held for e in graph.adjacency[node]),
            rotations=rotations,
            seen=seen,
        )
    resting = {n for n, body in motions.items() if body.motion.dimension == 0} | {graph.ground}
    return tuple(_at_joint(reduction, node, entry, resting) for node, entry in motions.items())


def _spans(twists: Mapping[NodeId, Array], small: float) -> dict[NodeId, tuple[Array, int, int]]:
    """Return a basis of all twists of each body (6, d), and its most freedoms and rotations."""
    result: dict[NodeId, tuple[Array, int, int]] = {}
    for count in {body_twists.shape[2] for body_twists in twists.values()}:
        nodes = [node for node, body_twists in twists.items() if body_twists.shape[2] == count]
        every = np.array([twists[node] for node in nodes])
        size = np.abs(every).max(axis=(1, 2, 3), initial=TINY)
        ranks = [
            np.sum(values > small * size[:, None, None], axis=2).max(axis=1).tolist()
            for first in (0, 3)
            for values in [np.linalg.svd(every[:, :, first:], compute_uv=False)]
        ]
        side_by_side = np.swapaxes(every, 1, 2).reshape(len(nodes), 6, -1)
        u, s, _ = np.linalg.svd(side_by_side, full_matrices=False)
        spanned = s > small * s.max(axis=1, keepdims=True, initial=1.0)
        spanned &= size[:, None] >= small
        bases = [body_twists[:, columns] for body_twists, columns in zip(u, spanned, strict=True)]
        result |= zip(nodes, zip(bases, *ranks, strict=True), strict=True)
    return result


def _at_joint(
    reduction: Reduction, node: NodeId, entry: BodyMotion, resting: set[NodeId]
) -> BodyMotion:
    """Add the joint by which a body hangs on a resting one, where that is its only motion."""
    graph = reduction.graph
    if entry.motion.dimension not in (1, 2):
        return entry
    for e in graph.adjacency[node]:
        edge = graph.edges[e]
        if edge.other(node) in resting and edge.freedoms == entry.motion.dimension:
            return replace(entry, joint=edge.joint.name)
    return entry


def _twists(
    reduction: Reduction, scaled: Array, blocks: Sequence[tuple[list[ColumnId], Array]]
) -> dict[NodeId, Array]:
    """Return columns that span the twists of every node at each sample, shape (N, 6, k)."""
    graph, loops = reduction.graph, reduction.loops
    rates = {
        column: (which, bases[:, [row]])
        for which, (columns, bases) in enumerate(blocks)
        for row, column in enumerate(columns)
    }
    nothing = np.zeros((len(scaled), 6, 0))
    reached: dict[NodeId, dict[int, Array]] = {root: {} for root in loops.roots}
    for index, node in loops.tree:
        edge = graph.edges[index]
        twists = dict(reached[edge.other(node)])
        sign = 1.0 if node == edge.child else -1.0
        for column in edge.columns:
            if column in rates:
                which, rate = rates[column]
                own = sign * scaled[:, :, [column]] * rate
                twists[which] = twists[which] + own if which in twists else own
        current = {rates[c][0] for c in edge.columns if c in rates}
        earlier = [own for which, own in twists.items() if which not in current]
        if not graph.couplings and sum(own.shape[2] for own in earlier) > 6 * len(scaled):
            # Beyond their own part blocks add no more than a space of twists.
            u, s, _ = np.linalg.svd(np.concatenate(earlier, axis=2), full_matrices=False)
            twists = {-1: u * s[:, None], **{which: twists[which] for which in current}}
        reached[node] = twists
    return {node: np.concatenate([nothing, *own.values()], axis=2) for node, own in reached.items()}


def _samples(reduction: Reduction) -> tuple[Array, list[tuple[list[ColumnId], Array]]]:
    """Return sampled configurations (N, n), and velocity bases by block of columns."""
    loops = reduction.loops
    rng = np.random.default_rng(reduction.seed)
    many = max((len(cell.branches) for cell in reduction.cells), default=0)
    samples = SAMPLES * max(1, many // 2)
    q = np.repeat(reduction.q[None], samples, axis=0)
    blocks: list[tuple[list[ColumnId], Array]] = []
    in_cells: set[ColumnId] = set()
    for cell in reduction.cells:
        columns, configurations, bases = _cell(reduction, cell, samples)
        q[:, columns] = configurations
        in_cells |= set(columns)
        blocks.append((columns, bases))
    held = floating(reduction)
    for edge in reduction.graph.edges:
        columns = [c for c in edge.columns if c not in in_cells]
        if not columns or edge.index in held:
            continue
        moved = 0.5 * rng.normal(size=(samples, len(columns))) * loops.units[columns]
        q[:, columns] += moved
        blocks.append((columns, np.tile(np.eye(len(columns)), (samples, 1, 1))))
    return q, blocks


def floating(reduction: Reduction) -> set[int]:
    """Return edges that free a part of the model from the ground."""
    graph = reduction.graph
    return {
        e.index
        for e in graph.edges
        if e.joint.kind == "free" and graph.ground in (e.parent, e.child) and not e.joint.closure
    }


def _cell(
    reduction: Reduction, cell: CellMobility, samples: int
) -> tuple[list[ColumnId], Array, Array]:
    """Return columns of a cell, its sampled configurations and a velocity basis at each."""
    loops = sized_loops(reduction.graph, reduction.q, cell.edges, reduction.tree)
    columns = [ColumnId(c) for c in loops.columns]
    visited = cell.configurations
    picked = np.linspace(len(visited) - 1, min(1, len(visited) - 1), samples).astype(int)
    q = visited[picked]
    if cell.finite == 0 and not cell.branches:
        return columns, q, np.zeros((samples, loops.freedoms, 0))
    shaky = cell.finite is not None and cell.finite < cell.actual
    if shaky or len(cell.branches) > 1:
        return columns, *_followed_velocities(loops, cell, q, reduction.tolerances.rtol)
    if len(loops.chords) > MANY_LOOPS:
        velocities = _random_velocities(reduction, cell, loops, q)
        if velocities is not None:
            return columns, q, velocities
    jacobian = loops.jacobian(loops.state(q)) * loops.units
    _, _, vt = np.linalg.svd(jacobian, full_matrices=True)
    null = np.swapaxes(vt[:, loops.freedoms - cell.actual :], 1, 2) * loops.units[:, None]
    return columns, q, null


def _random_velocities(
    reduction: Reduction, cell: CellMobility, loops: LoopKinematics, q: Array
) -> Array | None:
    """Return random allowed velocities at each sample, shape (N, n, k), or None."""
    from regularize.reduction.many_loops import each_configuration  # loaded where there are many

    rng, cycles = np.random.default_rng(reduction.seed), reduction.cycles(cell)
    shape = (loops.freedoms, min(6, cell.actual))
    bases = []
    for configuration in each_configuration(loops, q, cycles, reduction.tolerances.rtol):
        if configuration.factors is None:
            return None
        velocities, _ = np.linalg.qr(configuration.factors.allowed(rng.normal(size=shape)))
        bases.append(velocities * loops.units[:, None])
    return np.array(bases)


def _followed_velocities(
    loops: LoopKinematics, cell: CellMobility, q: Array, rtol: float
) -> tuple[Array, Array]:
    """Return configurations and the velocities that finite motions follow there."""
    kinds = [(branch.local, branch.rank, branch.ends) for branch in cell.branches]
    sets = []
    for local, rank, ends in kinds or [(cell.local, cell.generic.rank, q)]:
        candidates = [(local.q, local.followed)]
        for at in ends:
            forms = second_order(loops, at, rank, rtol)
            if forms.kernel.shape[1] == local.mobility:
                candidates.append((at, forms.motions @ forms.kernel))
        sets.append(candidates)
    many = len(sets)
    chosen = [sets[k % many][(k // many + 1) % len(sets[k % many])] for k in range(len(q))]
    bases = np.zeros((len(q), loops.freedoms, max(basis.shape[1] for _, basis in chosen)))
    for filled, (_, basis) in zip(bases, chosen, strict=True):
        filled[:, : basis.shape[1]] = basis * loops.units[:, None]
    return np.array([at for at, _ in chosen]), bases


@dataclass(frozen=True)
class PlatformMotion:
    """The rotations and translations of a platform held by legs."""

    body: str
    legs: int
    rotations: int
    translations: int
    evidence: Literal["proved", "moved"]
    configurations: int

    @property
    def _parts(self) -> list[tuple[int, str]]:
        """Return the nonzero numbers of translations and rotations, the larger first."""
        parts = [(self.translations, "translation"), (self.rotations, "rotation")]
        return sorted((part for part in parts if part[0]), key=lambda part: -part[0])

    @property
    def name(self) -> str:
        """Return a short name such as ``2R1T``, the more frequent kind of motion first."""
        return "".join(f"{count}{noun[0].upper()}" for count, noun in self._parts)

    @property
    def words(self) -> str:
        """Return words such as ``Platform plate: 3T (3 translations), and never otherwise``."""
        meant = ", ".join(counted(count, noun) for count, noun in self._parts)
        where = f" at {counted(self.configurations, 'configuration')}"
        where = ", and never otherwise" if self.evidence == "proved" else where
        return f"Platform {displayed_name(self.body)}: {self.name} ({meant}){where}"

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of ``platforms`` in the JSON report."""
        return asdict(self) | {"motion": self.name}


def platforms(reduction: Reduction, bodies: Sequence[BodyMotion]) -> tuple[PlatformMotion, ...]:
    """Find the platform of each part with loops: the body that most legs hold."""
    graph, by_name = reduction.graph, {entry.body: entry for entry in bodies}
    motions = {n: by_name[graph.nodes[n]] for n in graph.every_node if graph.nodes[n] in by_name}
    resting = [n for n, entry in motions.items() if not entry.freedoms and not entry.floats]
    result = []
    for block in graph.blocks if motions else ():
        if loop_count(graph, block) > MANY_LOOPS:
            continue  # nobody calls a body of a net a platform
        rigid = DisjointSets[NodeId]()
        pairs = {e: (graph.edges[e].parent, graph.edges[e].child) for e in block}
        for e, pair in pairs.items():
            if not graph.edges[e].freedoms:
                rigid.union(*pair)
        ends = {n for pair in pairs.values() for n in pair}
        # That others rest than those that are fixed to the ground is seen, not proved.
        sampled = any(rigid[n] != rigid[graph.ground] for n in resting if n in ends)
        for node in resting:
            rigid.union(graph.ground, node)
        joints = {e: (rigid[a], rigid[b]) for e, (a, b) in pairs.items() if rigid[a] != rigid[b]}
        joined = Counter(n for pair in pairs.values() for n in pair)
        # Of bodies that are fixed to each other one speaks for all: that with most joints.
        bodies_with_joints = sorted((n for n in joined if n in motions), key=lambda n: joined[n])
        free = {rigid[n]: n for n in bodies_with_joints if motions[n].freedoms > 1}
        free.pop(base := rigid[graph.ground], None)
        degree = Counter(n for pair in joints.values() for n in pair)
        legs = {n: _legs(joints, base, n) for n in free if degree[n] > 2}
        ranks = {n: (len(legs[n]), motions[free[n]].freedoms) for n in legs if len(legs[n]) > 2}
        first = [n for n, rank in ranks.items() if rank == max(ranks.values())]
        if len(first) != 1:
            continue
        body, chains = motions[free[first[0]]], legs[first[0]]
        turns, rest = body.rotations, body.freedoms - body.rotations
        proved = not sampled and _common_group(reduction, chains) == (body.freedoms, turns)
        evidence: Literal["proved", "moved"] = "proved" if proved else "moved"
        result.append(PlatformMotion(body.body, len(chains), turns, rest, evidence, body.seen))
    return tuple(result)


def _legs(
    joints: Mapping[EdgeId, tuple[NodeId, NodeId]], base: NodeId, platform: NodeId
) -> list[list[EdgeId]]:
    """Group joints into legs: those that stay connected without base and platform."""
    ends, chains = {base, platform}, DisjointSets[NodeId]()
    for pair in joints.values():
        if not ends & {*pair}:
            chains.union(*pair)
    by_leg: dict[tuple[bool, int], list[EdgeId]] = {}
    for e, pair in joints.items():
        inner = [n for n in pair if n not in ends]
        by_leg.setdefault((True, chains[inner[0]]) if inner else (False, e), []).append(e)
    return [leg for leg in by_leg.values() if ends <= {n for e in leg for n in joints[e]}]


def _common_group(reduction: Reduction, legs: Sequence[Sequence[EdgeId]]) -> tuple[int, int]:
    """Return freedoms and rotations of the motion group that all legs allow."""
    graph, loops = reduction.graph, reduction.loops
    center, length = center_and_length(loops, reduction.q)
    screws = loops.measured(length, center).scaled(loops.state(reduction.q[None]).screws)[0].T
    columns = [[c for e in leg for c in graph.edges[e].columns] for leg in legs]
    small = reduction.tolerances.rank
    groups = [subalgebra.lie_closure(screws[:, leg_columns], small) for leg_columns in columns]
    common = reduce(partial(subalgebra.intersection, rtol=small), groups)
    return common.shape[1], subalgebra.span(common[3:], small).shape[1]
