"""Arrangements of several joints between two parts, as machine designers name them.

The catalogue is ``arrangements.toml``. An entry fits where joints of its kind lie as it says, and
is proposed if every freedom that it gives takes a state of self-stress away.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from regularize.lie.arrays import Array, Direction
from regularize.lie.screw import cross
from regularize.mechanism.graph import DisjointSets, Edge, EdgeId
from regularize.mechanism.joint import axis_and_point
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.joint_changes import CLEARANCE, JointChange
from regularize.repair.statics.stress_search import MechanismStress, independent_changes
from regularize.tolerances import PARALLEL

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Kinds that the ends of a strut get which carries nothing but a force along it.
STRUT = ({"spherical"}, {"spherical", "universal"})


@dataclass(frozen=True)
class NamedArrangement:
    """An entry of the catalogue; the file says what its fields are."""

    name: str
    kind: str
    lie: str
    places: tuple[str, ...]
    source: str
    picture: str
    moves: bool | None = None
    least: int = 2
    most: int = 1000

    def at(self, place: int) -> str:
        """Return the kind of the joint at a place; the last kind is that of all that follow."""
        return self.places[min(place, len(self.places) - 1)]

    def fits(self, count: int) -> bool:
        """Return whether so many joints fill all places that are not clearance."""
        needed = len(self.places) - (self.places[-1] == CLEARANCE)
        return max(needed, self.least) <= count <= self.most


@cache
def catalogue() -> tuple[NamedArrangement, ...]:
    """Read the catalogue."""
    text = Path(__file__).with_name("arrangements.toml").read_text("utf-8")
    entries = tomllib.loads(text)["arrangement"]
    return tuple(NamedArrangement(**{**e, "places": tuple(e["places"])}) for e in entries)


def driven_joints(reduction: Reduction) -> set[str]:
    """Return the names of the joints with motors."""
    names = {joint.name for joint in reduction.mechanism.joints if joint.actuated}
    return names | {actuator.joint for actuator in reduction.mechanism.actuators}


def several(reduction: Reduction) -> Iterator[list[Edge]]:
    """Find joints of one kind between two bodies, welded ones being one; the locating one first."""
    graph, driven = reduction.graph, driven_joints(reduction)
    edges = [graph.edges[e] for cell in reduction.cells for e in cell.edges]
    same = DisjointSets(node for edge in edges for node in (edge.parent, edge.child))
    for edge in edges:
        if edge.joint.kind == "fixed":
            same.union(edge.parent, edge.child)
    sorts: dict[tuple[object, ...], list[Edge]] = {}
    for edge in edges:
        ends = frozenset((same[edge.parent], same[edge.child]))
        sorts.setdefault((ends, edge.joint.kind), []).append(edge)
    for alike in sorts.values():
        if len(alike) > 1:
            # The one that is driven, or in the tree, locates.
            yield sorted(alike, key=lambda e: (e.joint.name not in driven, e.joint.closure))


def arranged(reduction: Reduction) -> Iterator[tuple[str, list[JointChange]]]:
    """Yield arrangements of the catalogue that fit, each with the joint changes that make it."""
    cells, driven = reduction.cell_at, driven_joints(reduction)
    curable = reduction.curable
    for edges in several(reduction) if curable else ():
        cell = cells[edges[0].index]
        if cell not in curable:
            continue
        stress = MechanismStress.of(reduction)
        lie, offsets = _lie(stress, edges), offsets_across(stress, edges)
        for entry in catalogue():
            if entry.kind != edges[0].joint.kind or entry.lie not in (lie, "any"):
                continue
            if entry.moves not in (None, reduction.finite_mobility != 0):
                continue
            wanted = {e.joint.name: entry.at(i) for i, e in enumerate(edges)}
            new = {name for name, kind in wanted.items() if kind != entry.kind}
            if not entry.fits(len(edges)) or new & driven:
                continue
            options = [
                change
                for e in edges
                if e.joint.name in new
                for change in sorted(
                    stress.changes([e.index], (wanted[e.joint.name],), arranged=True),
                    key=lambda change: _along(change, offsets[change.joint]),
                )
            ]
            changes = independent_changes(stress.cell(cell), options)
            if {change.joint for change in changes} == new:
                yield entry.name, changes
        others = [e.index for e in reversed(edges[1:]) if e.joint.name not in driven]
        loose = independent_changes(stress.cell(cell), stress.changes(others, (CLEARANCE,)))
        if loose:
            yield CLEARANCE, loose


def arrangement_of(reduction: Reduction, changes: Sequence[JointChange]) -> str | None:
    """Name an arrangement that its changes alone tell; None where designers have no name."""
    after = {change.after for change in changes}
    if after == {CLEARANCE}:
        return "clearance"
    graph, ends = reduction.graph, {change.joint for change in changes}
    struts = [
        node
        for node in graph.every_node
        if {graph.edges[e].joint.name for e in graph.adjacency[node]} == ends
    ]
    if len(changes) == 2 and struts and after in STRUT:
        return "pendulum support"
    if after == {"spherical"} and {change.before for change in changes} == {"revolute"}:
        return "spherical plain bearing"
    return None


def _axis(stress: MechanismStress, edge: EdgeId) -> tuple[Direction, Array] | None:
    """Return direction of a joint's axis, slide or normal, and a point there; None without any."""
    joint, place = stress.reduction.graph.edges[edge].joint, stress.equilibrium.origin(edge)
    if joint.kind == "spherical" or not joint.freedoms:
        return None
    axis, point = axis_and_point(joint)
    return place[:3, :3] @ axis, place[:3, :3] @ point + place[:3, 3]


def _lie(stress: MechanismStress, edges: Sequence[Edge]) -> str:
    """Return how the axes of joints lie: ``coaxial``, ``parallel`` or ``apart``."""
    axes = [_axis(stress, edge.index) for edge in edges]
    found, size = "coaxial", stress.reduction.loops.length
    for one, two in pairwise(axes):
        if one is None or two is None or np.linalg.norm(cross(one[0], two[0])) > PARALLEL:
            return "apart"
        if np.linalg.norm(cross(one[0], two[1] - one[1])) > PARALLEL * size:
            found = "parallel"
    return found


def offsets_across(stress: MechanismStress, edges: Sequence[Edge]) -> dict[str, Array]:
    """Return by name the offset of each joint from the locating one, across its axis, in metres."""
    first = _axis(stress, edges[0].index)
    home = stress.equilibrium.origin(edges[0].index)[:3, 3]
    offsets = {}
    for edge in edges:
        offset = stress.equilibrium.origin(edge.index)[:3, 3] - home
        if first is not None:
            offset = offset - first[0] * (offset @ first[0])
        offsets[edge.joint.name] = offset
    return offsets


def _along(change: JointChange, offset: Array) -> float:
    """Return a sort key of planes: those that hold turns about the locating joint come first."""
    if change.after != "point_on_plane" or change.choice is None:
        return 0.0
    return round(abs(float(offset @ change.choice)), 9)
