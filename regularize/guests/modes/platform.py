"""A platform on legs as points on spheres and circles: all its poses for given coordinates.

A leg with unknown turns about a point of the base, then about a point of the platform, keeps these
points at their distance, which the known coordinates between them give. Where there is one hinge
instead of the turns about a point of the base, the point of the platform is on a circle about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regularize.guests.modes.assembly_steps import PartialSolutions
from regularize.guests.modes.loop_system import LoopSystem, Multistart
from regularize.guests.modes.study_quadrics import POSES, Conditions, poses
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.graph import Edge, EdgeId, Graph, NodeId, coordinate_names, part_of
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import Joint, joint_screws
from regularize.tolerances import EXACT

#: The joint that stands for the pose of the platform.
POSE = "pose of the platform"


@dataclass(frozen=True, eq=False)
class _Turns:
    """Unknown joints in a row that turn about one point, or one hinge, with what is before them.

    Attributes:
        point: The point, or one on the hinge, in the frame behind what is before.
        axis: Direction of the hinge there; None where there are more joints.
        whole: Number of freedoms.
        ball: Whether it is one ball joint.
        through: The frame behind them while they are at zero, shape (4, 4).
    """

    point: Array
    axis: Array | None
    whole: int
    ball: bool
    through: Array


@dataclass(frozen=True, eq=False)
class _Leg:
    """Joints from the base to the platform, known ones before, between and behind two turns."""

    known: tuple[tuple[tuple[Edge, int], ...], ...]
    turns: tuple[_Turns, _Turns]
    edges: tuple[EdgeId, ...]

    @property
    def circle(self) -> bool:
        """Whether the point of the platform is on a circle."""
        return self.turns[0].axis is not None

    def ends(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Centre and axis on the base, the way from there and the point on the platform, (N, 3)."""
        before, between, behind = (_along(edges, q) for edges in self.known)
        base, platform = self.turns
        centre, axis = base.point, np.zeros(3) if base.axis is None else base.axis
        to = (base.through @ between @ [*platform.point, 1.0])[:, :3] - centre
        along = np.sum(to * axis, axis=1, keepdims=True) * axis
        R = before[:, :3, :3]
        place = (R @ (centre + along)[..., None])[..., 0] + before[:, :3, 3]
        back = screw.inverse(platform.through @ behind) @ [*platform.point, 1.0]
        return place, (R @ axis[:, None])[..., 0], to - along, back[:, :3]


