r"""The least change of joint places that lets a mechanism move as it nearly does.

Where a singular value of the closure equations is small at the pose, the noise of the geometry may
be all that stops a motion. The candidate motion is followed in small steps, without the equations
that only the noise keeps apart from the others; the closure errors that are left on the way are
what the places of the joints :math:`\delta` have to take away,

.. math:: U_k^T \, (r(q_k) + A_k \delta) = 0, \qquad |\delta| \to \min,

with :math:`U_k` the directions in which no coordinate can close configuration k, and :math:`A_k`
the derivative of its closure errors by the places. Both are improved in turn, first along a short
way, then along longer ones. Singular values of these equations that the errors themselves make
uncertain are left out until the errors are smaller.

A joint has a frame on each of its two bodies, and both can be off. Where the bodies have moved by
D and D' since the assembled pose, moving the frames by twists δ and δ' there changes the closure
error of a loop through the joint by Ad(D) δ - Ad(D') δ'. Where both are moved alike, the pose stays
closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Mask, Point, Transform
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import LoopKinematics, State, sized_loops
from regularize.loops.projection import IMPROVED, project
from regularize.mechanism.graph import SUBGROUP_KINDS, Edge, EdgeId, Graph, NodeId, joined
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import Joint, motion
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.joint_changes import with_joints
from regularize.tolerances import EXACT, ROUNDING, UNNOTICED
from regularize.words import SLIGHT

#: Frames, two of each joint, that have one axis, and the projector (3, 3) across it.
Tie: TypeAlias = tuple[list[int], Array]


class JointPlaces:
    """Joints of loops as things that can be moved, about points of their axes or their origins."""

    def __init__(
        self, loops: LoopKinematics, reference: State, *, at_origins: bool = False
    ) -> None:
        self.loops, self.reference = loops, reference
        edges: dict[str, list[Edge]] = {}
        for e in loops.edges:
            edge = loops.graph.edges[e]
            edges.setdefault(edge.joint.name, []).append(edge)
        self.edges = edges
        self.joints: tuple[Joint, ...] = tuple(group[0].joint for group in edges.values())
        points = [self._point(group[0], at_origins) for group in edges.values()]
        self._points = np.array(points).reshape(-1, 3)
        #: World twists of unit moves and turns about the points of the joints.
        self._bases = np.tile(np.eye(6), (len(points), 1, 1))
        self._bases[:, :3, :3] *= loops.length
        self._bases[:, :3, 3:] = screw.cross_matrix(self._points)

    def _pose(self, node: NodeId) -> Transform:
        return np.asarray(self.reference.T_world_node[0, self.loops.row(node)])

    def _point(self, edge: Edge, at_origin: bool) -> Point:
        """Return the point of a joint that it is moved and turned about."""
        point = (self._pose(edge.parent) @ edge.T_parent)[:3, 3]
        if edge.freedoms == 1 and not at_origin:
            axis = self.reference.screws[0, self.loops.local(edge.index)][0, 3:]
            if np.any(axis):
                point = point + axis * (axis @ (self.loops.center - point)) / (axis @ axis)
        return np.asarray(point)

    def derivative(self, state: State) -> Array:
        """Return the change of closure errors by moves of the frames, shape (N, 6 L, 12 joints)."""
        loops, groups = self.loops, list(self.edges.values())
        carried = screw.adjoint(state.T_world_node @ screw.inverse(self.reference.T_world_node))
        sides = []
        for k, end in ((0, "parent"), (-1, "child")):
            nodes = [loops.row(getattr(group[k], end)) for group in groups]
            signs = loops.edge_incidence[:, [loops.edges.index(group[k].index) for group in groups]]
            sides.append(signs[..., None, None] * (carried[:, nodes] @ self._bases)[:, None])
        total = np.concatenate([sides[0], -sides[1]], axis=-1)  # (N, L, joints, 6, 12)
        target = screw.cross_matrix(state.T_world_target[..., :3, 3])[:, :, None]
        total[..., :3, :] = (total[..., :3, :] - target @ total[..., 3:, :]) / loops.length
        shape = (len(state.q), 6 * len(loops.chords), 12 * len(groups))
        return np.swapaxes(total, 2, 3).reshape(shape)

    def aligned(
        self, parallel: float, coaxial: float, spread: Array | None = None
    ) -> tuple[Array, list[Tie]]:
        """Return moves that make nearly parallel axes of a body parallel or one, and the latter."""
        sizes = np.ones(12 * len(self.joints)) if spread is None else spread
        away, turned = np.moveaxis(sizes.reshape(-1, 2, 3)[..., 0], 1, 0)
        axes, owners, bodies, points = [], [], [], []
        for k, (group, point) in enumerate(zip(self.edges.values(), self._points, strict=True)):
            edge = group[0]
            if len(group) == 1 and edge.freedoms == 1:
                hinged = edge.screws[3:].any()
                axis = edge.screws[3:, 0] if hinged else edge.screws[:3, 0]
                for node, T in ((edge.parent, edge.T_parent), (edge.child, edge.T_child)):
                    axes.append(screw.unit((self._pose(node) @ T)[:3, :3] @ axis))
                    bodies.append(node)
                    points.append(point if hinged else np.full(3, np.nan))
                owners += [2 * k, 2 * k + 1]
        moves, ties = np.zeros((2 * len(self.joints), 2, 3)), list[Tie]()
        directions, places = np.array(axes).reshape(-1, 3), np.array(points).reshape(-1, 3)
        close = np.linalg.norm(np.cross(directions[:, None], directions), axis=-1) <= parallel
        # A body that is turned as a whole takes its axes along: they need not point anywhere.
        close &= np.equal.outer(bodies, bodies)
        for together in joined(np.argwhere(np.triu(close, 1)).tolist()):
            own = [owners[i] for i in together]
            _, _, vt = np.linalg.svd(directions[together] / turned[own, None])
            for i in together:
                mean = vt[0] if vt[0] @ directions[i] > 0 else -vt[0]
                moves[owners[i], 1] = np.cross(directions[i], mean)
            across = np.eye(3) - np.outer(vt[0], vt[0])
            aside = places[together] @ across / self.loops.length
            near = np.linalg.norm(aside[:, None] - aside, axis=-1) < coaxial
            for one in joined(np.argwhere(np.triu(near, 1)).tolist()):
                tied = [own[i] for i in one]
                ties.append((tied, across))
                mean = np.average(aside[one], axis=0, weights=away[tied] ** -2)
                moves[tied, 0] = mean - aside[one]
        return moves.reshape(-1), ties

    def moved(self, mechanism: Mechanism, moves: Array) -> Mechanism:
        """Return the mechanism with the frames of its joints moved."""
        changed = {}
        pairs = zip(self.edges.items(), self._bases, moves.reshape(-1, 2, 6), strict=True)
        for (name, group), basis, move in pairs:
            joint, on_body = group[0].joint, self.loops.graph.T_node_body
            frames = []
            for D, node, body, T in (
                (screw.exp(basis @ move[0]), group[0].parent, joint.parent, joint.T_parent_joint),
                (screw.exp(basis @ move[1]), group[-1].child, joint.child, joint.T_child_joint),
            ):
                place = self._pose(node) @ on_body[body]
                # On its own body, where it may lie off along its axis.
                frames.append(screw.inverse(place) @ D @ place @ T)
            changed[name] = replace(joint, T_parent_joint=frames[0], T_child_joint=frames[1])
        return with_joints(mechanism, changed.values())

    def sizes(self, moves: Array) -> tuple[Array, Array]:
        """Return by how many metres and radians every joint moves."""
        moved = np.linalg.norm(moves.reshape(-1, 2, 2, 3), axis=3).max(axis=1)
        return self.loops.length * moved[:, 0], moved[:, 1]


#: What noise shows of itself, in units of the moves that undo it: in singular values over the
#: largest, and in angles between axes that are meant to be parallel.
SHOWN = 4.0
#: Longest step along a motion, in radians or sizes.
STRIDE = 0.1
#: Equations that are asked for along the ways, several times those that a special single loop
#: fulfils: 13 for six hinges that are normal and meet in turn.
ENOUGH = 40


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Which moves of joint frames are looked for, and how far a motion is followed."""

    #: Which of the moves may be made, in the order of ``Nearest.moves``; None: all.
    movable: Mask | None = None
    #: Make axes of one body parallel first that differ by at most so many radians, and one axis of
    #: parallel ones that are less than so far apart, scaled: moves count from there.
    aligned: tuple[float, float] | None = None
    #: By how much each may be off where axes are made parallel; None: all alike.
    spread: Array | None = None
    #: Largest moves that are of use: longer ways are not followed where these do not do.
    near: float | None = None
    #: Whether frames take up what stored coordinates are off by, where that is little.
    stored: bool = True
    #: Whether frames that lie far off along their axes say how large the loops are.
    as_placed: bool = False
    #: By how much each may be off: the least moves in these units are looked for, about the
    #: origins of frames; None: all alike.
    weights: Array | None = None
    #: How far a motion is followed, one after the other, in radians or sizes.
    ways: tuple[float, ...] = (0.3, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Nearest:
    """A mechanism with its joints moved, its coordinates where the loops close."""

    mechanism: Mechanism
    #: Moves of the joints, scaled, shape (12 joints,).
    moves: Array
    places: JointPlaces
    #: Largest closure error left at the configurations that were looked at.
    error: float
    #: Independent conditions that the moves fulfil.
    conditions: int = 0

    def by_joint(self, least: float = -1.0) -> dict[str, tuple[float, float]]:
        """Return by how many metres and radians joints are moved, if more than least, scaled."""
        linear, angular = (sizes.tolist() for sizes in self.places.sizes(self.moves))
        names, length = [joint.name for joint in self.places.joints], self.places.loops.length
        return {
            name: (move, turn)
            for name, move, turn in zip(names, linear, angular, strict=True)
            if max(move / length, turn) > least
        }

    @property
    def distance(self) -> float:
        """Largest move of a joint, in sizes or radians."""
        linear, angular = self.places.sizes(self.moves)
        return float(max(linear.max() / self.places.loops.length, angular.max()))


class Nearby(NamedTuple):
    """A mechanism that moves as it was to, with what was moved and how it is reduced."""

    change: Nearest
    after: Reduction
    cell: CellMobility


def nearby(
    written: Reduction | Mechanism,
    edges: Sequence[EdgeId],
    q: Coordinates,
    motions: int,
    unknowns: Unknowns,
    explained: Callable[[Nearest], bool],
    **options: Any,
) -> Nearby | None:
    """Find the nearest mechanism with so many motions; None if noise does not explain it."""
    mechanism = written.mechanism if isinstance(written, Reduction) else written
    change = nearest(mechanism, edges, q, motions, unknowns)
    if not explained(change):
        return None
    # Its numbers are no file's, so none are rounded.
    after = reduce(replace(change.mechanism, reading=None), **options)
    found = (cell for cell in after.cells if cell.edges == edges and cell.finite == motions)
    return next((Nearby(change, after, cell) for cell in found), None)


def nearest(
    mechanism: Mechanism,
    edges: Sequence[EdgeId],
    q: Coordinates,
    motions: int,
    unknowns: Unknowns | None = None,
) -> Nearest:
    """Move joints as little as possible so that loops nearly closed at q have some motions."""
    unknowns = unknowns or Unknowns()
    as_placed, near, rounds = unknowns.as_placed, unknowns.near, 5
    loops = sized_loops(build(mechanism, as_placed=as_placed), q, edges)
    places = JointPlaces(loops, loops.state(q), at_origins=unknowns.weights is not None)
    weights = np.ones(12 * len(places.joints)) if unknowns.weights is None else unknowns.weights
    rank = 0
    free = np.ones(len(weights), bool) if unknowns.movable is None else unknowns.movable
    start, ties = np.zeros(len(free)), list[Tie]()
    if unknowns.aligned:
        start, ties = places.aligned(*unknowns.aligned, unknowns.spread)
    # Frames that may move at all are turned for that.
    start = start * np.repeat(free.reshape(-1, 6).any(axis=1), 6)
    moves, changed, error = start, places.moved(mechanism, start), np.inf
    for way in unknowns.ways:
        last, loops = way == unknowns.ways[-1], _again(loops, changed, as_placed)
        visited = follow(loops, q, motions, way)
        least, idle = np.inf, 0
        for k in range(rounds * 4 if last else rounds):
            state = loops.state(visited)
            u, _, _ = np.linalg.svd(loops.residual_jacobian(state) * loops.units)
            left = np.swapaxes(u[:, :, loops.freedoms - motions :], 1, 2)
            missing = (left @ loops.residual(state)[..., None])[..., 0].reshape(-1)
            error = float(np.abs(missing).max(initial=0.0))
            idle = 0 if error < IMPROVED * least else idle + 1
            least = min(error, least)
            # On the last way errors that do not fall any more are what no move takes away.
            if error <= 0.1 * EXACT.closed or (last and idle > 2 and error > EXACT.same):
                break
            along = left[..., : 6 * len(loops.chords)] @ places.derivative(state)
            along = along.reshape(len(missing), -1) * free
            by_frame = along.reshape(len(missing), -1, 2, 3)
            for frames, across in ties:
                own = by_frame[:, frames]
                by_frame[:, frames] += (own.mean(axis=1, keepdims=True) - own) @ across
            # The least move of all is asked for first; what it leaves is taken away from there.
            base = start if k < 2 else moves
            largest = float(np.abs(moves).max()) or error
            clear = min(0.1, max(10.0 * error, 0.1 * ROUNDING / largest))
            wanted = along @ (moves - base) - missing
            step, _, found_rank, _ = np.linalg.lstsq(along * weights, wanted, rcond=clear)
            rank = int(found_rank)
            moves = base + weights * step
            changed = places.moved(mechanism, moves)
            loops = _again(loops, changed, as_placed)
            visited = closest(loops, visited, motions)
        found = Nearest(changed, moves, places, error, rank)
        # Where moves of that size leave errors: longer ways seldom need smaller ones.
        far = near is not None and (error > near or found.distance > 1.5 * near)
        if far and error > EXACT.same:
            break
    closed = _closed(changed, loops, visited[0], unknowns.stored)
    return Nearest(closed, moves, places, error, rank)


def _closed(mechanism: Mechanism, loops: LoopKinematics, q: Array, stored: bool) -> Mechanism:
    """Store coordinates of the loops; of ``stored`` ones nearby frames take up the difference."""
    position = np.array(loops.graph.position)
    off = np.abs(q - position[loops.columns]) / loops.units
    position[loops.columns] = q
    found = with_coordinates(mechanism, position)
    if not stored or not off.max(initial=0.0) <= SLIGHT:
        return found
    joints = []
    for new, old in zip(found.joints, mechanism.joints, strict=True):
        if new.kind in SUBGROUP_KINDS and np.any(new.position != old.position):
            shift = motion(old, new.position) @ screw.inverse(motion(old, old.position))
            new = replace(old, T_parent_joint=old.T_parent_joint @ shift)
        joints.append(new)
    return replace(found, joints=tuple(joints))


def _again(loops: LoopKinematics, changed: Mechanism, as_placed: bool) -> LoopKinematics:
    """Return the same loops of a changed mechanism, measured as before."""
    graph = build(changed, as_placed=as_placed)
    return LoopKinematics(graph, loops.edges, graph.tree, length=loops.length, center=loops.center)


def follow(loops: LoopKinematics, q: Array, motions: int, far: float) -> Array:
    """Follow motions to either side until others begin; return configurations, shape (N, n)."""
    rank = loops.freedoms - motions
    here = closest(loops, q[None], motions)
    if not motions:
        return here
    s, basis = _singular(loops, here, rank)
    lowest, found = 0.3 * s[0], [here]
    headings = np.concatenate([basis[0], -basis[0]])
    if motions > 1:
        mixed = np.random.default_rng(0).normal(size=(motions, motions)) @ basis[0]
        headings = np.concatenate([headings, mixed / np.linalg.norm(mixed, axis=1)[:, None]])
    here = np.repeat(here, len(headings), axis=0)
    equations = 6 * len(loops.chords) + len(loops.coupling)
    samples = max(4, ENOUGH // (len(headings) * max(1, equations - rank)))
    steps = samples * max(1, int(np.ceil(far / STRIDE / samples)))
    for k in range(1, steps + 1):
        ahead = loops.integrate(here, far / steps * headings * loops.units)
        here = closest(loops, ahead, motions)
        s, near = _singular(loops, here, rank)
        along = np.einsum("nmi,ni->nm", near, headings)
        size = np.linalg.norm(along, axis=1)
        good = (size > 0.5) & (s > lowest)
        here = here[good]
        headings = np.einsum("nm,nmi->ni", along[good] / size[good, None], near[good])
        if k % (steps // samples) == 0:
            found.append(here)
    return np.concatenate(found)


def _singular(loops: LoopKinematics, q: Array, rank: int) -> tuple[Array, Array]:
    """Return the relative singular value number ``rank``, and the null space behind it."""
    rows = loops.residual_jacobian(loops.state(q)) * loops.units
    _, s, vt = np.linalg.svd(rows)
    return s[:, rank - 1] / s[:, 0] if rank else np.ones(len(q)), vt[:, rank:]


def closest(loops: LoopKinematics, q: Array, motions: int) -> Array:
    """Return configurations that close all that coordinates can close, shape (N, n)."""
    ranks = np.full(len(q), loops.freedoms - motions)
    return project(loops, q, ranks=ranks, tolerances=replace(EXACT, singular=UNNOTICED), steps=12).q


def nearly_closed(
    graph: Graph, assembled: Array, edges: tuple[EdgeId, ...], near: float
) -> tuple[LoopKinematics, Array]:
    """Return loops of a cell and coordinates near the stored ones that close them but for noise."""
    columns = list(graph.columns(edges))
    assembled, stored = assembled[columns], graph.position[columns]
    loops = sized_loops(graph, assembled, edges)
    if np.max(np.abs(stored - assembled) / loops.units, initial=0.0) > EXACT.same:
        # What noise alone keeps independent would be solved far from the pose that is meant.
        rough = replace(EXACT, singular=SHOWN * near)
        found = project(loops, stored[None], tolerances=rough)
        if found.error[0] <= SHOWN * near:
            return sized_loops(graph, found.q[0], edges), found.q[0]
    return loops, np.asarray(assembled)
