"""Closures that are stiffer than the mechanism, and the joints that belong there.

A loop that is closed by a weld where a hinge belongs cannot move. With the closure opened, the
twists that the rest of the mechanism allows there say which joints would let it go: all freedoms of
such a joint lie among these twists; of a ball joint, one at least. ``too_stiff`` says so in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import islice

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array, Direction, Space, read_only
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Edge, EdgeId, Graph
from regularize.mechanism.joint import changed_joint
from regularize.mechanism.joint_kinds import joint_screws
from regularize.reduction.block import Block
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.joint_changes import JointChange, direction_in
from regularize.tolerances import RTOL, TINY, VANISHING
from regularize.words import axis_words, counted, pasted

#: Kinds of closures that can be too stiff.
STIFF = ("fixed", "revolute", "prismatic")
#: Kinds of joints that are tried: those with one freedom first, then those that engines know.
LOOSER = ("revolute", "prismatic", "spherical", "cylindrical", "planar")


class OpenClosure:
    """A closing joint opened at the assembled pose: alone, or with all others of its part."""

    def __init__(self, reduction: Reduction, part: Block, edge: Edge, *, alone: bool) -> None:
        self.joint = with_coordinates(reduction.mechanism, reduction.q).joint(edge.joint.name)
        # The file's own closures are open, whatever the reduction chose to cut.
        self._loops = loops = sized_loops(reduction.graph, reduction.q, part.edges)
        state = loops.state(reduction.q[loops.columns])
        chord = 6 * loops.chords.index(edge.index)
        jacobian = np.delete(loops.jacobian(state)[0], loops.local(edge.index), axis=1)
        kept = np.delete(jacobian, slice(chord, chord + 6), axis=0)
        free: Array = np.eye(jacobian.shape[1])
        if alone:
            _, s, vt = np.linalg.svd(kept)
            free = vt[int(np.sum(s > RTOL * max(1.0, s.max(initial=0.0)))) :].T
        #: What the rest of the mechanism allows there.
        self.twists = subalgebra.span(jacobian[chord : chord + 6] @ free)
        # Loops stand in the frame of their root, which is not the ground's in a leg.
        self._root = reduction.reference.T_world_node[0, reduction.loops.row(loops.roots[0])]
        place = state.T_world_node[0, loops.row(edge.parent)] @ edge.T_parent
        self.pose = self._root @ place
        self._axes = state.screws[0][:, 3:] @ self._root[:3, :3].T

    def contains(self, screws: Space) -> bool:
        """Say whether the open loop allows all of these world screws between the joint's bodies."""
        scaled = self._scaled(screws)
        return bool(subalgebra.contains(self.twists, scaled / np.linalg.norm(scaled, axis=0)))

    def _scaled(self, screws: Space) -> Space:
        """Return screws in the world as twists of the loops."""
        twists = screw.adjoint(screw.inverse(self._root)) @ screws
        return np.asarray(self._loops.scaled(twists.T).T)

    @cached_property
    def turning(self) -> list[Direction]:
        """Directions of axes through the closure's origin about which it could turn."""
        point = self.pose[:3, 3]
        return self._directions(np.column_stack([screw.revolute(e, point) for e in np.eye(3)]))

    @cached_property
    def sliding(self) -> list[Direction]:
        """Directions in which it could slide."""
        return self._directions(np.eye(6)[:, :3])

    def _directions(self, screws: Space) -> list[Direction]:
        """Return up to three directions in which screws along x, y, z become allowed twists."""
        scaled = self._scaled(screws)
        common = subalgebra.intersection(subalgebra.span(scaled), self.twists)
        space = np.linalg.lstsq(scaled, common, rcond=None)[0]
        if space.shape[1] == 1:
            return [_cleaned(np.asarray(space[:, 0], dtype=np.float64))]
        # Where every direction will do, those of the closure's own frame stand for all.
        axes = [] if space.shape[1] == 3 else [*self._axes]
        found: list[Direction] = []
        for axis in (*axes, *self.pose[:3, :3].T, *np.eye(3)):
            if np.any(axis) and self.contains((screws @ screw.unit(axis))[:, None]):
                unit = _cleaned(axis)
                if all(np.linalg.norm(np.cross(unit, other)) > RTOL for other in found):
                    found.append(unit)
        return found[:3]

    def changes(self, kind: str) -> Iterator[JointChange]:
        """Yield joints of a looser kind that keep the freedoms and add ones the loop allows."""
        axes = self.sliding if kind == "prismatic" else self.turning
        for axis in [np.eye(3)[2]] if kind == "spherical" else axes:
            change = self._change(kind, axis)
            screws = self._world(change.replacement.screws)
            keeps = subalgebra.contains(subalgebra.span(screws), self._world(self.joint.screws))
            # Many engines know no other joint than a point, some of which turns idly then.
            helps = self.turning if kind == "spherical" else self.contains(screws)
            if change.gain > 0 and keeps and helps:
                yield change

    def along(self, kind: str, axis: Direction) -> Iterator[JointChange]:
        """Yield the closure as another kind with its axis in a direction, if the loop allows it."""
        change = self._change(kind, axis)
        if self.contains(self._world(change.replacement.screws)):
            yield change

    def _change(self, kind: str, axis: Direction) -> JointChange:
        """Return the change of the closure to a kind with a world axis."""
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

    def _world(self, screws: Space) -> Space:
        """Return screws of the closure's frame in the world."""
        return np.asarray(screw.adjoint(self.pose) @ screws)


def _cleaned(axis: Array) -> Direction:
    """Return a unit vector without the rounding of its zeros, its largest component positive."""
    unit = np.round(screw.unit(axis), 12) + 0.0
    return np.asarray(unit * np.sign(unit[int(np.argmax(np.abs(unit)))]))