class Platform:
    """Poses of a body that is held by legs alone, at known coordinates.

    Args:
        graph: The mechanism's graph.
        unknown: Columns that are looked for: those of the legs.
        legs: The legs.
        node: The platform.
        planar: The normal of the plane in which all of it moves, if it does.

    Attributes:
        body: A body of the platform.
        most: Number of poses that there can be.
    """

    def __init__(
        self,
        graph: Graph,
        unknown: NDArray[np.intp],
        legs: Sequence[_Leg],
        node: NodeId,
        planar: Array | None,
    ) -> None:
        self._graph, self._unknown, self._planar = graph, unknown, planar
        self._legs = sorted(legs, key=lambda leg: not leg.circle)
        self.body = next(b for b, n in graph.node_of.items() if n == node)
        circles = sum(leg.circle for leg in legs)
        self.most = POSES[circles, len(legs) - circles, planar is not None]
        free = Joint(
            POSE, graph.mechanism.ground, self.body, "free", joint_screws("free"), screw.IDENTITY
        )
        whole = graph.mechanism
        posed = build(replace(whole, joints=(*whole.joints, free)))
        names = coordinate_names(posed.mechanism)
        # At a given pose each leg is a loop of its own.
        self._loops: list[tuple[LoopSystem, NDArray[np.intp]]] = []
        for leg in legs:
            part = part_of(posed, [*leg.edges, posed.edges[-1].index])
            assert part is not None
            own = np.array([names.index(name) for name in coordinate_names(part.mechanism)])
            left = np.flatnonzero(np.isin(own, unknown))
            self._loops.append((LoopSystem(part, left), own))

    def find(self, q: Array, search: Multistart) -> PartialSolutions:
        """All configurations of samples (N, n), one for each pose of the platform."""
        turned, origin, size, conditions = self._conditions(q)
        circles = sum(leg.circle for leg in self._legs)
        found = poses(conditions, circles, self._planar is not None)
        if found is None:
            none, nothing = np.zeros(0, dtype=np.intp), np.zeros(len(q), dtype=bool)
            result = PartialSolutions.among(q, none, np.arange(0), q[:0, :0])
            return replace(result, complete=nothing, certain=nothing)
        T = found.T.copy()
        T[:, :3, 3] *= size
        frame = screw.transform(turned, origin)
        own, closed = self._coordinates(q[found.rows], frame @ T @ screw.inverse(frame), search)
        complete = found.complete.copy()
        complete[found.rows[~closed]] = False
        rows = found.rows[closed]
        result = PartialSolutions.among(q, rows, self._unknown, own[closed][:, self._unknown])
        sure = found.certificate[closed]
        return replace(result, complete=complete, certain=complete, certificate=sure)

    def _conditions(self, q: Array) -> tuple[Array, Array, float, Conditions]:
        """The frame in which conditions are written, its unit of length, and the conditions."""
        ends = [leg.ends(q) for leg in self._legs]
        points = np.concatenate([each[0] for each in ends])
        origin = points.mean(axis=0)
        size = float(np.abs(points - origin).max(initial=0.0)) or 1.0
        turned = np.eye(3)
        if self._planar is not None:
            turned = np.linalg.svd(self._planar[None])[2][[1, 2, 0]].T
            turned[:, 0] *= np.linalg.det(turned)
        a, c, d, b = [], [], [], []
        for leg, (place, axis, way, point) in zip(self._legs, ends, strict=True):
            centre, at = ((x - origin) @ turned / size for x in (place, point))
            square = np.sum(way * way, axis=1) / size**2
            if self._planar is not None:
                centre[:, 2] = at[:, 2] = 0.0
            a.append(np.ones(len(q)))
            c.append(-centre)
            d.append(np.sum(centre * centre, axis=1) - square)
            b.append(at)
            if leg.circle and self._planar is None:
                normal = axis @ turned
                a.append(np.zeros(len(q)))
                c.append(normal)
                d.append(-2.0 * np.sum(normal * centre, axis=1))
                b.append(at)
        return turned, origin, size, Conditions(*(np.stack(x, axis=1) for x in (a, c, d, b)))

    def _coordinates(
        self, q: Array, T: Array, search: Multistart
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Coordinates of the legs at poses (K, 4, 4) of the platform, and where they were found."""
        graph, rng = self._graph, np.random.default_rng(search.seed)
        ground, body = graph.T_node_body[graph.mechanism.ground], graph.T_node_body[self.body]
        pose = np.array([screw.log(each) for each in screw.inverse(ground) @ T @ body])
        whole = np.hstack([q, pose.reshape(-1, 6)])
        every = np.ones(len(q), dtype=bool)
        for system, own in self._loops:
            done = np.zeros(len(q), dtype=bool)
            for _ in range(search.rounds):
                left = np.flatnonzero(~done)
                if not len(left):
                    break
                start = system.random(whole[np.ix_(left, own)], rng)
                ended, closed = system.projected(start, damped=True)
                whole[np.ix_(left[closed], own)] = ended[closed]
                done[left[closed]] = True
            every &= done
        return whole[:, : q.shape[1]], every


def platform_of(graph: Graph, unknown: NDArray[np.intp], body: str | None) -> Platform | None:
    """The platform whose legs all unknown coordinates belong to; None where there is none.

    Args:
        graph: The mechanism's graph.
        unknown: Columns that are looked for.
        body: The body whose pose tells configurations apart; without one legs need to have one
            configuration at each pose.
    """
    for node in graph.every_node if body is None else (graph.node_of[body],):
        if node == graph.ground or not graph.members[node]:
            continue
        legs = _legs(graph, {*unknown.tolist()}, node)
        if legs is None:
            continue
        planar = _planar(graph, legs)
        # The turns about a point of the platform are three, but in a plane.
        turns = {leg.turns[1].whole for leg in legs if leg.circle}
        single = all(leg.circle and (leg.turns[1].ball or planar is not None) for leg in legs)
        circles = sum(leg.circle for leg in legs)
        known = (circles, len(legs) - circles, planar is not None) in POSES
        if known and turns <= {1 if planar is not None else 3} and (body is not None or single):
            return Platform(graph, unknown, legs, node, planar)
    return None


def _legs(graph: Graph, unknown: set[int], platform: NodeId) -> list[_Leg] | None:
    """The legs with unknown coordinates, if all of these belong to legs that are known here."""
    legs, columns = [], set[int]()
    for start in graph.adjacency[platform]:
        node, edge, chain = platform, graph.edges[start], list[tuple[Edge, int]]()
        while True:
            chain.append((edge, 1 if edge.child == node else -1))
            node = edge.other(node)
            others = [e for e in graph.adjacency[node] if e != edge.index]
            if node == graph.ground or len(others) != 1 or len(chain) > len(graph.edges):
                break
            edge = graph.edges[others[0]]
        own = {c for each, _ in chain for c in each.columns} & unknown
        if not own:
            continue
        leg = _leg(chain[::-1], unknown) if node == graph.ground else None
        if leg is None:
            return None
        legs.append(leg)
        columns |= own
    tied = any(unknown & {*row.columns} for row in graph.couplings)
    return None if tied or columns != unknown or not legs else legs


def _leg(chain: Sequence[tuple[Edge, int]], unknown: set[int]) -> _Leg | None:
    """Known joints and turns of a leg from the base to the platform, if it is of that form."""
    runs: list[list[tuple[Edge, int]]] = [[]]
    free = False
    for edge, sense in chain:
        if edge.columns and ({*edge.columns} <= unknown) != free:
            runs.append([])
            free = not free
        if {*edge.columns} & unknown and not free:
            return None
        runs[-1].append((edge, sense))
    tail = [] if free else runs.pop()
    unknowns = runs[1::2]
    if len(unknowns) == 1 and len(unknowns[0]) > 1:
        # No known joint is between: the last joints that meet in one point are the platform's.
        row = unknowns[0]
        cut = next((k for k in range(1, len(row)) if _turns(row[k:])), None)
        if cut is None:
            return None
        runs = [runs[0], row[:cut], [], row[cut:]]
    if len(runs) != 4:
        return None
    base, platform = _turns(runs[1]), _turns(runs[3])
    if base is None or platform is None:
        return None
    spheres = base.axis is None and base.whole + platform.whole >= 5
    if not spheres and (base.axis is None or platform.whole == 2):
        return None
    edges = tuple(edge.index for edge, _ in chain)
    return _Leg((tuple(runs[0]), tuple(runs[2]), tuple(tail)), (base, platform), edges)


def _turns(edges: Sequence[tuple[Edge, int]]) -> _Turns | None:
    """The point that joints turn about, in the frame before them; None if they do not."""
    rows, right = list[Array](), list[Array]()
    frame, whole, axis, centre = np.eye(4), 0, None, np.zeros(3)
    for edge, sense in edges:
        into, out = (edge.T_parent, edge.T_child)[::sense]
        frame = frame @ into
        if edge.group and edge.joint.kind == "spherical":
            centre, directions = frame[:3, 3], np.eye(3)
        elif edge.freedoms == 1:
            direction, point, pitch = screw.axis_of(screw.adjoint(frame) @ edge.screws[:, 0])
            if point is None or abs(pitch or 0.0) > EXACT.closed:
                return None
            centre, directions, axis = point, direction[None], direction
        elif edge.freedoms:
            return None
        else:
            directions = np.zeros((0, 3))
        for each in directions if edge.freedoms else ():
            rows.append(screw.cross_matrix(each))
            right.append(rows[-1] @ centre)
        whole += len(directions)
        frame = frame @ screw.inverse(out)
    if not whole:
        return None
    if whole == 1:
        return _Turns(np.asarray(centre), axis, 1, False, frame)
    A, b = np.concatenate(rows), np.concatenate(right)
    common, *_ = np.linalg.lstsq(A, b)
    scale = max(1.0, float(np.abs(b).max()))
    ball = len(edges) == 1 and edges[0][0].group
    # Hinges on one line turn about all of its points and bring nothing anywhere else.
    alone = np.linalg.matrix_rank(A, tol=EXACT.singular) == 3
    if not alone or np.abs(A @ common - b).max() > EXACT.same * scale:
        return None
    return _Turns(np.asarray(common), None, whole, ball, frame)


def _along(edges: Sequence[tuple[Edge, int]], q: Array) -> Array:
    """What known joints in a row do to frames, shape (N, 4, 4)."""
    T = np.tile(np.eye(4), (len(q), 1, 1))
    for edge, sense in edges:
        step = screw.exp(q[:, [*edge.columns]] @ edge.screws.T)
        if not edge.group:
            step = np.tile(np.eye(4), (len(q), 1, 1))
            for column, own in zip(edge.columns, edge.screws.T, strict=True):
                step = step @ screw.exp(q[:, [column]] * own)
        step = edge.T_parent @ step @ screw.inverse(edge.T_child)
        T = T @ (step if sense > 0 else screw.inverse(step))
    return T


def _planar(graph: Graph, legs: Sequence[_Leg]) -> Array | None:
    """The direction of all hinges, if they are parallel at whatever coordinates."""
    q = graph.position + np.random.default_rng(0).uniform(-1.0, 1.0, (3, graph.freedoms))
    directions: list[Array] = []
    for leg in legs:
        before, between, _ = (_along(edges, q)[:, :3, :3] for edges in leg.known)
        first, last = leg.turns
        if first.axis is None or last.axis is None:
            return None
        turned = before @ first.through[:3, :3] @ between
        directions += [*(before @ first.axis), *(turned @ last.axis)]
    off = max(float(np.abs(screw.cross(directions[0], each)).max()) for each in directions)
    return np.asarray(directions[0]) if off <= EXACT.same else None
