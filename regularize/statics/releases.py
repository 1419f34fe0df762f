"""Closures that are stiffer than the mechanism, and the joints that belong there.

A loop that is closed by a weld where a hinge belongs cannot move. With the closure opened, the
twists that the rest of the mechanism allows there say which joints would let it go: all freedoms of
such a joint lie among these twists; of a ball joint, one at least.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw, subalgebra
from regularize.lie.screw import Array, read_only
from regularize.manifold.assembly import with_coordinates
from regularize.manifold.extent import sized_loops
from regularize.model.graph import Edge
from regularize.model.joint import joint_screws
from regularize.model.joint_motion import joint_position, motion
from regularize.reduction.part import Part
from regularize.reduction.reduce import Reduction
from regularize.statics.joint_changes import JointChange

#: Kinds of closures that can be too stiff.
STIFF = ("fixed", "revolute", "prismatic")
#: Kinds of joints that are tried: those with one freedom first, then those that engines know.
LOOSER = ("revolute", "prismatic", "spherical", "cylindrical", "planar")


class OpenClosure:
    """A closure of a mechanism, opened at the assembled pose.

    Args:
        reduction: Analysis of the mechanism.
        part: The biconnected part with the closure.
        edge: The closure.
        alone: Whether all other loops stay closed; otherwise those of the part are open as well.
    """

    def __init__(self, reduction: Reduction, part: Part, edge: Edge, *, alone: bool) -> None:
        """Find the twists that are possible there."""
        graph = reduction.graph
        mechanism = with_coordinates(reduction.mechanism, reduction.q)
        self.joint, self.edge = mechanism.joint(edge.joint.name), edge
        # The file's own closures are open, whatever the reduction chose to cut.
        self._loops = sized_loops(graph, reduction.q, part.edges)
        state = self._loops.state(reduction.q[self._loops.columns])
        chord = self._loops.chords.index(edge.index)
        jacobian = self._loops.jacobian(state)[0]
        others = np.ones(self._loops.freedoms, dtype=bool)
        others[self._loops.local(edge.index)] = False
        mine = slice(6 * chord, 6 * chord + 6)
        kept = np.delete(jacobian, mine, axis=0)[:, others] if alone else np.zeros((0, 0))
        free = _null_space(kept) if alone else np.eye(int(others.sum()))
        self.twists = subalgebra.span(jacobian[mine][:, others] @ free)
        self.pose = state.T_world_node[0, self._loops.row(edge.parent)] @ edge.T_parent
        self._axes = state.screws[0][:, 3:]

    def contains(self, screws: Array) -> bool:
        """Whether all twists of world screws (6, f) are possible."""
        scaled = self._loops.scaled(screws.T).T
        return bool(subalgebra.contains(self.twists, scaled / np.linalg.norm(scaled, axis=0)))

    @cached_property
    def turning(self) -> list[Array]:
        """Directions of axes through the closure's origin about which it could turn."""
        point = self.pose[:3, 3]
        turns = np.column_stack([screw.revolute(e, point) for e in np.eye(3)])
        return self._directions(turns)

    @cached_property
    def sliding(self) -> list[Array]:
        """Directions in which it could slide."""
        return self._directions(np.eye(6)[:, :3])

    def _directions(self, screws: Array) -> list[Array]:
        """Directions whose combination of three screws is possible: all, or those that stand out.

        Args:
            screws: World screws, one per ground axis, shape (6, 3).
        """
        scaled = self._loops.scaled(screws.T).T
        common = subalgebra.intersection(subalgebra.span(scaled), self.twists)
        space = np.linalg.lstsq(scaled, common, rcond=None)[0]
        if space.shape[1] == 1:
            return [_cleaned(np.asarray(space[:, 0], dtype=np.float64))]
        # Where every direction will do, those of the closure's own frame stand for all.
        known = [] if space.shape[1] == 3 else [*self._axes]
        candidates = [*known, *self.pose[:3, :3].T, *np.eye(3)]
        found: list[Array] = []
        for axis in candidates:
            if np.any(axis) and self.contains((screws @ screw.unit(axis))[:, None]):
                unit = _cleaned(axis)
                if all(np.linalg.norm(np.cross(unit, other)) > subalgebra.RTOL for other in found):
                    found.append(unit)
        return found[:3]

    def changes(self, kinds: Iterable[str] = LOOSER) -> Iterator[JointChange]:
        """Joints whose freedoms are all possible and include those that the closure has."""
        for kind in kinds:
            for axis in self._choices(kind):
                change = self.change(kind, axis)
                screws = self._world(change.replacement.screws)
                keeps = subalgebra.contains(subalgebra.span(screws), self._world(self.joint.screws))
                # Many engines know no other joint than a point, some of which turns idly then.
                helps = self.turning if kind == "spherical" else self.contains(screws)
                if change.gain > 0 and keeps and helps:
                    yield change

    def _choices(self, kind: str) -> list[Array]:
        """Ground directions of a kind's axis."""
        if kind == "spherical":
            return [np.eye(3)[2]]
        return self.sliding if kind == "prismatic" else self.turning

    def _world(self, screws: Array) -> Array:
        return np.asarray(screw.adjoint(self.pose) @ screws)

    def along(self, kind: str, axis: Array) -> Iterator[JointChange]:
        """The closure made a kind with its axis in a ground direction, where that is possible."""
        change = self.change(kind, axis)
        if self.contains(self._world(change.replacement.screws)):
            yield change

    def change(self, kind: str, axis: Array) -> JointChange:
        """The closure made another kind in the same place.

        Args:
            kind: One of ``LOOSER``.
            axis: Direction of its axis, ground axes at the assembled pose, shape (3,).
        """
        screws = joint_screws(kind, _cleaned(self.pose[:3, :3].T @ axis))
        joint = replace(
            self.joint, kind=kind, screws=screws, position=np.zeros(screws.shape[1]), limits=None
        )
        if np.any(self.joint.position):
            at = motion(self.joint, self.joint.position)
            joint = replace(joint, position=joint_position(joint, at))
        added = subalgebra.residual(subalgebra.span(self.joint.screws), screws)
        gained = screws.shape[1] - self.joint.freedoms
        return JointChange(
            self.joint.name,
            self.joint.kind,
            kind,
            joint,
            read_only(self._world(added[:, added.shape[1] - gained :])),
            None if kind == "spherical" else read_only(axis),
        )


