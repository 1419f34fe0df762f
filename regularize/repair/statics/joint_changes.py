"""Single changes of joint types, and what they do to the self-stress of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from regularize.errors import ModelError
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array, read_only
from regularize.lie.screw import IDENTITY, leading_component
from regularize.lie.subalgebra import decide_rank
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import EdgeId
from regularize.mechanism.joint import body_jacobian, changed_joint, joint_position, motion
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, joint_screws, perpendiculars
from regularize.mechanism.mechanism import Joint
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.equilibrium import Equilibrium
from regularize.tolerances import UNSEEN, VANISHING
from regularize.words import Direction, axis_words, directions

#: How far each standard joint is from the hinge, slider or weld that it replaces: an axis that is
#: kept costs less, and every kind has to be available as a part.
COST = {"cylindrical": 1, "universal": 2, "spherical": 2, "slotted": 3}

#: Joints of four freedoms: bearings that float and rails with play, then what is no part to buy.
COST_OF_PAIRS = {"planar": 2, "point_on_line": 3, "line_in_plane": 3, "parallel": 4}
COST_OF_PAIRS |= dict.fromkeys(HIGHER_PAIRS, 4) | COST_OF_PAIRS

COMPOSITE = frozenset({"slotted", *HIGHER_PAIRS})

#: A pin in a slot is no standard joint, but it is the only one that gives way within the plane of
#: a planar loop, where equal cranks fight each other. It is proposed where nothing else helps.
STANDARD = ("cylindrical", "universal", "spherical")

#: Equations of one part up to which all its states of self-stress are looked at. Of larger ones it
#: is what each short loop can hold alone: singular values of all would take seconds.
EQUATIONS = 1500

#: What the direction of a kind that leaves a choice is called.
CHOICE = {
    "revolute": "axis along",
    "prismatic": "along",
    "cylindrical": "axis along",
    "planar": "plane normal to",
    "universal": "second axis along",
    "slotted": "slot along",
    "point_on_line": "line along",
    "line_in_plane": "plane normal to",
    "point_on_plane": "plane normal to",
}


@dataclass(frozen=True, eq=False)
class JointChange:
    """Another type for one joint.

    Attributes:
        joint: Name of the joint.
        before: Its kind.
        after: The kind to make it.
        make: Makes the changed joint.
        added: World screws of its new freedoms at the assembled pose, shape (6, added).
        choice: Where the new kind leaves a choice, the direction chosen: the second axis, the slot,
            the line, or the plane's normal; ground axes, assembled pose, shape (3,). Else None.
    """

    joint: str
    before: str
    after: str
    make: Callable[[], Joint] = field(repr=False)
    added: Array = field(repr=False)
    choice: Array | None = field(default=None, repr=False)

    @cached_property
    def replacement(self) -> Joint:
        """The changed joint."""
        return self.make()

    @property
    def gain(self) -> int:
        """Number of freedoms that the joint gains."""
        return int(self.added.shape[1])

    @property
    def freedoms(self) -> tuple[Direction, ...]:
        """The freedoms that the joint gains, as directions on the ground: slides and turns."""
        turning = np.linalg.norm(self.added[3:], axis=0) > VANISHING
        slides, turns = self.added.copy()[:, ~turning], self.added.copy()[:, turning]
        turns[:3] = 0.0  # where its axes are goes without saying
        spaces = [subalgebra.span(each) for each in (slides, turns) if each.size]
        return tuple(direction for space in spaces for direction in directions(space))

    @property
    def cost(self) -> int:
        """Rank of the new kind from 1 on: least where the axis is kept and the part is standard."""
        return COST.get(self.after) or COST_OF_PAIRS[self.after]

    @property
    def words(self) -> str:
        """The new kind, with its direction where there is a choice."""
        kind = self.after.replace("_", " ")
        if self.choice is None:
            return kind
        return f"{kind} ({CHOICE[self.after]} {axis_words(self.choice)})"

    @property
    def argument(self) -> str:
        """The change for ``regularize fix --joint``: ``NAME=KIND`` or ``NAME=KIND:X,Y,Z``."""
        text = f"{self.joint}={self.after}"
        if self.choice is None:
            return text
        sign = np.sign(self.choice[leading_component(self.choice)])  # as in words
        return f"{text}:" + ",".join(f"{x + 0.0:.6g}" for x in np.round(sign * self.choice, 9))

    def __str__(self) -> str:
        """For example ``D: revolute to spherical``."""
        return f"{self.joint}: {self.before} to {self.words}"


class Stressed:
    """The self-stress of a mechanism at a configuration that is not singular.

    Attributes:
        known: What became of the sets of changes that were verified.
    """

    def __init__(self, reduction: Reduction) -> None:
        """Take the assembled pose, or one met on a walk where that is singular."""
        self.reduction = reduction
        self.known: dict[tuple[JointChange, ...], Any] = {}
        self._known: dict[tuple[object, ...], list[_Replacement]] = {}
        self._changes: dict[EdgeId, _Changes] = {}
        self._states: dict[Sequence[EdgeId], _States] = {}
        self._assembled = with_coordinates(reduction.mechanism, reduction.q)
        self._coupled = {name for c in reduction.mechanism.couplings for name, _, _ in c.terms}
        q = np.array(reduction.q)
        for cell in reduction.cells:
            if cell.here.rank < cell.generic.rank:
                q[reduction.graph.columns(cell.edges)] = cell.configurations[-1]
        self.q, self.equilibrium = q, Equilibrium(reduction, q)

    @staticmethod
    @lru_cache(maxsize=1)  # a report and the ways out that it names ask for the same one
    def of(reduction: Reduction) -> Stressed:
        """That of a reduction, with all that has been found out about it."""
        return Stressed(reduction)

    def options(
        self, edges: Sequence[EdgeId], keep: set[str], kinds: Collection[str], motors: bool = False
    ) -> list[JointChange]:
        """Every single change that is allowed, in the order of the joints."""
        return [
            option
            for e in edges
            for option in self.of_joint(e, kinds, motors)
            if option.joint not in keep
        ]

    def of_joint(
        self, e: EdgeId, kinds: Collection[str], motors: bool = False
    ) -> list[JointChange]:
        """Every change of one joint to one of some kinds; none of motors and coupled joints."""
        joint = self.reduction.graph.edges[e].joint
        if joint.name in self._coupled or (joint.actuated and not motors):
            return []
        if e not in self._changes:
            self._changes[e] = self._of_each_kind(e)
        every, change = self._changes[e]
        for each in every:
            if each.after in kinds and every[each] is None:
                every[each] = change(each)
        return [made for each, made in every.items() if made and each.after in kinds]

    def _of_each_kind(self, e: EdgeId) -> _Changes:
        """What a joint may become, and what makes the changes that are asked for."""
        edge = self.reduction.graph.edges[e]
        joint = self._assembled.joint(edge.joint.name)
        forces = self._forces(e) if joint.kind == "spherical" else np.zeros((0, 3))
        q = self.q[list(edge.columns)]
        # In their own frames most joints are like others.
        numbers = (joint.screws, joint.position, q, forces)
        key = (joint.kind, joint.closure, *(each.tobytes() for each in numbers))
        if key not in self._known:
            self._known[key] = list(_replacements(joint, forces, q))
        loops, poses = self.reduction.loops, self.reduction.reference.T_world_node[0]
        R = (poses[loops.row(edge.parent)] @ edge.T_parent)[:3, :3]
        to_world = screw.adjoint(self.equilibrium.origin(e))

        def change(each: _Replacement) -> JointChange:
            make = partial(changed_joint, joint, each.kind, each.screws, each.shift, each.own)
            seen = None if each.choice is None else read_only(R @ each.choice)
            added = read_only(to_world @ each.gained)
            return JointChange(joint.name, joint.kind, each.after, make, added, seen)

        return dict.fromkeys(self._known[key]), change

    def _forces(self, e: EdgeId) -> Array:
        """Directions of the forces that self-stress brings into a joint, in its frame, (k, 3)."""
        cell = self.reduction.cell_at.get(e)
        held = [] if cell is None else self.states(cell.edges).held.get(e, [])
        forces = np.hstack([np.zeros((3, 0)), *(wrenches[:3] for _, wrenches in held)])
        u, s, _ = np.linalg.svd(forces, full_matrices=False)
        small = self.reduction.tolerances.rank
        local = np.zeros((3, 0))
        if cell is not None:
            pose = self.states(cell.edges).ground @ self.equilibrium.origin(e)
            local = pose[:3, :3].T @ u[:, s > small]
        axes = [axis for axis in np.eye(3) if np.linalg.norm(local.T @ axis) > UNSEEN]
        along = [np.eye(3)[i] for i in range(3) if any(abs(d[i]) > 1 - small**2 for d in local.T)]
        return np.array(along or [*local.T, *axes]).reshape(-1, 3)

    def states(self, edges: Sequence[EdgeId]) -> _States:
        """The self-stress of one cell: all of it, or of large ones what each short loop holds."""
        if edges not in self._states:
            graph = self.reduction.graph
            cell = Equilibrium(self.reduction, self.q[graph.columns(edges)], edges)
            held: dict[EdgeId, list[tuple[slice, Array]]] = {e: [] for e in edges}
            count = 0
            if cell.equations <= EQUATIONS:
                fields = cell.fields(cell.self_stress)
                count = fields.shape[2]
                held = {
                    e: [(slice(count), w)] for e, w in zip(cell.loops.edges, fields, strict=True)
                }
            else:
                own = set(edges)
                for cut in self.reduction.cuts:
                    if cut.edge.index in own:
                        around = cut.cycle.edges
                        screws = np.vstack([cell.screws[cell.loops.local(e)] for e in around])
                        _, s, vt = np.linalg.svd(screws)
                        wrenches = vt[decide_rank(s, cell.rtol).rank :].T
                        rows = slice(count, count + wrenches.shape[1])
                        count = rows.stop
                        for e in around:
                            held[e].append((rows, cut.cycle.direction(graph, e) * wrenches))
            ground = cell.origin(edges[0]) @ screw.inverse(self.equilibrium.origin(edges[0]))
            self._states[edges] = _States(count, held, cell.loops, ground)
        return self._states[edges]

    def seen(
        self, edges: Sequence[EdgeId], options: Sequence[JointChange]
    ) -> tuple[Callable[[JointChange], Array], int]:
        """What the self-stress states of one cell see of new freedoms, (states, gain); how many."""
        states = self.states(edges)
        known, new = states.known, [each for each in options if each not in states.known]
        if new:
            added = screw.adjoint(states.ground) @ np.hstack([option.added for option in new])
            ends = np.cumsum([option.gain for option in new])[:-1]
            known |= zip(new, np.split(states.loops.scaled(added.T), ends), strict=True)
        by_name = {self.reduction.graph.edges[e].joint.name: e for e in edges}

        def block(option: JointChange) -> Array:
            found = np.zeros((states.count, option.gain))
            for rows, wrenches in states.held[by_name[option.joint]]:
                found[rows] = wrenches.T @ known[option].T
            return found

        return block, states.count


@dataclass(frozen=True, eq=False)
class _States:
    """States of self-stress of one cell.

    Attributes:
        count: How many.
        held: What each edge holds of which, wrenches in the frame of the cell's root.
        loops: The cell's loops.
        ground: Pose of the ground in that frame.
        known: New freedoms of joints in that frame, scaled, shape (gain, 6).
    """

    count: int
    held: dict[EdgeId, list[tuple[slice, Array]]]
    loops: LoopKinematics
    ground: Array
    known: dict[JointChange, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Replacement:
    """What a joint may become.

    Attributes:
        after: The kind.
        screws: Its freedoms in its frame, shape (6, f).
        shift: Of the joint's frame.
        own: The one of its freedoms that the single one of the joint becomes, if any.
        gained: Screws that the joint gains, in its frame on its parent, shape (6, gained).
        choice: The direction chosen, in the frame of the joint as it is.
    """

    after: str
    screws: Array
    shift: Array
    own: int | None
    gained: Array
    choice: Array | None

    @property
    def kind(self) -> str:
        """Its kind as a joint's."""
        return "composite" if self.after in COMPOSITE else self.after


