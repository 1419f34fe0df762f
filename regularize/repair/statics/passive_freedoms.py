"""Passive freedoms: legs that spin or slide within their joints while nothing else moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Direction, Rates, Space, Twist
from regularize.mechanism.graph import EdgeId, Graph, NodeId
from regularize.reduction.block import Block
from regularize.reduction.reduce import Reduction
from regularize.tolerances import UNNOTICED

#: Edges of one joint, or of hinges that are one, outwards from the bodies that it holds.
End: TypeAlias = tuple[EdgeId, ...]
#: Kilograms up to which what stands between two hinges is a frame.
WEIGHTLESS = 1e-6


@dataclass(frozen=True, eq=False)
class PassiveBody:
    """Bodies of a leg that turn or slide together on a line without moving other bodies."""

    bodies: tuple[str, ...]
    #: Joints at their ends.
    joints: tuple[str, ...]
    #: The line at the assembled pose.
    axis: Direction
    #: Whether they slide along the line; they spin about it otherwise.
    slides: bool = False

    @property
    def name(self) -> str:
        """Names of the bodies, for example ``cylinder and piston``."""
        *others, last = self.bodies
        return f"{', '.join(others)} and {last}" if others else last


def passive_bodies(reduction: Reduction) -> Iterator[PassiveBody]:
    """Find bodies of loops that can move while all neighbours stand still, wherever these are."""
    rtol = reduction.tolerances.rtol
    for part in reduction.parts if reduction.assembly.closed else ():
        elsewhere: list[dict[EdgeId, Space]] | None = None
        known = np.zeros((0, reduction.freedoms))
        for nodes, ends, common in spinning(reduction.graph, part.edges, part.screws, rtol):
            elsewhere = _elsewhere(reduction, part) if elsewhere is None else elsewhere
            always = min(_common(ends, screws, rtol).shape[1] for screws in elsewhere)
            for twist in common.T[:always]:
                rates = _rates(reduction.graph, part, nodes, ends, twist)
                if np.linalg.matrix_rank(np.vstack([known, rates]), tol=UNNOTICED) == len(known):
                    continue  # shorter rows move so already
                known = np.vstack([known, rates])
                edges = [reduction.graph.edges[e] for end in ends for e in end]
                axis = screw.axis_of(twist)[0]
                bodies = [n for n in nodes if reduction.graph.members[n]]
                massive = [n for n in bodies if not _is_frame(reduction.graph, n)]
                yield PassiveBody(
                    tuple(reduction.graph.nodes[n] for n in massive or bodies),
                    tuple(dict.fromkeys(edge.joint.name for edge in edges)),
                    -axis if screw.points_back(axis) else axis,
                    not np.any(twist[3:]),
                )


def spinning(
    graph: Graph, edges: Sequence[EdgeId], screws: Mapping[EdgeId, Space], rtol: float
) -> Iterator[tuple[tuple[NodeId, ...], tuple[End, ...], Space]]:
    """Return rows of bodies that can move alone: nodes, joints at their ends, screws."""
    mechanism = graph.mechanism
    meant = {name for each in mechanism.couplings for name, _, _ in each.terms}
    meant |= {each.joint for each in mechanism.actuators}
    own = {e: graph.edges[e].joint for e in edges}
    driven = {e for e, joint in own.items() if joint.actuated or joint.name in meant}
    balls = dict(balls_of(graph, [e for e in edges if e not in driven], screws, rtol))
    for nodes, single in sorted(_rows(graph, edges), key=lambda row: len(row[0])):
        ends = [_outwards(graph, balls.get(e, (e,)), nodes) for e in single]
        if driven.intersection(single) or any(
            (len(end) == 1 and graph.edges[end[0]].joint.freedoms < 2) or not end for end in ends
        ):
            continue
        common = _common(ends, screws, rtol)
        if common.shape[1] and not _guided(graph, nodes, ends, common):
            yield nodes, tuple(ends), common


def _guided(graph: Graph, nodes: tuple[NodeId, ...], ends: Sequence[End], common: Space) -> bool:
    """Say whether one neighbouring body alone guides a body, by more than spherical joints."""
    around: set[NodeId] = set()
    for end in ends:
        far: set[NodeId] = set()
        for e in end:  # what lies between hinges that are one joint is met twice
            joint = graph.edges[e].joint
            far ^= {graph.node_of[joint.parent], graph.node_of[joint.child]}
        around |= far
    bodies = {node for node in nodes if graph.members[node]}
    kinds = {graph.edges[end[0]].joint.kind for end in ends if len(end) == 1}
    spins = kinds <= {"spherical"} and common.shape[1] == 1
    return len(around - bodies) == len(bodies) == 1 and not spins


def balls_of(
    graph: Graph, edges: Sequence[EdgeId], screws: Mapping[EdgeId, Space], rtol: float
) -> Iterator[tuple[EdgeId, End]]:
    """Find three hinges that stand for a ball in a row of massless frames, each with all three."""
    hinges = {e for e in edges if graph.edges[e].joint.kind in ("revolute", "continuous")}
    inner = {
        node
        for e in hinges
        for node in (graph.edges[e].parent, graph.edges[e].child)
        if len(graph.adjacency[node]) == 2 and hinges.issuperset(graph.adjacency[node])
        if node != graph.ground and _is_frame(graph, node)
    }
    for middle in sorted(hinges):
        ends = (graph.edges[middle].parent, graph.edges[middle].child)
        if not inner.issuperset(ends):
            continue
        first, last = (next(e for e in graph.adjacency[n] if e != middle) for n in ends)
        row = (first, middle, last)
        outer = (graph.edges[first].other(ends[0]), graph.edges[last].other(ends[1]))
        if first == last or inner.intersection(outer):
            continue
        twists = np.hstack([screws[e] for e in row])
        # Through one point where some p has v = p × ω for all three.
        lever = np.vstack([-screw.cross_matrix(twist[3:]) for twist in twists.T])
        arms = twists[:3].T.ravel()
        point = np.linalg.lstsq(lever, arms, rcond=None)[0]
        met = np.linalg.norm(lever @ point - arms) <= rtol * max(1.0, float(np.linalg.norm(arms)))
        axes = twists[3:].T
        # Axes at other angles are a leg of a spherical mechanism, with less than all attitudes.
        across = np.abs(axes[1] @ axes[::2].T).max() <= rtol
        if met and across:
            yield from ((e, row) for e in row)


def _is_frame(graph: Graph, node: NodeId) -> bool:
    """Say whether the body of a node has neither mass nor shape."""
    bodies = (graph.mechanism.body(name) for name in graph.members[node])
    return all(
        not body.geometry and (body.inertia is None or body.inertia.mass <= WEIGHTLESS)
        for body in bodies
    )


def _outwards(graph: Graph, row: End, nodes: tuple[NodeId, ...]) -> End:
    """Order the edges of a joint at an end of some nodes outwards; none where they end inside."""
    for edges in (row, row[::-1]):
        touched = [{graph.edges[e].parent, graph.edges[e].child} for e in edges]
        if touched[0].intersection(nodes) and not set().union(*touched[1:]).intersection(nodes):
            return edges
    return ()


def _rows(
    graph: Graph, edges: Sequence[EdgeId]
) -> Iterator[tuple[tuple[NodeId, ...], tuple[EdgeId, ...]]]:
    """Yield bodies in series that only the joints at their ends hold, with these joints."""
    inside = {e for e in edges if graph.edges[e].freedoms}
    every = {n for e in edges for n in (graph.edges[e].parent, graph.edges[e].child)}
    free = {n for n in every - {graph.ground} if set(graph.adjacency[n]) <= inside}
    for node in sorted(free):
        if len(graph.adjacency[node]) > 2:
            yield (node,), tuple(graph.adjacency[node])
    for first in sorted(inside):
        for node in (graph.edges[first].parent, graph.edges[first].child):
            row, last = [node], first
            while row[-1] in free and len(graph.adjacency[row[-1]]) == 2:
                last = next(e for e in graph.adjacency[row[-1]] if e != last)
                if last == first:
                    break
                # Each row is met from both its ends.
                if first < last and any(graph.members[n] for n in row):
                    yield tuple(row), (first, last)
                row.append(graph.edges[last].other(row[-1]))


def _elsewhere(reduction: Reduction, part: Block) -> list[dict[EdgeId, Space]]:
    """Return the joint screws of a block at five configurations along its motion."""
    graph, loops = reduction.graph, reduction.loops
    cell = reduction.cell_at[part.edges[0]]
    picked = np.linspace(0, len(cell.configurations) - 1, 5).astype(int)
    q = np.repeat(reduction.q[None], len(picked), axis=0)
    q[:, graph.columns(cell.edges)] = cell.configurations[picked]
    screws = loops.measured(part.length, part.center).scaled(loops.state(q).screws)
    return [{e: own[loops.local(e)].T for e in part.edges} for own in screws]


def _common(ends: Sequence[End], screws: Mapping[EdgeId, Space], rtol: float) -> Space:
    """Return the twists that the joints at all ends allow, translations first."""
    common = subalgebra.FULL
    for end in ends:
        space = subalgebra.span(np.hstack([screws[e] for e in end]))
        common = subalgebra.intersection(common, space, rtol)
    shifts = np.array(subalgebra.intersection(common, subalgebra.FULL[:, :3], rtol))
    shifts[3:] = 0.0
    turns = subalgebra.span(subalgebra.residual(shifts, common)) if shifts.size else common
    return np.hstack([shifts, turns])


def _rates(
    graph: Graph, part: Block, nodes: tuple[NodeId, ...], ends: Sequence[End], twist: Twist
) -> Rates:
    """Return the rates of all coordinates while a row of bodies moves alone by a twist."""
    rates = np.zeros(graph.freedoms)
    for end in ends:
        space = np.hstack([part.screws[e] for e in end])
        own, near = np.linalg.lstsq(space, twist, rcond=None)[0], set(nodes)
        for e in end:
            edge = graph.edges[e]
            values, own = own[: edge.freedoms], own[edge.freedoms :]
            rates[list(edge.columns)] = values if edge.child in near else -values
            near |= {edge.parent, edge.child}
    return rates
