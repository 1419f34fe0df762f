"""The rank of a graph's closure equations for unrelated axes: exact, over a large prime field.

Every joint is put at a random place in a random attitude, with coordinates that are remainders of a
prime number. No rank can be larger than the generic one, in whatever field; so the rank that is
found is a proof that joints of these kinds in this graph can have that many independent equations.
It is smaller than the generic rank only where the random numbers are a root of a polynomial, of
which there are few: with a probability below (number of equations)² / prime.

A joint keeps what makes its kind: its axes relative to each other, and its pitches. A pin or a ball
in which several bodies meet is a multiple joint, which keeps its one axis or centre.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.arrays import Space
from regularize.mechanism.cycles import Cycle
from regularize.mechanism.graph import DisjointSets, Edge, EdgeId, Graph, NodeId
from regularize.tolerances import UNNOTICED

#: A Mersenne prime: products of two remainders fit into 64 bits.
PRIME = 2**31 - 1
#: Numbers of a joint's own geometry, such as pitches in sizes of the block, count in such parts.
DIGITS = 10**6
#: Remainders modulo the prime.
Remainders: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class GenericRank:
    """Rank of the closure equations of a graph's loops where joint axes are unrelated."""

    rank: int
    equations: int  # six per loop
    freedoms: int  # of all joints of the loops
    prime: int = PRIME

    @property
    def mobility(self) -> int:
        """Freedoms of motion that the graph has for unrelated axes."""
        return self.freedoms - self.rank


def generic_rank(
    graph: Graph, cycles: Sequence[Cycle], screws: Mapping[EdgeId, Space], seed: int, rtol: float
) -> GenericRank:
    """Count independent closure equations with joints at random places, multiple ones kept."""
    rng = np.random.default_rng(seed)
    edges = [graph.edges[e] for e in screws]
    together = DisjointSets[str](edge.joint.name for edge in edges)
    welded = DisjointSets[NodeId]()
    for edge in (edge for edge in edges if not edge.freedoms):
        welded.union(edge.parent, edge.child)  # a format of trees closes loops so
    for a, b in combinations((edge for edge in edges if not edge.split), 2):
        ends = [{welded[each.parent], welded[each.child]} for each in (a, b)]
        if len(ends[0] & ends[1]) == 1 and _one_pin(a, b, screws, rtol):
            together.union(a.joint.name, b.joint.name)
    placements, columns = dict[str, Remainders](), dict[EdgeId, Remainders]()
    for edge in edges:
        place = together[edge.joint.name]
        if place not in placements:
            placements[place] = _random_adjoint(rng)
        columns[edge.index] = np.asarray(placements[place] @ _own_screws(edge) % PRIME, np.int64)
    rows = [np.hstack([c.direction(graph, e) * Z for e, Z in columns.items()]) for c in cycles]
    matrix = np.vstack(rows) % PRIME
    return GenericRank(rank_modulo(matrix), *matrix.shape)


def _one_pin(a: Edge, b: Edge, screws: Mapping[EdgeId, Space], rtol: float) -> bool:
    """Return whether two joints are of one kind, and have one axis, or one centre."""
    Z, W = screws[a.index], screws[b.index]
    if a.joint.kind != b.joint.kind or not np.any(Z[3:]):
        return False
    Q, P = np.linalg.qr(Z)[0], np.linalg.qr(W)[0]
    return bool(np.linalg.norm(P - Q @ (Q.T @ P)) <= rtol)


def _own_screws(edge: Edge) -> Remainders:
    """Return an edge's screws as integers in a frame in which standard joints have 0 and 1."""
    every = edge.joint.screws
    directions = [unit[3:] if unit[3:].any() else unit[:3] for unit in every.T]
    z = screw.unit(directions[0]) if directions else np.eye(3)[2]
    beside = [d - (d @ z) * z for d in directions]
    x = next((d for d in beside if np.linalg.norm(d) > UNNOTICED), None)
    x = np.linalg.svd(z[None])[2][1] if x is None else screw.unit(x)
    R = np.stack([x, screw.cross(z, x), z])
    own = screw.adjoint(screw.transform(R)) @ edge.screws
    return np.asarray(np.round(own * DIGITS).astype(np.int64).astype(object))  # sums grow long


def _random_adjoint(rng: np.random.Generator) -> Remainders:
    """Draw a rigid motion over the prime field; return how it carries screws, shape (6, 6)."""
    # Cayley: (1 - A)⁻¹ (1 + A) of a skew matrix A, written out without divisions but one.
    a, b, c, *shift = (int(x) for x in rng.integers(1, PRIME, size=6))
    scale = pow((1 + a * a + b * b + c * c) % PRIME, -1, PRIME)
    turn = [
        [1 + a * a - b * b - c * c, 2 * (a * b - c), 2 * (a * c + b)],
        [2 * (a * b + c), 1 - a * a + b * b - c * c, 2 * (b * c - a)],
        [2 * (a * c - b), 2 * (b * c + a), 1 - a * a - b * b + c * c],
    ]
    R = np.array([[x * scale % PRIME for x in row] for row in turn], dtype=object)
    x, y, z = shift
    across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)
    result = np.zeros((6, 6), dtype=object)
    result[:3, :3] = result[3:, 3:] = R
    result[:3, 3:] = across @ R
    return result % PRIME


def rank_modulo(matrix: Remainders, prime: int = PRIME) -> int:
    """Return the rank of a matrix of remainders modulo a prime below 2³¹, by elimination."""
    rest = np.array(matrix % prime, dtype=np.int64)
    rank = 0
    for column in range(rest.shape[1]):
        below = rank + np.flatnonzero(rest[rank:, column])
        if not below.size:
            continue
        rest[[rank, below[0]]] = rest[[below[0], rank]]
        pivot = rest[rank, column:] * pow(int(rest[rank, column]), -1, prime) % prime
        others = below[1:]
        factors = rest[others, column][:, None]
        rest[others, column:] = (rest[others, column:] - factors * pivot) % prime
        rank += 1
        if rank == len(rest):
            break
    return rank