#: Changes of one joint that were asked for, by what it may become; and what makes them.
_Changes: TypeAlias = tuple[
    dict[_Replacement, JointChange | None], Callable[[_Replacement], JointChange]
]


def _replacements(joint: Joint, forces: Array, q: Array) -> Iterator[_Replacement]:
    """Kinds with more freedoms in the same position.

    A ball may give way along ``forces`` in the joint's frame, (k, 3); freedoms are looked at at q.
    """
    at_zero = replace(joint, position=np.zeros(joint.freedoms))
    for after, screws, shift, choice in _looser(joint, forces):
        own = own_freedom(joint, screws)
        made = _Replacement(after, screws, shift, own, np.zeros((6, 0)), choice)
        replacement = changed_joint(at_zero, made.kind, screws, shift, own)
        x = np.zeros(replacement.freedoms)
        if np.any(q):
            moved = screw.inverse(shift) @ motion(joint, q) @ shift
            x = joint_position(replacement, moved)
        before = screw.adjoint(screw.inverse(shift)) @ body_jacobian(joint, q)
        new = subalgebra.residual(subalgebra.span(before), body_jacobian(replacement, x))
        gained = screw.adjoint(shift @ motion(replacement, x)) @ subalgebra.span(new)
        yield replace(made, gained=np.asarray(gained))


