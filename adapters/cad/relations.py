"""Gears, racks and screws between two bodies, as rows on the coordinates of joints.

CAD systems relate two *bodies*; a coupling relates joint coordinates. So the joints that lead from
one body to the other are looked up, and the relation becomes a coupling where it is linear in
their coordinates, wherever they stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from regularize.adapters.common.draft import Side, Terms
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import relative_pose
from regularize.mechanism.mechanism import Joint

#: Longest chain of joints that is looked through.
LONGEST = 6
#: Chains looked through before a relation is given up.
CHAINS = 200
#: Step of the coordinates at which linearity is checked, in radians and metres.
STEP = 0.05
TOLERANCE = 1e-9
#: How far the cosine of two parallel axes may be from 1.
PARALLEL = 1e-6
#: Freedom that turns, of the joints that gears turn on.
TURNING = {"revolute": 0, "cylindrical": 1}


@dataclass(frozen=True, eq=False)
class Relation:
    """One equation between the poses of two bodies."""

    name: str  # name in the user's model
    kind: str  # ``gear``, ``rack`` or ``screw``
    first: Side
    second: Side  # body of frame J: the second gear, the pinion, or the bolt; and frame J on it
    values: tuple[float, ...]
    source: Source | None = None  # where it stands

    def swapped(self) -> Relation:
        """The same relation with the bodies in each other's place."""
        return replace(self, first=self.second, second=self.first)


Chain = list[tuple[Joint, int]]


def resolve(relation: Relation, joints: Sequence[Joint]) -> Terms | None:
    """The coordinates that a relation couples; None if no chain of joints makes it linear."""
    for chain in _chains(relation, joints):
        terms = (_gear_terms if relation.kind == "gear" else _linear_terms)(relation, chain)
        if terms:
            return tuple(terms)
    return None


def _chains(relation: Relation, joints: Sequence[Joint]) -> Iterator[Chain]:
    """Chains of joints from body I to body J, shortest first; sign +1 from parent to child."""
    import networkx as nx  # needed by relations alone

    graph: Any = nx.MultiGraph()
    for joint in joints:
        graph.add_edge(joint.parent, joint.child, key=joint.name, joint=joint)
    if relation.first[0] not in graph or relation.second[0] not in graph:
        return
    found = []
    ends = relation.first[0], relation.second[0]
    paths: Any = nx.all_simple_edge_paths(graph, *ends, cutoff=LONGEST)
    for path, _ in zip(paths, range(CHAINS), strict=False):
        chain: Chain = []
        for start, end, name in path:
            joint = graph.get_edge_data(start, end, name)["joint"]
            chain.append((joint, 1 if joint.parent == start else -1))
        found.append(chain)
    yield from sorted(found, key=lambda c: (sum(joint.freedoms for joint, _ in c), len(c)))


def _pose(chain: Chain, q: Array) -> Array:
    """Last body of a chain seen from its first one, shape (4, 4)."""
    T, start = np.eye(4), 0
    for joint, sign in chain:
        step = relative_pose(joint, q[start : start + joint.freedoms])
        T, start = T @ (step if sign == 1 else inverse(step)), start + joint.freedoms
    return T


def _linear_terms(relation: Relation, chain: Chain) -> list[tuple[str, int, float]] | None:
    """Coefficients of the coordinates, if the relation is linear in them; else None."""
    places = [(joint.name, k) for joint, _ in chain for k in range(joint.freedoms)]
    q0 = np.concatenate([np.zeros(0), *(joint.position for joint, _ in chain)])

    def value(q: Array) -> Array:
        T = inverse(relation.first[1]) @ _pose(chain, q) @ relation.second[1]
        return _measure(relation, T)

    rng = np.random.default_rng(0)
    starts = [q0, *(q0 + rng.uniform(-0.5, 0.5, size=len(q0)) for _ in range(3))]
    rows = [_slopes(value, q, relation) for q in starts]
    size = float(np.max(np.abs(rows[0]), initial=0.0))
    if size == 0.0 or any(np.max(np.abs(row - rows[0])) > TOLERANCE * size for row in rows):
        return None
    terms = [
        (*place, float(coefficient))
        for place, coefficient in zip(places, rows[0], strict=True)
        if abs(coefficient) > TOLERANCE * size
    ]
    return terms if len(terms) >= 2 else None


def _measure(relation: Relation, T_i_j: Array) -> Array:
    """Distance travelled and angle turned, of which the relation is a combination, shape (2,)."""
    axis = 0 if relation.kind == "rack" else 2
    return np.array([T_i_j[axis, 3], math.atan2(T_i_j[1, 0], T_i_j[0, 0])])


def _slopes(value: Callable[[Array], Array], q: Array, relation: Relation) -> Array:
    """Change of the relation per unit of each coordinate, by steps that are not small."""
    (amount,) = relation.values[:1]
    weights = np.array([1.0, amount] if relation.kind == "rack" else [2 * math.pi, -amount])
    slopes = []
    for direction in np.eye(len(q)):
        change = value(q + STEP * direction) - value(q - STEP * direction)
        change[1] = math.remainder(change[1], 2 * math.pi)
        slopes.append(weights @ change / (2 * STEP))
    return np.array(slopes)


def _gear_terms(relation: Relation, chain: Chain) -> list[tuple[str, int, float]] | None:
    """Coefficients of two gears that turn about parallel axes in one carrier."""
    if sum(joint.freedoms > 0 for joint, _ in chain) != 2:
        return None
    backwards = [(joint, -sign) for joint, sign in reversed(chain)]
    terms = []
    for (_, T_body_gear), way, radius in zip(
        (relation.first, relation.second), (chain, backwards), relation.values, strict=True
    ):
        fixed = [*takewhile(lambda step: not step[0].freedoms, way)]
        joint, sign = way[len(fixed)]  # it turns the gear, or what carries it
        k = TURNING.get(joint.kind)
        if k is None:
            return None
        frame = _pose(fixed, np.zeros(0)) @ (
            joint.T_parent_joint if sign == 1 else joint.T_child_joint
        )
        along = float(frame[:3, :3] @ joint.screws[3:, k] @ T_body_gear[:3, 2])
        if abs(abs(along) - 1.0) > PARALLEL:
            return None
        terms.append((joint.name, k, -sign * round(along) * radius))
    return terms