def stiff_closures(reduction: Reduction) -> list[list[tuple[Block, Edge]]]:
    """List, by part, the closing joints of loops in which every joint is locked."""
    closures, graph = [], reduction.graph
    for part in reduction.parts if reduction.assembly.closed else ():
        stiff: dict[EdgeId, tuple[Block, Edge]] = {}
        for cycle in part.cycles:
            edges = [graph.edges[e] for e in cycle.edges]
            moving = [edge for edge in edges if edge.freedoms]
            # A weld that holds a free body is meant as it is, and one that holds a single joint.
            if len(edges) > 2 and all(e.index in part.locked and e.freedoms < 6 for e in moving):
                for edge in edges:
                    joint = edge.joint
                    if joint.closure and joint.kind in STIFF and not _joins_cut(graph, edge):
                        stiff[edge.index] = (part, edge)
        if stiff:
            closures.append([stiff[index] for index in sorted(stiff)])
    return closures


def _joins_cut(graph: Graph, edge: Edge) -> bool:
    """Say whether a weld only joins two halves of a body that was cut at a joint."""
    ends = [(edge.parent, edge.T_parent), (edge.child, edge.T_child)]
    for node, T in ends if not edge.freedoms else ():
        others = [graph.edges[e] for e in graph.adjacency[node] if e != edge.index]
        if len(others) == 1:
            near = others[0].T_parent if others[0].parent == node else others[0].T_child
            if np.allclose(near[:3, 3], T[:3, 3], rtol=VANISHING, atol=TINY):
                return True
    return False


def releases(reduction: Reduction) -> Iterator[tuple[JointChange, ...]]:
    """Yield sets of looser closing joints that may unlock the mechanism, small sets first."""
    parts = stiff_closures(reduction)

    def alike(stiff: Sequence[tuple[Block, Edge]]) -> Iterator[tuple[JointChange, ...]]:
        """Yield the first looser joint of each kind, for all closures together."""
        every = [OpenClosure(reduction, part, edge, alone=False) for part, edge in stiff]
        for kind in LOOSER:
            first = [change for opened in every for change in islice(opened.changes(kind), 1)]
            if len(first) == len(every):
                yield tuple(first)

    if len(parts) > 1:  # what frees one may be held by another
        yield from alike([closure for stiff in parts for closure in stiff])
    for stiff in parts:
        single = [OpenClosure(reduction, part, edge, alone=True) for part, edge in stiff]
        # The first way of every kind before the other ways.
        options = [list(opened.changes(kind)) for kind in LOOSER for opened in single]
        for rank in range(max(map(len, options), default=0)):
            yield from ((option[rank],) for option in options if rank < len(option))
        if len(stiff) > 1:
            yield from alike(stiff)


def named_releases(reduction: Reduction, name: str, words: str) -> list[JointChange]:
    """List the ways to make a closure a looser kind, as in ``revolute:0,1,0``, ground axes."""
    kind, _, direction = words.partition(":")
    axis = direction_in(name, direction) if direction else None
    found: list[JointChange] = []
    for part in reduction.parts if kind in LOOSER else ():
        for edge in (reduction.graph.edges[e] for e in part.edges):
            if edge.joint.name == name and edge.joint.closure and edge.joint.kind in STIFF:
                opened = OpenClosure(reduction, part, edge, alone=False)
                found += opened.changes(kind) if axis is None else opened.along(kind, axis)
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
    """Return a finding on welds that lock a mechanism, with the looser joints that free it."""
    # Which hinge of a locked loop closes it is for the file to choose; a weld is one everywhere.
    freeing = [c for c in cures if c.freed and all(each.before == "fixed" for each in c.changes)]
    if not freeing:
        return []
    changes = freeing[0].changes
    several = len(changes) > 1
    closures = ", ".join(f"`{change.joint}`" for change in changes)
    verb, give = ("are", "give") if several else ("is", "gives")
    before = WORDS[changes[0].before][several]
    message = f"{closures} {verb} {before}; {_there(changes)} {give} {_outcome(freeing[0])}"
    help = (
        f"{_there(cure.changes)}, {_outcome(cure)}: {release_command(reduction, cure)}"
        for cure in freeing
    )
    joints = tuple(change.joint for change in changes)
    source = reduction.mechanism.joint(joints[0]).source
    return [Diagnostic("REG218", "warning", message, joints=joints, source=source, help=(*help,))]


def _there(changes: Sequence[JointChange]) -> str:
    """Return words such as ``a hinge along Y there`` for changes to one kind."""
    words = WORDS[changes[0].after][len(changes) > 1]
    axes = {axis_words(change.choice) for change in changes if change.choice is not None}
    if len(axes) == 1:
        words += f" {'normal to' if changes[0].after == 'planar' else 'along'} {axes.pop()}"
    return f"{words} there"


def _outcome(cure: Cure) -> str:
    """Return words such as ``mobility 1 (3 equations redundant)`` for a cure."""
    redundant = counted(cure.reduction.redundant, "equation") if cure.reduction.redundant else ""
    return f"mobility {cure.mobility}" + (f" ({redundant} redundant)" if redundant else "")


def release_command(reduction: Reduction, cure: Cure) -> str:
    """Return the command for a change: Python for Pinocchio models, else a shell command."""
    mechanism = reduction.mechanism
    if mechanism.format == "pinocchio":
        kinds = dict(change.argument.rsplit("=", 1) for change in cure.changes)
        return f"rg.augment(model, closures, kinds={kinds!r})"
    return pasted(["regularize", "fix", mechanism.path or "MODEL", *cure.arguments, "-o", "OUT"])
