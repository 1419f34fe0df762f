"""Subsystems, the parts of a model that motors drive through loops, and the map of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import null_space

from regularize.dynamics.tape.languages import columns
from regularize.errors import ModelError
from regularize.guests.actuation.boxes import Domain, inverses
from regularize.guests.actuation.chart import Chart, stored_configuration
from regularize.guests.actuation.conversion import ARRIVED, Conversion
from regularize.guests.actuation.prover import FoundDomain, found_domain, proved_of
from regularize.guests.modes.inputs import inputs_of
from regularize.lie.arrays import Array, Mask
from regularize.lie.screw import IDENTITY, cross_matrix, inverse
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import project
from regularize.mechanism.graph import (
    ColumnId,
    EdgeId,
    Graph,
    NodeId,
    actuated_coordinates,
    breadth_first,
    coordinate_names,
    nodes_of,
    part_of,
)
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Actuator, Mechanism
from regularize.mechanism.motors import effort_of
from regularize.repair.statics.passive_freedoms import balls_of
from regularize.repair.statics.passive_joints import limits_of, ranges_of
from regularize.tolerances import EXACT, RTOL, UNNOTICED

#: Chains of joints from the base that are looked at.
CHAINS = 2000
#: How far from the stored pose freedoms are counted, rad and m.
NEARBY = 0.03
BALL = joint_screws("spherical")


def subsystems(
    graph: Graph, motors: Sequence[int], joints: Sequence[int]
) -> Iterator[tuple[Graph, tuple[list[int], list[int]]]]:
    """Yield each subsystem as a graph, with places of its motors and joints in the lists."""
    names = coordinate_names(graph.mechanism)
    edge_of = {c: edge.index for edge in graph.edges for c in edge.columns}
    cells = {e: cell for cell in graph.cells for e in cell}
    places: dict[tuple[EdgeId, ...], tuple[list[int], list[int]]] = {}
    for side, of_side in enumerate((motors, joints)):
        for place, c in enumerate(map(ColumnId, of_side)):
            cell = cells.get(edge_of[c], (edge_of[c],))
            places.setdefault(cell, ([], []))[side].append(place)
    for cell, sides in places.items():
        named = [[names[c[i]] for i in sides[s]] for s, c in enumerate((motors, joints))]
        if len(sides[0]) != len(sides[1]):
            raise ModelError(
                f"the subsystem with the motors [{', '.join(named[0])}] has the joints "
                f"[{', '.join(named[1])}]: as many of each are needed"
            )
        part = part_of(graph, cell)
        if part is None:
            raise ModelError(f"the subsystem of {', '.join(named[0])} shares a joint with another")
        yield part, sides


def motor_range(graph: Graph, motors: Sequence[str], chart: Chart) -> Array:
    """Return motor ranges (k, 2): limits, else a turn or the model's size about stored values."""
    stored = columns(chart.values, chart.start[None])[0, : len(motors)]
    turning, limits, rows = graph.turning, ranges_of(graph.mechanism), []
    size = max(float(np.max(graph.extents, initial=0.0)), 1e-3)
    for value, column in zip(stored, inputs_of(graph, motors).columns, strict=True):
        (low, high), reach = limits[column], np.pi if turning[column] else size
        low, high = (low if np.isfinite(low) else min(value, high) - reach), high
        high = high if np.isfinite(high) else max(value, low) + reach
        if turning[column] and high - low > 2 * np.pi:  # beyond a turn everything comes again
            middle = min(max(value, low + np.pi), high - np.pi)
            low, high = middle - np.pi, middle + np.pi
        rows.append((low, high))
    return np.array(rows)


