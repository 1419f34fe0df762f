"""The search for changes of joints that take self-stress away and leave the motion.

Every redundant equation is a state of self-stress; a joint that gives way along it takes it away. A
new freedom that takes a state away that no other one does raises the rank of the equations by one,
so that nothing more moves. Whether freedoms do is told by the work of the states along them, for
all of a set (``complete_sets``) or for one after the other (``independent_changes``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Space, read_only
from regularize.loops.assembly import with_coordinates
from regularize.mechanism.graph import EdgeId
from regularize.mechanism.joint import changed_joint
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.equilibrium import Equilibrium
from regularize.repair.statics.joint_changes import (
    JointChange,
    Replacement,
    clearance,
    replacements,
)
from regularize.tolerances import UNSEEN

#: Equations of one cell up to which all its states of self-stress are looked at. Of larger ones it
#: is what each short loop can hold alone: singular values of all would take seconds.
EQUATIONS = 1500
#: Changes that help in an arrangement of several joints alone.
ARRANGED = (("spherical", "point_on_plane"), ("planar", "point_on_plane"))
#: Combinations looked at in a cell before the search settles for what it has.
COMBINATIONS = 40_000


class MechanismStress:
    """The self-stress of a mechanism at a configuration that is not singular."""

    def __init__(self, reduction: Reduction) -> None:
        self.reduction = reduction
        #: What became of sets of changes that were verified.
        self.verified: dict[tuple[JointChange, ...], Any] = {}
        self._replacements: dict[tuple[object, ...], list[Replacement]] = {}
        self._changes: dict[EdgeId, list[JointChange]] = {}
        self._cells: dict[Sequence[EdgeId], CellStress] = {}
        self._assembled = with_coordinates(reduction.mechanism, reduction.q)
        self._coupled = {name for c in reduction.mechanism.couplings for name, _, _ in c.terms}
        q = np.array(reduction.q)
        for cell in reduction.cells:
            if cell.here.rank < cell.generic.rank:
                q[reduction.graph.columns(cell.edges)] = cell.configurations[-1]
        self.q, self.equilibrium = q, Equilibrium(reduction, q)

    @staticmethod
    @lru_cache(maxsize=1)  # a report and the ways out that it names ask for the same one
    def of(reduction: Reduction) -> MechanismStress:
        """Return the self-stress of a reduction; the last one is kept in memory."""
        return MechanismStress(reduction)

    def changes(
        self,
        edges: Iterable[EdgeId],
        kinds: Collection[str] | Mapping[str, Collection[str]],
        motors: bool = False,
        arranged: bool = False,
    ) -> list[JointChange]:
        """List changes to some kinds, of all joints alike or by name; coupled joints have none."""
        changes = []
        for e in edges:
            joint = self.reduction.graph.edges[e].joint
            wanted = kinds.get(joint.name, ()) if isinstance(kinds, Mapping) else kinds
            if wanted and joint.name not in self._coupled and (motors or not joint.actuated):
                if e not in self._changes:
                    self._changes[e] = self._every_change(e)
                changes += [
                    change
                    for change in self._changes[e]
                    if change.after in wanted
                    and (arranged or (change.before, change.after) not in ARRANGED)
                ]
        return changes

    def _every_change(self, e: EdgeId) -> list[JointChange]:
        """Return all changes of one joint to kinds with more freedoms."""
        edge = self.reduction.graph.edges[e]
        joint = self._assembled.joint(edge.joint.name)
        forces = self._forces(e) if joint.kind == "spherical" else np.zeros((0, 3))
        q = self.q[list(edge.columns)]
        # In their own frames most joints are like others.
        numbers = (joint.screws, joint.position, q, forces)
        key = (joint.kind, joint.closure, *(array.tobytes() for array in numbers))
        if key not in self._replacements:
            self._replacements[key] = list(replacements(joint, forces, q))
        loops, poses = self.reduction.loops, self.reduction.reference.T_world_node[0]
        R = (poses[loops.row(edge.parent)] @ edge.T_parent)[:3, :3]
        to_world = screw.adjoint(self.equilibrium.origin(e))
        return [clearance(joint, to_world)] + [
            JointChange(
                joint.name,
                joint.kind,
                new.after,
                partial(changed_joint, joint, new.kind, new.screws, new.frame, new.kept),
                read_only(to_world @ new.gained),
                None if new.choice is None else read_only(R @ new.choice),
            )
            for new in self._replacements[key]
        ]

    def _forces(self, e: EdgeId) -> Array:
        """Return directions of self-stress forces at a ball, in its frame, shape (k, 3)."""
        cell = self.reduction.cell_at.get(e)
        if cell is None:
            return np.eye(0, 3)
        stress, small = self.cell(cell), self.reduction.tolerances.rank
        forces = np.hstack([np.zeros((3, 0)), *(w[:3] for _, w in stress.wrenches.get(e, []))])
        u, s, _ = np.linalg.svd(forces, full_matrices=False)
        pose = stress.T_root_ground @ self.equilibrium.origin(e)
        local = pose[:3, :3].T @ u[:, s > small]
        axes = [axis for axis in np.eye(3) if np.linalg.norm(local.T @ axis) > UNSEEN]
        along = [np.eye(3)[i] for i in range(3) if any(abs(d[i]) > 1 - small**2 for d in local.T)]
        return np.array(along or [*local.T, *axes]).reshape(-1, 3)

    def cell(self, cell: CellMobility) -> CellStress:
        """Return the self-stress of one cell."""
        if cell.edges not in self._cells:
            self._cells[cell.edges] = CellStress(self, cell.edges)
        return self._cells[cell.edges]


class CellStress:
    """The self-stress of a coupled component; of a large one, the states of each short loop."""

    def __init__(self, whole: MechanismStress, edges: Sequence[EdgeId]) -> None:
        reduction, graph = whole.reduction, whole.reduction.graph
        self.tolerances = reduction.tolerances
        cell = Equilibrium(reduction, whole.q[graph.columns(edges)], edges)
        self._loops = cell.loops
        self.T_root_ground = cell.origin(edges[0]) @ screw.inverse(
            whole.equilibrium.origin(edges[0])
        )
        self._edge_of = {graph.edges[e].joint.name: e for e in edges}
        #: Of each edge the states that it has a part in, and its wrenches there, (6, states).
        self.wrenches: dict[EdgeId, list[tuple[slice, Space]]] = {e: [] for e in edges}
        #: Number of states.
        self.count = 0
        if cell.equations <= EQUATIONS:
            fields = cell.fields(cell.self_stress)
            self.count = fields.shape[2]
            for e, wrenches in zip(cell.loops.edges, fields, strict=True):
                self.wrenches[e].append((slice(self.count), wrenches))
            return
        inside = set(edges)
        for cut in reduction.cuts:
            if cut.edge.index in inside:
                wrenches = cell.circulating(cut.cycle.edges)
                rows = slice(self.count, self.count + wrenches.shape[1])
                self.count = rows.stop
                for e in cut.cycle.edges:
                    self.wrenches[e].append((rows, cut.cycle.direction(graph, e) * wrenches))

    def work(self, change: JointChange) -> Array:
        """Return the work of every state along the new freedoms of a change, (states, gain)."""
        added = self._loops.scaled((screw.adjoint(self.T_root_ground) @ change.added).T)
        work = np.zeros((self.count, change.gain))
        for rows, wrenches in self.wrenches[self._edge_of[change.joint]]:
            work[rows] = wrenches.T @ added.T
        return work


class StatesLeft(NamedTuple):
    """States of self-stress that the freedoms chosen so far do not release."""

    states: int
    #: Work that counts as none.
    small: float
    #: Orthonormal basis of those that are taken away, shape (states at first, taken).
    taken: Array

    def without(self, work: Array, idle: int = 0) -> StatesLeft | None:
        """Return the states left after new freedoms; None if more than ``idle`` do no work."""
        rows = np.flatnonzero(work.any(axis=1))
        rest = work - self.taken @ (self.taken[rows].T @ work[rows])
        u, s, _ = np.linalg.svd(rest, full_matrices=False)
        new = u[:, s > self.small]
        if work.shape[1] - new.shape[1] > idle:
            return None
        return StatesLeft(self.states - new.shape[1], self.small, np.hstack([self.taken, new]))


def independent_changes(stress: CellStress, options: Iterable[JointChange]) -> list[JointChange]:
    """Take changes in order whose freedoms each release a state, at most one a joint."""
    left = StatesLeft(stress.count, stress.tolerances.rtol, np.zeros((stress.count, 0)))
    taken: dict[str, JointChange] = {}
    for option in options:
        if option.joint not in taken and option.gain <= left.states:
            fewer = left.without(stress.work(option))
            if fewer is not None:
                left, taken[option.joint] = fewer, option
    return list(taken.values())


def complete_sets(
    stress: CellStress, options: Sequence[JointChange], idle: bool, enough: int
) -> list[tuple[JointChange, ...]]:
    """Find the smallest sets of changes that release all states, the best first."""
    every = StatesLeft(stress.count, stress.tolerances.rank, np.zeros((stress.count, 0)))
    work, by_joint = {}, dict[str, list[JointChange]]()
    for option in options:
        work[option] = stress.work(option)
        if every.without(work[option], int(idle)) is not None:
            by_joint.setdefault(option.joint, []).append(option)
    # The last joints first: they close the loops, while the first ones tend to be driven.
    joints = list(reversed(by_joint))
    most = max((option.gain for ways in by_joint.values() for option in ways), default=0)
    if most == 0:
        return []
    found: list[tuple[JointChange, ...]] = []
    budget = COMBINATIONS

    def extend(start: int, chosen: tuple[JointChange, ...], more: int, left: StatesLeft) -> None:
        """Extend a set by ``more`` changes from joint ``start`` on; complete sets are found."""
        nonlocal budget
        if more == 0:
            if left.states == 0:
                found.append(chosen)
            return
        if not 0 < left.states <= more * most:
            return
        spare = int(idle) - sum(option.gain for option in chosen) + stress.count - left.states
        for j in range(start, len(joints) - more + 1):
            for option in by_joint[joints[j]]:
                if budget == 0:
                    return
                budget -= 1
                fewer = left.without(work[option], spare)
                if fewer is not None and fewer.states < left.states:
                    extend(j + 1, (*chosen, option), more - 1, fewer)

    for size in range(-(-stress.count // most), len(joints) + 1):
        extend(0, (), size, every)
        if len(found) >= enough or budget == 0:
            break

    def key(chosen: tuple[JointChange, ...]) -> tuple[int, int, int]:
        """Return the sort key of a set: freedoms gained, joints changed, price."""
        costs = sum(option.cost for option in chosen)
        return sum(option.gain for option in chosen), len(chosen), costs

    return sorted(found, key=key)
