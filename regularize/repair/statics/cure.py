"""Sets of joint changes, verified by analysing the changed mechanism from scratch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.lie.subalgebra import decide_rank
from regularize.loops.assembly import assemble, with_coordinates
from regularize.loops.kinematics import LoopKinematics, State, sized_loops
from regularize.mechanism.cycles import MANY_LOOPS, minimum_cycle_basis
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import joint_position, relative_pose
from regularize.mechanism.mechanism import Mechanism
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.joint_changes import CLEARANCE, JointChange, own_freedom, with_joints
from regularize.repair.statics.passive_freedoms import passive_bodies
from regularize.tolerances import EXACT

#: Ranks of coupled components at the assembled pose, by their joints and what these become.
Ranks: TypeAlias = dict[frozenset[tuple[str, str]], int]

#: Ranks that rounding leaves in changed mechanisms, in units of what it can do to joints: of those
#: that were read as meant, and of others.
ROUNDED, LITERAL = 10.0, 1.0
#: Tolerance of ranks above which rounding tells nothing.
COARSEST = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class Cure(ShortRepr):
    """A verified set of changes, in the order of the joints."""

    changes: tuple[JointChange, ...]
    #: Mobility of the changed mechanism.
    mobility: int
    #: Bodies that can now spin without moving anything else; as many as mobility is gained.
    idle: tuple[str, ...]
    #: Reduction of the mechanism as it is.
    written: Reduction = field(repr=False)
    #: Freedoms that a mechanism gains which its closures locked; 0 for other cures.
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
    """Joint changes that fail as a cure, with the reason; false as a truth value."""

    changes: tuple[JointChange, ...]
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        """One phrase that says what does not work, and why."""
        return f"{'; '.join(str(change) for change in self.changes)}: {self.reason}"


def changed(reduction: Reduction, changes: Sequence[JointChange]) -> Mechanism:
    """Return the mechanism with the changes made, stored in its assembled pose."""
    mechanism = with_coordinates(reduction.mechanism, reduction.q)
    loose = {change.joint for change in changes if change.after == CLEARANCE}
    new = {c.joint: c.replacement for c in changes if c.joint not in loose}
    joints = tuple(joint for joint in mechanism.joints if joint.name not in loose)
    mechanism, actuators = replace(mechanism, joints=joints), []
    for actuator in mechanism.actuators:
        freedom: int | None = actuator.freedom
        if actuator.joint in new:
            freedom = own_freedom(mechanism.joint(actuator.joint), new[actuator.joint].screws)
        actuators += [] if freedom is None else [replace(actuator, freedom=freedom)]
    return replace(with_joints(mechanism, new.values()), actuators=tuple(actuators))


def verified(reduction: Reduction, changes: Sequence[JointChange]) -> Cure | NoCure:
    """Return joint changes as a cure, or the reason why they are none."""
    order = [joint.name for joint in reduction.mechanism.joints]
    ordered = tuple(sorted(changes, key=lambda change: order.index(change.joint)))
    refused = NoCure(ordered, "")
    for mechanism in _on_motions(reduction, changes):
        result = _judged(reduction, ordered, mechanism)
        if isinstance(result, Cure):
            return result
        refused = refused if refused.reason else result
    return refused


def _judged(
    reduction: Reduction, ordered: tuple[JointChange, ...], mechanism: Mechanism
) -> Cure | NoCure:
    """Return whether changes cure the reduced mechanism, judged by the changed one at one pose."""
    if left_here(reduction, mechanism) == reduction.idle_rows:  # then nothing more has to be known
        return Cure(ordered, reduction.mobility, (), reduction)
    after, finite = _analysed(reduction, mechanism), reduction.finite_mobility
    if not after.assembly.closed:
        return NoCure(ordered, "the loops cannot be closed any more")
    before = {body.name for body in passive_bodies(reduction)}
    idle = tuple(body.name for body in passive_bodies(after) if body.name not in before)
    if after.mobility == finite:
        idle = ()  # what moves within looser joints now is what moved before
    if after.mobility - len(idle) != finite:
        spin = f", of which {len(idle)} are bodies that spin idly" if idle else ""
        wanted = "what is not known" if finite is None else finite
        return NoCure(ordered, f"mobility would be {after.mobility} instead of {wanted}{spin}")
    if after.redundant > after.idle_rows:
        verb = "stays" if after.redundant == 1 else "stay"
        return NoCure(
            ordered, f"{after.redundant} of {reduction.redundant} redundant equations {verb}"
        )
    return Cure(ordered, after.mobility, idle, reduction)


def _on_motions(reduction: Reduction, changes: Sequence[JointChange]) -> Iterator[Mechanism]:
    """Put the changed mechanism on each motion of the highest rank that the original has there."""
    mechanism = changed(reduction, changes)
    new = {c.joint: c.replacement for c in changes if c.after != CLEARANCE}
    telling = _telling(reduction)
    if not any(telling):
        yield mechanism
    for which in range(max(map(len, telling), default=0)):
        q = np.array(reduction.q)
        for cell, places in zip(reduction.cells, telling, strict=True):
            if places:
                q[reduction.graph.columns(cell.edges)] = places[min(which, len(places) - 1)]
        positions = {}
        for old in with_coordinates(reduction.mechanism, q).joints:
            positions[old.name] = old.position
            if joint := new.get(old.name):
                pose = relative_pose(old, old.position)
                across = screw.inverse(joint.T_parent_joint) @ pose @ joint.T_child_joint
                positions[old.name] = joint_position(joint, across)
        yield mechanism.with_positions(positions)


def _telling(reduction: Reduction) -> list[list[Array]]:
    """Return configurations of each cell that tell its rank; none where the assembled pose does."""
    ranks = [max((branch.rank for branch in cell.branches), default=0) for cell in reduction.cells]
    return [
        [branch.local.q for branch in cell.branches if branch.rank == rank]
        or list(cell.configurations[-1:] if cell.here.rank < cell.generic.rank else ())
        for cell, rank in zip(reduction.cells, ranks, strict=True)
    ]


def _analysed(reduction: Reduction, mechanism: Mechanism) -> Reduction:
    """Reduce a changed mechanism with the options of the first reduction."""
    rtol = rank_tolerance(reduction)
    return reduce(mechanism, rtol=rtol, configurations=8, seed=reduction.seed)


def rank_tolerance(reduction: Reduction) -> float:
    """Return the tolerance of ranks of changed mechanisms: what rounding left is no rank."""
    reading = reduction.mechanism.reading
    if reading is None or not reading.levels:
        return reduction.rtol
    sizes = (
        sized_loops(reduction.graph, reduction.q, cell.edges).length for cell in reduction.cells
    )
    rounding = reading.rounding(reading.levels, min(sizes, default=1.0))
    times = LITERAL if reading.as_ == "written" else ROUNDED
    return max(reduction.rtol, min(times * rounding, COARSEST))


def left_after(
    reduction: Reduction, changes: Sequence[JointChange], ranks: Ranks | None = None
) -> int | None:
    """Count equations that stay redundant after changes, by ranks where the original moves."""
    ways = (left_here(reduction, each, changes, ranks) for each in _on_motions(reduction, changes))
    return next((left for left in ways if left is not None), None)


def left_here(
    reduction: Reduction,
    mechanism: Mechanism,
    changes: Sequence[JointChange] = (),
    ranks: Ranks | None = None,
) -> int | None:
    """Count redundant equations of a changed mechanism at its pose; None where its ranks differ."""
    graph = build(mechanism)
    q, assembled, rank = graph.position, False, 0
    new = {change.joint: change.argument for change in changes}
    if ranks is None or any(_telling(reduction)):
        ranks = {}  # ranks elsewhere than at the assembled pose
    for cell in graph.cells:
        names = (graph.edges[e].joint.name for e in cell)
        key = frozenset((name, new.get(name, "")) for name in names)
        if key not in ranks:
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
            ranks[key] = closure_rank(loops, state, rank_tolerance(reduction))
        rank += ranks[key]
    if graph.freedoms - rank != reduction.finite_mobility:
        return None
    repeated = sum(joint.repeated for joint in mechanism.joints)
    return 6 * graph.loops + len(graph.couplings) + repeated - rank


def closure_rank(loops: LoopKinematics, state: State, rtol: float) -> int:
    """Return the rank of the closure equations of a coupled component at a configuration."""
    if len(loops.chords) > MANY_LOOPS:
        from regularize.reduction.many_loops import LoopRanks  # loaded where there are many

        blocks = [block for block in loops.graph.blocks if block[0] in set(loops.edges)]
        cycles = [cycle for block in blocks for cycle in minimum_cycle_basis(loops.graph, block)]
        rank = LoopRanks(loops, cycles, state, rtol).rank
        if rank is not None:
            return rank
    values = np.linalg.svd(loops.jacobian(state)[0] * loops.units, compute_uv=False)
    return decide_rank(values, rtol).rank


def freed(reduction: Reduction, changes: Sequence[JointChange]) -> Cure | None:
    """Return changes of closures as a cure of a locked model; None if only spins are new."""
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