def with_balls(graph: Graph, kept: Collection[int]) -> Graph:
    """Return the graph with three unlimited hinges that meet in a point replaced by a ball."""
    loops, mechanism = sized_loops(graph, graph.position), graph.mechanism
    state = loops.state(graph.position)
    screws, T = state.screws[0], state.T_world_node[0]
    edges = [edge for cell in graph.cells for edge in (graph.edges[e] for e in cell)]
    coupled = {c for row in graph.couplings for c in row.columns} | {*kept}
    plain = [
        e.index
        for e in edges
        if not coupled & {*e.columns}
        and (e.joint.limits is None or not np.isfinite(np.asarray(e.joint.limits)).any())
    ]
    columns = {e: list(graph.edges[e].columns) for e in plain}
    found = balls_of(graph, plain, {e: screws[c].T for e, c in columns.items()}, UNNOTICED)
    joints, gone = {j.name: j for j in mechanism.joints}, set[str]()
    for row in dict.fromkeys(row for _, row in found):
        first, middle, last = (graph.edges[e] for e in row)
        inner, own = {middle.parent, middle.child}, [columns[e][0] for e in row]
        ends = [next(n for n in (e.parent, e.child) if n not in inner) for e in (first, last)]
        if any(len(graph.members[n]) != 1 for n in inner) or not all(
            graph.members[n] for n in ends
        ):
            continue
        lever = np.vstack([-cross_matrix(w) for w in screws[own, 3:]])
        center = IDENTITY.copy()  # v = p × w of all three
        center[:3, 3] = np.linalg.lstsq(lever, screws[own, :3].ravel(), rcond=None)[0]
        one, other = (graph.members[n][0] for n in ends)
        at, there = (
            inverse(T[loops.row(n)] @ graph.T_node_body[name]) @ center
            for n, name in zip(ends, (one, other), strict=True)
        )
        names = [graph.edges[e].joint.name for e in row]
        joints[names[0]] = Joint(names[0], one, other, "spherical", BALL, at, there)
        del joints[names[1]], joints[names[2]]
        gone |= {graph.members[n][0] for n in inner}
    bodies = tuple(b for b in mechanism.bodies if b.name not in gone)
    return build(replace(mechanism, bodies=bodies, joints=tuple(joints.values())))


def motors_of(graph: Graph) -> list[str]:
    """Return coordinates of motors that are part of loops or couplings."""
    names = coordinate_names(graph.mechanism)
    driven = {*actuated_coordinates(graph.mechanism)}
    every = [graph.columns(cell) for cell in graph.cells if len(graph.columns(cell)) > 2]
    # Of two joints at a constant ratio there is nothing to map.
    motors = [names[c] for c in sorted(c for own in every for c in own) if names[c] in driven]
    if not motors:
        why = "the model names no motor within a loop or a differential"
        raise ModelError(f"{why}; name them, and their joints")
    return motors


def limits_of_motors(mechanism: Mechanism, names: Sequence[str]) -> tuple[Array, Array]:
    """Return efforts and rates of motors' coordinates, infinite where the model states none."""
    places = [coordinate_names(mechanism).index(name) for name in names]
    efforts = [np.zeros(0), *(effort_of(mechanism, joint) for joint in mechanism.joints)]
    return np.concatenate(efforts)[places], limits_of(mechanism, "velocity")[places]


def gains_of_servos(mechanism: Mechanism, names: Sequence[str]) -> Array:
    """Return stiffness and damping of the servos at motors' coordinates, else 0, (2, k)."""
    gains = np.zeros((2, len(names)))
    for i, name in enumerate(names):
        match [a for a in mechanism.actuators if a.joint == name]:
            case [Actuator(gains=law, gear=gear)] if law and mechanism.joint(name).freedoms == 1:
                gains[:, i] = np.array([law.position or 0.0, law.velocity or 0.0]) * gear**2
    return gains


def driven_joints(graph: Graph, motors: Sequence[str]) -> list[str]:
    """Return the joints that motors drive: chains from each subsystem's base to its output."""
    names, columns = coordinate_names(graph.mechanism), inputs_of(graph, motors).columns
    result: list[str] = []
    for cell in graph.cells:
        motors_here = [c for c in columns if c in graph.columns(cell)]
        if motors_here:
            chain = _chain(graph, cell, {*motors_here})
            result += [names[c] for e in chain for c in graph.edges[e].columns]
    alone = {c for cell in graph.cells for c in graph.columns(cell)}
    return [*result, *(names[c] for c in columns if c not in alone)]


