"""Legs from point to point between two bodies, whose forces depend on each other everywhere.

Let six legs join points of two conics that a projectivity maps on each other, one on either body.
In homogeneous coordinates the points are M v and N v, v the products of second degree of two
numbers. Products of both are of fourth degree: five are independent. So the forces of six legs
depend on each other wherever the bodies are (Chasles 1861; Duporcq 1898).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from regularize.lie.arrays import Array
from regularize.mechanism.cycles import edges_at
from regularize.mechanism.graph import EdgeId, Graph, NodeId
from regularize.proofs.dual_quaternions import Exact, exact_vector
from regularize.proofs.geometry import UNITS, integral
from regularize.proofs.incidence import cross
from regularize.proofs.verifier import Space, reduced


@dataclass(frozen=True)
class Leg:
    """A chain of joints, the first of which turn about a point, the others about another one."""

    between: tuple[NodeId, NodeId]
    joints: tuple[EdgeId, ...]  # from the first body to the second
    split: int  # how many joints turn about the first point
    ends: tuple[Exact, Exact]  # both points in homogeneous coordinates

    def as_dict(self, names: dict[EdgeId, str]) -> dict[str, Any]:
        """Return the leg as the document has it."""
        sizes = [math.lcm(*(x.denominator for x in end)) for end in self.ends]
        ends = [[str(int(x * k)) for x in p] for p, k in zip(self.ends, sizes, strict=True)]
        return {"joints": [names[e] for e in self.joints], "ends": ends}


def legs_of(graph: Graph, freedoms: dict[EdgeId, Space]) -> list[Leg]:
    """Return the legs of which exact joints consist; none where there are other chains."""
    legs = []
    for between, chain in _chains(graph, [*freedoms]):
        for split in range(1, len(chain)):
            sides = chain[:split], chain[split:]
            one, two = (_center([z for e in side for z in freedoms[e]]) for side in sides)
            if one is not None and two is not None and (one != two).any():
                legs.append(Leg(between, chain, split, (one, two)))
                break
        else:
            return []
    return legs


def on_conics(
    graph: Graph, freedoms: dict[EdgeId, Space], within: float, rounding: float
) -> dict[EdgeId, Space] | None:
    """Return joints with exact legs between two conics; None where legs are none of these."""
    legs = legs_of(graph, freedoms)
    if len(legs) < 6:
        return None
    points = [np.array([leg.ends[i] for leg in legs], dtype=float)[:, :3] for i in (0, 1)]
    squares = _squares(points[0], rounding)
    if squares is None:
        return None
    exact = [_projected(squares, own, rounding) for own in points]
    moved = dict(freedoms)
    for leg, *ends in zip(legs, *exact, strict=True):
        for measured, end in zip(leg.ends, ends, strict=True):
            if np.abs((end - measured[:3]).astype(float)).max() > within:
                return None
        for i, e in enumerate(leg.joints):
            end = ends[i >= leg.split]
            ways = [[Fraction(x) for x in z[3:]] for z in freedoms[e]]
            ways = [[*unit] for unit in UNITS] if len(ways) == 3 else ways
            moved[e] = integral([[*cross(end, way), *way] for way in ways]) if ways else ()
    return moved


def _chains(
    graph: Graph, edges: Sequence[EdgeId]
) -> Iterator[tuple[tuple[NodeId, NodeId], tuple[EdgeId, ...]]]:
    """Yield the chains between the two bodies that have more joints than two, if just two have."""
    at = edges_at(graph, edges)
    ends = [node for node, own in at.items() if len(own) > 2]
    for e in at[ends[0]] if len(ends) == 2 else ():
        chain, node = [e], ends[0]
        while True:
            edge = graph.edges[chain[-1]]
            node = edge.child if node == edge.parent else edge.parent
            if node in ends:
                break
            chain += [other for other in at[node] if other != chain[-1]]
        yield (ends[0], node), tuple(chain)


def _center(screws: Sequence[Sequence[int]]) -> Exact | None:
    """Return the point, in homogeneous coordinates, that all screws leave where it is."""
    rows = []
    for screw in screws:
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            row = [0, 0, 0, screw[k]]
            row[j], row[i] = screw[3 + i], -screw[3 + j]
            rows.append(row)
    solved = reduced(rows)
    if len(solved) != 3 or not all(row[i] for i, row in enumerate(solved)):
        return None
    return np.array([*(Fraction(-row[3], row[i]) for i, row in enumerate(solved)), Fraction(1)])


def _squares(points: Array, rounding: float) -> Exact | None:
    """Return exact u², u v, v² of two numbers that tell points on a conic apart, shape (n, 3).

    They are directions, from the first point to the others; there, of the tangent.
    """
    centered = points - points.mean(axis=0)
    x, y = (centered @ np.linalg.svd(centered)[2][:2].T).T
    conic = np.linalg.svd(np.column_stack([x * x, x * y, y * y, x, y, 1 + 0 * x]))[2][-1]
    a, b, c, d, e, _ = conic
    ways = np.column_stack([x - x[0], y - y[0]])
    ways[0] = (b * x[0] + 2 * c * y[0] + e, -(2 * a * x[0] + b * y[0] + d))
    sizes = np.abs(ways).max(axis=1, keepdims=True)
    if sizes.min() == 0.0:
        return None
    pairs = [exact_vector(way, rounding) for way in ways / sizes]
    return np.array([(u * u, u * v, v * v) for u, v in pairs])


def _projected(squares: Exact, points: Array, rounding: float) -> list[Exact]:
    """Return points near given ones that are linear functions of others, homogeneously."""
    v, none = squares.astype(float), np.zeros((len(points), 9))
    rows = []
    for k in range(3):
        row = np.hstack([none, -points[:, [k]] * v])
        row[:, 3 * k : 3 * k + 3] = v
        rows.append(row)
    M = np.linalg.svd(np.vstack(rows))[2][-1].reshape(4, 3)
    exact = [exact_vector(row, rounding) for row in M / np.abs(M).max()]
    images = [np.array([row @ square for row in exact]) for square in squares]
    return [image[:3] / image[3] for image in images]
