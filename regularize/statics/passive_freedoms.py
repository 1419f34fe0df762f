"""Passive freedoms: legs that spin or slide within their joints while nothing else moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.screw import Array
from regularize.mechanism.graph import EdgeId, Graph, NodeId
from regularize.reduction.block import Block
from regularize.reduction.reduce import Reduction
from regularize.tolerances import UNNOTICED


@dataclass(frozen=True, eq=False)
class PassiveBody:
    """One body, or several in a row that move as one, with a freedom of their own.

    Attributes:
        bodies: Names of the bodies in the order of the leg.
        joints: Joints at its ends.
        axis: Direction of the line at the assembled pose, world frame, shape (3,).
        slides: Whether it slides along the line; it spins about it otherwise.
    """

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    axis: Array
    slides: bool = False

    @property
    def name(self) -> str:
        """Names of the bodies, for example ``cylinder and piston``."""
        *others, last = self.bodies
        return f"{', '.join(others)} and {last}" if others else last


def passive_bodies(reduction: Reduction) -> Iterator[PassiveBody]:
    """Bodies of loops that can move while all their neighbours stand still, wherever these are.

    What a row of bodies can do by itself with the joints inside it at rest is the intersection of
    the screw spaces of the joints at its ends: the line of the balls of a leg S-P-S or S-U-S. A
    body with more than two joints has the intersection of all. A joint of one freedom is there for
    it, and so is a motor: what they turn or shift is no passive freedom. Nor is what a
    body does that one other body alone guides, as columns guide the ram of a press: it moves for
    its own sake, but for the spin of a rod between two balls.
    """
    if not reduction.assembly.closed:
        return
    for part in reduction.parts:
        elsewhere: list[dict[EdgeId, Array]] | None = None
        known = np.zeros((0, reduction.freedoms))
        here = spinning(reduction.graph, part.edges, part.screws, reduction.tolerances.rtol)
        for nodes, ends, common in here:
            elsewhere = _elsewhere(reduction, part) if elsewhere is None else elsewhere
            spaces = ([screws[e] for e in ends] for screws in elsewhere)
            always = min(_common(each, reduction.tolerances.rtol).shape[1] for each in spaces)
            for twist in common.T[:always]:
                rates = _rates(reduction.graph, part, nodes, ends, twist)
                if np.linalg.matrix_rank(np.vstack([known, rates]), tol=UNNOTICED) == len(known):
                    continue  # shorter rows move so already
                known = np.vstack([known, rates])
                edges = [reduction.graph.edges[e] for e in ends]
                axis = screw.axis_of(twist)[0]
                yield PassiveBody(
                    tuple(reduction.graph.nodes[n] for n in nodes if reduction.graph.members[n]),
                    tuple(dict.fromkeys(edge.joint.name for edge in edges)),
                    -axis if screw.points_back(axis) else axis,
                    not np.any(twist[3:]),
                )


def spinning(
    graph: Graph, edges: Sequence[EdgeId], screws: Mapping[EdgeId, Array], rtol: float
) -> Iterator[tuple[tuple[NodeId, ...], tuple[EdgeId, ...], Array]]:
    """Rows of bodies that can move while their neighbours stand still, at one configuration.

    Args:
        graph: The mechanism's graph.
        edges: Edges of the loops.
        screws: Scaled screws of each, shape (6, f).
        rtol: Tolerance of what the joints have in common.

    Yields:
        The nodes, the edges at their ends and the screws of what they can do, shape (6, k),
        shortest rows first.
    """
    mechanism = graph.mechanism
    meant = {name for each in mechanism.couplings for name, _, _ in each.terms}
    meant |= {each.joint for each in mechanism.actuators}
    for nodes, ends in sorted(_rows(graph, edges), key=lambda row: len(row[0])):
        joints = [graph.edges[e].joint for e in ends]
        if any(j.freedoms < 2 or j.actuated or j.name in meant for j in joints):
            continue
        around = {graph.node_of[body] for joint in joints for body in (joint.parent, joint.child)}
        bodies = {node for node in nodes if graph.members[node]}
        if len(around - bodies) == len(bodies) == 1 and any(j.kind != "spherical" for j in joints):
            continue
        common = _common([screws[e] for e in ends], rtol)
        if common.shape[1]:
            yield nodes, ends, common


def _rows(
    graph: Graph, edges: Sequence[EdgeId]
) -> Iterator[tuple[tuple[NodeId, ...], tuple[EdgeId, ...]]]:
    """Nodes in a row that nothing else holds than the edges at its ends, and these edges."""
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


def _elsewhere(reduction: Reduction, part: Block) -> list[dict[EdgeId, Array]]:
    """Screws of a block at configurations of the walk: what meets at all of them meets always."""
    graph, loops = reduction.graph, reduction.loops
    cell = part.cell_of(reduction.cells)
    picked = np.linspace(0, len(cell.configurations) - 1, 5).astype(int)
    q = np.repeat(reduction.q[None], len(picked), axis=0)
    q[:, graph.columns(cell.edges)] = cell.configurations[picked]
    screws = loops.measured(part.length, part.center).scaled(loops.state(q).screws)
    return [{e: own[loops.local(e)].T for e in part.edges} for own in screws]


def _common(spaces: list[Array], rtol: float) -> Array:
    """What some screw spaces have in common, translations first, shape (6, k)."""
    common = subalgebra.FULL
    for space in spaces:
        common = subalgebra.intersection(common, subalgebra.span(space), rtol)
    shifts = np.array(subalgebra.intersection(common, subalgebra.FULL[:, :3], rtol))
    shifts[3:] = 0.0
    turns = subalgebra.span(subalgebra.residual(shifts, common)) if shifts.size else common
    return np.hstack([shifts, turns])


def _rates(
    graph: Graph, part: Block, nodes: tuple[NodeId, ...], ends: tuple[EdgeId, ...], twist: Array
) -> Array:
    """Rates of all coordinates while a row moves by itself, shape (n,)."""
    rates = np.zeros(graph.freedoms)
    for e in ends:
        edge = graph.edges[e]
        own = np.linalg.lstsq(part.screws[e], twist, rcond=None)[0]
        rates[list(edge.columns)] = own if edge.child in nodes else -own
    return rates