def _chain(graph: Graph, cell: Sequence[EdgeId], motors: set[int]) -> tuple[EdgeId, ...]:
    """Return the best chain of edges from the base with as many freedoms as motors."""
    base, k = base_of(graph, cell), len(motors)
    chains: list[tuple[tuple[EdgeId, ...], NodeId]] = []
    queue: deque[tuple[tuple[EdgeId, ...], tuple[NodeId, ...]]] = deque([((), (base,))])
    while queue and len(chains) < CHAINS:
        edges, nodes = queue.popleft()
        freedoms = sum(graph.edges[e].freedoms for e in edges)
        if edges and freedoms == k:
            chains.append((edges, nodes[-1]))
        for e in cell:
            edge = graph.edges[e]
            if nodes[-1] not in (edge.parent, edge.child) or edge.freedoms > k - freedoms:
                continue
            if (other := edge.other(nodes[-1])) not in nodes:
                queue.append(((*edges, e), (*nodes, other)))
    if not chains:
        raise ModelError("no chain of joints has as many freedoms as motors; name the joints")
    inner = {*cell}

    def rank(chain: tuple[tuple[EdgeId, ...], NodeId]) -> tuple[int, bool, float]:
        edges, end = chain
        driven = sum(c in motors for e in edges for c in graph.edges[e].columns)
        alone = not any(e not in inner for e in graph.adjacency[end])
        bodies = [graph.mechanism.body(name).inertia for name in graph.members[end]]
        return driven, alone, -sum(i.mass for i in bodies if i is not None)

    return min(chains, key=rank)[0]


def undecided(part: Graph, motors: Sequence[str], joints: Sequence[str]) -> str:
    """Return why motors and joints of a subsystem do not determine each other, empty if they do."""
    q, names = stored_configuration(part), coordinate_names(part.mechanism)
    loops = sized_loops(part, q)
    free = null_space(loops.jacobian(loops.state(q))[0], rcond=RTOL)
    # A little away, since a singular stored pose has more freedoms than those about it.
    away = q + NEARBY * free @ np.random.default_rng(0).normal(size=free.shape[1])
    found = project(loops, away[None], damped=True)
    if found.error[0] <= EXACT.same:
        free = null_space(loops.jacobian(loops.state(found.q[0]))[0], rcond=RTOL)
    driven, wanted = ([names.index(name) for name in side] for side in (motors, joints))
    if (rank := int(np.linalg.matrix_rank(free[driven], tol=RTOL))) < len(motors):
        return (
            f"the subsystem has {free.shape[1]} freedoms as it is written, and the motors have "
            f"{rank} of them; regularize check says what holds them, and fix --as-designed takes "
            "away what rounded numbers do"
        )
    left = np.abs(free @ null_space(free[driven], rcond=RTOL)).max(axis=1, initial=0.0)
    moved = [names[c] for c in wanted if left[c] > RTOL]
    if not moved:
        return ""
    single = [c for e in part.edges if not e.group for c in e.columns]
    own = names[max(single, key=lambda c: float(left[c]))]
    return (
        f"with the motors held {', '.join(moved)} still move{'s' * (len(moved) == 1)}, and "
        f"{own} most of all: name it among the motors and the joints too, or fix it in the file"
    )


def base_of(graph: Graph, cell: Sequence[EdgeId]) -> NodeId:
    """Return the node of a subsystem that is nearest to the ground."""
    nodes = nodes_of(graph, cell)
    order = [graph.ground, *(node for _, node in breadth_first(graph, graph.ground))]
    return next((node for node in order if node in nodes), nodes[0])


#: Samples that steps and polynomials are fitted to.
SAMPLES = 3000
#: States at a time: what is needed on the way stays in the processor's cache.
CHUNK = 8192
#: Proofs that reach less of what can be followed leave the domain to the latter.
ENOUGH = 0.5
#: Formulas back that differ by no more are of the same branch.
SAME_BRANCH = 1e-7
#: Corners of the domain that are looked at for the range of joints.
CORNERS = 20_000


