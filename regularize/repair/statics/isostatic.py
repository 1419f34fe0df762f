r"""The same mechanism with independent constraints, for engines that know whole joints only.

Where a weld that closes a loop can become a ball joint without adding mobility, it does; so does a
hinge, for an engine that closes loops by points and frames alone. Elsewhere
*slack joints* are put beside the cut: one along every direction that the reduction proves useless.
They never move, and they take exactly the redundant constraints away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.escape import unique
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Transform
from regularize.mechanism.body import Body
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import NodeId
from regularize.mechanism.joint import Joint, JointDynamics, reversed_joint
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Coupling, Mechanism, Model, as_mechanism
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.rank_loss import rank_losses
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.joint_changes import with_joints
from regularize.repair.statics.welds import Weld, chosen_welds, twist_space
from regularize.validation import FLAG, WHOLE, validated
from regularize.words import counted, slack_name

#: Kinds of slack joints by the half of the twist that they free.
KINDS = ("prismatic", "revolute")


@dataclass(frozen=True)
class ClosureChange:
    """A closing joint that becomes a ball (``lowered``), goes, or gets slack joints beside it."""

    joint: str
    kind: str
    #: The kind that it had and the one that it gets; or the bodies that slack joints tie together.
    before: str
    after: str
    #: Names of the slack joints.
    added: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One sentence, starting in lower case."""
        if self.kind == "lowered":
            return f"joint `{self.joint}` becomes {self.after} instead of {self.before}"
        if self.kind == "implied":
            return f"coupling `{self.joint}` is left out: the loops say what it says"
        if self.kind == "removed":
            return f"joint `{self.joint}` is left out: fixed joints hold its bodies together"
        return (
            f"joint `{self.joint}` holds `{self.after}`, which slack joints "
            f"{', '.join(f'`{name}`' for name in self.added)} tie to `{self.before}`"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Isostatic(ShortRepr):
    """A mechanism with independent constraints and the motion of the one it was made of."""

    mechanism: Mechanism
    #: The reduction of the original from which the changes follow.
    reduction: Reduction
    changes: tuple[ClosureChange, ...]
    #: The reduction of the changed mechanism: the proof that nothing is redundant.
    result: Reduction
    findings: tuple[Diagnostic, ...]

    @property
    def proved(self) -> bool:
        """Whether every removed constraint follows from joint geometry alone."""
        return not self.reduction.numerical and all(p.proved for p in self.reduction.parts)

    @property
    def equivalent(self) -> bool:
        """Whether nothing is redundant any more and the mobility is the same."""
        return self.result.redundant == 0 and same_motion(self.result, self.reduction)


@validated(seed=WHOLE, points=FLAG, coupled=WHOLE)
def isostatic(
    model: Model, *, seed: int = 0, points: bool = False, coupled: int | None = None
) -> Isostatic:
    """Make the constraints of a mechanism independent without changing its motion.

    Where motion algebras do not prove a redundancy (special dimensions), it is removed on the
    evidence of the configurations visited; the result holds on this assembly mode and says so.

    Args:
        model: Any mechanism with loops; a reduction made without options is taken as it is.
        seed: Seed of all random choices.
        points: Whether the engine closes loops by points and frames alone, as MuJoCo does, where
            a hinge would be two points and one equation too many.
        coupled: Most joints that one linear relation can have in the engine; None: any number.
            Where it cannot hold a body in its group, a fixed choice of constraints is removed
            instead, and the findings say what it misses where.

    Raises:
        UnsupportedExport: The loops are open, or a cut runs through the inside of a joint.
    """
    mechanism = as_mechanism(model)
    if isinstance(model, Reduction) and model.plain and model.seed == seed:
        original = model
    else:
        original = reduce(mechanism, seed=seed)
    if not original.assembly.closed:
        raise UnsupportedExport(
            "the loops are open, so what is redundant depends on how they are closed; "
            "see `regularize check`"
        )
    stated, idle = original, list[ClosureChange]()
    if original.idle_rows:
        mechanism, idle = _without_idle_rows(original)
        original = reduce(mechanism, seed=seed)
    if original.redundant == 0:
        return Isostatic(mechanism, stated, tuple(idle), original, ())
    unheld = _beyond(original, coupled)
    again = partial(reduce, seed=seed, groups=not unheld)
    if unheld:
        original = again(mechanism)
    changed, changes, reduction = _lowered(mechanism, original, again, points)
    shaky = not original.followed
    numerical = reduction.remaining > 0 and not shaky
    basis = stated
    if numerical:
        reduction = basis = reduce(changed, seed=seed, numerical="anyway", groups=False)
        if changes:
            basis = reduce(mechanism, seed=seed, numerical="anyway", groups=False)
    findings = [*unheld, *_lost(mechanism, changed)]
    for weld in chosen_welds(reduction):
        if weld.implied:
            changed, change = slack(changed, reduction, weld, findings)
            changes.append(change)
    changed = replace(changed, couplings=(*changed.couplings, *_couplings(reduction)))
    result = again(changed)
    for coupling in mechanism.couplings if result.redundant else ():
        edges = {e for cell in result.cells if cell.redundant for e in cell.edges}
        tied = {result.graph.edges[e].joint.name for e in edges}
        if tied.isdisjoint(name for name, _, _ in coupling.terms):
            continue
        rest = tuple(each for each in changed.couplings if each is not coupling)
        without = again(replace(changed, couplings=rest))
        if same_motion(without, result) and without.redundant < result.redundant:
            changed, result = without.mechanism, without
            changes.append(ClosureChange(coupling.name, "implied", "", ""))
    report = Isostatic(changed, basis, (*idle, *changes), result, ())
    if numerical:
        message = (
            f"{original.remaining} redundant constraints follow from special dimensions, not from "
            "the directions of axes: they were removed on numerical evidence, which holds on this "
            "assembly mode"
        )
        findings += [Diagnostic("REG307", "warning", message), *rank_losses(reduction)]
    if not report.equivalent:
        reason = f"the changed mechanism has {counted(result.redundant, 'redundant equation')}"
        if result.mobility != original.mobility:
            reason += f", and mobility {result.mobility} instead of {original.mobility}"
        if shaky:
            reason = (
                f"the mechanism is shaky: {result.redundant} redundant constraints are left, which "
                "hold it to second order, as constraints of velocities cannot"
            )
        findings.append(Diagnostic("REG308", "error", f"{reason}: do not use it"))
    return replace(report, findings=tuple(findings))


def _without_idle_rows(reduction: Reduction) -> tuple[Mechanism, list[ClosureChange]]:
    """Leave out joints within rigid bodies that nothing refers to, and rows that mates repeat."""
    mechanism = reduction.mechanism
    needed = referred(mechanism)
    idle = [joint.name for joint in reduction.idle_joints if joint.name not in needed]
    kept = (joint for joint in mechanism.joints if joint.name not in idle)
    joints = tuple(replace(joint, repeated=0) for joint in kept)
    changes = [ClosureChange(name, "removed", "", "") for name in idle]
    return replace(mechanism, joints=joints), changes


def referred(mechanism: Mechanism) -> set[str]:
    """Return the names of the joints that couplings, actuators and prescribed motions refer to."""
    names = {name for coupling in mechanism.couplings for name, _, _ in coupling.terms}
    names |= {actuator.joint for actuator in mechanism.actuators}
    return names | {motion.joint for motion in mechanism.motions}


def same_motion(one: Reduction, other: Reduction) -> bool:
    """Say whether two reductions find the same mobility."""
    return (one.mobility, one.finite_mobility) == (other.mobility, other.finite_mobility)


def _lowered(
    mechanism: Mechanism,
    reduction: Reduction,
    again: Callable[[Mechanism], Reduction],
    points: bool,
) -> tuple[Mechanism, list[ClosureChange], Reduction]:
    """Make closing welds (and hinges, with ``points``) balls one by one while the motion stays."""
    removed = {"fixed": 3, "revolute": 2} if points else {"fixed": 3}
    changes: list[ClosureChange] = []
    for joint in mechanism.joints:
        if not joint.closure or reduction.redundant < removed.get(joint.kind, np.inf):
            continue
        plain: dict[str, Any] = {"limits": None, "dynamics": JointDynamics()}
        screws, zero = joint_screws("spherical"), np.zeros(3)
        ball = replace(joint, kind="spherical", screws=screws, position=zero, **plain)
        candidate = with_joints(mechanism, [ball])
        found = again(candidate)
        if found.assembly.closed and same_motion(found, reduction):
            mechanism, reduction = candidate, found
            changes.append(ClosureChange(joint.name, "lowered", joint.kind, "spherical"))
    return mechanism, changes, reduction


def slack(
    mechanism: Mechanism, reduction: Reduction, weld: Weld, findings: list[Diagnostic]
) -> tuple[Mechanism, ClosureChange]:
    """Put slack joints beside one cut, one for each of its implied rows; adds findings."""
    edge, graph = weld.cut.edge, reduction.graph
    node, T_node_frame = _carrier(reduction, weld)
    joint, on_child = mechanism.joint(edge.joint.name), node == edge.child
    body = mechanism.body(joint.child if on_child else joint.parent)
    if graph.node_of.get(body.name) != node:
        raise UnsupportedExport(
            f"joint {joint.name!r} would have to be cut inside; choose other cuts"
        )
    T_body_frame = screw.inverse(graph.T_node_body[body.name]) @ T_node_frame
    names = {b.name for b in mechanism.bodies} | {j.name for j in mechanism.joints}
    share = None if body.inertia is None else body.inertia.scaled(1.0 / (len(weld.implied) + 1))
    chain, added = [replace(body, inertia=share)], list[Joint]()
    for k in range(len(weld.implied)):
        link = unique(f"{body.name}_slack{k + 1}", names)
        chain.append(Body(link, share, source=body.source))
        names.add(link)
    for axis, one, other in zip(weld.implied, chain, chain[1:], strict=False):
        kind, name = KINDS[axis // 3], unique(slack_name(joint.name, axis), names)
        names.add(name)
        frames = (T_body_frame, T_body_frame)
        screws = joint_screws(kind, np.eye(3)[axis % 3])
        new = Joint(name, one.name, other.name, kind, screws, *frames, source=joint.source)
        added.append(replace(new, actuated=False))
    if on_child and not joint.closure:
        # The body hangs on this joint in the file's own tree: the slack joints lead on to it.
        added = [reversed_joint(j) for j in reversed(added)]
    last = chain[-1].name
    moved = replace(joint, child=last) if on_child else replace(joint, parent=last)
    if body.inertia is None and body.name != mechanism.ground:
        message = (
            f"body `{body.name}` states no mass properties, nor do the links of its slack joints: "
            "an engine may refuse them"
        )
        findings.append(Diagnostic("REG303", "note", message, source=body.source))
    if graph.node_of[body.name] == graph.ground:
        message = (
            f"the slack joints of `{joint.name}` stand on the ground, so their links have no mass "
            "to share: give them some if the engine refuses massless links; it does not change the "
            "motion"
        )
        findings.append(Diagnostic("REG309", "note", message, joints=(joint.name,)))
    bodies = [chain[0] if b.name == body.name else b for b in mechanism.bodies]
    joints = [moved if j.name == joint.name else j for j in mechanism.joints]
    position = joints.index(moved)
    joints[position + 1 : position + 1] = added
    changed = replace(mechanism, bodies=(*bodies, *chain[1:]), joints=tuple(joints))
    slack_names = tuple(j.name for j in added)
    return changed, ClosureChange(joint.name, "slack", body.name, last, slack_names)


def _carrier(reduction: Reduction, weld: Weld) -> tuple[NodeId, Transform]:
    """Return the body for slack joints, preferably not the ground, and their frame on it."""
    cut, loops = weld.cut, reduction.loops
    other, twists = cut.edge.other(cut.node), twist_space(cut)
    turned = subalgebra.saturation(twists, cut.freedoms).shape[1] > twists.shape[1]
    fixed = turned or cut.thinned.size or cut.numerical.size
    if cut.node != reduction.graph.ground or other == reduction.graph.ground or fixed:
        return cut.node, weld.T_node_frame
    poses = reduction.reference.T_world_node[0]
    T_world_frame = poses[loops.row(cut.node)] @ weld.T_node_frame
    return other, screw.inverse(poses[loops.row(other)]) @ T_world_frame


def _couplings(reduction: Reduction) -> Iterator[Coupling]:
    """Return the rows that hold bodies in groups, as couplings of joint coordinates."""
    place, first = dict[int, tuple[str, int]](), dict[str, int]()
    for edge in reduction.graph.edges:
        for c in edge.columns:
            place[c] = (edge.joint.name, c - first.setdefault(edge.joint.name, c))
    for row in (row for held in reduction.held for row in held.rows):
        terms = zip(row.columns, row.coefficients, strict=True)
        yield Coupling(row.name, "gear", tuple((*place[c], k) for c, k in terms), row.offset)


def _beyond(reduction: Reduction, coupled: int | None) -> list[Diagnostic]:
    """Return findings on group relations with more joints than an engine couples."""
    found, edges = [], reduction.graph.edges
    for row, held in ((row, group) for group in reduction.held for row in group.rows):
        joints = tuple(edge.name for edge in edges if {*edge.columns} & {*row.columns})
        if coupled is None or len(joints) <= coupled:
            continue
        message = (
            f"the target has no linear relation of {len(joints)} joints, so that "
            f"{', '.join(f'`{name}`' for name in joints)} cannot be tied to hold "
            f"`{reduction.graph.nodes[held.edge.child]}` in its group of motions: constraints "
            "of a fixed choice of legs are removed instead"
        )
        found.append(Diagnostic("REG301", "warning", message, joints=joints))
    return found


def _lost(before: Mechanism, after: Mechanism) -> Iterator[Diagnostic]:
    """Return findings on limits and springs that joints lose by becoming balls."""
    for joint, other in zip(before.joints, after.joints, strict=True):
        if joint is other:
            continue
        for code, what, stated in (
            ("REG324", "bounds", joint.limits is not None),
            ("REG325", "forces within it", bool(joint.dynamics)),
        ):
            if stated:
                message = f"joint `{joint.name}` becomes {other.kind}: the {what} are lost"
                yield Diagnostic(code, "warning", message, joints=(joint.name,))