def _null_space(rows: Array) -> Array:
    _, s, vt = np.linalg.svd(rows)
    return np.asarray(vt[int(np.sum(s > subalgebra.RTOL * max(1.0, s.max(initial=0.0)))) :].T)


def _cleaned(axis: Array) -> Array:
    """A unit vector without the rounding of its zeros, its largest component positive."""
    unit = np.round(screw.unit(axis), 12) + 0.0
    return np.asarray(unit * np.sign(unit[int(np.argmax(np.abs(unit)))]))


def stiff_closures(reduction: Reduction) -> list[list[tuple[Part, Edge]]]:
    """The closures of each part that may be too stiff: their loops hold joints, and all are locked.

    A weld that holds a free body is meant as it is, and so is one that holds a single joint.
    """
    if not reduction.assembly.closed:
        return []
    found = []
    for part in reduction.parts:
        stiff = []
        for cycle in part.cycles:
            edges = [reduction.graph.edges[e] for e in cycle.edges]
            moving = [edge for edge in edges if edge.freedoms]
            locked = all(edge.index in part.locked and edge.freedoms < 6 for edge in moving)
            if locked and len(edges) > 2:
                stiff += [e for e in edges if e.joint.closure and e.joint.kind in STIFF]
        if stiff:
            unique = {edge.index: (part, edge) for edge in stiff}
            found.append([unique[index] for index in sorted(unique)])
    return found


def releases(reduction: Reduction) -> Iterator[tuple[JointChange, ...]]:
    """Sets of changes of closures that may free what they lock, small ones first.

    One closure alone is tried first, then all closures of a part alike.
    """
    for stiff in stiff_closures(reduction):
        single = [OpenClosure(reduction, part, edge, alone=True) for part, edge in stiff]
        # The first way of every kind before the other ways.
        ways = [list(opened.changes((kind,))) for kind in LOOSER for opened in single]
        for rank in range(max(map(len, ways), default=0)):
            yield from ((way[rank],) for way in ways if rank < len(way))
        if len(stiff) > 1:
            every = [OpenClosure(reduction, part, edge, alone=False) for part, edge in stiff]
            for kind in LOOSER:
                first = [next(opened.changes((kind,)), None) for opened in every]
                if all(change is not None for change in first):
                    yield tuple(change for change in first if change is not None)


def named_releases(reduction: Reduction, name: str, words: str) -> list[JointChange]:
    """Every way to make a closure another kind that lets it go.

    Args:
        reduction: Analysis of the mechanism.
        name: Name of the closure.
        words: The kind, and where it matters the ground direction of its axis at the assembled
            pose, as in ``revolute:0,1,0``.

    Raises:
        ModelError: The direction is none.
    """
    kind, _, direction = words.partition(":")
    axis = _direction(name, direction) if direction else None
    found: list[JointChange] = []
    for part in reduction.parts if kind in LOOSER else ():
        for edge in (reduction.graph.edges[e] for e in part.edges):
            if edge.joint.name == name and edge.joint.closure and edge.joint.kind in STIFF:
                opened = OpenClosure(reduction, part, edge, alone=False)
                found += opened.changes((kind,)) if axis is None else opened.along(kind, axis)
    return found


def _direction(name: str, words: str) -> Array:
    try:
        return screw.unit([float(word) for word in words.split(",")]).reshape(3)
    except ValueError:
        raise ModelError(f"joint {name!r}: {words!r} is no direction; write X,Y,Z") from None