@dataclass(frozen=True, eq=False)
class SubsystemMap:
    """The map of one subsystem, with the places of its motors and joints in the whole map."""

    motors: tuple[int, ...]
    joints: tuple[int, ...]
    chart: Chart
    found: FoundDomain
    forward: Conversion | None
    backward: Conversion | None

    @property
    def domain(self) -> Domain:
        """Boxes of motor values on which the map holds."""
        return self.found.domain

    def solved(self, x: Array, back: bool) -> tuple[Array, Array]:
        """Return joints (``back``: motors) and chart parameters of values x (N, k); NaN if none."""
        conversion, k = (self.backward if back else self.forward), x.shape[1]
        n = len(self.chart.parameters)
        if conversion is None:
            result, z, good = self._searched(x, back)
        else:
            parts = [x[i : i + CHUNK] for i in range(0, len(x), CHUNK)]
            values = [columns(conversion.program, part) for part in parts]
            every = np.concatenate(values) if values else np.zeros((0, k + n))
            result, z = every[:, :k], every[:, k : k + n]
            good = np.isfinite(every).all(axis=1)
            good &= (np.abs(every[:, k + n :]) <= ARRIVED).all(axis=1)
        good = good & self.domain.contains(result if back else x)
        return np.where(good[:, None], result, np.nan), np.where(good[:, None], z, np.nan)

    @cached_property
    def _places(self) -> tuple[tuple[Any, Any], Array]:
        """Search trees of sampled motors and joints, and the samples' chart parameters."""
        from scipy.spatial import cKDTree  # where a search begins

        _, z = self.found.samples(20 * SAMPLES, np.random.default_rng(1))
        z = z[np.asarray(np.isfinite(z).all(axis=1))]
        values, n, k = columns(self.chart.values, z), z.shape[1], len(self.motors)
        return (cKDTree(values[:, :k]), cKDTree(values[:, n : n + k])), z

    def _searched(self, x: Array, back: bool) -> tuple[Array, Array, Mask]:
        """Return joints (``back``: motors), parameters and success, by Newton's method."""
        (trees, places), k = self._places, x.shape[1]
        finite = np.asarray(np.isfinite(x).all(axis=1))
        nearest = trees[back].query(np.where(finite[:, None], x, 0.0))[1]
        z, _ = self.found.prover.solved(x, places[nearest], back)
        sides = np.split(columns(self.chart.values, z)[:, : 2 * z.shape[1]], 2, axis=1)
        left = sides[back] - np.pad(x, ((0, 0), (0, z.shape[1] - k)))  # closures included
        return sides[not back][:, :k], z, np.abs(left).max(axis=1) <= EXACT.closed

    def jacobian(self, z: Array) -> Array:
        """Return derivatives of joints by motors, (N, k, k), at chart parameters z."""
        (motors, joints), k = self.chart.rates(z), len(self.motors)
        return np.asarray(joints[:, :k] @ inverses(motors)[:, :, :k])

    def hessian(self, z: Array) -> Array:
        """Return second derivatives of joints by motors, (N, k, k, k), at chart parameters z."""
        n, k = z.shape[1], len(self.motors)
        motors, joints = self.chart.rates(z)
        inverse = inverses(motors)
        bends = columns(self.chart.curvatures, z).reshape(len(z), 2, n, n, n)
        own = bends[:, 1] - np.einsum("nij,njab->niab", joints @ inverse, bends[:, 0])
        found = np.einsum("niab,nac,nbd->nicd", own, inverse, inverse, optimize=True)
        return np.asarray(found[:, :k, :k, :k])


@dataclass(frozen=True, eq=False)
class SubsystemMaps:
    """The maps of all subsystems, and the names of their motors and joints."""

    motor_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    drives: tuple[SubsystemMap, ...] = field(repr=False)
    effort: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    speed: Array = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def proved(self) -> bool:
        """Whether the domains of all subsystems are proved."""
        return all(each.domain.proved for each in self.drives)

    @property
    def share(self) -> float:
        """Part of the motors' range that the domain covers, 0 to 1."""
        return float(np.prod([each.domain.share for each in self.drives]))


