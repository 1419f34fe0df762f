"""What must not differ between a model and the same model with some joints changed or moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from regularize.adapters.common.edits import WantedKind
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Inertia, Joint, Mechanism
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.plan import FixPlan
from regularize.repair.verification.comparison import SAME
from regularize.repair.verification.differences import differences
from regularize.words import is_slack

#: Numbers that are the same but for being written and read.
READ = 1e-12


def unwanted(
    before: Mechanism, after: Mechanism, planned: FixPlan, reduction: Reduction | None
) -> list[str]:
    """Say what a changed model has that nobody wanted, or lacks; its counts if it was reduced."""
    if planned.expected is not None:
        before = planned.expected
        after = _named(after, before)
    names = {joint.name for joint in before.joints}
    changed = {wanted.joint.name for wanted in planned.wanted}
    concerned = changed | {
        joint.name
        for joint in after.joints
        if joint.name not in names and joint.name.startswith(tuple(f"{name}_" for name in changed))
    }
    # Mobility, masses and places are compared below, places in the frames of bodies: another joint
    # may lead to them now. MuJoCo names meshes without the folder of its compiler.
    ignored = {"REG320", "REG322", "REG323", *(["REG328"] if before.format == "mjcf" else [])}
    wrong = [
        finding.message.removeprefix("the file: ")
        for finding in differences(before, after, motions=False)
        if finding.severity != "note"
        and finding.code not in ignored
        and not (finding.joints and {*finding.joints} <= concerned)
    ]
    wrong += _elsewhere(before, after, changed)
    freedoms = Counter[str]()
    for joint in after.joints:
        freedoms[joint.name] += joint.freedoms
    for wanted in planned.wanted:
        name = wanted.joint.name
        # A body may get two joints for one.
        count = sum(freedoms[part] for part in (name, f"{name}_slide", f"{name}_turn"))
        if count != wanted.replacement.freedoms:
            wrong.append(f"joint `{name}` has {count} freedoms and is not {wanted.kind}")
    old = planned.reduction
    if planned.isostatic and reduction is not None:
        if reduction.redundant > planned.left:
            wrong.append(f"{reduction.redundant} constraint equations stay redundant")
        if reduction.mobility != old.mobility:
            wrong.append(f"the mobility is {reduction.mobility} instead of {old.mobility}")
        elif reduction.finite_mobility != old.finite_mobility and old.finite_mobility is not None:
            finite = f"{reduction.finite_mobility} instead of {old.finite_mobility}"
            wrong.append(f"the mobility by finite motions is {finite}")
    return wrong


def other_counts(one: Reduction, other: Reduction) -> str:
    """Say what two analyses of one model count differently; empty where they agree."""
    pairs = [
        (what, getattr(one, what), getattr(other, what))
        for what in ("mobility", "redundant", "remaining")
    ]
    return "; ".join(f"{what} is {b} instead of {a}" for what, a, b in pairs if a != b)


def _named(after: Mechanism, expected: Mechanism) -> Mechanism:
    """Give closing joints that a file leaves without names those that are expected."""
    names = {joint.name for joint in after.joints}
    missing = {(j.parent, j.child): j.name for j in expected.joints if j.name not in names}
    joints = (replace(j, name=missing.get((j.parent, j.child), j.name)) for j in after.joints)
    return replace(after, joints=tuple(joints))


def _elsewhere(before: Mechanism, after: Mechanism, changed: Collection[str]) -> list[str]:
    """Name bodies and joints that are not what they were, in their own frames."""
    wrong = []
    bodies = {body.name: body.inertia for body in after.bodies}
    # Their frames are where the joint between them is, in files that have them so.
    slack = {name for j in before.joints if is_slack(j.name) for name in (j.parent, j.child)}
    for body in before.bodies:
        one, other = body.inertia, bodies.get(body.name)
        if (one is None) != (other is None):
            wrong.append(f"body `{body.name}` gained or lost its mass properties")
        elif one is None or other is None or _close(_numbers(one), _numbers(other)):
            continue
        elif body.name not in slack or not np.isclose(one.mass, other.mass):
            wrong.append(f"body `{body.name}` has other mass properties")
    joints = {joint.name: joint for joint in after.joints}
    for joint in before.joints:
        same = joints.get(joint.name)
        if same is None or joint.name in changed or slack & {joint.parent, joint.child}:
            continue
        if (same.kind, same.parent, same.child) != (joint.kind, joint.parent, joint.child):
            wrong.append(f"joint `{joint.name}` is {same.kind} between other bodies")
        elif not all(
            _close(getattr(joint, what), getattr(same, what))
            for what in ("screws", "T_parent_joint", "T_child_joint", "position")
        ):
            wrong.append(f"joint `{joint.name}` stands or points elsewhere")
    return wrong


def _numbers(inertia: Inertia) -> Array:
    return np.concatenate([[inertia.mass], inertia.center, inertia.matrix.ravel()])


def _close(one: Array, other: Array, within: float = SAME) -> bool:
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=within, atol=within))


def other_places(after: Mechanism, wanted: Sequence[WantedKind]) -> list[str]:
    """Name the joints of a changed model that do not lie where they should."""
    joints = {joint.name: joint for joint in after.joints}
    return [
        f"joint `{each.joint.name}` is not where it was meant to be"
        for each in wanted
        if each.joint.name not in joints
        or not _lies_as_meant(joints[each.joint.name], each.replacement)
    ]


def _lies_as_meant(now: Joint, meant: Joint) -> bool:
    """Say whether a joint lies as meant; readers may move both frames along its freedoms."""
    on_parent = screw.inverse(now.T_parent_joint) @ meant.T_parent_joint
    on_child = screw.inverse(now.T_child_joint) @ meant.T_child_joint
    freedoms, moved = subalgebra.span(now.screws), screw.adjoint(on_parent) @ meant.screws
    return _close(on_parent, on_child, READ) and subalgebra.contains(freedoms, moved, 10 * READ)
