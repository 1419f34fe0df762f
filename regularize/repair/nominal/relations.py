"""Relations between joint axes that a changed mechanism fulfils and the written one misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.loops.kinematics import LoopKinematics, State
from regularize.mechanism.graph import NodeId, joined
from regularize.tolerances import EXACT

#: Radians, or parts of the size, below which a relation is fulfilled.
SAME = EXACT.same
#: By which part of the size, and by how many radians, two axes miss a relation.
Miss: TypeAlias = Callable[[int, int], tuple[float, float]]


@dataclass(frozen=True)
class AxisRelation:
    """What has to be true of some joints, and by how many metres and radians it is missed."""

    kind: str
    joints: tuple[str, ...]
    translation: float
    rotation: float

    def as_dict(self) -> dict[str, Any]:
        """The entry of the JSON report."""
        off = {"translation_m": self.translation, "rotation_rad": self.rotation}
        return {"kind": self.kind, "joints": [*self.joints], "off": off}


@dataclass(frozen=True, eq=False)
class Axes:
    """Axes of the joints that have one axis, at the assembled pose."""

    names: tuple[str, ...]
    directions: Array
    points: Array
    bodies: tuple[frozenset[NodeId], ...]
    pitches: Array

    @classmethod
    def of(cls, loops: LoopKinematics, state: State) -> Axes:
        """Read the axes off the screws."""
        names, directions, points, bodies, pitches = [], [], [], [], []
        # What nearly parallel axes are apart is asked for where the mechanism is.
        middle = screw.adjoint(screw.transform(None, -loops.center))
        for e in loops.edges:
            edge, own = loops.graph.edges[e], state.screws[0, loops.local(e)]
            if len(own) == 1:
                axis, point, pitch = screw.axis_of(middle @ own[0])
                names.append(edge.name)
                directions.append(axis)
                points.append(np.full(3, np.nan) if point is None else point)
                bodies.append(frozenset((edge.parent, edge.child)))
                pitches.append(np.nan if pitch is None else pitch)
        places = np.array(directions), np.array(points)
        return cls(tuple(names), *places, tuple(bodies), np.array(pitches))

    def angle(self, i: int, j: int) -> float:
        """Return the angle between two axes as lines, radians."""
        across = np.linalg.norm(np.cross(self.directions[i], self.directions[j]))
        return float(np.arctan2(across, abs(self.directions[i] @ self.directions[j])))

    def cosine(self, i: int, j: int) -> float:
        """Return the cosine of the angle between two axes as lines."""
        return abs(float(self.directions[i] @ self.directions[j]))

    def gap(self, i: int, j: int) -> float:
        """Return the distance of two axes as lines, metres; not a number for slides."""
        between = self.points[j] - self.points[i]
        normal = np.cross(self.directions[i], self.directions[j])
        size = float(np.linalg.norm(normal))
        if size < SAME:
            return float(np.linalg.norm(np.cross(self.directions[i], between)))
        return float(abs(normal @ between) / size)

    def aside(self, i: int, j: int) -> float:
        """Return the distance of two axes in the middle of the mechanism, metres."""
        between = self.points[j] - self.points[i]
        return float(np.linalg.norm(np.cross(self.directions[i], between)))

    def off_plane(self, group: Sequence[int], length: float) -> tuple[float, float]:
        """Return by how much axes miss the plane next to them, in metres and radians."""
        directions, points = self.directions[list(group)], self.points[list(group)]
        points = points - points.mean(axis=0)
        normal = np.linalg.svd(np.vstack([directions, points / length]))[2][-1]
        return float(np.abs(points @ normal).max()), float(np.abs(directions @ normal).max())


def missed_relations(written: Axes, meant: Axes, length: float, near: float) -> list[AxisRelation]:
    """Find relations, such as parallel, of the meant axes that the written ones miss."""
    pairs = [*combinations(range(len(meant.names)), 2)]
    linked = [p for p in pairs if meant.bodies[p[0]] & meant.bodies[p[1]]]
    found: list[AxisRelation] = []

    def missed(kind: str, groups: Iterable[Sequence[int]], off: Miss) -> None:
        for group in groups:
            worst = np.max([off(i, j) for i, j in combinations(group, 2)], axis=0)
            note(kind, group, float(worst[0]), float(worst[1]))

    def note(kind: str, group: Sequence[int], linear: float, angular: float) -> None:
        if SAME < max(linear, angular) < near:
            names = tuple(meant.names[i] for i in group)
            found.append(AxisRelation(kind, names, linear * length, angular))

    parallel = _groups(pairs, lambda i, j: meant.angle(i, j) < SAME)
    missed("parallel axes", parallel, lambda i, j: (0.0, written.angle(i, j)))
    normal = [p for p in linked if meant.cosine(*p) < SAME]
    missed("normal axes", normal, lambda i, j: (0.0, written.cosine(i, j)))
    crossing = [p for p in linked if meant.gap(*p) < SAME * length and meant.angle(*p) > SAME]
    missed("meeting axes", crossing, lambda i, j: (written.gap(i, j) / length, 0.0))
    coaxial = _groups(
        linked, lambda i, j: meant.angle(i, j) < SAME and meant.aside(i, j) < SAME * length
    )
    missed(
        "coaxial joints", coaxial, lambda i, j: (written.aside(i, j) / length, written.angle(i, j))
    )
    for group in _planes(meant, coaxial, length):
        linear, angular = written.off_plane(group, length)
        note("axes in one plane", group, linear / length, angular)
    pitched = [i for i, pitch in enumerate(meant.pitches) if abs(pitch) > SAME * length]
    for among in _equal(meant.pitches[pitched] / length):
        group = [pitched[k] for k in among]
        note("equal pitches", group, float(np.ptp(written.pitches[group])) / length, 0.0)

    def apart(axes: Axes, i: int, j: int) -> float:
        """Return the relative distance of two axes, beside each other if meant parallel."""
        return (axes.aside if meant.angle(i, j) < SAME else axes.gap)(i, j) / length

    for kind, measure in (("equal lengths", apart), ("equal angles", Axes.angle)):
        links = [p for p in linked if measure(meant, *p) > SAME]
        for group in _equal(np.array([measure(meant, *p) for p in links])):
            off = float(np.ptp([measure(written, *links[k]) for k in group]))
            linear, angular = (off, 0.0) if kind == "equal lengths" else (0.0, off)
            note(kind, [i for k in group for i in links[k]], linear, angular)
    return found


def _planes(axes: Axes, coaxial: Iterable[Sequence[int]], length: float) -> list[list[int]]:
    """Find three or more axes of one body in a plane; of coaxial ones the first stands for all."""
    again = {i for group in coaxial for i in group[1:]}
    turns = [i for i in range(len(axes.names)) if i not in again and np.isfinite(axes.pitches[i])]

    def flat(group: Iterable[int]) -> bool:
        linear, angular = axes.off_plane([*group], length)
        return max(linear / length, angular) < SAME

    planes: set[frozenset[int]] = set()
    for body in frozenset().union(*axes.bodies):
        own = [i for i in turns if body in axes.bodies[i]]
        for pair in combinations(own, 2):
            if flat(pair):
                plane = frozenset(k for k in own if k in pair or flat({*pair, k}))
                planes |= {plane} if len(plane) > 2 else set()
    return sorted(sorted(plane) for plane in planes)


def _equal(sizes: Array) -> list[list[int]]:
    """Group numbers that are equal."""
    pairs = combinations(range(len(sizes)), 2)
    return _groups(pairs, lambda a, b: bool(abs(sizes[a] - sizes[b]) < SAME))


def _groups(pairs: Iterable[tuple[int, int]], same: Callable[[int, int], bool]) -> list[list[int]]:
    """Group numbers that are the same pair by pair."""
    return sorted(map(sorted, joined(pair for pair in pairs if same(*pair))))
