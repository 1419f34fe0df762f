r"""Bodies that are held in a group which no leg confines them to: virtual joints and their rows.

Legs may each allow more than the group G and still agree on G alone, in every configuration. What
proves it is a statement in the other direction, of what the legs always allow. Let N be a part of a
mechanism, i and j two of its bodies, g the algebra of G, and N + G the block with a *virtual joint*
of the group between i and j (the virtual chain of Kong and Gosselin). Motion spaces reduce N + G as
any mechanism: K are its kept rows, on the joint velocities of N and those of G.

Theorem. Let the rank r of all closure equations of N at the reference pose be the number of rows in
K minus dim g, and let K have full rank there. Then j moves relative to i in G alone, on the set of
configurations that motions reach along which the equations of N keep their rank r.

Proof. M, the configurations of N with j in G, are those of N + G. Where K has full rank they form
a manifold of dimension n + dim g - (rows of K) = n - r. They are configurations of N, whose
velocities have n - r dimensions where its equations have the rank r; so near such a configuration
there are no others, and M is open in the configurations of N of that rank. It is closed, too. And K
has its full rank at each of them: its null space is part of that of N's equations, and has n - r
dimensions at least.

Rows. In the first loop of N + G that passes over the virtual joint, let the other joints form the
chain p from i to j, which K confines to a space of h + dim g dimensions. Constant covectors W on a
body k, which vanish on g and, as seen from k, on whatever the positions of the chain's joints add
to their screws, are constant rows on the velocities of p: *couplings* of its joints that hold
wherever j is in G and that say of a velocity that it is in g. If h of them are independent they say
all of it, and stand for the rows of that loop; the virtual joint is not needed any more.

A fixed choice of legs that lose a row would be false where the rows of the others coincide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Array, Coordinates, Space, read_only
from regularize.mechanism.graph import ColumnId, CouplingRow, Edge, EdgeId, Graph, NodeId
from regularize.mechanism.joint import Joint
from regularize.reduction.closed_part import ClosedPart, Closing
from regularize.reduction.propagation import MotionSpaces, Propagation, SpaceId
from regularize.tolerances import EXACT


@dataclass(frozen=True, eq=False)
class VirtualJointConstraint:
    """A body proved to move in a group relative to another one, and the rows that hold it."""

    edge: Edge  # the virtual joint between the two, beyond the edges of the graph
    space: Space  # algebra of the group, about the centre of the block, lengths scaled
    over: tuple[EdgeId, ...]  # the chain of joints whose couplings hold it
    node: NodeId  # body in whose frame the covectors are constant
    covectors: Space  # one per row
    rows: tuple[CouplingRow, ...]
    closings: tuple[Closing, ...]  # of the loops of the block with all its virtual joints


def with_virtual_joints(
    graph: Graph, wanted: Sequence[tuple[NodeId, NodeId, Space]]
) -> tuple[Graph, list[Edge]]:
    """Return the graph with a virtual joint for each (body, body, algebra), and these joints."""
    edges: list[Edge] = []
    column = graph.freedoms
    for i, j, basis in wanted:
        name = f"group of {graph.nodes[j]} against {graph.nodes[i]}"
        joint = Joint(name, graph.nodes[i], graph.nodes[j], "composite", basis)
        columns = tuple(map(ColumnId, range(column, column + basis.shape[1])))
        index = EdgeId(len(graph.edges) + len(edges))
        eye = np.eye(4)
        edges.append(Edge(index, joint, name, i, j, joint.screws, eye, eye, columns, True))
        column += len(columns)
    return replace(graph, edges=(*graph.edges, *edges), freedoms=column), edges


def constraint_of(
    graph: Graph,
    closed: ClosedPart,
    edge: Edge,
    screws: dict[EdgeId, Space],
    q: Coordinates,
    virtual: Sequence[EdgeId],
) -> VirtualJointConstraint | None:
    """Return couplings that hold a body in its group at the scaled screws, or None."""
    first = next(i for i, c in enumerate(closed.closings) if edge.index in c.cycle.edges)
    closing = closed.closings[first]
    spaces, cycle = closed.propagation.spaces, closing.cycle
    count = spaces.dimension(closing.space) - len(edge.columns)
    over = [e for e in cycle.edges if e != edge.index]
    # Rows may act on joints of the tree alone that no loop ties together without the group.
    earlier = {e for c in closed.closings[:first] for e in c.cycle.edges}
    cuts = {c.edge for c in closed.closings if c is not closing}
    free = [
        e for e in over if e not in earlier | cuts | {*virtual} and len(graph.edges[e].columns) == 1
    ]
    columns = [graph.edges[e].columns[0] for e in free]
    for node in cycle.nodes if count else cycle.nodes[:1]:
        space = unsteady(closed.propagation, cycle.edges, node, edge.index)
        W = subalgebra.complement(spaces.basis(space))
        banned = np.hstack([np.zeros((6, 0)), *(screws[e] for e in over if e not in free)])
        u, s, _ = np.linalg.svd(W.T @ banned)
        W = W @ u[:, int(np.sum(s > spaces.rtol)) :]
        signs = np.array([cycle.direction(graph, e) for e in free])
        rates = W.T @ np.hstack([np.zeros((6, 0)), *(screws[e] for e in free)]) * signs
        u, s, vt = np.linalg.svd(rates, full_matrices=False)
        if int(np.sum(s > spaces.rtol)) != count:
            continue
        rows = []
        for k, row in enumerate(_simple(vt[:count])):
            used = np.flatnonzero(row)
            name, taken = f"{edge.name}, {k + 1}", [columns[i] for i in used]
            factors, offset = tuple(row[used].tolist()), float(row[used] @ q[taken])
            name = edge.name if count == 1 else name
            rows.append(CouplingRow(name, tuple(taken), factors, offset))
        basis = read_only(spaces.basis(closed.propagation.freedoms[edge.index]))
        held = read_only(W @ u[:, :count]), tuple(rows), closed.closings
        return VirtualJointConstraint(edge, basis, tuple(over), node, *held)
    return None


def unsteady(
    propagation: Propagation, edges: Sequence[EdgeId], node: NodeId, group: EdgeId
) -> SpaceId:
    """Return the space on which covectors fixed on a body must vanish to give constant rows."""
    spaces = propagation.spaces
    space = MotionSpaces.ZERO
    for e in edges:
        Z = propagation.freedoms[e]
        choices = []
        for body in (propagation.graph.edges[e].parent, propagation.graph.edges[e].child):
            fact = propagation.fact(node, body)
            A = fact.space if fact is not None else MotionSpaces.FULL
            A = MotionSpaces.ZERO if body == node else A
            carried = spaces.carried(Z, A)
            # The virtual joint's screws count themselves: its velocities shall not appear.
            choices.append(spaces.add(carried, Z) if e == group else carried)
        space = spaces.add(space, min(choices, key=spaces.dimension))
    return space


def _simple(rows: Array) -> Array:
    """Return rows that span the same space, each with a 1 where the others have zeros."""
    rows = rows.copy()
    for k in range(len(rows)):
        at = int(np.argmax(np.abs(rows[k])))
        rows[k] /= rows[k, at]
        other_rows = np.arange(len(rows)) != k
        rows[other_rows] -= np.outer(rows[other_rows, at], rows[k])
    nearest = np.round(rows)
    return np.where(np.abs(rows - nearest) < EXACT.same, nearest, rows)
