"""Parts of a model that motors drive through loops: which bodies and joints, and what is driven."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import null_space

from regularize.errors import ModelError
from regularize.guests.actuation.chart import stored_configuration
from regularize.guests.modes.inputs import inputs_of, turning_of
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY, cross_matrix, inverse
from regularize.loops.kinematics import sized_loops
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
from regularize.repair.statics.passive_freedoms import balls_of
from regularize.tolerances import RTOL, UNNOTICED

#: Chains of joints from the base that are looked at.
CHAINS = 2000
BALL = joint_screws("spherical")


def subsystems(
    graph: Graph, motors: Sequence[int], joints: Sequence[int]
) -> Iterator[tuple[Graph, tuple[list[int], list[int]]]]:
    """Yield each subsystem as a graph, and which of the motors and joints it has."""
    names = coordinate_names(graph.mechanism)
    edge_of = {c: edge.index for edge in graph.edges for c in edge.columns}
    cells = {e: cell for cell in graph.cells for e in cell}
    found: dict[tuple[EdgeId, ...], tuple[list[int], list[int]]] = {}
    for side, columns in enumerate((motors, joints)):
        for place, c in enumerate(map(ColumnId, columns)):
            cell = cells.get(edge_of[c], (edge_of[c],))
            found.setdefault(cell, ([], []))[side].append(place)
    for cell, own in found.items():
        named = [[names[c[i]] for i in own[s]] for s, c in enumerate((motors, joints))]
        if len(own[0]) != len(own[1]):
            raise ModelError(
                f"the subsystem with the motors [{', '.join(named[0])}] has the joints "
                f"[{', '.join(named[1])}]: as many of each are needed"
            )
        part = part_of(graph, cell)
        if part is None:
            raise ModelError(f"the subsystem of {', '.join(named[0])} shares a joint with another")
        yield part, own


def motor_range(graph: Graph, motors: Sequence[str], stored: Array) -> Array:
    """Return the range of motors (k, 2): limits, or a turn or the size about stored values."""
    turning, rows = turning_of(graph), []
    size = max(float(np.max(graph.extents, initial=0.0)), 1e-3)
    for value, column in zip(stored, inputs_of(graph, motors).columns, strict=True):
        joint = next(e.joint for e in graph.edges if column in e.columns)
        columns = [int(c) for e in graph.edges if e.joint is joint for c in e.columns]
        low, high = -np.inf, np.inf
        if joint.limits is not None:
            low, high = joint.limits[columns.index(column)]
        reach = np.pi if turning[column] else size
        low, high = (low if np.isfinite(low) else min(value, high) - reach), high
        high = high if np.isfinite(high) else max(value, low) + reach
        if turning[column] and high - low > 2 * np.pi:  # beyond a turn everything comes again
            middle = min(max(value, low + np.pi), high - np.pi)
            low, high = middle - np.pi, middle + np.pi
        rows.append((low, high))
    return np.array(rows)


def with_balls(graph: Graph, kept: Collection[int]) -> Graph:
    """Return the graph with a ball for each three hinges that stand for one without limits."""
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
    found = [names[c] for c in sorted(c for cell in graph.cells for c in graph.columns(cell))]
    motors = [name for name in found if name in driven]
    if not motors:
        raise ModelError("the model names no motor within a loop; name them, and their joints")
    return motors


def driven_joints(graph: Graph, motors: Sequence[str]) -> list[str]:
    """Return the joints that motors drive: chains from each subsystem's base to its output.

    Of the chains with as many freedoms as motors the one with fewest motors of its own is taken,
    that to a body that carries further joints before others, and then that to the heaviest.
    """
    names, columns = coordinate_names(graph.mechanism), inputs_of(graph, motors).columns
    found: list[str] = []
    for cell in graph.cells:
        own = [c for c in columns if c in graph.columns(cell)]
        if own:
            chain = _chain(graph, cell, {*own})
            found += [names[c] for e in chain for c in graph.edges[e].columns]
    alone = {c for cell in graph.cells for c in graph.columns(cell)}
    return [*found, *(names[c] for c in columns if c not in alone)]


def _chain(graph: Graph, cell: Sequence[EdgeId], motors: set[int]) -> tuple[EdgeId, ...]:
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


def undecided(part: Graph, motors: Sequence[str], joints: Sequence[str], most: int) -> str:
    """Return why motors and joints of a subsystem do not determine each other."""
    q, names = stored_configuration(part), coordinate_names(part.mechanism)
    loops = sized_loops(part, q)
    free = null_space(loops.jacobian(loops.state(q))[0], rcond=RTOL)
    driven, wanted = ([names.index(name) for name in side] for side in (motors, joints))
    if (rank := int(np.linalg.matrix_rank(free[driven], tol=RTOL))) < len(motors):
        return (
            f"at the stored pose the subsystem has {free.shape[1]} freedoms as it is written, and "
            f"the motors have {rank} of them; regularize check says what holds them, and fix "
            "--as-designed takes away what rounded numbers do"
        )
    left = np.abs(free @ null_space(free[driven], rcond=RTOL)).max(axis=1, initial=0.0)
    if moved := [names[c] for c in wanted if left[c] > RTOL]:
        single = [c for e in part.edges if not e.group for c in e.columns]
        own = names[max(single, key=lambda c: float(left[c]))]
        return (
            f"with the motors held {', '.join(moved)} still move{'s' * (len(moved) == 1)}, and "
            f"{own} most of all: name it among the motors and the joints too, or fix it in the file"
        )
    return f"no formulas by the same {len(motors)} to {most} coordinates are found"


def base_of(graph: Graph, cell: Sequence[EdgeId]) -> NodeId:
    """Return the node of a subsystem that is nearest to the ground."""
    own = nodes_of(graph, cell)
    order = [graph.ground, *(node for _, node in breadth_first(graph, graph.ground))]
    return next((node for node in order if node in own), own[0])
