"""Platforms: bodies that several legs hold, and what robotics calls their motions.

Names are 3T, 2R1T or 3T1R (Kong and Gosselin, Type Synthesis of Parallel Mechanisms, 2007); motions
that go along with others (parasitic ones) do not count. Where the legs' common group leaves it no
more freedoms than it has, the name holds everywhere; else it is what was seen off the pose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from typing import Any, Literal

from regularize.escape import displayed_name
from regularize.lie import subalgebra
from regularize.loops.kinematics import center_and_length
from regularize.mechanism.cycles import MANY_LOOPS
from regularize.mechanism.graph import DisjointSets, EdgeId, NodeId, loop_count
from regularize.reduction.reduce import Reduction
from regularize.report.motion import BodyMotion, moving
from regularize.words import LISTED, counted


@dataclass(frozen=True)
class PlatformMotion:
    """The rotations and translations of a platform held by legs."""

    body: str
    legs: int
    rotations: int
    translations: int
    evidence: Literal["proved", "moved"]
    configurations: int
    component: int = 1  # as numbered for ``Reduction.on_branch``
    only: bool = True  # whether no other component is known at the assembled pose

    @property
    def _parts(self) -> list[tuple[int, str]]:
        """Return the nonzero numbers of translations and rotations, the larger first."""
        parts = [(self.translations, "translation"), (self.rotations, "rotation")]
        return sorted((part for part in parts if part[0]), key=lambda part: -part[0])

    @property
    def name(self) -> str:
        """Return a short name such as ``2R1T``, the more frequent kind of motion first."""
        return "".join(f"{count}{noun[0].upper()}" for count, noun in self._parts)

    @property
    def words(self) -> str:
        """Return words such as ``Platform plate: 3T (3 translations), and never otherwise``."""
        meant = ", ".join(counted(count, noun) for count, noun in self._parts)
        where = f" at {counted(self.configurations, 'configuration')}"
        where = ", and never otherwise" if self.evidence == "proved" else where
        branch = "" if self.only else f" on branch {self.component}"
        return f"Platform {displayed_name(self.body)}: {self.name} ({meant}){branch}{where}"

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of ``platforms`` in the JSON report."""
        entry = asdict(self) | {"motion": self.name}
        entry.pop("only")
        return entry


def platforms(reduction: Reduction, bodies: Sequence[BodyMotion]) -> tuple[PlatformMotion, ...]:
    """Find the platforms on each component at the pose, unless these are too many to be listed."""
    count = len(reduction.components)
    if count == 1:
        return tuple(_platforms(reduction, bodies))
    found = list[PlatformMotion]()
    for component in range(1, count + 1) if bodies and count <= LISTED else ():
        there = _platforms(reduction, moving(reduction, component))
        found += [replace(platform, component=component, only=False) for platform in there]
    return tuple(found)


def _platforms(reduction: Reduction, bodies: Sequence[BodyMotion]) -> Iterator[PlatformMotion]:
    """Yield the platform of each part with loops: the body that most legs hold."""
    graph, by_name = reduction.graph, {entry.body: entry for entry in bodies}
    motions = {n: by_name[graph.nodes[n]] for n in graph.every_node if graph.nodes[n] in by_name}
    resting = [n for n, entry in motions.items() if not entry.freedoms and not entry.floats]
    for block in graph.blocks if motions else ():
        if loop_count(graph, block) > MANY_LOOPS:
            continue  # nobody calls a body of a net a platform
        rigid = DisjointSets[NodeId]()
        pairs = {e: (graph.edges[e].parent, graph.edges[e].child) for e in block}
        for e, pair in pairs.items():
            if not graph.edges[e].freedoms:
                rigid.union(*pair)
        ends = {n for pair in pairs.values() for n in pair}
        # That others rest than those that are fixed to the ground is seen, not proved.
        sampled = any(rigid[n] != rigid[graph.ground] for n in resting if n in ends)
        for node in resting:
            rigid.union(graph.ground, node)
        joints = {e: (rigid[a], rigid[b]) for e, (a, b) in pairs.items() if rigid[a] != rigid[b]}
        joined = Counter(n for pair in pairs.values() for n in pair)
        # Of bodies that are fixed to each other one speaks for all: that with most joints.
        bodies_with_joints = sorted((n for n in joined if n in motions), key=lambda n: joined[n])
        free = {rigid[n]: n for n in bodies_with_joints if motions[n].freedoms > 1}
        free.pop(base := rigid[graph.ground], None)
        degree = Counter(n for pair in joints.values() for n in pair)
        legs = {n: _legs(joints, base, n) for n in free if degree[n] > 2}
        ranks = {n: (len(legs[n]), motions[free[n]].freedoms) for n in legs if len(legs[n]) > 2}
        first = [n for n, rank in ranks.items() if rank == max(ranks.values())]
        if len(first) != 1 or not motions[free[first[0]]].agreed:
            continue
        body, chains = motions[free[first[0]]], legs[first[0]]
        turns, rest = body.rotations, body.freedoms - body.rotations
        proved = not sampled and _common_group(reduction, chains) == (body.freedoms, turns)
        evidence: Literal["proved", "moved"] = "proved" if proved else "moved"
        yield PlatformMotion(body.body, len(chains), turns, rest, evidence, body.seen)


def _legs(
    joints: Mapping[EdgeId, tuple[NodeId, NodeId]], base: NodeId, platform: NodeId
) -> list[list[EdgeId]]:
    """Group joints into legs: those that stay connected without base and platform."""
    ends, chains = {base, platform}, DisjointSets[NodeId]()
    for pair in joints.values():
        if not ends & {*pair}:
            chains.union(*pair)
    by_leg: dict[tuple[bool, int], list[EdgeId]] = {}
    for e, pair in joints.items():
        inner = [n for n in pair if n not in ends]
        by_leg.setdefault((True, chains[inner[0]]) if inner else (False, e), []).append(e)
    return [leg for leg in by_leg.values() if ends <= {n for e in leg for n in joints[e]}]


def _common_group(reduction: Reduction, legs: Sequence[Sequence[EdgeId]]) -> tuple[int, int]:
    """Return freedoms and rotations of the motion group that all legs allow."""
    graph, loops = reduction.graph, reduction.loops
    center, length = center_and_length(loops, reduction.q)
    screws = loops.measured(length, center).scaled(loops.state(reduction.q[None]).screws)[0].T
    columns = [[c for e in leg for c in graph.edges[e].columns] for leg in legs]
    small = reduction.tolerances.rank
    groups = [subalgebra.lie_closure(screws[:, leg_columns], small) for leg_columns in columns]
    common = reduce(partial(subalgebra.intersection, rtol=small), groups)
    return common.shape[1], subalgebra.span(common[3:], small).shape[1]