def subsystem_map(
    places: tuple[list[int], list[int]],
    chart: Chart,
    inverse: Chart | None,
    part: Graph,
    names: list[list[str]],
) -> SubsystemMap:
    """Return a subsystem's map over the proved part of the motors' range, else the followed."""
    bounds = motor_range(part, names[0], chart)
    followed = found_domain(chart, bounds, sampled=True) if chart.closures else None
    found = proved_of(followed) if followed else found_domain(chart, bounds, sampled=False)
    if found.domain.share < 0.9:
        followed = followed or found_domain(chart, bounds, sampled=True)
        if found.domain.share < ENOUGH * followed.domain.share:
            found = followed
    if not found.domain.share:
        raise ModelError(_no_domain(chart, bounds, names, part))
    theta, z = found.samples(SAMPLES, np.random.default_rng(0))
    k, n = theta.shape[1], z.shape[1]
    q = columns(chart.values, z)[:, n : n + k]
    good = np.isfinite(z).all(axis=1) & np.isfinite(q).all(axis=1)
    theta, q, z = theta[good], q[good], z[good]
    forward, backward = Conversion.of(chart, False, theta, z), None
    if inverse is not None:
        seen = columns(inverse.values, q)[:, :k]
        if np.abs(seen - theta).max() < SAME_BRANCH:
            backward = Conversion.of(inverse, True, q, q)
    backward = backward or Conversion.of(chart, True, q, z)
    if backward is not None:
        if forward is not None:
            ends = columns(forward.program, found.domain.corners(CORNERS))[:, :k]
            q = np.concatenate([q, ends[np.isfinite(ends).all(axis=1)]])
        backward = backward.within(q)
    return SubsystemMap(tuple(places[0]), tuple(places[1]), chart, found, forward, backward)


def _no_domain(chart: Chart, bounds: Array, names: list[list[str]], part: Graph) -> str:
    """Return the message that there is no map at the stored pose: why, and what to do."""
    start = columns(chart.program([*chart.motors, *chart.bounded]), chart.start[None])[0]
    low, high = np.concatenate([bounds, chart.bounds]).T
    beyond = ~((start >= low) & (start <= high))
    told = [f"{n} is at {x:.4g}" for n, x, b in zip(names[0], start, beyond, strict=False) if b]
    told += ["a joint is"] if len(told) < beyond.sum() else []
    why = f"outside of limits ({', '.join(told)})" if told else "singular"
    pose = _pose_within_limits(part, names[0]) if told else {}
    pose = pose or {chart.names[0]: [round(float(chart.start[0]) + 0.2, 3)]}
    return (
        f"the map from {', '.join(names[0])} to {', '.join(names[1])} has no domain: the stored "
        f"pose is {why}; store another pose, such as rg.load(file).with_positions({pose})"
    )


def _pose_within_limits(part: Graph, motors: Sequence[str]) -> dict[str, list[float]]:
    """Propose a closed pose within limits, motors held, by joint names; empty where none is."""
    limits, q = ranges_of(part.mechanism), part.position.copy()
    limited = np.asarray(np.isfinite(limits).all(axis=1))
    q[limited] = limits[limited].mean(axis=1)
    held = np.isin(coordinate_names(part.mechanism), motors)
    projected = project(sized_loops(part, q), q[None], held=held, damped=True)
    q = projected.q[0]
    inside = ((q >= limits[:, 0]) & (q <= limits[:, 1])).all()
    if not (projected.error[0] <= EXACT.same and inside):
        return {}
    values: dict[str, list[float]] = {
        joint.name: [] for joint in part.mechanism.joints if joint.freedoms
    }
    for name, value in zip(coordinate_names(part.mechanism), q.round(3).tolist(), strict=True):
        values[name if name in values else name.rpartition("[")[0]].append(value)
    return values
