"""Why a constraint equation can never matter: the joints that fulfil it already.

A direction of the closing joint is redundant when no relative twist of its two bodies has a
component along it. The shortest proof is looked for: the motion algebra of all other joints of the
loop, then the algebras of two chains into which a body of the loop splits them. Where neither is
enough, the other loops of the component take part in the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regularize.lie.directions import TOLERANCE
from regularize.lie.motion_type import GeneratedAlgebra, MotionType
from regularize.lie.screw import Array
from regularize.mechanism.graph import EdgeId, Graph
from regularize.reduction.block import Block
from regularize.reduction.cuts import Cut


@dataclass(frozen=True, eq=False)
class FixingChain:
    """Joints in a row and the motion that they generate.

    Attributes:
        joints: Names of the joints.
        motion: Their motion algebra, in the scaled coordinates of the part.
    """

    joints: tuple[str, ...]
    motion: MotionType


def causes(
    graph: Graph, part: Block, cut: Cut, edges: tuple[EdgeId, ...], covector: Array, rtol: float
) -> tuple[FixingChain, ...]:
    """The chains of a loop that together never move along a covector.

    Edges are those of the loop from one side of the cut to the other, without the cut; the covector
    is in the scaled coordinates of the part, shape (6,).

    Returns:
        One chain, two, or none where the loop alone does not prove it.
    """
    for chains in _partitions(edges):
        algebras = [_algebra(part, chain, rtol) for chain in chains]
        if max(np.max(np.abs(covector @ a.basis), initial=0.0) for a in algebras) < TOLERANCE:
            return tuple(
                FixingChain(
                    tuple(dict.fromkeys(graph.edges[e].joint.name for e in chain)),
                    algebra.type,
                )
                for chain, algebra in zip(chains, algebras, strict=True)
            )
    return ()


@lru_cache(maxsize=32)  # all directions of a cut are looked for in the same chains
def _algebra(part: Block, chain: tuple[EdgeId, ...], rtol: float) -> GeneratedAlgebra:
    """The motion algebra of some joints of a part in a row."""
    return GeneratedAlgebra(np.hstack([part.screws[e] for e in chain]), rtol)


def _partitions(edges: tuple[EdgeId, ...]) -> Iterator[tuple[tuple[EdgeId, ...], ...]]:
    """The chain as a whole, then its splits at a body, the most even ones first."""
    yield (edges,)
    middle = len(edges) / 2
    for k in sorted(range(1, len(edges)), key=lambda k: abs(k - middle)):
        yield edges[:k], edges[k:]
