"""Sets of joint changes, verified by analysing the changed mechanism from scratch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Indices
from regularize.lie.subalgebra import decide_rank
from regularize.loops.assembly import assemble, with_coordinates
from regularize.loops.kinematics import LoopKinematics, State, sized_loops
from regularize.mechanism.cycles import MANY_LOOPS, minimum_cycle_basis
from regularize.mechanism.graph import EdgeId, Graph
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import joint_position, relative_pose
from regularize.mechanism.mechanism import Mechanism
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.joint_changes import JointChange, own_freedom
from regularize.repair.statics.passive_freedoms import passive_bodies
from regularize.tolerances import EXACT

#: Ranks of coupled components at the assembled pose, by their joints and what these become.
Ranks: TypeAlias = dict[frozenset[tuple[str, str]], int]


@dataclass(frozen=True, eq=False, repr=False)
class Cure(ShortRepr):
    """A verified set of changes.

    Attributes:
        changes: The changes, in the order of the joints.
        mobility: Mobility of the changed mechanism.
        idle: Bodies that can now spin without moving anything else; as many as mobility is gained.
        written: Reduction of the mechanism as it is.
        freed: Freedoms that a mechanism gains which its closures locked; 0 for other cures.
    """

    changes: tuple[JointChange, ...]
    mobility: int
    idle: tuple[str, ...]
    written: Reduction = field(repr=False)
    freed: int = 0

    @cached_property
    def reduction(self) -> Reduction:
        """Reduction of the changed mechanism: nothing is redundant, unless it is freed."""
        return _analysed(self.written, changed(self.written, self.changes))

    @property
    def kinds(self) -> dict[str, str]:
        """New kind of every changed joint."""
        return {change.joint: change.after for change in self.changes}

    def __str__(self) -> str:
        """One phrase that says what to change, and what is idle then."""
        text = "; ".join(str(change) for change in self.changes)
        return f"{text} (idle: {', '.join(self.idle)})" if self.idle else text

    @property
    def arguments(self) -> list[str]:
        """The changes as arguments of ``regularize fix``."""
        return [word for change in self.changes for word in ("--joint", change.argument)]


@dataclass(frozen=True, eq=False, repr=False)
class NoCure(ShortRepr):
    """Changes that are no cure; false where a truth value is asked for.

    Attributes:
        changes: The changes, in the order of the joints.
        reason: Why they are none.
    """

    changes: tuple[JointChange, ...]
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        """One phrase that says what does not work, and why."""
        return f"{'; '.join(str(change) for change in self.changes)}: {self.reason}"


def changed(reduction: Reduction, changes: Sequence[JointChange]) -> Mechanism:
    """The mechanism with the changes made, stored in its assembled pose."""
    mechanism = with_coordinates(reduction.mechanism, reduction.q)
    by_name = {change.joint: change.replacement for change in changes}
    joints = tuple(by_name.get(joint.name, joint) for joint in mechanism.joints)
    actuators = []
    for actuator in mechanism.actuators:
        after = by_name.get(actuator.joint)
        own = None if after is None else own_freedom(mechanism.joint(after.name), after.screws)
        if after is None:
            actuators.append(actuator)
        elif own is not None:
            actuators.append(replace(actuator, freedom=own))
    return replace(mechanism, joints=joints, actuators=tuple(actuators))


def verified(reduction: Reduction, changes: Sequence[JointChange]) -> Cure | NoCure:
    """The cure that some changes are, or why they are none.

    The changed mechanism is analysed from scratch: nothing may be redundant, and nothing but idle
    freedoms may move that did not move before. Where all its equations are independent at the
    assembled pose, nothing more has to be known. Where several motions
    meet at that pose, one of those of the highest rank is enough.
    """
    order = [joint.name for joint in reduction.mechanism.joints]
    ordered = tuple(sorted(changes, key=lambda change: order.index(change.joint)))
    found = NoCure(ordered, "")
    for mechanism in _on_motions(reduction, changes):
        tried = _judged(reduction, ordered, mechanism)
        if isinstance(tried, Cure):
            return tried
        found = tried if not found.reason else found
    return found


def _judged(
    reduction: Reduction, ordered: tuple[JointChange, ...], mechanism: Mechanism
) -> Cure | NoCure:
    if left_here(reduction, mechanism) == 0:
        return Cure(ordered, reduction.mobility, (), reduction)
    after = _analysed(reduction, mechanism)
    if not after.assembly.closed:
        return NoCure(ordered, "the loops cannot be closed any more")
    before = {body.name for body in passive_bodies(reduction)}
    idle = tuple(body.name for body in passive_bodies(after) if body.name not in before)
    if after.mobility == reduction.finite_mobility:
        idle = ()  # what moves within looser joints now is what moved before
    if after.mobility - len(idle) != reduction.finite_mobility:
        spin = f", of which {len(idle)} are bodies that spin idly" if idle else ""
        finite = reduction.finite_mobility
        known = "what is not known" if finite is None else finite
        return NoCure(ordered, f"mobility would be {after.mobility} instead of {known}{spin}")
    if after.redundant:
        verb = "stays" if after.redundant == 1 else "stay"
        return NoCure(
            ordered, f"{after.redundant} of {reduction.redundant} redundant equations {verb}"
        )
    return Cure(ordered, after.mobility, idle, reduction)


def _on_motions(reduction: Reduction, changes: Sequence[JointChange]) -> Iterator[Mechanism]:
    """The changed mechanism on each motion of the highest rank that the original has there.

    Where several meet, each change would have to find all of them again. Where the pose is singular
    and only one is there, ranks are told where a walk came to.
    """
    mechanism = changed(reduction, changes)
    replaced = {change.joint: change.replacement for change in changes}
    best = _best(reduction)
    if not any(best):
        yield mechanism
    for which in range(max(map(len, best), default=0)):
        q = np.array(reduction.q)
        for cell, found in zip(reduction.cells, best, strict=True):
            if found:
                q[reduction.graph.columns(cell.edges)] = found[min(which, len(found) - 1)]
        positions = {}
        for old in with_coordinates(reduction.mechanism, q).joints:
            positions[old.name] = old.position
            if old.name in replaced:
                new, pose = replaced[old.name], relative_pose(old, old.position)
                across = screw.inverse(new.T_parent_joint) @ pose @ new.T_child_joint
                positions[old.name] = joint_position(new, across)
        yield mechanism.with_positions(positions)


def _best(reduction: Reduction) -> list[list[Array]]:
    """Of each coupled component configurations that tell its rank; none where the pose does."""
    ranks = [max((branch.rank for branch in cell.branches), default=0) for cell in reduction.cells]
    return [
        [branch.local.q for branch in cell.branches if branch.rank == rank]
        or list(cell.configurations[-1:] if cell.here.rank < cell.generic.rank else ())
        for cell, rank in zip(reduction.cells, ranks, strict=True)
    ]


def _analysed(reduction: Reduction, mechanism: Mechanism) -> Reduction:
    """A changed mechanism, reduced as the one before."""
    return reduce(mechanism, rtol=reduction.rtol, configurations=8, seed=reduction.seed)


def left_after(
    reduction: Reduction, changes: Sequence[JointChange], known: Ranks | None = None
) -> int | None:
    """Equations that stay redundant after some changes; None where the motion is another one.

    Where no more moves than before, what moved before is all of it, and what is generic there was
    generic before: ranks where the mechanism as it is has its own rank tell.

    Args:
        reduction: Of the mechanism.
        changes: The changes.
        known: Ranks at the assembled pose, by joints and changes, of which more become known.
    """
    ways = (left_here(reduction, each, changes, known) for each in _on_motions(reduction, changes))
    return next((left for left in ways if left is not None), None)


def left_here(
    reduction: Reduction,
    mechanism: Mechanism,
    changes: Sequence[JointChange] = (),
    known: Ranks | None = None,
) -> int | None:
    """Redundant equations of a changed mechanism of the same mobility; None where ranks differ.

    Looser joints allow all motions of the mechanism as it was. Where the equations leave no more
    velocities at the assembled pose than these motions have freedoms, there are no others, and the
    rank is the same along them.
    """
    graph = build(mechanism)
    edges = graph.edges
    q, assembled, rank = graph.position, False, 0
    made = {change.joint: change.argument for change in changes}
    if known is None or any(_best(reduction)):
        known = {}  # ranks elsewhere than at the assembled pose
    keys = {
        cell: frozenset((name, made.get(name, "")) for name in (edges[e].joint.name for e in cell))
        for cell in graph.cells
    }
    new = {cell[0]: key for cell, key in keys.items() if key not in known}
    if len(new) > 1 and not graph.couplings:
        several = [cell for cell in keys if cell[0] in new]
        known |= {new[e]: found for e, found in _single_ranks(graph, several, reduction)}
    for cell, key in keys.items():
        if key not in known:
            loops = sized_loops(graph, q, cell)
            state = loops.state(q[loops.columns])
            error = np.max(np.abs(loops.residual(state)), initial=0.0)
            if error > EXACT.closed and not assembled:
                assembly = assemble(graph, seed=reduction.seed)
                if not assembly.closed:
                    return None
                q, assembled = assembly.q, True
                loops = sized_loops(graph, q, cell)
                state = loops.state(q[loops.columns])
            known[key] = _rank(loops, state, reduction.rtol)
        rank += known[key]
    if graph.freedoms - rank != reduction.finite_mobility:
        return None
    return 6 * graph.loops + len(graph.couplings) - rank


def _single_ranks(
    graph: Graph, cells: Iterable[Sequence[EdgeId]], reduction: Reduction
) -> Iterator[tuple[EdgeId, int]]:
    """Ranks of those cells that are one loop, closed as stored, by their first edges."""
    edges, before = graph.edges, reduction.graph.edges
    part_of = {before[e].joint.name: part for part in reduction.parts for e in part.edges}
    whole = LoopKinematics(graph, graph.every_edge, graph.tree)
    state = whole.state(graph.position)
    errors = whole.residual(state)[0].reshape(-1, 6)
    loop_of = {chord: i for i, chord in enumerate(whole.chords)}
    alike: dict[int, list[tuple[EdgeId, float, Array, Indices, Array]]] = {}
    for cell in cells:
        chords = [loop_of[e] for e in cell if e in loop_of]
        parts = (part_of.get(edges[e].joint.name) for e in cell)
        part, error = next(filter(None, parts), None), np.abs(errors[chords[0]])
        if part is None or len(chords) > 1:
            continue
        if max(*error[:3] / part.length, *error[3:]) > EXACT.closed:
            continue
        signs = whole.incidence[chords[0]]
        passed = np.flatnonzero(signs)
        own = (cell[0], part.length, part.center, passed, signs[passed])
        alike.setdefault(len(passed), []).append(own)
    for together in alike.values():
        first, lengths, centers, columns, ways = map(list, zip(*together, strict=True))
        twists = state.screws[0, np.array(columns, dtype=np.intp)]
        length = np.array(lengths)[:, None, None]
        linear = twists[..., :3] + screw.cross(twists[..., 3:], np.array(centers)[:, None])
        rows = np.concatenate([linear / length, twists[..., 3:]], axis=-1)
        rows *= np.where(twists[..., 3:].any(axis=-1, keepdims=True), 1.0, length)
        values = np.linalg.svd(rows * np.array(ways)[..., None], compute_uv=False)
        ranks = np.sum(values > reduction.rtol * values[:, :1], axis=1)
        yield from zip(first, ranks.tolist(), strict=True)


def _rank(loops: LoopKinematics, state: State, rtol: float) -> int:
    """Rank of the closure equations of a coupled component at a configuration."""
    if len(loops.chords) > MANY_LOOPS:
        from regularize.reduction.many_loops import LoopRanks  # loaded where there are many

        own = [block for block in loops.graph.blocks if block[0] in set(loops.edges)]
        cycles = [cycle for block in own for cycle in minimum_cycle_basis(loops.graph, block)]
        rank = LoopRanks(loops, cycles, state, rtol).rank
        if rank is not None:
            return rank
    values = np.linalg.svd(loops.jacobian(state)[0] * loops.units, compute_uv=False)
    return decide_rank(values, rtol).rank


def freed(reduction: Reduction, changes: Sequence[JointChange]) -> Cure | None:
    """The cure that changes of closures are, or None where nothing moves more freely, or spins."""
    after = _analysed(reduction, changed(reduction, changes))
    if after.finite_mobility is None or reduction.finite_mobility is None:
        return None
    gained = after.finite_mobility - reduction.finite_mobility
    if gained <= 0 or not after.assembly.closed:
        return None
    before = {body.name for body in passive_bodies(reduction)}
    if any(body.name not in before for body in passive_bodies(after)):
        return None
    return Cure(tuple(changes), after.mobility, (), reduction, gained)
