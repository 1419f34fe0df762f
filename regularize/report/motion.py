"""What moves: the bodies that can move, and the kind of motion that each of them makes.

The smallest motion algebra that holds a body's twists at several configurations names its motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import MotionType, motion_type
from regularize.loops.finite import LocalMobility
from regularize.loops.kinematics import LoopKinematics, center_and_length, sized_loops
from regularize.loops.projection import retracted
from regularize.loops.second_order import second_order
from regularize.mechanism.cycles import MANY_LOOPS
from regularize.mechanism.graph import ColumnId, NodeId
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.report.nearly import in_world
from regularize.tolerances import TINY
from regularize.words import axis_words, point_words

#: Number of configurations at which twists are collected.
SAMPLES = 6
#: Scaled length of steps from a configuration on a branch to others.
STRIDE = 0.3


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
    seen: int = 0  # configurations at which twists were collected
    agreed: bool = True  # whether at most of them it has its freedoms, and the same rotations

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


def moving(reduction: Reduction, component: int | None = None) -> tuple[BodyMotion, ...]:
    """Return the motion of every body but the ground, on all components at the pose or on one."""
    if not reduction.assembly.closed or not reduction.graph.edges:
        return ()
    graph, loops = reduction.graph, reduction.loops
    q, blocks = _samples(reduction, component)
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
        basis, freedoms, rotations, agreed = spans[node]
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
            agreed=2 * agreed > len(q),
        )
    resting = {n for n, body in motions.items() if body.motion.dimension == 0} | {graph.ground}
    return tuple(_at_joint(reduction, node, entry, resting) for node, entry in motions.items())


def _spans(
    twists: Mapping[NodeId, Array], small: float
) -> dict[NodeId, tuple[Array, int, int, int]]:
    """Return each body's twists (6, d), freedoms, rotations, and number of samples with them."""
    result: dict[NodeId, tuple[Array, int, int, int]] = {}
    for count in {body_twists.shape[2] for body_twists in twists.values()}:
        nodes = [node for node, body_twists in twists.items() if body_twists.shape[2] == count]
        every = np.array([twists[node] for node in nodes])
        size = np.abs(every).max(axis=(1, 2, 3), initial=TINY)
        least = np.where(size < small, np.inf, small * size)[:, None, None]  # of a resting body
        ranks = np.array(
            [
                np.sum(np.linalg.svd(every[:, :, first:], compute_uv=False) > least, axis=2)
                for first in (0, 3)
            ]
        )
        most = ranks.max(axis=2).tolist()
        full = ranks[0] == ranks[0].max(axis=1, keepdims=True)  # others are at singular places
        turning = np.where(full, ranks[1], ranks[1].max(axis=1, keepdims=True))
        same = np.all(turning == ranks[1].max(axis=1, keepdims=True), axis=1)
        agreed = np.where(same, full.sum(axis=1), 0).tolist()
        side_by_side = np.swapaxes(every, 1, 2).reshape(len(nodes), 6, -1)
        u, s, _ = np.linalg.svd(side_by_side, full_matrices=False)
        spanned = s > small * s.max(axis=1, keepdims=True, initial=1.0)
        spanned &= size[:, None] >= small
        bases = [body_twists[:, columns] for body_twists, columns in zip(u, spanned, strict=True)]
        result |= zip(nodes, zip(bases, *most, agreed, strict=True), strict=True)
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


def _samples(
    reduction: Reduction, component: int | None
) -> tuple[Array, list[tuple[list[ColumnId], Array]]]:
    """Return sampled configurations (N, n), and velocity bases by block of columns."""
    loops = reduction.loops
    rng = np.random.default_rng(reduction.seed)
    many = max((len(cell.branches) for cell in reduction.cells), default=0)
    samples = SAMPLES * (max(1, many // 2) if component is None else 1)
    chosen = None if component is None else reduction.branch_places(component)
    q = np.repeat(reduction.q[None], samples, axis=0)
    blocks: list[tuple[list[ColumnId], Array]] = []
    in_cells: set[ColumnId] = set()
    for i, cell in enumerate(reduction.cells):
        branch = None if chosen is None else chosen[i]
        columns, configurations, bases = _cell(reduction, cell, samples, branch)
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
    """Return edges that free a part of the model from the ground, which no loop holds."""
    graph = reduction.graph
    return {
        e.index
        for e in graph.edges
        if e.joint.kind == "free" and graph.ground in (e.parent, e.child) and not e.joint.closure
        if e.index not in reduction.cell_at
    }


def _cell(
    reduction: Reduction, cell: CellMobility, samples: int, branch: int | None
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
        kinds = [(each.local, each.rank) for each in cell.branches]
        kinds = kinds or [(cell.local, cell.generic.rank)]
        kinds = kinds if branch is None else kinds[branch : branch + 1]
        return columns, *_followed_velocities(loops, kinds, samples, reduction)
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
    loops: LoopKinematics,
    kinds: Sequence[tuple[LocalMobility, int]],
    samples: int,
    reduction: Reduction,
) -> tuple[Array, Array]:
    """Return configurations on branches, by mobility and rank of each, and the velocities there."""
    count = -(-samples // len(kinds))
    sets = [_along(loops, local, rank, count, reduction) for local, rank in kinds]
    chosen = [
        sets[k % len(sets)][(k // len(sets)) % len(sets[k % len(sets)])] for k in range(samples)
    ]
    bases = np.zeros((samples, loops.freedoms, max(basis.shape[1] for _, basis in chosen)))
    for filled, (_, basis) in zip(bases, chosen, strict=True):
        filled[:, : basis.shape[1]] = basis * loops.units[:, None]
    return np.array([at for at, _ in chosen]), bases


def _along(
    loops: LoopKinematics, local: LocalMobility, rank: int, count: int, reduction: Reduction
) -> list[tuple[Array, Array]]:
    """Return configurations on a branch where it is clearest what moves, with velocities."""
    found = list[tuple[float, Array, Array]]()
    rng, rtol = np.random.default_rng(reduction.seed), reduction.tolerances.rtol
    headings = rng.normal(size=(4 * count, local.followed.shape[1])) @ local.followed.T
    sizes = np.linalg.norm(headings, axis=1, keepdims=True)
    steps = STRIDE * headings[sizes[:, 0] > 0.0] / sizes[sizes[:, 0] > 0.0]
    if not len(steps):
        return [(local.q, local.followed)]
    q, ways, closed = retracted(loops, local.q, steps)
    near = closed & (np.linalg.norm(ways - steps, axis=1) <= 0.5 * STRIDE)
    values = np.linalg.svd(loops.jacobian(loops.state(q)) * loops.units, compute_uv=False)
    near &= np.sum(values > rtol * values[:, :1], axis=1) == rank
    for at, last in zip(q[near], values[near, rank - 1], strict=True):
        here = second_order(loops, at, rank, rtol)
        k = here.motions.shape[1] - here.kernel.shape[1]
        if here.kernel.shape[1] == local.mobility:
            forms = np.linalg.svd(here.forms.reshape(-1, k + local.mobility), compute_uv=False)
            clear = float(forms[k - 1] if k else last)
            found.append((clear, at, here.motions @ here.kernel))
    found.sort(key=lambda entry: -entry[0])
    return [(at, basis) for _, at, basis in found[:count]] or [(local.q, local.followed)]