def _looser(joint: Joint, forces: Array) -> Iterator[tuple[str, Array, Array, Array | None]]:
    """Kinds with more freedoms, their screws, where their frames are, and the directions chosen."""
    if joint.kind == "fixed" and joint.closure:
        yield "spherical", joint_screws("spherical"), IDENTITY, None
        return
    if joint.kind == "spherical":
        for along in forces:
            screws = joint_screws("point_on_line", along)
            yield "point_on_line", screws, IDENTITY, along
        return
    if joint.kind not in ("revolute", "prismatic", "cylindrical"):
        return
    turning = [column for column in joint.screws.T if np.any(column[3:])]
    axis, point, _ = screw.axis_of((turning or [joint.screws[:, 0]])[0])
    shift = IDENTITY if point is None else screw.transform(None, point)
    across = perpendiculars(axis)
    if joint.kind != "cylindrical":
        yield "cylindrical", joint_screws("cylindrical", axis), shift, None
    if joint.kind == "revolute":
        value = screw.exp(screw.revolute(axis) * float(joint.position[0]))[:3, :3]
        for second in across:
            screws = joint_screws("universal", axis, second)
            yield "universal", screws, shift, value @ second
        yield "spherical", joint_screws("spherical"), shift, None
        for along in across:
            screws = np.column_stack([screw.prismatic(along), screw.revolute(axis)])
            yield "slotted", screws, shift, along
        yield "parallel", joint_screws("parallel", axis), shift, None
    else:
        for normal in across:
            screws = joint_screws("line_in_plane", axis, normal)
            yield "line_in_plane", screws, shift, normal
    if joint.kind == "prismatic":
        for normal in across:
            yield "planar", _sliding(joint_screws("planar", normal), axis), shift, normal
    yield "point_on_line", joint_screws("point_on_line", axis), shift, axis
    for normal in across if joint.kind != "revolute" else (*across, axis):
        yield "point_on_plane", joint_screws("point_on_plane", normal), shift, normal


