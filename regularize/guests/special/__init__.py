"""Linkages of special lengths: the prover tries whether loops are one of these.

In the focal mechanism of Kempe and Burmester a four-bar A, B, C, D carries on each side a hinge, P,
Q, R, S, and four links join these in one axis F. Points of the plane are numbers x + yj. The
quadrilateral F, R, C, Q mirrors A, P, F, S, and F, S, D, R mirrors B, Q, F, P; so with A = 0 and
B = bP all follow from P, F, the factor m of the first similarity and b:

    R = F + m P',  C = F + m F',  Q = F + m S',  S = F + n (Q - B)',  D = F + n (F - B)',

a prime for the conjugate, n = m / (1 - b).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from regularize.guests.special.planar import Complex, Plane, similar_triangles
from regularize.guests.special.symmetric import schatz, symmetric
from regularize.lie.arrays import Array
from regularize.lie.motion_type import motion_type
from regularize.mechanism.graph import DisjointSets, EdgeId, Graph, NodeId
from regularize.proofs.geometry import equal_bars, integral, with_parallel_bars
from regularize.proofs.incidence import cross, dot, simplest
from regularize.proofs.prove import Found, exact_geometries
from regularize.proofs.verifier import Space, distance
from regularize.reduction.block import Block


def of_hinges(graph: Graph, part: Block, within: float, rounding: float) -> Iterator[Found]:
    """Yield linkages of hinges that are known by where all axes are, with exact axes near them.

    Relations within ``within``, in radians and parts of the size, are taken to be meant, and
    numbers moved to simpler ones by ``rounding``.
    """
    rigid = {e: () for e, s in part.screws.items() if not s.size}
    moving = {e: s for e, s in part.screws.items() if s.size}
    if {motion_type(np.linalg.qr(s)[0], within).name for s in moving.values()} != {"revolute"}:
        return
    if len(part.cycles) > 1:
        exact = focal(graph, part, within, rounding)
        if exact is not None:
            yield "focal mechanism", exact | rigid
        return
    edges = [e for e in part.cycles[0].edges if e in moving]
    axes = [part.screws[e][:, 0] / np.linalg.norm(part.screws[e][3:, 0]) for e in edges]
    for search in (symmetric, schatz):
        for name, lines in search(axes, within, rounding):
            rows = [integral([[*line[5:], *line[1:4]]]) for line in lines]
            off = [distance([*axis], row) for axis, row in zip(axes, rows, strict=True)]
            if max(off) <= within:
                yield name, dict(zip(edges, rows, strict=True)) | rigid


def of_similar_triangles(
    graph: Graph, part: Block, within: float, rounding: float
) -> Iterator[Found]:
    """Yield exact parallel hinges with similar triangles near those of a part."""
    for freedoms in exact_geometries(graph, part, within, rounding):
        equal = with_parallel_bars(freedoms, equal_bars(freedoms, within))
        exact = similar_triangles(equal, within, rounding)
        if exact is not None:
            yield "similar triangles", exact


def focal(graph: Graph, part: Block, within: float, rounding: float) -> dict[EdgeId, Space] | None:
    """Return exact hinges of a focal mechanism; None where the part, of hinges alone, is none."""
    roles = _roles(graph, part, within)
    if roles is None:
        return None
    axes = {e: s[:, 0] / np.linalg.norm(s[3:, 0]) for e, s in part.screws.items() if s.size}
    first = axes[min(axes)][3:]
    a, b, c = (simplest(float(x), rounding) for x in first / np.abs(first).max())
    n = (a, b, c)
    plane, square = Plane(n), dot(n, n)

    def measured(role: str) -> Array:
        axis = axes[roles[role][0]]
        return np.cross(axis[3:], axis[:3])

    origin = measured("A")
    P, F, R = (plane.number(measured(role) - origin, rounding) for role in "PFR")
    factor = (R - F) / P.mirrored
    far, near = measured("B") - origin, measured("P") - origin
    one = Complex(Fraction(1), Fraction(0), square)
    bar = Complex(simplest(float(far @ near / (near @ near)), rounding), Fraction(0), square)
    m = Complex(simplest(float(factor.x), rounding), simplest(float(factor.y), rounding), square)
    B, k = bar * P, m / (one - bar)
    S = (F + k * (F.mirrored - B.mirrored)) / (one - k * m.mirrored)
    Q = F + m * S.mirrored
    places = {"A": P - P, "B": B, "P": P, "F": F, "S": S, "Q": Q}
    places |= {"R": F + m * P.mirrored, "C": F + m * F.mirrored}
    places["D"] = F + k * (F - B).mirrored
    height = simplest(float(np.array(n, float) @ origin) / float(square), rounding)
    foot = plane.number(origin, rounding)
    found: dict[EdgeId, Space] = {}
    for role, edges in roles.items():
        x, y, z = plane.vector(places[role] + foot)
        point = (x + height * a, y + height * b, z + height * c)
        found |= dict.fromkeys(edges, integral([[*cross(point, n), *n]]))
    off = [distance([*axes[e]], space) for e, space in found.items()]
    return found if max(off) <= within else None


def _roles(graph: Graph, part: Block, within: float) -> dict[str, Sequence[EdgeId]] | None:
    """Tell which hinges are A, B, C and D, which P, Q, R and S, and which three are F."""
    turning = {e: s for e, s in part.screws.items() if s.size}
    rigid = DisjointSets[NodeId]()  # what is welded is one body
    for edge in (graph.edges[e] for e in part.screws.keys() - turning.keys()):
        rigid.union(edge.parent, edge.child)
    pairs = {e: (graph.edges[e].parent, graph.edges[e].child) for e in turning}
    hinges = {e: frozenset((rigid[a], rigid[b])) for e, (a, b) in pairs.items()}
    points = {e: np.cross(s[3:, 0], s[:3, 0]) for e, s in turning.items()}
    together = [
        [o for o in hinges if np.linalg.norm(points[o] - points[e]) <= within] for e in hinges
    ]
    center = next((group for group in together if len(group) == 3), None)
    if center is None or len(hinges) != 11:
        return None

    import networkx as nx  # slow to load, and needed by few mechanisms

    links = frozenset().union(*(hinges[e] for e in center))
    ring: nx.Graph[int] = nx.Graph()
    legs: dict[int, EdgeId] = {}
    for e, ends in hinges.items():
        if e in center:
            continue
        if ends & links:
            for body in ends - links:
                legs[body] = e
        else:
            ring.add_edge(*ends, hinge=e)
    if len(links) != 4 or len(legs) != 4 or sorted(d for _, d in ring.degree) != [2] * 4:
        return None
    sides = [one for one, _ in nx.find_cycle(ring)]
    corners = [ring.edges[sides[i - 1], sides[i]]["hinge"] for i in range(4)]
    found: dict[str, Sequence[EdgeId]] = {"F": center}
    found |= {name: [corners[i]] for i, name in enumerate("ABCD")}
    return found | {name: [legs[sides[i]]] for i, name in enumerate("PQRS")}


#: What the prover tries, in this order.
FAMILIES = (of_hinges, of_similar_triangles)
