"""Closures that are stiffer than the mechanism, and the joints that belong there.

A loop that is closed by a weld where a hinge belongs cannot move. With the closure opened, the
twists that the rest of the mechanism allows there say which joints would let it go: all freedoms of
such a joint lie among these twists; of a ball joint, one at least. ``too_stiff`` says so in words.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from regularize.escape import displayed
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array, read_only
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Edge, Graph
from regularize.mechanism.joint import changed_joint
from regularize.mechanism.joint_kinds import joint_screws
from regularize.reduction.block import Block
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.joint_changes import JointChange, direction_in
from regularize.tolerances import RTOL, TINY, VANISHING
from regularize.words import axis_words

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

    def __init__(self, reduction: Reduction, part: Block, edge: Edge, *, alone: bool) -> None:
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
        # Loops stand in the frame of their root, which is not the ground's in a leg.
        every = reduction.loops.row(self._loops.roots[0])
        self._root = reduction.reference.T_world_node[0, every]
        place = state.T_world_node[0, self._loops.row(edge.parent)] @ edge.T_parent
        self.pose = self._root @ place
        self._axes = state.screws[0][:, 3:] @ self._root[:3, :3].T

    def contains(self, screws: Array) -> bool:
        """Whether all twists of world screws (6, f) are possible."""
        scaled = self._scaled(screws)
        return bool(subalgebra.contains(self.twists, scaled / np.linalg.norm(scaled, axis=0)))

    def _scaled(self, screws: Array) -> Array:
        """World screws (6, f) as twists of the loops."""
        own = screw.adjoint(screw.inverse(self._root)) @ screws
        return np.asarray(self._loops.scaled(own.T).T)

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
        scaled = self._scaled(screws)
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
                if all(np.linalg.norm(np.cross(unit, other)) > RTOL for other in found):
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
        added = subalgebra.residual(subalgebra.span(self.joint.screws), screws)
        gained = screws.shape[1] - self.joint.freedoms
        return JointChange(
            self.joint.name,
            self.joint.kind,
            kind,
            partial(changed_joint, self.joint, kind, screws),
            read_only(self._world(added[:, added.shape[1] - gained :])),
            None if kind == "spherical" else read_only(axis),
        )


def _null_space(rows: Array) -> Array:
    _, s, vt = np.linalg.svd(rows)
    return np.asarray(vt[int(np.sum(s > RTOL * max(1.0, s.max(initial=0.0)))) :].T)


def _cleaned(axis: Array) -> Array:
    """A unit vector without the rounding of its zeros, its largest component positive."""
    unit = np.round(screw.unit(axis), 12) + 0.0
    return np.asarray(unit * np.sign(unit[int(np.argmax(np.abs(unit)))]))


def stiff_closures(reduction: Reduction) -> list[list[tuple[Block, Edge]]]:
    """The closures of each part that may be too stiff: their loops hold joints, and all are locked.

    A weld that holds a free body is meant as it is, and so is one that holds a single joint.
    """
    if not reduction.assembly.closed:
        return []
    found, graph = [], reduction.graph
    for part in reduction.parts:
        stiff = []
        for cycle in part.cycles:
            edges = [graph.edges[e] for e in cycle.edges]
            moving = [edge for edge in edges if edge.freedoms]
            locked = all(edge.index in part.locked and edge.freedoms < 6 for edge in moving)
            if locked and len(edges) > 2:
                stiff += [
                    e
                    for e in edges
                    if e.joint.closure and e.joint.kind in STIFF and not _cut_body(graph, e)
                ]
        if stiff:
            unique = {edge.index: (part, edge) for edge in stiff}
            found.append([unique[index] for index in sorted(unique)])
    return found


def _cut_body(graph: Graph, edge: Edge) -> bool:
    """Whether a weld only joins what was cut off a body, beside the joint that closes a loop."""
    ends = [(edge.parent, edge.T_parent), (edge.child, edge.T_child)]
    for node, T in ends if not edge.freedoms else ():
        others = [graph.edges[e] for e in graph.adjacency[node] if e != edge.index]
        if len(others) == 1:
            near = others[0].T_parent if others[0].parent == node else others[0].T_child
            if np.allclose(near[:3, 3], T[:3, 3], rtol=VANISHING, atol=TINY):
                return True
    return False


def releases(reduction: Reduction) -> Iterator[tuple[JointChange, ...]]:
    """Sets of changes of closures that may free what they lock, small ones first.

    Of several parts all closures alike come first, for what frees one may be held by another; of
    one part a closure alone, then all of them alike.
    """
    parts = stiff_closures(reduction)
    if len(parts) > 1:
        yield from _alike(reduction, [each for stiff in parts for each in stiff])
    for stiff in parts:
        single = [OpenClosure(reduction, part, edge, alone=True) for part, edge in stiff]
        # The first way of every kind before the other ways.
        ways = [list(opened.changes((kind,))) for kind in LOOSER for opened in single]
        for rank in range(max(map(len, ways), default=0)):
            yield from ((way[rank],) for way in ways if rank < len(way))
        if len(stiff) > 1:
            yield from _alike(reduction, stiff)


def _alike(
    reduction: Reduction, stiff: Sequence[tuple[Block, Edge]]
) -> Iterator[tuple[JointChange, ...]]:
    """Some closures made one kind, together."""
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
    axis = direction_in(name, direction) if direction else None
    found: list[JointChange] = []
    for part in reduction.parts if kind in LOOSER else ():
        for edge in (reduction.graph.edges[e] for e in part.edges):
            if edge.joint.name == name and edge.joint.closure and edge.joint.kind in STIFF:
                opened = OpenClosure(reduction, part, edge, alone=False)
                found += opened.changes((kind,)) if axis is None else opened.along(kind, axis)
    return found


#: What joints of a kind are called: one, and several.
WORDS = {
    "fixed": ("a weld", "welds"),
    "revolute": ("a hinge", "hinges"),
    "prismatic": ("a slider", "sliders"),
    "cylindrical": ("a cylindrical joint", "cylindrical joints"),
    "spherical": ("a ball joint", "ball joints"),
    "planar": ("a planar joint", "planar joints"),
}


def too_stiff(reduction: Reduction, cures: Sequence[Cure]) -> list[Diagnostic]:
    """What to say of the welds that lock a mechanism: nothing where no cure frees it.

    Args:
        reduction: Analysis of the mechanism.
        cures: From ``cures``, the best first.
    """
    # Which hinge of a locked loop closes it is for the file to choose; a weld is one everywhere.
    ways = [c for c in cures if c.freed and all(each.before == "fixed" for each in c.changes)]
    if not ways:
        return []
    changes = ways[0].changes
    several = len(changes) > 1
    closures = ", ".join(f"`{change.joint}`" for change in changes)
    verb, give = ("are", "give") if several else ("is", "gives")
    before = WORDS[changes[0].before][several]
    return [
        Diagnostic(
            "REG218",
            "warning",
            f"{closures} {verb} {before}; {_there(changes)} {give} {_outcome(ways[0])}",
            joints=tuple(change.joint for change in changes),
            source=reduction.mechanism.joint(changes[0].joint).source,
            help=tuple(
                ": ".join(
                    part
                    for part in (
                        f"{_there(way.changes)}, {_outcome(way)}",
                        release_command(reduction, way),
                    )
                    if part
                )
                for way in ways
            ),
        )
    ]


def _there(changes: Sequence[JointChange]) -> str:
    """``a hinge along Y there``; of several closures what is common to them."""
    words = WORDS[changes[0].after][len(changes) > 1]
    axes = {axis_words(change.choice) for change in changes if change.choice is not None}
    if len(axes) == 1:
        words += f" {'normal to' if changes[0].after == 'planar' else 'along'} {axes.pop()}"
    return f"{words} there"


def _outcome(cure: Cure) -> str:
    """``mobility 1 (3 equations redundant)``."""
    count = cure.reduction.redundant
    noun = "equation" if count == 1 else "equations"
    return f"mobility {cure.mobility}" + (f" ({count} {noun} redundant)" if count else "")


def release_command(reduction: Reduction, cure: Cure) -> str:
    """The one line that makes the change: in Python for Pinocchio models, else on the shell."""
    mechanism = reduction.mechanism
    if mechanism.format == "pinocchio":
        kinds = dict(change.argument.rsplit("=", 1) for change in cure.changes)
        return f"rg.augment(model, closures, kinds={kinds!r})"
    arguments = " ".join(f"--joint {shlex.quote(change.argument)}" for change in cure.changes)
    return f"regularize fix {shlex.quote(displayed(mechanism.path or 'MODEL'))} {arguments} -o OUT"