def _sliding(screws: Array, axis: Array) -> Array:
    """Freedoms of a planar joint whose first one slides along an axis in its plane."""
    other = np.cross(screws[3:, 2], axis)
    return np.column_stack([screw.prismatic(axis), screw.prismatic(other), screws[:, 2]])


def direction_in(name: str, words: str) -> Array:
    """The unit vector that a user writes as X,Y,Z or by a letter; raises ``ModelError``."""
    letter = words.strip().lower()
    if letter.lstrip("+-") in ("x", "y", "z") and len(letter) <= 2:
        sign = -1.0 if letter.startswith("-") else 1.0
        return np.asarray(sign * np.eye(3)["xyz".index(letter[-1])])
    try:
        return screw.unit([float(word) for word in words.split(",")]).reshape(3)
    except ValueError:
        raise ModelError(
            f"joint {name!r}: {words!r} is no direction; write three numbers as in 0,0,1, or a "
            "letter as in Z"
        ) from None


def own_freedom(joint: Joint, screws: Array) -> int | None:
    """Which of new freedoms (6, f) is the single one that a joint has, if one is."""
    if joint.freedoms != 1 or screws.shape[1] > 2:
        return None  # a ball joint's coordinates are of another sort
    turns = bool(np.any(joint.screws[3:, 0]))
    kinds = np.any(screws[3:], axis=0) == turns
    return int(np.argmax(kinds)) if kinds.any() else None
