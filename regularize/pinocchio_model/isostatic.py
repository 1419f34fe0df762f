r"""The same mechanism with independent constraints, for engines that know whole joints only.

Where a weld that closes a loop can become a ball joint without adding mobility, it does; so does a
hinge, for an engine that closes loops by points and frames alone. Elsewhere
*slack joints* are put beside the cut: one along every direction that the reduction proves useless.
They never move, and they take exactly the redundant constraints away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.model.diagnostic import Diagnostic
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Coupling, JointDynamics, Mechanism
from regularize.pinocchio_model.isostatic_mechanism import ClosureChange, Isostatic
from regularize.pinocchio_model.slack_joints import with_slack
from regularize.reduction.missed_rows import missed_rows
from regularize.reduction.reduce import Reduction, reduce


def isostatic(
    mechanism: Mechanism, *, seed: int = 0, points: bool = False, coupled: int | None = None
) -> Isostatic:
    """Make the constraints of a mechanism independent without changing its motion.

    Where motion algebras do not prove a redundancy (special dimensions), it is removed on the
    evidence of the configurations visited; the result holds on this assembly mode and says so.

    Args:
        mechanism: Any mechanism with loops.
        seed: Seed of all random choices.
        points: Whether the engine closes loops by points and frames alone, as MuJoCo does, where
            a hinge would be two points and one equation too many.
        coupled: Most joints that one linear relation can have in the engine; None: any number.
            Where it cannot hold a body in its group, a fixed choice of constraints is removed
            instead, and the findings say what it misses where.

    Raises:
        UnsupportedExport: The loops are open, or a cut runs through the inside of a joint.
    """
    original = reduce(mechanism, seed=seed)
    if not original.assembly.closed:
        raise UnsupportedExport(
            "the loops are open, so what is redundant depends on how they are closed; "
            "see `regularize check`"
        )
    if original.redundant == 0:
        return Isostatic(mechanism, original, (), original, ())
    unheld = _beyond(original, coupled)
    again = partial(reduce, seed=seed, groups=not unheld)
    if unheld:
        original = again(mechanism)
    changed, changes, reduction = _lowered(mechanism, original, again, points)
    shaky = original.finite_mobility != original.mobility
    numerical = reduction.remaining > 0 and not shaky
    if numerical:
        reduction = reduce(changed, seed=seed, numerical="anyway", groups=False)
    findings = [*unheld, *_lost(mechanism, changed)]
    changed = with_slack(changed, reduction, changes, findings)
    changed = replace(changed, couplings=(*changed.couplings, *_couplings(reduction)))
    result = again(changed)
    basis = original
    if numerical:
        basis = reduce(mechanism, seed=seed, numerical="anyway", groups=False)
    report = Isostatic(changed, basis, tuple(changes), result, tuple(findings))
    if numerical:
        findings.append(
            Diagnostic(
                "REG307",
                "warning",
                f"{original.remaining} redundant constraints follow from special dimensions, not "
                "from the directions of axes: they were removed on numerical evidence, which "
                "holds on this assembly mode",
            )
        )
        findings += missed_rows(reduction)
    if not report.equivalent:
        reason = (
            f"the changed mechanism has mobility {result.mobility} instead of "
            f"{original.mobility} and {result.redundant} redundant constraints"
        )
        if shaky:
            reason = (
                f"the mechanism is shaky: {result.redundant} redundant constraints are left, which "
                "hold it to second order, as constraints of velocities cannot"
            )
        findings.append(Diagnostic("REG308", "error", f"{reason}: do not use it"))
    return replace(report, findings=tuple(findings))


def _couplings(reduction: Reduction) -> Iterator[Coupling]:
    """The rows that hold bodies in groups, as couplings of the mechanism."""
    place: dict[int, tuple[str, int]] = {}
    for edge in reduction.graph.edges:
        same = [c for e in reduction.graph.edges if e.joint is edge.joint for c in e.columns]
        place |= {c: (edge.joint.name, c - min(same)) for c in edge.columns}
    for row in (row for held in reduction.held for row in held.rows):
        terms = zip(row.columns, row.coefficients, strict=True)
        yield Coupling(row.name, "gear", tuple((*place[c], k) for c, k in terms), row.offset)


def _beyond(reduction: Reduction, coupled: int | None) -> list[Diagnostic]:
    """The relations that would hold bodies in groups and have too many joints for an engine."""
    found = []
    for held in reduction.held:
        for row in held.rows:
            edges = reduction.graph.edges
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
    """What joints that became balls cannot have any more."""
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


def _lowered(
    mechanism: Mechanism,
    reduction: Reduction,
    again: Callable[[Mechanism], Reduction],
    points: bool,
) -> tuple[Mechanism, list[ClosureChange], Reduction]:
    """Welds that close loops, and hinges for ``points``, made balls while the mobility stays."""
    removed = {"fixed": 3, "revolute": 2} if points else {"fixed": 3}
    changes: list[ClosureChange] = []
    for joint in mechanism.joints:
        fewer = removed.get(joint.kind)
        if fewer is None or not joint.closure or reduction.redundant < fewer:
            continue
        ball = replace(
            joint,
            kind="spherical",
            screws=joint_screws("spherical"),
            position=np.zeros(3),
            limits=None,
            dynamics=JointDynamics(),
        )
        joints = tuple(ball if j.name == joint.name else j for j in mechanism.joints)
        candidate = replace(mechanism, joints=joints)
        found = again(candidate)
        if (
            found.assembly.closed
            and found.mobility == reduction.mobility
            and found.finite_mobility == reduction.finite_mobility
        ):
            mechanism, reduction = candidate, found
            changes.append(ClosureChange(joint.name, "lowered", joint.kind, "spherical"))
    return mechanism, changes, reduction
